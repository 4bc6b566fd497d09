"""`telex ack`, `telex nack`, `telex extend`: settle or extend a lease.

Each takes the token of the lease, or the id of the message, which is then looked up among the caller's own leases.
"""

import re
from typing import TYPE_CHECKING

import click

from telex.errors import LeaseLost
from telex.model.message import OPEN
from telex.surfaces.cli import completion
from telex.surfaces.cli.bus_connection import opened_to_look
from telex.surfaces.cli.bus_options import agent_option, lines_option, seconds_option, store_option, text_option
from telex.surfaces.cli.exit_codes import DONE, CommandError
from telex.surfaces.cli.output import shown
from telex.surfaces.cli.result_output import print_one
from telex.surfaces.cli.time_text import clock_time, span, stamp
from telex.validation.authorization import normalised

if TYPE_CHECKING:
    from telex.client import SyncBus

_TOKEN = re.compile(r"\d+\.\d+\Z", re.ASCII)


def is_token(what: str) -> bool:
    return _TOKEN.match(what) is not None


what_argument = click.argument("what", metavar="TOKEN|ID", shell_complete=completion.waiting_ids)


@click.command("ack")
@what_argument
@agent_option
@store_option
@lines_option
def ack(what: str, agent: str, store: str | None, as_json: bool) -> int:
    """Ack a message: you are done with it. A second ack has no effect."""
    with opened_to_look(store) as bus:
        token = _token(bus, what, agent, settled_is_fine=True)
        first = bus.ack(token, agent=agent) if token else False
    print_one(
        {"acked": True, "before": not first, "token": token},
        f"acked{'' if first else ' already'} {shown(what)}",
        as_json,
    )
    return DONE


@click.command("nack")
@what_argument
@agent_option
@text_option("--reason", "WORDS", "Why you cannot do it; the sender and the next reader see this.")
@seconds_option("--delay", "Delay until the next attempt; the usual backoff if not given.")
@store_option
@lines_option
def nack(what: str, agent: str, reason: str | None, delay: float | None, store: str | None, as_json: bool) -> int:
    """Reject a message: it is retried later, or becomes a dead letter if this was the last attempt."""
    if reason is None:
        raise CommandError("say why: telex nack … --reason WORDS")
    with opened_to_look(store) as bus:
        token = _token(bus, what, agent)
        after = bus.nack(token, agent=agent, reason=reason, delay=delay)
    next_at = after.due_at if after.state == "stored" else None
    facts = {"token": token, "state": after.state, "attempts": after.attempts}
    comes = f"again at {clock_time(after.due_at)} UTC, attempt {after.attempts + 1}"
    words = f"dead after {after.attempts} attempts" if after.state == "dead" else comes
    return print_one(
        facts | {"next_at": stamp(next_at) if next_at else None}, f"nacked {shown(what)}: {words}", as_json
    )


@click.command("extend")
@what_argument
@agent_option
@seconds_option("--for", "Length of the lease from now on; the usual one if not given.", into="seconds")
@store_option
@lines_option
def extend(what: str, agent: str, seconds: float | None, store: str | None, as_json: bool) -> int:
    """Extend the lease of a message that you still work on."""
    import time

    with opened_to_look(store) as bus:
        token = _token(bus, what, agent)
        until = bus.extend(token, agent=agent, seconds=seconds)
    words = f"yours until {clock_time(until)} UTC, for another {span(until - time.time())}: {shown(what)}"
    return print_one({"token": token, "until": stamp(until)}, words, as_json)


def _token(bus: "SyncBus", what: str, agent: str, *, settled_is_fine: bool = False) -> str:
    """The token, or that of the caller's own lease on the message of this id. Empty: it has acked it already.

    Raises:
        NotFound: there is no message of that id.
        LeaseLost: the caller holds no lease on it.
    """
    if is_token(what):
        return what
    stories, name = bus.why(what), normalised(agent)
    mine = [delivery for story in stories for delivery in story.deliveries if delivery.holder == name]
    held = [delivery for delivery in mine if delivery.state in OPEN]  # a lease that expired may still be settled
    if len(held) > 1:
        tokens = ", ".join(f"{delivery.seq}.{delivery.fence}" for delivery in held)
        raise CommandError(f"you hold {len(held)} messages with that id: give the token of one: {tokens}")
    if held:
        return f"{held[0].seq}.{held[0].fence}"
    if settled_is_fine and any(delivery.state == "acked" for delivery in mine):
        return ""
    state = stories[-1].state
    instead = f"; take it first: telex receive --as {agent}" if state in ("stored", "read") else ""
    raise LeaseLost(f"{agent} holds no lease on {what}, which is {state}{instead}")

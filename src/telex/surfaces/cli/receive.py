"""`telex receive`: take messages out of an inbox, and say how to give word of them.

What was said is on stdout, as it came; which message it is and how to ack it is on stderr.
"""

import sys
from typing import TYPE_CHECKING, Any

import click

from telex.model.escalation import waits_for_ever
from telex.model.message import Leased
from telex.model.roster import TELEX
from telex.surfaces.cli.answers import json_line
from telex.surfaces.cli.bodies import head_facts, text_of, what, write_body
from telex.surfaces.cli.bus_asking import (
    agent_option,
    lines_option,
    max_option,
    role_option,
    seconds_option,
    store_option,
)
from telex.surfaces.cli.bus_option import opened, stay_for_long
from telex.surfaces.cli.exits import DONE, TIMED_OUT
from telex.surfaces.cli.render import Screen, shell_word, shown, typed, wrapped
from telex.surfaces.cli.times import clock_time, span, stamp

if TYPE_CHECKING:
    from telex.client import SyncBus


@click.command("receive")
@agent_option
@role_option
@max_option(1)
@seconds_option("--wait", "Wait so long for the first; exit code 4 if none comes.")
@seconds_option("--lease", "How long you may hold them without a word.")
@click.option("--ack", "acks", is_flag=True, help="Ack each as soon as it is printed.")
@store_option
@lines_option
def command(
    agent: str,
    role: str | None,
    most: int,
    wait: float | None,
    lease: float | None,
    acks: bool,
    store: str | None,
    as_json: bool,
) -> int:
    """Take what waits for you. It is yours until its lease runs out: ack it, give it back, or ask for more time."""
    stay_for_long()
    with opened(store) as bus:
        taken = bus.receive(agent, role=role, most=most, wait=wait or 0.0, lease=lease)
        for leased in taken:
            tell(leased, agent, answer_by(bus, leased), store, as_json=as_json, acks=acks)
            if acks:
                bus.ack(leased.token, agent=agent)
    if taken:
        return DONE
    for_how_long = f" within {span(wait)}" if wait else ""
    sys.stderr.write(f"nothing waits for {shown(agent)}{for_how_long}\n")
    return TIMED_OUT if wait else DONE


def answer_by(bus: "SyncBus", leased: Leased) -> float | None:
    """Until when its sender waits for an answer, if it does."""
    stories = bus.why(leased.message.id)
    return next((story.answer_by for story in stories if story.message.seq == leased.message.seq), None)


def tell(leased: Leased, agent: str, answer_by: float | None, store: str | None, *, as_json: bool, acks: bool) -> None:
    """Print a message that was leased, and leave nothing of it in a buffer: its reader may be waiting."""
    if as_json:
        sys.stdout.write(json_line(facts(leased, answer_by)) + "\n")
        sys.stdout.flush()
        return
    screen, message = Screen(sys.stderr), leased.message
    turn = "" if leased.attempt == 1 else f", attempt {leased.attempt}"
    until = "" if acks else f", yours until {clock_time(leased.until)} UTC"
    screen.line(screen.paint(shown(message.id), "bold"))
    for line in wrapped(f"{what(message)} from {shown(message.sender)}{turn}{until}", screen.width, 0):
        screen.line(line)
    screen.stream.flush()
    write_body(message)
    whose = [f"--as {shell_word(agent)}", *([f"--store {shell_word(store)}"] if store else [])]
    if answer_by is not None:
        answer = [
            "telex send",
            *whose,
            f"--to {shell_word(message.sender)}",
            f"--reply-to {shell_word(message.id)}",
            "-",
        ]
        if message.sender == TELEX:  # the bus handed it on; the answer goes to whoever raised it
            answer = [f"telex answer {shell_word(message.id)}", *whose, "-"]
        by = "" if waits_for_ever(answer_by) else f" by {clock_time(answer_by, leased.until)} UTC"
        screen.line("\n".join(typed(f"answer it{by}:", answer, screen.width)))
    if not acks:
        screen.line("\n".join(typed("done with it:", [f"telex ack {leased.token}", *whose], screen.width)))
    sys.stdout.flush()


def facts(leased: Leased, answer_by: float | None) -> dict[str, Any]:
    """For programs, the token first: it is what they must show again."""
    message = leased.message
    head = {"token": leased.token, "attempt": leased.attempt, "until": stamp(leased.until), "inbox": leased.inbox}
    waits = {"at": stamp(message.at), "answer_by": stamp(answer_by) if answer_by is not None else None}
    return head | head_facts(message) | waits | {"message": text_of(message)}

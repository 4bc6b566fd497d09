"""`telex escalations` and `telex answer`: open escalations, and a plain-text answer to one."""

import sys
import time
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from telex.model.roster import HUMAN, TELEX
from telex.model.work import Escalation
from telex.surfaces.cli import completion, receipts
from telex.surfaces.cli.bus_connection import opened_to_look, settings_here
from telex.surfaces.cli.bus_options import as_option, lines_option, role_option, store_option, text_option
from telex.surfaces.cli.exit_codes import DONE, REFUSED, CommandError
from telex.surfaces.cli.inputs import STDIN, pieces
from telex.surfaces.cli.output import Screen, shell_word, shown
from telex.surfaces.cli.result_output import print_list
from telex.surfaces.cli.table import table_lines
from telex.surfaces.cli.time_text import ago, clock_time, stamp

if TYPE_CHECKING:
    from telex.client import SyncBus
    from telex.ports.bus import MessageHistory


@click.command("escalations")
@click.option("--all", "every", is_flag=True, help="Include answered ones.")
@store_option
@lines_option
def command(every: bool, store: str | None, as_json: bool) -> int:
    """List open escalations: who has each, and when it goes one step further up."""
    with opened_to_look(store) as bus:
        escalations = bus.escalations(answered=every)
    is_open = any(matter.is_open for matter in escalations)
    hint = "telex answer ID TEXT answers one; telex why ID shows its history" if is_open else ""
    empty = "no escalations" if every else "no open escalations"
    return print_list(escalations, as_json, facts=facts, lines=partial(_table, escalations), empty=empty, hint=hint)


def _table(escalations: list[Escalation], screen: Screen) -> list[str]:
    now = time.time()
    headings = ("id", "from", "with", "age", "climbs", "state", "about")
    rows = [
        (
            shell_word(matter.id),
            shown(matter.by),
            shown(matter.now.to),
            ago(matter.at, now),
            clock_time(matter.now.due_at, now) if matter.now.due_at is not None else "",
            "waits" if matter.is_open else f"answered by {shown(matter.answered_by or '?')}",
            shown(matter.reason),
        )
        for matter in escalations
    ]
    return table_lines(headings, rows, screen)


def facts(matter: Escalation) -> dict[str, Any]:
    return {
        "id": matter.id,
        "from": matter.by,
        "role": matter.role,
        "with": matter.now.to,
        "at": stamp(matter.at),
        "climbs_at": stamp(matter.now.due_at) if matter.now.due_at is not None else None,
        "open": matter.is_open,
        "answered_by": matter.answered_by,
        "answered_at": stamp(matter.answered_at) if matter.answered_at is not None else None,
        "dialect": matter.dialect,
        "type": matter.type,
        "severity": matter.severity or None,
        "reason": matter.reason,
        "correlation": matter.correlation,
        "steps": [{"id": rung.id, "to": rung.to, "level": rung.level, "at": stamp(rung.at)} for rung in matter.rungs],
    }


# --- answering -------------------------------------------------------------------------------------------------------


@click.command("answer")
@click.argument("id", metavar="ID", shell_complete=completion.waiting_ids)
@click.argument("text", metavar="TEXT|-")
@as_option(HUMAN)
@role_option
@text_option("--to", "ADDRESS", "Recipient; the agent that asked, if not given.", complete=completion.agents)
@store_option
@lines_option
def answer(id: str, text: str, agent: str, role: str | None, to: str | None, store: str | None, as_json: bool) -> int:
    """Answer with plain text: an escalation goes back to the agent that raised it, any other message to its sender."""
    settings = settings_here()
    raw = text.encode("utf-8", "surrogatepass")
    if text == STDIN:
        [(_, raw, _)] = pieces(STDIN, settings.limits.message_bytes_max, lines=False)
    if not raw.strip():
        raise CommandError("give the text: telex answer ID TEXT")
    with opened_to_look(store, settings) as bus:
        story = bus.why(id)[-1]
        matter = next(
            (escalation for escalation in bus.escalations() if any(rung.id == id for rung in escalation.rungs)), None
        )
        whom = to or _whom(bus, story, matter, agent)
        receipt = bus.send(raw, sender=agent, role=role, to=whom, reply_to=id)
        waits = matter is not None and any(escalation.id == matter.id for escalation in bus.escalations())
    receipts.tell(receipt, fix="telex fix -", as_json=as_json)
    if receipt.accepted and waits and matter is not None:
        able = "a role that had it, a role above, or a person"
        sys.stderr.write(f"{shown(matter.id)} is still open: {able} must answer it\n")
    return DONE if receipt.accepted else REFUSED


def _whom(bus: "SyncBus", story: "MessageHistory", matter: Escalation | None, agent: str) -> str:
    """Who waits for it. What the bus itself raised goes to whoever spoke last before that."""
    message = story.message
    if matter is not None and matter.by != TELEX:
        return matter.by
    if message.sender != TELEX:
        return message.sender
    if message.correlation:
        spoke = [history.message for history in bus.trace(message.correlation) if history.message.seq < message.seq]
        others = [message.sender for message in spoke if message.sender not in (TELEX, agent) and not message.refused]
        if others:
            return others[-1]
    raise CommandError(f"give the recipient: telex answer {shell_word(message.id)} TEXT --to NAME")

"""`telex approve` and `telex reject`: answer an approval request without writing a message."""

import sys
from itertools import chain
from typing import Any

import click

from telex.model.roster import HUMAN
from telex.ports.bus import Receipt
from telex.surfaces.cli import completion
from telex.surfaces.cli.bus_connection import opened_to_look
from telex.surfaces.cli.bus_options import (
    Speaker,
    as_option,
    grouped,
    lines_option,
    role_option,
    store_option,
    text_option,
)
from telex.surfaces.cli.check_output import json_line
from telex.surfaces.cli.exit_codes import DONE, REFUSED, CommandError
from telex.surfaces.cli.output import Screen, finding_lines, shown

id_argument = click.argument("id", metavar="ID", shell_complete=completion.waiting_ids)
reason_option = text_option("--reason", "WORDS", "Reason, included in the answer.")
person_option = as_option(HUMAN)
condition_option = click.option(
    "--condition", "conditions", metavar="WORDS", multiple=True, help="A condition; may be given again."
)


@click.command("approve")
@id_argument
@reason_option
@condition_option
@click.option(
    "--modify", "modifications", metavar="PATH", multiple=True, help="A path to allow as well; may be given again."
)
@person_option
@role_option
@store_option
@lines_option
@grouped(who=Speaker)
def approve(id: str, who: Speaker, store: str | None, as_json: bool, **answer: Any) -> int:
    """Approve a request. The answer goes to the agent that asked, in the dialect of the request."""
    return _answer(id, who, store, as_json, approved=True, **answer)


@click.command("reject")
@id_argument
@reason_option
@condition_option
@person_option
@role_option
@store_option
@lines_option
@grouped(who=Speaker)
def reject(id: str, who: Speaker, store: str | None, as_json: bool, **answer: Any) -> int:
    """Reject a request. The answer goes to the agent that asked, in the dialect of the request."""
    return _answer(id, who, store, as_json, approved=False, **answer)


def _answer(
    id: str, who: Speaker, store: str | None, as_json: bool, *, approved: bool, reason: str | None, **lists: Any
) -> int:
    """`lists` are the options `conditions` and `modifications`."""
    verb = "approve" if approved else "reject"
    if reason is None or not reason.strip():
        raise CommandError(f"say why: telex {verb} {shown(id)} --reason WORDS")
    if not all(words.strip() for words in (*chain.from_iterable(lists.values()), who.agent)):
        raise CommandError(f"telex {verb}: an option has an empty value")
    with opened_to_look(store) as bus:
        receipt = bus.approve(id, approved=approved, reason=reason, **who._asdict(), **lists)
    if as_json:
        sys.stdout.write(json_line(_facts(id, receipt)) + "\n")
    if not receipt.accepted:
        screen = Screen(sys.stderr)
        screen.line("\n".join([screen.paint("refused", "red"), *finding_lines(receipt.findings, screen)]))
        return REFUSED
    if not as_json:
        done = "approved" if approved else "rejected"
        told, screen = ", ".join(map(shown, receipt.to)), Screen(sys.stdout)
        words = f"{done} {shown(id)}; answered {told} with {shown(receipt.id)}"
        screen.line("\n".join([words, *finding_lines(receipt.findings, screen)]))
    return DONE


def _facts(id: str, receipt: Receipt) -> dict[str, object]:
    return {
        "accepted": receipt.accepted,
        "request": id,
        "id": receipt.id,
        "to": list(receipt.to),
        "dialect": receipt.dialect,
        "type": receipt.type,
        "findings": [finding._asdict() for finding in receipt.findings],
    }

"""`telex dead`: list, retry and drop dead letters."""

import time
from functools import partial
from typing import Any

import click

from telex.errors import NotFound
from telex.model.message import Delivery, Message
from telex.model.roster import HUMAN
from telex.surfaces.cli import completion
from telex.surfaces.cli.bus_connection import opened_to_look
from telex.surfaces.cli.bus_options import lines_option, max_option, refuse_misplaced, store_option, text_option
from telex.surfaces.cli.exit_codes import DONE, CommandError
from telex.surfaces.cli.output import Screen, shell_word, shown
from telex.surfaces.cli.result_output import print_list, print_one
from telex.surfaces.cli.table import table_lines
from telex.surfaces.cli.time_text import ago, stamp

id_argument = click.argument("id", metavar="ID", shell_complete=completion.dead_ids)
who_option = text_option("--as", "NAME", "Your name in the log; human if not given.", into="agent")


@click.group("dead", invoke_without_command=True)
@max_option(100)
@store_option
@lines_option
@click.pass_context
def command(ctx: click.Context, limit: int, store: str | None, as_json: bool) -> int:
    """List dead letters: messages whose attempts are used up, and requests without a reply."""
    if ctx.invoked_subcommand:
        refuse_misplaced(ctx)
        return DONE
    return _list(limit, store, as_json)


@command.command("list")
@max_option(100)
@store_option
@lines_option
def list_(limit: int, store: str | None, as_json: bool) -> int:
    """List them, newest first."""
    return _list(limit, store, as_json)


@command.command("retry")
@id_argument
@who_option
@store_option
@lines_option
def retry(id: str, agent: str | None, store: str | None, as_json: bool) -> int:
    """Retry a dead letter with a new round of attempts."""
    with opened_to_look(store) as bus:
        count = _some(bus.retry(id, agent=agent or HUMAN), id)
    return print_one({"id": id, "retried": count}, f"back in {_inboxes(count)}: {shown(id)}", as_json)


@command.command("drop")
@id_argument
@text_option("--reason", "WORDS", "Reason, stored with the message.")
@who_option
@store_option
@lines_option
def drop(id: str, reason: str | None, agent: str | None, store: str | None, as_json: bool) -> int:
    """Drop a dead letter. Its history and bytes stay in the log until they are pruned."""
    if reason is None:
        raise CommandError("say why: telex dead drop … --reason WORDS")
    with opened_to_look(store) as bus:
        count = _some(bus.drop(id, reason=reason, agent=agent or HUMAN), id)
    return print_one({"id": id, "dropped": count}, f"dropped from {_inboxes(count)}: {shown(id)}", as_json)


def _some(count: int, id: str) -> int:
    if not count:
        raise NotFound(f"{id} is no dead letter: telex why {id} shows its state")
    return count


def _inboxes(count: int) -> str:
    return f"{count} {'inbox' if count == 1 else 'inboxes'}"


def _list(limit: int, store: str | None, as_json: bool) -> int:
    with opened_to_look(store) as bus:
        letters = bus.dead_letters(limit=limit)
    hint = "telex why ID shows its history; telex dead retry ID retries it"
    return print_list(
        letters, as_json, facts=_facts, lines=partial(_table, letters), empty="no dead letters", hint=hint
    )


def _table(found: list[tuple[Delivery, Message]], screen: Screen) -> list[str]:
    now = time.time()
    rows = [
        (
            shell_word(message.id),
            delivery.state,
            shown(message.type or message.dialect or "text"),
            shown(message.sender),
            shown(delivery.inbox),
            delivery.attempts,
            ago(message.at, now),
        )
        for delivery, message in found
    ]
    return table_lines(("id", "state", "type", "from", "inbox", "tries", "age"), rows, screen)


def _facts(letter: tuple[Delivery, Message]) -> dict[str, Any]:
    delivery, message = letter
    return {
        "id": message.id,
        "state": delivery.state,
        "dialect": message.dialect,
        "type": message.type,
        "from": message.sender,
        "inbox": delivery.inbox,
        "attempts": delivery.attempts,
        "holder": delivery.holder,
        "at": stamp(message.at),
    }

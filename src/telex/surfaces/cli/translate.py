"""`telex translate`: what would a reader of another dialect be given? The message on stdout, the report on stderr."""

import os
import sys
import time
import uuid
from typing import Any

import click

from telex.dialects.registry import PLAIN
from telex.dialects.spec import Dialect, MessageType
from telex.flow.admission import Checked, Desk, check
from telex.model.limits import LIMITS
from telex.surfaces.cli.answers import answer_of, json_line
from telex.surfaces.cli.asking import dialect_option, json_option, role_option, team_dialect_option
from telex.surfaces.cli.check import sized, with_dialects
from telex.surfaces.cli.exits import DONE, NOT_FOUND, REFUSED, CommandError
from telex.surfaces.cli.reader_option import Reader, reader_from, readers
from telex.surfaces.cli.render import Screen, finding_lines, shell_word, shown, shown_block, verdict, wrapped
from telex.surfaces.cli.sources import STDIN, files_in, pieces
from telex.surfaces.cli.table import table_lines
from telex.surfaces.cli.wire import wire_text
from telex.translation.markdown import render
from telex.translation.report import Change, Header, NoCounterpart, Translation
from telex.translation.translate import header_of, translate

_VALUE_CHARACTERS_MAX = 24  # of what was lost or made up; the message itself has it whole


@click.command("translate")
@click.option(
    "--to",
    "reader",
    metavar="DIALECT",
    required=True,
    shell_complete=readers,
    help="What its reader reads: a dialect, name@version, or plain for markdown.",
)
@click.argument("file", metavar="FILE|-")
@role_option
@dialect_option
@team_dialect_option
@json_option
def command(
    reader: str, file: str, role: str | None, dialect: str | None, team_dialect: str | None, as_json: bool
) -> int:
    """Print a message as a reader of another dialect gets it.

    What is lost, narrowed or made up on the way is said on stderr, each with its place and the reason.
    """
    to = reader_from(reader)
    checked = _read(file, role, dialect, team_dialect)
    if not checked.valid:
        return _refuse(checked, as_json)
    type_ = checked.dialect.types.get(checked.type or "") if checked.dialect else None
    if checked.dialect is None or type_ is None:
        return _as_it_is(checked, as_json)
    header = _header(checked, checked.dialect, type_, role)
    if to.dialect is PLAIN:
        return _markdown(checked, checked.dialect, type_, header, as_json)
    made = translate(checked.tree, checked.dialect, type_, to.dialect, header, checked.body)
    if isinstance(made, NoCounterpart):
        return _none(made, render(checked.tree, checked.dialect, type_, header, checked.body), type_, file, as_json)
    return _tell(made, checked, to, as_json)


def _read(file: str, role: str | None, dialect: str | None, team_dialect: str | None) -> Checked:
    if file != STDIN and os.path.isdir(file):
        raise CommandError(f"{shown(file)} is a folder: translate one message at a time")
    [path] = files_in([file])
    [(_, raw, size)] = pieces(path, LIMITS.message_bytes_max, lines=False)
    desk = with_dialects(Desk(), dialect, team_dialect)
    return sized(check(raw, desk, as_role=role), size, LIMITS.message_bytes_max)


def _header(checked: Checked, dialect: Dialect, type_: MessageType, role: str | None) -> Header:
    """What the message does not say itself is made up here, as the bus would know it."""
    header = header_of(checked.tree, dialect, type_, id=str(uuid.uuid4()), at=time.time(), sender=role or "agent")
    if role is None or dialect.wire.sender is not None:
        return header
    return header._replace(sender=role, sender_role=role)


# --- what is said ----------------------------------------------------------------------------------------------------


def _tell(made: Translation, checked: Checked, to: Reader, as_json: bool) -> int:
    tree = to.spelt(made.tree, made.type)
    if as_json:
        text = wire_text(made.dialect, tree, made.body, visible=False)
        answer = {"dialect": made.dialect.name, "type": made.type.name, "message": tree, "body": made.body}
        sys.stdout.write(json_line(answer | {"text": text} | _facts(made)) + "\n")
        return DONE
    screen, errors = Screen(sys.stdout), Screen(sys.stderr)
    # Into a pipe goes the message to the letter: a line end more would be one more when it is told back.
    text = wire_text(made.dialect, tree, made.body, visible=screen.is_terminal)
    screen.stream.write(text + "\n" if screen.is_terminal and not text.endswith("\n") else text)
    screen.stream.flush()
    assert checked.dialect is not None
    read_as_it_stands = not any(one.severity == "note" for one in checked.findings)
    same = ", as it was" if made.dialect is checked.dialect and tree is made.tree and read_as_it_stands else ""
    became = f"{checked.dialect.name} {checked.type} → {made.dialect.name} {made.type.name}{same}"
    errors.line("\n".join([*wrapped(became, errors.width, 0), *_report(made, errors)]))
    return DONE


def _report(made: Translation, screen: Screen) -> list[str]:
    rows = [
        (kind, shown(change.path), _value(change.value), shown(change.reason))
        for kind, changes in _changes(made).items()
        for change in changes
    ]
    if not rows:
        return ["nothing is lost, and nothing made up"]
    return table_lines(("", "where", "what", "why"), rows, screen)


def _value(value: Any) -> str:
    text = shown(value) if isinstance(value, str) else json_line(value)
    return text if len(text) <= _VALUE_CHARACTERS_MAX else text[: _VALUE_CHARACTERS_MAX - 1] + "…"


def _facts(made: Translation) -> dict[str, list[dict[str, Any]]]:
    return {kind: [change._asdict() for change in changes] for kind, changes in _changes(made).items()}


def _changes(made: Translation) -> dict[str, tuple[Change, ...]]:
    return {"lost": made.lost, "narrowed": made.narrowed, "invented": made.invented}


def _markdown(checked: Checked, dialect: Dialect, type_: MessageType, header: Header, as_json: bool) -> int:
    text = render(checked.tree, dialect, type_, header, checked.body)
    if as_json:
        empty: dict[str, Any] = {"lost": [], "narrowed": [], "invented": []}
        answer = {"dialect": PLAIN.name, "type": None, "message": None, "body": None, "text": text}
        sys.stdout.write(json_line(answer | empty) + "\n")
    else:
        sys.stdout.write(text)
    return DONE


def _none(made: NoCounterpart, markdown: str, type_: MessageType, file: str, as_json: bool) -> int:
    if as_json:
        answer = {"dialect": made.dialect.name, "type": None, "message": None, "reason": made.reason}
        sys.stdout.write(json_line(answer | {"markdown": markdown}) + "\n")
        return NOT_FOUND
    where = "" if file == STDIN else f" {shell_word(file)}"
    raise CommandError(
        f"{type_.name} has no counterpart: {made.reason} Its readers get it as markdown: telex translate --to"
        f" {PLAIN.name}{where}",
        NOT_FOUND,
    )


def _as_it_is(checked: Checked, as_json: bool) -> int:
    """Text that nobody typed, or a coding tool's own frame: there is nothing to translate, and everybody gets it so."""
    text = checked.text if checked.text.endswith("\n") else checked.text + "\n"
    if as_json:
        answer = {"dialect": PLAIN.name, "type": None, "message": None, "body": None, "text": text}
        sys.stdout.write(json_line(answer | {"lost": [], "narrowed": [], "invented": []}) + "\n")
        return DONE
    screen = Screen(sys.stdout)
    screen.stream.write(shown_block(text) if screen.is_terminal else text)
    screen.stream.flush()
    what = "a coding tool's own frame" if checked.outcome == "control" else "plain text"
    sys.stderr.write(f"{what}: every reader gets it as it is\n")
    return DONE


def _refuse(checked: Checked, as_json: bool) -> int:
    if as_json:
        sys.stdout.write(json_line(answer_of(checked)) + "\n")
    screen = Screen(sys.stderr)
    screen.line("\n".join([verdict(checked, screen), *finding_lines(checked.findings, screen)]))
    return REFUSED

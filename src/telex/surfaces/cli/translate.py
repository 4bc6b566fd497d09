"""`telex translate`: print a message as a reader of another dialect gets it, with a report of losses on stderr."""

import os
import sys
from typing import Any

import click

from telex.dialects.registry import PLAIN
from telex.dialects.schema import Dialect
from telex.model.finding import Finding
from telex.surfaces.cli.check import sized, team_policy, with_dialects
from telex.surfaces.cli.check_output import answer_of, json_line
from telex.surfaces.cli.exit_codes import DONE, NOT_FOUND, REFUSED, CommandError
from telex.surfaces.cli.inputs import STDIN, files_in, pieces
from telex.surfaces.cli.message_output import wire_text
from telex.surfaces.cli.message_text import write_bytes
from telex.surfaces.cli.output import Screen, finding_lines, shell_word, shown, shown_block, verdict, wrapped
from telex.surfaces.cli.reader_options import reader_from, readers
from telex.surfaces.cli.table import table_lines
from telex.surfaces.cli.type_options import dialect_option, json_option, role_option, team_dialect_option
from telex.translation.envelope import FieldChange
from telex.translator import TranslatedMessage, told
from telex.validation.check import CheckResult, check

_VALUE_CHARACTERS_MAX = 24  # of what was lost or made up; the message itself has it whole
_ONE_AT_A_TIME = "Translate one message at a time; telex migrate-log converts a whole log."


@click.command("translate")
@click.option(
    "--to",
    "reader",
    metavar="DIALECT",
    required=True,
    shell_complete=readers,
    help="Dialect of the reader: a name, name@version, or plain for markdown.",
)
@click.argument("file", metavar="FILE|-")
@role_option
@dialect_option
@team_dialect_option
@json_option
def command(
    reader: str, file: str, role: str | None, dialect: str | None, team_dialect: str | None, as_json: bool
) -> int:
    """Print a message translated to another dialect.

    What is lost, narrowed or invented is listed on stderr, each with its path and reason.
    """
    to = reader_from(reader)
    checked = _read(file, role, dialect, team_dialect)
    found = told(checked, to.dialect, to.spellings, role)
    if not found.valid:
        return _refuse(checked, as_json)
    if found.why_not is not None:
        return _none(found, checked, to.dialect, file, as_json)
    if as_json:
        sys.stdout.write(json_line(_answer(found)) + "\n")
    elif checked.outcome != "message":
        _as_it_is(checked)
    elif found.tree is None:
        sys.stdout.write(found.text)
    else:
        _tell(found, checked)
    return DONE


def _read(file: str, role: str | None, dialect: str | None, team_dialect: str | None) -> CheckResult:
    if file != STDIN and os.path.isdir(file):
        raise CommandError(f"{shown(file)} is a folder: translate one message at a time")
    desk = with_dialects(team_policy(), dialect, team_dialect)
    bytes_max = desk.limits.message_bytes_max
    [path] = files_in([file])
    [(_, raw, size)] = pieces(path, bytes_max, lines=False)
    return sized(check(raw, desk, as_role=role), size, bytes_max)


# --- what is said ----------------------------------------------------------------------------------------------------


def _tell(told: TranslatedMessage, checked: CheckResult) -> None:
    assert checked.dialect is not None
    assert told.dialect is not None
    assert told.tree is not None
    screen, errors = Screen(sys.stdout), Screen(sys.stderr)
    if screen.is_terminal:
        text = wire_text(told.dialect, told.tree, told.body)
        screen.stream.write(text if text.endswith("\n") else text + "\n")
        screen.stream.flush()
    else:  # the message to the letter: a line end more would be one more when it is told back
        write_bytes(told.text.encode("utf-8", "backslashreplace"))
    read_as_it_stands = not any(finding.severity == "note" for finding in checked.findings)
    same = ", unchanged" if told.tree is checked.tree and read_as_it_stands else ""
    became = f"{checked.dialect.name} {checked.type} → {told.dialect.name} {told.type}{same}"
    errors.line("\n".join([*wrapped(became, errors.width, 0), *_report(told, errors)]))


def _report(told: TranslatedMessage, screen: Screen) -> list[str]:
    rows = [
        (kind, shown(change.path), _value(change.value), shown(change.reason))
        for kind, changes in _changes(told).items()
        for change in changes
    ]
    if not rows:
        return ["nothing lost, nothing invented"]
    return table_lines(("", "where", "what", "why"), rows, screen)


def _value(value: Any) -> str:
    text = shown(value) if isinstance(value, str) else json_line(value)
    return text if len(text) <= _VALUE_CHARACTERS_MAX else text[: _VALUE_CHARACTERS_MAX - 1] + "…"


def _changes(told: TranslatedMessage) -> dict[str, tuple[FieldChange, ...]]:
    return {"lost": told.lost, "narrowed": told.narrowed, "invented": told.invented}


def _answer(told: TranslatedMessage) -> dict[str, Any]:
    assert told.dialect is not None
    text = told.text if told.text.endswith("\n") or told.tree is not None else told.text + "\n"
    answer = {"dialect": told.dialect.name, "type": told.type, "message": told.tree, "body": told.body}
    facts = {kind: [change._asdict() for change in changes] for kind, changes in _changes(told).items()}
    return answer | {"text": text} | facts


def _none(told: TranslatedMessage, checked: CheckResult, to: Dialect, file: str, as_json: bool) -> int:
    if as_json:
        answer = {"dialect": to.name, "type": None, "message": None, "reason": told.why_not}
        sys.stdout.write(json_line(answer | {"markdown": told.text}) + "\n")
        return NOT_FOUND
    raise CommandError(
        f"{checked.type} has no counterpart: {told.why_not} Its readers receive it as markdown: telex translate --to"
        f" {PLAIN.name} {shell_word(file)}",
        NOT_FOUND,
    )


def _as_it_is(checked: CheckResult) -> None:
    """Print plain text and control frames of coding tools unchanged: there is nothing to translate."""
    text = checked.text if checked.text.endswith("\n") else checked.text + "\n"
    screen = Screen(sys.stdout)
    screen.stream.write(shown_block(text) if screen.is_terminal else text)
    screen.stream.flush()
    what = "a control frame of a coding tool" if checked.outcome == "control" else "plain text"
    sys.stderr.write(f"{what}: every reader receives it unchanged\n")


def _refuse(checked: CheckResult, as_json: bool) -> int:
    checked = checked._replace(findings=tuple(map(_for_one, checked.findings)))
    if as_json:
        sys.stdout.write(json_line(answer_of(checked)) + "\n")
    screen = Screen(sys.stderr)
    screen.line("\n".join([verdict(checked, screen), *finding_lines(checked.findings, screen)]))
    return REFUSED


def _for_one(finding: Finding) -> Finding:
    return finding._replace(say=_ONE_AT_A_TIME) if finding.code == "several-messages" else finding

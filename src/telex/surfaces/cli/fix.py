"""`telex fix`: the message as it should be, on stdout; what was done to it, on stderr."""

import os
import sys

import click

from telex.surfaces.cli.blanks import blank_lines, blanks_in
from telex.surfaces.cli.check import role_of, sized, team_policy, with_dialects
from telex.surfaces.cli.check_output import answer_of, json_line
from telex.surfaces.cli.exit_codes import DONE, REFUSED, CommandError
from telex.surfaces.cli.inputs import STDIN, files_in, pieces
from telex.surfaces.cli.message_output import wire_text
from telex.surfaces.cli.output import Screen, finding_lines, shown, shown_block, verdict
from telex.surfaces.cli.type_options import (
    dialect_option,
    json_option,
    receiver_option,
    role_option,
    team_dialect_option,
)
from telex.validation.check import CheckResult, check


@click.command("fix")
@click.argument("file", metavar="FILE|-")
@role_option
@receiver_option
@dialect_option
@team_dialect_option
@click.option("--max-bytes", metavar="N", help="Maximum size of a message.")
@json_option
def command(
    file: str,
    role: str | None,
    receiver: str | None,
    dialect: str | None,
    team_dialect: str | None,
    max_bytes: str | None,
    as_json: bool,
) -> int:
    """Print a message with its findings fixed.

    Wrapping, spelling, case and constants are fixed. A value that only you know becomes a marked blank, and the exit
    code is 2.
    """
    if file != STDIN and os.path.isdir(file):
        raise CommandError(f"{shown(file)} is a folder: fix one message at a time")
    desk = with_dialects(team_policy(max_bytes), dialect, team_dialect)
    bytes_max = desk.limits.message_bytes_max
    [path] = files_in([file])
    [(_, raw, size)] = pieces(path, bytes_max, lines=False)
    checked = sized(check(raw, desk, as_role=role, to_role=role_of(receiver)), size, bytes_max)
    return _as_json(checked) if as_json else _as_text(checked)


def _as_text(checked: CheckResult) -> int:
    screen, errors = Screen(sys.stdout), Screen(sys.stderr)
    tree = checked.fixed or checked.skeleton
    if tree is not None and checked.dialect is not None:
        text = wire_text(checked.dialect, tree, checked.body, visible=screen.is_terminal)
    elif checked.valid:
        text = checked.text if checked.text.endswith("\n") else checked.text + "\n"
        text = shown_block(text) if screen.is_terminal else text
    else:
        text = ""
    screen.stream.write(text)
    screen.stream.flush()
    for line in _words(checked, errors):
        errors.line(line)
    return DONE if checked.valid or checked.fixed else REFUSED


def _words(checked: CheckResult, screen: Screen) -> list[str]:
    if checked.fixed is not None:
        return ["fixed:", *finding_lines(checked.findings, screen)]
    if checked.skeleton is not None:
        blanks = list(blanks_in(checked.skeleton))
        return [*finding_lines(checked.findings, screen), *(blank_lines(blanks, screen) if blanks else [])]
    if checked.valid:
        return []
    return [verdict(checked, screen), *finding_lines(checked.findings, screen)]


def _as_json(checked: CheckResult) -> int:
    """As `check --json` answers, with the message itself where there was nothing to fix, and the blanks to fill."""
    fixed = checked.fixed or (checked.tree if checked.valid else None)
    blanks = [blank._asdict() for blank in blanks_in(checked.skeleton)]
    sys.stdout.write(json_line(answer_of(checked) | {"fixed": fixed or None, "blanks": blanks}) + "\n")
    return DONE if checked.valid or checked.fixed else REFUSED

"""`telex mend`: the message as it should be, on stdout; what was done to it, on stderr."""

import os
import sys

import click

from telex.flow.admission import Checked, Desk, check
from telex.model.limits import LIMITS
from telex.surfaces.cli.answers import answer_of, json_line
from telex.surfaces.cli.asking import dialect_option, json_option, role_option
from telex.surfaces.cli.blanks_left import blank_lines, blanks_in
from telex.surfaces.cli.check import sized
from telex.surfaces.cli.dialect_option import dialect_from
from telex.surfaces.cli.exits import DONE, REFUSED, CommandError
from telex.surfaces.cli.render import Screen, finding_lines, shown, shown_block, verdict
from telex.surfaces.cli.sources import STDIN, files_in, pieces
from telex.surfaces.cli.wire import wire_text


@click.command("mend")
@click.argument("file", metavar="FILE|-")
@role_option
@dialect_option
@json_option
def command(file: str, role: str | None, dialect: str | None, as_json: bool) -> int:
    """Print a message as it should be.

    Wrapping, spelling, case, constants and the like are mended. Where only you know what belongs there, a marked
    blank is left, and the exit code is 2.
    """
    if file != STDIN and os.path.isdir(file):
        raise CommandError(f"{shown(file)} is a folder: mend one message at a time")
    [path] = files_in([file])
    [(_, raw, size)] = pieces(path, LIMITS.message_bytes_max, lines=False)
    checked = check(raw, Desk(forced=dialect_from(dialect) if dialect else None), as_role=role)
    checked = sized(checked, size, LIMITS.message_bytes_max)
    return _as_json(checked) if as_json else _as_text(checked)


def _as_text(checked: Checked) -> int:
    screen, errors = Screen(sys.stdout), Screen(sys.stderr)
    tree = checked.mended or checked.skeleton
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
    return DONE if checked.valid or checked.mended else REFUSED


def _words(checked: Checked, screen: Screen) -> list[str]:
    if checked.mended is not None:
        return ["mended:", *finding_lines(checked.findings, screen)]
    if checked.skeleton is not None:
        blanks = list(blanks_in(checked.skeleton))
        return [*finding_lines(checked.findings, screen), *(blank_lines(blanks, screen) if blanks else [])]
    if checked.valid:
        return []
    return [verdict(checked, screen), *finding_lines(checked.findings, screen)]


def _as_json(checked: Checked) -> int:
    """As `check --json` answers, with the message itself where there was nothing to mend, and the blanks to fill."""
    mended = checked.mended or (checked.tree if checked.valid else None)
    blanks = [blank._asdict() for blank in blanks_in(checked.skeleton)]
    sys.stdout.write(json_line(answer_of(checked) | {"mended": mended or None, "blanks": blanks}) + "\n")
    return DONE if checked.valid or checked.mended else REFUSED

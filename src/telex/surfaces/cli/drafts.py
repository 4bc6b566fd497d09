"""`telex fix` and `telex new`: a message with its findings fixed, or a new one, with marked blanks for the rest."""

import os
import sys
import time
import uuid
from typing import Any

import click

from telex.dialects.scalars import format_timestamp
from telex.dialects.schema import TYPE, Dialect, MessageType, Tree, walk_kinds
from telex.dialects.write import draft, field_named, is_blank, value_from_text
from telex.messages.envelope import address_fields, plan_of
from telex.model.finding import Finding, refusals
from telex.surfaces.cli.check import answer_of, role_of, sized, team_policy, with_dialects
from telex.surfaces.cli.files import STDIN, files_in, pieces
from telex.surfaces.cli.options import (
    COMPLETERS,
    command,
    dialect_option,
    file_argument,
    find_type,
    json_option,
    receiver_option,
    role_option,
    team_dialect_option,
    text_option,
)
from telex.surfaces.cli.output import (
    Screen,
    blanks_in,
    did_you_mean,
    finding_lines,
    print_json,
    shown,
    shown_block,
    verdict,
    wire_text,
    wrapped,
)
from telex.surfaces.cli.usage import DONE, REFUSED, CommandError
from telex.validation.check import CheckPolicy, CheckResult, check


@command(
    "fix",
    [
        file_argument,
        role_option,
        receiver_option,
        dialect_option,
        team_dialect_option,
        click.option("--max-bytes", metavar="N", help="Maximum size of a message."),
        json_option,
    ],
)
def fix_command(
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
    policy = with_dialects(team_policy(max_bytes), dialect, team_dialect)
    bytes_max = policy.limits.message_bytes_max
    [path] = files_in([file])
    [(_, raw, size)] = pieces(path, bytes_max, lines=False)
    checked = sized(check(raw, policy, as_role=role, to_role=role_of(receiver)), size, bytes_max)
    if as_json:
        fixed = checked.fixed or (checked.tree if checked.valid else None)
        blanks = [blank._asdict() for blank in blanks_in(checked.skeleton)]
        print_json(answer_of(checked) | {"fixed": fixed or None, "blanks": blanks})
    else:
        _print_fixed(checked)
    return DONE if checked.valid or checked.fixed else REFUSED


def _print_fixed(checked: CheckResult) -> None:
    screen, tree, text = Screen(sys.stdout), checked.fixed or checked.skeleton, ""
    if tree is not None and checked.dialect is not None:
        text = wire_text(checked.dialect, tree, checked.body, visible=screen.is_terminal)
    elif checked.valid:
        text = checked.text if checked.text.endswith("\n") else checked.text + "\n"
        text = shown_block(text) if screen.is_terminal else text
    sys.stdout.write(text)
    sys.stdout.flush()
    errors = Screen(sys.stderr)
    lines = finding_lines(checked.findings, errors)
    if checked.fixed is not None:
        errors.line("fixed:", *lines)
    elif checked.skeleton is not None:
        _print_lines([*lines, *_blank_lines(checked.skeleton, errors)])
    elif not checked.valid:
        errors.line(verdict(checked, errors), *lines)


@command(
    "new",
    [
        click.argument("type_name", metavar="TYPE", shell_complete=COMPLETERS["types"]),
        click.argument("given", metavar="[FIELD=VALUE]...", nargs=-1),
        dialect_option,
        text_option("--as", "NAME", "Sender; its name or its role is filled in.", "agent", "agents"),
        role_option,
        text_option("--to", "ADDRESS", "Recipient; its name or its role is filled in.", complete="agents"),
        json_option,
    ],
)
def new_command(
    type_name: str,
    given: tuple[str, ...],
    dialect: str | None,
    agent: str | None,
    role: str | None,
    to: str | None,
    as_json: bool,
) -> int:
    """Draft a message of this type.

    Id, time, version and correlation are filled in, and sender and recipient by --as and --to. Give the fields you
    know, nested ones with a dot: checks.passed=3. Lists take commas or JSON.
    """
    spoken, type_ = find_type(type_name, dialect)
    values = dict(_value(word, spoken, type_) for word in given)
    if agent or to:
        values = address_fields(plan_of(spoken, type_), {"sender": agent or "", "role": role, "to": to}) | values
    tree = _without_blank_names(
        draft(spoken, type_, values, now=format_timestamp(time.time()), new_id=str(uuid.uuid4()), role=role)
    )
    body = "\n".join(f"## {name}\n" for name in type_.sections) if spoken.form == "front-matter" else None
    findings = _remaining_findings(spoken, tree, body, role)
    if as_json:
        blanks = [blank._asdict() for blank in blanks_in(tree)]
        text = wire_text(spoken, tree, body, visible=False)
        answer = {"dialect": spoken.name, "type": type_.name, "message": tree, "body": body, "blanks": blanks}
        print_json(answer | {"text": text})
    else:
        sys.stdout.write(wire_text(spoken, tree, body))
    sys.stdout.flush()
    screen = Screen(sys.stderr)
    _print_lines([*finding_lines(findings, screen), *_blank_lines(tree, screen)])
    return REFUSED if findings else DONE


def _value(word: str, dialect: Dialect, type_: MessageType) -> tuple[str, Any]:
    name, sign, text = word.partition("=")
    if not sign:
        raise CommandError(f"write a field as {shown(name)}=VALUE")
    if name == TYPE:
        raise CommandError(f"the type is {type_.name}: leave it out")
    field = field_named(dialect, type_, name) if "[" not in name else None
    if field is None:
        inner = [".".join(path) for path, _ in walk_kinds(type_.fields)]
        names = [*dialect.envelope, *(path for path in inner if "[]" not in path)]
        hint = did_you_mean(name, names, f"it has {', '.join(names)}")
        raise CommandError(f"{type_.name} has no field {shown(name)}; {hint}")
    return name, value_from_text(text, field.kind)


def _without_blank_names(value: Any) -> Any:
    """The value without the blank name in an object that has other names."""
    if isinstance(value, list):
        return [_without_blank_names(item) for item in value]
    if not isinstance(value, dict):
        return value
    named = {key: _without_blank_names(item) for key, item in value.items() if not is_blank(key)}
    return named or value


def _remaining_findings(dialect: Dialect, tree: Tree, body: str | None, role: str | None) -> tuple[Finding, ...]:
    """Findings that would remain with every blank filled in."""
    raw = wire_text(dialect, tree, body, visible=False).encode()
    findings = check(raw, CheckPolicy(forced=dialect), as_role=role).findings
    return tuple(finding for finding in refusals(findings) if finding.code != "blank-left")


def _blank_lines(tree: Tree, screen: Screen) -> list[str]:
    """A line for each blank, under a line that counts them."""
    blanks = list(blanks_in(tree))
    widest = max((len(shown(blank.path)) for blank in blanks), default=0)
    lines = [f"{len(blanks)} blank{'s' if len(blanks) != 1 else ''} to fill:"] if blanks else []
    for path, wanted in blanks:
        first, *others = wrapped(shown(wanted), screen.width, widest + 4)
        lines.append(f"  {screen.paint(shown(path), 'bold')}{' ' * (widest - len(shown(path)))}  {first}")
        lines += [" " * (widest + 4) + other for other in others]
    return lines


def _print_lines(lines: list[str]) -> None:
    sys.stderr.write("".join(f"{line}\n" for line in lines))

"""`telex new`: a message begun. What can be known is filled in; the rest is a marked blank."""

import sys
import uuid
from typing import Any

import click

from telex.dialects.schema import TYPE, Dialect, MessageType, Tree, walk_kinds
from telex.dialects.write import draft, field_named, is_blank, value_from_text
from telex.messages.builders import now_text
from telex.model.finding import Finding, refusals
from telex.model.suggestion import nearest
from telex.surfaces.cli.blanks import blank_lines, blanks_in
from telex.surfaces.cli.check_output import json_line
from telex.surfaces.cli.exit_codes import DONE, REFUSED, CommandError
from telex.surfaces.cli.message_output import wire_text
from telex.surfaces.cli.output import Screen, finding_lines, shown
from telex.surfaces.cli.type_options import dialect_option, find_type, json_option, role_option, type_argument
from telex.validation.check import CheckPolicy, check


@click.command("new")
@type_argument
@click.argument("given", metavar="[FIELD=VALUE]...", nargs=-1)
@dialect_option
@role_option
@json_option
def command(type_name: str, given: tuple[str, ...], dialect: str | None, role: str | None, as_json: bool) -> int:
    """Draft a message of this type.

    Id, time, version and correlation are filled in. Give the fields you know, nested ones with a dot:
    checks.passed=3. Lists take commas or JSON.
    """
    spoken, type_ = find_type(type_name, dialect)
    values = dict(_value(word, spoken, type_) for word in given)
    tree = _whole_names(draft(spoken, type_, values, now=now_text(), new_id=str(uuid.uuid4()), role=role))
    body = _body(type_) if spoken.form == "front-matter" else None
    findings = _wrong(spoken, tree, body, role)
    if as_json:
        blanks = [blank._asdict() for blank in blanks_in(tree)]
        text = wire_text(spoken, tree, body, visible=False)
        answer = {"dialect": spoken.name, "type": type_.name, "message": tree, "body": body, "blanks": blanks}
        sys.stdout.write(json_line(answer | {"text": text}) + "\n")
    else:
        sys.stdout.write(wire_text(spoken, tree, body))
    sys.stdout.flush()
    _say(tree, findings)
    return REFUSED if findings else DONE


def _value(word: str, dialect: Dialect, type_: MessageType) -> tuple[str, Any]:
    name, sign, text = word.partition("=")
    if not sign:
        raise CommandError(f"write a field as {shown(name)}=VALUE")
    if name == TYPE:
        raise CommandError(f"the type is {type_.name}: leave it out")
    field = field_named(dialect, type_, name) if "[" not in name else None
    if field is None:
        raise CommandError(_no_field(name, dialect, type_))
    return name, value_from_text(text, field.kind)


def _no_field(name: str, dialect: Dialect, type_: MessageType) -> str:
    inner = [".".join(path) for path, _ in walk_kinds(type_.fields)]
    names = [*(field for field in dialect.envelope), *(path for path in inner if "[]" not in path)]
    meant = nearest(name, names)
    perhaps = f"did you mean {meant}?" if meant else f"it has {', '.join(names)}"
    return f"{type_.name} has no field {shown(name)}; {perhaps}"


def _whole_names(value: Any) -> Any:
    """The same without the blank name in an object that was given other names: it only stood for the first one."""
    if isinstance(value, list):
        return [_whole_names(item) for item in value]
    if not isinstance(value, dict):
        return value
    named = {key: _whole_names(item) for key, item in value.items() if not is_blank(key)}
    return named or value


def _body(type_: MessageType) -> str:
    return "\n".join(f"## {name}\n" for name in type_.sections)


def _wrong(dialect: Dialect, tree: Tree, body: str | None, role: str | None) -> tuple[Finding, ...]:
    """What would be refused even with every blank filled in."""
    raw = wire_text(dialect, tree, body, visible=False).encode()
    findings = check(raw, CheckPolicy(forced=dialect), as_role=role).findings
    return tuple(finding for finding in refusals(findings) if finding.code != "blank-left")


def _say(tree: Tree, findings: tuple[Finding, ...]) -> None:
    screen, blanks = Screen(sys.stderr), list(blanks_in(tree))
    lines = [*finding_lines(findings, screen), *(blank_lines(blanks, screen) if blanks else [])]
    for line in lines:
        screen.line(line)

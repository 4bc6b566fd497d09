"""`telex dialects`: list the dialects, or the types and fields of one."""

import sys
from typing import Any

import click

from telex.dialects.registry import OTHER_VERSIONS, PLAIN
from telex.dialects.schema import ANY, Dialect, MessageType
from telex.surfaces.cli.check_output import json_line
from telex.surfaces.cli.dialect_options import looked_at, team_dialects
from telex.surfaces.cli.exit_codes import DONE, NOT_FOUND, CommandError
from telex.surfaces.cli.output import Screen
from telex.surfaces.cli.table import table_lines
from telex.surfaces.cli.type_options import json_option


@click.command("dialects")
@click.argument("name", metavar="[NAME]", required=False)
@json_option
@click.option("--page", is_flag=True, help="Print the reference page, in markdown.")
@click.option(
    "--matrix", "is_matrix", is_flag=True, help="Show what each type becomes in other dialects, and what is lost."
)
def command(name: str | None, as_json: bool, page: bool, is_matrix: bool) -> int:
    """List the dialects, or one dialect's types with who sends them to whom."""
    known = team_dialects()
    dialect, remarks = looked_at(name, NOT_FOUND, known) if name is not None else (None, [])
    listed = (*known, *(version for version in OTHER_VERSIONS if version not in known), PLAIN)
    if is_matrix and page:
        raise CommandError("give --matrix or --page, not both")
    if is_matrix:
        from telex.surfaces.cli.translation_matrix import tell

        tell((dialect,) if dialect else known, as_json=as_json)
    elif page:
        sys.stdout.write(_page(dialect, listed))
    elif as_json:
        whole = _summary(dialect) | {"types": [_facts(type_) for type_ in dialect.types.values()]} if dialect else None
        sys.stdout.write(json_line(whole or [_summary(dialect) for dialect in listed]) + "\n")
    else:
        screen = Screen(sys.stdout)
        screen.line("\n".join(_types_table(dialect, screen) if dialect else _dialects_table(listed, screen)))
    sys.stdout.flush()
    sys.stderr.writelines(f"note: {remark}\n" for remark in remarks)
    return DONE


def _page(dialect: Dialect | None, known: tuple[Dialect, ...]) -> str:
    from telex.generate.pages import dialect_page, overview_page

    return dialect_page(dialect) if dialect else overview_page(known)


def _dialects_table(known: tuple[Dialect, ...], screen: Screen) -> list[str]:
    rows = [(dialect.name, dialect.version, dialect.form, len(dialect.types), dialect.purpose) for dialect in known]
    return table_lines(("dialect", "version", "form", "types", "what it is for"), rows, screen)


def _types_table(dialect: Dialect, screen: Screen) -> list[str]:
    rows = [
        (type_.name, type_.priority, type_.reply or "", f"{_said(type_.senders)} → {_said(type_.receivers)}")
        for type_ in dialect.types.values()
    ]
    head = f"{screen.paint(f'{dialect.title}', 'bold')}  {dialect.purpose}"
    if not rows:
        return [head]
    return [head, "", *table_lines(("type", "priority", "reply", "sent by → received by"), rows, screen)]


def _said(roles: tuple[str, ...]) -> str:
    return "anyone" if roles == ANY else ", ".join(roles)


def _summary(dialect: Dialect) -> dict[str, Any]:
    return {
        "name": dialect.name,
        "version": dialect.version,
        "form": dialect.form,
        "purpose": dialect.purpose,
        "roles": list(dialect.roles),
        "types": list(dialect.types),
    }


def _facts(type_: MessageType) -> dict[str, Any]:
    return {
        "name": type_.name,
        "purpose": type_.purpose,
        "senders": list(type_.senders),
        "receivers": list(type_.receivers),
        "priority": type_.priority,
        "reply": type_.reply,
    }

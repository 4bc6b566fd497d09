"""`telex dialects`, `schema`, `prompt` and `explain`: dialects, their schemas and prompts, and finding codes."""

import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import click

from telex.dialects.registry import BUILT_IN, OTHER_VERSIONS, PLAIN
from telex.dialects.schema import ANY, Dialect, HardRule, MessageType
from telex.dialects.write import write_json
from telex.generate.type_view import participants
from telex.surfaces.cli.connection import dialect_and_warnings, dialect_from, preferred, settings_here, team_dialects
from telex.surfaces.cli.options import (
    COMPLETERS,
    Completer,
    command,
    dialect_option,
    find_type,
    flag,
    json_option,
    text_option,
)
from telex.surfaces.cli.output import Screen, did_you_mean, print_json, shown, wrapped
from telex.surfaces.cli.render import Columns, columns_lines, fields, table_lines
from telex.surfaces.cli.usage import DONE, NOT_FOUND, CommandError


# --- dialects ---------------------------------------------------------------------------------------------------------
@command(
    "dialects",
    [
        click.argument("name", metavar="[NAME]", required=False),
        json_option,
        flag("--page", "Print the reference page, in markdown."),
        flag("--matrix", "Show the translation of each type into other dialects, and lost fields.", "is_matrix"),
    ],
)
def dialects_command(name: str | None, as_json: bool, page: bool, is_matrix: bool) -> int:
    """List the dialects, or one dialect's types with their senders and recipients."""
    known = team_dialects()
    dialect, remarks = dialect_and_warnings(name, NOT_FOUND, known) if name is not None else (None, [])
    listed = (*known, *(version for version in OTHER_VERSIONS if version not in known), PLAIN)
    if is_matrix and page:
        raise CommandError("give --matrix or --page, not both")
    if is_matrix:
        _print_matrix((dialect,) if dialect else known, as_json=as_json)
    elif page:
        from telex.generate.pages import dialect_page, overview_page

        sys.stdout.write(dialect_page(dialect) if dialect else overview_page(listed))
    elif as_json and dialect:
        print_json(_summary(dialect) | {"types": [_type_facts(type_) for type_ in dialect.types.values()]})
    elif as_json:
        print_json([_summary(dialect) for dialect in listed])
    else:
        screen = Screen(sys.stdout)
        screen.line(*(_types_table(dialect, screen) if dialect else _dialects_table(listed, screen)))
    sys.stdout.flush()
    sys.stderr.writelines(f"note: {remark}\n" for remark in remarks)
    return DONE


def _dialects_table(dialects: tuple[Dialect, ...], screen: Screen) -> list[str]:
    rows = [(dialect.name, dialect.version, dialect.form, len(dialect.types), dialect.purpose) for dialect in dialects]
    return table_lines(("dialect", "version", "form", "types", "what it is for"), rows, screen)


def _types_table(dialect: Dialect, screen: Screen) -> list[str]:
    columns: Columns[MessageType] = {
        "type": lambda type_: type_.name,
        "priority": lambda type_: type_.priority,
        "reply": lambda type_: type_.reply or "",
        "sent by → received by": lambda type_: f"{_roles(type_.senders)} → {_roles(type_.receivers)}",
    }
    head = f"{screen.paint(dialect.title, 'bold')}  {dialect.purpose}"
    return [head, "", *columns_lines(columns, dialect.types.values(), screen)] if dialect.types else [head]


def _roles(roles: tuple[str, ...]) -> str:
    return "anyone" if roles == ANY else ", ".join(roles)


def _summary(dialect: Dialect) -> dict[str, Any]:
    facts = fields(dialect, "name version form purpose")
    return facts | {"roles": list(dialect.roles), "types": list(dialect.types)}


def _type_facts(type_: MessageType) -> dict[str, Any]:
    facts = fields(type_, "name purpose") | {"senders": list(type_.senders), "receivers": list(type_.receivers)}
    return facts | fields(type_, "priority reply")


# --- dialects --matrix ------------------------------------------------------------------------------------------------
def _print_matrix(sources: Sequence[Dialect], *, as_json: bool) -> None:
    """Print the counterpart of each type in the built-in dialects, and those of built-in types in a user's dialects."""
    from telex.generate.tables import absences, distinct, matrix

    entries = matrix(sources, BUILT_IN)
    own = [dialect for dialect in sources if dialect not in BUILT_IN]
    back = matrix(BUILT_IN, own)
    if as_json:
        print_json(*(entry._asdict() for entry in (*entries, *back)))
        return
    entries, back, screen = distinct(entries), distinct(back), Screen(sys.stdout)
    headings = ("type", "becomes", "lost", "invented", "narrowed", "when")
    blocks: list[list[str]] = []
    for dialect in sources:
        known = [entry for entry in entries if entry.dialect == dialect.name]
        counterparts = [entry for entry in known if entry.becomes is not None]
        names = _without_repeats([entry.type for entry in counterparts])
        rows = [
            (name, f"{entry.to} {entry.becomes}", entry.lost, entry.invented, entry.narrowed, entry.when or "")
            for name, entry in zip(names, counterparts, strict=True)
        ]
        missing = absences(known)
        names = _without_repeats([absence.type for absence in missing])
        reasons = [(name, f"{', '.join(gap.names)}: {gap.reason}") for name, gap in zip(names, missing, strict=True)]
        table = table_lines(headings, rows, screen) if rows else []
        absent = ["", *table_lines(("type", "only as markdown in"), reasons, screen)] if reasons else []
        blocks.append([screen.paint(dialect.title, "bold"), *table, *absent])
    for dialect in own if any(entry.becomes for entry in back) else ():
        rows = [
            (
                f"{entry.dialect} {entry.type}",
                entry.becomes,
                entry.lost,
                entry.invented,
                entry.narrowed,
                entry.when or "",
            )
            for entry in back
            if entry.becomes is not None
        ]
        reasons = [(f"{gap.dialect} {gap.type}", gap.reason) for gap in absences(back)]
        absent = ["", *table_lines(("type", "why only as markdown"), reasons, screen)] if reasons else []
        blocks.append([screen.paint(f"into {dialect.title}", "bold"), *table_lines(headings, rows, screen), *absent])
    screen.line("\n\n".join("\n".join(block) for block in blocks))


def _without_repeats(names: list[str]) -> list[str]:
    """The names, empty where a name repeats the one before."""
    return [name if name != before else "" for before, name in pairwise(["", *names])]


# --- schema -----------------------------------------------------------------------------------------------------------

FORMATS = ("json-schema", "asyncapi", "typescript", "python")
CODE = ("typescript", "python")  # formats that are no JSON


@command(
    "schema",
    [
        click.argument("type_name", metavar="[TYPE]", required=False, shell_complete=COMPLETERS["types"]),
        dialect_option,
        click.option(
            "--format", "format_", type=click.Choice(FORMATS), default=FORMATS[0], show_default=True, help="Language."
        ),
        json_option,
    ],
)
def schema_command(type_name: str | None, dialect: str | None, format_: str, as_json: bool) -> int:
    """Print the schema of a type, or of a whole dialect.

    Format python is the stub (.pyi) of the classes that telex.messages.load makes of your own dialect.
    """
    from telex.generate.schemas import type_schema

    if type_name is not None:
        if format_ != "json-schema":
            raise CommandError(f"{format_} describes a whole dialect: leave {type_name} out and give --dialect")
        sys.stdout.write(write_json(type_schema(*find_type(type_name, dialect))) + "\n")
        return DONE
    if dialect is None:
        names = ", ".join(dialect.name for dialect in team_dialects())
        raise CommandError(f"name a type, or a dialect with --dialect: {names}")
    text = _schema(dialect_from(dialect), format_)
    if as_json and format_ in CODE:
        print_json({format_: text})
    else:
        sys.stdout.write(text)
    return DONE


def _schema(dialect: Dialect, format_: str) -> str:
    from telex.generate.schemas import asyncapi, dialect_schema
    from telex.generate.typings import classes_stub, typescript

    if format_ == "typescript":
        return typescript(dialect)
    if format_ == "python":
        return classes_stub(dialect, f"telex schema --dialect {dialect.name} --format python")
    return write_json((asyncapi if format_ == "asyncapi" else dialect_schema)(dialect)) + "\n"


# --- prompt -----------------------------------------------------------------------------------------------------------
AGENTS_MD = "agents-md"


@command(
    "prompt",
    [
        text_option("--role", "ROLE", "The role to teach.", complete="roles"),
        dialect_option,
        click.option(
            "--format",
            "format_",
            type=click.Choice(["text", AGENTS_MD]),
            default="text",
            show_default=True,
            help="The prompt alone, or a block for AGENTS.md, for which the role is optional.",
        ),
        json_option,
    ],
)
def prompt_command(role: str | None, dialect: str | None, format_: str, as_json: bool) -> int:
    """Print the shortest prompt that teaches an agent to send the messages of its role."""
    from telex.generate.prompt import tokens_estimated

    if role is None and format_ != AGENTS_MD:
        raise CommandError("missing argument: telex prompt --role ROLE")
    spoken, text = _prompt_of(role, dialect) if role is not None else (None, "")
    if format_ == AGENTS_MD:
        text = _agents_block(text)
    tokens = tokens_estimated(text)
    if as_json:
        print_json({"role": role, "dialect": spoken.name if spoken else None, "tokens": tokens, "prompt": text})
        return DONE
    sys.stdout.write(text)
    sys.stdout.flush()
    sys.stderr.write(f"≈ {tokens} tokens\n")
    return DONE


def _prompt_of(role: str, dialect: str | None) -> tuple[Dialect, str]:
    from telex.generate.prompt import prompt

    spoken = dialect_from(dialect) if dialect else _only_dialect_of(role)
    if spoken.types and spoken.addresses != "names" and role not in participants(spoken):
        raise _no_role(role, spoken.name, participants(spoken))
    return spoken, prompt(spoken, role)


def _agents_block(prompt: str) -> str:
    """A block for AGENTS.md between marks, so that a later version can replace it."""
    from telex.surfaces.clients.plugin_files import data

    typed = f"\n### Your messages\n\n{prompt.rstrip()}\n" if prompt else ""
    return f"<!-- telex: begin -->\n{data('AGENTS.md')}{typed}<!-- telex: end -->\n"


def _only_dialect_of(role: str) -> Dialect:
    settings = settings_here()
    known = settings.dialects()
    dialects = preferred([dialect for dialect in known if role in participants(dialect)], settings)
    if not dialects:
        raise _no_role(role, "any dialect", [name for dialect in known for name in participants(dialect)])
    if len(dialects) > 1:
        names = ", ".join(dialect.name for dialect in dialects)
        raise CommandError(f"{role} is a role of {names}: choose with --dialect")
    return dialects[0]


def _no_role(role: str, where: str, roles: Sequence[str]) -> CommandError:
    return CommandError(f"no role {shown(role)} in {where}; {did_you_mean(role, dict.fromkeys(roles))}", NOT_FOUND)


# --- explain ----------------------------------------------------------------------------------------------------------
def _codes(ctx: click.Context) -> list[str]:
    from telex.generate.codes import explanations

    return list(explanations())


@command(
    "explain",
    [
        click.argument("code", metavar="CODE", required=False, shell_complete=Completer(_codes)),
        flag("--list", "List all codes.", "all_codes"),
        dialect_option,
        json_option,
    ],
)
def explain_command(code: str | None, all_codes: bool, dialect: str | None, as_json: bool) -> int:
    """Explain a finding or error code: why it happens, how to fix it, and an example before and after.

    A rule of your own dialect is explained as you declared it, in telex.toml or with --dialect FILE.toml.
    """
    from telex.generate.codes import code_page, explanations

    dialects = team_dialects() if dialect is None else (dialect_from(dialect),)
    own = [dialect for dialect in dialects if dialect not in BUILT_IN]  # rules of built-in dialects have explanations
    titles = {code: explanation.title for code, explanation in explanations().items()}
    titles |= {rule.code: rule.say for dialect in own for rule in _own_rules(dialect)}
    screen = Screen(sys.stdout)
    if all_codes and as_json:
        print_json(dict(sorted(titles.items())))
    elif all_codes:
        screen.line(*table_lines(("code", "what it is"), sorted(titles.items()), screen))
    elif code is None:
        raise CommandError("no code: `telex explain --list` lists them")
    elif code not in titles:
        hint = did_you_mean(code, titles, "`telex explain --list` lists them")
        raise CommandError(f"no code {shown(code)}; {hint}", NOT_FOUND)
    elif declaring := [dialect for dialect in own if _own_rules(dialect, code)]:
        if as_json:
            print_json(*(_rule_facts(dialect, code) for dialect in declaring))
        else:
            sys.stdout.write("\n".join(_rule_page(dialect, code) for dialect in declaring))
    elif as_json:
        print_json(fields(explanations()[code], "code title why fix before after"))
    else:
        sys.stdout.write(_wrapped_page(code_page(code), screen.width))
    return DONE


def _wrapped_page(text: str, width: int | None) -> str:
    """The page with its prose wrapped to the width of the terminal. Fenced blocks stay as they are."""
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        ticks = line[: len(line) - len(line.lstrip("`"))]
        if fence or len(ticks) >= 3:
            lines.append(line)
            fence = "" if line == fence else fence or ticks  # a message within may have shorter fences
        else:
            mark = "> " if line.startswith("> ") else ""
            lines += [mark + part for part in wrapped(line.removeprefix(mark), width, len(mark))]
    return "\n".join(lines)


def _own_rules(dialect: Dialect, code: str | None = None) -> dict[HardRule, list[str]]:
    """The rules of that code, or all, each with the types that have it."""
    rules: dict[HardRule, list[str]] = {}
    for type_ in dialect.types.values():
        for rule in (*dialect.rules, *type_.rules):
            if code in (None, rule.code):
                rules.setdefault(rule, []).append(type_.name)
    return rules


def _rule_facts(dialect: Dialect, code: str) -> dict[str, Any]:
    rules = [
        fields(rule, "severity broken_when path say expected") | {"types": types}
        for rule, types in _own_rules(dialect, code).items()
    ]
    return {"code": code, "dialect": dialect.name, "rules": rules}


def _rule_page(dialect: Dialect, code: str) -> str:
    """A page in markdown, in the order of the pages of built-in codes."""
    parts = [f"# {code}"]
    for rule, types in _own_rules(dialect, code).items():
        expected = f" (expected {rule.expected})" if rule.expected else ""
        parts += [
            f"A rule of {dialect.title} · {rule.severity}",
            f"**Broken when** `{rule.broken_when}` in {', '.join(f'`{name}`' for name in types)}",
            f"**Fix** `{rule.path}`. {rule.say}{expected}",
        ]
    return "\n\n".join(shown(part) for part in parts) + "\n"

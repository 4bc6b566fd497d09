"""`telex explain`: what a code means, or a rule that a user declared."""

import sys
from typing import Any

import click

from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import Dialect, HardRule
from telex.generate.codes import explanations
from telex.generate.codes_page import code_page
from telex.model.text import nearest
from telex.surfaces.cli.check_output import json_line
from telex.surfaces.cli.dialect_options import dialect_from, team_dialects
from telex.surfaces.cli.exit_codes import DONE, NOT_FOUND, CommandError
from telex.surfaces.cli.output import Screen, shown, wrapped
from telex.surfaces.cli.table import table_lines
from telex.surfaces.cli.type_options import dialect_option, json_option


def _codes(ctx: click.Context, param: click.Parameter, begun: str) -> list[str]:
    return [code for code in explanations() if code.startswith(begun)]


@click.command("explain")
@click.argument("code", metavar="CODE", required=False, shell_complete=_codes)
@click.option("--list", "all_codes", is_flag=True, help="List all codes.")
@dialect_option
@json_option
def command(code: str | None, all_codes: bool, dialect: str | None, as_json: bool) -> int:
    """Explain a finding or error code: why it happens, how to fix it, and an example before and after.

    A rule of your own dialect is explained as you declared it, in telex.toml or with --dialect FILE.toml.
    """
    own = _own(dialect)
    titles = _titles(own)
    if all_codes:
        sys.stdout.write(_list(titles, as_json) + "\n")
        return DONE
    if code is None:
        raise CommandError("which code? `telex explain --list` lists them")
    if code not in titles:
        raise CommandError(_no_code(code, titles), NOT_FOUND)
    if declaring := [one for one in own if own_rules(one, code)]:
        pages = [json_line(rule_facts(one, code)) + "\n" if as_json else own_page(one, code) for one in declaring]
        sys.stdout.write("".join(pages) if as_json else "\n".join(pages))
    else:
        sys.stdout.write(_as_json(code) if as_json else _fitted(code_page(code), Screen(sys.stdout).width))
    return DONE


def _own(name: str | None) -> list[Dialect]:
    """The user's own dialects: the named one, or those of the team. Rules of built-in dialects have explanations."""
    dialects = team_dialects() if name is None else (dialect_from(name),)
    return [dialect for dialect in dialects if dialect not in BUILT_IN]


def _titles(own: list[Dialect]) -> dict[str, str]:
    """The title of every code. The title of a user's own rule is its text."""
    titles = {code: explanation.title for code, explanation in explanations().items()}
    declared = {rule.code: rule.say for dialect in own for rule in own_rules(dialect)}
    return dict(sorted((titles | declared).items()))


def _list(titles: dict[str, str], as_json: bool) -> str:
    if as_json:
        return json_line(titles)
    rows = [(code, shown(title)) for code, title in titles.items()]
    return "\n".join(table_lines(("code", "what it is"), rows, Screen(sys.stdout)))


def _as_json(code: str) -> str:
    explanation = explanations()[code]
    fields = {name: getattr(explanation, name) for name in ("code", "title", "why", "fix", "before", "after")}
    return json_line(fields) + "\n"


def _fitted(text: str, width: int | None) -> str:
    """The page with its prose wrapped to the width of the terminal. Fenced blocks stay as they are."""
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        ticks = line[: len(line) - len(line.lstrip("`"))]
        if fence or len(ticks) >= 3:
            lines.append(line)
            fence = "" if line == fence else fence or ticks  # a message within may have shorter fences of its own
        else:
            mark = "> " if line.startswith("> ") else ""
            lines += [mark + part for part in wrapped(line.removeprefix(mark), width, len(mark))]
    return "\n".join(lines)


def _no_code(code: str, titles: dict[str, str]) -> str:
    meant = nearest(code, titles)
    perhaps = f"did you mean {meant}?" if meant else "`telex explain --list` lists them"
    return f"no code {shown(code)}; {perhaps}"


# --- rules of a user's dialect ----------------------------------------------------------------------------------------


def own_rules(dialect: Dialect, code: str | None = None) -> dict[HardRule, list[str]]:
    """The rules of that code, or all there are, each with the types that have it."""
    found: dict[HardRule, list[str]] = {}
    for type_ in dialect.types.values():
        for rule in (*dialect.rules, *type_.rules):
            if code in (None, rule.code):
                found.setdefault(rule, []).append(type_.name)
    return found


def rule_facts(dialect: Dialect, code: str) -> dict[str, Any]:
    """For programs. One code may stand for several rules, so they are a list."""
    rules = [
        {
            "severity": rule.severity,
            "broken_when": rule.broken_when,
            "path": rule.path,
            "say": rule.say,
            "expected": rule.expected,
            "types": types,
        }
        for rule, types in own_rules(dialect, code).items()
    ]
    return {"code": code, "dialect": dialect.name, "rules": rules}


def own_page(dialect: Dialect, code: str) -> str:
    """For people, in markdown, in the order of the pages that the built-in codes have."""
    parts = [f"# {code}"]
    for rule, types in own_rules(dialect, code).items():
        expected = f" (expected {rule.expected})" if rule.expected else ""
        parts += [
            f"A rule of {dialect.title} · {rule.severity}",
            f"**Broken when** `{rule.broken_when}` in {', '.join(f'`{name}`' for name in types)}",
            f"**Fix** `{rule.path}`. {rule.say}{expected}",
        ]
    return "\n\n".join(shown(part) for part in parts) + "\n"

"""What is there to say of a rule that a user declared? All that the declaration says, and where it holds."""

from typing import Any

from telex.dialects.schema import Dialect, HardRule
from telex.surfaces.cli.output import shown


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
            f"A rule of {dialect.name} {dialect.version} · {rule.severity}",
            f"**Broken when** `{rule.broken_when}` in {', '.join(f'`{name}`' for name in types)}",
            f"**Fix** `{rule.path}`. {rule.say}{expected}",
        ]
    return "\n\n".join(shown(part) for part in parts) + "\n"

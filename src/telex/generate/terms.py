"""Tables of the intents, terms and role functions for the page on own dialects."""

from collections.abc import Mapping

from telex.dialects.intents import INTENTS, TRADES, Term

PAGE = "docs/own-dialects.md"


def parts() -> dict[str, str]:
    return {"intents": _intents(), "terms": _terms(), "trades": _trades()}


def _intents() -> str:
    lines = ["| intent | a message that |", "| --- | --- |"]
    return "\n".join([*lines, *(f"| `{name}` | {intent.does} |" for name, intent in INTENTS.items())])


def _terms() -> str:
    """The terms of each intent; intents with the same terms share a row."""
    shared: dict[tuple[str, ...], list[str]] = {}
    for name, intent in INTENTS.items():
        if intent.terms:
            shared.setdefault(tuple(intent.terms), []).append(name)
    lines = ["| intent | its terms |", "| --- | --- |"]
    for names in shared.values():
        intent = INTENTS[names[0]]
        lines.append(f"| {', '.join(f'`{name}`' for name in names)} | {_listed(intent.terms, intent.turns_on)} |")
    return "\n".join(lines)


def _listed(terms: Mapping[str, Term], turns_on: tuple[str, ...]) -> str:
    told = []
    for name, term in terms.items():
        words = f" ({', '.join(f'`{word}`' for word in term.words)})" if term.words else ""
        told.append(f"{'**' if name in turns_on else ''}`{name}`{'**' if name in turns_on else ''} {term.means}{words}")
    return "<br>".join(told)


def _trades() -> str:
    lines = ["| trade | what such a role does |", "| --- | --- |"]
    return "\n".join([*lines, *(f"| `{name}` | {does} |" for name, does in TRADES.items())])

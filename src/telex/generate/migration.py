"""Tables of the changes between two versions of a dialect, for the migration pages.

For each pair of types they list, field by field, what `translate` does with the type's own example: which fields are
carried over, which are new, and which are dropped. The rest of a migration page is handwritten.
"""

from functools import cache

from telex.dialects.registry import by_name
from telex.dialects.schema import Dialect, MessageType
from telex.translation.translate import NoCounterpart, Translation, header_of, translate

PAGE = "docs/migration-vbw-2.0.md"
BEFORE, AFTER = "vbw-handoff", "vbw-typed"


@cache
def parts() -> dict[str, str]:
    before, after = by_name(BEFORE), by_name(AFTER)
    assert before is not None
    assert after is not None
    return {"to-2.0": _way(before, after), "to-1.0": _way(after, before), "alone": _alone(before, after)}


def _way(dialect: Dialect, to: Dialect) -> str:
    told = [made for type_ in dialect.types.values() if (made := _made(dialect, type_, to)) is not None]
    return "\n\n".join(_section(dialect, type_, made) for type_, made in told)


def _made(dialect: Dialect, type_: MessageType, to: Dialect) -> tuple[MessageType, Translation] | None:
    header = header_of(type_.example, dialect, type_, id="message-1", at=0.0, sender="agent")
    made = translate(type_.example, dialect, type_, to, header)
    return None if isinstance(made, NoCounterpart) else (type_, made)


def _section(dialect: Dialect, type_: MessageType, made: Translation) -> str:
    narrowed = {change.path: change.reason for change in made.narrowed}
    rows = [(_code(here), _code(there), narrowed.get(here, "")) for here, there in made.carried]
    rows += [(_code(change.path), "", change.reason) for change in made.lost]
    rows += [("", _code(change.path), change.reason) for change in made.invented]
    headings = (f"{dialect.version} {type_.name}", f"{made.dialect.version} {made.type.name}", "")
    return f"### {type_.name} to {made.type.name}\n\n{_table(headings, rows)}"


def _alone(before: Dialect, after: Dialect) -> str:
    """Types that only one of the two versions has."""
    rows = [
        (
            f"[{type_.name}](dialects/{dialect.name}.md#{type_.name.lower()})",
            f"only in {dialect.version}",
            type_.purpose,
        )
        for dialect, to in ((before, after), (after, before))
        for type_ in dialect.types.values()
        if _made(dialect, type_, to) is None
    ]
    return _table(("type", "where", "what it is for"), rows)


def _code(path: str) -> str:
    return f"`{path}`"


def _table(headings: tuple[str, ...], rows: list[tuple[str, str, str]]) -> str:
    lines = [headings, tuple("---" for _ in headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)

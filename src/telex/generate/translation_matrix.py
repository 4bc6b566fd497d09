"""Translation matrix of all types between all dialects, as rows and as tables for a page.

Every row is the result of an actual translation: of the type's own example or, if a type can become several others, of
the example with another value of one field. So the counts are those of a realistic message.
"""

import copy
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from telex.dialects.registry import BUILT_IN, one_of_each
from telex.dialects.schema import ANY, Boolean, Dialect, MessageType, OneOf, Tree
from telex.dialects.write import write
from telex.model.roster import AT
from telex.translation.translate import NoCounterpart, Translation, header_of, translate
from telex.validation.check import CheckPolicy, check

PAGE = "docs/translation.md"
_NONE = "[markdown](#without-a-counterpart)"


class MatrixEntry(NamedTuple):
    """The translation of one type to another dialect."""

    dialect: str
    type: str
    to: str
    becomes: str | None  # None: the type, or at least its example, has no counterpart
    lost: int = 0
    invented: int = 0
    narrowed: int = 0
    reason: str | None = None  # why there is no counterpart
    when: str | None = None  # condition on the message, if the example itself becomes another type


def matrix(sources: Sequence[Dialect] = BUILT_IN, targets: Sequence[Dialect] = BUILT_IN) -> list[MatrixEntry]:
    """Every type of the sources with its counterparts in each other dialect, or the reason why it has none."""
    return [
        entry
        for dialect in sources
        for type_ in dialect.types.values()
        for to in targets
        if to.name != dialect.name
        for entry in _entries(dialect, type_, to)
    ]


def _entries(dialect: Dialect, type_: MessageType, to: Dialect) -> Iterator[MatrixEntry]:
    found: dict[str, MatrixEntry] = {}
    reason: str | None = None
    for when, tree in _sketches(dialect, type_):
        made, role = _made(tree, dialect, type_, to)
        if isinstance(made, NoCounterpart):
            reason = made.reason if when is None else reason
        elif made.type.name not in found:
            found[made.type.name] = MatrixEntry(
                dialect.name,
                type_.name,
                to.name,
                becomes=made.type.name,
                lost=len(made.lost),
                invented=len(made.invented),
                narrowed=len(made.narrowed),
                when=", ".join(filter(None, (when, role and f"sent by {role}"))) or None,
            )
    if reason is not None:
        yield MatrixEntry(dialect.name, type_.name, to.name, becomes=None, reason=reason)
    yield from found.values()


def _made(
    tree: Tree, dialect: Dialect, type_: MessageType, to: Dialect
) -> tuple[Translation | NoCounterpart, str | None]:
    """The translation, and the role that has to send it if the sender of the example may not."""
    header = header_of(tree, dialect, type_, id="message-1", at=0.0, sender="agent")
    body = type_.body_example or None
    first = translate(tree, dialect, type_, to, header=header, body=body)
    for role in (to.roles if type_.senders == ANY else type_.senders) if isinstance(first, NoCounterpart) else ():
        made = translate(tree, dialect, type_, to, header=header._replace(sender_role=role), body=body)
        if isinstance(made, Translation):
            return made, role
    return first, None


def _sketches(dialect: Dialect, type_: MessageType) -> Iterator[tuple[str | None, Tree]]:
    """The example, then the example with each other value of each of its choices that its dialect accepts."""
    yield None, type_.example
    for name, field in type_.fields.items():
        for value in _choices(field.kind):
            tree = copy.deepcopy(type_.example)
            inside = tree[dialect.payload] if dialect.payload else tree
            if inside.get(name) == value:
                continue
            inside[name] = value
            if check(write(dialect, tree, type_.body_example), CheckPolicy(forced=dialect)).valid:
                yield f"{name} {str(value).lower() if isinstance(value, bool) else value}", tree


def _choices(kind: Any) -> tuple[Any, ...]:
    if isinstance(kind, OneOf):
        return kind.values
    return (True, False) if isinstance(kind, Boolean) else ()


class MissingTranslation(NamedTuple):
    """A type, and the dialects that have no counterpart of it."""

    dialect: str
    type: str
    names: tuple[str, ...]
    reason: str


def distinct(entries: Sequence[MatrixEntry]) -> list[MatrixEntry]:
    """The entries without those in which another version of a dialect does what its default version does."""
    own = {(entry.dialect, entry.type) for entry in entries}
    there = {(entry.dialect, entry.type, entry.to, entry.becomes) for entry in entries}

    def is_repeated(entry: MatrixEntry) -> bool:
        source, target = _base(entry.dialect), _base(entry.to)
        if entry.dialect != source and (source, entry.type) in own:
            return True
        same = (entry.dialect, entry.type, target, entry.becomes) in there
        return entry.to != target and (source == target or same)

    return [entry for entry in entries if not is_repeated(entry)]


def _base(dialect: str) -> str:
    return dialect.partition(AT)[0]


def absences(entries: Sequence[MatrixEntry]) -> list[MissingTranslation]:
    found: dict[tuple[str, str, str], list[str]] = {}
    for entry in entries:
        if entry.reason is not None:
            reason = entry.reason.removeprefix(f"{entry.to} has ").removesuffix(".")
            found.setdefault((entry.dialect, entry.type, reason), []).append(entry.to)
    return [
        MissingTranslation(dialect, type_, tuple(names), reason) for (dialect, type_, reason), names in found.items()
    ]


# --- for the page ----------------------------------------------------------------------------------------------------


@cache
def parts() -> dict[str, str]:
    whole = distinct(matrix())
    return {"matrix": "\n\n".join(_section(dialect, whole) for dialect in BUILT_IN), "no-counterpart": _missing(whole)}


def _section(dialect: Dialect, whole: list[MatrixEntry]) -> str:
    others = [to for to in one_of_each(BUILT_IN) if to is not dialect]
    rows = [
        (
            _link(dialect.name, name),
            *("<br>".join(_cells(dialect.name, name, to.name, whole)) or _NONE for to in others),
        )
        for name in dialect.types
        if any((entry.dialect, entry.type) == (dialect.name, name) for entry in whole)
    ]
    return f"### From {dialect.name}\n\n{_table((dialect.name, *(to.name for to in others)), rows)}"


def _cells(dialect: str, type_: str, to: str, whole: list[MatrixEntry]) -> Iterator[str]:
    for entry in whole:
        if (entry.dialect, entry.type, _base(entry.to)) == (dialect, type_, to) and entry.becomes is not None:
            when = f" when `{entry.when}`" if entry.when else ""
            yield f"{_link(entry.to, entry.becomes)} {entry.lost}/{entry.invented}/{entry.narrowed}{when}"


def _missing(whole: list[MatrixEntry]) -> str:
    rows = [
        (
            _link(missing_translation.dialect, missing_translation.type),
            missing_translation.dialect,
            ", ".join(missing_translation.names),
            missing_translation.reason,
        )
        for missing_translation in absences(whole)
    ]
    return _table(("type", "of", "has no counterpart in", "why"), rows)


def _link(dialect: str, type_: str) -> str:
    return f"[{type_}](dialects/{dialect.replace(AT, '-')}.md#{type_.lower()})"


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)

"""Translation matrix of all types between all dialects, and field tables for the migration page.

Every row is the result of an actual translation: of the type's own example or, if a type can become several others, of
the example with another value of one field.
"""

import copy
from collections.abc import Iterator, Sequence

from telex.dialects.registry import BUILT_IN, by_name, one_of_each
from telex.dialects.schema import ANY, Dialect, MessageType, Tree, choices_of
from telex.dialects.write import write
from telex.generate.tables import markdown_table
from telex.model.named_tuple import NamedTuple
from telex.model.roster import AT
from telex.translation.translate import NoCounterpart, Translation, header_of, translate
from telex.validation.check import CheckPolicy, check

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
    place = (dialect.name, type_.name, to.name)
    entries: dict[str, MatrixEntry] = {}
    reason: str | None = None
    for when, tree in _variants(dialect, type_):
        result, role = _translated(tree, dialect, type_, to)
        if isinstance(result, NoCounterpart):
            reason = result.reason if when is None else reason
            continue
        becomes, conditions = result.type.name, (when, role and f"sent by {role}")
        counts = (len(result.lost), len(result.invented), len(result.narrowed))
        condition = ", ".join(filter(None, conditions)) or None
        entries.setdefault(becomes, MatrixEntry(*place, becomes, *counts, when=condition))
    if reason is not None:
        yield MatrixEntry(*place, becomes=None, reason=reason)
    yield from entries.values()


def _translated(
    tree: Tree, dialect: Dialect, type_: MessageType, to: Dialect
) -> tuple[Translation | NoCounterpart, str | None]:
    """The translation, and the role that has to send it if the sender of the example may not."""
    header = header_of(tree, dialect, type_, id="message-1", at=0.0, sender="agent")
    body = type_.body_example or None
    first = translate(tree, dialect, type_, to, header=header, body=body)
    if isinstance(first, Translation):
        return first, None
    for role in to.roles if type_.senders == ANY else type_.senders:
        result = translate(tree, dialect, type_, to, header=header._replace(sender_role=role), body=body)
        if isinstance(result, Translation):
            return result, role
    return first, None


def _variants(dialect: Dialect, type_: MessageType) -> Iterator[tuple[str | None, Tree]]:
    """The example, then the example with each other value of each of its choices that its dialect accepts."""
    yield None, type_.example
    for name, field in type_.fields.items():
        for value in choices_of(field.kind) or ():
            tree = copy.deepcopy(type_.example)
            inside = tree[dialect.payload] if dialect.payload else tree
            if inside.get(name) == value:
                continue
            inside[name] = value
            if check(write(dialect, tree, type_.body_example), CheckPolicy(forced=dialect)).valid:
                yield f"{name} {str(value).lower() if isinstance(value, bool) else value}", tree


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
    targets: dict[tuple[str, str, str], list[str]] = {}
    for entry in entries:
        if entry.reason is not None:
            reason = entry.reason.removeprefix(f"{entry.to} has ").removesuffix(".")
            targets.setdefault((entry.dialect, entry.type, reason), []).append(entry.to)
    return [MissingTranslation(dialect, type_, tuple(names), why) for (dialect, type_, why), names in targets.items()]


# --- parts of pages --------------------------------------------------------------------------------------------------


def matrix_parts() -> dict[str, str]:
    entries = distinct(matrix())
    missing = [
        (_link(entry.dialect, entry.type), entry.dialect, ", ".join(entry.names), entry.reason)
        for entry in absences(entries)
    ]
    return {
        "matrix": "\n\n".join(_matrix_section(dialect, entries) for dialect in BUILT_IN),
        "no-counterpart": markdown_table(("type", "of", "has no counterpart in", "why"), missing),
    }


def _matrix_section(dialect: Dialect, entries: list[MatrixEntry]) -> str:
    others = [to.name for to in one_of_each(BUILT_IN) if to is not dialect]
    own = [entry for entry in entries if entry.dialect == dialect.name]
    rows = [
        (_link(dialect.name, name), *(_matrix_cell(name, to, own) or _NONE for to in others))
        for name in dialect.types
        if any(entry.type == name for entry in own)
    ]
    return f"### From {dialect.name}\n\n{markdown_table((dialect.name, *others), rows)}"


def _matrix_cell(type_: str, to: str, entries: list[MatrixEntry]) -> str:
    return "<br>".join(
        f"{_link(entry.to, entry.becomes)} {entry.lost}/{entry.invented}/{entry.narrowed}"
        + (f" when `{entry.when}`" if entry.when else "")
        for entry in entries
        if entry.type == type_ and _base(entry.to) == to and entry.becomes is not None
    )


def migration_parts() -> dict[str, str]:
    """Tables of each type of one version with its counterpart in the other: what `translate` does with each field."""
    before, after = by_name("vbw-handoff"), by_name("vbw-typed")
    assert before is not None
    assert after is not None
    alone = [
        (_link(dialect.name, type_.name), f"only in {dialect.version}", type_.purpose)
        for dialect, to in ((before, after), (after, before))
        for type_ in dialect.types.values()
        if isinstance(_translate_example(dialect, type_, to), NoCounterpart)
    ]
    return {
        "to-2.0": _migration_sections(before, after),
        "to-1.0": _migration_sections(after, before),
        "alone": markdown_table(("type", "where", "what it is for"), alone),
    }


def _migration_sections(dialect: Dialect, to: Dialect) -> str:
    translations = [(type_, _translate_example(dialect, type_, to)) for type_ in dialect.types.values()]
    return "\n\n".join(
        _migration_section(dialect, type_, translation)
        for type_, translation in translations
        if isinstance(translation, Translation)
    )


def _translate_example(dialect: Dialect, type_: MessageType, to: Dialect) -> Translation | NoCounterpart:
    header = header_of(type_.example, dialect, type_, id="message-1", at=0.0, sender="agent")
    return translate(type_.example, dialect, type_, to, header)


def _migration_section(dialect: Dialect, type_: MessageType, translation: Translation) -> str:
    narrowed = {change.path: change.reason for change in translation.narrowed}
    rows = [(f"`{here}`", f"`{there}`", narrowed.get(here, "")) for here, there in translation.carried]
    rows += [(f"`{change.path}`", "", change.reason) for change in translation.lost]
    rows += [("", f"`{change.path}`", change.reason) for change in translation.invented]
    to = translation.type.name
    headings = (f"{dialect.version} {type_.name}", f"{translation.dialect.version} {to}", "")
    return f"### {type_.name} to {to}\n\n{markdown_table(headings, rows)}"


def _link(dialect: str, type_: str) -> str:
    return f"[{type_}](dialects/{dialect.replace(AT, '-')}.md#{type_.lower()})"

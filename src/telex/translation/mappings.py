"""Mappings between the types of all dialects, and their lookup."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from telex.dialects.intents import INTENTS
from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import Dialect, MessageType, Semantics, kind_at
from telex.model.text import path_of
from telex.translation.mapping import Body, FromSlot, MinimumValue, Sum, TypeMapping, Worth
from telex.translation.mapping_build_flow import BUILD_FLOW_ROWS
from telex.translation.mapping_signal_md import SIGNAL_MD_ROWS
from telex.translation.mapping_vbw import VBW_COMPANY_ROWS, VBW_HANDOFF_ROWS
from telex.translation.mapping_vbw_typed import VBW_TYPED_ROWS
from telex.translation.slots import UNSAID, default

ROWS: Mapping[str, tuple[TypeMapping, ...]] = {
    "vbw-typed": VBW_TYPED_ROWS,
    "vbw-handoff": VBW_HANDOFF_ROWS,
    "vbw-company": VBW_COMPANY_ROWS,
    "signal-md": SIGNAL_MD_ROWS,
    "build-flow": BUILD_FLOW_ROWS,
}


class MappingRoute(NamedTuple):
    """One mapping of a type and its candidates in another dialect; the message's values choose one."""

    row: TypeMapping
    becomes: tuple[TypeMapping, ...]


def rows_of(dialect: Dialect) -> tuple[TypeMapping, ...]:
    """Mappings of a built-in dialect; or those of a user's file, before those of the dialect that it extends."""
    own = tuple(row_of(dialect, type_) for type_ in dialect.types.values() if type_.meaning is not None)
    # A type that replaces an inherited one has no action, so its inherited mapping does not apply.
    inherited = (row for row in ROWS.get(dialect.extends or dialect.name, ()) if row.type in dialect.types)
    return own + tuple(row for row in inherited if dialect.types[row.type].deed is not None)


def routes(dialect: Dialect, type_: str, to: Dialect) -> tuple[MappingRoute, ...]:
    """A route for each meaning of the type; without a counterpart it has no candidates."""
    others = rows_of(to)
    return tuple(MappingRoute(row, _becomes(row, others)) for row in rows_of(dialect) if row.type == type_)


def _becomes(row: TypeMapping, others: tuple[TypeMapping, ...]) -> tuple[TypeMapping, ...]:
    for intent in row.intents:
        mappings = [other for other in others if intent in other.targets]
        if mappings:
            # Candidates that imply values are chosen by those; of the others the first is the default.
            return (
                *(mapping for mapping in mappings if mapping.means),
                *[mapping for mapping in mappings if not mapping.means][:1],
            )
    return ()


def home_of(row: TypeMapping, dialect: Dialect) -> tuple[TypeMapping, ...]:
    """Mappings that the translation back may lead to."""
    return _becomes(row, rows_of(dialect))


def counterparts(dialect: Dialect, type_: str, to: Dialect) -> tuple[str, ...]:
    """Types of that dialect that this one may become, the default first."""
    found = [other.type for route in routes(dialect, type_, to) for other in route.becomes]
    return tuple(dict.fromkeys(found))


def why_not(dialect: Dialect, type_: str, to: Dialect) -> str:
    """Sentence that says why it has none, for the matrix and for error messages."""
    acts = [route.row.intents[0] for route in routes(dialect, type_, to) if not route.becomes]
    if not acts:
        return f"{dialect.name} declares no intent for {type_}."
    return f"{to.name} has no message that {' or '.join(dict.fromkeys(INTENTS[act].does for act in acts))}."


def pairs(dialects: tuple[Dialect, ...] = BUILT_IN) -> Iterator[tuple[Dialect, str, Dialect, str]]:
    """Every translation of a type into another."""
    for dialect in dialects:
        for type_ in dialect.types:
            for to in dialects:
                if to.name != dialect.name:
                    yield from ((dialect, type_, to, other) for other in counterparts(dialect, type_, to))


# --- user's own dialects ----------------------------------------------------------------------------------------------


BY_ITS_FILE = "its dialect's file has it so"
HEADING = "Text"  # heading of the body, unless the type has its own
# Slots that a required field is filled from before the default.
_STANDS_FOR: Mapping[str, tuple[Worth, str]] = {
    "task": (("task", "$correlation"), "the conversation stands for its task"),
    "title": (("objective", "details", "task", "$correlation"), "it has no title"),
    "details": (("title", "task", "$correlation"), "nothing more is said of it"),
    "subject": (("task", "$correlation"), "nothing more is said of it"),
    "reason": (("task", "$correlation"), "nothing else is said of it"),
    "request": (("$reply_to", "$correlation"), "the request is not named"),
}
_COUNTS = {"total": ("passed", "failed", "skipped")}


def row_of(dialect: Dialect, type_: MessageType) -> TypeMapping:
    meaning = type_.meaning
    assert meaning is not None, f"the file of {dialect.name} says nothing of {type_.name}"
    return TypeMapping(
        type_.name,
        meaning.intents,
        means=meaning.means,
        values=meaning.values,
        least=_least(dialect, type_, meaning),
        body=Body(meaning.body, type_.sections[0] if type_.sections else HEADING) if meaning.body else None,
    )


def _least(dialect: Dialect, type_: MessageType, meaning: Semantics) -> dict[str, MinimumValue]:
    """Default values by path: a field may have the name of another field's term."""
    whole = dialect.fields_of(type_)
    found: dict[str, MinimumValue] = {}
    for term, name in meaning.says.items():
        steps = dialect.locate(type_, name)
        field = kind_at(whole, steps)
        if "[]" in name or field is None or (plain := default(field.kind, "")) is UNSAID or plain.value is None:
            continue
        if term in _STANDS_FOR:
            slots, reason = _STANDS_FOR[term]
            found.setdefault(path_of(*steps), MinimumValue(FromSlot(slots, plain.value), reason))
        elif term in _COUNTS and plain.value == 0:
            found.setdefault(path_of(*steps), MinimumValue(Sum(_COUNTS[term]), "all that were counted"))
    return found | {path: MinimumValue(value, BY_ITS_FILE) for path, value in meaning.defaults.items()}

"""Which type of one dialect is which of another? The rows of all dialects, and the way through them."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from telex.dialects.intents import INTENTS
from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import Dialect
from telex.translation.mapping import TypeMapping
from telex.translation.mapping_build_flow import BUILD_FLOW_ROWS
from telex.translation.mapping_signal_md import SIGNAL_MD_ROWS
from telex.translation.mapping_user_dialect import row_of
from telex.translation.mapping_vbw import VBW_COMPANY_ROWS, VBW_HANDOFF_ROWS
from telex.translation.mapping_vbw_typed import VBW_TYPED_ROWS

ROWS: Mapping[str, tuple[TypeMapping, ...]] = {
    "vbw-typed": VBW_TYPED_ROWS,
    "vbw-handoff": VBW_HANDOFF_ROWS,
    "vbw-company": VBW_COMPANY_ROWS,
    "signal-md": SIGNAL_MD_ROWS,
    "build-flow": BUILD_FLOW_ROWS,
}


class MappingRoute(NamedTuple):
    """One row of a type and what it may become; which of them, what it says decides."""

    row: TypeMapping
    becomes: tuple[TypeMapping, ...]


def rows_of(dialect: Dialect) -> tuple[TypeMapping, ...]:
    """The rows of a built-in dialect; or those that a user's file declares, before those of what it extends."""
    own = tuple(row_of(dialect, type_) for type_ in dialect.types.values() if type_.meaning is not None)
    # A type that takes the place of an inherited one is another, and only those that came along have deeds.
    inherited = (row for row in ROWS.get(dialect.extends or dialect.name, ()) if row.type in dialect.types)
    return own + tuple(row for row in inherited if dialect.types[row.type].deed is not None)


def routes(dialect: Dialect, type_: str, to: Dialect) -> tuple[MappingRoute, ...]:
    """For each act that a message of this type may be. One with no counterpart becomes nothing."""
    others = rows_of(to)
    return tuple(MappingRoute(row, _becomes(row, others)) for row in rows_of(dialect) if row.type == type_)


def _becomes(row: TypeMapping, others: tuple[TypeMapping, ...]) -> tuple[TypeMapping, ...]:
    for intent in row.intents:
        mappings = [other for other in others if intent in other.targets]
        if mappings:
            # Those that mean something of their own are chosen by that; of the others the first is the usual one.
            return (
                *(mapping for mapping in mappings if mapping.means),
                *[mapping for mapping in mappings if not mapping.means][:1],
            )
    return ()


def home_of(row: TypeMapping, dialect: Dialect) -> tuple[TypeMapping, ...]:
    """Where the way back leads."""
    return _becomes(row, rows_of(dialect))


def counterparts(dialect: Dialect, type_: str, to: Dialect) -> tuple[str, ...]:
    """The types of that dialect which this one may become, the usual one first; which, its fields decide."""
    found = [other.type for route in routes(dialect, type_, to) for other in route.becomes]
    return tuple(dict.fromkeys(found))


def why_not(dialect: Dialect, type_: str, to: Dialect) -> str:
    """Why it has none: a sentence, for the matrix and for whoever asked."""
    acts = [route.row.intents[0] for route in routes(dialect, type_, to) if not route.becomes]
    if not acts:
        return f"Nobody has said yet what a {type_} of {dialect.name} is in other dialects."
    return f"{to.name} has no message that {' or '.join(dict.fromkeys(INTENTS[act].does for act in acts))}."


def pairs(dialects: tuple[Dialect, ...] = BUILT_IN) -> Iterator[tuple[Dialect, str, Dialect, str]]:
    """Every type-to-type translation there is."""
    for dialect in dialects:
        for type_ in dialect.types:
            for to in dialects:
                if to.name != dialect.name:
                    yield from ((dialect, type_, to, other) for other in counterparts(dialect, type_, to))

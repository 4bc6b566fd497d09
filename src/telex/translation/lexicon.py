"""Which type of one dialect is which of another? The rows of all dialects, and the way through them."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from telex.dialects.registry import BUILT_IN
from telex.dialects.spec import Dialect
from telex.translation.intents import INTENTS
from telex.translation.row import Row
from telex.translation.rows_build_flow import BUILD_FLOW_ROWS
from telex.translation.rows_signal_md import SIGNAL_MD_ROWS
from telex.translation.rows_vbw import VBW_COMPANY_ROWS, VBW_HANDOFF_ROWS
from telex.translation.rows_vbw_typed import VBW_TYPED_ROWS

ROWS: Mapping[str, tuple[Row, ...]] = {
    "vbw-typed": VBW_TYPED_ROWS,
    "vbw-handoff": VBW_HANDOFF_ROWS,
    "vbw-company": VBW_COMPANY_ROWS,
    "signal-md": SIGNAL_MD_ROWS,
    "build-flow": BUILD_FLOW_ROWS,
}


class Route(NamedTuple):
    """One row of a type and what it may become; which of them, what it says decides."""

    row: Row
    becomes: tuple[Row, ...]


@cache
def routes(dialect: str, type_: str, to: str) -> tuple[Route, ...]:
    """For each act that a message of this type may be. One with no counterpart becomes nothing."""
    return tuple(Route(row, _becomes(row, to)) for row in ROWS.get(dialect, ()) if row.type == type_)


def _becomes(row: Row, to: str) -> tuple[Row, ...]:
    for intent in row.intents:
        found = [other for other in ROWS.get(to, ()) if intent in other.targets]
        if found:
            # Those that mean something of their own are chosen by that; of the others the first is the usual one.
            return (*(one for one in found if one.means), *[one for one in found if not one.means][:1])
    return ()


def home_of(row: Row, dialect: str) -> tuple[Row, ...]:
    """Where the way back leads."""
    return _becomes(row, dialect)


def counterparts(dialect: Dialect, type_: str, to: Dialect) -> tuple[str, ...]:
    """The types of that dialect which this one may become, the usual one first; which, its fields decide."""
    found = [other.type for route in routes(dialect.name, type_, to.name) for other in route.becomes]
    return tuple(dict.fromkeys(found))


def why_not(dialect: Dialect, type_: str, to: Dialect) -> str:
    """Why it has none: a sentence, for the matrix and for whoever asked."""
    acts = [route.row.intents[0] for route in routes(dialect.name, type_, to.name) if not route.becomes]
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

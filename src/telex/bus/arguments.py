"""Validation of numeric arguments of verbs. A lease of zero seconds or of NaN would harm other readers later."""

from telex.errors import InvalidValue
from telex.ports.store import TEXT_CHARACTERS_MAX, Query

YEAR_SECONDS = 366 * 86_400.0
TURN_SECONDS_MIN = 0.001  # a lease shorter than this is over before it is given


def seconds(name: str, value: float, least: float = 0.0) -> float:
    """The value, if it is a span of time between `least` and a year.

    Raises:
        InvalidValue: it is not.
    """
    if not least <= value <= YEAR_SECONDS:  # nan is neither
        raise InvalidValue(f"give {name} a span from {least:g} seconds to a year, not {value!r}.")
    return value


def searched(query: Query) -> Query:
    """The query, if what it looks for is as short as what people look for: every word costs time.

    Raises:
        InvalidValue: it is not.
    """
    if query.text is not None and len(query.text) > TEXT_CHARACTERS_MAX:
        raise InvalidValue(
            f"give text a few words: at most {TEXT_CHARACTERS_MAX:,} characters, not {len(query.text):,}."
        )
    return query


def count(name: str, value: int) -> int:
    """The value, if there can be so many.

    Raises:
        InvalidValue: it is less than one.
    """
    if value < 1:
        raise InvalidValue(f"give {name} a number from 1, not {value!r}.")
    return value

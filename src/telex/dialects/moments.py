"""What point in time does this text name, and does it leave something open?"""

import re
from datetime import UTC, datetime
from typing import Literal, NamedTuple

Flaw = Literal["malformed", "impossible", "no-zone", "no-time"]

_SHAPE = re.compile(
    r"\d{4}-?(\d\d-?\d\d|W\d\d-?\d|\d{3})([Tt ]\d\d(:?\d\d(:?\d\d([.,]\d+)?)?)?\s?([Zz]|[+-]\d\d(:?\d\d)?)?)?\Z"
)


class MomentRead(NamedTuple):
    at: datetime | None  # always with a zone
    flaw: Flaw | None = None


def read_moment(text: str) -> MomentRead:
    """ISO 8601. A missing zone is read as UTC and a missing time of day as midnight, and both are said."""
    shape = _SHAPE.match(text)
    if shape is None or not text.isascii():
        return MomentRead(None, "malformed")
    try:
        at = datetime.fromisoformat(_without_leap_second(text.upper().replace(" ", "T", 1).replace(" ", "")))
    except ValueError:
        return MomentRead(None, "impossible")
    if at.tzinfo is not None:
        return MomentRead(at)
    return MomentRead(at.replace(tzinfo=UTC), "no-time" if shape[2] is None else "no-zone")


def _without_leap_second(text: str) -> str:
    """A leap second exists, though Python's clock does not have it: it is read as the second before."""
    return re.sub(r"(T23:?59:?)60", r"\g<1>59", text)

"""Parser and formatter of timestamps."""

import re
from datetime import UTC, datetime, timedelta
from typing import Literal, NamedTuple

Flaw = Literal["malformed", "impossible", "no-zone", "no-time"]

_SHAPE = re.compile(
    r"(?P<date>(?P<year>\d{4})-?(\d\d-?\d\d|W\d\d-?\d|(?P<day>\d{3})))"
    r"(?P<time>[Tt ](?P<hour>\d\d)(:?\d\d(:?\d\d([.,]\d+)?)?)?\s?([Zz]|[+-]\d\d(:?\d\d)?)?)?\Z",
    re.ASCII,
)

_USUAL = len("2026-01-31T09:30:00Z")  # as most of them are written: such a one is read in a third of the time


class ParsedTimestamp(NamedTuple):
    at: datetime | None  # always with a zone
    flaw: Flaw | None = None


def parse_timestamp(text: str) -> ParsedTimestamp:
    """ISO 8601. A missing zone is read as UTC and a missing time of day as midnight, and both are said."""
    if len(text) == _USUAL and text[10::3] == "T::Z" and text[11:13] != "24":
        try:
            return ParsedTimestamp(datetime.fromisoformat(text))
        except ValueError:
            pass  # what it is instead is said below
    shape = _SHAPE.match(text)
    if shape is None:
        return ParsedTimestamp(None, "malformed")
    try:
        at = datetime.fromisoformat(_plainly(shape))
    except (ValueError, OverflowError):
        return ParsedTimestamp(None, "impossible")
    if at.tzinfo is not None:
        return ParsedTimestamp(at)
    return ParsedTimestamp(at.replace(tzinfo=UTC), "no-time" if shape["time"] is None else "no-zone")


def _plainly(shape: re.Match[str]) -> str:
    """The same moment, written as every Python reads it. A leap second exists; it is read as the second before."""
    date, time = shape["date"], (shape["time"] or "").upper()
    if shape["hour"] == "24":
        raise ValueError("the day ends at 23:59:59")  # some versions of Python say so too, others do not
    if shape["day"]:
        first = datetime(int(shape["year"]), 1, 1, tzinfo=UTC)
        day = first + timedelta(days=int(shape["day"]) - 1)
        if day.year != first.year:
            raise ValueError("the year has no such day")
        date = day.date().isoformat()
    time = time[1:].replace(" ", "")
    if time.startswith(("23:59:60", "235960")):
        time = time.replace("60", "59", 1)
    return f"{date}T{time}" if time else date


_FIRST, _LAST = -62_135_596_800.0, 253_402_300_799.0  # of the years that can be written with four digits


def format_timestamp(at: float) -> str:
    """A point in time as every dialect writes it. One that no calendar has, as a zone may make of a year 1, is moved to
    the nearest that there is."""
    at = min(max(at, _FIRST), _LAST)
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

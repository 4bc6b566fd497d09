"""Parser and formatter of timestamps."""

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, NamedTuple

from telex.dialects.schema import Boolean, Integer, Kind, ListOf, Number, OneOf, Text, Timestamp

Flaw = Literal["malformed", "impossible", "no-zone", "no-time"]

_SHAPE = re.compile(
    r"(?P<date>(?P<year>\d{4})-?(\d\d-?\d\d|W\d\d-?\d|(?P<day>\d{3})))"
    r"(?P<time>[Tt ](?P<hour>\d\d)(:?\d\d(:?\d\d([.,]\d+)?)?)?\s?([Zz]|[+-]\d\d(:?\d\d)?)?)?\Z",
    re.ASCII,
)

INDICATORS = frozenset("-?:,[]{}#&*!|>'\"%@`")  # at the start of a plain scalar these have a meaning in YAML


class PlainScalar(str):
    """A YAML scalar without quotes. Its field decides whether it is a number, a boolean or text."""

    __slots__ = ()


def stays_plain(text: str) -> bool:
    """Is this text, written as a value without quotes, read back as it is?"""
    return text.isprintable() and text[:1] != " " and text[-1:] != " " and " #" not in text and is_plain(text)


def is_plain(text: str) -> bool:
    """Has this no part that YAML takes for more than text? Blanks around it and comments are gone already."""
    if not text or ": " in text or text[-1] == ":":
        return False
    return text[0] not in INDICATORS or (text[0] in "-?:" and text[1:2] not in ("", " "))


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


TRUTH = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}  # YAML 1.2
MEANS_TRUTH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_NUMBER = re.compile(r"[-+]?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?\Z", re.ASCII)
_BETWEEN_CHOICES = re.compile(r"\s*\|\s*|\s+/\s+|\s+or\s+")
_AMBIGUOUS = re.compile(r"[-+]?(0\d+|0[xob][\da-fA-F_]+|\d+(_\d+)+|\d+(:\d+)+)\Z", re.ASCII)
_ITEM = r"[^\s,;|&+=()\[\]{}<>\"'`]+\Z"  # a path, an id, a word: nothing that separates items or groups them
_NO_ITEM = frozenset({"", "none", "n/a", "na", "null", "nil", "no", "nothing", "empty", "unknown", "tbd", "todo", "~"})
_YAML_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_FLAT_MAX = 5_000
_DIGITS_MAX = 400  # beyond this nobody meant a number, and making one costs time


def number(text: str, otherwise: Any) -> Any:
    """The number that the text spells, as an integer where it has no decimals."""
    match = _NUMBER.match(text) if len(text) <= _DIGITS_MAX else None
    if match is None:
        return otherwise
    return float(text) if match[2] or match[3] else int(text)


def is_ambiguous(text: str) -> bool:
    """YAML 1.1 and 1.2 read these as different numbers: 010, 0x10, 1_000, 12:30."""
    return _AMBIGUOUS.match(text) is not None


def is_placeholder(text: str, values: tuple[str, ...]) -> bool:
    """The list of choices copied from the page in place of a choice: `complete|partial|failed`."""
    choices = [choice.strip(" \"'") for choice in _BETWEEN_CHOICES.split(text)]
    return len(choices) > 1 and any(choice in values for choice in choices)


def is_one_item(value: Any) -> bool:
    """Is this one item of a list, and surely neither several in one text nor a word for none?"""
    if not isinstance(value, str):
        return True
    return re.match(_ITEM, value) is not None and value.casefold().strip("-.") not in _NO_ITEM


def is_null(value: Any) -> bool:
    """Null, and in YAML nothing at all, stand for a value that was left out."""
    return value is None or (value.__class__ is PlainScalar and value in _YAML_NULL)


def fits(value: Any, kind: Kind) -> bool:
    """Would this single value pass as it is?"""
    if isinstance(value, PlainScalar) and isinstance(kind, (Integer, Number, Boolean)):
        value = TRUTH.get(value, value) if isinstance(kind, Boolean) else number(value, value)
    match kind:
        case Text():
            return isinstance(value, str)
        case OneOf(values):
            return isinstance(value, str) and value in values
        case Boolean():
            return isinstance(value, bool)
        case Integer(low, high):
            return isinstance(value, int) and not isinstance(value, bool) and _within(value, low, high)
        case Number(low, high):
            return isinstance(value, (int, float)) and not isinstance(value, bool) and _within(value, low, high)
        case Timestamp():
            return isinstance(value, str) and parse_timestamp(value).flaw is None
        case ListOf():
            return False
    return isinstance(value, dict)


def _within(value: float, low: float | None, high: float | None) -> bool:
    return (low is None or value >= low) and (high is None or value <= high)


def type_name(value: Any) -> str:
    if is_null(value):
        return "null"
    if isinstance(value, bool):
        return "true or false"
    names = {str: "text", int: "a number", float: "a number with decimals", list: "a list", dict: "an object"}
    return next((name for kind, name in names.items() if isinstance(value, kind)), type(value).__name__)


def flat(value: Any) -> str:
    """The value as one line of JSON, cut short before it costs anything."""
    if isinstance(value, str):
        return value[:_FLAT_MAX]
    if isinstance(value, (dict, list)) and len(value) > 50:
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value)}"
    try:
        return json.dumps(value, ensure_ascii=False)[:_FLAT_MAX]
    except RecursionError:
        return "something nested very deeply"


def shown(value: Any, characters_max: int = 60) -> str:
    """What was found, as the sender wrote it, shortened."""
    text = flat(value)
    return text if len(text) <= characters_max else text[: characters_max - 1] + "…"

"""Scalar values of messages: plain YAML scalars, timestamps, numbers, booleans, and how a value is shown."""

import json
import re
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from telex.dialects.schema import Boolean, Fields, Group, Integer, Kind, ListOf, Number, OneOf, Text, Timestamp, Tree
from telex.model.named_tuple import NamedTuple

if TYPE_CHECKING:
    from datetime import datetime

Flaw = Literal["malformed", "impossible", "no-zone", "no-time"]

INDICATORS = frozenset("-?:,[]{}#&*!|>'\"%@`")  # at the start of a plain scalar these have a meaning in YAML
_SHAPE = (
    r"(?a)(?P<date>(?P<year>\d{4})-?(\d\d-?\d\d|W\d\d-?\d|(?P<day>\d{3})))"
    r"(?P<time>[Tt ](?P<hour>\d\d)(:?\d\d(:?\d\d([.,]\d+)?)?)?\s?([Zz]|[+-]\d\d(:?\d\d)?)?)?\Z"
)
_FIRST, _LAST = -62_135_596_800.0, 253_402_300_799.0  # years with four digits
TRUTH = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}  # YAML 1.2
MEANS_TRUTH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_NUMBER = r"(?a)[-+]?(0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?\Z"
_BETWEEN_CHOICES = r"\s*\|\s*|\s+/\s+|\s+or\s+"
_AMBIGUOUS = r"(?a)[-+]?(0\d+|0[xob][\da-fA-F_]+|\d+(_\d+)+|\d+(:\d+)+)\Z"
_ITEM = r"[^\s,;|&+=()\[\]{}<>\"'`]+\Z"  # a path, an id, a word: nothing that separates items or groups them
_NO_ITEM = frozenset({"", "none", "n/a", "na", "null", "nil", "no", "nothing", "empty", "unknown", "tbd", "todo", "~"})
_YAML_NULL = frozenset({"", "~", "null", "Null", "NULL"})
_FLAT_MAX = 5_000
_DIGITS_MAX = 400  # a longer text is not meant as a number


class PlainScalar(str):
    """A YAML scalar without quotes. Its field decides whether it is a number, a boolean or text."""

    __slots__ = ()


def stays_plain(text: str) -> bool:
    """Whether this text, written without quotes, is parsed back unchanged."""
    return text.isprintable() and text[:1] != " " and text[-1:] != " " and " #" not in text and is_plain(text)


def is_plain(text: str) -> bool:
    """Whether YAML reads this, without comments and surrounding blanks, as nothing but text."""
    if not text or ": " in text or text[-1] == ":":
        return False
    return text[0] not in INDICATORS or (text[0] in "-?:" and text[1:2] not in ("", " "))


class ParsedTimestamp(NamedTuple):
    at: "datetime | None"  # always with a zone
    flaw: Flaw | None = None


def timestamp_flaw(text: str) -> Flaw | None:
    """Error of a timestamp. One in the usual form needs no import of datetime, and no compiled pattern."""
    return None if _is_usual(text) else parse_timestamp(text).flaw


def _is_usual(text: str) -> bool:
    """Whether it is certainly a time, in the form 2026-02-12T10:00:00Z."""
    numbers = (text[:4], text[5:7], text[8:10], text[11:13], text[14:16], text[17:19])
    year, month, day, hour, minute, second = numbers
    return (
        len(text) == 20
        and text[4::3] == "--T::Z"
        and "".join(numbers).isdecimal()
        and text.isascii()
        and (year >= "0001" and "01" <= month <= "12" and "01" <= day <= "28")
        and (hour < "24" and minute < "60" and second < "60")
    )


@cache
def _datetime_type() -> "type[datetime]":
    """Imported on first use: a cold check of usual messages needs no datetime."""
    from datetime import datetime

    return datetime


def parse_timestamp(text: str) -> ParsedTimestamp:
    """Parse ISO 8601. A missing zone is read as UTC and a missing time as midnight; both are a flaw."""
    if len(text) == 20 and text[10] == "T" and text[11:13] < "24" and text[19] == "Z":
        try:
            return ParsedTimestamp(_datetime_type().fromisoformat(text))
        except ValueError:
            pass  # perhaps a leap second
    from datetime import UTC, datetime

    shape = re.match(_SHAPE, text)
    if shape is None:
        return ParsedTimestamp(None, "malformed")
    try:
        at = datetime.fromisoformat(_normalised(shape))
    except (ValueError, OverflowError):
        return ParsedTimestamp(None, "impossible")
    if at.tzinfo is not None:
        return ParsedTimestamp(at)
    return ParsedTimestamp(at.replace(tzinfo=UTC), "no-time" if shape["time"] is None else "no-zone")


def _normalised(shape: re.Match[str]) -> str:
    """The same time in a form that every Python version parses. A leap second becomes the second before."""
    from datetime import date as calendar

    date, time = shape["date"], (shape["time"] or "").upper()
    if shape["hour"] == "24":
        raise ValueError("the day ends at 23:59:59")  # Python versions differ on 24:00
    if shape["day"]:
        first = calendar(int(shape["year"]), 1, 1)
        day = calendar.fromordinal(first.toordinal() + int(shape["day"]) - 1)
        if day.year != first.year:
            raise ValueError("the year has no such day")
        date = day.isoformat()
    time = time[1:].replace(" ", "")
    if time.startswith(("23:59:60", "235960")):
        time = time.replace("60", "59", 1)
    return f"{date}T{time}" if time else date


def format_timestamp(at: float) -> str:
    """A time as every dialect writes it; one outside the calendar becomes the nearest that exists."""
    from datetime import UTC, datetime

    at = min(max(at, _FIRST), _LAST)
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def number(text: str, otherwise: Any) -> Any:
    """The number that the text spells, as an integer where it has no decimals."""
    match = re.match(_NUMBER, text) if len(text) <= _DIGITS_MAX else None
    if match is None:
        return otherwise
    return float(text) if match[2] or match[3] else int(text)


def is_ambiguous(text: str) -> bool:
    """YAML 1.1 and 1.2 read these as different numbers: 010, 0x10, 1_000, 12:30."""
    return re.match(_AMBIGUOUS, text) is not None


def is_placeholder(text: str, values: tuple[str, ...]) -> bool:
    """Whether the list of choices was copied from the documentation: `complete|partial|failed`."""
    choices = [choice.strip(" \"'") for choice in re.split(_BETWEEN_CHOICES, text)]
    return len(choices) > 1 and any(choice in values for choice in choices)


def is_one_item(value: Any) -> bool:
    """Whether this is certainly one list item, not several in one text and not a word for none."""
    if not isinstance(value, str):
        return True
    return re.match(_ITEM, value) is not None and value.casefold().strip("-.") not in _NO_ITEM


def is_null(value: Any) -> bool:
    """Null, or an empty YAML value."""
    return value is None or (value.__class__ is PlainScalar and value in _YAML_NULL)


def fits(value: Any, kind: Kind) -> bool:
    """Whether this single value is valid unchanged."""
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
            return isinstance(value, str) and timestamp_flaw(value) is None
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
    """The value as one line of JSON, cut off at a bounded cost."""
    if isinstance(value, str):
        return value[:_FLAT_MAX]
    if isinstance(value, (dict, list)) and len(value) > 50:
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value)}"
    try:
        return json.dumps(value, ensure_ascii=False)[:_FLAT_MAX]
    except RecursionError:
        return "something nested very deeply"


def shown(value: Any, characters_max: int = 60) -> str:
    """The value as the sender wrote it, shortened."""
    text = flat(value)
    return text if len(text) <= characters_max else text[: characters_max - 1] + "…"


def typed(tree: Tree, fields: Fields) -> Tree:
    """A message in front matter, with unquoted scalars converted to the type of their field."""
    values: Tree = {}
    for name, value in tree.items():
        field = fields.get(name)
        if isinstance(value, PlainScalar):
            if value == "" and field is not None:
                continue  # a field without a value
            kind = field.kind if field is not None else None
            if isinstance(kind, Boolean):
                value = TRUTH.get(value, value)
            elif value == "":
                value = None
            elif isinstance(kind, (Integer, Number)):
                value = number(value, value)
        elif isinstance(value, dict) and field is not None and isinstance(field.kind, Group):
            value = typed(value, field.kind.fields)
        values[name] = value
    return values

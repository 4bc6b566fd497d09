"""Helpers for single values: type names, numbers, booleans, display."""

import json
import re
from typing import Any

from telex.dialects.parse.front_matter import PlainScalar
from telex.dialects.schema import Boolean, Fields, Group, Integer, Kind, ListOf, Number, OneOf, Text, Timestamp, Tree
from telex.dialects.timestamps import parse_timestamp

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


def typed(tree: Tree, fields: Fields) -> Tree:
    """A message in front matter, with unquoted scalars converted to the type of their field."""
    values: Tree = {}
    for name, value in tree.items():
        field = fields.get(name)
        if isinstance(value, PlainScalar):
            if value == "" and field is not None:
                continue  # a field without a value
            value = _typed(value, field.kind if field is not None else None) if value else None
        elif isinstance(value, dict) and field is not None and isinstance(field.kind, Group):
            value = typed(value, field.kind.fields)
        values[name] = value
    return values


def _typed(text: PlainScalar, kind: Kind | None) -> Any:
    match kind:
        case Integer() | Number():
            return number(text, text)
        case Boolean():
            return TRUTH.get(text, text)
    return text

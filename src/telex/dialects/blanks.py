"""What stands where the sender must still write something: a marked blank that says what belongs there.

A blank is text in any field, so it is never taken for a value: the check finds it wherever it was left.
"""

from typing import Any

from telex.dialects.schema import (
    Anything,
    Boolean,
    Fields,
    Group,
    Integer,
    Kind,
    ListOf,
    MapOf,
    Number,
    OneOf,
    Text,
    Timestamp,
)

_DESCRIBED_CHARACTERS_MAX = 160
OPENING, CLOSING = "<fill: ", ">"


def is_blank(value: object) -> bool:
    return isinstance(value, str) and value.startswith(OPENING) and value.endswith(CLOSING)


def blank_for(what: str) -> str:
    """A blank that says in these words what belongs there."""
    return f"{OPENING}{what}{CLOSING}"


def expected(kind: Kind) -> str:
    """What belongs in a field of this kind, in a few words."""
    match kind:
        case OneOf(values):
            return f'"{values[0]}"' if len(values) == 1 else "one of " + ", ".join(values)
        case Integer(low, high):
            return "an integer" + _range(low, high)
        case Number(low, high):
            return "a number" + _range(low, high)
        case Text(printable=True):
            return "an id that no other message has"
        case Text(may_be_empty=True):
            return "text, perhaps empty"
        case Text():
            return "text"
        case Boolean():
            return "true or false"
        case Timestamp():
            return "a time such as 2026-02-12T10:00:00Z"
        case ListOf(Text()):
            return "a list of texts"
        case ListOf(item):
            return f"a list, each {expected(item)}"
        case MapOf(value):
            return "an object" if isinstance(value, Anything) else f"an object, each value {expected(value)}"
        case Group(fields):
            return "an object with " + ", ".join(fields) if fields else "an object"
        case Anything():
            return "any value"


def described(kind: Kind) -> str:
    """As `expected`, with what belongs in each part of an object, where that is not too long to say."""
    match kind:
        case Group(fields) if any(field.required for field in fields.values()):
            parts = [f"{name} ({expected(field.kind)})" for name, field in fields.items() if field.required]
            text = "an object with " + ", ".join(parts)
            return text if len(text) <= _DESCRIBED_CHARACTERS_MAX else expected(kind)
        case ListOf(Group() as item):
            return f"a list, each {described(item)}"
    return expected(kind)


def _range(low: float | None, high: float | None) -> str:
    if low is not None and high is not None:
        return f" from {low} to {high}"
    if low is not None:
        return f" of at least {low}"
    return f" of at most {high}" if high is not None else ""


def blank(kind: Kind) -> Any:
    """A value of the right shape with every choice left open; constants are filled in."""
    match kind:
        case OneOf((only,)):
            return only
        case Group(fields):
            return blank_fields(fields)
        case ListOf(item):
            return [blank(item)]
        case MapOf(Anything()):
            return {}
        case MapOf(value):
            return {blank_for("name"): blank(value)}
    return blank_for(expected(kind))


def blank_fields(fields: Fields) -> dict[str, Any]:
    """Every required field, blank; optional ones are left out."""
    return {name: blank(field.kind) for name, field in fields.items() if field.required}

"""Short descriptions of fields and their values, shared by the docs pages, the schemas and the stubs."""

from telex.dialects.schema import (
    Anything,
    Boolean,
    Dialect,
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

# The meaning of a field to the bus, by its name in `Wire`. The first match is used.
_MEANINGS = {
    "id": "Names this message; the sender uses it once.",
    "correlation": "The same in every message about one thing.",
    "sender": "Who sends it.",
    "recipient": "Who it is for.",
    "timestamp": "When it was written.",
    "version": "The version of the dialect.",
    "reply_to": "The id of the message that this one answers.",
    "task": "What the message is about.",
}


def meaning(dialect: Dialect, name: str) -> str | None:
    """The meaning of the field to the bus. None if the bus does not read it."""
    if name == dialect.payload:
        return "The fields of the message's type."
    wire = dialect.wire._asdict()
    return next((words for role, words in _MEANINGS.items() if wire[role] == name), None)


def kind_words(kind: Kind) -> str:
    """The kind of value, without the allowed values."""
    match kind:
        case Text() | OneOf():
            return "text"
        case Integer():
            return "integer"
        case Number():
            return "number"
        case Boolean():
            return "true or false"
        case Timestamp():
            return "time"
        case ListOf(item):
            return f"list of {_several(item)}"
        case MapOf(Anything()) | Group():
            return "object"
        case MapOf(value):
            return f"object of {_several(value)}"
        case Anything():
            return "any value"


def _several(kind: Kind) -> str:
    words = kind_words(kind)
    return f"{words}s" if words in ("integer", "number", "time", "object") else words


def values_words(kind: Kind) -> str:
    """The allowed values of the kind. Empty if all are allowed."""
    match kind:
        case OneOf(values):
            return ", ".join(f"`{value}`" for value in values)
        case Integer(low, high) | Number(low, high):
            return range_words(low, high)
        case Text(characters_max=int() as most):
            return f"at most {most} characters"
        case Text(may_be_empty=True):
            return "may be empty"
        case Timestamp():
            return "ISO 8601 with a zone"
        case ListOf(item) | MapOf(item):
            return values_words(item)
    return ""


def range_words(low: float | None, high: float | None) -> str:
    if low is not None and high is not None:
        return f"{low} to {high}"
    if low is not None:
        return f"at least {low}"
    return f"at most {high}" if high is not None else ""

"""Envelope of a checked message for the bus: id, correlation, reply, recipient.

The dialect's `wire` names the fields. A parsed message has a tree; one from the compiled validator is a Struct, whose
attributes are known.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from telex.dialects.rule_evaluation import get_path
from telex.dialects.schema import Dialect, MessageType, OneOf, Text, Tree, kind_at

if TYPE_CHECKING:
    # at run time it would bring msgspec, which the patient way does without
    from telex.validation.compiled import StructLayout


class Envelope(NamedTuple):
    id: str | None = None
    correlation: str | None = None
    reply_to: str | None = None
    recipient: str | None = None


NO_FACTS = Envelope()
_TASK = "task"  # what a message is about, where it names no conversation
_WANTED = (*Envelope._fields, _TASK)


def facts_in(tree: Tree, dialect: Dialect, type_: MessageType) -> Envelope:
    """What stands in a message as read."""
    found = {name: _text(get_path(path)(tree)) for name, path in paths_of(dialect, type_).items()}
    return _facts([found.get(name) for name in _WANTED])


def facts_in_envelope(tree: Tree, dialect: Dialect) -> Envelope:
    """What stands around a message whose type nobody knows: it is refused, and told by its own id all the same."""
    places = {name: getattr(dialect.wire, name) for name in _WANTED}
    return _facts([_text(tree.get(place)) if place in dialect.envelope else None for place in places.values()])


def opener_of(dialect: Dialect, type_: MessageType, shape: "StructLayout") -> Callable[[Any], Envelope]:
    """The same from a message that the fast lane has decoded into this shape."""
    paths = paths_of(dialect, type_)
    get = attrgetter(*(attribute(paths.get(name), shape) for name in _WANTED))  # all in one go

    new = tuple.__new__

    def opened(message: Any) -> Envelope:
        id_, correlation, reply_to, recipient, task = get(message)
        # As Facts(…) would make it, in half the time.
        return new(Envelope, (id_ or None, correlation or task or None, reply_to or None, recipient or None))

    return opened


def attribute(path: tuple[str, ...] | None, shape: "StructLayout | None") -> str:
    """The way through the Structs. None of them has a docstring, so that is where nothing is found."""
    if path is None or shape is None:
        return "__doc__"
    first, *rest = path
    inner = "." + attribute(tuple(rest), shape.inner.get(first)) if rest else ""
    return shape.attributes[first] + inner


def _facts(found: Any) -> Envelope:
    id_, correlation, reply_to, recipient, task = found
    return Envelope(id_ or None, correlation or task or None, reply_to or None, recipient or None)


def paths_of(dialect: Dialect, type_: MessageType) -> dict[str, tuple[str, ...]]:
    """Where each fact stands, for the type's own fields and the envelope's.

    Within a payload, a type of a user's file may have a field of that name that is no text, which then tells nothing:
    a number is nobody's address.
    """
    places, fields = {name: getattr(dialect.wire, name) for name in _WANTED}, dialect.fields_of(type_)
    paths = {name: dialect.locate(type_, place) for name, place in places.items() if place is not None}
    kinds = {name: field.kind for name, path in paths.items() if (field := kind_at(fields, path)) is not None}
    return {name: path for name, path in paths.items() if isinstance(kinds.get(name), (Text, OneOf))}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None

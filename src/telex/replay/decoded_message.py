"""What does a message say to the rules of the work, when it has been decoded already?

The rules ask a message a dozen times for what stands under one of the deed's names. Where it took the fast lane it was
decoded into a Struct, and what they may ask for is taken from that in one go. What the Struct has in another form than
the text, such as a moment, is read from the text when it is asked for, which is seldom.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from telex.dialects.schema import Boolean, Dialect, Integer, ListOf, MessageType, OneOf, Text, Timestamp, kind_at
from telex.model.roster import Member
from telex.validation.compiled import StructLayout
from telex.validation.envelope import attribute, opener_of
from telex.work.view import WorkMessage, parse_tree

_TEXTS = (Text, OneOf)
_TAKEN = (*_TEXTS, Integer, Boolean, Timestamp)  # kinds of fields that are taken from the Struct, as are lists of texts
_AS_READ = frozenset({str, int, bool, list})  # a value of another kind is looked up in the text
_RAW = ""  # no deed has a name like that
_ELSEWHERE = object()
_NEW = tuple.__new__  # makes a NamedTuple in half the time
_decode = msgspec.json.Decoder().decode


class MessageContext(NamedTuple):
    """What is known of a message besides its own words."""

    number: int
    id: str | None
    at: float
    sender: Member
    to: str
    inboxes: tuple[str, ...]
    correlation: str | None = None
    reply_to: str | None = None


Glimpse = Callable[[bytes, Any, MessageContext], WorkMessage]


class DecodedMessage(WorkMessage):
    """The same message: its tree has what stands under the deed's names, and the text itself for what is not there."""

    __slots__ = ()

    def get(self, name: str) -> Any:
        found = self.tree.get(name, _ELSEWHERE)
        if found is UNSET:
            return None
        return found if type(found) in _AS_READ else self._as_written(name)

    def texts(self, name: str) -> tuple[str, ...]:
        found = self.tree.get(name)  # a list in a Struct has only what may be in it
        return tuple(found) if type(found) is list else super().texts(name)

    def text(self, name: str) -> str:
        found = self.tree.get(name)
        if type(found) is str:
            return found
        found = self.get(name)
        return found if isinstance(found, str) else ""

    def moment(self, name: str) -> float | None:
        at = self.tree.get(name)
        if at is UNSET:
            return None
        if isinstance(at, datetime) and is_exact(at, self.tree[_RAW]):
            return at.timestamp()
        return super().moment(name)

    def _as_written(self, name: str) -> Any:
        if name not in _names(self.type):
            return None
        whole = parse_tree(self.tree[_RAW], self.dialect, self.type, _decode)
        return WorkMessage(*self[:9], whole).get(name)


def is_exact(at: datetime, raw: bytes) -> bool:
    """Is it what stands in the text? The decoder rounds what is smaller than a microsecond, and everybody else cuts it
    off. Those that are a full millisecond have been rounded up to it only if there are three 9s in the text; so there
    are in the last year there is, which another zone may not have."""
    return not at.microsecond % 1000 and b"999" not in raw


def glimpse_of(dialect: Dialect, type_: MessageType, shape: StructLayout) -> Glimpse:
    """What makes of a decoded message of this type what the rules ask of it."""
    places = {name: place for name in _names(type_) if (place := _place(name, dialect, type_, shape)) is not None}
    names = (*places, _RAW)
    # No Struct has a docstring: two times nothing, which makes it a tuple in any case.
    values = attrgetter(*places.values(), "__doc__", "__doc__")
    facts = opener_of(dialect, type_, shape)

    def glimpse(raw: bytes, message: Any, around: MessageContext) -> DecodedMessage:
        tree = dict(zip(names, values(message), strict=False))
        tree[_RAW] = raw
        number, known_id, at, sender, to, inboxes, known_correlation, known_reply_to = around
        id_, correlation, reply_to, _ = facts(message)
        return _NEW(
            DecodedMessage,
            (
                number, known_id or id_ or f"line {number}", at, sender.name, sender.role, to, inboxes, dialect, type_,
                tree, correlation or known_correlation, reply_to or known_reply_to,
            ),
        )  # fmt: skip

    return glimpse


def _names(type_: MessageType) -> Mapping[str, str]:
    return type_.deed.field_map if type_.deed is not None else {}


def _place(name: str, dialect: Dialect, type_: MessageType, shape: StructLayout) -> str | None:
    """The way to it through the Struct; None where it is not to be had from there as it was written."""
    assert type_.deed is not None
    path, fields = dialect.locate(type_, type_.deed.field_map[name]), dialect.fields_of(type_)
    field, outer = kind_at(fields, path), fields.get(path[0])
    if field is None or outer is None or len(path) > 2 or (len(path) == 2 and not outer.required):
        return None
    if any(step.endswith("[]") for step in path):
        return None
    kind = field.kind
    is_taken = isinstance(kind.item, _TEXTS) if isinstance(kind, ListOf) else isinstance(kind, _TAKEN)
    return attribute(path, shape) if is_taken else None

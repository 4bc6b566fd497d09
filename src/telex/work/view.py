"""What did a message say, in the words of the rules? A dialect's field names stay in the dialect."""

import json
from collections.abc import Callable, Mapping
from datetime import UTC
from typing import Any, NamedTuple

from telex.dialects.field_access import get_path
from telex.dialects.schema import Dialect, MessageType, Tree
from telex.dialects.timestamps import parse_timestamp
from telex.model.event import Event, detail_of
from telex.model.json_path import path_of
from telex.model.message import Message
from telex.work.actions import CHAPTERS

UNWEIGHED = "unweighed"  # in the event that brought a message: it was stored by a team without rules of the work
_TELLING = ('"findings"', '"inboxes"', f'"{UNWEIGHED}"')
Getters = Mapping[str, Callable[[Tree], Any]]


class WorkMessage(NamedTuple):
    """A message as the rules of the work see it."""

    seq: int  # 0: it is not stored yet
    id: str
    at: float
    sender: str
    role: str  # the sender's, by the roster
    to: str  # as addressed
    inboxes: tuple[str, ...]  # where it was put
    dialect: Dialect
    type: MessageType
    tree: Tree
    correlation: str | None = None
    reply_to: str | None = None

    @property
    def action(self) -> str:
        return self.type.deed.action if self.type.deed is not None else ""

    def get(self, name: str) -> Any:
        """What stands under one of the deed's names; None where the message, or its type, has no such thing."""
        getter = (_KNOWN.get(id(self.type)) or _learnt(self.dialect, self.type)).getters.get(name)
        return getter(self.tree) if getter is not None else None

    def text(self, name: str) -> str:
        getter = (_KNOWN.get(id(self.type)) or _learnt(self.dialect, self.type)).getters.get(name)
        found = getter(self.tree) if getter is not None else None
        return found if isinstance(found, str) else ""

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts; whatever in it is none is left out, as a lenient team may let it pass."""
        found = self.get(name)
        return tuple(one for one in found if isinstance(one, str)) if isinstance(found, list) else ()

    def moment(self, name: str) -> float | None:
        """A moment, in seconds since 1970; None where it names none."""
        written = self.text(name)
        at = parse_timestamp(written).at if written else None
        try:
            return at.astimezone(UTC).timestamp() if at is not None else None
        except OverflowError:  # the first or the last day there is, in another zone
            return None

    @property
    def has_states(self) -> bool:
        """Is its dialect one in which tasks have states?"""
        return (_KNOWN.get(id(self.type)) or _learnt(self.dialect, self.type)).has_states

    def has(self, name: str) -> bool:
        """Has its type a place for that? It need not be filled."""
        return self.type.deed is not None and name in self.type.deed.field_map

    def path(self, name: str, *more: str | int) -> str:
        """Where that stands, for a finding."""
        assert self.type.deed is not None
        return path_of(*self.dialect.locate(self.type, self.type.deed.field_map[name]), *more)


def work_message_from_log(message: Message, event: Event | None, dialect: Dialect) -> WorkMessage | None:
    """A message out of the record. None: it has no part in the work, or was let pass by a lenient team though it was
    refused, and then changes nothing."""
    type_ = dialect.types.get(message.type or "")
    if type_ is None or type_.deed is None or type_.deed.action not in CHAPTERS or message.refused:
        return None
    told = event.detail if event is not None else None
    # Most say only how long it took, and reading that is a third of the cost of folding.
    detail = detail_of(event) if event is not None and told and any(word in told for word in _TELLING) else {}
    found, where = detail.get("findings"), detail.get("inboxes")  # somebody else may have written them into an export
    listed = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    if detail.get(UNWEIGHED) or any(one.get("severity", "refusal") == "refusal" for one in listed):
        return None
    return WorkMessage(
        message.seq,
        message.id,
        message.at,
        message.sender,
        message.role,
        message.to,
        tuple(one for one in where if isinstance(one, str)) if isinstance(where, list) else (),
        dialect,
        type_,
        parse_tree(message.raw, dialect, type_),
        message.correlation,
        message.reply_to,
    )


def parse_tree(raw: bytes, dialect: Dialect, type_: MessageType, decode: Callable[[bytes], Any] | None = None) -> Tree:
    """The message as it was read when it was stored: a plain reading where that will do, the patient one elsewhere.

    `decode` reads JSON in less time, for a message that took the fast lane.
    """
    tree: Any = None
    if dialect.form == "json":
        try:
            tree = _DECODE(raw.decode()) if decode is None else decode(raw)
        except (ValueError, RecursionError):
            tree = None
    if not isinstance(tree, dict) or tree.get("type") != type_.name:
        from telex.dialects.parse.reader import read

        tree = read(raw, (dialect,), forced=dialect).tree
    later = (_KNOWN.get(id(type_)) or _learnt(dialect, type_)).later
    return _respelt(tree, dialect, later) if later else tree


def _respelt(tree: Tree, dialect: Dialect, later: Mapping[str, str]) -> Tree:
    """Fields under the name they have, where they were written under a later one."""
    inside = tree.get(dialect.payload) if dialect.payload else tree
    if isinstance(inside, dict):
        for name, spelling in later.items():
            if name not in inside and spelling in inside:
                inside[name] = inside.pop(spelling)
    return tree


class _TypeReader(NamedTuple):
    """What is found out once for a type."""

    type: MessageType  # held, since it is known by its identity
    getters: Getters
    later: Mapping[str, str]  # fields that are also read under a later spelling
    has_states: bool  # does its dialect have words for the moves of a task?


_DECODE = json.JSONDecoder().decode
_KNOWN: dict[int, _TypeReader] = {}


def _learnt(dialect: Dialect, type_: MessageType) -> _TypeReader:
    names = type_.deed.field_map if type_.deed is not None else {}
    getters = {name: _getter(dialect.locate(type_, where)) for name, where in names.items()}
    later = {name: field.later_spelling for name, field in type_.fields.items() if field.later_spelling is not None}
    has_states = any(
        message_type.deed is not None and message_type.deed.action == "move" for message_type in dialect.types.values()
    )
    type_reader = _KNOWN[id(type_)] = _TypeReader(type_, getters, later, has_states)
    return type_reader


def _getter(steps: tuple[str, ...]) -> Callable[[Tree], Any]:
    """As `get_path`, and quicker for what stands in the payload: that is asked a dozen times of every message."""
    if len(steps) != 2 or any(step.endswith("[]") for step in steps):
        return get_path(steps)
    outer, inner = steps

    def get(tree: Tree) -> Any:
        inside = tree.get(outer)
        return inside.get(inner) if type(inside) is dict else None

    return get

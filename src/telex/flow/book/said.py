"""What did a message say, in the words of the rules? A dialect's field names stay in the dialect."""

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from telex.dialects.evaluation import reach
from telex.dialects.spec import Dialect, MessageType, Tree
from telex.model.event import Event, detail_of
from telex.model.message import Message
from telex.model.paths import path_of

Getters = Mapping[str, Callable[[Tree], Any]]


class Said(NamedTuple):
    """A message as the rules of the work see it."""

    seq: int  # 0: it is not kept yet
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
    def does(self) -> str:
        return self.type.deed.does if self.type.deed is not None else ""

    def get(self, name: str) -> Any:
        """What stands under one of the deed's names; None where the message, or its type, has no such thing."""
        getter = _getters(self.dialect, self.type).get(name)
        return getter(self.tree) if getter is not None else None

    def text(self, name: str) -> str:
        found = self.get(name)
        return found if isinstance(found, str) else ""

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts; whatever in it is none is left out, as a lenient team may let it pass."""
        found = self.get(name)
        return tuple(one for one in found if isinstance(one, str)) if isinstance(found, list) else ()

    def path(self, name: str, *more: str | int) -> str:
        """Where that stands, for a finding."""
        assert self.type.deed is not None
        return path_of(*self.dialect.locate(self.type, self.type.deed.names[name]), *more)


def heard(message: Message, event: Event | None, dialect: Dialect) -> Said | None:
    """A message out of the record. None: it has no part in the work, or was let pass by a lenient team though it was
    refused, and then changes nothing."""
    type_ = dialect.types.get(message.type or "")
    if type_ is None or type_.deed is None or message.refused:
        return None
    detail = detail_of(event) if event is not None and event.detail else {}
    if any(one.get("severity", "refusal") == "refusal" for one in detail.get("findings", ())):
        return None
    return Said(
        message.seq,
        message.id,
        message.at,
        message.sender,
        message.role,
        message.to,
        tuple(detail.get("inboxes", ())),
        dialect,
        type_,
        tree_of(message.raw, dialect, type_),
        message.correlation,
        message.reply_to,
    )


def tree_of(raw: bytes, dialect: Dialect, type_: MessageType) -> Tree:
    """The message as it was read when it was kept: a plain reading where that will do, the patient one elsewhere."""
    tree: Any = None
    if dialect.form == "json":
        try:
            tree = json.loads(raw)
        except (ValueError, RecursionError):
            tree = None
    if not isinstance(tree, dict) or tree.get("type") != type_.name:
        from telex.dialects.reading import read

        tree = read(raw, (dialect,), forced=dialect).tree
    return _respelt(tree, dialect, type_)


def _respelt(tree: Tree, dialect: Dialect, type_: MessageType) -> Tree:
    """Fields under the name they have, where they were written under a later one."""
    inside = tree.get(dialect.payload) if dialect.payload else tree
    if isinstance(inside, dict):
        for name, field in type_.fields.items():
            if field.later_spelling is not None and name not in inside and field.later_spelling in inside:
                inside[name] = inside.pop(field.later_spelling)
    return tree


_KNOWN: dict[int, tuple[MessageType, Getters]] = {}  # by the type's own identity, which is held while it is here


def _getters(dialect: Dialect, type_: MessageType) -> Getters:
    known = _KNOWN.get(id(type_))
    if known is None:
        assert type_.deed is not None
        found = {name: reach(dialect.locate(type_, where)) for name, where in type_.deed.names.items()}
        known = _KNOWN[id(type_)] = type_, found
    return known[1]

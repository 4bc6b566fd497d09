"""Messages of simulated agents: examples of the types that their role may send, and malformed ones."""

import copy
import json
from functools import lru_cache
from random import Random
from typing import NamedTuple

from telex.dialects.registry import BUILT_IN, by_name
from telex.dialects.schema import Dialect, MessageType, Tree
from telex.dialects.write import write
from telex.model.message import Message
from telex.validation.authorization import may_receive, may_send

NONSENSE = (b"", b"\xff\xfe", b'{"type": "dev_blocker"', b'{"type": "dev_blokcer", "task": "T1"}', b"a\x00b", b"[1, 2]")


class SimMessage(NamedTuple):
    """A message to send, perhaps repeatedly."""

    raw: bytes
    to: str
    id: str
    inside: bool = False  # the message contains its id; not every dialect has a field for it


@lru_cache(maxsize=256)
def sayable(role: str, to_role: str | None) -> tuple[tuple[Dialect, MessageType], ...]:
    """Every type that a role may send to another, or to any."""
    return tuple(
        (dialect, type_)
        for dialect in BUILT_IN
        for type_ in dialect.types.values()
        if may_send(role, type_) and (to_role is None or may_receive(to_role, type_))
    )


def replies_to(question: Message, role: str) -> list[tuple[Dialect, MessageType]]:
    """The types with which this role may answer a request."""
    asked = by_name(question.dialect or "")
    type_asked = asked.types.get(question.type or "") if asked is not None else None
    wanted = type_asked.reply if type_asked is not None else None
    return [(dialect, type_) for dialect, type_ in sayable(role, None) if dialect is asked and type_.name == wanted]


class SimHeader(NamedTuple):
    sender: str
    role: str
    to: str
    to_role: str | None
    id: str
    topic: str
    reply_to: str | None = None


def written(dialect: Dialect, type_: MessageType, header: SimHeader) -> bytes:
    """The type's example with this header."""
    wire, tree = dialect.wire, copy.deepcopy(type_.example)
    names, to, to_role = dialect.addresses == "names", header.to, header.to_role
    places = {
        wire.sender: header.sender if names else header.role,
        wire.recipient: "*" if to == "*" or to_role is None else to if names else to_role,
        wire.id: header.id,
        wire.correlation: header.topic,
        wire.task: header.topic,  # some dialects warn when it differs from the correlation id
        wire.reply_to: header.reply_to,
    }
    for place, value in places.items():
        if place is not None and value is not None:
            _put(tree, dialect.locate(type_, place), value)
    return write(dialect, tree, type_.body_example or None).encode()


def _put(tree: Tree, path: tuple[str, ...], value: str) -> None:
    """Set a field only if the example has it."""
    for step in path[:-1]:
        tree = tree.get(step, {})
    if path[-1] in tree:
        tree[path[-1]] = value


def nonsense(random: Random, raw: bytes) -> bytes:
    """Malformed bytes, or a message with a field removed."""
    if random.random() < 0.5:
        return random.choice(NONSENSE)
    try:
        tree = json.loads(raw)
    except ValueError:
        return raw[: len(raw) // 2]
    tree.pop(random.choice(sorted(tree)))
    return json.dumps(tree).encode()

"""What must the bus know of a message, beyond that it may pass? Its id, its conversation, what it answers, for whom.

Where each of these stands is the dialect's `wire`. A message that was read the patient way has a tree to look into; one
that took the fast lane is decoded once more, into a Struct that holds these fields and no others.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from telex.dialects.evaluation import reach
from telex.dialects.spec import Dialect, MessageType, Tree

_WANTED = ("id", "correlation", "reply_to", "recipient")


class Facts(NamedTuple):
    id: str | None = None
    correlation: str | None = None
    reply_to: str | None = None
    recipient: str | None = None


NO_FACTS = Facts()


def facts_in(tree: Tree, dialect: Dialect | None, type_: MessageType | None) -> Facts:
    """What stands in a message as read. Without a dialect nothing is known."""
    if dialect is None or type_ is None:
        return NO_FACTS
    found = {name: _text(reach(dialect.locate(type_, at))(tree)) for name, at in _places(dialect).items()}
    task = found.pop("task", None)
    found["correlation"] = found.get("correlation") or task
    return Facts(**found)


def reader_of(dialect: Dialect, type_: MessageType) -> Callable[[bytes], Facts]:
    """The same from the bytes of a message that has been found right."""
    import msgspec

    places = {name: dialect.locate(type_, at) for name, at in _places(dialect).items()}
    head = _struct(msgspec, list(places.values()))
    decode = msgspec.json.Decoder(head).decode
    getters = {name: _getter(path) for name, path in places.items()}
    task = getters.pop("task", None)
    wanted = tuple(getters.get(name, _nothing) for name in _WANTED)

    def read(raw: bytes) -> Facts:
        message = decode(raw)
        id_, correlation, reply_to, recipient = [get(message) for get in wanted]
        return Facts(id_, correlation or (task(message) if task else None), reply_to, recipient)

    return read


def _places(dialect: Dialect) -> dict[str, str]:
    wire = dialect.wire
    named = {
        "id": wire.id,
        "correlation": wire.correlation,
        "reply_to": wire.reply_to,
        "recipient": wire.recipient,
        "task": wire.task,
    }
    return {name: place for name, place in named.items() if place is not None}


def _struct(msgspec: Any, paths: list[tuple[str, ...]]) -> Any:
    """A Struct with these fields, each of which may be missing, one level of nesting at a time."""
    tops: dict[str, list[tuple[str, ...]]] = {}
    for first, *rest in paths:
        tops.setdefault(first, []).append(tuple(rest))
    members, names = [], {}
    for index, (name, rests) in enumerate(tops.items()):
        deeper = [rest for rest in rests if rest]
        kind = _struct(msgspec, deeper) if deeper else Any
        members.append((f"f{index}", kind | None if deeper else kind, None))
        names[f"f{index}"] = name
    made = msgspec.defstruct("Head", members, gc=False, rename=names)
    made.__telex_names__ = {name: attribute for attribute, name in names.items()}
    return made


def _nothing(message: Any) -> None:
    return None


def _getter(path: tuple[str, ...]) -> Callable[[Any], str | None]:
    def get(message: Any) -> str | None:
        for step in path:
            message = getattr(message, type(message).__telex_names__[step])
            if message is None:
                return None
        return _text(message)

    return get


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None

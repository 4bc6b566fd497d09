"""Draft of a new message: known values are filled in, the others are marked blanks.

Time and id are arguments. A draft is valid once its blanks are filled in.
"""

import json
from collections.abc import Mapping
from typing import Any

from telex.dialects.blanks import blank, blank_fields, blank_for
from telex.dialects.schema import (
    ANY,
    Anything,
    Boolean,
    Dialect,
    Field,
    Group,
    Integer,
    Kind,
    ListOf,
    MapOf,
    MessageType,
    Number,
    OneOf,
    Tree,
    kind_at,
)


def draft(
    dialect: Dialect, type_: MessageType, given: Mapping[str, Any], *, now: str, new_id: str, role: str | None = None
) -> Tree:
    """A message of this type with the given fields in place, called by name or dotted path."""
    tree = blank_fields(dialect.fields_of(type_))
    sender = role or (None if type_.senders == ANY else blank(OneOf(type_.senders)))  # a single sender fills it in
    known = {dialect.wire.id: new_id, dialect.wire.timestamp: now, dialect.wire.sender: sender}
    for name, value in known.items():
        if name in tree and value is not None:
            tree[name] = value
    for name, value in given.items():
        _put(tree, dialect.locate(type_, name), value)
    _correlate(tree, dialect, type_, given)
    return tree


def _correlate(tree: Tree, dialect: Dialect, type_: MessageType, given: Mapping[str, Any]) -> None:
    """All messages of a task share the task's name as correlation, unless the sender says otherwise."""
    correlation, task = dialect.wire.correlation, dialect.wire.task
    if correlation and task and correlation in dialect.envelope and correlation not in given:
        places = {dialect.locate(type_, name): value for name, value in given.items()}
        if (place := dialect.locate(type_, task)) in places:
            tree[correlation] = places[place]


def _put(tree: Tree, steps: tuple[str, ...], value: Any) -> None:
    *parents, name = steps
    for parent in parents:
        inner = tree.get(parent)
        if not isinstance(inner, dict):
            inner = tree[parent] = {}
        inner.pop(blank_for("name"), None)  # a first entry takes the place of the blank one
        tree = inner
    tree[name] = value


def field_named(dialect: Dialect, type_: MessageType, name: str) -> Field | None:
    return kind_at(dialect.fields_of(type_), dialect.locate(type_, name))


def value_from_text(text: str, kind: Kind) -> Any:
    """What a `field=value` on a command line means for a field of this kind. What does not fit stays text."""
    match kind:
        case ListOf(item):
            read = _json(text)
            return read if isinstance(read, list) else [value_from_text(part.strip(), item) for part in text.split(",")]
        case Integer() | Number() | Boolean() | Group() | MapOf() | Anything():
            return _json(text)
    return text


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text

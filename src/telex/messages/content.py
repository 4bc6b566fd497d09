"""Content of a received message: from its bytes, text or record to the tree of one type."""

from copy import deepcopy
from typing import Any

from telex.dialects.parse.reader import read
from telex.dialects.scalars import typed
from telex.dialects.schema import BODY_KEY, TYPE, Dialect, MessageType, Tree
from telex.errors import InvalidValue
from telex.model.message import LeasedMessage, Rendering, StoredMessage
from telex.model.roster import AT
from telex.work.view import parse_tree

Received = LeasedMessage | StoredMessage


def reader_form(message: Received) -> StoredMessage | Rendering:
    """The message in the form in which its reader receives it."""
    if isinstance(message, LeasedMessage):
        return message.rendering or message.message
    return message


def content_of(message: Received | bytes | str | dict[str, Any], dialect: Dialect, type_: MessageType) -> Tree:
    """The tree of a message of this type.

    Raises:
        InvalidValue: it is of another type, or cannot be parsed.
    """
    if isinstance(message, LeasedMessage | StoredMessage):
        form = reader_form(message)
        if (form.dialect or "").partition(AT)[0] != dialect.base:
            raise _misfit(dialect, type_, f"it is {form.type or 'text'} of {form.dialect or 'no dialect'}")
        message = form.raw
    tree = _tree_in(message, dialect, type_)
    named = tree.get(TYPE)
    if named != type_.name:
        raise _misfit(dialect, type_, f"its type is {named!r}" if named else "it has no type, or cannot be parsed")
    if dialect.payload is not None and not isinstance(tree.get(dialect.payload), dict):
        raise _misfit(dialect, type_, f"it has no object {dialect.payload!r}")
    return tree


def _tree_in(message: bytes | str | dict[str, Any], dialect: Dialect, type_: MessageType) -> Tree:
    is_markdown = dialect.form == "front-matter"
    if isinstance(message, dict):
        return ({BODY_KEY: ""} if is_markdown else {}) | deepcopy(message)
    if not isinstance(message, bytes | str):
        raise InvalidValue(f"give a message, or its bytes, text or tree, not {type(message).__name__}.")
    raw = message.encode("utf-8", "surrogatepass") if isinstance(message, str) else message
    if not is_markdown:
        return parse_tree(raw, dialect, type_)
    reading = read(raw, (dialect,), forced=dialect)
    return {**typed(reading.tree, dialect.fields_of(type_)), BODY_KEY: reading.body or ""}


def _misfit(dialect: Dialect, type_: MessageType, why: str) -> InvalidValue:
    return InvalidValue(f"this message is not a {type_.name} of {dialect.title}: {why}.")

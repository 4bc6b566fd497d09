"""A class for every message type, made from the dialect's data.

    >>> from telex.messages.build_flow import StatusUpdate
    >>> StatusUpdate(task_id="T1", status="STARTED").payload.task_id
    'T1'

Each built-in dialect has a module, with a stub that has its signatures. `load` makes the classes of a user's dialect.
"""

import os
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Literal

from telex.config import seen, text_of
from telex.dialects.python_names import module_name
from telex.dialects.registry import VERSIONS, by_name
from telex.dialects.schema import Dialect
from telex.errors import InvalidValue, NotFound, SettingsError
from telex.messages.classes import Section, TypedMessage, classes_of
from telex.messages.content import Received, reader_form

__all__ = ["Section", "TypedMessage", "class_of", "envelope_value", "load", "typed"]

_MODULES: dict[str, list[tuple[Dialect, ModuleType]]] = {}  # of users' dialects, by name: a file may have changed


def load(dialect: Dialect | str | os.PathLike[str]) -> ModuleType:
    """The classes of a dialect, or of the dialect that a TOML file declares, as attributes.

    Raises:
        SettingsError: the file is invalid; a line for each error.
    """
    if not isinstance(dialect, Dialect):
        dialect = _declared(os.fspath(dialect))
    if any(dialect is built_in for built_in in VERSIONS):
        return import_module(f"{__name__}.{module_name(dialect)}")
    known = _MODULES.setdefault(dialect.name, [])
    for earlier, module in known:
        if earlier == dialect:
            return module
    module = ModuleType(f"{__name__}.{module_name(dialect)}", f"Message classes of {dialect.title}.")
    vars(module).update(classes_of(dialect, module.__name__))
    known.append((dialect, module))
    return module


def _declared(path: str) -> Dialect:
    from telex.dialects.toml.loader import declare, show  # slow to import

    try:
        text = text_of(path)
    except SettingsError as error:
        raise SettingsError(f"{seen(path)} {error.say}") from error
    declared = declare(text, seen(path))
    if declared.dialect is None:
        raise SettingsError("\n".join(show(flaw) for flaw in declared.flaws))
    return declared.dialect


def class_of(dialect: Dialect | str, type_: str) -> type[TypedMessage]:
    """The class of a message type; the dialect by its name if it is a built-in one.

    Raises:
        NotFound: there is no such dialect, or it has no such type.
    """
    declared = by_name(dialect) if isinstance(dialect, str) else dialect
    if declared is None or type_ not in declared.types:
        raise NotFound(f"no message type {type_} in {declared.title if declared else dialect}.")
    return _classes_by_type(load(declared))[type_]


@cache
def _classes_by_type(module: ModuleType) -> dict[str, type[TypedMessage]]:
    values = [value for value in vars(module).values() if isinstance(value, type)]
    return {made.TYPE: made for made in values if issubclass(made, TypedMessage)}


def envelope_value(message: TypedMessage, name: Literal["id", "correlation"]) -> str | None:
    """The id or the conversation that the message itself names. None: it has that of its send."""
    place = message._plan.places.get(name)
    value = place.get(message._tree) if place is not None else None
    return value if isinstance(value, str) and value else None


def typed(message: Received, dialects: Iterable[Dialect] = VERSIONS) -> TypedMessage | None:
    """The message as an object of its class, in the form in which its reader receives it. None: it has no class."""
    form = reader_form(message)
    dialect = by_name(form.dialect, tuple(dialects)) if form.dialect is not None else None
    if dialect is None or form.type is None or form.type not in dialect.types:
        return None
    try:
        return class_of(dialect, form.type).from_message(message)
    except InvalidValue:
        return None

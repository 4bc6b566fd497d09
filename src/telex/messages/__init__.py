"""A builder for every message type: `from telex.messages import vbw_typed; vbw_typed.execution_update(...)`.

A builder returns the message as a plain mapping, with id, time, version and correlation filled in and a marked
blank for every required field that was left out. The module of each dialect is made from the dialect's data; its
signatures are in the stub beside this file.
"""

import keyword
import re
import sys
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from types import ModuleType
from typing import Any

from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import TYPE, Dialect, MessageType
from telex.dialects.write import draft

Builder = Callable[..., dict[str, Any]]


def now_text() -> str:
    """The current time as every dialect writes it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def python_name(name: str) -> str:
    """The name of a field as a Python argument: `from` becomes `from_`."""
    return f"{name}_" if keyword.iskeyword(name) else name


def builder(dialect: Dialect, type_: MessageType) -> Builder:
    """A function that makes messages of this type from keyword arguments."""
    accepted = {python_name(name): name for name in (*dialect.envelope, *type_.fields) if name != TYPE}

    def build(**given: Any) -> dict[str, Any]:
        unknown = [name for name in given if name not in accepted]
        if unknown:
            raise TypeError(f"{type_.name} has no field {unknown[0]!r}; it has {', '.join(accepted)}")
        fields = {accepted[name]: value for name, value in given.items()}
        return draft(dialect, type_, fields, now=now_text(), new_id=str(uuid.uuid4()))

    build.__name__ = build.__qualname__ = type_.name.lower()
    build.__doc__ = type_.purpose
    return build


def _add_module(dialect: Dialect) -> None:
    name = re.sub("[-.]", "_", dialect.slug)
    module = ModuleType(f"{__name__}.{name}", f"Builders of the dialect {dialect.name}.")
    vars(module).update({type_.name.lower(): builder(dialect, type_) for type_ in dialect.types.values()})
    sys.modules[module.__name__] = globals()[name] = module


for _dialect in BUILT_IN:
    _add_module(_dialect)

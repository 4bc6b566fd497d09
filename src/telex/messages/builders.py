"""From a dialect's data to Python functions, one for each type. Their signatures are in the stubs beside this file."""

import keyword
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from telex.dialects.schema import TYPE, Dialect, MessageType
from telex.dialects.write import draft

Builder = Callable[..., dict[str, Any]]


def now_text() -> str:
    """The present moment as every dialect writes it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def python_name(name: str) -> str:
    """A field's name as a Python argument: `from` becomes `from_`."""
    return f"{name}_" if keyword.iskeyword(name) else name


def builders_of(dialect: Dialect) -> dict[str, Builder]:
    return {type_.name.lower(): builder(dialect, type_) for type_ in dialect.types.values()}


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

"""Type stubs (`.pyi`) of the message builders of a dialect, for type checkers and editors.

The builders are created from the dialect at run time, so their arguments appear only in the stub. Every argument is
optional: an omitted one becomes a marked blank.
"""

import json
import keyword
import re

from telex.dialects.schema import (
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
    Text,
    Timestamp,
)


def builders_stub(dialect: Dialect) -> str:
    """The text of one `.pyi` file, formatted as the formatter would."""
    functions = [_function(dialect, type_) for type_ in dialect.types.values() if type_.name.isidentifier()]
    used = [name for name in ("Any", "Literal") if any(re.search(rf"\b{name}\b", text) for text in functions)]
    head = ["# Made by `python -m telex.generate` from the dialect; a change here is lost."]
    if _has_capitals(dialect):
        head.append("# ruff: noqa: N803")  # the names are those of the wire format
    if used:
        head.append(f"from typing import {', '.join(used)}")
    return "\n".join(["\n".join(head), "", *functions]) if functions else "\n".join(head) + "\n"


def _has_capitals(dialect: Dialect) -> bool:
    """Whether a linter would complain about names that are not lower case. They come from the wire format."""
    return any(name != name.lower() for type_ in dialect.types.values() for name in arguments(dialect, type_))


def python_name(name: str) -> str:
    """The name as a valid Python identifier: `from` becomes `from_`."""
    return f"{name}_" if keyword.iskeyword(name) else name


def arguments(dialect: Dialect, type_: MessageType) -> dict[str, Field]:
    """The keyword arguments of a builder: the fields of the type, then those of the envelope."""
    fields = {**type_.fields, **{name: field for name, field in dialect.envelope.items() if name not in type_.fields}}
    return {python_name(name): field for name, field in fields.items() if name.isidentifier()}


def _function(dialect: Dialect, type_: MessageType) -> str:
    given = {name: _annotation(field.kind) for name, field in arguments(dialect, type_).items()}
    lines = [f"    {name}: {annotation} = ...," for name, annotation in given.items()]
    parameters = "\n".join(["", "    *,", *lines, ""]) if given else ""
    docstring = json.dumps(" ".join(type_.purpose.split()), ensure_ascii=False)[1:-1]
    return f'def {python_name(type_.name.lower())}({parameters}) -> dict[str, Any]:\n    """{docstring}"""\n'


def _annotation(kind: Kind) -> str:
    match kind:
        case OneOf(values):
            return f"Literal[{', '.join(json.dumps(value, ensure_ascii=False) for value in values)}]"
        case Text() | Timestamp():
            return "str"
        case Integer():
            return "int"
        case Number():
            return "float"
        case Boolean():
            return "bool"
        case ListOf(item):
            return f"list[{_annotation(item)}]"
        case MapOf(value):
            return f"dict[str, {_annotation(value)}]"
        case Group():
            return "dict[str, Any]"
        case Anything():
            return "Any"

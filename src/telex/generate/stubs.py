"""Type stubs (`.pyi`) of the message builders of a dialect and of the blocking bus, for type checkers and editors.

Both are created at run time, so their arguments appear only in the stub. Every argument of a builder is optional: an
omitted one becomes a marked blank.
"""

import ast
import inspect
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
from telex.ports import bus


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


_CLIENT_HEAD = """\
# Made by `python -m telex.generate` from `telex.ports.bus.Bus`; a change here is lost.
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from telex.bus.local import LocalBus
from telex.bus.run_sync import run_sync as run_sync
{imports}

VERBS: dict[str, Any]

def add_verbs(kind: type, make: Callable[[str], Any]) -> None: ...

class SyncBus:
    _bus: LocalBus
    def __init__(self, bus: Bus) -> None: ...
    @property
    def awaitable(self) -> Bus: ...
"""


def client_stub() -> str:
    """The text of `client.pyi`: the methods of the bus without `async`, with the types of `ports/bus.py`."""
    source = inspect.getsource(bus)
    lines, tree = source.splitlines(), ast.parse(source)
    [protocol] = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == bus.Bus.__name__]
    methods = [
        _blocking_method(lines, node)
        for node in protocol.body
        if isinstance(node, ast.AsyncFunctionDef | ast.FunctionDef)
    ]
    used = set(re.findall(r"\w+", "\n".join(methods)))
    classes = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    homes = {bus.__name__: sorted({"Bus"} | classes & used)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("telex."):
            homes.setdefault(node.module, []).extend(alias.name for alias in node.names if alias.name in used)
    imports = [f"from {home} import {', '.join(names)}" for home, names in sorted(homes.items()) if names]
    return "\n".join([_CLIENT_HEAD.format(imports="\n".join(imports)).rstrip("\n"), *methods, ""])


def _blocking_method(lines: list[str], node: ast.AsyncFunctionDef | ast.FunctionDef) -> str:
    body = node.body[0]
    text = "\n".join(lines[node.lineno - 1 : body.lineno - (body.lineno > node.lineno)]).removesuffix("...").rstrip()
    text = re.sub(r"AsyncGenerator\[(.*), None\]", r"Iterator[\1]", text).replace("async def", "def", 1)
    return f"{text} ...".replace('"', "")

"""Types of the messages of a dialect: TypeScript types, and Python stubs of the message classes; and the stub of the
blocking bus.

TypeScript gets one interface for each type, discriminated by the literal in `type`; their union; the roles; and a table
of senders and receivers. Ranges and rules become comments, because TypeScript cannot express them. A field with a later
spelling has only its first name: these types are for writing messages.
"""

import ast
import json
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from telex.dialects.python_names import Attribute, ClassShape, class_names, shape_of
from telex.dialects.schema import ANY, Dialect, Field, Group, Integer, Kind, ListOf, MapOf, MessageType, OneOf
from telex.generate.type_view import KIND_NAMES, addressed_fields, kind_words, meaning, participants, values_words

_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*\Z", re.ASCII)
_OWN_NAMES = ("Message", "MessageType", "Role", "Priority", "TypeFacts", "TYPES")
_INDENT = "  "


def typescript(dialect: Dialect) -> str:
    """The text of one `.ts` file."""
    names = class_names(dialect.types, _OWN_NAMES)
    blocks = [
        f"/** {_comment(f'{dialect.title}: {dialect.purpose}')} */",
        _union("Role", [json.dumps(role) for role in participants(dialect)] or ["string"]),
        'export type Priority = "ESCALATION" | "ERROR" | "VALIDATION" | "STATUS";',
        *(_interface(dialect, type_, names[type_.name]) for type_ in dialect.types.values()),
        _union("Message", list(names.values()) or ["string"]),
        _union("MessageType", [json.dumps(name) for name in dialect.types] or ["never"]),
        _table(dialect),
    ]
    return "\n\n".join(blocks) + "\n"


# --- names ---------------------------------------------------------------------------------------------------------


def _key(name: str) -> str:
    return name if _IDENTIFIER.match(name) else json.dumps(name)


def _comment(text: str) -> str:
    """The text without anything that would end the comment."""
    return " ".join(text.split()).replace("*/", "*\\/")


# --- types ---------------------------------------------------------------------------------------------------------


def _union(name: str, members: list[str]) -> str:
    line = f"export type {name} = {' | '.join(members)};"
    if len(line) <= 100:
        return line
    return f"export type {name} =" + "".join(f"\n{_INDENT}| {member}" for member in members) + ";"


def _interface(dialect: Dialect, type_: MessageType, name: str) -> str:
    rules = [f"- {rule.code}: {rule.say}" for rule in (*dialect.rules, *type_.rules)]
    comment = [f" * {_comment(line)}" for line in (type_.purpose, *rules)]
    lines = ["/**", *comment, " */", f"export interface {name} {{"]
    for field_name, field in addressed_fields(dialect, type_).items():
        lines += _property(field_name, field, 1, meaning(dialect, field_name))
    return "\n".join([*lines, "}"])


def _property(name: str, field: Field, depth: int, words: str | None = None) -> Iterator[str]:
    if comment := " ".join(filter(None, (words, _remark(field)))):
        yield f"{_INDENT * depth}/** {_comment(comment)} */"
    yield f"{_INDENT * depth}{_key(name)}{'' if field.required else '?'}: {_type(field.kind, depth)};"


def _remark(field: Field) -> str:
    """Range and later spelling, which the type cannot express."""
    innermost = field.kind
    while isinstance(innermost, ListOf | MapOf):
        innermost = innermost.item if isinstance(innermost, ListOf) else innermost.value
    remark = "" if isinstance(innermost, OneOf) else values_words(innermost)
    if isinstance(innermost, Integer):
        remark = f"{kind_words(innermost)}, {remark}".removesuffix(", ")
    later = f"Also read as {field.later_spelling}." if field.later_spelling else ""
    return " ".join(filter(None, (remark and f"{remark[0].upper()}{remark[1:]}.", later)))


def _type(kind: Kind, depth: int) -> str:
    match kind:
        case OneOf(values):
            return " | ".join(json.dumps(value) for value in values)
        case ListOf(item):
            return f"Array<{_type(item, depth)}>"
        case MapOf(value):
            return f"Record<string, {_type(value, depth)}>"
        case Group(fields) if fields:
            lines = [line for name, field in fields.items() for line in _property(name, field, depth + 1)]
            return "\n".join(["{", *lines, f"{_INDENT * depth}}}"])
        case Group():
            return "Record<string, unknown>"
    return KIND_NAMES[type(kind)].typescript


# --- who may send what ---------------------------------------------------------------------------------------------


def _table(dialect: Dialect) -> str:
    facts = """/** What is known of a type. "*" stands for everyone. */
export interface TypeFacts {
  readonly senders: readonly (Role | "*")[];
  readonly receivers: readonly (Role | "*")[];
  readonly priority: Priority;
  readonly reply: MessageType | null;
}"""
    assert ANY == ("*",), "the comment says what * means"
    rows = []
    for type_ in dialect.types.values():
        values = {"senders": type_.senders, "receivers": type_.receivers, "priority": type_.priority}
        written = ", ".join(f"{name}: {json.dumps(value)}" for name, value in {**values, "reply": type_.reply}.items())
        rows.append(f"{_INDENT}{_key(type_.name)}: {{ {written} }},")
    table = "\n".join(["export const TYPES = {", *rows, "} as const satisfies Record<MessageType, TypeFacts>;"])
    return f"{facts}\n\n/** Who may send what to whom. */\n{table}"


# --- message classes -------------------------------------------------------------------------------------------------

_IMPORTS = {"collections.abc": ("Mapping", "Sequence"), "typing": ("Any", "ClassVar", "Literal")}
_BASES = ("Section", "TypedMessage")


def classes_stub(dialect: Dialect, made_by: str = "python -m telex.generate") -> str:
    """The text of one `.pyi` file: the message classes of a dialect, as `telex.messages` makes them."""
    names = class_names(dialect.types)
    blocks = ["\n".join(_message_class(dialect, type_, names[type_.name])) for type_ in dialect.types.values()]
    used = set(re.findall(r"\w+", "\n".join(blocks)))
    imports = [line for module, words in _IMPORTS.items() for line in _import(module, words, used)]
    head = [f"# Made by `{made_by}` from the dialect; a change here is lost.", *imports]
    bases = _import("telex.messages", _BASES, used)
    return "\n\n".join(["\n".join(head), *bases, *blocks]) + "\n"


def _import(module: str, words: tuple[str, ...], used: set[str]) -> Iterator[str]:
    if needed := [word for word in words if word in used]:
        yield f"from {module} import {', '.join(needed)}"


def _message_class(dialect: Dialect, type_: MessageType, name: str) -> Iterator[str]:
    shape = shape_of(dialect, type_)
    yield f"class {name}(TypedMessage):"
    yield f"    {_docstring(type_.purpose)}"
    yield ""
    yield f"    TYPE: ClassVar[str] = {_literal(type_.name)}"
    yield f"    DIALECT: ClassVar[str] = {_literal(dialect.name)}"
    for section, inner in shape.sections.items():
        yield ""
        yield f"    class {section}(Section):"
        yield from (f"        {line}" for line in _class_body(inner, name))
    yield ""
    yield from (f"    {line}" for line in _class_body(shape, name))


def _class_body(shape: ClassShape, message: str) -> Iterator[str]:
    """Read-only attributes, then the constructor."""
    for name, attribute in shape.attributes.items():
        yield "@property"
        yield f"def {name}(self) -> {_attribute_type(attribute, message)}: ..."
    if not shape.keywords:
        yield "def __init__(self) -> None: ..."
        return
    yield "def __init__("
    yield "    self,"
    yield "    *,"
    for name, keyword in shape.keywords.items():
        annotation = _argument_type(keyword.attribute.kind, f"{message}.{keyword.attribute.section}")
        yield f"    {name}: {annotation}{'' if keyword.attribute.required else ' | None = None'},"
    yield ") -> None: ..."


def _attribute_type(attribute: Attribute, message: str) -> str:
    annotation = _value_type(attribute.kind, f"{message}.{attribute.section}")
    is_present = attribute.required or attribute.default is not None
    return annotation if is_present else f"{annotation} | None"


def _value_type(kind: Kind, section: str) -> str:
    match kind:
        case OneOf(values):
            return f"Literal[{', '.join(map(_literal, values))}]"
        case ListOf(item):
            return f"list[{_value_type(item, section)}]"
        case MapOf(value):
            return f"dict[str, {_value_type(value, section)}]"
        case Group(fields) if fields:
            return section
    return KIND_NAMES[type(kind)].python


def _argument_type(kind: Kind, section: str) -> str:
    """The type that a constructor accepts, which is wider."""
    match kind:
        case ListOf(item):
            return f"Sequence[{_argument_type(item, section)}]"
        case MapOf(value):
            return f"Mapping[str, {_argument_type(value, section)}]"
        case Group(fields):
            return f"{section} | Mapping[str, Any]" if fields else "Mapping[str, Any]"
    return _value_type(kind, section)


def _literal(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _docstring(text: str) -> str:
    words = " ".join(text.split())
    return f'"""{_literal(words)[1:-1]}"""'


# --- the blocking bus ------------------------------------------------------------------------------------------------

_CLIENT_HEAD = """\
# Made by `python -m telex.generate` from `telex.ports.bus.Bus` and `telex.agent`; a change here is lost.
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

{imports}

VERBS: dict[str, Any]

def methods_of(kind: type) -> dict[str, Any]: ...
def add_verbs(kind: type, make: Callable[[str], Any], verbs: Mapping[str, Any] = ...) -> None: ...
def blocking(name: str) -> Callable[..., Any]: ...
"""
_SYNC_BUS = """\
class SyncBus:
    _bus: LocalBus
    def __init__(self, bus: Bus) -> None: ...
    @property
    def awaitable(self) -> Bus: ...
"""
_SYNC_LEASE = """\
class SyncLease:
    awaitable: Lease
    original: StoredMessage
    rendering: Rendering | None
    token: str
    attempt: int
    until: float
    is_open: bool
    def __init__(self, lease: Lease) -> None: ...
"""
_SYNC_AGENT = """\
class SyncAgent:
    awaitable: Agent
    name: str
    role: str | None
    def __init__(self, agent: Agent) -> None: ...
"""
_BLOCKING = {"Agent": "SyncAgent", "Lease": "SyncLease"}  # results that have blocking methods themselves


def client_stub() -> str:
    """The text of `client.pyi`: the methods of bus, agent and lease without `async`, with their types."""
    port, agent = _source("telex.ports.bus"), _source("telex.agent")
    classes = ((_SYNC_BUS, port, "Bus"), (_SYNC_LEASE, agent, "Lease"), (_SYNC_AGENT, agent, "Agent"))
    body = [
        line for head, source, name in classes for line in (head.rstrip("\n"), *_blocking_methods(source, name), "")
    ]
    used = set(re.findall(r"\w+", "\n".join(body)))
    homes = {"telex.bus.local": {"LocalBus"}}
    for home, source in (("telex.ports.bus", port), ("telex.agent", agent)):
        tree = ast.parse(source)
        homes.setdefault(home, set()).update(used & set(_defined(tree)))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("telex."):
                homes.setdefault(node.module, set()).update(used & {alias.name for alias in node.names})
    imports = [
        f"from {home} import {', '.join(sorted(names, key=lambda name: (not name.isupper(), name)))}"
        for home, names in sorted(homes.items())
        if names
    ]
    return "\n".join([_CLIENT_HEAD.format(imports="\n".join(imports)), *body])


def _source(module: str) -> str:
    """The text of a module, which may be in a higher layer and is not imported."""
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).read_text(encoding="utf-8")


def _defined(tree: ast.Module) -> Iterator[str]:
    """Names of the classes and type aliases of a module."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def _blocking_methods(source: str, name: str) -> list[str]:
    lines = source.splitlines()
    [kind] = [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef) and node.name == name]
    methods = [node for node in kind.body if isinstance(node, ast.AsyncFunctionDef | ast.FunctionDef)]
    return [_blocking_method(lines, node) for node in methods if not node.name.startswith("_")]


def _blocking_method(lines: list[str], node: ast.AsyncFunctionDef | ast.FunctionDef) -> str:
    body = node.body[0]
    text = "\n".join(lines[node.lineno - 1 : body.lineno - (body.lineno > node.lineno)]).removesuffix("...").rstrip()
    text = re.sub(r"AsyncGenerator\[(.*), None\]", r"Iterator[\1]", text).replace("async def", "def", 1)
    head, arrow, result = text.replace('"', "").rpartition(" -> ")
    result = re.sub(r"\w+", lambda word: _BLOCKING.get(word[0], word[0]), result)
    decorator = "    @property\n" if node.decorator_list else ""
    return f"{decorator}{head}{arrow}{result} ..."

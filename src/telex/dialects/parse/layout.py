"""Layout of a message's fields: in the payload of an envelope, or flat. Fields on the wrong level are moved."""

from typing import Any

from telex.dialects.parse.json import read_json
from telex.dialects.schema import TYPE, Anything, Dialect, Field, Group, MapOf, MessageType, Tree
from telex.model.finding import Finding
from telex.model.text import path_of


def laid_out(tree: Tree, dialect: Dialect, type_: MessageType) -> tuple[Tree, list[Finding]]:
    """The message with its fields where the dialect has them, and what had to be moved for that."""
    own = type_.fields if dialect.payload is None else {dialect.payload}
    if all(name == TYPE or name in dialect.envelope or name in own for name in tree) and (
        dialect.payload is None or isinstance(tree.get(dialect.payload), dict)
    ):
        return tree, []  # nearly every message
    if dialect.payload is None:
        return _flat(tree, dialect, type_)
    findings: list[Finding] = []
    for move in (_payload_as_text, _payload_by_another_name, _beside_payload):
        tree, found = move(tree, dialect.payload, dialect, type_)
        findings += [found] if found else []
    return tree, findings


def object_in_text(value: Any) -> Tree | None:
    """The object that a text holds as JSON, and nothing else."""
    if not isinstance(value, str) or not value.lstrip().startswith("{"):
        return None
    read = read_json(value.strip())
    whole = not read.failed and not read.findings and read.end == len(value.strip())
    return read.value if whole and type(read.value) is dict else None


def _flat(tree: Tree, dialect: Dialect, type_: MessageType) -> tuple[Tree, list[Finding]]:
    fields = dialect.fields_of(type_)
    boxes = [
        name
        for name, value in tree.items()
        if isinstance(value, dict) and name not in fields and any(inner in fields and inner != TYPE for inner in value)
    ]
    if len(boxes) != 1 or (tree.keys() & tree[boxes[0]].keys()) - {TYPE}:
        return tree, []
    inner = {name: value for name, value in tree[boxes[0]].items() if name != TYPE}
    say = f"Move {', '.join(inner)} out of {boxes[0]}, to the level of type: {dialect.name} has no {boxes[0]}."
    moved = {name: value for name, value in tree.items() if name != boxes[0]} | inner
    return moved, [Finding("field-misplaced", path_of(boxes[0]), say, expected="the fields beside type")]


def _payload_as_text(tree: Tree, payload: str, dialect: Dialect, type_: MessageType) -> tuple[Tree, Finding | None]:
    inner = object_in_text(tree.get(payload))
    if inner is None:
        return tree, None
    say = f"Write {payload} as an object, not as a text that holds one."
    return tree | {payload: inner}, Finding("wrong-type", path_of(payload), say, expected="an object", found="text")


def _payload_by_another_name(
    tree: Tree, payload: str, dialect: Dialect, type_: MessageType
) -> tuple[Tree, Finding | None]:
    required = [name for name, field in type_.fields.items() if field.required]
    others = [
        name
        for name, value in tree.items()
        if name not in dialect.envelope and isinstance(value, dict) and not _takes_object(type_.fields.get(name))
        if sum(inner in value for inner in required) * 2 >= max(len(required), 1)
    ]
    if payload in tree or len(others) != 1:
        return tree, None
    say = f"Rename {others[0]!r} to {payload!r}."
    renamed = {payload if name == others[0] else name: value for name, value in tree.items()}
    wanted = f"a field {payload!r}"
    return renamed, Finding("field-missing", path_of(payload), say, expected=wanted, found=others[0], nearest=payload)


def _takes_object(field: Field | None) -> bool:
    return field is not None and isinstance(field.kind, (Group, MapOf, Anything))


def _beside_payload(tree: Tree, payload: str, dialect: Dialect, type_: MessageType) -> tuple[Tree, Finding | None]:
    inner = tree.get(payload, {})
    if not isinstance(inner, dict):
        return tree, None
    outside = [name for name in tree if name in type_.fields and name not in dialect.envelope and name not in inner]
    if not outside:
        return tree, None
    say = f"Move {', '.join(outside)} into {payload}."
    moved = {name: tree[name] for name in outside}
    rest = {name: value for name, value in tree.items() if name not in moved}
    wanted = f"an object {payload!r} that holds them"
    return rest | {payload: {**inner, **moved}}, Finding("field-misplaced", path_of(payload), say, expected=wanted)

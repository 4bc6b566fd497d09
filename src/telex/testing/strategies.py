"""Hypothesis strategies that generate valid messages of any dialect from its definition.

    @given(messages(VBW_TYPED, VBW_TYPED.types["qa_verdict"]))
    def test_my_agent_reads_every_verdict(tree): ...

Fields of every kind are drawn, optional ones are present or not, and no rule that refuses is violated; warnings may
occur. Only this module imports hypothesis, since Telex itself runs without it.
"""

import copy
import json
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from math import ceil, floor
from typing import Any

from hypothesis import strategies as st

from telex.dialects import schema
from telex.dialects.rule_language import Binary, Constant, FunctionCall, Node, Not, Reference, names, parse
from telex.dialects.schema import ANY, Dialect, Field, Form, Kind, MessageType, OneOf, Text, Tree
from telex.dialects.write import is_blank, write_front_matter
from telex.model.finding import refusals
from telex.model.limits import LIMITS
from telex.model.named_tuple import NamedTuple
from telex.validation.fields import FieldWalker
from telex.validation.rules import relate

__all__ = ["WireMessage", "bodies", "messages", "moments", "values", "wire"]

DRAWS_MAX = 3  # draws of a message that breaks a rule, before fields are taken from the example
ITEMS_MAX = 3
TEXT_CHARACTERS_MAX = 12  # longer texts find no more bugs and shrink slower

_LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
_TEXT = st.text(_LETTERS, max_size=TEXT_CHARACTERS_MAX).filter(lambda text: not is_blank(text))
_KEYS = st.sampled_from(["AC1", "AC2", "a b"]) | _TEXT
_VISIBLE = st.characters(categories=["L", "N", "P", "S"], include_characters=" ")
_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(-100, 100) | st.floats(allow_nan=False, allow_infinity=False) | _TEXT,
    lambda inner: st.lists(inner, max_size=ITEMS_MAX) | st.dictionaries(_KEYS, inner, max_size=ITEMS_MAX),
    max_leaves=6,
)


class WireMessage(NamedTuple):
    raw: bytes
    tree: Tree
    body: str | None  # the markdown after front matter; None in JSON dialects


def values(kind: Kind, form: Form = "json") -> st.SearchStrategy[Any]:
    """Values that a field of this kind accepts."""
    match kind:
        case Text():
            return _texts(kind)
        case schema.Integer(low, high):
            return _integers(low, high)
        case schema.Number(low, high):
            return _integers(low, high) | st.floats(low, high, allow_nan=False, allow_infinity=False)
        case schema.Boolean():
            return st.booleans()
        case OneOf(choices):
            return st.sampled_from(choices)
        case schema.Timestamp():
            return moments()
        case schema.Anything():
            return _ANYTHING if form == "json" else _TEXT  # front matter has only text there
        case schema.ListOf(item):
            return st.lists(values(item, form), max_size=ITEMS_MAX)
        case schema.MapOf(value):
            return st.dictionaries(_KEYS, values(value, form), max_size=ITEMS_MAX)
        case schema.Group(fields):
            return _objects({name: (field, values(field.kind, form)) for name, field in fields.items()})


def moments() -> st.SearchStrategy[str]:
    """ISO 8601 times with a zone."""
    zones = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))

    def written(at: datetime, precise: str, z: bool) -> str:
        text = at.isoformat(timespec=precise)
        return text.replace("+00:00", "Z") if z else text

    precisions = st.sampled_from(["minutes", "seconds", "milliseconds", "microseconds"])
    return st.builds(written, st.datetimes(timezones=zones | st.just(timezone(timedelta()))), precisions, st.booleans())


def messages(dialect: Dialect, type_: MessageType) -> st.SearchStrategy[Tree]:
    """Valid messages of this type."""
    fields, all_rules = dialect.fields_of(type_), (*dialect.rules, *type_.rules)
    rules = [parse(rule.broken_when) for rule in all_rules if rule.severity == "refusal"]
    hints = _hints(rules)

    def one(name: str, field: Field) -> st.SearchStrategy[Any]:
        if name == dialect.payload:
            return _objects({inner: (own, one(inner, own)) for inner, own in type_.fields.items()})
        kind, roles = field.kind, _roles(dialect, type_, name)
        if roles:
            return st.sampled_from([role for role in roles if not isinstance(kind, OneOf) or role in kind.values])
        if isinstance(kind, Text) and name in hints:
            return values(kind, dialect.form) | st.sampled_from(hints[name])
        return values(kind, dialect.form)

    whole = _objects({name: (field, one(name, field)) for name, field in fields.items()})
    return _keeping(whole, dialect, type_, rules) if rules else whole


def wire(dialect: Dialect, type_: MessageType) -> st.SearchStrategy[WireMessage]:
    """Valid messages as bytes: fields in any order, JSON compact or indented, any markdown as a body."""
    shuffled = messages(dialect, type_).flatmap(
        lambda tree: st.permutations(list(tree)).map(lambda order: {name: tree[name] for name in order})
    )
    if dialect.form == "front-matter":
        return st.builds(_front_matter, shuffled, bodies())
    return st.builds(_json, shuffled, st.sampled_from([None, 2]), st.booleans())


def bodies() -> st.SearchStrategy[str]:
    """Markdown: headings, lists, fences, rules that look like front matter, and other text."""
    lines = st.sampled_from(["## Result", "## Self-Assessment", "- done", "---", "```", "type: x", "{", "", "a: b"])
    text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"), max_size=TEXT_CHARACTERS_MAX)
    return st.lists(lines | text, max_size=6).map("\n".join)


def _front_matter(tree: Tree, body: str) -> WireMessage:
    return WireMessage(write_front_matter(tree, body).encode(), tree, body)


def _json(tree: Tree, indent: int | None, ascii_only: bool) -> WireMessage:
    return WireMessage(json.dumps(tree, indent=indent, ensure_ascii=ascii_only).encode(), tree, None)


def _texts(kind: Text) -> st.SearchStrategy[str]:
    if kind.printable:
        longest = kind.characters_max or LIMITS.id_characters_max
        short = st.text(_VISIBLE, min_size=1, max_size=min(longest, TEXT_CHARACTERS_MAX))
        return (short | short.map(lambda text: (text * longest)[:longest])).filter(lambda text: not is_blank(text))
    return _TEXT if kind.characters_max is None else _TEXT.map(lambda text: text[: kind.characters_max])


def _integers(low: float | None, high: float | None) -> st.SearchStrategy[int]:
    first = LIMITS.integer_min if low is None else ceil(low)
    last = LIMITS.integer_max if high is None else floor(high)
    if first > last:
        return st.nothing()
    # Small numbers are what messages have and rules compare; the others test for overflows.
    return st.integers(first, min(last, max(first, 0) + 5)) | st.integers(first, last)


def _objects(fields: dict[str, tuple[Field, st.SearchStrategy[Any]]]) -> st.SearchStrategy[Tree]:
    required = {name: strategy for name, (field, strategy) in fields.items() if field.required}
    optional = {name: strategy for name, (field, strategy) in fields.items() if not field.required}
    return st.fixed_dictionaries(required, optional=optional)


def _roles(dialect: Dialect, type_: MessageType, name: str) -> tuple[str, ...]:
    """The roles that this field may name as sender or recipient. Empty if it names no role."""
    allowed = {dialect.wire.sender: type_.senders, dialect.wire.recipient: type_.receivers}.get(name, ANY)
    return allowed if dialect.addresses == "roles" and allowed != ANY else ()


# --- hard rules -------------------------------------------------------------------------------------------------


def _hints(rules: list[Node]) -> dict[str, list[str]]:
    """Texts that a rule compares a field with. Random texts would never match them."""
    hints: dict[str, list[str]] = {}
    for node in (node for rule in rules for node in _nodes(rule)):
        match node:
            case Binary(_, Reference(name), Constant(str() as value)):
                hints.setdefault(name, []).append(value)
    return hints


def _nodes(node: Node) -> Iterator[Node]:
    yield node
    match node:
        case Not(operand):
            yield from _nodes(operand)
        case Binary(_, left, right):
            yield from (*_nodes(left), *_nodes(right))
        case FunctionCall(_, arguments):
            yield from (inner for argument in arguments for inner in _nodes(argument))


@st.composite
def _keeping(
    draw: st.DrawFn, whole: st.SearchStrategy[Tree], dialect: Dialect, type_: MessageType, rules: list[Node]
) -> Tree:
    for _ in range(DRAWS_MAX):
        tree = draw(whole)
        if not _is_broken(tree, dialect, type_):
            return tree
    for rule in rules:
        for name in names(rule):
            _take_from_example(tree, dialect, type_, name)
    assert not _is_broken(tree, dialect, type_), f"the example of {type_.name} breaks a rule"
    return tree


def _is_broken(tree: Tree, dialect: Dialect, type_: MessageType) -> bool:
    walk = FieldWalker(LIMITS, frozenset())
    relate(walk, copy.deepcopy(tree), dialect, type_)
    return bool(refusals(walk.findings))


def _take_from_example(tree: Tree, dialect: Dialect, type_: MessageType, name: str) -> None:
    """Copy a field that a rule reads from the type's example, which breaks no rule."""
    *outer, field = dialect.locate(type_, name)[: 2 if dialect.payload else 1]
    example = type_.example
    for step in outer:
        tree, example = tree[step], example[step]
    tree.pop(field, None)
    if field in example:
        tree[field] = copy.deepcopy(example[field])

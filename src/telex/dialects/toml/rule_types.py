"""Does an expression make sense over these fields: can every part of it be worked out, and could it ever hold?

A rule is run on every message, so whatever could go wrong with it is found here, once: fields that do not exist,
comparisons that could never hold, and sums or orders of things that have none.
"""

from collections.abc import Callable, Collection
from typing import NamedTuple

from telex.dialects.blanks import expected
from telex.dialects.rule_language import Binary, Constant, FunctionCall, Node, Not, Reference
from telex.dialects.schema import (
    BOOLEAN,
    Anything,
    Boolean,
    Field,
    Group,
    Integer,
    Kind,
    ListOf,
    MapOf,
    Number,
    OneOf,
    Text,
    Timestamp,
)
from telex.dialects.toml.document import TomlValue, meant_or_choices, shown
from telex.dialects.toml.fields import UNREAD


class RuleScope(NamedTuple):
    """What a rule may speak of."""

    field: Callable[[str], Field | None]  # by the name that a rule gives it
    names: Callable[[], Collection[str]]  # every such name


def check_rule_types(node: Node, value: TomlValue, scope: RuleScope) -> None:
    """Note at `place` whatever in this rule does not."""
    _TypeChecker(value, scope).condition(node)


class _TypeChecker:
    """Finds the kind of every part of a rule; where that is impossible a flaw is noted and the kind is UNREAD."""

    def __init__(self, value: TomlValue, scope: RuleScope) -> None:
        self.place, self.scope = value, scope

    def flaw(self, say: str) -> Kind:
        self.place.flaw(say)
        return UNREAD

    def condition(self, node: Node) -> None:
        kind = self.kind(node)
        if kind is not UNREAD and not isinstance(kind, Boolean):
            self.flaw(f"{_words(node)} is {_a(kind)}, not a condition: compare it, or ask has(…) or len(…) > 0")

    def kind(self, node: Node) -> Kind:
        match node:
            case Constant(value):
                return _constant(value)
            case Reference(name):
                return self.reference(name)
            case Not(operand):
                self.condition(operand)
                return BOOLEAN
            case FunctionCall(function, arguments):
                return self.call(function, arguments)
            case Binary("and" | "or", left, right):
                self.condition(left)
                self.condition(right)
                return BOOLEAN
            case Binary("in", left, right):
                return self.contains(left, right)
            case Binary("+" | "-", left, right):
                return self.sum(left, right)
        return self.comparison(node)

    def reference(self, name: str) -> Kind:
        field = self.scope.field(name)
        if field is None:
            known = [] if self.place.sheet.is_full() else self.scope.names()
            return self.flaw(f"there is no field {name!r}; {meant_or_choices(name, known)}")
        if field.kind is UNREAD or "[]" not in name:
            return field.kind
        if name.count("[]") > 1:
            return self.flaw(f"{name} goes through two lists, and a rule can look into one")
        if isinstance(field.kind, Timestamp):
            return self.flaw(f"{name}: the times in a list cannot be compared")
        return ListOf(field.kind)

    def call(self, function: str, arguments: tuple[Node, ...]) -> Kind:
        if function == "has":
            if not isinstance(arguments[0], Reference) or "[]" in arguments[0].name:
                return self.flaw(f"has(…) asks whether one field is there, and {_words(arguments[0])} is none")
            self.kind(arguments[0])
            return BOOLEAN
        kinds = [self.kind(argument) for argument in arguments]
        for node, kind in zip(arguments, kinds, strict=True):
            if kind is UNREAD:
                continue
            if function == "len" and not isinstance(kind, Text | OneOf | ListOf | MapOf):
                self.flaw(f"{_words(node)} is {_a(kind)} and has no length")
            if function == "overlap" and not (isinstance(kind, MapOf) or _is_simple_list(kind)):
                self.flaw(f"overlap compares two lists of simple values, and {_words(node)} is {_a(kind)}")
        if function == "overlap" and all(isinstance(kind, ListOf) for kind in kinds):
            self.same(arguments[0], _items(kinds[0]), arguments[1], _items(kinds[1]))
        return Integer(at_least=0) if function == "len" else BOOLEAN

    def sum(self, left: Node, right: Node) -> Kind:
        for side, kind in ((left, self.kind(left)), (right, self.kind(right))):
            if kind is not UNREAD and not isinstance(kind, Integer | Number):
                self.flaw(f"{_words(side)} is {_a(kind)}: only numbers are added and taken away")
        return Number()

    def contains(self, left: Node, right: Node) -> Kind:
        part, whole = self.kind(left), self.kind(right)
        if part is UNREAD or whole is UNREAD:
            return BOOLEAN
        if isinstance(right, Constant) and isinstance(right.value, tuple):
            for value in right.value:
                self.same(left, part, Constant(value), _constant(value))
        elif isinstance(whole, ListOf):
            self.same(left, part, right, whole.item)
        elif isinstance(whole, Text | OneOf | MapOf):
            if not isinstance(part, Text | OneOf):
                self.flaw(f"{_words(left)} is {_a(part)}, and only text is looked for in {_words(right)}")
        else:
            self.flaw(f"{_words(right)} is {_a(whole)}: in looks into a list, a map or text")
        return BOOLEAN

    def comparison(self, node: Binary) -> Kind:
        left, right = self.kind(node.left), self.kind(node.right)
        if left is UNREAD or right is UNREAD:
            return BOOLEAN
        if node.operation in ("==", "!="):
            self.same(node.left, left, node.right, right)
        elif _family(left) != _family(right) or _family(left) not in ("number", "datetime"):
            self.flaw(
                f"{_words(node.left)} is {_a(left)} and {_words(node.right)} is {_a(right)}:"
                f" {node.operation} compares two numbers or two datetimes"
            )
        return BOOLEAN

    def same(self, left: Node, one: Kind, right: Node, other: Kind) -> None:
        """Note when the two can never be equal."""
        if one is UNREAD or other is UNREAD:
            return
        for node, kind in ((left, one), (right, other)):
            if isinstance(kind, ListOf | MapOf | Group):
                self.flaw(f"{_words(node)} is {_a(kind)}, which is not compared as a whole: ask len, in or overlap")
                return
        if isinstance(one, Anything) or isinstance(other, Anything):
            return
        if _family(one) != _family(other):
            self.flaw(f"{_words(left)} is {_a(one)} and can never equal {_words(right)}, which is {_a(other)}")
        elif isinstance(one, OneOf) and isinstance(other, OneOf) and not set(one.values) & set(other.values):
            field, constant = (left, right) if isinstance(right, Constant) else (right, left)
            self.never(field, one if field is left else other, constant)
        elif isinstance(one, Integer | Number) and isinstance(other, Integer | Number) and _apart(one, other):
            self.flaw(f"{_words(left)} can never equal {_words(right)}: {_a(one)} and {_a(other)}")

    def never(self, field: Node, kind: OneOf, other: Node) -> None:
        value = other.value if isinstance(other, Constant) and isinstance(other.value, str) else ""
        self.flaw(f"{_words(field)} can never be {_words(other)}; {meant_or_choices(value, kind.values)}")


def _constant(value: object) -> Kind:
    if isinstance(value, bool):
        return BOOLEAN
    if isinstance(value, int):
        return Integer(value, value)
    if isinstance(value, float):
        return Number(value, value)
    if isinstance(value, str):
        return OneOf((value,))
    assert isinstance(value, tuple), "the language has no other constants"
    kinds = {_family(_constant(item)): _constant(item) for item in value}
    if len(kinds) != 1:
        return ListOf(Anything())
    [(family, kind)] = kinds.items()
    return ListOf(OneOf(value) if family == "text" else Number() if family == "number" else kind)


def _items(kind: Kind) -> Kind:
    return kind.item if isinstance(kind, ListOf) else UNREAD


def _is_simple_list(kind: Kind) -> bool:
    return isinstance(kind, ListOf) and not isinstance(kind.item, ListOf | MapOf | Group | Anything | Timestamp)


def _apart(one: Integer | Number, other: Integer | Number) -> bool:
    """Do the two ranges have no value in common?"""
    for low, high in ((one, other), (other, one)):
        if low.at_least is not None and high.at_most is not None and low.at_least > high.at_most:
            return True
        fixed = low.at_least if low.at_least == low.at_most else None
        if isinstance(high, Integer) and fixed is not None and fixed != int(fixed):
            return True
    return False


def _family(kind: Kind) -> str:
    match kind:
        case Text() | OneOf():
            return "text"
        case Integer() | Number():
            return "number"
        case Boolean():
            return "true or false"
        case Timestamp():
            return "datetime"
        case ListOf():
            return "list"
        case MapOf() | Group():
            return "object"
    return "value of any kind"


def _a(kind: Kind) -> str:
    """A kind in a few words; a constant is only what it is, not a range of one."""
    if isinstance(kind, Integer | Number):
        return "a number" if kind.at_least == kind.at_most is not None else expected(kind)
    family = _family(kind)
    return family if family in ("text", "true or false") else f"an {family}" if family == "object" else f"a {family}"


def _words(node: Node) -> str:
    """A part of a rule as the user would recognise it."""
    match node:
        case Reference(name):
            return name
        case Constant(bool(value)):
            return "true" if value else "false"
        case Constant(value):
            return "this list" if isinstance(value, tuple) else shown(value)
        case FunctionCall(function, _):
            return f"{function}(…)"
        case Binary("+" | "-", _, _):
            return "this sum"
    return "this comparison"

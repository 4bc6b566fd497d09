"""Hard rules of a dialect file, and the type check of their expressions.

[[types.release_ready.rules]]
code = "go-with-failures"
broken_when = "verdict == 'go' and len(failed) > 0"
path = "verdict"
say = "Say no-go, or take the failures out."

A rule runs on every message, so the loader rejects one that cannot work: unknown fields, comparisons that can never
hold, and sums or orders of values that have none.
"""

import re
from collections.abc import Callable, Collection

from telex.dialects.rule_language import (
    Binary,
    Constant,
    ExpressionError,
    FunctionCall,
    Node,
    Not,
    Reference,
    names,
    parse,
)
from telex.dialects.schema import (
    BOOLEAN,
    Anything,
    Boolean,
    Field,
    Group,
    HardRule,
    Integer,
    Kind,
    ListOf,
    MapOf,
    Number,
    OneOf,
    Text,
    Timestamp,
)
from telex.dialects.toml.document import RAW, Key, TomlValue, meant_or_choices, one_of, shown
from telex.dialects.toml.fields import UNREAD
from telex.dialects.write import expected
from telex.model.named_tuple import NamedTuple

RULES_MAX = 100  # in one list
_OTHER_SIGNS = {"=": "==", "&": "and", "|": "or", "!": "not"}  # operators of other languages, and ours
_CODE = re.compile(r"(?=.{1,64}\Z)[a-z][a-z0-9]*(-[a-z0-9]+)*\Z")
KEYS = {
    "code": Key(
        lambda value: value.word(_CODE, "lower-case words joined by hyphens"),
        "a short name for what is wrong, such as go-with-failures",
    ),
    "broken_when": Key(RAW.read, "an expression over the fields that holds when the rule is broken"),
    "path": Key(RAW.read, "the field to change"),
    "say": Key(TomlValue.line, "one sentence that tells the sender what to do"),
    "severity": Key(one_of("refusal", "warning"), default="refusal"),
    "expected": Key(TomlValue.line),
}


class RuleScope(NamedTuple):
    """The fields that a rule may name."""

    field: Callable[[str], Field | None]  # by the name that a rule gives it
    names: Callable[[], Collection[str]]  # every such name


def read_rules(place: TomlValue, scope: RuleScope) -> tuple[HardRule, ...]:
    rules: dict[str, HardRule] = {}
    for value in place.items(RULES_MAX):
        rule = _read_rule(value, scope)
        if rule is not None and rule.code in rules:
            value.at("code").flaw(f"{rule.code} is an earlier rule's code: choose another, or join the two by or")
        elif rule is not None:
            rules[rule.code] = rule
    return tuple(rules.values())


def _read_rule(value: TomlValue, scope: RuleScope) -> HardRule | None:
    if not value.is_table():
        return None
    given = value.read(KEYS)
    if given["broken_when"]:
        _check_expression(given["broken_when"], scope)
    path = given["path"].line() if given["path"] else None
    if path is not None and "[]" in path:
        given["path"].flaw("name the list itself, without []")
    elif path is not None and scope.field(path) is None:
        given["path"].unknown(path, scope.names(), f"there is no field {shown(path)}")
    if not all(given[key] for key in ("code", "broken_when", "path", "say")):
        return None
    return HardRule(**{**given, "broken_when": given["broken_when"].value, "path": given["path"].value})


def _check_expression(value: TomlValue, scope: RuleScope) -> None:
    text = value.value
    if not isinstance(text, str) or not text.strip():
        value.wrong("an expression such as \"verdict == 'go' and len(failed) > 0\"")
        return
    try:
        node = parse(text)
    except ExpressionError as error:
        rest = text[error.position :].lstrip()
        instead = next((f"; write {ours}" for theirs, ours in _OTHER_SIGNS.items() if rest.startswith(theirs)), "")
        near = f", near {shown(rest[:12])}" if rest else ""
        value.flaw(f"{error.say} (at character {len(text) - len(rest) + 1}{near}){instead}")
        return
    if not any(names(node)):
        value.flaw("the rule names no field, so its result is the same for every message")
    else:
        _TypeChecker(value, scope).condition(node)


# --- the type check --------------------------------------------------------------------------------------------------

_FAMILIES: dict[type, str] = {
    Text: "text",
    OneOf: "text",
    Integer: "a number",
    Number: "a number",
    Boolean: "true or false",
    Timestamp: "a datetime",
    ListOf: "a list",
    MapOf: "an object",
    Group: "an object",
    Anything: "a value of any kind",
}


class _TypeChecker:
    """Infers the kind of every part of an expression; reports one that has none, and continues with UNREAD."""

    def __init__(self, value: TomlValue, scope: RuleScope) -> None:
        self.place, self.scope = value, scope

    def flaw(self, say: str) -> Kind:
        self.place.flaw(say)
        return UNREAD

    def require(self, node: Node, kinds: tuple[type, ...], problem: str) -> Kind:
        """The kind of a node, which must be one of these."""
        kind = self.kind(node)
        is_valid = kind is UNREAD or isinstance(kind, kinds)
        return kind if is_valid else self.flaw(f"{_words(node)} is {_a(kind)}{problem}")

    def condition(self, node: Node) -> Kind:
        self.require(node, (Boolean,), ", not a condition: compare it, or ask has(…) or len(…) > 0")
        return BOOLEAN

    def kind(self, node: Node) -> Kind:
        match node:
            case Constant(value):
                return _constant(value)
            case Reference(name):
                return self.reference(name)
            case Not(operand):
                return self.condition(operand)
            case FunctionCall(function, arguments):
                return self.call(function, arguments)
            case Binary("and" | "or", left, right):
                self.condition(left)
                return self.condition(right)
            case Binary("+" | "-", left, right):
                for side in (left, right):
                    self.require(side, (Integer, Number), ": only numbers are added and taken away")
                return Number()
            case Binary("in", left, right):
                self.contains(left, right)
            case Binary("==" | "!=", left, right):
                self.same(left, self.kind(left), right, self.kind(right))
            case Binary(operation, left, right):
                self.order(left, self.kind(left), right, self.kind(right), operation)
        return BOOLEAN

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
        if function == "len":
            self.require(arguments[0], (Text, OneOf, ListOf, MapOf), " and has no length")
            return Integer(at_least=0)
        if function == "has":
            if not isinstance(arguments[0], Reference) or "[]" in arguments[0].name:
                return self.flaw(f"has(…) asks whether one field is there, and {_words(arguments[0])} is none")
            self.kind(arguments[0])
            return BOOLEAN
        if function == "lower":
            self.require(arguments[0], (Text, OneOf), ", and only text has lower case")
            return Text()
        if function == "count":
            self.contains(arguments[1], arguments[0])
            return Integer(at_least=0)
        kinds = [self.kind(argument) for argument in arguments]
        for node, kind in zip(arguments, kinds, strict=True):
            item = kind.item if isinstance(kind, ListOf) else kind
            is_simple = isinstance(kind, ListOf) and not isinstance(item, ListOf | MapOf | Group | Anything | Timestamp)
            if kind is not UNREAD and not isinstance(kind, MapOf) and not is_simple:
                self.flaw(f"overlap compares two lists of simple values, and {_words(node)} is {_a(kind)}")
        items = [kind.item for kind in kinds if isinstance(kind, ListOf)]
        if len(items) == 2:
            self.same(arguments[0], items[0], arguments[1], items[1])
        return BOOLEAN

    def contains(self, left: Node, right: Node) -> None:
        part = self.kind(left)
        whole = self.require(right, (ListOf, Text, OneOf, MapOf), ": in looks into a list, a map or text")
        if isinstance(right, Constant) and isinstance(right.value, tuple):
            for value in right.value:
                self.same(left, part, Constant(value), _constant(value))
        elif isinstance(whole, ListOf):
            self.same(left, part, right, whole.item)
        elif whole is not UNREAD:
            self.require(left, (Text, OneOf), f", and only text is looked for in {_words(right)}")

    def order(self, left: Node, one: Kind, right: Node, other: Kind, operation: str) -> None:
        if one is UNREAD or other is UNREAD:
            return
        if _family(one) != _family(other) or _family(one) not in ("a number", "a datetime"):
            kinds = f"{_words(left)} is {_a(one)} and {_words(right)} is {_a(other)}"
            self.flaw(f"{kinds}: {operation} compares two numbers or two datetimes")

    def same(self, left: Node, one: Kind, right: Node, other: Kind) -> None:
        """Report two values that can never be equal."""
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
            field, kind, constant = (left, one, right) if isinstance(right, Constant) else (right, other, left)
            value = constant.value if isinstance(constant, Constant) and isinstance(constant.value, str) else ""
            self.flaw(f"{_words(field)} can never be {_words(constant)}; {meant_or_choices(value, kind.values)}")


def _constant(value: object) -> Kind:
    match value:
        case bool():
            return BOOLEAN
        case int():
            return Integer(value, value)
        case float():
            return Number(value, value)
        case str():
            return OneOf((value,))
    assert isinstance(value, tuple), "the language has no other constants"
    kinds = {_family(kind): kind for kind in map(_constant, value)}
    if len(kinds) != 1:
        return ListOf(Anything())
    [(family, kind)] = kinds.items()
    return ListOf(OneOf(value) if family == "text" else Number() if family == "a number" else kind)


def _family(kind: Kind) -> str:
    return _FAMILIES[type(kind)]


def _a(kind: Kind) -> str:
    """A kind in a few words; a constant is not shown as a range of one."""
    is_range = isinstance(kind, Integer | Number) and (kind.at_least is None or kind.at_least != kind.at_most)
    return expected(kind) if is_range else _family(kind)


def _words(node: Node) -> str:
    """A part of an expression, for an error message."""
    match node:
        case Reference(name):
            return name
        case Constant(value):
            return "this list" if isinstance(value, tuple) else shown(value)
        case FunctionCall(function, _):
            return f"{function}(…)"
        case Binary("+" | "-", _, _):
            return "this sum"
    return "this comparison"

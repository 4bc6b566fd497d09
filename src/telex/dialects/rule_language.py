"""The small language of hard rules: comparison, and/or/not, `in`, sums, `len`, `has`, `lower`, `count`, `overlap`.

    checks.passed + checks.failed > checks.total
    status == 'PASSED' and ('FAILED' in gates[].status or failureCount > 0)

A rule is parsed into a tree of five node kinds and compiled to closures; nothing of it reaches Python's `eval`. An
absent field compares false with everything, has length 0 and contains nothing, so a rule applies only to fields that
are present.
"""

import operator
import re
from collections.abc import Callable, Iterator
from typing import Any

from telex.dialects.scalars import parse_timestamp
from telex.dialects.schema import Dialect, MessageType, Timestamp, Tree, get_path, kind_at
from telex.model.named_tuple import NamedTuple

Value = Any
Getter = Callable[[Any], Value]  # message → value of a field, None if absent
Resolve = Callable[[str], Getter]  # name in the rule → getter

LENGTH_MAX = 1_000  # characters
DEPTH_MAX = 40
PARTS_MAX = 150  # tokens; bounds the depth of evaluation


class ExpressionError(ValueError):
    """Syntax error at `position`."""

    def __init__(self, say: str, position: int) -> None:
        super().__init__(say)
        self.say, self.position = say, position


class Constant(NamedTuple):
    value: Value


class Reference(NamedTuple):
    name: str  # dotted; a step that ends in [] is every item of a list


class Not(NamedTuple):
    operand: "Node"


class Binary(NamedTuple):
    operation: str
    left: "Node"
    right: "Node"


class FunctionCall(NamedTuple):
    function: str
    arguments: tuple["Node", ...]


Node = Constant | Reference | Not | Binary | FunctionCall

_TOKEN = r"""(?x)\s*(?:(?P<number>-?\d+(?:\.\d+)?)
      | (?P<text>'[^']*'|"[^"]*")
      | (?P<name>[A-Za-z_][\w-]*(?:\[\])?(?:\.[A-Za-z_][\w-]*(?:\[\])?)*)
      | (?P<sign>==|!=|<=|>=|[<>+\-(),\[\]]))"""
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_SUMS: dict[str, Callable[[Any, Any], Any]] = {"+": operator.add, "-": operator.sub}
_ARITY = {"len": 1, "has": 1, "lower": 1, "count": 2, "overlap": 2}
_WORDS = {"and", "or", "not", "in", "true", "false"}


def parse(text: str) -> Node:
    """Parse a rule, or raise ExpressionError."""
    if len(text) > LENGTH_MAX:
        raise ExpressionError(f"a rule has at most {LENGTH_MAX} characters", LENGTH_MAX)
    parser = _Parser(text)
    if len(parser.tokens) > PARTS_MAX:
        say = f"the rule has more than {PARTS_MAX} words and signs: make it two rules"
        raise ExpressionError(say, parser.tokens[PARTS_MAX][2])
    node = parser.either()
    if parser.tokens:
        _, word, position = parser.tokens[0]
        raise ExpressionError(f"did not expect {word!r} here", position)
    return node


def names(node: Node) -> Iterator[str]:
    """Every field in the rule."""
    if isinstance(node, Reference):
        yield node.name
    elif isinstance(node, Not):
        yield from names(node.operand)
    elif isinstance(node, Binary):
        yield from names(node.left)
        yield from names(node.right)
    elif isinstance(node, FunctionCall):
        for argument in node.arguments:
            yield from names(argument)


def compared(node: Node) -> Iterator[str]:
    """Fields whose values are compared. Under `len` and `has` only their presence counts, unless a length is compared
    with another field."""
    if isinstance(node, FunctionCall) and node.function in ("len", "has"):
        return
    has_constant = isinstance(node, Binary) and isinstance(node.left, Constant) | isinstance(node.right, Constant)
    if isinstance(node, Binary) and node.operation in _COMPARISONS and not has_constant:
        yield from (name.partition("[]")[0] for name in names(node))
    elif isinstance(node, Binary):
        yield from compared(node.left)
        yield from compared(node.right)
    elif isinstance(node, Not):
        yield from compared(node.operand)
    else:
        yield from names(node)


class _Parser:
    """Recursive descent, loosest binding first: or, and, not, comparison, sum, value."""

    def __init__(self, text: str) -> None:
        self.text, self.tokens, self.depth = text, list(_tokens(text)), 0

    def take(self) -> tuple[str, str, int]:
        if not self.tokens:
            raise ExpressionError("the rule ends too soon", len(self.text))
        return self.tokens.pop(0)

    def accept(self, *words: str) -> str | None:
        """The next token if it is one of these words and not a quoted text."""
        if self.tokens and self.tokens[0][0] != "text" and self.tokens[0][1] in words:
            return self.take()[1]
        return None

    def expect(self, word: str) -> None:
        position = self.tokens[0][2] if self.tokens else len(self.text)
        if not self.accept(word):
            raise ExpressionError(f"expected '{word}' here", position)

    def either(self) -> Node:
        self.depth += 1
        if self.depth > DEPTH_MAX:
            raise ExpressionError("the rule is nested too deeply", self.tokens[0][2] if self.tokens else 0)
        node = self.both()
        while self.accept("or"):
            node = Binary("or", node, self.both())
        self.depth -= 1
        return node

    def both(self) -> Node:
        node = self.negation()
        while self.accept("and"):
            node = Binary("and", node, self.negation())
        return node

    def negation(self) -> Node:
        negations = 0
        while self.accept("not"):
            negations += 1
        node = self.comparison()
        return Not(node) if negations % 2 else node

    def comparison(self) -> Node:
        node = self.sum()
        if sign := self.accept(*_COMPARISONS):
            return Binary(sign, node, self.sum())
        if self.accept("in"):
            return Binary("in", node, self.sum())
        if self.accept("not"):
            self.expect("in")
            return Not(Binary("in", node, self.sum()))
        return node

    def sum(self) -> Node:
        node = self.value()
        while sign := self.accept(*_SUMS):
            node = Binary(sign, node, self.value())
        return node

    def value(self) -> Node:
        kind, word, position = self.take()
        if kind == "number":
            return Constant(float(word) if "." in word else int(word))
        if kind == "text":
            return Constant(word[1:-1])
        if word == "(":
            node = self.either()
            self.expect(")")
            return node
        if word == "[":
            return Constant(self.constants())
        if word in ("true", "false"):
            return Constant(word == "true")
        if kind == "name" and word not in _WORDS:
            return self.call(word, position) if self.accept("(") else Reference(word)
        raise ExpressionError(f"expected a field or a value, found {word!r}", position)

    def constants(self) -> tuple[Value, ...]:
        values: list[Value] = []
        while not self.accept("]"):
            position = self.tokens[0][2] if self.tokens else len(self.text)
            node = self.value()
            if not isinstance(node, Constant):
                raise ExpressionError("a list in a rule holds constants only", position)
            values.append(node.value)
            if not self.accept(","):
                self.expect("]")
                break
        return tuple(values)

    def call(self, function: str, position: int) -> Node:
        if function not in _ARITY:
            raise ExpressionError(f"no function {function!r}; there are {', '.join(_ARITY)}", position)
        arguments = [self.either()]
        while self.accept(","):
            arguments.append(self.either())
        self.expect(")")
        if len(arguments) != _ARITY[function]:
            raise ExpressionError(f"{function} takes {_ARITY[function]} value(s)", position)
        return FunctionCall(function, tuple(arguments))


def _tokens(text: str) -> Iterator[tuple[str, str, int]]:
    position, end, token = 0, len(text.rstrip()), re.compile(_TOKEN)
    while position < end:
        match = token.match(text, position)
        if match is None or match.lastgroup is None:
            raise ExpressionError(f"cannot read {text[position : position + 12]!r}", position)
        yield match.lastgroup, match[match.lastgroup], match.start(match.lastgroup)
        position = match.end()


def compile_rule(node: Node, resolve: Resolve) -> Callable[[Any], Any]:
    """The rule as a function of a message; `resolve` makes the getter of a field."""
    if isinstance(node, Constant):
        value = node.value
        return lambda message: value
    if isinstance(node, Reference):
        return resolve(node.name)
    if isinstance(node, Not):
        operand = compile_rule(node.operand, resolve)
        return lambda message: not operand(message)
    if isinstance(node, FunctionCall):
        return _call(node.function, [compile_rule(argument, resolve) for argument in node.arguments])
    return _binary(node, resolve)


def _binary(node: Binary, resolve: Resolve) -> Callable[[Any], Any]:
    left, right = compile_rule(node.left, resolve), compile_rule(node.right, resolve)
    if node.operation == "and":
        return lambda message: left(message) and right(message)
    if node.operation == "or":
        return lambda message: left(message) or right(message)
    if node.operation == "in":
        return lambda message: (value := left(message)) is not None and value in (right(message) or ())
    if isinstance(node.right, Constant) and node.operation == "==":
        wanted = node.right.value  # the most common rule
        return lambda message: None if (value := left(message)) is None else value == wanted
    operate = _COMPARISONS.get(node.operation) or _SUMS[node.operation]

    def present(message: Any) -> Any:
        value, other = left(message), right(message)
        return None if value is None or other is None else operate(value, other)

    return present


def _call(function: str, arguments: list[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    first = arguments[0]
    if function == "len":
        return lambda message: len(first(message) or ())
    if function == "has":
        return lambda message: first(message) is not None
    if function == "lower":
        return lambda message: None if (text := first(message)) is None else text.casefold()
    second = arguments[1]
    if function == "count":
        return lambda message: (first(message) or []).count(second(message))
    return lambda message: bool(set(first(message) or ()) & set(second(message) or ()))


def compile_for_tree(node: Node, dialect: Dialect, type_: MessageType) -> Callable[[Tree], Any]:
    """The rule as a function of a parsed message; timestamps are compared as times."""
    fields = dialect.fields_of(type_)

    def resolve(name: str) -> Getter:
        steps = dialect.locate(type_, name)
        getter, field = get_path(steps), kind_at(fields, steps)
        if field is None or not isinstance(field.kind, Timestamp):
            return getter
        return lambda tree: parse_timestamp(text).at if isinstance(text := getter(tree), str) else None

    return compile_rule(node, resolve)

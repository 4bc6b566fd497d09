"""Partial evaluation of hard rules, and their shortest text.

When some fields are known, such as the sender's own role, rules about other roles vanish and the rest gets shorter.
The result is written in the rule language again.
"""

from collections.abc import Mapping
from typing import Any

from telex.dialects.rule_language import (
    Binary,
    Constant,
    FunctionCall,
    Getter,
    Node,
    Not,
    Reference,
    compile_rule,
    names,
)

Known = Mapping[str, Any]  # the value of each known field, by its name in rules

_TIGHTNESS = {"or": 1, "and": 2, "not": 3, "+": 5, "-": 5}  # all other operators are comparisons
_COMPARISON = 4


def simplified(node: Node, known: Known) -> Node:
    """An equivalent rule with the known fields replaced by their values; a constant if they decide it."""
    match node:
        case Not(operand):
            return _settled(Not(simplified(operand, known)))
        case Binary("and" | "or" as operation, left, right):
            return _either_side(operation, simplified(left, known), simplified(right, known))
    return _settled(_put_in(node, known))


def _put_in(node: Node, known: Known) -> Node:
    """Replace names only. Operands of a comparison are values: folding them would turn an absent field into false."""
    match node:
        case Reference(name):
            return Constant(known[name]) if name in known else node
        case Not(operand):
            return Not(_put_in(operand, known))
        case FunctionCall(function, arguments):
            return FunctionCall(function, tuple(_put_in(argument, known) for argument in arguments))
        case Binary(operation, left, right):
            return Binary(operation, _put_in(left, known), _put_in(right, known))
    return node


def _settled(node: Node) -> Node:
    """A node without field names becomes the constant that it evaluates to."""
    return node if any(names(node)) else Constant(compile_rule(node, _no_field)(None))


def _no_field(name: str) -> Getter:
    raise AssertionError(f"{name} was to be known")


def _either_side(operation: str, left: Node, right: Node) -> Node:
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Constant):
            decides = bool(one.value) is (operation == "or")
            return Constant(bool(one.value)) if decides else other
    return Binary(operation, left, right)


def written(node: Node, tighter_than: int = 0) -> str:
    """The rule as text that parses to the same rule, with parentheses only where needed."""
    match node:
        case Constant(value):
            return _constant(value)
        case Reference(name):
            return name
        case FunctionCall(function, arguments):
            return f"{function}({', '.join(written(argument) for argument in arguments)})"
        case Not(Binary("in", left, right)):
            text, own = f"{written(left, _COMPARISON)} not in {written(right, _COMPARISON)}", _COMPARISON
        case Not(operand):
            text, own = f"not {written(operand, _TIGHTNESS['not'])}", _TIGHTNESS["not"]
        case Binary(operation, left, right):
            own = _TIGHTNESS.get(operation, _COMPARISON)
            chains = own != _COMPARISON  # a and b and c; but never a < b < c
            text = f"{written(left, own - chains)} {operation} {written(right, own)}"
    return text if own > tighter_than else f"({text})"


def _constant(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return f"[{', '.join(_constant(item) for item in value)}]"
    if isinstance(value, str):
        return f'"{value}"' if "'" in value else f"'{value}'"
    return str(value)

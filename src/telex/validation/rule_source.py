"""A rule as a line of Python over a decoded message, made from its parsed tree and nothing else.

Operators come from a table, fields become numbered attributes of the message `m` or its payload `p`, constants go in
by numbered name. A field that may be left out is asked about first, since an absent field compares false with
everything (see dialects/rule_language.py).
"""

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from msgspec import UNSET

from telex.dialects.rule_language import (
    Binary,
    Constant,
    FunctionCall,
    Getter,
    Node,
    Not,
    Reference,
    compared,
    compile_rule,
)
from telex.dialects.schema import Anything, Dialect, Field, Fields, Group, MapOf, MessageType
from telex.validation.compiled import StructLayout

Name = Callable[[Any], str]  # keeps a value under a numbered name and says which

_OPERATORS = {"==", "!=", "<", "<=", ">", ">=", "+", "-", "and", "or", "in"}


class _UnusualError(Exception):
    """The rule looks somewhere that takes more than an attribute to reach."""


def rule_source(node: Node, shape: StructLayout, dialect: Dialect, type_: MessageType, name: Name) -> str:
    """An expression that is true when the rule's is. What one line cannot say is said by a function."""
    try:
        return _truth(node, _Fields(shape, dialect, type_), name)
    except _UnusualError:
        rule = compile_rule(node, lambda field: _reach(shape, dialect.locate(type_, field)))
        return f"{name(rule)}(m)"


class _Fields:
    """Where a rule's fields are, and which of them may be absent."""

    def __init__(self, shape: StructLayout, dialect: Dialect, type_: MessageType) -> None:
        self.shape, self.dialect, self.type = shape, dialect, type_

    def find(self, name: str) -> tuple[str, bool]:
        """The place of a field, and whether it may be absent."""
        shape, fields, place = self.shape, self.dialect.fields_of(self.type), "m"
        steps = self.dialect.locate(self.type, name)
        for index, step in enumerate(steps):
            field = self._field(fields, step)
            attribute = shape.attributes[step.removesuffix("[]")]
            place = "p" if place == "m" and step == self.dialect.payload else f"{place}.{attribute}"
            last = index + 1 == len(steps)
            if step.endswith("[]"):
                return self._listed(shape, steps[index:], place, field)
            if last:
                return place, not field.required
            if not field.required or not isinstance(field.kind, Group):
                raise _UnusualError
            shape, fields = shape.inner[step], field.kind.fields
        raise _UnusualError

    @staticmethod
    def _field(fields: Fields, step: str) -> Field:
        field = fields.get(step.removesuffix("[]"))
        if field is None or isinstance(field.kind, (Anything, MapOf)):
            raise _UnusualError
        return field

    @staticmethod
    def _listed(shape: StructLayout, steps: tuple[str, ...], place: str, field: Field) -> tuple[str, bool]:
        inner = shape.inner.get(steps[0].removesuffix("[]"))
        if len(steps) != 2 or inner is None or steps[1] not in inner.attributes or not field.required:
            raise _UnusualError
        return f"[one.{inner.attributes[steps[1]]} for one in {place}]", False


def _truth(node: Node, fields: _Fields, name: Name) -> str:
    match node:
        case Not(operand):
            return f"(not {_truth(operand, fields, name)})"
        case Binary("and" | "or" as word, left, right):
            return f"({_truth(left, fields, name)} {word} {_truth(right, fields, name)})"
        case Binary(operation, left, right) if operation in _OPERATORS - {"in"}:
            here = f"{_value(left, fields, name)} {operation} {_value(right, fields, name)}"
            return _if_present(here, node, fields)
        case Binary("in", left, right):
            here = f"{_value(left, fields, name)} in {_value(right, fields, name)}"
            return _if_present(here, node, fields)
        case Reference():
            return _if_present(_value(node, fields, name), node, fields)
        case FunctionCall("overlap", (left, right)):
            here = f"not {{*{_value(left, fields, name)}}}.isdisjoint({_value(right, fields, name)})"
            return _if_present(here, node, fields)
    return _value(node, fields, name)


def _if_present(here: str, node: Node, fields: _Fields) -> str:
    """Only when all that is compared is there; `len` and `has` have an answer for what is not."""
    asked = [fields.find(reference) for reference in compared(node)]
    present = [f"{place} is not UNSET" for place, absent in dict.fromkeys(asked) if absent]
    return f"({' and '.join([*present, here])})"


def _value(node: Node, fields: _Fields, name: Name) -> str:
    match node:
        case Constant(value):
            return name(value)
        case Reference(field):
            return fields.find(field)[0]
        case Binary("+" | "-" as sign, left, right):
            return f"({_value(left, fields, name)} {sign} {_value(right, fields, name)})"
        case FunctionCall("len", (Reference(field),)):
            place, absent = fields.find(field)
            return f"(0 if {place} is UNSET else len({place}))" if absent else f"len({place})"
        case FunctionCall("has", (Reference(field),)):
            return f"({fields.find(field)[0]} is not UNSET)"
        case FunctionCall("lower", (Reference(field),)):
            return f"{fields.find(field)[0]}.casefold()"
    raise _UnusualError


def _reach(shape: StructLayout, steps: tuple[str, ...]) -> Getter:
    """A field of a decoded message, by its path in the dialect; None when it was left out."""
    attributes: list[str] = []
    for index, step in enumerate(steps):
        name, rest = step.removesuffix("[]"), steps[index + 1 :]
        attributes.append(shape.attributes[name])
        here = _or_none(attrgetter(".".join(attributes)))
        if step.endswith("[]"):
            each = _reach(shape.inner[name], rest) if rest else _itself
            return lambda message: [each(item) for item in here(message) or ()]
        if name not in shape.inner:
            return _inside(here, rest) if rest else here
        shape = shape.inner[name]
    return _or_none(attrgetter(".".join(attributes)))


def _itself(value: Any) -> Any:
    return value


def _inside(whole: Getter, keys: tuple[str, ...]) -> Getter:
    """Into an object whose keys the sender chose."""

    def get(message: Any) -> Any:
        value = whole(message)
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    return get


def _or_none(getter: Getter) -> Getter:
    def get(message: Any) -> Any:
        try:
            value = getter(message)
        except AttributeError:  # something on the way was left out
            return None
        return None if value is UNSET else value

    return get

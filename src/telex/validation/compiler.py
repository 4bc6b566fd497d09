"""Compiler of validators: one decode into a msgspec Struct and one generated guard, about two microseconds a message.

A validator has three parts, all made from the dialect's data: Structs, rules as Python source, and one guard function
per dialect. The guard also counts quotation marks, which finds duplicate keys: msgspec silently uses the last of two
equal keys, but each key and string has two marks, so a duplicate leaves more marks than the message needs.

Generated source has numbered attributes, numbered constants and integers, and no name or text of a dialect file.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Annotated, Any, Literal, Union

import msgspec
from msgspec import UNSET, DecodeError, Meta, Struct, UnsetType

from telex.dialects import schema
from telex.dialects.rule_language import (
    Binary,
    Constant,
    FunctionCall,
    Node,
    Not,
    Reference,
    parse,
)
from telex.dialects.schema import TYPE, Dialect, Field, Fields, Kind, MessageType
from telex.dialects.write import OPENING
from telex.model.limits import Limits
from telex.model.named_tuple import NamedTuple

_ZONED = Annotated[datetime, Meta(tz=True)]


class StructLayout(NamedTuple):
    """Struct of an object. Attributes are numbered, since a user's field may be named `from` or `class`."""

    struct: type[Struct]
    attributes: dict[str, str]
    inner: "dict[str, StructLayout]"  # fields that are objects, or lists or maps of objects


class CompiledDialect(NamedTuple):
    dialect: Dialect
    shapes: dict[str, StructLayout]  # by type name
    types: dict[type[Struct], MessageType]
    decoder: "msgspec.json.Decoder[Any]"


Claims = Callable[[MessageType], dict[str, tuple[str, ...]]]  # allowed values of the sender and recipient fields


def compile_dialect(dialect: Dialect, limits: Limits, claims: Claims) -> CompiledDialect:
    """One tagged union of all types of a JSON dialect. Senders and recipients that are not allowed do not decode."""
    assert dialect.form == "json", f"{dialect.name} is not JSON"
    shapes = {
        type_.name: _shape(_own_fields(dialect, type_, claims(type_)), limits, tag=type_.name)
        for type_ in dialect.types.values()
    }
    # A union of one type would accept a message without a type.
    nothing = msgspec.defstruct("Nothing", [], tag="", tag_field=TYPE)
    structs = (nothing, *(shape.struct for shape in shapes.values()))
    types = {shape.struct: dialect.types[name] for name, shape in shapes.items()}
    return CompiledDialect(dialect, shapes, types, msgspec.json.Decoder(Union[structs]))  # noqa: UP007


def _own_fields(dialect: Dialect, type_: MessageType, allowed: dict[str, tuple[str, ...]]) -> Fields:
    whole = {
        name: field._replace(kind=schema.OneOf(allowed[name]))
        if allowed.get(name) and isinstance(field.kind, (schema.Text, schema.OneOf, schema.Timestamp, schema.Anything))
        else field
        for name, field in dialect.fields_of(type_).items()
        if name != TYPE
    }
    # msgspec expects keys in order, so optional fields come last.
    return dict(sorted(whole.items(), key=lambda item: not item[1].required))


def _shape(fields: Fields, limits: Limits, tag: str | None = None) -> StructLayout:
    attributes = {name: f"f{index}" for index, name in enumerate(fields)}
    inner = {name: shape for name, field in fields.items() if (shape := _inner(field.kind, limits)) is not None}
    members: list[Any] = []
    for name, field in fields.items():
        annotation = _annotation(field.kind, limits, inner.get(name))
        if field.required:
            members.append((attributes[name], annotation))
        else:
            members.append((attributes[name], Union[annotation, UnsetType], UNSET))  # noqa: UP007
    struct = msgspec.defstruct(
        "Message" if tag else "Part",
        members,
        kw_only=True,
        gc=False,
        rename={attribute: name for name, attribute in attributes.items()},
        **({"tag": tag, "tag_field": TYPE} if tag else {}),  # type: ignore[arg-type]
    )
    return StructLayout(struct, attributes, inner)


def _inner(kind: Kind, limits: Limits) -> StructLayout | None:
    match kind:
        case schema.Group(fields):
            return _shape(fields, limits)
        case schema.ListOf(item):
            return _inner(item, limits)
        case schema.MapOf(value):
            return _inner(value, limits)
    return None


def _annotation(kind: Kind, limits: Limits, inner: StructLayout | None) -> Any:
    match kind:
        case schema.Text(may_be_empty, characters_max, printable):
            least = None if may_be_empty else 1
            bounded = not may_be_empty or characters_max is not None or printable
            return Annotated[str, Meta(min_length=least, max_length=characters_max)] if bounded else str
        case schema.OneOf(values):
            return Literal[values]
        case schema.Integer(low, high):
            return _bounded_integer(low, high, limits)
        case schema.Number(low, high):
            return _bounded_integer(low, high, limits) | Annotated[float, Meta(ge=low, le=high)]
        case schema.Boolean():
            return bool
        case schema.Timestamp():
            return _ZONED
        case schema.Anything():
            return Any
        case schema.ListOf(item):
            return list[_annotation(item, limits, inner)]  # type: ignore[misc]
        case schema.MapOf(value):
            return dict[str, _annotation(value, limits, inner)]  # type: ignore[misc]
        case schema.Group():
            assert inner is not None
            return inner.struct


def _bounded_integer(low: float | None, high: float | None, limits: Limits) -> Any:
    least = limits.integer_min if low is None else int(low)
    most = limits.integer_max if high is None else int(high)
    return Annotated[int, Meta(ge=least, le=most)]


Name = Callable[[Any], str]  # stores a value under a numbered name

_OPERATORS = {"==", "!=", "<", "<=", ">", ">=", "+", "-", "and", "or", "in"}


class _UnusualError(Exception):
    """The rule has a path that is not a plain attribute."""


def rule_source(node: Node, shape: StructLayout, dialect: Dialect, type_: MessageType, name: Name) -> str:
    """The rule as a Python expression. Messages with an unusual rule are left to `check`.

    A field that may be absent is tested first, since an absent field compares false with everything.
    """
    try:
        return _truth(node, _Fields(shape, dialect, type_), name)
    except _UnusualError:
        return "True"


class _Fields:
    """Places of a rule's fields in a decoded message."""

    def __init__(self, shape: StructLayout, dialect: Dialect, type_: MessageType) -> None:
        self.shape, self.dialect, self.type = shape, dialect, type_

    def find(self, name: str, *, is_present: bool = False) -> tuple[str, bool]:
        """The place of a field, and whether it may be absent. `is_present`: its presence is tested before."""
        shape, fields, place = self.shape, self.dialect.fields_of(self.type), "m"
        steps = self.dialect.locate(self.type, name)
        for index, step in enumerate(steps):
            field = fields.get(step.removesuffix("[]"))
            if field is None or isinstance(field.kind, (schema.Anything, schema.MapOf)):
                raise _UnusualError
            attribute = shape.attributes[step.removesuffix("[]")]
            place = "p" if place == "m" and step == self.dialect.payload else f"{place}.{attribute}"
            last = index + 1 == len(steps)
            if step.endswith("[]"):
                if not (field.required or is_present):
                    raise _UnusualError
                inner, rest = shape.inner.get(step.removesuffix("[]")), steps[index + 1 :]
                if len(rest) != 1 or inner is None or rest[0] not in inner.attributes:
                    raise _UnusualError
                return f"[item.{inner.attributes[rest[0]]} for item in {place}]", False
            if last:
                return place, not field.required
            if not field.required or not isinstance(field.kind, schema.Group):
                raise _UnusualError
            shape, fields = shape.inner[step], field.kind.fields
        raise _UnusualError


def _truth(node: Node, fields: _Fields, name: Name) -> str:
    match node:
        case Not(operand):
            return f"(not {_truth(operand, fields, name)})"
        case Binary("and" | "or" as word, left, right):
            return f"({_truth(left, fields, name)} {word} {_truth(right, fields, name)})"
        case Binary(operation, left, right) if operation in _OPERATORS:
            here = f"{_value(left, fields, name)} {operation} {_value(right, fields, name)}"
            return _if_present(here, node, fields)
        case Reference():
            return _if_present(_value(node, fields, name), node, fields)
        case FunctionCall("overlap", (left, right)):
            here = f"not {{*{_value(left, fields, name)}}}.isdisjoint({_value(right, fields, name)})"
            return _if_present(here, node, fields)
    return _value(node, fields, name)


def _if_present(here: str, node: Node, fields: _Fields) -> str:
    """The condition, false if a field is absent; the length and count of an absent list are 0."""
    places = dict.fromkeys(fields.find(name) for name in _needed(node))
    return f"({' and '.join([*(f'{place} is not UNSET' for place, absent in places if absent), here])})"


def _needed(node: Node) -> Iterator[str]:
    """Fields without which the expression has no value."""
    match node:
        case Reference(name):
            yield name
        case Binary(_, left, right):
            yield from _needed(left)
            yield from _needed(right)
        case FunctionCall("lower" | "overlap", arguments):
            for argument in arguments:
                yield from _needed(argument)


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
        case FunctionCall("count", (Reference(field), Constant(value))):
            place, absent = fields.find(field.partition("[]")[0])
            counted = f"{fields.find(field, is_present=True)[0]}.count({name(value)})"
            return f"(0 if {place} is UNSET else {counted})" if absent else counted
        case FunctionCall("lower", (Reference(field),)):
            return f"{fields.find(field)[0]}.casefold()"
    raise _UnusualError


NEVER_EQUAL = -1_000_000_000  # makes the count of marks negative
Validate = Callable[[bytes], Any]  # (value for the type, decoded message); None: not accepted


def compile_validator(
    compiled: CompiledDialect,
    open_types: Iterable[MessageType],
    passed: Callable[[MessageType], Any],
    other: Validate,
    limits: Limits,
) -> Validate:
    """Compile a function that returns `passed(type)` and the decoded message, or None if a full check is needed.

    It hands the message to `other` if it does not decode, has more than its type has, or is of a type that is not open:
    another dialect may have a type of that name.
    """
    names: dict[str, Any] = {"UNSET": UNSET, "open_marks": marks_within(limits), "escaped": escaped_marks}
    names |= {"ESCAPE": b"\\u00", "BLANK": OPENING.encode()}
    names |= {"decode": compiled.decoder.decode, "other": other, "Unreadable": UNREADABLE}
    lines = ["try:", "    m = decode(raw)", "except Unreadable:", "    return other(raw)", "t = type(m)"]
    for index, type_ in enumerate(open_types):
        source = _Source(names)
        source.message(compiled.shapes[type_.name], compiled.dialect, type_)
        struct, known = source.name(compiled.shapes[type_.name].struct), passed(type_)
        body = [*source.refusals, f"n = {source.fixed}", *source.lines, f"passed = {source.name(known)}"]
        lines += [f"{'elif' if index else 'if'} t is {struct}:", *(f"    {line}" for line in body)]
    lines += ["else:", "    return other(raw)"] if len(lines) > 5 else ["return other(raw)"]
    lines += [
        "if raw.count(34) != n and raw.count(34) - n != escaped(raw): return other(raw)",
        # Backslash, <, carriage return, DEL: they may hide a NUL, a blank or an invisible name.
        "if 92 in raw and (ESCAPE in raw or not i.isprintable()): return None",
        "if 60 in raw and BLANK in raw or 13 in raw or 127 in raw: return None",
        "return (passed, m) if i.isascii() or i.isprintable() else None",
    ]
    text = "".join(f"    {line}\n" for line in lines)
    function = f"def made(raw, UNSET=UNSET, decode=decode, len=len, type=type):\n{text}"  # local names are fastest
    exec(compile(function, "<validator>", "exec"), names)
    validate: Validate = names["made"]
    return validate


UNREADABLE = (DecodeError, UnicodeDecodeError, RecursionError)


class _Source:
    """Source lines of one type."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.lines: list[str] = []
        self.refusals: list[str] = []
        self.fixed = self.parts = 0
        self.payload = ""
        self.names = names

    def message(self, shape: StructLayout, dialect: Dialect, type_: MessageType) -> None:
        printable = [
            f"m.{shape.attributes[name]}"
            for name, field in dialect.envelope.items()
            if isinstance(field.kind, schema.Text) and field.kind.printable and field.required
        ]
        self.lines.append(f"i = {printable[0] if printable else repr('')}")
        for place in printable[1:]:
            self.refuse_if(f"not {place}.isprintable()")
        if dialect.payload is not None:
            self.payload = f"m.{shape.attributes[dialect.payload]}"
            self.refusals.append(f"p = {self.payload}")
        expressions = [rule.broken_when for rule in (*dialect.rules, *type_.rules)]
        for expression in (*expressions, *(filling.when for filling in type_.fillings)):
            self.refuse_if(rule_source(parse(expression), shape, dialect, type_, self.name))
        self.fixed = 4  # the type itself
        for name, field in dialect.fields_of(type_).items():
            if name in shape.attributes:
                self.count(field, f"m.{shape.attributes[name]}", shape.inner.get(name))

    def name(self, value: Any) -> str:
        """The numbered name of a value in the source."""
        name = f"k{len(self.names)}"
        self.names[name] = value
        return name

    def refuse_if(self, condition: str) -> None:
        self.refusals.append(f"if {condition}: return None")

    def count(self, field: Field, place: str, inner: StructLayout | None) -> None:
        if field.required:
            self.fixed += 2
            self.value(field.kind, place, inner)
            return
        before, self.fixed = self.fixed, 2
        outer, self.lines = self.lines, []
        self.value(field.kind, "v", inner)
        marks, inside = str(self.fixed), self.lines
        self.fixed, self.lines = before, outer
        if not inside:
            self.lines.append(f"if {place} is not UNSET: n += {marks}")
            return
        if len(inside) == 1 and inside[0].startswith("n += "):
            marks, inside = f"{marks} + {inside[0].removeprefix('n += ')}", []
        self.lines += [f"v = {place}", "if v is not UNSET:", f"    n += {marks}"]
        self.lines += [f"    {line}" for line in inside]

    def value(self, kind: Kind, place: str, inner: StructLayout | None) -> None:
        each = _marks(kind)
        if isinstance(kind, schema.Anything):
            self.lines.append(f"if {place} is None: return None")
        if each is not None:
            self.fixed += each
        elif isinstance(kind, schema.Group):
            assert inner is not None
            near = place
            if "." in place and place != self.payload:
                near = f"p{self.parts}"
                self.parts += 1
                self.lines.append(f"{near} = {place}")
            near = "p" if place == self.payload else near
            for name, field in kind.fields.items():
                self.count(field, f"{near}.{inner.attributes[name]}", inner.inner.get(name))
        elif isinstance(kind, schema.ListOf) and (each := _marks(kind.item)) is not None:
            self.lines += [f"n += {each} * len({place})"] if each else []
        elif isinstance(kind, schema.MapOf) and (each := _marks(kind.value)) is not None:
            self.lines.append(f"n += {each + 2} * len({place})")
        elif isinstance(kind, (schema.ListOf, schema.MapOf)) and inner is not None:
            self.many(kind, place, inner)
        else:
            self.lines.append(f"n += open_marks({place})")

    def many(self, kind: schema.ListOf | schema.MapOf, place: str, inner: StructLayout) -> None:
        item = kind.item if isinstance(kind, schema.ListOf) else kind.value
        if not isinstance(item, schema.Group):  # lists of lists of objects are left to `check`
            self.lines.append(f"n += {NEVER_EQUAL}")
            return
        each = _Source(self.names)
        one = f"one{place.count('one')}"
        each.value(item, one, inner)
        if isinstance(kind, schema.MapOf):
            each.fixed, place = each.fixed + 2, f"{place}.values()"
        self.lines += [f"for {one} in {place}:", f"    n += {each.fixed}", *(f"    {line}" for line in each.lines)]


def escaped_marks(raw: bytes) -> int:
    """Number of quotation marks inside texts; -1 if an escaped backslash makes it uncertain."""
    return -1 if b"\\\\" in raw else raw.count(b'\\"')


def _marks(kind: Kind) -> int | None:
    """Marks of a value of this kind; None: it depends on the value."""
    if isinstance(kind, (schema.Text, schema.OneOf, schema.Timestamp)):
        return 2
    if isinstance(kind, schema.Group):
        each = [_marks(field.kind) if field.required else None for field in kind.fields.values()]
        return None if None in each else sum(2 + marks for marks in each if marks is not None)
    return None if isinstance(kind, (schema.ListOf, schema.MapOf, schema.Anything)) else 0


DEPTH_OF_TYPES_MAX = 16  # of a dialect's own fields; open values begin there


def marks_within(limits: Limits) -> Callable[[Any], int]:
    """Counter of the marks in an open value; negative if the value needs the complete check."""

    def marks(value: Any, depth: int = DEPTH_OF_TYPES_MAX) -> int:
        if isinstance(value, str):
            return 2
        if depth > limits.depth_max:
            return NEVER_EQUAL
        if isinstance(value, dict):
            return sum(2 + marks(inner, depth + 1) for inner in value.values())
        if isinstance(value, list):
            return sum(marks(inner, depth + 1) for inner in value)
        if isinstance(value, int) and not limits.integer_min <= value <= limits.integer_max:
            return NEVER_EQUAL
        return 0

    return marks

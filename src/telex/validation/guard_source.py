"""Generator of a dialect's compiled validator: one function for all its types.

It decodes the message, checks the rules of its type and counts the quotation marks. The count finds duplicate keys:
msgspec silently keeps the last of two equal keys, but every key and every string has two marks, so a text with a
duplicate key has more marks than its message needs. Counting is far cheaper than parsing again.

The function is generated as source, as namedtuple does: from our own parsed trees, with numbered attributes, numbered
constants and integers. It contains no name and no text of a dialect file. One function for a whole dialect saves a call
per message, a twentieth of its cost.
"""

from collections.abc import Callable, Iterable
from typing import Any

from msgspec import UNSET, DecodeError

from telex.dialects.blanks import OPENING
from telex.dialects.rule_language import parse
from telex.dialects.schema import (
    Anything,
    Dialect,
    Field,
    Group,
    Kind,
    ListOf,
    MapOf,
    MessageType,
    OneOf,
    Text,
    Timestamp,
)
from telex.model.limits import Limits
from telex.validation.compiled import CompiledDialect, StructLayout
from telex.validation.rule_source import rule_source

NOT_SO = -1_000_000_000  # added once, no count of marks comes back above zero
Lane = Callable[[bytes], Any]


def lane_of(
    compiled: CompiledDialect,
    open_types: Iterable[MessageType],
    passed: Callable[[MessageType], Any],
    other: Lane,
    limits: Limits,
) -> Lane:
    """A function that returns `passed(type)` and the decoded message, or None if the message needs a full check.

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
        # Backslash, <, carriage return, DEL: what could hide a NUL, a blank or an invisible name in a text.
        "if 92 in raw and (ESCAPE in raw or not i.isprintable()): return None",
        "if 60 in raw and BLANK in raw or 13 in raw or 127 in raw: return None",
        "return (passed, m) if i.isascii() or i.isprintable() else None",
    ]
    return _made("raw, UNSET=UNSET, decode=decode, len=len, type=type", lines, names)  # a local name is found fastest


UNREADABLE = (DecodeError, UnicodeDecodeError, RecursionError)


def _made(arguments: str, lines: list[str], names: dict[str, Any]) -> Callable[..., Any]:
    body = "".join(f"    {line}\n" for line in lines)
    exec(f"def made({arguments}):\n{body}", names)
    function: Callable[..., Any] = names["made"]
    return function


class _Source:
    """What one type adds to the source, line by line."""

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
            if isinstance(field.kind, Text) and field.kind.printable and field.required
        ]
        self.lines.append(f"i = {printable[0] if printable else repr('')}")
        for place in printable[1:]:
            self.refuse_if(f"not {place}.isprintable()")
        if dialect.payload is not None:
            self.payload = f"m.{shape.attributes[dialect.payload]}"
            self.refusals.append(f"p = {self.payload}")  # looked at so often that it gets a name of its own
        expressions = [rule.broken_when for rule in (*dialect.rules, *type_.rules)]
        for expression in (*expressions, *(filling.when for filling in type_.fillings)):
            self.refuse_if(rule_source(parse(expression), shape, dialect, type_, self.name))
        self.fixed = 4  # the type itself
        for name, field in dialect.fields_of(type_).items():
            if name in shape.attributes:
                self.count(field, f"m.{shape.attributes[name]}", shape.inner.get(name))

    def name(self, value: Any) -> str:
        """A numbered name under which the source finds this value."""
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
        if isinstance(kind, Anything):
            self.lines.append(f"if {place} is None: return None")
        if each is not None:
            self.fixed += each
        elif isinstance(kind, Group):
            assert inner is not None
            near = place
            if "." in place and place != self.payload:
                near = f"p{self.parts}"
                self.parts += 1
                self.lines.append(f"{near} = {place}")
            near = "p" if place == self.payload else near
            for name, field in kind.fields.items():
                self.count(field, f"{near}.{inner.attributes[name]}", inner.inner.get(name))
        elif isinstance(kind, ListOf) and (each := _marks(kind.item)) is not None:
            self.lines += [f"n += {each} * len({place})"] if each else []
        elif isinstance(kind, MapOf) and (each := _marks(kind.value)) is not None:
            self.lines.append(f"n += {each + 2} * len({place})")
        elif isinstance(kind, (ListOf, MapOf)) and inner is not None:
            self.many(kind, place, inner)
        else:
            self.lines.append(f"n += open_marks({place})")

    def many(self, kind: ListOf | MapOf, place: str, inner: StructLayout) -> None:
        item = kind.item if isinstance(kind, ListOf) else kind.value
        if not isinstance(item, Group):  # lists of lists of objects are rare enough to be read the patient way
            self.lines.append(f"n += {NOT_SO}")
            return
        each = _Source(self.names)
        one = f"one{place.count('one')}"
        each.value(item, one, inner)
        if isinstance(kind, MapOf):
            each.fixed, place = each.fixed + 2, f"{place}.values()"
        self.lines += [f"for {one} in {place}:", f"    n += {each.fixed}", *(f"    {line}" for line in each.lines)]


def escaped_marks(raw: bytes) -> int:
    """How many quotation marks are part of a text. An escaped backslash could make a closing mark look like one."""
    return -1 if b"\\\\" in raw else raw.count(b'\\"')


def _marks(kind: Kind) -> int | None:
    """The marks of a value of this kind; None where that depends on the value."""
    if isinstance(kind, (Text, OneOf, Timestamp)):
        return 2
    if isinstance(kind, Group):
        each = [_marks(field.kind) if field.required else None for field in kind.fields.values()]
        return None if None in each else sum(2 + marks for marks in each if marks is not None)
    return None if isinstance(kind, (ListOf, MapOf, Anything)) else 0


DEPTH_OF_TYPES_MAX = 16  # no dialect nests its own fields deeper, so an open value begins at most this far down


def marks_within(limits: Limits) -> Callable[[Any], int]:
    """Counts the marks of a value that its dialect leaves open; below zero when it takes a closer look."""

    def marks(value: Any, depth: int = DEPTH_OF_TYPES_MAX) -> int:
        if isinstance(value, str):
            return 2
        if depth > limits.depth_max:
            return NOT_SO
        if isinstance(value, dict):
            return sum(2 + marks(inner, depth + 1) for inner in value.values())
        if isinstance(value, list):
            return sum(marks(inner, depth + 1) for inner in value)
        if isinstance(value, int) and not limits.integer_min <= value <= limits.integer_max:
            return NOT_SO
        return 0

    return marks

"""Resolved annotations of a value's fields and a verb's arguments."""

import base64
import json
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from math import isfinite
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from telex.model.limits import LIMITS
from telex.model.message import Lease, Message


@cache
def _late_names() -> dict[str, Any]:
    """Values that modules on the fast path only name when they are type-checked."""
    from telex.model.contracts import PathVerdict
    from telex.model.escalation import Escalation
    from telex.model.shutdown import ShutdownReport
    from telex.model.stall import Stall

    return {one.__name__: one for one in (PathVerdict, Escalation, ShutdownReport, Stall)}


@cache
def type_hints(of: Any) -> dict[str, Any]:
    return get_type_hints(of, localns=_late_names())


def is_value(kind: Any) -> bool:
    """Is it a named tuple?"""
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


def optional(kind: Any) -> Any | None:
    """X of `X | None`; None for anything else."""
    if get_origin(kind) not in (Union, types.UnionType):
        return None
    others = [one for one in get_args(kind) if one is not type(None)]
    if len(others) == len(get_args(kind)):
        return None
    found: Any = others[0]
    for one in others[1:]:
        found = found | one
    return found


BASE64 = "base64"
FOUND_CHARACTERS_MAX = LIMITS.found_characters_max
HEX_FIELDS: dict[type, tuple[str, ...]] = {Message: ("digest",)}  # bytes that are a number to people
DERIVED: dict[type, tuple[str, ...]] = {Lease: ("token",)}  # told as well, and made anew when read


class CodecError(Exception):
    """What came does not fit. Where, what would have, and what was there."""

    def __init__(self, path: str, expected: str, found: Any) -> None:
        self.path, self.expected, self.found = path, expected, shown(found)
        super().__init__(f"{path}: expected {expected}, found {self.found}")


def shown(found: Any) -> str | None:
    """What was there, in few words: a tree may be as large and as deep as a message."""
    if found is None:
        return None
    if isinstance(found, dict | list):
        return "an object" if isinstance(found, dict) else f"an array of {len(found)}"
    return str(found)[:FOUND_CHARACTERS_MAX]


def plain(value: Any) -> Any:
    """The value as a JSON tree."""
    kind = type(value)
    if kind in _AS_THEY_ARE:
        return value
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        both = zip(value._fields, value, strict=True)
        tree = {name: one if type(one) in _AS_THEY_ARE else plain(one) for name, one in both}
        for name in HEX_FIELDS.get(kind, ()):
            tree[name] = getattr(value, name).hex()
        for name in DERIVED.get(kind, ()):
            tree[name] = getattr(value, name)
        return tree
    if isinstance(value, bytes):
        return _text_of(value)
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, Collection) and not isinstance(value, str):
        return [plain(one) for one in value]
    if isinstance(value, str):
        return str(value)  # a kind of text of our own, as front matter reads it, which no writer of JSON knows
    assert isinstance(value, int | float), f"{kind} is no value that a verb may answer"
    return value


_AS_THEY_ARE = frozenset({str, int, float, bool, type(None)})


def _text_of(value: bytes) -> Any:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {BASE64: base64.b64encode(value).decode()}


# --- and back ---------------------------------------------------------------------------------------------------------

Maker = Callable[[Any, str], Any]


def made(kind: Any, tree: Any, path: str = "$") -> Any:
    """A value of that type, from its JSON tree.

    Raises:
        Misfit: it is none.
    """
    return maker(kind)(tree, path)


@cache
def maker(kind: Any) -> Maker:
    """Whoever makes many values of one type keeps this."""
    if kind is Any:
        return lambda tree, path: tree
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if is_value(kind):
        return _value_maker(kind)
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _union_maker(kind, inner)
    if origin is Literal:
        return _choice_maker(inner)
    if origin in (tuple, list, Sequence, frozenset) or kind in (tuple, list):
        return _list_maker(origin or kind, inner)
    if origin in (dict, Mapping) or kind is dict:
        key, one = (maker(part) for part in inner or (str, Any))
        return lambda tree, path: {
            key(name, path): one(item, f"{path}.{name}") for name, item in _object(tree, path).items()
        }
    raise AssertionError(f"{kind} is no type that a verb may ask for or answer")


def _value_maker(kind: Any) -> Maker:
    fields: dict[str, Maker] = {}
    defaults: dict[str, Any] = kind._field_defaults
    made_before: list[dict[str, Maker]] = []

    def make(tree: Any, path: str) -> Any:
        if not made_before:  # at first use: a class may speak of itself
            fields.update({name: _field_maker(kind, name, hint) for name, hint in type_hints(kind).items()})
            made_before.append(fields)
        given = _object(tree, path)
        values = {}
        for name, make_field in fields.items():
            if name in given:
                values[name] = make_field(given[name], f"{path}.{name}")
            elif name not in defaults:
                raise CodecError(f"{path}.{name}", "a value", None)
        return kind(**values)

    return make


def _field_maker(kind: Any, name: str, hint: Any) -> Maker:
    return _from_hex if name in HEX_FIELDS.get(kind, ()) else maker(hint)


def _union_maker(kind: Any, inner: tuple[Any, ...]) -> Maker:
    some = optional(kind)
    if some is not None:
        make = maker(some)
        return lambda tree, path: None if tree is None else make(tree, path)
    makers = [maker(one) for one in inner]

    def first_that_fits(tree: Any, path: str) -> Any:
        for number, make in enumerate(makers, 1):
            try:
                return make(tree, path)
            except CodecError:
                if number == len(makers):
                    raise
        raise AssertionError("a union of nothing")

    return first_that_fits


def _choice_maker(choices: tuple[Any, ...]) -> Maker:
    def make(tree: Any, path: str) -> Any:
        if isinstance(tree, list | dict) or tree not in choices:
            raise CodecError(path, " or ".join(map(str, choices)), tree)
        return tree

    return make


def _list_maker(origin: Any, inner: tuple[Any, ...]) -> Maker:
    makers = [maker(one) for one in inner if one is not Ellipsis] or [maker(Any)]
    whole = {frozenset: frozenset, list: list}.get(origin, tuple)
    if origin is tuple and Ellipsis not in inner and inner:
        return lambda tree, path: tuple(
            make(one, f"{path}[{number}]")
            for number, (make, one) in enumerate(zip(makers, _array(tree, path, len(makers)), strict=True))
        )
    make_one = makers[0]
    return lambda tree, path: whole(make_one(one, f"{path}[{number}]") for number, one in enumerate(_array(tree, path)))


def _object(tree: Any, path: str) -> dict[str, Any]:
    if not isinstance(tree, dict):
        raise CodecError(path, "an object", tree)
    return tree


def _array(tree: Any, path: str, count: int | None = None) -> list[Any]:
    if not isinstance(tree, list) or (count is not None and len(tree) != count):
        raise CodecError(path, "an array" if count is None else f"an array of {count}", tree)
    return tree


def _exactly(kinds: tuple[type, ...], expected: str) -> Maker:
    def make(tree: Any, path: str) -> Any:
        if type(tree) not in kinds:
            raise CodecError(path, expected, tree)
        return tree

    return make


def _bytes(tree: Any, path: str) -> bytes:
    if isinstance(tree, str):
        return tree.encode("utf-8", "surrogatepass")
    try:
        return base64.b64decode(_object(tree, path)[BASE64], validate=True)
    except (KeyError, TypeError, ValueError) as error:
        raise CodecError(path, f"text, or an object with {BASE64}", tree) from error


def _from_hex(tree: Any, path: str) -> bytes:
    try:
        return bytes.fromhex(tree)
    except (TypeError, ValueError) as error:
        raise CodecError(path, "hexadecimal digits", tree) from error


def _whole(tree: Any, path: str) -> int:
    if type(tree) is not int:
        raise CodecError(path, "a whole number", tree)
    if not LIMITS.integer_min <= tree <= LIMITS.integer_max:  # no store holds more, nor do readers in other languages
        raise CodecError(path, "a whole number of at most 64 bits", "a very large one")
    return tree


def _number(tree: Any, path: str) -> float:
    if type(tree) not in (int, float):
        raise CodecError(path, "a number", tree)
    try:
        return float(tree)
    except OverflowError as error:
        raise CodecError(path, "a number that is not that large", "a very large one") from error


_SIMPLE: dict[Any, Maker] = {
    str: _exactly((str,), "text"),
    int: _whole,
    float: _number,
    bool: _exactly((bool,), "true or false"),
    bytes: _bytes,
    object: lambda tree, path: tree,
    type(None): _exactly((type(None),), "null"),
}


_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder()


def encoded(tree: Any) -> bytes:
    """The text. A number that is none (nan, infinite) is told as null, for which JSON has a word."""
    try:
        return _ENCODER.encode(tree)
    except (UnicodeEncodeError, OverflowError):  # half a character, as `"\ud800"` in a message; a very long number
        return json.dumps(_sayable(tree), separators=(",", ":"), allow_nan=False).encode()


def _sayable(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _sayable(one) for key, one in tree.items()}
    if isinstance(tree, list | tuple):
        return [_sayable(one) for one in tree]
    return None if isinstance(tree, float) and not isfinite(tree) else tree


def decoded(text: bytes, *, halves: bool = True) -> Any:
    """The tree again. What is told of messages may have half a character in it; what is asked for may not.

    Raises:
        ValueError: it is no JSON.
    """
    try:
        return _DECODER.decode(text) if text else None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        if halves and b"\\ud" in text.lower():  # perhaps half a character, which our own encoder has written
            return _read_slowly(text)
        raise ValueError(str(error)) from error


def _read_slowly(text: bytes) -> Any:
    try:
        return json.loads(text.decode(), parse_constant=_no_number, parse_float=_finite)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is no number")


def _finite(word: str) -> float:
    number = float(word)
    return number if isfinite(number) else _no_number("it")

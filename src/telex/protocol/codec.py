"""JSON codec: encode values of the bus, decode and validate them.

A named tuple is an object with its fields, a tuple an array, bytes a text or, if they are not UTF-8, an object with
`base64`. Fields are derived from the annotations of a class, so a new one needs no code here.
"""

import base64
import json
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, reduce
from math import isfinite
from operator import or_
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from telex.model.limits import LIMITS
from telex.model.message import LeasedMessage, StoredMessage

BASE64 = "base64"
FOUND_CHARACTERS_MAX = LIMITS.found_characters_max
HEX_FIELDS: dict[type, tuple[str, ...]] = {StoredMessage: ("digest",)}  # bytes that are written as hexadecimal digits
DERIVED: dict[type, tuple[str, ...]] = {LeasedMessage: ("token",)}  # properties that are written and not read
_JSON_TYPES = frozenset({str, int, float, bool, type(None)})
Maker = Callable[[Any, str], Any]


class CodecError(Exception):
    """A tree does not fit a type: the path, what was expected, what was found."""

    def __init__(self, path: str, expected: str, found: Any) -> None:
        self.path, self.expected, self.found = path, expected, shown(found)
        super().__init__(f"{path}: expected {expected}, found {self.found}")


def shown(found: Any) -> str | None:
    """A found value in few words: a tree may be as large and as deep as a message."""
    if found is None:
        return None
    if isinstance(found, dict | list):
        return "an object" if isinstance(found, dict) else f"an array of {len(found)}"
    return str(found)[:FOUND_CHARACTERS_MAX]


# --- types ------------------------------------------------------------------------------------------------------------


@cache
def type_hints(of: Any) -> dict[str, Any]:
    """Resolved annotations of a value's fields or of a verb's arguments."""
    return get_type_hints(of, localns=_late_names())


@cache
def _late_names() -> dict[str, Any]:
    """Classes that `ports.bus` imports for type checkers only, to keep a cold start short."""
    from telex.model.contracts import PathVerdict
    from telex.model.work import Escalation, ShutdownReport, Stall

    return {kind.__name__: kind for kind in (PathVerdict, Escalation, ShutdownReport, Stall)}


def is_value(kind: Any) -> bool:
    """Whether it is a named tuple."""
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


def optional(kind: Any) -> Any | None:
    """X of `X | None`; None for anything else."""
    inner = get_args(kind)
    if get_origin(kind) not in (Union, types.UnionType) or type(None) not in inner:
        return None
    return reduce(or_, (part for part in inner if part is not type(None)))


# --- value to tree ----------------------------------------------------------------------------------------------------


def plain(value: Any) -> Any:
    """Encode a value as a JSON tree."""
    kind = type(value)
    if kind in _JSON_TYPES:
        return value
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        fields = zip(value._fields, value, strict=True)
        tree = {name: field if type(field) in _JSON_TYPES else plain(field) for name, field in fields}
        for name in HEX_FIELDS.get(kind, ()):
            tree[name] = getattr(value, name).hex()
        for name in DERIVED.get(kind, ()):
            tree[name] = getattr(value, name)
        return tree
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return {BASE64: base64.b64encode(value).decode()}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, str):
        return str(value)  # a subclass, as the front matter parser makes it
    if isinstance(value, Collection):
        return [plain(item) for item in value]
    assert isinstance(value, int | float), f"{kind} cannot be serialised"
    return value


# --- tree to value ----------------------------------------------------------------------------------------------------


def made(kind: Any, tree: Any, path: str = "$") -> Any:
    """Decode a value of that type from its JSON tree.

    Raises:
        CodecError: the tree does not fit.
    """
    return _maker(kind)(tree, path)


@cache
def _maker(kind: Any) -> Maker:
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if is_value(kind):
        return _value_maker(kind)
    origin, inner = get_origin(kind) or kind, get_args(kind)
    if origin in (Union, types.UnionType):
        return _union_maker(kind, inner)
    if origin is Literal:
        return _choice_maker(inner)
    if origin in (tuple, list, Sequence, frozenset):
        return _list_maker(origin, inner)
    assert origin in (dict, Mapping), f"{kind} cannot be parsed"
    make_key, make_item = (_maker(part) for part in inner or (str, Any))
    return lambda tree, path: {
        make_key(name, path): make_item(item, f"{path}.{name}") for name, item in _object(tree, path).items()
    }


def _value_maker(kind: Any) -> Maker:
    makers: dict[str, Maker] = {}
    defaults, hex_fields = kind._field_defaults, HEX_FIELDS.get(kind, ())

    def make(tree: Any, path: str) -> Any:
        if not makers:  # at first use: a class may refer to itself
            hints = type_hints(kind)
            makers.update({name: _from_hex if name in hex_fields else _maker(hint) for name, hint in hints.items()})
        given = _object(tree, path)
        values = {}
        for name, make_field in makers.items():
            if name in given:
                values[name] = make_field(given[name], f"{path}.{name}")
            elif name not in defaults:
                raise CodecError(f"{path}.{name}", "a value", None)
        return kind(**values)

    return make


def _union_maker(kind: Any, inner: tuple[Any, ...]) -> Maker:
    some = optional(kind)
    if some is not None:
        make_some = _maker(some)
        return lambda tree, path: None if tree is None else make_some(tree, path)
    *makers, last = [_maker(part) for part in inner]

    def make(tree: Any, path: str) -> Any:
        for maker in makers:
            try:
                return maker(tree, path)
            except CodecError:
                continue
        return last(tree, path)

    return make


def _choice_maker(choices: tuple[Any, ...]) -> Maker:
    def make(tree: Any, path: str) -> Any:
        if isinstance(tree, list | dict) or tree not in choices:
            raise CodecError(path, " or ".join(map(str, choices)), tree)
        return tree

    return make


def _list_maker(origin: Any, inner: tuple[Any, ...]) -> Maker:
    makers = [_maker(part) for part in inner if part is not Ellipsis] or [_maker(Any)]
    if origin is tuple and inner and Ellipsis not in inner:
        return lambda tree, path: tuple(
            make(item, f"{path}[{number}]")
            for number, (make, item) in enumerate(zip(makers, _array(tree, path, len(makers)), strict=True))
        )
    make_item, container = makers[0], {frozenset: frozenset, list: list}.get(origin, tuple)
    return lambda tree, path: container(
        make_item(item, f"{path}[{number}]") for number, item in enumerate(_array(tree, path))
    )


def _object(tree: Any, path: str) -> dict[str, Any]:
    if not isinstance(tree, dict):
        raise CodecError(path, "an object", tree)
    return tree


def _array(tree: Any, path: str, count: int | None = None) -> list[Any]:
    if not isinstance(tree, list) or (count is not None and len(tree) != count):
        raise CodecError(path, "an array" if count is None else f"an array of {count}", tree)
    return tree


def _exactly(kind: type, expected: str) -> Maker:
    def make(tree: Any, path: str) -> Any:
        if type(tree) is not kind:
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


def _integer(tree: Any, path: str) -> int:
    if type(tree) is not int:
        raise CodecError(path, "a whole number", tree)
    if not LIMITS.integer_min <= tree <= LIMITS.integer_max:  # neither a store nor other languages hold more
        raise CodecError(path, "a whole number of at most 64 bits", "a very large one")
    return tree


def _number(tree: Any, path: str) -> float:
    if type(tree) not in (int, float):
        raise CodecError(path, "a number", tree)
    try:
        return float(tree)
    except OverflowError as error:
        raise CodecError(path, "a number that is not that large", "a very large one") from error


def _unchanged(tree: Any, path: str) -> Any:
    return tree


_SIMPLE: dict[Any, Maker] = {
    str: _exactly(str, "text"),
    int: _integer,
    float: _number,
    bool: _exactly(bool, "true or false"),
    bytes: _bytes,
    Any: _unchanged,
    object: _unchanged,
    type(None): _exactly(type(None), "null"),
}


# --- JSON text --------------------------------------------------------------------------------------------------------

_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder()


def encoded(tree: Any) -> bytes:
    """Encode a tree as JSON text. NaN and infinity become null."""
    try:
        return _ENCODER.encode(tree)
    except (UnicodeEncodeError, OverflowError):  # a lone surrogate, which JSON escapes; an integer beyond 64 bits
        return json.dumps(_finite_tree(tree), separators=(",", ":"), allow_nan=False).encode()


def _finite_tree(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _finite_tree(item) for key, item in tree.items()}
    if isinstance(tree, list | tuple):
        return [_finite_tree(item) for item in tree]
    return None if isinstance(tree, float) and not isfinite(tree) else tree


def decoded(text: bytes, *, halves: bool = True) -> Any:
    """Decode a JSON text. `halves`: accept lone surrogates, which a stored message may contain.

    Raises:
        ValueError: it is no JSON.
    """
    try:
        return _DECODER.decode(text) if text else None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        if not halves or b"\\ud" not in text.lower():
            raise ValueError(str(error)) from error
    try:
        return json.loads(text.decode(), parse_constant=_finite_float, parse_float=_finite_float)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _finite_float(word: str) -> float:
    number = float(word)
    if not isfinite(number):
        raise ValueError(f"{word} is not a finite number")
    return number

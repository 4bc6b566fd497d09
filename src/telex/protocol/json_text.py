"""JSON serialisation that accepts every tree: what JSON text cannot hold is escaped."""

import json
from math import isfinite
from typing import Any

import msgspec

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

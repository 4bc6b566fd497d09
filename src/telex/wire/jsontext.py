"""How is a tree written as JSON, and read again? Every tree can be written: what no JSON text may hold is escaped."""

import json
from typing import Any

import msgspec

_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder()


def encoded(tree: Any) -> bytes:
    try:
        return _ENCODER.encode(tree)
    except (UnicodeEncodeError, OverflowError):  # half a character, as `"\ud800"` in a message; a very long number
        return json.dumps(tree, separators=(",", ":")).encode()


def decoded(text: bytes) -> Any:
    """The tree again.

    Raises:
        ValueError: it is no JSON.
    """
    try:
        return _DECODER.decode(text) if text else None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise ValueError(str(error) or "it is nested too deeply") from error

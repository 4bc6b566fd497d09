"""Snapshots of topic states, so that a long topic is not folded from its first message each time.

A snapshot only saves time and may be deleted at any moment. It names the version of the folds and the last message, and
has a checksum over both and the state: a damaged or misplaced one is ignored. It is plain JSON, so a forged one can
only hold wrong values, which `telex doctor` finds.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from telex.model.text import DIGEST_BYTES, digest_of

FOLDS_VERSION = 8  # goes up whenever a fold gives another state for the same messages
LONG = 200  # messages folded at once after which a snapshot pays
CHECKSUM_CHARACTERS = 2 * DIGEST_BYTES
_HOMES = ("telex.model.", "telex.work.")  # modules with the types of states
_VALUE, _ROW, _MAP, _SET, _LIST = "value", "row", "map", "set", "list"


def encode_snapshot(topic: str, seq: int, state: Any) -> str:
    """The state of a topic after that message."""
    words = encode_state(state)
    return checksum(topic, seq, words) + words


def decode_snapshot(topic: str, seq: int, text: str) -> Any:
    """The state again.

    Raises:
        ValueError: the checksum is wrong, or other folds have encoded it.
    """
    given, words = text[:CHECKSUM_CHARACTERS], text[CHECKSUM_CHARACTERS:]
    if given != checksum(topic, seq, words):
        raise ValueError("wrong checksum")
    return decode_state(words)


def checksum(topic: str, seq: int, words: str) -> str:
    """Checksum against damaged files. It is no protection against an attacker, who could write messages too."""
    return digest_of(f"{topic}\0{seq}\0{words}".encode("utf-8", "surrogatepass")).hex()


def encode_state(state: Any) -> str:
    return json.dumps([FOLDS_VERSION, _encoded(state)], ensure_ascii=False, separators=(",", ":"))


def decode_state(text: str) -> Any:
    """The state again.

    Raises:
        ValueError: it is not valid, or other folds have encoded it.
    """
    try:
        version, state = json.loads(text)
        if version != FOLDS_VERSION:
            raise ValueError("encoded by other folds")
        return _decoded(state)
    except (TypeError, KeyError, AttributeError, ImportError, RecursionError) as error:
        raise ValueError("not a valid snapshot") from error


def _encoded(value: Any) -> Any:
    if isinstance(value, tuple):
        if not hasattr(value, "_fields"):
            return [_encoded(one) for one in value]
        return {_VALUE: _name(type(value)), "of": [_encoded(one) for one in value]}
    if isinstance(value, Mapping):
        return {_MAP: [[_encoded(key), _encoded(one)] for key, one in value.items()]}
    if isinstance(value, frozenset):
        return {_SET: sorted((_encoded(one) for one in value), key=json.dumps)}
    if value is None or isinstance(value, (str, int, float)):
        return value
    if type(value) is list:
        return {_LIST: [_encoded(one) for one in value]}
    assert isinstance(value, Sequence), f"{type(value)} is no value that a state may hold"
    return {_ROW: _name(type(value)), "of": [_encoded(one) for one in value]}


def _name(kind: type) -> str:
    assert kind.__module__.startswith(_HOMES), f"{kind} is no value that a state may hold"
    return f"{kind.__module__}:{kind.__qualname__}"


def _decoded(plain: Any) -> Any:
    if isinstance(plain, list):
        return tuple([_decoded(one) for one in plain])
    if not isinstance(plain, dict):
        return plain
    if _VALUE in plain:
        return _kind(plain[_VALUE])(*[_decoded(one) for one in plain["of"]])
    if _ROW in plain:
        return _kind(plain[_ROW])([_decoded(one) for one in plain["of"]])
    if _LIST in plain:
        return [_decoded(one) for one in plain[_LIST]]
    if _MAP in plain:
        return {_decoded(key): _decoded(one) for key, one in plain[_MAP]}
    return frozenset([_decoded(one) for one in plain[_SET]])


@cache
def _kind(name: str) -> Any:
    """A named tuple or a sequence of this package: its constructor has no side effects."""
    module, _, kind = name.partition(":")
    if not module.startswith(_HOMES) or not kind.isidentifier():
        raise ValueError("not a type of a state")
    found = getattr(import_module(module), kind)
    if not (isinstance(found, type) and issubclass(found, Sequence) and found.__module__.startswith(_HOMES)):
        raise ValueError("not a type of a state")
    return found

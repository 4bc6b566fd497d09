"""How is a topic's state written down, so that a long topic need not be folded from its beginning each time?

A snapshot only saves time. It says which folds made it and up to which message, is taken for nothing when either is
not as it should be, and may be thrown away at any moment. It is plain JSON: what was put into the file by somebody
else can make no more of it than wrong values, and `telex doctor` compares them with the fold.
"""

import json
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

FOLDS_VERSION = 1  # goes up whenever a fold gives another state for the same messages
LONG = 200  # messages folded at once after which a snapshot pays
_HOMES = ("telex.model.", "telex.flow.")  # where the values that states are made of live
_VALUE, _MAP, _SET = "value", "map", "set"


def frozen(state: Any) -> str:
    return json.dumps([FOLDS_VERSION, _plain(state)], ensure_ascii=False, separators=(",", ":"))


def thawed(text: str) -> Any:
    """The state again.

    Raises:
        ValueError: it is none of ours, or of other folds.
    """
    try:
        version, state = json.loads(text)
        if version != FOLDS_VERSION:
            raise ValueError("written by other folds")
        return _lively(state)
    except (TypeError, KeyError, AttributeError, ImportError, RecursionError) as error:
        raise ValueError("no snapshot of ours") from error


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        if not hasattr(value, "_fields"):
            return [_plain(one) for one in value]
        kind = type(value)
        assert kind.__module__.startswith(_HOMES), f"{kind} is no value that a state may hold"
        return {_VALUE: f"{kind.__module__}:{kind.__qualname__}", "of": [_plain(one) for one in value]}
    if isinstance(value, Mapping):
        return {_MAP: [[_plain(key), _plain(one)] for key, one in value.items()]}
    if isinstance(value, frozenset):
        return {_SET: sorted((_plain(one) for one in value), key=json.dumps)}
    assert value is None or isinstance(value, (str, int, float)), f"{type(value)} is no value that a state may hold"
    return value


def _lively(plain: Any) -> Any:
    if isinstance(plain, list):
        return tuple([_lively(one) for one in plain])
    if not isinstance(plain, dict):
        return plain
    if _VALUE in plain:
        return _kind(plain[_VALUE])(*[_lively(one) for one in plain["of"]])
    if _MAP in plain:
        return {_lively(key): _lively(one) for key, one in plain[_MAP]}
    return frozenset([_lively(one) for one in plain[_SET]])


@cache
def _kind(name: str) -> Any:
    """A named tuple of ours and nothing else: making one does nothing but hold values."""
    module, _, kind = name.partition(":")
    if not module.startswith(_HOMES) or not kind.isidentifier():
        raise ValueError("no value of ours")
    found = getattr(import_module(module), kind)
    if not (isinstance(found, type) and issubclass(found, tuple) and hasattr(found, "_fields")):
        raise ValueError("no value of ours")
    return found

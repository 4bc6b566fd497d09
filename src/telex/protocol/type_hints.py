"""Resolved annotations of a value's fields and a verb's arguments."""

import types
from functools import cache
from typing import Any, Union, get_args, get_origin, get_type_hints


@cache
def _late_names() -> dict[str, Any]:
    """Values that modules on the fast path only name when they are type-checked."""
    from telex.model.contracts import PathVerdict
    from telex.model.work import Escalation, ShutdownReport, Stall

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

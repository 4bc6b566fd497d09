"""Trace context of a message, as W3C `traceparent`.

The sender sets it around the call, and the bus stores it beside the message, whose bytes stay unchanged. It is not
trusted or acted on: it only correlates traces in other tools.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

TRACEPARENT = "traceparent"  # in the detail of the event that brings a message, and as a header
_FORM = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_CURRENT: ContextVar[str | None] = ContextVar(TRACEPARENT, default=None)


def traceparent() -> str | None:
    """What is sent here and now belongs to this trace; None: to none."""
    return _CURRENT.get()


def as_traceparent(text: str | None) -> str | None:
    """The text if it is one. Whatever else somebody sends in its place is nothing."""
    return text if text is not None and _FORM.fullmatch(text) else None


@contextmanager
def carrying(text: str | None) -> Iterator[None]:
    """What is sent in here belongs to that trace, if it is one."""
    found = as_traceparent(text)
    if found is None:
        yield
        return
    before = _CURRENT.set(found)
    try:
        yield
    finally:
        _CURRENT.reset(before)

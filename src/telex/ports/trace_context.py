"""What travels beside a message, and is no part of it? The trace that it belongs to, as W3C's `traceparent`.

Whoever sends says so around the call, and the bus writes it down with the message; the bytes stay as they are. Nothing
of it is believed or acted upon: it is a number under which somebody else's tool puts things together.
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

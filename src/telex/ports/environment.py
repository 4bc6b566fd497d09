"""Environment of a bus: clock and ids, evidence from a repository, trace context.

Time and ids are passed in, so that simulations are deterministic. The trace context (W3C `traceparent`) is set by the
sender around a call and stored beside the message. It only correlates traces of other tools.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from telex.model.finding import Severity
from telex.model.named_tuple import NamedTuple


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since 1970, UTC. It never goes back while the process runs."""

    async def sleep(self, seconds: float) -> None:
        """A blocking clock never yields to an event loop."""

    def new_id(self) -> str:
        """A unique id that sorts by the time it was made."""


class StoreClock(Clock, Protocol):
    """A clock that a connection can begin at the time of its store."""

    def begin_after(self, moment: float) -> None:
        """The store has an event of this moment, by another clock: `now` is never earlier."""


class EvidenceResult(NamedTuple):
    """Answer of the repository to a claim."""

    commit: str | None = None  # its full hash; None: unknown, or none was named
    strangers: tuple[str, ...] = ()  # named files that the repository does not know


class Evidence(Protocol):
    """Both return None where there is no repository, or git fails or times out."""

    contradicted: Severity  # of a claim that the repository contradicts

    async def of_commit(self, commit: str, files: tuple[str, ...]) -> EvidenceResult | None:
        """Whether the commit exists and changed these files."""

    async def of_files(self, files: tuple[str, ...]) -> EvidenceResult | None:
        """Whether these files are changed or removed and not committed yet."""


TRACEPARENT = "traceparent"  # in the detail of the event that brings a message, and as a header
_FORM = re.compile(r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")
_CURRENT: ContextVar[str | None] = ContextVar(TRACEPARENT, default=None)


def traceparent() -> str | None:
    """The trace that a message sent now belongs to."""
    return _CURRENT.get()


def as_traceparent(text: str | None) -> str | None:
    """The text if it is a valid traceparent."""
    return text if text is not None and _FORM.fullmatch(text) else None


@contextmanager
def carrying(text: str | None) -> Iterator[None]:
    """Context in which sent messages belong to that trace, if it is valid."""
    trace = as_traceparent(text)
    if trace is None:
        yield
        return
    before = _CURRENT.set(trace)
    try:
        yield
    finally:
        _CURRENT.reset(before)

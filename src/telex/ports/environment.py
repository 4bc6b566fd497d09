"""Clock port: time and ids come from outside, so that pure packages are deterministic in simulations."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple, Protocol

from telex.model.finding import Severity


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since 1970, UTC. It never goes back while the process runs."""

    async def sleep(self, seconds: float) -> None:
        """Let that much time pass. A blocking clock returns without ever yielding to an event loop."""

    def new_id(self) -> str:
        """An id that nobody else will make, and that sorts by the time it was made."""


class StoreClock(Clock, Protocol):
    """A clock that a connection can begin at the time of its store."""

    def begin_after(self, moment: float) -> None:
        """Something has already happened at this moment, by another clock: it is no earlier now."""


class EvidenceResult(NamedTuple):
    """What the repository says to a claim."""

    commit: str | None = None  # its whole hash; None where it is not there, or none was named
    strangers: tuple[str, ...] = ()  # of the files that were named: those it knows nothing of


class Evidence(Protocol):
    """Both answer None where nothing can be told: there is no repository, or it does not answer."""

    contradicted: Severity  # what it is to this team when the repository says otherwise

    async def of_commit(self, commit: str, files: tuple[str, ...]) -> EvidenceResult | None:
        """Is there such a commit, and did it change these files?"""

    async def of_files(self, files: tuple[str, ...]) -> EvidenceResult | None:
        """Are these files there to be committed, or to be removed by a commit?"""


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

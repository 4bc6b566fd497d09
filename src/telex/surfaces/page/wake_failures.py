"""Wake failures: agents whose session could not be woken, folded from the events of wakes.

A failure ends when a wake reaches the agent, or when the agent takes a message by itself.
"""

from collections import deque
from collections.abc import Iterator

from telex.delivery.wakes import LOOKING, NOT_SEEN
from telex.model.message import WAKING, Event, detail_of
from telex.model.named_tuple import NamedTuple

TRIED_MAX = 5  # attempts that are shown of one failure
ENDED_MAX = 500  # failures of the past
OPEN = float("inf")


class WakeAttempt(NamedTuple):
    at: float
    way: str
    error: str


class WakeFailure(NamedTuple):
    agent: str
    number: int  # of the event of the first failed attempt
    since: float
    attempts: int
    tried: tuple[WakeAttempt, ...]  # the latest
    until: float = OPEN


class WakeFailures:
    def __init__(self) -> None:
        self._open: dict[str, WakeFailure] = {}
        self._delivered: dict[str, str] = {}  # by agent: the way of the last delivery, until its outcome is known
        self.changes = 0
        self._ended: deque[WakeFailure] = deque(maxlen=ENDED_MAX)

    def fold(self, event: Event) -> None:
        if event.kind in LOOKING and event.agent in self._open:
            self._end(event.agent, event.at)
        if event.kind not in WAKING or event.inbox is None:
            return
        agent, detail = event.inbox, detail_of(event)
        if event.kind == "wake-delivered":
            self._delivered[agent] = str(detail.get("way") or "")
        elif event.kind == "wake-due" and "reason" in detail:
            self._delivered.pop(agent, None)
            self._fail(event, agent, WakeAttempt(event.at, str(detail.get("way") or ""), str(detail["reason"])))
        elif event.kind == "wake-withdrawn" and detail.get("reason") == NOT_SEEN:
            self._fail(event, agent, WakeAttempt(event.at, self._delivered.pop(agent, ""), NOT_SEEN))
        elif event.kind != "wake-due":
            self._end(agent, event.at)

    def at(self, moment: float) -> Iterator[WakeFailure]:
        for failure in (*self._ended, *self._open.values()):
            if failure.since <= moment < failure.until:
                yield failure

    def _fail(self, event: Event, agent: str, attempt: WakeAttempt) -> None:
        failure = self._open.get(agent) or WakeFailure(agent, event.seq, event.at, 0, ())
        tried = (*failure.tried, attempt)[-TRIED_MAX:]
        self.changes += 1
        self._open[agent] = failure._replace(attempts=failure.attempts + 1, tried=tried)

    def _end(self, agent: str, at: float) -> None:
        failure = self._open.pop(agent, None)
        if failure is not None:
            self.changes += 1
            self._ended.append(failure._replace(until=at))

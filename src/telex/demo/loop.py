"""Endless demo for the hub's page.

The story runs in real time, thirty times as fast as the written one: agents really wait, and events appear on the page
when they happen. Each round is the same story about another plan, in one store. The store keeps the last hour, and
after a hundred rounds the team pauses.
"""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from threading import Event
from typing import Any

from telex.client import SyncBus
from telex.clock import SteadyClock
from telex.config import Settings
from telex.connection import connect
from telex.demo.agents import DemoTeam
from telex.demo.environment import DemoProject, StoryClock
from telex.demo.story import play
from telex.model.limits import LIMITS
from telex.model.work import Escalation
from telex.ports.bus import Receipt

PACE = 30.0
READ_SECONDS = 0.6  # to see one thing before the next
REST_SECONDS = 20.0  # between two rounds
ROUNDS_MAX = 100
SETTINGS = Settings(
    team_name="The demo team",
    limits=LIMITS._replace(escalation_seconds=LIMITS.escalation_seconds / PACE, retention_seconds=3_600.0),
)
_PLAN = re.compile(r"(?<![\w-])1-1(?=(?:-T\d)?(?![\w-]))")


class DemoEnded(Exception):
    """Nobody watches any more."""


class WallClock(StoryClock):
    """The time that it is. Where the story lets time pass, it passes, only faster."""

    def __init__(self, stop: Event) -> None:
        self._stop = stop
        self._began_at = time.monotonic()
        SteadyClock.__init__(self, sleep=self._pause)

    @property
    def story(self) -> float:
        return (time.monotonic() - self._began_at) * PACE

    def later(self, seconds: float) -> None:
        self._pause(seconds / PACE)

    def _pause(self, seconds: float) -> None:
        if self._stop.wait(seconds):
            raise DemoEnded


class LoopBus(SyncBus):
    """The bus as the story knows it: its plan and its ids are those of this round."""

    def __init__(self, bus: SyncBus, number: int) -> None:
        super().__init__(bus.awaitable)
        self._number = number

    def send(self, raw: Any, *, id: str | None = None, reply_to: str | None = None, **more: Any) -> Receipt:
        raw = self._told(raw)
        if isinstance(raw, dict) and "id" in raw:
            raw = {**raw, "id": self._id(raw["id"])}
        more["correlation"] = self._told(more.get("correlation"))
        return super().send(raw, id=id and self._id(id), reply_to=reply_to and self._id(reply_to), **more)

    def why(self, id: str) -> Any:
        return super().why(self._id(id))

    def approve(self, id: str, **more: Any) -> Receipt:
        return super().approve(self._id(id), **more)

    def escalations(self, *, answered: bool = False) -> list[Escalation]:
        """Only that of this round: somebody may have raised others meanwhile."""
        return [
            escalation
            for escalation in super().escalations(answered=answered)
            if escalation.id == self._id("escalation-1")
        ]

    def shut_down(self, *, deadline: float = 60.0, **more: Any) -> Any:
        return super().shut_down(deadline=deadline / PACE, **more)

    def _id(self, id: str) -> str:
        return id if self._number == 1 else f"{id}.{self._number}"

    def _told(self, value: Any) -> Any:
        """The same, of this round's plan: 1-1 is 2-1 in the second."""
        if isinstance(value, str):
            return _PLAN.sub(f"{self._number}-1", value)
        if isinstance(value, Mapping):
            return {key: self._told(inner) for key, inner in value.items()}
        if isinstance(value, Sequence):
            return [self._told(inner) for inner in value]
        return value


class LoopProject(DemoProject):
    """Every round changes something, or there would be nothing to commit."""

    def __init__(self, folder: str, clock: StoryClock, number: int) -> None:
        super().__init__(folder, clock)
        self._number = number

    def commit(self, message: str, files: Mapping[str, str]) -> str:
        return super().commit(message, {name: f"{text}# {self._number}\n" for name, text in files.items()})


def keep_playing(path: str, folder: str, stop: Event, trouble: Callable[[Exception], None]) -> None:
    """Round after round, until `stop` is set. Run in a thread of its own.

    Whoever watches may step in: answer what the story asks, send something else, shut the team down. A round that
    cannot go on then ends there, `trouble` is told, and the next one begins.
    """
    try:
        for number in range(1, ROUNDS_MAX + 1):
            clock = WallClock(stop)
            with connect(path, settings=SETTINGS, clock=clock) as bus:
                company = DemoTeam(LoopBus(bus, number), clock, LoopProject(folder, clock, number))
                try:
                    for _ in play(company):
                        clock.later(READ_SECONDS * PACE)
                except DemoEnded:
                    raise
                except Exception as error:
                    trouble(error)
            if stop.wait(REST_SECONDS):
                return
    except DemoEnded:
        return

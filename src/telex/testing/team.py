"""Team in memory with virtual time, for tests of agents and workers.

    async with telex.testing.Team() as team:
        team.worker(worker)
        await team.agent("lead").send(TaskAssignment(…), to="w1")
        await team.settle()
        assert [message.type for message in team.sent] == ["TASK_ASSIGNMENT", "STATUS_UPDATE"]

Leases, backoff and deadlines use the team's clock, which only `settle` and `advance` move: no test waits for them. The
handlers themselves run in real time, and the clock does not move meanwhile; a handler that has to take long in the test
calls `team.sleep`.
"""

import asyncio
import heapq
import time
from contextlib import suppress
from typing import Any, cast

from telex.agent import Agent, Message
from telex.bus import run_sync
from telex.bus.local import LocalBus
from telex.bus.shared_notify import SharedNotifier
from telex.config import Settings
from telex.errors import Refused
from telex.model.message import LeasedMessage, StoredMessage
from telex.model.roster import ONE_OF_ROLE
from telex.ports.bus import Bus, Receipt
from telex.ports.environment import traceparent
from telex.ports.store import DeliveryQuery, Query, events_with_messages
from telex.stores.memory import MemoryStore
from telex.testing import FakeClock
from telex.worker import Worker

EVENTS_MAX = 1_000_000
IDLE_ROUNDS = 25  # turns of the event loop without work, after which all tasks wait
BUSY_ROUNDS = 100  # turns with work, after which a handler waits for something in real time
PAUSE_SECONDS = 0.001
TIMEOUT_SECONDS = 60.0


class TeamClock(FakeClock):
    """Virtual time: a sleep ends when the clock is moved to its end."""

    def __init__(self) -> None:
        super().__init__()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    async def sleep(self, seconds: float) -> None:
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        ended = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self.now() + seconds, id(ended), ended))
        await ended

    def next_end(self) -> float | None:
        """When the next sleep ends."""
        while self._sleepers and self._sleepers[0][2].done():
            heapq.heappop(self._sleepers)
        return self._sleepers[0][0] if self._sleepers else None

    def move_to(self, moment: float) -> None:
        self.begin_after(moment)
        while (end := self.next_end()) is not None and end <= self.now():
            heapq.heappop(self._sleepers)[2].set_result(None)


class ObservedBus:
    """A bus that records receipts and the deadlines of its requests; other methods are passed through."""

    def __init__(self, bus: LocalBus, clock: TeamClock) -> None:
        self._bus, self._clock = bus, clock
        self.receipts: list[Receipt] = []
        self.deadlines: list[float] = []  # of requests that wait for a reply

    def __getattr__(self, name: str) -> Any:
        return getattr(self._bus, name)

    def agent(self, name: str, *, role: str | None = None) -> Agent:
        return Agent(cast(Bus, self), name, role)

    async def send(self, raw: Any, *, check: bool = True, **arguments: Any) -> Receipt:
        receipt = await self._bus.send(raw, check=False, **arguments)
        self.receipts.append(receipt)
        if check and not receipt.accepted:
            raise Refused(receipt)
        return receipt

    async def request(self, raw: Any, *, timeout: float | None = None, **arguments: Any) -> LeasedMessage:
        seconds = self._bus.policy.limits.request_seconds if timeout is None else timeout
        deadline = self._clock.now() + seconds
        self.deadlines.append(deadline)
        try:
            return await self._bus.request(raw, timeout=timeout, **arguments)
        finally:
            self.deadlines.remove(deadline)


class Team:
    """Agents and workers on one bus in memory."""

    def __init__(self, settings: Settings | None = None, *, timeout: float = TIMEOUT_SECONDS) -> None:
        """`timeout`: after how many seconds in real time `settle` and `advance` give up."""
        self._settings, self._timeout = settings or Settings(), timeout
        self._workers: dict[Worker, asyncio.Task[None]] = {}
        self._sleeps: list[float] = []  # ends of the sleeps of handlers

    async def __aenter__(self) -> "Team":
        settings, self.clock = self._settings, TeamClock()
        local = LocalBus(
            MemoryStore(),
            self.clock,
            policy=settings.policy(),
            members=settings.members,
            waiting=self._make_notifier,
            work=settings.work(),
        )
        local.carry(traceparent)
        self._local, self._observed = local, ObservedBus(local, self.clock)
        self.bus: Bus = cast(Bus, self._observed)
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._workers.values():
            task.cancel()
        await asyncio.gather(*self._workers.values(), return_exceptions=True)
        await self._local.close()

    def _make_notifier(self, context: Any) -> SharedNotifier:
        self._notifier = SharedNotifier(context)
        return self._notifier

    # --- members -----------------------------------------------------------------------------------------------------

    def agent(self, name: str, *, role: str | None = None) -> Agent:
        """An agent that the test itself plays."""
        return self.bus.agent(name, role=role)

    def worker(self, worker: Worker) -> Worker:
        """Start a worker. It is a member of the team at once, and runs until the team ends, or until it stops."""
        run_sync(self._local.join(worker.name, role=worker.role, dialects=worker.reads))
        serving = worker.serve(self.bus, clock=self.clock)
        self._workers[worker] = asyncio.get_running_loop().create_task(serving)
        return worker

    # --- results -----------------------------------------------------------------------------------------------------

    @property
    def sent(self) -> list[Message]:
        """Accepted messages, in order, also those of the bus itself."""
        query = Query(kinds=("accepted",))
        events = run_sync(self._local.store.read(events_with_messages, query, EVENTS_MAX))
        return [self._message(message) for _, message in events if message is not None]

    @property
    def receipts(self) -> list[Receipt]:
        """Of all sends, in order, also of refused ones."""
        return list(self._observed.receipts)

    def dead_letters(self) -> list[Message]:
        """Newest first."""
        return [self._message(message) for _, message in run_sync(self._local.dead_letters())]

    def _message(self, message: StoredMessage) -> Message:
        return Message.of(message, {dialect.name: dialect for dialect in self._settings.dialects()})

    # --- time --------------------------------------------------------------------------------------------------------

    async def sleep(self, seconds: float) -> None:
        """Wait in virtual time, in a handler."""
        end = self.clock.now() + seconds
        self._sleeps.append(end)
        try:
            await self.clock.sleep(seconds)
        finally:
            self._sleeps.remove(end)

    async def settle(self, *, seconds_max: float = 3_600.0) -> None:
        """Run the workers until no message waits for one of them and no handler runs. The clock is moved over backoffs,
        leases and timeouts of requests on the way, by `seconds_max` at most.

        Raises:
            Exception: that with which a worker has ended.
            TimeoutError: a handler does not end, or the workers answer each other without end.
        """
        until = self.clock.now() + seconds_max
        await self._run_until_idle()
        while (moment := self._next_moment()) is not None and moment <= until:
            await self._move_to(moment)

    async def advance(self, seconds: float) -> None:
        """Move the clock, and run what becomes due on the way."""
        until = self.clock.now() + seconds
        await self._run_until_idle()
        while (end := self.clock.next_end()) is not None and end < until:
            await self._move_to(end)
        await self._move_to(until)

    async def _move_to(self, moment: float) -> None:
        self.clock.move_to(moment)
        self._notifier_wakes()
        await self._run_until_idle()

    def _notifier_wakes(self) -> None:
        """Readers compare their deadlines with the clock again."""
        with suppress(AttributeError):  # no reader has waited yet
            self._notifier.nudge()
            self._notifier.wake_all()

    async def _run_until_idle(self) -> None:
        idle, busy, began = 0, 0, time.monotonic()
        while idle < IDLE_ROUNDS:
            is_busy = self._is_busy()
            if is_busy and time.monotonic() - began > self._timeout:
                raise TimeoutError(self._unsettled())
            idle, busy = (0, busy + 1) if is_busy else (idle + 1, 0)
            await asyncio.sleep(PAUSE_SECONDS if busy > BUSY_ROUNDS else 0)
        for task in self._workers.values():
            if task.done() and not task.cancelled() and (error := task.exception()) is not None:
                raise error

    def _unsettled(self) -> str:
        runs = [(worker.name, worker.current_run) for worker in self._workers if worker.current_run is not None]
        busy = ", ".join(name for name, run in runs if run.busy_handlers) or "none"
        last = self.sent[-1]
        sent = f"{len(self.sent)} messages were sent, the last by {last.sender} to {last.to}"
        return f"the team has not settled within {self._timeout:g} s; handlers that run: {busy}; {sent}."

    def _is_busy(self) -> bool:
        """Whether a handler runs, or a worker is about to receive a message that is due."""
        handlers = -len(self._sleeps)
        for worker, task in self._workers.items():
            run = worker.current_run
            if task.done():
                continue
            if run is None or (run.is_receiving and self._due_times(worker, ("stored",), self.clock.now())):
                return True
            handlers += run.busy_handlers
        return handlers > 0

    def _next_moment(self) -> float | None:
        """When the next thing is due for which a worker waits. None: none waits."""
        moments, next_end = [*self._observed.deadlines, *self._sleeps], self.clock.next_end() or float("inf")
        for worker, task in self._workers.items():
            if not task.done():
                moments += self._due_times(worker, ("stored", "leased"))
                if worker.current_run is not None and worker.current_run.is_pausing:
                    moments.append(next_end)
        later = [moment for moment in moments if moment > self.clock.now()]
        return min(*later, next_end) if later else None

    def _due_times(self, worker: Worker, states: Any, until: float = float("inf")) -> list[float]:
        """Due times of the messages for this worker."""
        inboxes = (worker.name, f"{ONE_OF_ROLE}{worker.role}", worker.role or worker.name)
        query = DeliveryQuery(inboxes=inboxes, states=states)
        deliveries = run_sync(self._local.store.read(lambda reads: reads.deliveries(query)))
        return [delivery.due_at for delivery in deliveries if delivery.due_at <= until]

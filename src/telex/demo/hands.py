"""Consumers of the demo's inboxes: they lease messages, hold the leases for a while and ack them, as working agents
do."""

import random
import threading
from collections import defaultdict

from telex.client import SyncBus
from telex.config import Settings
from telex.connection import connect
from telex.errors import TelexError
from telex.model.message import LeasedMessage
from telex.model.named_tuple import NamedTuple

HOLD_SECONDS = {"plan_contract": (25.0, 40.0), "escalation": (6.0, 12.0), "approval_request": (6.0, 12.0)}  # by type
HOLD_SECONDS_OTHERS = (2.0, 14.0)
LOOK_SECONDS = 0.4  # between two polls of the inboxes
HELD_MAX = 2  # leases of one agent


class HeldMessage(NamedTuple):
    done_at: float
    lease: LeasedMessage


class Hands(threading.Thread):
    """Leases and acks the messages of these agents until it is stopped, with a bus of its own."""

    def __init__(self, path: str, settings: Settings, agents: tuple[str, ...], stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self._path, self._settings, self._agents, self._stop_event = path, settings, agents, stop
        self._random = random.Random(7)
        self._held: defaultdict[str, list[HeldMessage]] = defaultdict(list)
        self._resting = threading.Event()

    def run(self) -> None:
        with connect(self._path, settings=self._settings) as bus:
            passed = 0.0
            while not self._stop_event.is_set() and not self._resting.is_set():
                for agent in self._agents:
                    self._ack(bus, agent, passed)
                    self._take(bus, agent, passed)
                self._resting.wait(LOOK_SECONDS)
                passed += LOOK_SECONDS
            for agent in self._agents if not self._stop_event.is_set() else ():
                self._ack(bus, agent, float("inf"))

    def rest(self) -> None:
        """Ack what is leased, and lease no more."""
        self._resting.set()
        if self.is_alive():
            self.join()

    def _take(self, bus: SyncBus, agent: str, passed: float) -> None:
        if len(self._held[agent]) >= HELD_MAX:
            return
        try:
            leases = bus.receive(agent)
        except TelexError:  # it has left or shut down
            return
        for lease in leases:
            least, most = HOLD_SECONDS.get(lease.message.type or "", HOLD_SECONDS_OTHERS)
            self._held[agent].append(HeldMessage(passed + self._random.uniform(least, most), lease))

    def _ack(self, bus: SyncBus, agent: str, passed: float) -> None:
        for held in [held for held in self._held[agent] if held.done_at <= passed]:
            self._held[agent].remove(held)
            try:
                bus.ack(held.lease.token, agent=agent)
            except TelexError:  # the agent was stopped, or a person withdrew the message
                continue

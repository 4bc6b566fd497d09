"""Conversations made by hand, for looking at: what the bus would tell about them, without a bus."""

import json
from typing import Any

from telex.model.message import Delivery, Event, State, StoredMessage
from telex.ports.bus import MessageHistory

BEGAN_AT = 1_767_268_800.0  # 2026-01-01 12:00:00 UTC


class Teller:
    """Tells stories event by event; `at` is in seconds since the conversation began."""

    def __init__(self, correlation: str = "release-7") -> None:
        self.correlation = correlation
        self._seq = 0
        self._stories: dict[str, tuple[StoredMessage, list[Delivery], list[Event]]] = {}

    def _next(self) -> int:
        self._seq += 1
        return self._seq

    def send(
        self,
        at: float,
        id: str,
        sender: str,
        to: str,
        type_: str,
        *inboxes: str,
        rank: int = 3,
        reply_to: str | None = None,
        refused: dict[str, Any] | None = None,
    ) -> None:
        seq, when = self._next(), BEGAN_AT + at
        message = StoredMessage(
            seq, id, when, sender, "dev", to, "vbw-typed", type_, rank, self.correlation, reply_to, b"", b"{}",
            refused is not None,
        )  # fmt: skip
        kind, detail = ("refused", json.dumps(refused)) if refused else ("accepted", None)
        reached = () if refused else inboxes or (to,)
        deliveries = [Delivery(self._next(), seq, inbox, rank, "stored", when) for inbox in reached]
        self._stories[id] = message, deliveries, [Event(seq, when, kind, sender, seq, detail=detail)]

    def happens(
        self, at: float, kind: str, id: str, agent: str, becomes: State | None = None, **detail: object
    ) -> None:
        """Something happens to the delivery that this agent has, or may have."""
        message, deliveries, events = self._stories[id]
        place = next(i for i, one in enumerate(deliveries) if agent in (one.holder, one.inbox) or ":" in one.inbox)
        was = deliveries[place]
        attempts = was.attempts + (kind == "leased")
        deliveries[place] = was._replace(state=becomes or was.state, attempts=attempts, holder=agent)
        said = json.dumps(detail) if detail else None
        events.append(Event(self._next(), BEGAN_AT + at, kind, agent, message.seq, was.seq, was.inbox, said))

    def taken(self, at: float, id: str, agent: str, acked_at: float | None = None) -> None:
        self.happens(at, "leased", id, agent, "leased")
        if acked_at is not None:
            self.happens(acked_at, "acked", id, agent, "acked")

    def beside(self, at: float, kind: str, id: str) -> None:
        """Something happens that concerns no delivery."""
        message, _, events = self._stories[id]
        events.append(Event(self._next(), BEGAN_AT + at, kind, None, message.seq))

    def stories(self) -> list[MessageHistory]:
        return [
            MessageHistory(message, _state(message, deliveries), tuple(deliveries), tuple(events))
            for message, deliveries, events in self._stories.values()
        ]


def _state(message: StoredMessage, deliveries: list[Delivery]) -> str:
    states = {delivery.state for delivery in deliveries}
    return "refused" if message.refused else " and ".join(sorted(states))


NOT_YOURS = {
    "findings": [
        {"code": "role-may-not-send", "path": "$.type", "say": "qa_verdict is sent by qa; you are dev."},
        {"code": "missing", "path": "$.phase", "say": "Say which phase."},
    ]
}


def request_and_reply() -> list[MessageHistory]:
    told = Teller()
    told.send(0.0, "q1", "lead", "dev", "task_request", rank=2)
    told.taken(0.4, "q1", "dev")
    told.send(3.0, "a1", "dev", "lead", "task_result", reply_to="q1", rank=2)
    told.happens(3.1, "acked", "q1", "dev", "acked")
    told.taken(3.3, "a1", "lead", 3.5)
    return told.stories()


def refusal() -> list[MessageHistory]:
    told = Teller()
    told.send(0.0, "v1", "dev", "lead", "qa_verdict", rank=2, refused=NOT_YOURS)
    told.send(2.5, "v2", "dev", "lead", "execution_update")
    return told.stories()


def retries_and_a_dead_letter() -> list[MessageHistory]:
    told = Teller()
    told.send(0.0, "b1", "dev", "ops", "blocker_report", rank=0)
    told.happens(0.2, "leased", "b1", "ops", "leased")
    told.happens(1.4, "nacked", "b1", "ops", "stored", reason="no disk left on the build host")
    told.happens(3.4, "leased", "b1", "ops", "leased")
    told.happens(63.4, "lease-expired", "b1", "ops", "stored")
    told.happens(67.4, "leased", "b1", "ops", "leased")
    told.happens(68.0, "dead", "b1", "ops", "dead", reason="still no disk")
    told.send(68.0, "r1", "telex", "dev", "ERROR_REPORT", reply_to="b1", rank=1)
    told.taken(68.5, "r1", "dev", 68.9)
    return told.stories()


def broadcast() -> list[MessageHistory]:
    told = Teller()
    told.send(0.0, "s1", "lead", "*", "phase_started", "dev", "qa", "ops")
    told.taken(0.1, "s1", "qa", 0.3)
    told.taken(0.4, "s1", "dev", 0.5)
    told.happens(0.6, "leased", "s1", "ops", "leased")
    return told.stories()


def whole_release() -> list[MessageHistory]:
    """A little of everything, as a picture in the docs would have it."""
    told = Teller()
    told.send(0.0, "s1", "lead", "*", "phase_started", "dev", "qa", "ops")
    told.taken(0.1, "s1", "dev", 0.2)
    told.taken(0.3, "s1", "qa", 0.5)
    told.taken(0.6, "s1", "ops", 0.9)
    told.send(1.2, "q1", "lead", "dev", "plan_approval", rank=2)
    told.taken(1.6, "q1", "dev")
    told.send(4.1, "v1", "dev", "lead", "qa_verdict", rank=2, refused=NOT_YOURS)
    told.send(6.0, "a1", "dev", "lead", "execution_update", reply_to="q1")
    told.happens(6.1, "acked", "q1", "dev", "acked")
    told.taken(6.4, "a1", "lead", 6.9)
    told.send(8.0, "v2", "lead", "role:qa", "scope_check", rank=2)
    told.taken(8.2, "v2", "qa")
    told.send(9.3, "v3", "qa", "lead", "qa_verdict", reply_to="v2", rank=2)
    told.happens(9.4, "acked", "v2", "qa", "acked")
    told.taken(9.6, "v3", "lead", 9.8)
    told.send(10.0, "b1", "dev", "ops", "blocker_report", rank=0)
    told.happens(10.2, "leased", "b1", "ops", "leased")
    told.happens(11.4, "nacked", "b1", "ops", "stored", reason="no disk left on the build host")
    told.happens(13.4, "leased", "b1", "ops", "leased")
    told.happens(73.4, "lease-expired", "b1", "ops", "stored")
    told.happens(77.4, "leased", "b1", "ops", "leased")
    told.happens(78.0, "dead", "b1", "ops", "dead", reason="still no disk")
    told.send(78.0, "r1", "telex", "dev", "ERROR_REPORT", reply_to="b1", rank=1)
    told.taken(78.5, "r1", "dev", 78.9)
    return told.stories()

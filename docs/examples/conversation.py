"""Six agents make one change: a conversation to look at with `telex why`, `log` and `trace`.

    python docs/examples/conversation.py six.db               # into a store of its own, as if it had just ended
    python docs/examples/conversation.py --picture FILE.svg   # as a picture, the same to the byte every time

Every message goes through the bus like any other, and is accepted, refused, nacked and acked by it. Only the
waiting is left out: the clock is put forward instead.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import telex
from telex.client import SyncBus
from telex.clock import SteadyClock
from telex.messages import TypedMessage, vbw_typed
from telex.model.message import LeasedMessage
from telex.trace.svg import render_svg

TASK = "2-1"
TEAM = ("lead", "scout", "architect", "dev", "docs", "qa")
LASTS_SECONDS = 900.0
MONDAY = 1_772_445_600.0  # 2026-03-02 10:00:00 UTC
VERDICT: dict[str, Any] = {"tier": "standard", "result": "PASS", "checks": {"passed": 20, "failed": 0, "total": 20}}
ENVELOPE: dict[str, Any] = {"phase": 2, "task": TASK, "confidence": "high", "timestamp": "2026-03-02T10:00:00Z"}
MESSAGES: dict[str, TypedMessage] = {
    "findings-1": vbw_typed.ScoutFindings(
        domain="architecture",
        documents=[{"name": "MAIL.md", "content": "Mail is sent from src/mail/ only."}],
        **ENVELOPE,
    ),
    "plan-2-1": vbw_typed.PlanContract(
        plan_id=TASK,
        phase_id="phase-2",
        objective="People can reset a forgotten password by mail",
        tasks=["2-1-T1", "2-1-T2"],
        allowed_paths=["src/auth/", "tests/auth/"],
        must_haves=["A reset link works once", "A link is dead after an hour"],
        **ENVELOPE,
    ),
    "blocker-1": vbw_typed.BlockerReport(
        plan_id=TASK,
        task_id="2-1-T2",
        blocker="The template lives in src/mail/, which the plan does not allow",
        needs="Leave to touch src/mail/templates/",
        severity="blocking",
        **ENVELOPE,
    ),
    "request-1": vbw_typed.ApprovalRequest(
        subject="Widen plan 2-1 to the mail templates",
        request_type="scope_change",
        evidence="src/mail/templates/reset.txt is the only place for the text",
        **ENVELOPE,
    ),
    "response-1": vbw_typed.ApprovalResponse(
        request_id="request-1",
        approved=True,
        reason="There is no other place",
        conditions=["The old template stays as it is"],
        modifications=["src/mail/templates/"],
        **ENVELOPE,
    ),
    "hasty-1": vbw_typed.QaVerdict(**VERDICT, **ENVELOPE),
    "update-1": vbw_typed.ExecutionUpdate(
        plan_id=TASK,
        task_id="2-1-T2",
        status="complete",
        commit="9c41e7d",
        files_modified=["src/auth/reset.py", "src/mail/templates/reset.txt"],
        evidence="20 tests pass",
        **ENVELOPE,
    ),
    "verdict-1": vbw_typed.QaVerdict(**VERDICT, **ENVELOPE),
}


class Stage:
    """A bus whose clock is put forward by hand. `ticking` adds the time that really passes, as on any machine."""

    def __init__(self, begins_at: float, *, ticking: bool) -> None:
        self._passed = 0.0
        self._real: Callable[[], float] = time.monotonic if ticking else lambda: 0.0
        self._began = self._real()
        self.clock = SteadyClock(lambda: begins_at + self._ticks(), self._ticks, self.later)

    def _ticks(self) -> float:
        return self._passed + self._real() - self._began

    def later(self, seconds: float) -> None:
        self._passed += seconds


class Play:
    def __init__(self, bus: SyncBus, stage: Stage) -> None:
        self.bus, self.stage = bus, stage

    def send(self, sender: str, to: str, id: str) -> bool:
        return self.bus.send(MESSAGES[id], sender=sender, to=to, id=id, check=False).accepted

    def take(self, agent: str, *, after: float) -> LeasedMessage:
        self.stage.later(after)
        [leased] = self.bus.receive(agent)
        return leased

    def deal(self, agent: str, *, after: float, takes: float) -> None:
        """The agent takes what waits for it, after a while, and acks it when it has dealt with it."""
        leased = self.take(agent, after=after)
        self.stage.later(takes)
        self.bus.ack(leased.token, agent=agent)

    def whole(self) -> None:
        """From the scout's findings to the verdict."""
        for name in TEAM:
            self.bus.join(name)
        self.send("scout", "lead", "findings-1")
        self.deal("lead", after=1.3, takes=8.4)
        self.send("lead", "*", "plan-2-1")
        for agent in ("dev", "qa", "docs", "architect", "scout"):
            self.deal(agent, after=0.6, takes=0.3)

        self.stage.later(212.0)
        self.send("dev", "lead", "blocker-1")
        leased = self.take("lead", after=0.8)
        self.stage.later(4.1)
        self.bus.nack(leased.token, agent="lead", reason="context is full, compacting first", delay=20.0)
        self.deal("lead", after=20.0, takes=6.2)

        self.send("dev", "architect", "request-1")
        leased = self.take("architect", after=2.2)
        self.stage.later(40.6)
        self.send("architect", "dev", "response-1")
        self.bus.ack(leased.token, agent="architect")
        self.deal("dev", after=1.0, takes=0.4)

        self.stage.later(305.0)
        assert not self.send("dev", "lead", "hasty-1"), "who wrote it may not judge it"
        self.stage.later(5.0)
        self.send("dev", "lead", "update-1")
        self.deal("lead", after=1.1, takes=2.0)
        self.stage.later(118.0)
        self.send("qa", "lead", "verdict-1")
        self.deal("lead", after=0.9, takes=3.0)


def picture() -> str:
    stage = Stage(MONDAY, ticking=False)
    with telex.connect("memory:", clock=stage.clock) as bus:
        Play(bus, stage).whole()
        return render_svg(bus.trace(TASK))


def main() -> None:
    parser = argparse.ArgumentParser(description="Play a conversation of six agents.")
    parser.add_argument("store", nargs="?", help="a file that is not there yet")
    parser.add_argument("--picture", metavar="FILE", help="draw it into this file; nothing is kept")
    chosen = parser.parse_args()
    if chosen.picture:
        Path(chosen.picture).write_text(picture(), encoding="utf-8")
        return
    if chosen.store is None or Path(chosen.store).exists():
        parser.error("say where to keep it: a file that is not there yet")
    stage = Stage(time.time() - LASTS_SECONDS, ticking=True)
    with telex.connect(chosen.store, clock=stage.clock) as bus:
        Play(bus, stage).whole()
    print(f"stored a conversation of {len(TEAM)} agents: telex trace {TASK} --store {chosen.store}")


if __name__ == "__main__":
    main()

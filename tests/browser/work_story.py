"""A team with work in hand: what the page has to show of it, all at once. The record ends about now."""

import time
from pathlib import Path
from typing import Any

from telex.client import SyncBus
from telex.clock import SteadyClock
from telex.config import Settings
from telex.connection import connect
from telex.dialects.builtin.vbw_typed import (
    APPROVAL_REQUEST,
    BLOCKER_REPORT,
    EXECUTION_UPDATE,
    PLAN_CONTRACT,
    SHUTDOWN_RESPONSE,
)
from telex.dialects.scalars import format_timestamp
from tests.bus.bus_team import flow, speech_of
from tests.work.contract_team import typed

QUICK = Settings(durable=False)
LASTS_SECONDS = 3_000.0
CAST = {"lead": "lead", "dev": "dev", "dev-2": "dev", "qa": "qa", "senior": "senior", "scout": "scout"}


class Passing(SteadyClock):
    """Time that passes when the story says so."""

    def __init__(self, begins_at: float) -> None:
        self.at = begins_at
        super().__init__(lambda: self.at, lambda: self.at, self.later)

    def later(self, seconds: float) -> None:
        self.at += seconds


class Work:
    def __init__(self, bus: SyncBus, clock: Passing) -> None:
        self.bus, self.clock = bus, clock

    def say(self, tree: Any, sender: str, to: str, **more: Any) -> str:
        self.clock.later(2.0)
        if isinstance(tree, dict) and "author_role" in tree:
            tree["author_role"], tree["timestamp"] = CAST[sender], format_timestamp(self.clock.now())
        return self.bus.send(tree, sender=sender, to=to, check=False, **more).id

    def deal(self, *agents: str, after: float = 3.0) -> None:
        for agent in agents:
            self.clock.later(after)
            for leased in self.bus.receive(agent, limit=100):
                self.clock.later(0.4)
                self.bus.ack(leased.token, agent=agent)

    def update(self, sender: str, task: str, *files: str, status: str = "partial", **more: Any) -> None:
        made = typed(
            EXECUTION_UPDATE, task, plan_id="1-1", task_id=task, files_modified=[*files], status=status, **more
        )
        self.say(made, sender, "lead")


def play(path: Path) -> None:
    """The whole of it, into a store of that name."""
    clock = Passing(time.time() - LASTS_SECONDS)
    with connect(path, settings=QUICK, clock=clock) as bus:
        work = Work(bus, clock)
        for name, role in CAST.items():
            bus.join(name, role=role)
        _contracts(work)
        _refusals(work)
        for words, to in (("Please look at the flaky test in tests/auth.", "scout"), ("Is the vault open?", "scout")):
            work.say(words, "qa", to)
            for attempt in range(3):
                [leased] = work.bus.receive(to, wait=60.0)
                work.clock.later(1.0)
                work.bus.nack(leased.token, agent=to, reason=f"No network, attempt {attempt + 1}: connection refused.")
        work.deal("lead", "qa")
        clock.at = time.time() - 640.0
        _escalation(work)
        _approvals(work)
        for who, whom in (("dev", "dev-2"), ("dev-2", "qa"), ("qa", "dev")):
            made = typed(
                BLOCKER_REPORT, f"{who}-T", id=f"blocked-{who}", severity="blocking", plan_id="1-1", task_id=f"{who}-T"
            )
            made["payload"]["description"] = f"{who} cannot go on before {whom} has answered."
            work.say(made, who, whom)
        clock.at = time.time() - 90.0
        _shutdown(work)


def _contracts(work: Work) -> None:
    plan = typed(
        PLAN_CONTRACT, plan_id="1-1", objective="People can reset a forgotten password by mail", phase_id="1",
        tasks=["Tokens that work once", "The mail itself", "A page that says how"], token_budget=60_000,
        allowed_paths=["src/auth/", "tests/auth/", "docs/"], forbidden_paths=[".env", "src/auth/keys.py"],
        must_haves=["A link works once"], verification_checks=["pytest tests/auth"], depends_on=None,
    )  # fmt: skip
    work.say(plan, "lead", "*")
    work.deal("dev", "dev-2", "qa", "senior", "scout")
    for number in range(6):
        work.clock.later(90.0)
        work.update("dev", "Tokens that work once", "src/auth/tokens.py", tokens_used=3_000 + 500 * number)
        work.deal("lead", after=4.0 + 9.0 * number)
    done: dict[str, Any] = {
        "status": "complete",
        "commit": "4e1be6f9f444c5aba87d34b294b4c71009669b58",
        "tokens_used": 8_000,
    }
    work.update("dev", "Tokens that work once", "src/auth/tokens.py", **done)
    work.deal("lead")


def _refusals(work: Work) -> None:
    for number in range(4):
        work.clock.later(40.0)
        work.update("dev", "The mail itself", "src/auth/mail.py", f"src/mail/reset-{number}.txt")
    work.update("dev-2", "The mail itself", ".env")
    work.update("dev-2", "The mail itself", "src/mail/reset.txt", status="finished")
    for _ in range(3):
        work.clock.later(25.0)
        made = speech_of("vbw-typed", "qa_verdict")
        made.tree["payload"]["result"] = "PASSED"
        work.say(made.tree | {"id": f"verdict-{work.clock.at}"}, "qa", "lead")
    work.say({"type": "qa_verdict", "id": "short"}, "qa", "lead")
    work.say("The tests are green.", "qa", "laed")
    work.say("The tests are green.", "qa", "lead")


def _escalation(work: Work) -> None:
    raw = speech_of("vbw-company", "escalation", **{"from": "dev", "to": "senior"}).raw
    work.bus.send(raw, sender="dev", to="senior", id="escalation-1")
    for _ in range(3):
        work.clock.later(100.0)
        work.bus.sweep()


def _approvals(work: Work) -> None:
    ask = typed(
        APPROVAL_REQUEST, "The mail itself", id="request-1", request_type="scope_change", deadline=None, options=None,
        subject="Put the text of the mail into src/mail/", evidence="The template does not belong into code.",
    )  # fmt: skip
    work.say(ask, "dev", "lead")
    ask = typed(
        APPROVAL_REQUEST, "The mail itself", id="request-2", request_type="gate_override", options=None,
        subject="Commit without the slow tests", deadline=format_timestamp(work.clock.now() + 60.0),
    )  # fmt: skip
    work.say(ask, "dev-2", "lead")
    work.bus.send(flow("VALIDATION_REQUEST", "request-3", "dev", "cto", "TASK-007"), sender="dev", to="human")


def _shutdown(work: Work) -> None:
    report = work.bus.shut_down(agent="lead", reason="plan_complete", deadline=60.0, wait=False)
    [request] = report.requests
    for who, approve in (("scout", True), ("qa", False)):
        made = typed(SHUTDOWN_RESPONSE, "1-1", id=f"stop-{who}")
        status = (
            {"final_status": "complete"}
            if approve
            else {"final_status": "in_progress", "pending_work": "One check still runs."}
        )
        made["payload"] = {"request_id": request, "approve": approve} | status
        work.say(made, who, "lead")

"""Story of the demo in five scenes: a team builds a password reset."""

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Event
from typing import Any, Literal, NamedTuple

from telex.client import SyncBus
from telex.clock import SteadyClock
from telex.config import Settings
from telex.connection import connect
from telex.demo.team import CAST, DemoProject, DemoTeam, Happening, Scene, StoryClock, StoryEvent, prepare
from telex.messages import vbw_company
from telex.model.escalation import Escalation
from telex.model.finding import Finding
from telex.model.limits import LIMITS
from telex.ports.bus import Receipt

PLAN, RESET, MAIL, GUIDE = "1-1", "1-1-T1", "1-1-T2", "1-1-T3"
SHUTDOWN_SECONDS = 60.0
Verdict = Literal["approve", "changes_requested"]


def play(company: DemoTeam) -> Iterator[Happening]:
    yield from _contract(company)
    yield from _out_of_scope(company)
    yield from _escalation(company)
    yield from _review(company)
    yield from _shutdown(company)


# --- 1 ----------------------------------------------------------------------------------------------------------------


def _contract(company: DemoTeam) -> Iterator[Happening]:
    yield Scene("A contract", "says which paths may change, and every report is checked against it.")
    for name, role in CAST.items():
        company.bus.join(name, role=role, by="human")
    company.clock.later(8.0)
    yield company.typed(
        "lead", "*", "contract-1", "plan_contract", "contract 1-1: src/auth/, tests/auth/ and docs/ may change",
        plan_id=PLAN, phase_id="phase-1", objective="People can reset a forgotten password by mail",
        tasks=[RESET, MAIL, GUIDE], allowed_paths=["src/auth/", "tests/auth/", "docs/"],
        forbidden_paths=["src/auth/keys.py"], must_haves=["A link works once"],
    )  # fmt: skip
    company.clock.later(3.0)
    company.deal(*(name for name in CAST if name != "lead"))
    [story] = company.bus.why("contract-1")
    acks = sum(delivery.state == "acked" for delivery in story.deliveries)
    yield company.look("telex", f"it is in {len(story.deliveries)} inboxes, and {acks} have acked it")
    company.clock.later(140.0)
    commit = company.project.commit("Make reset links", {"src/auth/reset.py": "def link(user): ...\n"})
    yield _progress(company, "dev", 1, RESET, commit, files=["src/auth/reset.py"], status="partial")
    company.deal("lead")


def _progress(
    company: DemoTeam, who: str, number: int, task: str, commit: str, *, files: Iterable[str], status: str = "complete"
) -> StoryEvent:
    what = f"{task} {status} in {commit}: {', '.join(files)}"
    return company.typed(
        who, "lead", f"update-{number}", "execution_update", what, task=task,
        plan_id=PLAN, task_id=task, status=status, commit=commit, files_modified=list(files),
    )  # fmt: skip


# --- 2 ----------------------------------------------------------------------------------------------------------------


def _out_of_scope(company: DemoTeam) -> Iterator[Happening]:
    yield Scene("Out of scope", "is refused before and after it is done, until the contract is widened.")
    company.clock.later(35.0)
    verdict, beat = company.guard("dev", "src/mail/reset.txt")
    yield beat
    company.clock.later(20.0)
    files = {"src/auth/reset.py": "def link(user): return mail(user)\n", "src/mail/reset.txt": "Here is your link.\n"}
    commit = company.project.commit("Mail reset links", files)
    yield _progress(company, "dev", 2, RESET, commit, files=files)
    company.clock.later(6.0)
    assert verdict.ask is not None, "a refusal includes the request to send"
    request = {**verdict.ask, "id": "request-1"}
    yield company.send(request, "dev", verdict.ask_to or "lead", f"{request['payload']['subject']}?", "asked")
    company.clock.later(48.0)
    company.deal("lead")
    receipt = company.bus.approve(
        "request-1", approved=True, agent="lead", reason="There is no other place for the text",
        conditions=["Texts only, no code"], modifications=["src/mail/*.txt"],
    )  # fmt: skip
    yield company.told(receipt, "lead", "dev", "approved for src/mail/*.txt, if it is texts only")
    company.clock.later(4.0)
    company.deal("dev")
    yield company.guard("dev", "src/mail/reset.txt")[1]
    company.clock.later(5.0)
    yield _progress(company, "dev", 3, RESET, commit, files=files)
    company.deal("lead")


# --- 3 ----------------------------------------------------------------------------------------------------------------


def _escalation(company: DemoTeam) -> Iterator[Happening]:
    yield Scene("An escalation", "without an answer goes one step further up, until it reaches a person.")
    company.clock.later(30.0)
    yield company.typed(
        "dev-2", "lead", "blocker-1", "blocker_report", "1-1-T2 is blocked: there is no key for the mail server",
        task=MAIL, plan_id=PLAN, task_id=MAIL, blocker="There is no key for the mail server",
        needs="A key, or leave to make one", severity="blocking",
    )  # fmt: skip
    company.clock.later(10.0)
    company.deal("lead")
    issue: dict[str, Any] = vbw_company.escalation(
        from_="dev", to="senior", issue="Who may give out a key for the mail server?",
        evidence=["The plan does not say"], recommendation="Give dev-2 a key for tests", severity="blocking",
    )  # fmt: skip
    yield company.send(
        issue, "dev-2", "senior", "who may give out a key for the mail server?", "asked",
        id="escalation-1", correlation=MAIL,
    )  # fmt: skip
    steps = 1
    while steps < 4:  # senior, lead, architect, human
        company.clock.later(301.0)
        company.deal("lead", "dev", "dev-2", "qa", "docs")  # reading is no answer
        [escalation] = company.bus.escalations()
        if len(escalation.rungs) == steps:
            break
        steps = len(escalation.rungs)
        before, now = escalation.rungs[-2:]
        what = f"no answer from {before.to.removeprefix('role:')} in 5 min: escalation-1 goes on"
        yield StoryEvent(company.clock.story, "climbed", "telex", now.to.removeprefix("role:"), what, id=now.id)
    company.clock.later(15.0)
    stall = company.bus.stall()
    knots = tuple(Finding(knot.kind, "$", knot.say, "note") for knot in stall.knots[:1])
    yield company.look("human", f"telex stall: {len(stall.waits)} wait for somebody", knots)
    company.clock.later(25.0)
    company.deal("human")
    yield company.send(
        "You may: the key for tests is in the team's vault.", "human", "dev-2", "you may: it is in the team's vault",
        reply_to="escalation-1",
    )  # fmt: skip
    company.deal("dev-2", "senior", "architect")


# --- 4 ----------------------------------------------------------------------------------------------------------------


def _review(company: DemoTeam) -> Iterator[Happening]:
    yield Scene("A review", "fails, is fixed and passes. What git contradicts is marked.")
    company.clock.later(120.0)
    commit = company.project.commit("Send the mail", {"src/auth/mail.py": "def mail(user): ...\n"})
    made = ["src/auth/mail.py", "tests/auth/test_mail.py"]
    yield _progress(company, "dev-2", 4, MAIL, commit, files=made, status="partial")
    company.clock.later(60.0)
    yield _reviewed(company, 1, "changes_requested", findings=3, critical=1)
    company.clock.later(12.0)
    company.deal("lead")
    yield company.send("Fix what the review found, please.", "lead", "dev-2", "fix what the review found, please")
    company.deal("dev-2")
    company.clock.later(95.0)
    files = {"src/auth/mail.py": "def mail(user): once(user)\n", "tests/auth/test_mail.py": "def test_once(): ...\n"}
    commit = company.project.commit("Send it once", files)
    yield _progress(company, "dev-2", 5, MAIL, commit, files=files)
    company.clock.later(40.0)
    yield _reviewed(company, 2, "approve", findings=1, critical=0)
    company.clock.later(20.0)
    commit = company.project.commit("Say how", {"docs/reset.md": "# Reset a password\n"})
    yield _progress(company, "docs", 6, GUIDE, commit, files=["docs/reset.md"])
    company.clock.later(30.0)
    yield company.typed(
        "qa", "lead", "verdict-1", "qa_verdict", "PASS: 24 of 24 checks", task=PLAN,
        tier="standard", result="PASS", checks={"passed": 24, "failed": 0, "total": 24},
    )  # fmt: skip
    company.deal("lead")
    company.clock.later(5.0)
    yield company.typed(
        "lead", "*", "close-1", "contract_close", "contract 1-1 is closed", plan_id=PLAN, reason="It passed",
    )  # fmt: skip
    company.deal(*(name for name in CAST if name != "lead"))


def _reviewed(company: DemoTeam, cycle: int, result: Verdict, *, findings: int, critical: int) -> StoryEvent:
    message: dict[str, Any] = vbw_company.code_review_result(
        plan_id=PLAN, result=result, cycle=cycle, findings_count=findings, critical=critical,
        artifact="docs/review.md", committed=True,
    )  # fmt: skip
    asks = "changes, please" if critical else "approved"
    what = f"review {cycle}: {asks} ({findings} {'finding' if findings == 1 else 'findings'}, {critical} critical)"
    return company.send(message, "senior", "lead", what, id=f"review-{cycle}", correlation=MAIL)


# --- 5 ----------------------------------------------------------------------------------------------------------------


def _shutdown(company: DemoTeam) -> Iterator[Happening]:
    yield Scene("A shutdown", "ends, whether every agent answers or not; no message is left.")
    company.clock.later(20.0)
    for guest in ("senior", "architect"):
        company.bus.leave(guest)
    company.bus.send("One more idea for later: a reset by text message.", sender="qa", to="dev-2", id="idea-1")
    yield company.look("lead", "senior and architect are done and leave")
    company.clock.later(5.0)
    report = company.bus.shut_down(agent="lead", reason="plan_complete", deadline=SHUTDOWN_SECONDS, wait=False)
    [request] = report.requests
    yield StoryEvent(company.clock.story, "asked", "lead", "all", "shut down, please: the plan is complete", id=request)
    company.clock.later(4.0)
    company.deal("dev", "docs", "qa")
    yield company.send("Ok, bye!", "dev", "lead", "“Ok, bye!”", id="prose-1")
    company.clock.later(3.0)
    yield _stopped(company, "dev", request, "complete")
    company.clock.later(2.0)
    yield company.send("Wait, one more thing …", "dev", "lead", "“Wait, one more thing …”", id="late-1")
    yield _stopped(company, "docs", request, "idle")
    company.clock.later(6.0)
    yield _stopped(company, "qa", request, "in_progress", pending="One check still runs")
    company.clock.later(20.0)
    yield _stopped(company, "qa", request, "complete")
    report = company.bus.shut_down(agent="lead", reason="plan_complete", deadline=SHUTDOWN_SECONDS)
    silent = ", ".join(member_shutdown.member.name for member_shutdown in report.of("silent"))
    yield company.look("lead", f"60 s are over: {silent} is silent, so the team is not dissolved")
    company.clock.later(10.0)
    report = company.bus.shut_down(agent="lead", reason="plan_complete", deadline=600.0, wait=False, force=True)
    forced = ", ".join(member_shutdown.member.name for member_shutdown in report.of("forced"))
    back = f"; {len(report.returned)} returned" if report.returned else ""
    ended = "the team is dissolved" if report.dissolved else "the team is not dissolved"
    yield StoryEvent(company.clock.story, "stopped", "lead", None, f"--force: {forced} is stopped{back}; {ended}")


def _stopped(company: DemoTeam, who: str, request: str, status: str, pending: str | None = None) -> StoryEvent:
    fields: dict[str, Any] = {"request_id": request, "approve": pending is None, "final_status": status}
    if pending is not None:
        fields["pending_work"] = pending
    what = "yes, I stop" if pending is None else f"not yet: {pending[0].lower()}{pending[1:]}"
    beat = company.typed(who, "lead", f"stop-{who}-{status}", "shutdown_response", what, **fields)
    return beat._replace(sign="stopped") if pending is None and beat.sign == "stored" else beat


class DemoRun(NamedTuple):
    path: str  # of the store
    bus: SyncBus
    clock: StoryClock
    story: Iterator[Happening]


@contextmanager
def playing(store: str | None, clock: StoryClock | None = None) -> Iterator[DemoRun]:
    """The story, about to begin. It goes on as it is told.

    Raises:
        StoreUnavailable: there is something else where it would be stored.
    """
    path, clock = prepare(store), clock or StoryClock()
    project = DemoProject(os.path.dirname(path) or ".", clock)  # before the bus, which looks for it when it is opened
    with connect(path, settings=Settings(), clock=clock) as bus:
        yield DemoRun(path, bus, clock, play(DemoTeam(bus, clock, project)))


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

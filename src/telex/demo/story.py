"""Story of the demo in five scenes: a team builds a password reset. It runs once, or endlessly for the hub.

In the endless demo agents really wait, but shorter than in the story, and events appear on the page when they happen.
Each round is the same story about another plan, in one store. The store keeps the last hour.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import Event
from typing import Any, Literal

from telex.client import SyncBus
from telex.config import Settings
from telex.connection import connect
from telex.demo.team import (
    CAST,
    DemoEnded,
    DemoProject,
    DemoTeam,
    Happening,
    Scene,
    StoryClock,
    StoryEvent,
    WallClock,
    prepare,
)
from telex.messages.vbw_company import CodeReviewResult, Escalation
from telex.model.finding import Finding
from telex.model.limits import LIMITS
from telex.model.named_tuple import NamedTuple

SHUTDOWN_SECONDS = 60.0
Verdict = Literal["approve", "changes_requested"]

PACE = 30.0  # of the endless demo
READ_SECONDS = 0.6  # after each event
REST_SECONDS = 20.0  # between two rounds
ROUNDS_MAX = 100
SETTINGS = Settings(
    team_name="The demo team",
    limits=LIMITS._replace(escalation_seconds=LIMITS.escalation_seconds / PACE, retention_seconds=3_600.0),
)


class DemoRun(NamedTuple):
    path: str  # of the store
    bus: SyncBus
    clock: StoryClock
    story: Iterator[Happening]


@contextmanager
def playing(store: str | None, clock: StoryClock | None = None) -> Iterator[DemoRun]:
    """The demo, ready to run: each step runs when the next event of `story` is requested.

    Raises:
        StoreUnavailable: the folder of the store has other files.
    """
    path, clock = prepare(store), clock or StoryClock()
    project = DemoProject(os.path.dirname(path) or ".", clock)  # before the bus, which looks for it when it is opened
    with connect(path, settings=Settings(), clock=clock) as bus:
        yield DemoRun(path, bus, clock, play(DemoTeam(bus, clock, project)))


def keep_playing(path: str, folder: str, stop: Event, trouble: Callable[[Exception], None]) -> None:
    """Run round after round until `stop` is set. Blocks, so it needs a thread of its own.

    A user of the page may answer requests, send messages or shut the team down. A round that fails because of that
    ends, `trouble` gets the error, and the next round begins.
    """
    try:
        for number in range(1, ROUNDS_MAX + 1):
            clock = WallClock(stop, PACE)
            with connect(path, settings=SETTINGS, clock=clock) as bus:
                try:
                    for _ in play(DemoTeam(bus, clock, DemoProject(folder, clock), number)):
                        clock.later(READ_SECONDS * PACE)
                except DemoEnded:
                    raise
                except Exception as error:
                    trouble(error)
            if stop.wait(REST_SECONDS):
                return
    except DemoEnded:
        return


def play(team: DemoTeam) -> Iterator[Happening]:
    for scene in (_contract, _out_of_scope, _escalation, _review, _shutdown):
        yield from scene(team)


def _contract(team: DemoTeam) -> Iterator[Happening]:
    yield Scene("A contract", "says which paths may change, and every report is checked against it.")
    for name, role in CAST.items():
        team.bus.join(name, role=role, by="human")
    yield team.typed(
        "lead", "*", "contract-1", "plan_contract",
        f"contract {team.plan}: src/auth/, tests/auth/ and docs/ may change", plan_id=team.plan, phase_id="phase-1",
        objective="People can reset a forgotten password by mail",
        tasks=[team.task(1), team.task(2), team.task(3)], allowed_paths=["src/auth/", "tests/auth/", "docs/"],
        forbidden_paths=["src/auth/keys.py"], must_haves=["A link works once"], after=8.0,
    )  # fmt: skip
    team.ack_all(*(name for name in CAST if name != "lead"), after=3.0)
    [story] = team.bus.why(team.id("contract-1"))
    acks = sum(delivery.state == "acked" for delivery in story.deliveries)
    yield team.look("telex", f"it is in {len(story.deliveries)} inboxes, and {acks} have acked it")
    commit = team.commit("Make reset links", {"src/auth/reset.py": "def link(user): ...\n"}, after=140.0)
    yield _progress(team, "dev", 1, team.task(1), commit, files=["src/auth/reset.py"], status="partial")
    team.ack_all("lead")


def _progress(
    team: DemoTeam, who: str, number: int, task: str, commit: str, *, files: Iterable[str], **more: Any
) -> StoryEvent:
    fields = {"status": "complete", "commit": commit, "files_modified": list(files), **more}
    what = f"{task} {fields['status']} in {commit}: {', '.join(files)}"
    return team.typed(
        who, "lead", f"update-{number}", "execution_update", what, task=task, plan_id=team.plan, task_id=task, **fields
    )


def _out_of_scope(team: DemoTeam) -> Iterator[Happening]:
    yield Scene("Out of scope", "is refused before and after it is done, until the contract is widened.")
    verdict, event = team.guard("dev", "src/mail/reset.txt", after=35.0)
    yield event
    team.clock.later(20.0)
    files = {"src/auth/reset.py": "def link(user): return mail(user)\n", "src/mail/reset.txt": "Here is your link.\n"}
    commit = team.commit("Mail reset links", files)
    yield _progress(team, "dev", 2, team.task(1), commit, files=files)
    team.clock.later(6.0)
    assert verdict.ask is not None, "a refusal includes the request to send"
    request = {**verdict.ask, "id": team.id("request-1")}
    yield team.send(request, "dev", verdict.ask_to or "lead", f"{request['payload']['subject']}?", "asked")
    team.ack_all("lead", after=48.0)
    receipt = team.bus.approve(
        team.id("request-1"), approved=True, agent="lead", reason="There is no other place for the text",
        conditions=["Texts only, no code"], modifications=["src/mail/*.txt"],
    )  # fmt: skip
    yield team.answered(receipt, "lead", "dev", "approved for src/mail/*.txt, if it is texts only")
    team.ack_all("dev", after=4.0)
    yield team.guard("dev", "src/mail/reset.txt")[1]
    yield _progress(team, "dev", 3, team.task(1), commit, files=files, after=5.0)
    team.ack_all("lead")


def _escalation(team: DemoTeam) -> Iterator[Happening]:
    mail = team.task(2)
    yield Scene("An escalation", "without an answer goes one step further up, until it reaches a person.")
    yield team.typed(
        "dev-2", "lead", "blocker-1", "blocker_report", f"{mail} is blocked: there is no key for the mail server",
        task=mail, plan_id=team.plan, task_id=mail, blocker="There is no key for the mail server",
        needs="A key, or leave to make one", severity="blocking", after=30.0,
    )  # fmt: skip
    team.ack_all("lead", after=10.0)
    issue = Escalation(
        issue="Who may give out a key for the mail server?",
        evidence=["The plan does not say"], recommendation="Give dev-2 a key for tests", severity="blocking",
    )  # fmt: skip
    yield team.send(
        issue, "dev-2", "senior", "who may give out a key for the mail server?", "asked",
        id="escalation-1", correlation=mail,
    )  # fmt: skip
    steps = 1
    while steps < 4:  # senior, lead, architect, human
        team.ack_all("lead", "dev", "dev-2", "qa", "docs", after=301.0)  # reading is no answer
        [escalation] = [each for each in team.bus.escalations() if each.id == team.id("escalation-1")]
        if len(escalation.rungs) == steps:
            break
        steps = len(escalation.rungs)
        before, now = escalation.rungs[-2:]
        what = f"no answer from {before.to.removeprefix('role:')} in 5 min: escalation-1 goes on"
        yield StoryEvent(team.clock.story, "climbed", "telex", now.to.removeprefix("role:"), what, id=now.id)
    team.clock.later(15.0)
    stall = team.bus.stall()
    knots = tuple(Finding(knot.kind, "$", knot.say, "note") for knot in stall.knots[:1])
    yield team.look("human", f"telex stall: {len(stall.waits)} wait for somebody", knots)
    team.ack_all("human", after=25.0)
    yield team.send(
        "You may: the key for tests is in the team's vault.", "human", "dev-2", "you may: it is in the team's vault",
        reply_to="escalation-1",
    )  # fmt: skip
    team.ack_all("dev-2", "senior", "architect")


def _review(team: DemoTeam) -> Iterator[Happening]:
    yield Scene("A review", "fails, is fixed and passes. What git contradicts is marked.")
    commit = team.commit("Send the mail", {"src/auth/mail.py": "def mail(user): ...\n"}, after=120.0)
    made = ["src/auth/mail.py", "tests/auth/test_mail.py"]
    yield _progress(team, "dev-2", 4, team.task(2), commit, files=made, status="partial")
    yield _reviewed(team, 1, "changes_requested", findings=3, critical=1, after=60.0)
    team.ack_all("lead", after=12.0)
    yield team.send("Fix what the review found, please.", "lead", "dev-2", "fix what the review found, please")
    team.ack_all("dev-2")
    team.clock.later(95.0)
    files = {"src/auth/mail.py": "def mail(user): once(user)\n", "tests/auth/test_mail.py": "def test_once(): ...\n"}
    commit = team.commit("Send it once", files)
    yield _progress(team, "dev-2", 5, team.task(2), commit, files=files)
    yield _reviewed(team, 2, "approve", findings=1, critical=0, after=40.0)
    commit = team.commit("Say how", {"docs/reset.md": "# Reset a password\n"}, after=20.0)
    yield _progress(team, "docs", 6, team.task(3), commit, files=["docs/reset.md"])
    yield team.typed(
        "qa", "lead", "verdict-1", "qa_verdict", "PASS: 24 of 24 checks", task=team.plan,
        tier="standard", result="PASS", checks={"passed": 24, "failed": 0, "total": 24}, after=30.0,
    )  # fmt: skip
    team.ack_all("lead")
    yield team.typed(
        "lead", "*", "close-1", "contract_close", f"contract {team.plan} is closed",
        plan_id=team.plan, reason="It passed", after=5.0,
    )  # fmt: skip
    team.ack_all(*(name for name in CAST if name != "lead"))


def _reviewed(team: DemoTeam, cycle: int, result: Verdict, *, findings: int, critical: int, after: float) -> StoryEvent:
    message = CodeReviewResult(
        plan_id=team.plan, result=result, cycle=cycle, findings_count=findings, critical=critical,
        artifact="docs/review.md", committed=True,
    )  # fmt: skip
    asks = "changes, please" if critical else "approved"
    what = f"review {cycle}: {asks} ({findings} {'finding' if findings == 1 else 'findings'}, {critical} critical)"
    return team.send(message, "senior", "lead", what, id=f"review-{cycle}", correlation=team.task(2), after=after)


def _shutdown(team: DemoTeam) -> Iterator[Happening]:
    seconds = SHUTDOWN_SECONDS / team.clock.pace
    yield Scene("A shutdown", "ends, whether every agent answers or not; no message is left.")
    team.clock.later(20.0)
    for guest in ("senior", "architect"):
        team.bus.leave(guest)
    team.bus.send("One more idea for later: a reset by text message.", sender="qa", to="dev-2", id=team.id("idea-1"))
    yield team.look("lead", "senior and architect are done and leave")
    team.clock.later(5.0)
    report = team.bus.shut_down(agent="lead", reason="plan_complete", deadline=seconds, wait=False)
    [request] = report.requests
    yield StoryEvent(team.clock.story, "asked", "lead", "all", "shut down, please: the plan is complete", id=request)
    team.ack_all("dev", "docs", "qa", after=4.0)
    yield team.send("Ok, bye!", "dev", "lead", "“Ok, bye!”", id="prose-1")
    yield _stopped(team, "dev", request, "complete", after=3.0)
    yield team.send("Wait, one more thing …", "dev", "lead", "“Wait, one more thing …”", id="late-1", after=2.0)
    yield _stopped(team, "docs", request, "idle")
    yield _stopped(team, "qa", request, "in_progress", pending="One check still runs", after=6.0)
    yield _stopped(team, "qa", request, "complete", after=20.0)
    report = team.bus.shut_down(agent="lead", reason="plan_complete", deadline=seconds)
    silent = ", ".join(each.member.name for each in report.of("silent"))
    yield team.look("lead", f"60 s are over: {silent} is silent, so the team is not dissolved")
    team.clock.later(10.0)
    report = team.bus.shut_down(agent="lead", reason="plan_complete", deadline=10 * seconds, wait=False, force=True)
    forced = ", ".join(each.member.name for each in report.of("forced"))
    back = f"; {len(report.returned)} returned" if report.returned else ""
    ended = "the team is dissolved" if report.dissolved else "the team is not dissolved"
    yield StoryEvent(team.clock.story, "stopped", "lead", None, f"--force: {forced} is stopped{back}; {ended}")


def _stopped(
    team: DemoTeam, who: str, request: str, status: str, pending: str | None = None, after: float = 0.0
) -> StoryEvent:
    fields: dict[str, Any] = {"request_id": request, "approve": pending is None, "final_status": status}
    if pending is not None:
        fields["pending_work"] = pending
    what = "yes, I stop" if pending is None else f"not yet: {pending[0].lower()}{pending[1:]}"
    event = team.typed(who, "lead", f"stop-{who}-{status}", "shutdown_response", what, after=after, **fields)
    return event._replace(sign="stopped") if pending is None and event.sign == "stored" else event

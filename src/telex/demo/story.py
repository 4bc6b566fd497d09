"""Story of the demo in five scenes: a team builds a password reset. It runs once, or endlessly for the hub.

In the endless demo agents really wait, but shorter than in the story, and hold their messages while they work; an
approval and an escalation wait for a visitor of the page. Each round is the same story about another plan, in one
store. The store keeps the last hour.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import cycle
from threading import Event
from typing import Any, Literal

from telex.client import SyncBus
from telex.config import Settings
from telex.connection import connect
from telex.demo.hands import Hands
from telex.demo.stage import STAGE, Act
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
from telex.model.roster import HUMAN

SHUTDOWN_SECONDS = 60.0
Verdict = Literal["approve", "changes_requested"]

PACE = 8.0  # of the endless demo
READ_SECONDS = 0.6  # after each event
REST_SECONDS = 8.0  # between two rounds
ESCALATION_SECONDS = 15.0
VISITOR_SECONDS = 75.0  # in which a visitor may answer before the team does
CHAT_SECONDS = 6.0  # between two messages while the team waits for a visitor
ROUNDS_MAX = 100
PAST_SETTINGS = Settings(team_name="The demo team", limits=LIMITS._replace(retention_seconds=3_600.0))
SETTINGS = PAST_SETTINGS._replace(limits=PAST_SETTINGS.limits._replace(escalation_seconds=ESCALATION_SECONDS))
ACTS = 5
CHAT = (
    ("qa", "dev", "How long does a reset link live: one hour, or until it is used?"),
    ("dev", "qa", "Until it is used, and one hour at most. test_link covers both."),
    ("docs", "lead", "Shall the page show the address that the mail comes from?"),
    ("lead", "docs", "Yes: people look for it in their spam folder."),
    ("qa", "lead", "The mail tests take 40 s. I split them, so that the quick ones run first."),
    ("dev", "docs", "The subject line is now: Reset your password."),
    ("docs", "dev", "Thanks. I have changed the picture as well."),
)  # sender, recipient, text


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


def keep_playing(
    path: str, folder: str, stop: Event, trouble: Callable[[Exception], None], begun: Event | None = None
) -> None:
    """Run round after round until `stop` is set. Blocks, so it needs a thread of its own.

    The first round lies in the past, so that there is something to see at once; `begun` is set when it is stored. A
    user of the page may answer requests, send messages or shut the team down. A round that fails because of that ends,
    `trouble` gets the error, and the next round begins.
    """
    try:
        for number in range(1, ROUNDS_MAX + 1):
            try:
                (_play_past if number == 1 else _play_live)(path, folder, stop, number)
            except DemoEnded:
                raise
            except Exception as error:
                trouble(error)
            if begun is not None:
                begun.set()
            if stop.wait(REST_SECONDS if number > 1 else 0.0):
                return
    except DemoEnded:
        return
    finally:
        STAGE.play(None)
        if begun is not None:
            begun.set()


def _play_past(path: str, folder: str, stop: Event, number: int) -> None:
    clock = StoryClock()
    with connect(path, settings=PAST_SETTINGS, clock=clock) as bus:
        for _ in play(DemoTeam(bus, clock, DemoProject(folder, clock), number)):
            if stop.is_set():
                raise DemoEnded


def _play_live(path: str, folder: str, stop: Event, number: int) -> None:
    clock = WallClock(stop, PACE, escalation_seconds=ESCALATION_SECONDS, visitor_seconds=VISITOR_SECONDS)
    with connect(path, settings=SETTINGS, clock=clock) as bus:
        hands = Hands(path, SETTINGS, tuple(name for name in CAST if name != HUMAN), stop)
        acts = 0
        try:
            for happening in play(DemoTeam(bus, clock, DemoProject(folder, clock), number, hands)):
                if isinstance(happening, Scene):
                    acts += 1
                    STAGE.play(Act(acts, ACTS, happening.title, happening.says))
                elif not hands.is_alive() and acts == 1:
                    hands.start()  # the agents have joined
                clock.later(READ_SECONDS * PACE)
        finally:
            hands.rest()


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
    yield from _visitor(team, lambda: _is_answered(team, "request-1"), "Allow or reject what dev asks for: Needs you.")
    team.ack_all("lead", after=48.0 if team.clock.visitor_seconds == 0 else 0.0)
    if not _is_answered(team, "request-1"):
        receipt = team.bus.approve(
            team.id("request-1"), approved=True, agent="lead", reason="There is no other place for the text",
            conditions=["Texts only, no code"], modifications=["src/mail/*.txt"],
        )  # fmt: skip
        yield team.answered(receipt, "lead", "dev", "approved for src/mail/*.txt, if it is texts only")
    team.ack_all("dev", after=4.0)
    verdict, event = team.guard("dev", "src/mail/reset.txt")
    yield event
    if not verdict.allowed:  # a visitor rejected it
        files = {"src/auth/reset.py": files["src/auth/reset.py"]}
        commit = team.commit("Mail without a text of its own", files)
    yield _progress(team, "dev", 3, team.task(1), commit, files=files, after=5.0)
    team.ack_all("lead")
    if team.clock.visitor_seconds:
        yield from _ask_more(team)


def _ask_more(team: DemoTeam) -> Iterator[Happening]:
    """A second request, which stays open for a visitor until the end of the round."""
    verdict, _ = team.guard("dev-2", "pyproject.toml")
    if verdict.ask is not None:
        request = {**verdict.ask, "id": team.id("request-2")}
        yield team.send(request, "dev-2", verdict.ask_to or "lead", f"{request['payload']['subject']}?", "asked")


def _is_answered(team: DemoTeam, id_: str) -> bool:
    approvals = team.bus.work_state("approval").values()
    return not any(approval.waits for approval in approvals if approval.request.id == team.id(id_))


def _visitor(team: DemoTeam, is_answered: Callable[[], bool], says: str) -> Iterator[Happening]:
    """Wait for an answer of a visitor, while the team goes on talking."""
    if team.clock.visitor_seconds == 0:
        return
    until = team.clock.now() + team.clock.visitor_seconds
    STAGE.ask_visitor(says, until)
    for sender, to, text in cycle(CHAT):
        if team.clock.now() >= until or is_answered():
            break
        team.clock.later(CHAT_SECONDS * team.clock.pace)
        yield team.send(text, sender, to, text)
    STAGE.ask_visitor("", None)


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
        team.ack_all("lead", "dev", "dev-2", "qa", "docs", after=team.clock.escalation_seconds + 1.0)  # no answers
        [escalation] = [each for each in team.bus.escalations(answered=True) if each.id == team.id("escalation-1")]
        if len(escalation.rungs) == steps:  # a visitor has answered
            break
        steps = len(escalation.rungs)
        before, now = escalation.rungs[-2:]
        what = f"no answer from {before.to.removeprefix('role:')} in 5 min: escalation-1 goes on"
        yield StoryEvent(team.clock.story, "climbed", "telex", now.to.removeprefix("role:"), what, id=now.id)
    team.clock.later(15.0)
    stall = team.bus.stall()
    knots = tuple(Finding(knot.kind, "$", knot.say, "note") for knot in stall.knots[:1])
    yield team.look("human", f"telex stall: {len(stall.waits)} wait for somebody", knots)
    yield from _visitor(team, lambda: not _climbs(team), "Answer the escalation of dev-2: Needs you.")
    if _climbs(team):
        team.ack_all("human", after=25.0)
        yield team.send(
            "You may: the key for tests is in the team's vault.", "human", "dev-2",
            "you may: it is in the team's vault", reply_to="escalation-1",
        )  # fmt: skip
    team.ack_all("dev-2", "senior", "architect")


def _climbs(team: DemoTeam) -> bool:
    return any(escalation.id == team.id("escalation-1") for escalation in team.bus.escalations())


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
    team.rest()
    if not _is_answered(team, "request-2"):
        team.bus.approve(team.id("request-2"), approved=False, agent="lead", reason="Not in this plan")
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

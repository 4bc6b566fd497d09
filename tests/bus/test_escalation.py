"""Escalations: answers, timeouts, races, and a model of random answers, departures and restarts."""

import json
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from telex.bus import run_sync
from telex.bus.escalate import escalate_further, with_events
from telex.dialects.registry import BUILT_IN
from telex.errors import TelexError
from telex.model.roster import Member
from telex.model.work import Escalation
from telex.ports.store import overdue_requests
from telex.validation.check import CheckPolicy, check
from telex.work import reducer
from tests.bus.bus_team import QUICK, OpenTeam, Team, codes, empty_store, flow, speech_of
from tests.console_examples import FailingCursor
from tests.proofs import proves
from tests.stores.store_kit import before_next_transaction

FIVE_MINUTES = 300.0


def escalate(team: Team, id: str = "e1", sender: str = "dev", to: str = "senior", **more: Any) -> None:
    raw = speech_of("vbw-company", "escalation", **{"from": sender, "to": to}).raw
    receipt = team.bus.send(raw, sender=sender, to=to, id=id, **more)
    assert receipt.accepted, receipt.findings


def matter(team: Team, id: str = "e1") -> Escalation:
    [found] = [one for one in team.bus.escalations(answered=True) if one.id == id]
    return found


def levels(team: Team, id: str = "e1") -> list[str]:
    return [rung.level for rung in matter(team, id).rungs]


def answered(team: Team, id: str = "e1") -> bool:
    return not matter(team, id).is_open


# --- waiting and answering -------------------------------------------------------------------------------------------


@proves("escalation/one-step")
def test_an_escalation_that_skips_a_step_is_refused_and_nothing_waits(team: Team) -> None:
    raw = speech_of("vbw-company", "escalation", to="lead").raw
    receipt = team.bus.send(raw, sender="dev", to="lead", id="e1", check=False)
    assert codes(receipt.findings) == ["escalation-skips-a-step"]
    team.later(10 * FIVE_MINUTES)
    assert team.bus.escalations(answered=True) == []
    assert team.kinds("e1") == ["refused"]


@proves("escalation/one-step")
@pytest.mark.parametrize("to", ["human", "lead", "role:architect", "zoe", "*"])
def test_a_step_is_judged_by_where_the_escalation_is_delivered(team: Team, to: str) -> None:
    team.bus.join("zoe", role="lead")
    raw = speech_of("vbw-company", "escalation").raw  # from dev to senior
    assert codes(team.bus.send(raw, sender="dev", to=to, id="e1", check=False).findings) == ["escalation-skips-a-step"]
    cto = flow("ESCALATION_REQUEST", "e2", "fullstack-developer", "cto")
    assert codes(team.bus.send(cto, sender="fullstack-developer", to="human", check=False).findings) == [
        "escalation-skips-a-step"
    ]
    assert team.bus.escalations(answered=True) == []
    assert team.bus.send(raw, sender="dev", to="role:senior", id="e3").accepted


@proves("escalation/one-step")
def test_a_level_that_nobody_here_has_may_be_skipped(open_team: OpenTeam) -> None:
    team = open_team(members=(Member("dev", "dev", declared=True), Member("zoe", "lead", declared=True)))
    raw = speech_of("vbw-company", "escalation").raw
    assert codes(team.bus.send(raw, sender="dev", to="human", id="e1", check=False).findings) == [
        "escalation-skips-a-step"
    ]
    assert team.bus.send(raw, sender="dev", to="zoe", id="e2").accepted


@proves("escalation/deadline")
@pytest.mark.parametrize("limit", [FIVE_MINUTES, 7.0])
def test_an_escalation_waits_as_long_as_the_team_has_set(open_team: OpenTeam, limit: float) -> None:
    team = open_team() if limit == FIVE_MINUTES else open_team(escalation_seconds=limit)
    escalate(team)
    team.later(limit - 0.5)
    assert levels(team) == ["senior"]
    assert matter(team).now.due_at == pytest.approx(team.clock.now() + 0.5)
    team.later(1.0)
    assert levels(team) == ["senior", "lead"]


@proves("escalation/reading-is-no-answer")
def test_reading_and_acking_it_is_no_answer(team: Team) -> None:
    escalate(team)
    team.bus.read("e1", agent="senior")
    assert team.taken("senior") == ["e1"]
    assert not answered(team)
    team.later(FIVE_MINUTES)
    assert levels(team) == ["senior", "lead"]


@proves("escalation/answer/names-it")
def test_a_plain_text_that_names_it_answers_it(team: Team) -> None:
    escalate(team)
    team.note("Keep the session.", "senior", "dev", reply_to="e1")
    assert (matter(team).answered_by, matter(team).answered_at) == ("senior", team.clock.now())
    assert team.bus.escalations() == []
    team.later(10 * FIVE_MINUTES)
    assert levels(team) == ["senior"]


@proves("escalation/answer/conversation", "escalation/answer/elsewhere")
def test_a_message_of_the_conversation_answers_it_when_it_goes_back(team: Team) -> None:
    escalate(team, correlation="T-1")
    team.note("See T-1.", "senior", "qa-lead", correlation="T-1")
    team.note("Another matter.", "senior", "dev", correlation="T-2")
    assert not answered(team)
    team.note("Keep the session.", "senior", "dev", correlation="T-1")
    assert answered(team)


@proves("escalation/answer/conversation")
def test_a_typed_message_of_the_conversation_answers_it_too(team: Team) -> None:
    team.bus.send(flow("ESCALATION_REQUEST", "x1", "build-orchestrator", "cto"), sender="build-orchestrator", to="cto")
    report = flow("ERROR_REPORT", "r1", "cto", "build-orchestrator")
    assert team.bus.send(report, sender="cto", to="build-orchestrator").accepted
    assert not answered(team, "x1"), "a report with no part in the work comes along in any conversation"
    status = flow("STATUS_UPDATE", "s1", "cto", "build-orchestrator")
    assert team.bus.send(status, sender="cto", to="build-orchestrator").accepted
    assert answered(team, "x1")


@proves("escalation/answer/from-above", "escalation/answer/a-person")
@pytest.mark.parametrize("who", ["lead", "architect", "human"])
def test_whoever_is_above_may_answer_before_it_has_come_there(team: Team, who: str) -> None:
    escalate(team)
    team.note("Keep the session.", who, "dev", reply_to="e1")
    assert matter(team).answered_by == who


@proves("escalation/answer/from-aside")
def test_nobody_else_answers_it(team: Team) -> None:
    team.bus.join("dee", role="dev")
    team.bus.join("kim", role="lead")
    escalate(team, "e2", "senior", "lead")
    for who in ("senior", "dev", "dee", "qa-lead", "scout"):
        team.note("Me too.", who, "architect", reply_to="e2")
        team.note("Me too.", who, "kim", reply_to="e2")
    assert not answered(team, "e2")
    team.note("Keep it.", "kim", "senior", reply_to="e2")
    assert matter(team, "e2").answered_by == "kim"


@proves("escalation/answer/handing-on")
def test_handing_it_up_oneself_is_no_answer(team: Team) -> None:
    escalate(team)
    escalate(team, "e2", "senior", "lead", reply_to="e1")
    assert [one.id for one in team.bus.escalations()] == ["e1", "e2"]
    assert levels(team, "e2") == ["lead"]


@proves("escalation/answer/late")
def test_who_was_asked_first_may_still_answer_and_that_ends_all_of_it(team: Team) -> None:
    escalate(team)
    for _ in range(3):
        team.later(FIVE_MINUTES)
    steps = [rung.id for rung in matter(team).rungs]
    assert len(steps) == 4
    team.note("Keep the session.", "senior", "dev", reply_to="e1")
    assert answered(team)
    assert all(team.kinds(step)[-1] == "answered" for step in steps)
    team.note("Too late.", "human", "dev", reply_to=steps[-1])
    assert matter(team).answered_by == "senior"


# --- climbing --------------------------------------------------------------------------------------------------------


@proves("escalation/climb/chain", "escalation/climb/person", "escalation/climb/told")
def test_it_climbs_the_chain_to_a_person_and_stays_there(team: Team) -> None:
    escalate(team)
    for climbed in (1, 2, 3):
        team.later(FIVE_MINUTES)
        assert levels(team) == ["senior", "lead", "architect", "human"][: climbed + 1]
    team.later(365 * 86_400.0)
    [found] = team.bus.escalations()
    assert (found.now.to, found.now.due_at, len(found.rungs)) == ("human", None, 4)
    assert team.inbox("human") == [found.now.id]
    assert team.inbox("senior") == ["e1"], "the old one stays where it was put"
    [told, *_] = team.happened("reply-overdue")
    assert (told["id"], told["climbed_to"], told["by"]) == ("e1", "role:lead", found.rungs[1].id)
    team.note("Keep the session.", "human", "dev", reply_to=found.now.id)
    assert team.bus.escalations() == []


@proves("escalation/climb/cto")
def test_in_build_flow_it_climbs_from_the_cto_to_a_human(team: Team) -> None:
    raw = flow("ESCALATION_REQUEST", "x1", "build-orchestrator", "cto")
    assert team.bus.send(raw, sender="build-orchestrator", to="cto").accepted
    for _ in range(3):
        team.later(FIVE_MINUTES)
    assert levels(team, "x1") == ["CTO", "HUMAN"]
    climb = json.loads(team.story(matter(team, "x1").now.id).message.raw)
    assert (climb["from"], climb["to"], climb["correlationId"], climb["replyTo"]) == (
        "telex",
        "human",
        "TASK-001",
        "x1",
    )
    assert climb["payload"]["failureHistory"][-1]["agent"] == "cto"


@proves("escalation/climb/valid", "escalation/climb/says-who", "escalation/climb/correlation")
@pytest.mark.parametrize("dialect", ["vbw-company", "build-flow"])
@pytest.mark.parametrize("correlation", [None, "T-1"])
def test_each_climb_is_a_whole_message_that_says_who_did_not_answer(
    team: Team, dialect: str, correlation: str | None
) -> None:
    if dialect == "vbw-company":
        escalate(team, **({"correlation": correlation} if correlation else {}))
        conversation = correlation or "e1"
    else:
        conversation = correlation or "TASK-001"
        raw = flow("ESCALATION_REQUEST", "e1", "dev", "cto", conversation)
        assert team.bus.send(raw, sender="dev", to="cto").accepted
    for _ in range(4):
        team.later(FIVE_MINUTES)
    before, *climbs = matter(team).rungs
    assert climbs
    for rung in climbs:
        message = team.story(rung.id).message
        checked = check(message.raw, CheckPolicy(BUILT_IN))
        assert checked.valid
        assert checked.findings == ()
        assert (message.sender, message.correlation, message.reply_to) == ("telex", conversation, "e1")
        assert f"has not answered {before.id} since 2026-01-01T00:" in message.raw.decode()
        before = rung


@proves("escalation/climb/absent")
def test_levels_that_nobody_has_are_passed_over(open_team: OpenTeam) -> None:
    here = (Member("dev", "dev", declared=True), Member("sam", "senior", declared=True))
    team = open_team(members=(*here, Member("ada", "architect", declared=True)))
    assert team.bus.send(speech_of("vbw-company", "escalation").raw, sender="dev", to="sam", id="e1").accepted
    team.later(FIVE_MINUTES)
    assert levels(team) == ["senior", "architect"]
    climb = json.loads(team.story(matter(team).now.id).message.raw)
    assert (climb["from"], climb["to"]) == ("lead", "architect")
    assert check(team.story(matter(team).now.id).message.raw, CheckPolicy(BUILT_IN)).valid
    assert team.inbox("ada") == [matter(team).now.id]
    team.later(FIVE_MINUTES)
    assert levels(team)[-1] == "human"


@proves("escalation/climb/gone")
@pytest.mark.parametrize("how", ["leaves", "gives it up"])
def test_it_climbs_though_its_recipient_is_gone(team: Team, how: str) -> None:
    team.bus.join("sam", role="senior")
    raw = speech_of("vbw-company", "escalation").raw
    assert team.bus.send(raw, sender="dev", to="sam", id="e1").accepted
    if how == "leaves":
        team.bus.leave("sam")
    else:
        team.fail("sam")
    assert team.story("e1").state in ("withdrawn", "dead")
    team.later(FIVE_MINUTES)
    assert levels(team)[1:] == ["lead"]


@proves("escalation/lenient")
def test_what_only_a_lenient_team_lets_pass_does_not_climb(open_team: OpenTeam) -> None:
    team = open_team(strict=False)
    raw = speech_of("vbw-company", "escalation", to="architect").raw
    assert team.bus.send(raw, sender="dev", to="architect", id="e1").accepted
    team.later(FIVE_MINUTES)
    team.later(FIVE_MINUTES)
    assert team.bus.escalations(answered=True) == []
    assert team.inbox("human") == []


@proves("escalation/answer/any-step")
@pytest.mark.parametrize("step", [0, 1])
def test_a_decision_may_name_any_step(team: Team, step: int) -> None:
    raw = flow("ESCALATION_REQUEST", "e1", "fullstack-developer", "cto")
    assert team.bus.send(raw, sender="fullstack-developer").accepted
    team.later(FIVE_MINUTES + 1)
    named = matter(team).rungs[step].id
    decision = flow("VALIDATION_RESPONSE", "d1", "cto", "fullstack-developer", replyTo=named)
    receipt = team.bus.send(decision, sender="cto")
    assert (receipt.accepted, answered(team)) == (True, True), receipt.findings


@proves("escalation/climb/once")
def test_two_processes_that_have_seen_the_same_deadline_pass_climb_once(team: Team) -> None:
    buses = [team.bus, team.other(), team.other()]
    escalate(team)
    team.clock.leap(FIVE_MINUTES)
    seen = [
        run_sync(bus._bus.store.read(overdue_requests, team.clock.now(), 9)) for bus in buses
    ]  # before any of them acts
    for bus, [(ask, message, _)] in zip(buses, seen, strict=True):
        assert run_sync(escalate_further(bus._bus._context, ask, message))
    assert levels(team) == ["senior", "lead"]
    assert len(team.inbox("lead")) == 1
    assert team.kinds("e1").count("reply-overdue") == 1


@proves("escalation/answer/race")
def test_an_answer_in_the_very_moment_of_a_climb_ends_it(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    escalate(team)
    team.clock.leap(FIVE_MINUTES)
    slow, quick = team.other(), team.other()
    before_next_transaction(monkeypatch, slow._bus.store, quick.sweep)
    assert slow.send("Keep the session.", sender="senior", to="dev", reply_to="e1").accepted
    assert levels(team) == ["senior", "lead"], "the other climbed before the answer was written"
    assert answered(team)
    assert team.bus.escalations() == []
    team.later(FIVE_MINUTES)
    team.later(FIVE_MINUTES)
    assert levels(team) == ["senior", "lead"]
    assert team.story(matter(team).now.id).answer_by is None
    assert team.inbox("architect") == []


@proves("escalation/climb/crash")
@pytest.mark.parametrize("at", ["INSERT", "COMMIT"])
def test_a_climb_and_its_missed_deadline_are_written_together_or_not_at_all(team: Team, at: str) -> None:
    dying = team.other()
    escalate(team)
    team.clock.leap(FIVE_MINUTES)
    file: Any = dying._bus.store._file  # type: ignore[attr-defined]
    file._cursor = FailingCursor(file._cursor, at, apsw.IOError("disk I/O error"))
    with pytest.raises(TelexError):
        dying.sweep()
    assert run_sync(team.bus._bus.store.read(overdue_requests, team.clock.now(), 9)), "still to be counted"
    assert list(team.bus.work_state("escalation")["escalation:e1"].rungs)[1:] == []
    assert levels(team) == ["senior", "lead"]  # whoever looks next climbs
    assert team.kinds("e1").count("reply-overdue") == 1


@proves("escalation/climb/crash")
def test_after_reopening_everything_goes_on_where_it_was(team: Team) -> None:
    escalate(team)
    for expected in (["senior", "lead"], ["senior", "lead", "architect"]):
        team.clock.leap(FIVE_MINUTES)
        reopened = team.other()
        [found] = reopened.escalations()
        assert [rung.level for rung in found.rungs] == expected
        assert found == matter(team)


CHAIN = ["dev", "senior", "lead", "architect", "human"]
SENDERS = CHAIN[:4]
OTHERS = ["scout", "qa-lead"]
EXAMPLES = max(settings().max_examples // 3, 25)  # each is a whole story on a real store
DIALECTS = {dialect.name: dialect for dialect in BUILT_IN}

moves = st.lists(
    st.one_of(
        st.tuples(st.just("raise"), st.sampled_from(SENDERS), st.booleans()),
        st.tuples(st.just("wait"), st.sampled_from([1.0, FIVE_MINUTES / 2, FIVE_MINUTES, 3 * FIVE_MINUTES])),
        st.tuples(st.just("reply"), st.sampled_from(CHAIN + OTHERS), st.integers(0, 5)),
        st.tuples(st.just("speak"), st.sampled_from(CHAIN + OTHERS), st.integers(0, 5), st.booleans()),
        st.tuples(st.just("take"), st.sampled_from(CHAIN)),
        st.tuples(st.just("reopen")),
    ),
    min_size=5,
    max_size=14,
)


class Matter:
    """The model: where a matter is, when it got there, and whether it was answered."""

    def __init__(self, id: str, by: str, now: float) -> None:
        self.id, self.by, self.at = id, by, now
        self.levels = [CHAIN[CHAIN.index(by) + 1]]
        self.answered_by: str | None = None

    def pass_time(self, now: float) -> None:
        """One step for each look at the clock: what is late is found late once."""
        if self.answered_by is None and self.levels[-1] != "human" and now >= self.at + FIVE_MINUTES:
            self.levels.append(CHAIN[CHAIN.index(self.levels[-1]) + 1])
            self.at = now

    def hear(self, who: str) -> None:
        is_above = who in CHAIN and CHAIN.index(who) > CHAIN.index(self.by)
        if self.answered_by is None and is_above:
            self.answered_by = who


@proves("escalation/from-log")
@settings(max_examples=EXAMPLES)
@given(st.sampled_from(SENDERS), st.booleans(), moves)
def test_the_bus_does_what_the_model_does_and_the_log_alone_tells_it(
    first: str, typed: bool, steps: list[tuple[object, ...]]
) -> None:
    with TemporaryDirectory(prefix="telex-escalation-") as folder, ExitStack() as stack:
        path = Path(folder, "team.db")
        path.write_bytes(empty_store())
        team, model = Team(path, QUICK, stack), list[Matter]()
        for step in [("raise", first, typed), *steps]:
            play(team, model, *step)
            for one in model:
                one.pass_time(team.clock.now())
            live = {one.id: one for one in team.bus.escalations(answered=True)}
            assert {id_: ([rung.level for rung in one.rungs], one.answered_by) for id_, one in live.items()} == {
                one.id: (one.levels, one.answered_by) for one in model
            }
        assert {one.id for one in team.bus.escalations()} == {one.id for one in model if one.answered_by is None}
        assert told_from_the_log(team) == {id_: _settled(one) for id_, one in live.items()}


def play(team: Team, model: list[Matter], move: object, *more: object) -> None:
    now = team.clock.now()
    match move, *more:
        case "raise", str(who), bool(typed):
            id_ = f"e{len(model)}"
            raw = speech_of("vbw-company", "escalation", **{"from": who, "to": CHAIN[CHAIN.index(who) + 1]}).raw
            to, conversation = CHAIN[CHAIN.index(who) + 1], id_ if typed else None
            assert team.bus.send(raw, sender=who, to=to, id=id_, correlation=conversation).accepted
            model.append(Matter(id_, who, now))
        case "wait", float(seconds):
            team.clock.leap(seconds)
        case ("reply", str(who), int(which)) if model:
            one = model[which % len(model)]
            rungs = {matter.id: matter.rungs for matter in team.bus.escalations(answered=True)}[one.id]
            one.pass_time(now)
            to = "docs" if who == one.by else one.by
            assert team.bus.send("So be it.", sender=who, to=to, reply_to=rungs[which % len(rungs)].id).accepted
            one.hear(who)
        case ("speak", str(who), int(which), bool(back)) if model:
            one = model[which % len(model)]
            if who == one.by:
                return
            to = one.by if back else "docs"
            assert team.bus.send("So be it.", sender=who, to=to, correlation=one.id).accepted
            if back and _has_a_conversation(team, one):
                one.hear(who)
        case "take", str(who):
            team.taken(who)
        case ["reopen"]:
            team.bus = team.other()


def _has_a_conversation(team: Team, one: Matter) -> bool:
    """One that was raised without a conversation begins its own when it first climbs."""
    return team.story(one.id).message.correlation is not None or len(one.levels) > 1


def told_from_the_log(team: Team) -> dict[str, Escalation]:
    events = list(team.bus.events())
    book = reducer.written(events, DIALECTS)
    matters = [state for topic, state in book.items() if topic.startswith("escalation:")]
    return {matter.id: with_events(matter, [event for event, _ in events]) for matter in matters}


def _settled(one: Escalation) -> Escalation:
    """Without the deadline, which is no part of the log but of the clock."""
    return one._replace(rungs=tuple(rung._replace(due_at=None) for rung in one.rungs))

"""Runs of a shutdown: who is asked, timeouts, the report, the end of the team; and a model of the answers."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.client import SyncBus
from telex.dialects.builtin.build_flow import BUILD_FLOW
from telex.dialects.registry import BUILT_IN
from telex.errors import InvalidValue, LeaseLost, NotAMember
from telex.model.finding import Finding
from telex.model.roster import Member
from telex.model.work import NO_SHUTDOWNS, ShutdownReport, ShutdownState
from telex.work import reducer
from tests.bus.bus_team import QUICK, OpenTeam, Team, codes, empty_store, speech_of
from tests.bus.shutdown_kit import PHASE, agrees, asked, joined, reply, states
from tests.demo.story_settings import FEWER
from tests.proofs import proves
from tests.stores.store_kit import before_next_transaction


def run(bus: Team | SyncBus, *, wait: bool = True, force: bool = False, deadline: float = 60.0) -> ShutdownReport:
    verbs = bus.bus if isinstance(bus, Team) else bus
    return verbs.shut_down(agent="lead", reason=PHASE, team="phase-01", wait=wait, force=force, deadline=deadline)


def answering(team: Team, *answers: tuple[str, bool]) -> None:
    """While somebody waits, these agents answer whatever they were asked last."""

    def meanwhile() -> None:
        team.clock.meanwhile = None
        for agent, approve in answers:
            call = asked(team)[-1]
            assert reply(team, agent, call, approve, pending_work="" if approve else f"{agent}'s tests").accepted

    team.clock.meanwhile = meanwhile


# --- asking ----------------------------------------------------------------------------------------------------------


@proves("shutdown/run/asks-once")
def test_everyone_who_has_joined_is_asked_with_one_request(team: Team) -> None:
    joined(team, "ada", "kim")
    joined(team, "bea", role="architect")
    joined(team, "lead", "boss", role="lead")
    team.note(sender="human", to="lead")
    report = run(team, wait=False)
    assert states(report) == {"ada": "silent", "kim": "silent", "bea": "silent", "boss": "silent"}
    [call] = report.requests
    assert {delivery.inbox for delivery in team.story(call).deliveries} == {"ada", "kim", "bea", "boss"}
    assert not report.dissolved


@proves("shutdown/run/asks-once")
def test_two_who_run_it_at_once_ask_once_and_get_the_same_report(team: Team) -> None:
    joined(team, "ada", "kim")
    first, second = team.other(), team.other()
    reports: list[ShutdownReport] = []

    def meanwhile() -> None:
        team.clock.meanwhile = None
        run(second, wait=False)
        agrees(team, "ada", asked(team)[0])
        answering(team, ("kim", True))
        reports.append(run(second))

    team.clock.meanwhile = meanwhile
    reports.append(run(first))
    assert len(asked(team)) == 1
    assert [states(report) for report in reports] == [{"ada": "approved", "kim": "approved"}] * 2
    assert [report.dissolved for report in reports] == [True, True]
    assert len(team.happened("dissolved")) == 1


@proves("shutdown/run/asks-once")
def test_a_request_of_another_that_comes_first_is_not_repeated(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    joined(team, "ada")
    other = team.other()
    before_next_transaction(monkeypatch, team.bus._bus.store, lambda: run(other, wait=False))
    run(team, wait=False)
    assert len(asked(team)) == 1


@proves("shutdown/run/refused")
def test_who_may_not_ask_is_told_why_and_nothing_happens(team: Team) -> None:
    joined(team, "ada", "kim")
    report = team.bus.shut_down(agent="ada", reason=PHASE)
    assert (codes(report.findings), report.dissolved) == (["role-may-not-send"], False)
    report = team.bus.shut_down(agent="lead", reason="phase_complet")
    assert [finding.nearest for finding in report.findings] == [PHASE]
    assert asked(team) == []
    with pytest.raises(NotAMember):
        team.bus.shut_down(agent="nobody", reason=PHASE)
    with pytest.raises(InvalidValue):
        team.bus.shut_down(agent="lead", reason=PHASE, deadline=-1.0)


@proves("shutdown/run/refused")
@pytest.mark.parametrize("settled", [{"forced": BUILD_FLOW}, {"work_rules": False}], ids=["dialect", "rules"])
def test_a_team_in_which_no_answer_could_count_is_told_so(open_team: OpenTeam, settled: dict[str, Any]) -> None:
    team = open_team(**settled)
    joined(team, "cto", "ada", role="cto")
    with pytest.raises(InvalidValue):
        team.bus.shut_down(agent="cto", reason=PHASE)


@proves("shutdown/run/full-inbox")
def test_a_full_inbox_is_no_hindrance(open_team: OpenTeam) -> None:
    team = open_team(inbox_max=1)
    joined(team, "ada")
    team.note(to="ada")
    assert not team.bus.send("more", sender="dev", to="ada", check=False).accepted
    [call] = run(team, wait=False).requests
    assert call in team.inbox("ada")


@proves("shutdown/run/misdelivery")
def test_a_team_that_refuses_misdelivery_lists_those_who_may_not_be_asked(open_team: OpenTeam) -> None:
    team = open_team(misdelivery="refusal")
    joined(team, "ada")
    joined(team, "bea", role="architect")
    answering(team, ("ada", True))
    report = run(team)
    assert (states(report), report.dissolved) == ({"ada": "approved", "bea": "not asked"}, False)
    assert team.inbox("bea") == []
    forced = run(team, force=True)
    assert (states(forced), forced.dissolved) == ({"ada": "approved", "bea": "forced"}, True)


@proves("shutdown/run/not-seen")
def test_declared_members_that_never_came_are_not_waited_for(open_team: OpenTeam) -> None:
    members = tuple(Member(name, role, declared=True) for name, role in (("lead", "lead"), ("ada", "dev"), ("x", "qa")))
    team = open_team(members=members)
    team.bus.join("ada")
    answering(team, ("ada", True))
    report = run(team)
    assert (states(report), report.dissolved) == ({"ada": "approved", "x": "not seen"}, True)
    assert team.bus.send("now I come", sender="x", to="lead").accepted


# --- waiting ---------------------------------------------------------------------------------------------------------


@proves("shutdown/run/all-agree")
def test_when_all_have_agreed_the_team_is_dissolved_at_once(team: Team) -> None:
    joined(team, "ada", "kim")
    began = team.clock.now()
    answering(team, ("ada", True), ("kim", True))
    report = run(team)
    assert (report.dissolved, team.clock.now() - began < 2.0) == (True, True)
    assert {one.member.name: one.state for one in team.bus.roster()} == {
        "lead": "here",
        "ada": "shut down",
        "kim": "shut down",
    }
    [told] = team.happened("dissolved")
    assert (told["members"], told["forced"], told["team"]) == (["ada", "kim"], [], "phase-01")
    final = [message.raw.decode() for _, message in team.bus.inbox("lead") if message.sender == "telex"]
    assert len(final) == 1
    assert "- ada (dev): approved, complete" in final[0]


@proves("shutdown/run/deadline")
def test_it_ends_at_its_deadline_and_nothing_is_dissolved(team: Team) -> None:
    joined(team, "ada", "kim", "bob")
    began = team.clock.now()
    answering(team, ("ada", True), ("kim", False))
    report = run(team, deadline=30.0)
    assert team.clock.now() - began == pytest.approx(30.0)
    assert (states(report), report.dissolved) == ({"ada": "approved", "kim": "refused", "bob": "silent"}, False)
    [kim] = report.of("refused")
    assert kim.answer is not None
    assert kim.answer.pending == "kim's tests"
    assert team.happened("dissolved", "forced", "left") == []
    assert team.bus.send("still here", sender="bob", to="kim").accepted


@proves("shutdown/run/again")
def test_running_it_again_goes_on_and_later_asks_only_those_who_have_not_agreed(team: Team) -> None:
    joined(team, "ada", "kim", "bob")
    began = team.clock.now()
    [call] = run(team, wait=False).requests
    agrees(team, "ada", call)
    team.clock.leap(20.0)
    assert run(team).requests == (call,)
    assert team.clock.now() - began == pytest.approx(60.0)
    answering(team, ("kim", True), ("bob", True))
    again = run(team)
    assert (states(again), again.dissolved) == (dict.fromkeys(("ada", "kim", "bob"), "approved"), True)
    [second] = again.requests
    assert (second != call, {delivery.inbox for delivery in team.story(second).deliveries}) == (True, {"kim", "bob"})
    nobody = run(team)
    assert (nobody.agents, nobody.dissolved, nobody.requests) == ((), True, ())
    assert len(team.happened("dissolved")) == 1


@proves("shutdown/run/newcomer")
def test_whoever_joins_meanwhile_is_asked_as_well(team: Team) -> None:
    joined(team, "ada")

    def meanwhile() -> None:
        agrees(team, "ada", asked(team)[0])
        joined(team, "new")
        answering(team, ("new", True))

    team.clock.meanwhile = meanwhile
    report = run(team)
    assert (states(report), report.dissolved) == ({"ada": "approved", "new": "approved"}, True)
    assert len(report.requests) == 2


@proves("shutdown/run/left")
def test_whoever_leaves_is_waited_for_no_longer(team: Team) -> None:
    joined(team, "ada", "kim")
    began = team.clock.now()

    def meanwhile() -> None:
        team.clock.meanwhile = None
        agrees(team, "ada", asked(team)[0])
        team.bus.leave("kim")

    team.clock.meanwhile = meanwhile
    report = run(team)
    assert (states(report), report.dissolved) == ({"ada": "approved", "kim": "left"}, True)
    assert team.clock.now() - began < 2.0


# --- force -----------------------------------------------------------------------------------------------------------


@proves("shutdown/run/force")
def test_force_stops_those_who_did_not_agree(team: Team) -> None:
    joined(team, "ada", "kim", "bob")
    work = team.note(sender="lead", to="bob")
    [held] = team.bus.receive("bob", lease=600.0)
    answering(team, ("ada", True), ("kim", False))
    report = run(team, force=True)
    assert (states(report), report.dissolved) == ({"ada": "approved", "kim": "forced", "bob": "forced"}, True)
    forced = {event.agent: event.detail for event, _ in team.bus.events() if event.kind == "forced"}
    assert forced == {"kim": '{"by": "lead", "was": "refused"}', "bob": '{"by": "lead", "was": "silent"}'}
    assert [(one.id, one.inbox) for one in report.returned] == [(work, "bob")]
    with pytest.raises(LeaseLost):
        team.bus.ack(held.token, agent="bob")
    for name in ("ada", "kim", "bob"):
        assert codes(team.bus.send("me?", sender=name, to="lead", role="dev", check=False).findings) == [
            "sender-has-shut-down"
        ]


@proves("shutdown/run/force")
def test_force_at_once_waits_for_nobody(team: Team) -> None:
    joined(team, "ada")
    began = team.clock.now()
    report = run(team, force=True, deadline=0.0)
    assert (states(report), report.dissolved, team.clock.now()) == ({"ada": "forced"}, True, began)


@proves("shutdown/run/force-at-once")
@pytest.mark.parametrize("later", [0.0, 300.0])
def test_force_does_not_wait_again_for_those_who_had_their_deadline(team: Team, later: float) -> None:
    joined(team, "ada")
    assert states(run(team, deadline=1.0)) == {"ada": "silent"}
    team.clock.leap(later)
    began = team.clock.now()
    report = run(team, force=True)
    assert (states(report), report.dissolved, team.clock.now()) == ({"ada": "forced"}, True, began)
    assert len(asked(team)) == 1


@proves("shutdown/run/force-at-once")
def test_force_waits_for_those_whom_it_asks_itself(team: Team) -> None:
    joined(team, "ada")
    run(team, deadline=1.0)
    joined(team, "kim")
    answering(team, ("kim", True))
    assert states(run(team, force=True)) == {"ada": "forced", "kim": "approved"}


# --- many ------------------------------------------------------------------------------------------------------------

FIFTY = [f"agent-{number:02}" for number in range(50)]
SILENT, REFUSING = FIFTY[7:12], FIFTY[30:33]


@pytest.mark.slow
@proves("shutdown/run/fifty", "shutdown/run/next-team")
def test_fifty_of_whom_five_are_silent_and_three_refuse_twice_in_a_row(team: Team) -> None:
    expected = dict.fromkeys(FIFTY, "approved") | dict.fromkeys(SILENT, "silent")
    expected |= dict.fromkeys(REFUSING, "refused")
    for round_ in (1, 2):
        joined(team, *FIFTY)
        began = team.clock.now()
        answering(team, *((name, name not in REFUSING) for name in FIFTY if name not in SILENT))
        report = run(team)
        assert (states(report), report.dissolved) == (expected, False)
        assert team.clock.now() - began == pytest.approx(60.0)
        assert {one.answer.pending for one in report.of("refused") if one.answer} == {f"{n}'s tests" for n in REFUSING}
        answering(team, *((name, False) for name in REFUSING))
        again = run(team)
        assert (states(again), len(again.requests)) == (expected, 1)
        ended = run(team, force=True)
        assert (ended.dissolved, len(ended.of("approved")), len(ended.of("forced"))) == (True, 42, 8)
        assert len(team.happened("dissolved")) == round_
        team.clock.leap(10.0)


NAMES = ("ada", "kim", "bob")
DIALECTS = {dialect.name: dialect for dialect in BUILT_IN}


class Act(NamedTuple):
    """One thing that somebody does."""

    does: str
    agent: str
    call: int  # which request: the number of one that there is, will be, or never was
    approve: bool


acts = st.builds(
    Act,
    st.sampled_from(("ask", "ask one", "answer", "answer", "answer", "join", "leave", "talk", "reopen")),
    st.sampled_from(NAMES),
    st.integers(1, 4),
    st.booleans(),
)


class Model:
    """Who was asked by which request, who has answered it how, and who is here."""

    def __init__(self) -> None:
        self.asked: dict[str, set[str]] = {}
        self.answers: dict[str, dict[str, bool]] = {}
        self.here = set(NAMES)
        self.stopped: set[str] = set()

    def ask(self, call: str, agents: set[str]) -> None:
        self.asked[call], self.answers[call] = agents, {}

    def answer(self, call: str, agent: str, approve: bool) -> str | None:
        """The code it is refused with, if it is."""
        if agent in self.stopped:
            return "sender-has-shut-down"
        if agent not in self.here:
            return "sender-unknown"
        if agent not in self.asked.get(call, ()):
            return "shutdown-not-asked"
        if self.answers[call].get(agent):
            return "shutdown-answered"
        self.answers[call][agent] = approve
        if approve:
            self.here.discard(agent)
            self.stopped.add(agent)
        return None


class World:
    """The model and the bus, side by side."""

    def __init__(self, team: Team) -> None:
        self.team, self.bus, self.model, self.said = team, team.bus, Model(), 0
        for name in NAMES:
            self.bus.join(name, role="dev")

    def do(self, act: Act) -> None:
        self.team.clock.leap(1.0)
        self.said += 1
        getattr(self, act.does.replace(" ", "_"))(act)

    def ask(self, act: Act) -> None:
        self._ask("*", set(self.model.here))

    def ask_one(self, act: Act) -> None:
        self._ask(act.agent, {act.agent} & self.model.here)

    def _ask(self, to: str, agents: set[str]) -> None:
        call = f"stop-{len(self.model.asked) + 1}"
        tree = speech_of("vbw-typed", "shutdown_request", call).tree
        receipt = self.bus.send(tree, sender="lead", to=to, check=False)
        assert receipt.accepted == bool(agents)
        if agents:
            self.model.ask(call, agents)

    def answer(self, act: Act) -> None:
        expected = self.model.answer(f"stop-{act.call}", act.agent, act.approve)
        receipt = reply(self.bus, act.agent, f"stop-{act.call}", act.approve, id=f"answer-{self.said}")
        assert codes(receipt.findings) == ([expected] if expected else [])

    def join(self, act: Act) -> None:
        assert not isinstance(self.bus.join(act.agent, role="dev", by="human"), Finding)
        self.model.stopped.discard(act.agent)
        self.model.here.add(act.agent)

    def leave(self, act: Act) -> None:
        self.bus.leave(act.agent)
        self.model.here.discard(act.agent)

    def talk(self, act: Act) -> None:
        receipt = self.bus.send("hello", sender=act.agent, to="lead", check=False)
        assert receipt.accepted == (act.agent in self.model.here)

    def reopen(self, act: Act) -> None:
        """As after a crash: the old one never said goodbye."""
        before = self.bus.work_state("shutdown")
        self.bus = self.team.other()
        assert self.bus.work_state("shutdown") == before

    def agrees_with_the_model(self) -> None:
        book: ShutdownState = self.bus.work_state("shutdown").get("shutdown", NO_SHUTDOWNS)
        answers = {call.id: {name: one.approved for name, one in call.answers.items()} for call in book.calls}
        assert answers == self.model.answers
        assert {call.id: set(call.asked) for call in book.calls} == self.model.asked
        here = {one.member.name for one in self.bus.roster() if one.state in ("here", "silent")}
        assert here - {"lead"} == self.model.here


@contextmanager
def world() -> Iterator[World]:
    with TemporaryDirectory(prefix="telex-shutdown-") as folder, ExitStack() as stack:
        path = Path(folder, "team.db")
        path.write_bytes(empty_store())
        yield World(Team(path, QUICK, stack))


@proves("shutdown/state/model", "shutdown/state/from-log")
@FEWER
@given(st.lists(acts, max_size=15))
def test_the_bus_agrees_with_a_simple_model_and_with_itself_from_nothing(life: list[Act]) -> None:
    with world() as team:
        for act in life:
            team.do(act)
        team.agrees_with_the_model()
        live = team.bus.work_state("shutdown")
        assert reducer.written(team.bus.events(), DIALECTS).get("shutdown") == live.get("shutdown")
        team.do(Act("reopen", "", 0, False))
        team.agrees_with_the_model()

"""Is a work where it should be, whatever comes in and whenever the orchestrator dies?

Random signals, legal and not, are played against a simple account of the rules that shares no code with the machine.
"""

from collections import Counter
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from telex.bus import run_sync
from telex.bus.orchestrator import Orchestrator, OrchestratorRound
from telex.client import SyncBus
from telex.clock import SteadyClock
from telex.connection import connect
from telex.dialects.registry import BUILT_IN
from telex.testing import FakeClock
from telex.work import reducer
from telex.work.pipeline import Work
from tests.bus.bus_team import QUICK, Team, open_team, team
from tests.proofs import proves
from tests.work.pipeline_model import Account
from tests.work.pipeline_team import REQUEST, Changes, Crew, dispatches, result, smooth

__all__ = ["open_team", "team"]  # fixtures

SENDERS = {"triage": "architect", "research": "researcher", "plan": "architect", "step": "worker"}
SENDERS |= {"review": "reviewer", "audit": "auditor"}
TYPES = {"triage": "triage_result", "research": "research_result", "plan": "plan_result", "step": "worker_submission"}
TYPES |= {"review": "review_verdict", "audit": "audit_verdict"}
EXAMPLES = max(settings().max_examples // 4, 25)  # each is a whole story on a bus
DIALECTS = {dialect.name: dialect for dialect in BUILT_IN}


class Saying(NamedTuple):
    part: str
    signal: str
    fields: Changes
    says: dict[str, Any]


def saying(part: str, draw: st.DrawFn) -> Saying:
    """What such an agent may say, with what it means to the account."""
    signal = draw(st.sampled_from(["go"] * 8 + ["blocked", "escalate"]))
    if part == "triage":
        count = draw(st.integers(0, 2))
        fields: Changes = {"research_needed": count > 0, "research_count": count or None}
        return Saying(part, "triage_complete" if signal == "go" else signal, fields, {"questions": count})
    if part == "plan":
        blockers, waves = draw(st.sampled_from([False] * 4 + [True])), draw(st.sampled_from([2, 2, 2, 1, 0]))
        fields = {"has_blockers": blockers, "wave_count": waves, "step_count": {2: 3, 1: 1, 0: None}[waves]}
        return Saying(
            part, "plan_complete" if signal == "go" else signal, fields, {"has_blockers": blockers, "waves": waves}
        )
    if part in ("review", "audit"):
        verdict = draw(st.sampled_from(["pass", "pass_with_notes", "fail", "fail"]))
        return Saying(part, verdict if signal == "go" else signal, {}, {})
    return Saying(part, {"step": "rfr", "research": "research_complete"}[part] if signal == "go" else signal, {}, {})


class Killed(Exception):
    """The orchestrator is gone."""


class Mortal:
    """A bus that dies under its user after so many sends and acks, before or after the last of them is done."""

    def __init__(self, bus: SyncBus, verbs: int, done: bool) -> None:
        self._bus, self._left, self._done = bus.awaitable, verbs, done

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self._bus, name)
        if name not in ("send", "ack"):
            return verb

        async def counted(*args: Any, **given: Any) -> Any:
            self._left -= 1
            if self._left <= 0 and not self._done:
                raise Killed
            answer = await verb(*args, **given)
            if self._left <= 0:
                raise Killed
            return answer

        return counted


def told_from_the_log(bus: SyncBus) -> Work:
    work = reducer.written(bus.events(), DIALECTS)["work:W"]
    assert isinstance(work, Work)
    return work


@proves("pipeline/model", "pipeline/restart", "pipeline/from-log")
@settings(max_examples=EXAMPLES)
@given(st.data())
def test_whatever_comes_and_whenever_it_dies_the_work_stands_where_it_should(data: st.DataObject) -> None:
    account, clock = Account(), FakeClock()
    still = SteadyClock(clock.now, clock.now, lambda seconds: None)
    with connect("memory:", settings=QUICK, clock=still) as bus:
        run_sync(Orchestrator(bus.awaitable).start(REQUEST, "W"))
        for _ in range(data.draw(st.integers(1, 30))):
            if account.held and data.draw(st.integers(0, 3)) == 0:
                place = account.resume(data.draw(st.sampled_from(sorted(account.held))))
                assert run_sync(Orchestrator(bus.awaitable).resume("W", place)).accepted
            else:
                send(bus, account, *data.draw(st.composite(lambda draw: draw_signal(draw, account))()))
            verbs, done = data.draw(st.tuples(st.integers(1, 6), st.booleans()))
            try:
                run_sync(Orchestrator(Mortal(bus, verbs, done)).step())
            except Killed:
                run_sync(Orchestrator(bus.awaitable).step())
            check(bus, account)
        assert told_from_the_log(bus) == bus.work_state("work")["work:W"]


def draw_signal(draw: st.DrawFn, account: Account) -> tuple[str, Saying]:
    """Mostly an answer to something open; else to anything ever sent, or to nothing, or of the wrong type."""
    if account.open and draw(st.integers(0, 9)) < 8:
        id_ = draw(st.sampled_from(sorted(account.open)))
        return id_, saying(account.open[id_], draw)
    id_ = draw(st.sampled_from([*account.sent, "W.w9.s9.i0", "W.research.7", "X", "W.plan.r1"]))
    return id_, saying(draw(st.sampled_from(sorted(TYPES))), draw)


def send(bus: SyncBus, account: Account, id_: str, said: Saying) -> None:
    part, signal, fields, says = said
    raw = result(TYPES[part], signal=signal, **fields)
    receipt = bus.send(raw, sender=SENDERS[part], to="orchestrator", reply_to=id_, correlation="W")
    assert receipt.accepted, receipt.findings
    counted = account.odd
    account.hear(id_, part, signal, **says)
    warned = any(finding.code == "signal-out-of-turn" for finding in receipt.findings)
    assert warned == (account.odd > counted)


def check(bus: SyncBus, account: Account) -> None:
    work = bus.work_state("work")["work:W"]
    sent = Counter(one.message.id for one in bus.trace("W") if one.message.role == "orchestrator")
    assert sent == Counter(account.sent)
    assert work.odd_count == account.odd
    if account.ending is not None:
        assert work.state == account.ending
    else:
        assert work.state not in ("done", "blocked", "escalated")


# --- a whole story, killed everywhere ---------------------------------------------------------------------------------


def fixed_once(id_: str, type_: str) -> Changes:
    """Research, two waves, and one review that fails at first."""
    if id_ == "W":
        return {"research_needed": True, "research_count": 2}
    failing = {"signal": "fail", "critical_count": 1} if id_ == "W.w1.s2.i0.review" else {}
    return {**smooth(id_, type_), **failing}


WHOLE = 19  # dispatches of that story


@proves("pipeline/restart")
def test_a_story_whose_orchestrator_dies_after_every_single_verb_is_the_same_story(team: Team) -> None:
    crew = Crew(team, fixed_once)
    crew.start()
    deaths = 0
    while True:
        try:
            turn = run_sync(Orchestrator(Mortal(team.bus, 1, deaths % 3 > 0)).step())
        except Killed:
            deaths += 1
            team.later(61)  # what it had in hand comes again
            continue
        if turn.idle and not crew.agents():
            break
    assert crew.work().state == "done"
    assert deaths > WHOLE
    sent = dispatches(team)
    assert len(sent) == len(set(sent)) == WHOLE


@proves("pipeline/from-log")
def test_after_reopening_the_store_the_work_stands_where_it_stood(team: Team) -> None:
    crew = Crew(team, fixed_once)
    crew.start()
    while not crew.turn().idle or crew.agents():
        other = team.other()
        assert other.work_state("work") == team.bus.work_state("work")
        assert other.work_state("work")["work:W"] == told_from_the_log(other)
        crew.orchestrator = crew.hired(other)
    assert crew.work().state == "done"


@pytest.mark.parametrize("beyond", [3_700.0, 86_400.0])
@proves("pipeline/restart")
def test_an_orchestrator_that_comes_back_after_days_sends_nothing_again(team: Team, beyond: float) -> None:
    crew = Crew(team)
    crew.start()
    for role in ("architect", "architect", "worker"):
        crew.turn()
        crew.act(role)
    crew.turn()
    before = dispatches(team)
    team.later(beyond)
    assert run_sync(crew.hired(team.other()).step()).sent == ()
    assert dispatches(team) == before


@proves("pipeline/two-orchestrators")
def test_two_who_lead_a_work_at_the_same_moment_send_each_dispatch_once(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    crew = Crew(team)
    crew.start()
    crew.act("architect")
    boss, look = Orchestrator(team.other().awaitable, "boss", role="orchestrator"), Orchestrator._was_sent
    turns: list[OrchestratorRound] = []

    async def interrupted(self: Orchestrator, *about: Any) -> bool:
        """Just when it has seen that nothing was sent, the other sends it."""
        found = await look(self, *about)
        if self is boss and not turns:
            turns.append(await crew.orchestrator.step())
        return found

    monkeypatch.setattr(Orchestrator, "_was_sent", interrupted)
    turns.append(run_sync(boss.step(also=["W"])))
    assert [[one.id for one in turn.sent] for turn in turns] == [["W.plan"], []]
    assert [len(turn.refused) for turn in turns] == [0, 0]
    assert [story.state for story in team.bus.why("W.plan")] == ["stored", "refused"]
    assert team.inbox("architect").count("W.plan") == 1

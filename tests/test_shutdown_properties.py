"""Whatever is asked and answered in whatever order: does the bus agree with a model that fits on one screen?"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from telex.dialects.registry import BUILT_IN
from telex.model.finding import Finding
from telex.model.work import NO_SHUTDOWNS, ShutdownState
from telex.work import reducer
from tests.bus_team import QUICK, Team, codes, empty_store, speech_of
from tests.proofs import proves
from tests.shutdown_kit import reply
from tests.story_settings import FEWER

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
        receipt = self.bus.send(tree, sender="lead", to=to)
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
        receipt = self.bus.send("hello", sender=act.agent, to="lead")
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

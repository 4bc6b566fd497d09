"""History of the page against the store: the same states now, and the states of a past moment as they were then."""

import random
from contextlib import suppress
from typing import Any

import pytest

from telex.errors import TelexError
from telex.model.message import OPEN
from telex.ports.store import Query
from telex.surfaces.page.history import History, PageState
from tests.bus.bus_team import Team, open_team, speech_of, team
from tests.proofs import proves

__all__ = ["open_team", "team"]  # fixtures

ALLOWED: dict[str, set[PageState]] = {  # by state of the bus: what the page may call it
    "refused": {"refused"},
    "leased": {"in-hand"},
    "stored": {"sent", "retrying"},
    "read": {"sent", "retrying"},
    "dead": {"dead"},
    "expired": {"dead", "done"},  # a request that was read and never answered has nothing dead about it
    "withdrawn": {"withdrawn", "done", "waiting"},  # done: others have read it
    "acked": {"done", "waiting"},
    "recorded": {"done"},
}
AGENTS = ("dev", "qa", "lead")


def folded(team: Team, until: float | None = None) -> History:
    history = History(team.bus.policy.dialects)
    for event, message in team.bus.events(Query(until=until)):
        history.fold(event, message)
    return history


class RandomTeam:
    """A team that does something at random, a step at a time."""

    def __init__(self, team: Team, seed: int) -> None:
        self.team, self.random, self.leases = team, random.Random(seed), list[tuple[str, Any]]()
        self.count = 0
        for name in AGENTS:
            team.bus.join(name, role=name)

    def step(self) -> None:
        steps = (self.send, self.send, self.ask, self.refuse, self.take, self.take, self.ack, self.ack, self.nack)
        with suppress(TelexError):
            self.random.choice((*steps, self.give_up, self.retry, self.answer, self.leave, self.late, self.look))()
        self.team.later(self.random.uniform(0.5, 3.0))

    def _agent(self) -> str:
        return self.random.choice(AGENTS)

    def send(self) -> None:
        to = self.random.choice((*AGENTS, "role:qa", "all:dev", "*"))
        self.team.bus.send("The build is red.", sender=self._agent(), to=to, check=False)

    def ask(self) -> None:
        self.count += 1
        request = speech_of("vbw-typed", "approval_request", f"ask-{self.count}")
        self.team.bus.send(request.raw, sender=request.sender, to="lead", check=False)

    def answer(self) -> None:
        self.team.bus.approve(
            f"ask-{self.random.randint(1, max(1, self.count))}", approved=True, reason="Fine.", agent="lead"
        )

    def refuse(self) -> None:
        self.team.bus.send("x", sender="dev", to="nobody", check=False)

    def take(self) -> None:
        agent = self._agent()
        self.leases += [(agent, lease) for lease in self.team.bus.receive(agent, limit=self.random.randint(1, 3))]

    def _lease(self) -> tuple[str, Any]:
        if not self.leases:
            raise TelexError("nothing is in hand")
        return self.leases.pop(self.random.randrange(len(self.leases)))

    def ack(self) -> None:
        agent, lease = self._lease()
        self.team.bus.ack(lease.token, agent=agent)

    def nack(self) -> None:
        agent, lease = self._lease()
        counted = self.random.random() < 0.7
        self.team.bus.nack(lease.token, agent=agent, reason="no table", delay=0.0, counted=counted)

    def give_up(self) -> None:
        agent, lease = self._lease()
        self.team.bus.nack(lease.token, agent=agent, reason="no table", final=True)

    def retry(self) -> None:
        for _, message in self.team.bus.dead_letters(limit=1):
            if self.random.random() < 0.5:
                self.team.bus.retry(message.id)
            else:
                self.team.bus.drop(message.id, reason="not needed")

    def leave(self) -> None:
        if self.random.random() < 0.2:
            self.team.bus.leave("qa")
            self.team.bus.join("qa", role="qa", by="human")

    def late(self) -> None:
        self.team.later(self.random.choice((30.0, 400.0, 2_000.0)))

    def look(self) -> None:
        for _, message in self.team.bus.inbox("qa", limit=1):
            self.team.bus.read(message.id, agent="qa")


@proves("page/history/states")
@pytest.mark.parametrize("seed", range(12))
def test_the_history_has_the_states_of_the_store(team: Team, seed: int) -> None:
    actors = RandomTeam(team, seed)
    for _ in range(60):
        actors.step()
    history, now = folded(team), team.clock.now()
    states = {one.message: one.state for one in team.bus.states([*history.messages])}
    assert len(states) == len(history.messages) > 5
    wrong = {
        seq: (state, history.messages[seq].state_at(now))
        for seq, state in states.items()
        if history.messages[seq].state_at(now) not in ALLOWED[state]
    }
    assert wrong == {}


@proves("page/history/deliveries")
@pytest.mark.parametrize("seed", range(6))
def test_a_message_is_in_hand_of_exactly_the_agents_that_hold_it(team: Team, seed: int) -> None:
    actors = RandomTeam(team, 100 + seed)
    for _ in range(60):
        actors.step()
    history, now = folded(team), team.clock.now()
    for message in history.messages.values():
        [story] = [one for one in team.bus.why(message.id) if one.message.seq == message.seq]
        held = sorted(one.holder or "" for one in story.deliveries if one.state == "leased")
        assert held == sorted(one.agent for one in message.deliveries if one.state_at(now) == "in-hand")
        still_open = sorted(one.inbox for one in story.deliveries if one.state in OPEN)
        assert still_open == sorted(one.inbox for one in message.deliveries if one.ended > now)
    for name in AGENTS:
        assert len(history.lane(name).held_at(now)) == sum(
            one.agent == name and one.state_at(now) == "in-hand"
            for message in history.messages.values()
            for one in message.deliveries
        )


@proves("page/history/deliveries")
@pytest.mark.parametrize("seed", range(4))
def test_bars_of_a_window_are_all_that_touch_it(team: Team, seed: int) -> None:
    actors = RandomTeam(team, 300 + seed)
    for _ in range(60):
        actors.step()
    history, now = folded(team), team.clock.now()
    parts = [history, *(history.only(name) for name in [*history.conversations][:3])]
    for lane in (part.lane(name) for part in parts for name in AGENTS):
        for _ in range(20):
            since = now - actors.random.uniform(0.0, 3_000.0)
            until = since + actors.random.uniform(0.0, 600.0)
            touching = [bar[1:] for bar in lane.bars if bar[0] <= until and bar[2].done >= since]
            assert sorted(lane.bars_in(since, until), key=lambda bar: bar[1].taken) == touching


@proves("page/history/deliveries")
def test_a_conversation_alone_shows_what_is_in_hand(team: Team) -> None:
    for correlation in ("one", "two"):
        team.bus.send("Look at the build.", sender="dev", to="lead", correlation=correlation)
        team.bus.receive("lead")
    history, now = folded(team), team.clock.now()
    held = {
        name: [message.conversation for message, _ in history.only(name).lane("lead").held_at(now)]
        for name in ("one", "two")
    }
    assert held == {"one": ["one"], "two": ["two"]}


@proves("page/history/past")
@pytest.mark.parametrize("seed", range(6))
def test_a_past_moment_is_shown_as_it_was(team: Team, seed: int) -> None:
    actors, moments = RandomTeam(team, 200 + seed), dict[float, dict[int, PageState]]()
    for _ in range(50):
        actors.step()
        now = team.clock.now()
        moments[now] = {seq: message.state_at(now) for seq, message in folded(team).messages.items()}
        team.clock.leap(0.25)
    history = folded(team)
    for at, states in moments.items():
        assert {seq: history.messages[seq].state_at(at) for seq in states} == states, at


@proves("page/history/ended")
def test_after_the_end_of_a_team_nobody_waits_for_an_answer(team: Team) -> None:
    for name in AGENTS:
        team.bus.join(name, role=name)
    team.bus.shut_down(agent="lead", reason="plan_complete", deadline=0.0)
    assert [wait.why for wait in folded(team).lane("lead").waits_at(team.clock.now())] == ["reply"]
    team.later(5.0)
    assert team.bus.shut_down(agent="lead", reason="plan_complete", deadline=0.0, force=True).dissolved
    history, now = folded(team), team.clock.now()
    assert [wait for lane in history.lanes.values() for wait in lane.waits_at(now)] == []
    assert [wait.why for wait in history.lane("lead").waits_at(now - 4.0)] == ["reply"]

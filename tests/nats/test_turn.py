"""Turns to write: which hub writes next, as one hub sees it, and hubs whose batches and messages come in any order."""

import random
from collections import defaultdict
from collections.abc import Callable
from functools import partial

import pytest

from telex.stores.nats.turn import ASK_AGAIN_SECONDS, SILENCE_SECONDS, WAIT_SECONDS, Turn, TurnMessage
from tests.proofs import proves


class Network:
    """Hubs that exchange messages. A message waits until it is delivered."""

    def __init__(self, *nodes: str) -> None:
        self.waiting: list[tuple[str, TurnMessage]] = []
        self.turns = {node: Turn(node, lambda to, message: self.waiting.append((to, message))) for node in nodes}
        self.position = 0

    def write(self, node: str, *, has_more: bool = False, keeps: bool = False) -> None:
        """This hub writes a batch, which names those that wait, and all others get it."""
        self.position += 1
        named = self.turns[node].following(has_more=has_more, keeps=keeps)
        for turn in self.turns.values():
            turn.written(node, self.position, 0.0, named)

    def deliver(self, now: float = 0.0) -> list[tuple[str, TurnMessage]]:
        """Deliver everything that waits, and what that causes. What was delivered."""
        delivered = []
        while self.waiting:
            delivered.append(self.waiting.pop(0))
            to, message = delivered[-1]
            self.turns[to].receive(message, now)
        return delivered

    @property
    def writers(self) -> list[str]:
        return [node for node, turn in self.turns.items() if turn.is_mine(self.position)]


def hubs_that_wait() -> Network:
    """Hub a has the turn; b and c have asked for it."""
    network = Network("a", "b", "c")
    network.write("a")
    for node in "bc":
        network.turns[node].ask(0.0)
    network.deliver()
    return network


def kinds(messages: list[tuple[str, TurnMessage]]) -> list[tuple[str, str]]:
    return [(to, message.kind) for to, message in messages]


def test_every_hub_of_a_new_team_may_write() -> None:
    assert Network("a", "b").writers == ["a", "b"]


@proves("replication/turn")
def test_the_hub_that_wrote_last_has_the_turn_and_grants_it_to_one_that_asks() -> None:
    network = Network("a", "b", "c")
    network.write("a")
    assert network.writers == ["a"]
    network.turns["b"].ask(0.0)
    assert kinds(network.deliver()) == [("a", "ask")]
    assert network.turns["a"].pass_on(0.0)
    assert network.writers == []
    network.deliver()
    assert network.writers == ["b"]


@pytest.mark.parametrize("named", [True, False], ids=["in a batch", "in a message"])
def test_hubs_get_the_turn_in_the_order_in_which_they_asked(named: bool) -> None:
    network, order = Network("a", "b", "c", "d"), []
    network.write("a")
    for node in "cbd":
        network.turns[node].ask(0.0)
    network.deliver()
    if named:
        network.write("a")
    else:
        network.turns["a"].pass_on(0.0)
    for _ in range(3):
        network.deliver()
        [writer] = network.writers
        order.append(writer)
        network.write(writer)
    assert order == ["c", "b", "d"]


@proves("replication/turn")
def test_a_hub_that_has_more_to_write_gets_the_turn_back_after_the_others() -> None:
    network, order = hubs_that_wait(), []
    network.write("a", has_more=True)
    for _ in range(3):
        [writer] = network.writers
        order.append(writer)
        network.write(writer)
    assert order == ["b", "c", "a"]
    assert network.waiting == []  # the batches have said everything


@proves("replication/turn")
def test_a_hub_that_keeps_its_turn_after_a_batch_tells_those_that_wait() -> None:
    network = hubs_that_wait()
    network.write("a", keeps=True)
    assert network.writers == ["a"]
    network.write("a", has_more=True)
    assert network.writers == ["b"]
    network.write("b")
    assert network.writers == ["c"]
    assert network.waiting == []  # the batches have said everything


def test_a_hub_that_has_nothing_more_to_write_passes_a_turn_on_that_it_had_kept() -> None:
    network = hubs_that_wait()
    network.write("a", keeps=True)
    assert network.turns["a"].pass_on(0.0)
    network.deliver()
    assert network.writers == ["b"]
    network.write("b")
    assert network.writers == ["c"]


def test_a_hub_that_asked_while_a_batch_was_published_gets_the_turn_after_it_and_gives_it_back() -> None:
    network = Network("a", "b")
    network.write("a")
    network.turns["b"].ask(0.0)
    network.deliver()
    assert network.turns["a"].pass_on(0.0, has_more=True)
    network.deliver()
    assert network.writers == ["b"]
    network.write("b")
    assert network.writers == ["a"]
    assert network.waiting == []


def test_a_hub_that_asked_too_late_for_a_batch_asks_the_one_that_it_names() -> None:
    network = Network("a", "b", "c")
    network.write("a")
    network.turns["b"].ask(0.0)
    network.deliver()
    network.turns["c"].ask(0.0)  # still on its way
    network.write("a")
    assert kinds(network.deliver()) == [("a", "ask"), ("b", "ask"), ("c", "holder")]
    network.write("b")
    assert network.writers == ["c"]


def test_a_hub_may_be_asked_before_it_has_the_batch_that_names_it() -> None:
    network = Network("a", "b")
    network.write("a")
    network.turns["b"].ask(0.0)
    network.deliver()
    network.turns["a"].written("a", 2, 0.0, network.turns["a"].following(has_more=False))
    network.turns["a"].ask(0.0)
    assert kinds(network.deliver()) == [("b", "ask")]
    network.position = 2
    network.turns["b"].written("a", 2, 0.0, ("b",))
    network.write("b")
    assert network.writers == ["a"]


def test_a_hub_asks_once_for_one_turn() -> None:
    network = Network("a", "b")
    network.write("a")
    for _ in range(3):
        network.turns["b"].ask(0.0)
    assert kinds(network.deliver()) == [("a", "ask")]


def test_a_hub_that_has_the_turn_does_not_ask_and_grants_nothing_to_itself() -> None:
    network = Network("a", "b")
    network.write("a")
    network.turns["a"].ask(0.0)
    assert not network.turns["a"].pass_on(0.0)
    assert network.waiting == []


def test_a_hub_that_asks_the_wrong_one_is_referred() -> None:
    network = Network("a", "b", "c")
    network.write("a")
    network.turns["b"].ask(0.0)
    for node in "ac":  # and b has not seen it yet
        network.turns[node].written("c", 2, 0.0)
    network.position = 2
    assert kinds(network.deliver()) == [("a", "ask"), ("b", "holder"), ("c", "ask")]
    network.turns["c"].pass_on(0.0)
    assert kinds(network.deliver()) == [("b", "holder")]
    assert network.turns["b"].is_mine(2)


@proves("replication/turn")
def test_a_grant_that_arrives_before_the_batch_it_names_waits_for_it() -> None:
    turn = Turn("b", lambda *_: None)
    turn.written("a", 6, 0.0)
    turn.ask(0.0)
    turn.receive(TurnMessage("holder", "b", 7, 1), 0.0)
    assert not turn.is_mine(6)
    turn.written("a", 7, 0.0)
    assert turn.is_mine(7)


def test_a_batch_after_the_one_of_the_grant_takes_the_turn_away() -> None:
    turn = Turn("b", lambda *_: None)
    turn.receive(TurnMessage("holder", "b", 7, 1), 0.0)
    turn.written("c", 8, 0.0)
    assert not turn.is_mine(8)


@proves("replication/turn")
def test_a_hub_takes_the_turn_of_one_that_is_not_connected() -> None:
    turn = Turn("b", lambda *_: None)
    turn.written("a", 1, 0.0)
    turn.absent("a")  # it has not asked
    assert not turn.is_mine(1)
    turn.ask(0.0)
    turn.absent("c")
    assert not turn.is_mine(1)
    turn.absent("a")
    assert turn.is_mine(1)


@proves("replication/turn")
def test_a_hub_without_an_answer_asks_again_and_takes_the_turn_after_a_silence() -> None:
    network = Network("a", "b")
    network.write("a")
    turn = network.turns["b"]
    turn.ask(0.0)
    turn.check(ASK_AGAIN_SECONDS / 2)
    assert len(network.waiting) == 1
    turn.check(ASK_AGAIN_SECONDS * 1.1)
    assert len(network.waiting) == 2
    turn.check(SILENCE_SECONDS * 1.1)
    assert turn.is_mine(1)


@pytest.mark.parametrize("until, takes_it", [(WAIT_SECONDS * 0.9, False), (WAIT_SECONDS * 1.2, True)])
def test_a_hub_that_is_passed_over_takes_the_turn_after_a_while_although_another_writes(
    until: float, takes_it: bool
) -> None:
    network = Network("a", "b")
    network.write("a")
    turn, now = network.turns["b"], 0.0
    turn.ask(now)
    while now < until and not turn.is_mine(10_000):
        now += 0.1
        network.position += 1
        turn.written("a", network.position, now)
        turn.check(now)
    assert turn.is_mine(10_000) == takes_it


def test_a_hub_that_waits_for_nothing_takes_no_turn() -> None:
    turn = Turn("b", lambda *_: None)
    turn.written("a", 1, 0.0)
    turn.check(1_000.0)
    assert not turn.is_mine(1)


def test_a_turn_that_comes_back_before_the_own_batch_is_acknowledged_is_kept() -> None:
    turn = Turn("b", lambda *_: None)
    turn.written("a", 4, 0.0, ("b", "a"))
    turn.receive(TurnMessage("holder", "b", 5, 1), 0.0)  # hub a has got batch 5 of b first, and had nothing to write
    turn.written("b", 5, 0.0, ("a", "b"))
    assert turn.is_mine(5)


# --- any order -------------------------------------------------------------------------------------------------------


class Hub:
    """A hub as its writer uses the turn: a queue, one batch in flight, and its position in the log."""

    def __init__(self, node: str, schedule: "Schedule") -> None:
        self.node, self._schedule = node, schedule
        self.turn = Turn(node, partial(schedule.send, node))
        self.queue = self.position = 0
        self.flight: tuple[str, ...] | None = None
        self.is_published = self.keeps = False

    def step(self) -> None:
        if self.flight is not None:
            return
        if not self.queue:
            self.turn.pass_on(0.0)
        elif self.turn.is_mine(self.position):
            decided = self._schedule.chance.randint(1, self.queue)
            self.queue -= decided
            self.keeps = self._schedule.chance.random() < 0.3
            has_more = decided > 1 or self.queue > 0
            self.flight, self.is_published = self.turn.following(has_more=has_more, keeps=self.keeps), False
        else:
            self.turn.ask(0.0)

    def publish(self) -> None:
        assert self.flight is not None
        assert len(self._schedule.log) == self.position, "two hubs believe to have the turn"
        self._schedule.log.append((self.node, self.flight))
        self.is_published = True

    def apply(self) -> None:
        """The next entry of the log has come."""
        node, named = self._schedule.log[self.position]
        self.position += 1
        self.turn.written(node, self.position, 0.0, named)
        if node == self.node:
            self.flight = None
            if not self.keeps:
                self.turn.pass_on(0.0, has_more=self.queue > 0)
        self.step()


class Schedule:
    """Hubs that get work, messages and entries of the log in a random order."""

    def __init__(self, nodes: str, seed: int, work: int) -> None:
        self.chance, self._work = random.Random(seed), work
        self.log: list[tuple[str, tuple[str, ...]]] = [(nodes[0], ())]
        self._messages: defaultdict[tuple[str, str], list[TurnMessage]] = defaultdict(list)
        self.hubs = {node: Hub(node, self) for node in nodes}
        for hub in self.hubs.values():
            hub.apply()

    def send(self, sender: str, to: str, message: TurnMessage) -> None:
        self._messages[sender, to].append(message)

    def _deliver(self, way: tuple[str, str]) -> None:
        hub = self.hubs[way[1]]
        hub.turn.receive(self._messages[way].pop(0), 0.0)
        hub.step()

    def _add_work(self) -> None:
        self._work -= 1
        hub = self.chance.choice(list(self.hubs.values()))
        hub.queue += self.chance.randint(1, 3)
        hub.step()

    def _possible(self) -> list[Callable[[], None]]:
        possible: list[Callable[[], None]] = [
            partial(self._deliver, way) for way, left in self._messages.items() if left
        ]
        for hub in self.hubs.values():
            if hub.flight is not None and not hub.is_published:
                possible.append(hub.publish)
            if hub.position < len(self.log):
                possible.append(hub.apply)
        return [*possible, self._add_work] if self._work else possible

    def run(self, steps_max: int) -> None:
        while possible := self._possible():
            steps_max -= 1
            assert steps_max, "hubs send each other messages without end"
            self.chance.choice(possible)()


@proves("replication/turn")
@pytest.mark.parametrize("nodes", ["ab", "abc", "abcd"])
def test_every_hub_gets_its_turn_without_waiting_for_a_timeout_in_whatever_order_things_arrive(nodes: str) -> None:
    for seed in range(300):
        schedule = Schedule(nodes, seed, work=12)
        schedule.run(steps_max=2_000)
        assert [hub.queue for hub in schedule.hubs.values()] == [0] * len(nodes), f"seed {seed}"

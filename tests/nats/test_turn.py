"""Turns to write: which hub writes next, as one hub sees it."""

import pytest

from telex.stores.nats.turn import ASK_AGAIN_SECONDS, SILENCE_SECONDS, WAIT_SECONDS, Turn, TurnMessage
from tests.proofs import proves


class Network:
    """Hubs that exchange messages. A message waits until it is delivered."""

    def __init__(self, *nodes: str) -> None:
        self.waiting: list[tuple[str, TurnMessage]] = []
        self.turns = {node: Turn(node, lambda to, message: self.waiting.append((to, message))) for node in nodes}
        self.position = 0

    def write(self, node: str, *, has_more: bool = False) -> None:
        """This hub writes a batch, which names those that wait, and all others get it."""
        self.position += 1
        named = self.turns[node].following(has_more=has_more)
        self.turns[node].take()
        if named:
            self.turns[node].passed(named, self.position, 0.0)
        for other, turn in self.turns.items():
            if other != node:
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
    assert network.turns["a"].pass_on(network.position, 0.0)
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
        network.turns["a"].pass_on(network.position, 0.0)
    for _ in range(3):
        network.deliver()
        [writer] = network.writers
        order.append(writer)
        network.write(writer)
    assert order == ["c", "b", "d"]


@proves("replication/turn")
def test_a_hub_that_has_more_to_write_gets_the_turn_back_after_the_others() -> None:
    network, order = Network("a", "b", "c"), []
    network.write("a")
    network.turns["b"].ask(0.0)
    network.turns["c"].ask(0.0)
    network.deliver()
    network.write("a", has_more=True)
    for _ in range(3):
        [writer] = network.writers
        order.append(writer)
        network.write(writer)
    assert order == ["b", "c", "a"]
    assert network.waiting == []  # the batches have said everything


def test_a_hub_that_asked_too_late_for_a_batch_asks_the_one_that_it_names() -> None:
    network = Network("a", "b", "c")
    network.write("a")
    network.turns["b"].ask(0.0)
    network.deliver()
    network.turns["c"].ask(0.0)  # still on its way
    network.write("a")
    assert kinds(network.deliver()) == [("a", "ask"), ("b", "ask"), ("c", "refer")]
    network.write("b")
    assert network.writers == ["c"]


def test_a_hub_may_be_asked_before_it_has_the_batch_that_names_it() -> None:
    network = Network("a", "b")
    network.write("a")
    network.turns["b"].ask(0.0)
    network.deliver()
    network.turns["a"].passed(network.turns["a"].following(has_more=False), 2, 0.0)
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
    assert not network.turns["a"].pass_on(network.position, 0.0)
    assert network.waiting == []


def test_a_hub_that_asks_the_wrong_one_is_referred() -> None:
    network = Network("a", "b", "c")
    network.write("a")
    network.turns["b"].ask(0.0)
    network.turns["a"].written("c", 2, 0.0)  # and b has not seen it yet
    network.turns["c"].take()
    network.position = 2
    assert kinds(network.deliver()) == [("a", "ask"), ("b", "refer"), ("c", "ask")]
    network.turns["c"].pass_on(2, 0.0)
    assert kinds(network.deliver()) == [("b", "grant")]
    assert network.turns["b"].is_mine(2)


@proves("replication/turn")
def test_a_grant_that_arrives_before_the_batch_it_names_waits_for_it() -> None:
    turn = Turn("b", lambda *_: None)
    turn.written("a", 6, 0.0)
    turn.ask(0.0)
    turn.receive(TurnMessage("grant", "a", 7), 0.0)
    assert not turn.is_mine(6)
    turn.written("a", 7, 0.0)
    assert turn.is_mine(7)


def test_a_batch_after_the_one_of_the_grant_takes_the_turn_away() -> None:
    turn = Turn("b", lambda *_: None)
    turn.receive(TurnMessage("grant", "a", 7), 0.0)
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

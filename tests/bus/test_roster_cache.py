"""Cache of roster, routes and topics: every change reaches the next send, and a message is decided and written once."""

import json
from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import telex
from telex.bus import context, run_sync
from telex.bus.local import LocalBus
from telex.client import SyncBus
from telex.clock import SteadyClock
from telex.config import Settings
from telex.delivery.validator_cache import OPENED_AFTER
from telex.dialects.builtin.vbw_typed import EXECUTION_UPDATE
from telex.model.roster import Member
from telex.ports.bus import Receipt
from telex.ports.store import topic_messages
from telex.stores.memory import MemoryStore
from telex.stores.sqlite.connection import SqliteConnection
from telex.stores.sqlite.reads import SqliteReads
from telex.stores.sqlite.store import SqliteStore
from telex.testing import FakeClock
from telex.work import reducer
from telex.work.view import WorkMessage
from tests.bus.bus_team import OpenTeam, Team, codes, flow, speech_of
from tests.proofs import proves
from tests.work.contract_team import typed

Buses = Callable[[Team], tuple[SyncBus, SyncBus]]


class Ticking:
    """A clock that goes on by a moment whenever it is read, so that nothing is new enough to be believed."""

    def __init__(self) -> None:
        self.now = 1_790_000_000.0

    def __call__(self) -> float:
        self.now += 0.05
        return self.now


def update(bus: SyncBus, number: int, **who: Any) -> Receipt:
    return bus.send(json.dumps(typed(EXECUTION_UPDATE, id=f"u-{number}")).encode(), **who, check=False)


def warmed(bus: SyncBus, **who: Any) -> None:
    """So many messages that the route is cached and the validator compiled."""
    for number in range(-OPENED_AFTER - 2, 0):
        assert update(bus, number, **who).accepted


def test_messages_of_other_processes_do_not_make_a_sender_read_the_roster_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticking, files, members = Ticking(), list[SqliteConnection](), SqliteReads.members

    def counted(reads: SqliteReads) -> list[Member]:
        files.append(reads.file)
        return members(reads)

    monkeypatch.setattr(SqliteReads, "members", counted)
    store, clock = tmp_path / "telex.db", SteadyClock(wall=ticking, monotonic=ticking)
    with telex.connect(store, settings=Settings(), clock=clock) as bus, telex.connect(store) as other:
        for number in range(30):
            assert update(bus, number, sender="dev", to="lead").accepted
            assert other.send("all is well", sender="lead", to="dev").accepted
            if number == 2:  # both have joined by now
                files.clear()
        assert bus._bus.store._file not in files  # type: ignore[attr-defined]


@pytest.fixture(params=["the same process", "another process"])
def buses(request: pytest.FixtureRequest) -> Buses:
    """The bus that sends, and the one through which the team changes."""
    is_same = request.param == "the same process"
    return lambda team: (team.bus, team.bus if is_same else team.other())


def test_a_member_that_joins_gets_the_next_broadcast(team: Team, buses: Buses) -> None:
    (bus, other), who = buses(team), {"sender": "dev", "to": "all:lead"}
    warmed(bus, **who)
    other.join("lena", role="lead")
    assert "lena" in update(bus, 1, **who).to


def test_a_member_that_has_left_gets_nothing_more(team: Team, buses: Buses) -> None:
    (bus, other), who = buses(team), {"sender": "dev", "to": "lena"}
    bus.join("lena", role="lead")
    warmed(bus, **who)
    other.leave("lena")
    assert codes(update(bus, 1, **who).findings) == ["recipient-has-left"]


def test_a_member_that_comes_back_in_another_role_sends_in_that_role(team: Team, buses: Buses) -> None:
    (bus, other), who = buses(team), {"sender": "ada", "to": "lead"}
    bus.join("ada", role="dev")
    warmed(bus, **who)
    other.leave("ada")
    other.join("ada", role="qa")
    assert "role-may-not-send" in codes(update(bus, 1, **who).findings)


def test_the_activity_of_a_sender_is_written_down_now_and_then(open_team: OpenTeam) -> None:
    silent_seconds, seen = 0.1, set[float]()
    team = open_team(silent_seconds=silent_seconds)
    for number in range(200):
        team.clock.leap(silent_seconds / 50)
        assert update(team.bus, number, sender="dev", to="lead").accepted
        [seen_at] = [
            one.seen_at
            for one in run_sync(team.bus._bus.store.read(lambda reads: reads.members()))
            if one.name == "dev"
        ]
        assert seen_at is not None
        assert team.clock.now() - seen_at < silent_seconds, "it would be shown as silent"
        seen.add(seen_at)
    assert 3 < len(seen) < 20, "not for every message"


DEV, CTO, HEAD = "fullstack-developer", "cto", "build-orchestrator"
SENT = 40
REPORTS_MAX = 2  # that follow from forty messages of one kind
STATES = ("pending", "assigned", "planning", "validated")
TALK = st.lists(
    st.tuples(
        st.sampled_from(["move", "ask", "fail", "assign", "hand up"]),
        st.sampled_from(["T1", "T2"]),
        st.sampled_from([*pairwise(STATES)]),
        st.integers(0, 1),  # who sends it
    ),
    max_size=25,
)


class Counting:
    """How many transactions a store was given, and how many messages were read from its topics."""

    def __init__(self, store: Any, patch: pytest.MonkeyPatch) -> None:
        self.transactions = self.read = 0
        self._transaction, store.transaction = store.transaction, self.transaction
        patch.setattr(context, "topic_messages", self._counted(topic_messages))

    def transaction(self, decide: Callable[[Any], Any], **how: Any) -> Awaitable[Any]:
        self.transactions += 1
        answer: Awaitable[Any] = self._transaction(decide, **how)
        return answer

    def _counted(self, topic: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any) -> Any:
            found = topic(*args)
            self.read += len(found)
            return found

        return counted


def about(
    type_: str, id: str, sender: str, to: str, task: str = "T1", reply_to: str | None = None, **payload: Any
) -> tuple[bytes, str]:
    tree = json.loads(flow(type_, id, sender, to, task))
    tree["payload"] |= payload
    if reply_to is not None:
        tree["replyTo"] = reply_to
    return json.dumps(tree).encode(), sender


def move(id: str, came_from: str, goes_to: str, task: str = "T1", **more: Any) -> tuple[bytes, str]:
    return about("STATE_TRANSITION", id, HEAD, DEV, task, fromState=came_from, toState=goes_to, **more)


def send(bus: LocalBus, message: tuple[bytes, str]) -> Receipt:
    return run_sync(bus.send(message[0], sender=message[1], check=False))


def all_codes(receipt: Receipt) -> list[str]:
    return [finding.code for finding in receipt.findings]


TOPICS = {
    "assignments": lambda number: about("TASK_ASSIGNMENT", f"m-{number}", HEAD, DEV),
    "requests": lambda number: about("VALIDATION_REQUEST", f"m-{number}", DEV, CTO),
    "failures": lambda number: about("STATUS_UPDATE", f"m-{number}", DEV, HEAD, status="FAILED"),
    "moves": lambda number: move(f"m-{number}", "planning", "planning"),
    "matters handed up": lambda number: about("ESCALATION_REQUEST", f"m-{number}", HEAD, CTO, task=f"T{number % 3}"),
}


@proves("work/checked-once")
@pytest.mark.parametrize("topic", TOPICS)
@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_sender_that_goes_on_with_a_matter_has_each_message_decided_and_written_once(
    kind: str, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = MemoryStore() if kind == "memory" else SqliteStore.open(str(tmp_path / "telex.db"), durable=False)
    counting, bus, decided = Counting(store, monkeypatch), LocalBus(store, FakeClock()), list[str]()
    check_rules = reducer.check_rules

    def counted(message: WorkMessage, *more: Any) -> Any:
        decided.append(message.id)
        return check_rules(message, *more)

    monkeypatch.setattr(reducer, "check_rules", counted)
    for number in range(SENT):
        receipt = send(bus, TOPICS[topic](number))
        assert receipt.accepted, receipt.findings
    assert counting.transactions == SENT
    assert decided == [f"m-{number}" for number in range(SENT)]
    assert counting.read <= REPORTS_MAX, "nothing is read that this process has written, but for reports of the bus"
    run_sync(store.close())


@proves("work/checked-once")
def test_what_the_bus_has_said_of_itself_is_read_on_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The third failure of a task is handed up by the bus, and whoever got that hands it on."""
    store = MemoryStore()
    counting, bus = Counting(store, monkeypatch), LocalBus(store, FakeClock())
    for number in range(3):
        assert send(bus, TOPICS["failures"](number)).accepted
    [(_, handed_up)] = run_sync(bus.inbox(CTO))
    counting.transactions = 0
    assert send(bus, about("ESCALATION_REQUEST", "on", CTO, "human", reply_to=handed_up.id)).accepted
    assert counting.transactions == 1


@proves("work/checked-once")
def test_what_others_have_written_is_read_before_anything_is_decided(tmp_path: Path) -> None:
    """Both have written about the matter themselves."""
    stores = [SqliteStore.open(str(tmp_path / "telex.db"), durable=False) for _ in range(2)]
    first, second = (LocalBus(store, FakeClock()) for store in stores)
    assert send(first, move("m-1", "pending", "assigned")).accepted
    assert send(second, move("m-2", "assigned", "planning")).accepted
    assert set(all_codes(send(first, move("m-3", "assigned", "planning")))) == {"transition-not-allowed"}
    assert send(first, move("m-4", "planning", "validated")).accepted
    run_sync(first.work_state("task"))  # it has read the newest state
    assert send(second, move("m-5", "validated", "in_progress")).accepted
    assert set(all_codes(send(first, move("m-6", "validated", "in_progress")))) == {"transition-not-allowed"}
    assert [step.goes_to for step in run_sync(second.work_state("task"))["task:T1"].steps] == [
        *STATES[1:],
        "in_progress",
    ]
    for store in stores:
        run_sync(store.close())


@proves("work/checked-once")
def test_an_id_that_was_used_is_told_as_that_and_not_as_what_it_has_said_before() -> None:
    bus = LocalBus(MemoryStore(), FakeClock())
    first = send(bus, move("m-1", "pending", "assigned"))
    again = send(bus, move("m-1", "pending", "assigned"))
    assert again == first._replace(duplicate=True)
    for _ in range(2):
        other = send(bus, move("m-1", "pending", "assigned", reason="in other words"))
        assert (other.accepted, all_codes(other)) == (False, ["id-reused"])
    assert set(all_codes(send(bus, move("m-2", "pending", "assigned")))) == {"transition-not-allowed"}


@proves("work/checked-once")
def test_a_message_that_is_repeated_is_told_what_it_was_told_at_first() -> None:
    """A second review of the same cycle would be told that the cycle is out of order."""
    bus = LocalBus(MemoryStore(), FakeClock())
    review = speech_of("vbw-company", "code_review_result", plan_id="P", cycle=1, result="changes_requested")
    first, *again = [run_sync(bus.send(review.raw, sender="senior", to="lead", id="r-1")) for _ in range(3)]
    assert (first.accepted, first.findings) == (True, ())
    assert again == [first._replace(duplicate=True)] * 2
    other = run_sync(bus.send(review.raw, sender="senior", to="lead", id="r-2"))
    assert all_codes(other) == ["cycle-out-of-order"]


@proves("work/checked-once")
@given(talk=TALK)
def test_two_who_share_a_store_are_told_what_one_alone_would_be(talk: list[tuple[str, str, Any, int]]) -> None:
    """Whatever each of them knows, and whoever has written last."""
    shared, clock = MemoryStore(), FakeClock()
    alone, two = LocalBus(MemoryStore(), clock), [LocalBus(shared, clock) for _ in range(2)]
    for number, (what, task, states, who) in enumerate(talk):
        message = said(what, f"m-{number}", task, states)
        one, other = send(alone, message), send(two[who], message)
        assert (one.accepted, one.findings) == (other.accepted, other.findings)
    assert (
        run_sync(alone.work_state("task")) == run_sync(two[0].work_state("task")) == run_sync(two[1].work_state("task"))
    )


def said(what: str, id: str, task: str, states: tuple[str, str]) -> tuple[bytes, str]:
    if what == "move":
        return move(id, *states, task=task)
    if what == "ask":
        return about("VALIDATION_REQUEST", id, DEV, CTO, task)
    if what == "fail":
        return about("STATUS_UPDATE", id, DEV, HEAD, task, status="FAILED")
    if what == "assign":
        return about("TASK_ASSIGNMENT", id, HEAD, DEV, task)
    return about("ESCALATION_REQUEST", id, HEAD, CTO, task)

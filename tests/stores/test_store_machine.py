"""Whatever is asked of a store, in whatever order: does it answer as a list of messages would?

Hypothesis makes up the orders; `store_model` says what should have happened. Numbers are taken from the store and
everything else is compared: answers, states, order, stories, before and after the store is opened again.
"""

from collections.abc import Coroutine
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar, cast

import pytest
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from telex.bus import run_sync
from telex.model.message import AT_ONCE, LeasedMessage, NewMessage
from telex.model.text import digest_of
from telex.ports.store import (
    LeaseRequest,
    PendingRequest,
    Settlement,
    Store,
    dead_letters,
    deliveries_of,
    events_of,
    expired_leases,
    find_messages,
    get_message,
    overdue_requests,
    settle,
    waiting_deliveries,
)
from telex.stores.memory import MemoryStore
from telex.stores.sqlite import caches
from telex.stores.sqlite.store import SqliteStore
from telex.testing import FakeClock
from telex.testing.contract_base import append
from telex.testing.contract_messages import pending_requests, remind
from telex.testing.faulty_stores import BUGS
from tests.stores.store_model import Lying, Model

T = TypeVar("T")
INBOXES = ("lead", "qa", "role:qa")
SOME_INBOXES = st.lists(st.sampled_from(INBOXES), min_size=1, max_size=3, unique=True).map(tuple)
WINDOW_SECONDS = 100.0
FAR = -1.0  # before everything

SETTLEMENTS = {  # what was, what becomes of it, and how that is told
    "ack": ("leased", "acked", "acked"),
    "nack": ("leased", "stored", "nacked"),
    "lapse": ("leased", "stored", "lease-expired"),
    "extend": ("leased", "leased", "extended"),
    "bury": ("leased", "dead", "dead"),
    "expire": ("stored", "expired", "expired"),
    "withdraw": ("stored", "withdrawn", "withdrawn"),
    "retry": ("dead", "stored", "retried"),
    "drop": ("dead", "withdrawn", "dropped"),
}


class StoreMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.clock = FakeClock()
        self.model = Model()
        self.tokens: list[LeasedMessage] = []  # every lease ever given; old ones too
        self.store = self.open()

    def open(self) -> Store:
        return MemoryStore()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return run_sync(work)

    @property
    def now(self) -> float:
        return self.clock.now()

    # --- verbs ------------------------------------------------------------------------------------------------------

    @rule(
        id=st.sampled_from(["a", "b", "c", "d"]),
        sender=st.sampled_from(["dev", "zoë"]),
        inboxes=SOME_INBOXES,
        raw=st.sampled_from([b"{}", b"\xff\x00"]),
        rank=st.integers(0, 3),
        inbox_max=st.sampled_from([None, 2, 4]),
        answer_in=st.sampled_from([None, 5.0, 50.0]),
        times=st.integers(1, 2),
    )
    def append(
        self, inboxes: tuple[str, ...], inbox_max: int | None, answer_in: float | None, times: int, **given: Any
    ) -> None:
        entry = self.entry(inboxes=inboxes, **given)
        entry = entry._replace(answer_by=None if answer_in is None else self.now + answer_in)
        self.append_all([entry] * times, inbox_max)

    def append_all(self, entries: list[NewMessage], inbox_max: int | None = None) -> None:
        """In one transaction."""
        since = self.now - WINDOW_SECONDS
        results = self.run(append(self.store, entries, dedup_since=since, inbox_max=inbox_max))
        for entry, appended in zip(entries, results, strict=True):
            assert appended.outcome == self.model.outcome(entry, since, inbox_max), entry.id
            if appended.outcome == "stored":
                self.keep(entry, appended.seq)

    @rule(id=st.sampled_from(["a", "b"]))
    def append_refused(self, id: str) -> None:
        entry = self.entry(id=id, kind="refused")
        [appended] = self.run(append(self.store, [entry]))
        assert appended.outcome == "stored"
        self.keep(entry, appended.seq)

    @rule(inboxes=SOME_INBOXES, limit=st.integers(1, 4), seconds=st.sampled_from([1.0, 10.0, 60.0]))
    def lease(self, inboxes: tuple[str, ...], limit: int, seconds: float) -> None:
        until = self.now + seconds
        leased = self.run(self.store.lease(LeaseRequest(inboxes, "kim", self.now, until, limit)))
        expected = self.model.lease(inboxes, "kim", self.now, until, limit)
        assert [(one.delivery, one.attempt, one.fence) for one in leased] == [
            (lying.seq, lying.attempts, lying.fence) for lying in expected
        ]
        self.tokens += leased

    @precondition(lambda self: self.tokens)
    @rule(
        data=st.data(),
        what=st.sampled_from(list(SETTLEMENTS)),
        fenced=st.booleans(),
        timely=st.booleans(),
        delay=st.sampled_from([0.0, 5.0]),
        release=st.booleans(),
    )
    def settle(self, data: st.DataObject, what: str, fenced: bool, timely: bool, delay: float, release: bool) -> None:
        token = data.draw(st.sampled_from(self.tokens[-6:]))
        was, becomes, kind = SETTLEMENTS[what]
        report = self.entry(id=f"report-{len(self.model.kept)}", sender="telex", inboxes=("dev",))
        settlement = Settlement(
            delivery=token.delivery,
            was=was,  # type: ignore[arg-type]
            becomes=becomes,  # type: ignore[arg-type]
            at=self.now,
            kind=kind,
            agent="kim",
            fence=token.fence if fenced else None,
            running_at=self.now if timely and what == "extend" else None,
            run_out_at=self.now if what == "lapse" else None,
            after_expiry=what in ("ack", "nack", "bury") and not timely,
            due_at=self.now + delay,
            attempts=0 if what == "retry" else None,
            reports=(report,) if what == "bury" else (),
            release=release,
        )
        if any(kept.pruned and kept.seq == token.message.seq for kept in self.model.kept):
            assert self.run(settle(self.store, [settlement])) == [(False, None)]
            return
        for settled in self.run(settle(self.store, [settlement, settlement])):
            done = self.model.settle(settlement)
            assert settled.done == done
            if done and settlement.reports:
                [message] = self.run(self.store.read(find_messages, report.id))
                self.keep(report, message.seq)
        self.compare(token.message.seq)

    @rule(seconds=st.sampled_from([0.5, 3.0, 10.0, 61.0, WINDOW_SECONDS]))
    def time_passes(self, seconds: float) -> None:
        self.clock.leap(seconds)

    @precondition(lambda self: self.model.asks)
    @rule(data=st.data(), due_in=st.sampled_from([None, 5.0]), inboxes=SOME_INBOXES, late=st.booleans())
    def remind(self, data: st.DataObject, due_in: float | None, inboxes: tuple[str, ...], late: bool) -> None:
        message = data.draw(st.sampled_from(sorted(self.model.asks)))
        due_at, attempts = self.model.asks[message]
        ask = PendingRequest(message, due_at, attempts - 1 if late else attempts)
        next_at = None if due_in is None else self.now + due_in
        assert self.run(remind(self.store, ask, self.now, next_at, inboxes=inboxes)) == (not late)
        if late:
            return
        del self.model.asks[message]
        if next_at is not None:
            self.model.asks[message] = (next_at, attempts + 1)
        expired = ["expired"] if next_at is None else []
        self.model.tell(message, self.now, "reply-overdue", *["request-repeated"] * len(inboxes), *expired)
        rank = self.model.of(message)[0].rank
        self.model.lying += [Lying(message, inbox, rank, AT_ONCE) for inbox in inboxes]
        self.number(message)

    @precondition(lambda self: self.model.kept)
    @rule(data=st.data())
    def answer(self, data: st.DataObject) -> None:
        message = data.draw(st.sampled_from([kept.seq for kept in self.model.kept]))
        answer = self.entry(
            id=f"answer-{len(self.model.kept)}", sender="kim", inboxes=("dev",), answers_requests=(message,)
        )
        [appended] = self.run(append(self.store, [answer]))
        assert appended.outcome == "stored"
        self.keep(answer, appended.seq)
        if self.model.asks.pop(message, None) is not None:
            self.model.tell(message, self.now, "answered")

    @rule(forget=st.booleans(), prune=st.booleans())
    def tidy(self, forget: bool, prune: bool) -> None:
        same_since = self.now - WINDOW_SECONDS if forget else FAR
        keep_since = self.now - WINDOW_SECONDS if prune else FAR
        for step in range(4):  # one step may only find its place again, and nobody tidies twice in a minute
            then = self.now + step * 3600.0
            self.run(
                self.store.maintain(then, same_since=same_since, keep_since=keep_since, silent_since=FAR, limit=1000)
            )
        self.model.prune(keep_since)

    # --- comparing --------------------------------------------------------------------------------------------------

    @rule()
    def look_at_the_inboxes(self) -> None:
        for inboxes in (("lead",), INBOXES):
            waiting = [delivery.seq for delivery, _ in self.run(self.store.read(waiting_deliveries, inboxes, 1000))]
            assert waiting == [lying.seq for lying in self.model.turn(inboxes, ("stored", "leased"))]
        leased = [lying for lying in self.model.lying if lying.state == "leased"]
        lapsed = {delivery.seq for delivery, _ in self.run(self.store.read(expired_leases, self.now, 1000))}
        assert lapsed == {lying.seq for lying in leased if lying.due_at <= self.now}
        dead = {delivery.seq for delivery, _ in self.run(self.store.read(dead_letters, 1000))}
        assert dead == {lying.seq for lying in self.model.lying if lying.state in ("dead", "expired")}
        overdue = {
            ask.message: (ask.due_at, ask.attempts)
            for ask, _, _ in self.run(self.store.read(overdue_requests, self.now, 1000))
        }
        assert overdue == {seq: ask for seq, ask in self.model.asks.items() if ask[0] <= self.now}
        found = [
            (ask.message, ask.due_at, ask.attempts) for ask, _ in self.run(pending_requests(self.store, None, "T1"))
        ]
        assert found == [(seq, *ask) for seq, ask in sorted(self.model.asks.items())]
        counts = {inbox: depth[:2] for inbox, depth in self.run(self.store.read(lambda reads: reads.depths())).items()}
        assert {inbox: sum(depth) for inbox, depth in counts.items()} == {
            inbox: len(lying)
            for inbox in (*INBOXES, "dev")
            if (lying := self.model.turn((inbox,), ("stored", "leased")))
        }

    def compare(self, message: int) -> None:
        deliveries = self.run(self.store.read(deliveries_of, message))
        assert [
            (
                delivery.seq,
                delivery.inbox,
                delivery.state,
                delivery.due_at,
                delivery.attempts,
                delivery.fence,
                delivery.holder,
            )
            for delivery in deliveries
        ] == [
            (lying.seq, lying.inbox, lying.state, lying.due_at, lying.attempts, lying.fence, lying.holder)
            for lying in self.model.of(message)
        ]
        story = self.run(self.store.read(events_of, message))
        assert [event.kind for event in story] == self.model.told(message)
        assert all(event.message == message for event in story)

    def teardown(self) -> None:
        try:
            self.look_at_the_inboxes()
            for kept in self.model.kept:
                message = self.run(self.store.read(get_message, kept.seq))
                if kept.pruned:
                    assert message is None
                    continue
                assert message is not None
                assert (message.id, message.raw, message.at) == (kept.entry.id, kept.entry.raw, kept.entry.at)
                self.compare(kept.seq)
        finally:
            self.run(self.store.close())

    # --- helpers ----------------------------------------------------------------------------------------------------

    def entry(self, **given: Any) -> NewMessage:
        inboxes = given.get("inboxes", ())
        plain: dict[str, Any] = {
            "at": self.now,
            "sender": "dev",
            "role": "dev",
            "to": ",".join(inboxes),
            "dialect": None,
            "type": None,
            "rank": 3,
            "correlation": "T1",
            "reply_to": None,
            "raw": b"{}",
        }
        made = plain | given
        return NewMessage(digest=digest_of(made["raw"]), **made)

    def keep(self, entry: NewMessage, seq: int) -> None:
        self.model.keep(entry, seq)
        self.number(seq)

    def number(self, message: int) -> None:
        """Take the numbers of deliveries from the store, which alone can know them."""
        deliveries, lying = self.run(self.store.read(deliveries_of, message)), self.model.of(message)
        assert len(deliveries) == len(lying)
        for delivery, one in zip(deliveries, lying, strict=True):
            assert one.seq in (0, delivery.seq)
            one.seq = delivery.seq


# So that ids are looked for in every place.
SMALL_TAIL = {"TAIL_MAX": 1, "LEFT_MAX": 1}


class SqliteMachine(StoreMachine):
    def __init__(self) -> None:
        self.folder = TemporaryDirectory(prefix="telex-machine-")
        self.usual_tail = {name: vars(caches)[name] for name in SMALL_TAIL}
        vars(caches).update(SMALL_TAIL)
        try:
            super().__init__()
        except BaseException:
            self.clean_up()  # a machine that was never finished is not torn down either
            raise

    def open(self) -> Store:
        return SqliteStore.open(str(Path(self.folder.name) / "store.db"), durable=False)  # nobody pulls the plug here

    def teardown(self) -> None:
        try:
            super().teardown()
        finally:
            self.clean_up()

    def clean_up(self) -> None:
        vars(caches).update(self.usual_tail)
        self.folder.cleanup()

    @rule()
    def reopen(self) -> None:
        self.run(self.store.close())
        self.store = self.open()


TestMemoryMachine = StoreMachine.TestCase
TestMemoryMachine.settings = settings(stateful_step_count=40)
TestSqliteMachine = SqliteMachine.TestCase
TestSqliteMachine.settings = settings(stateful_step_count=40)


@pytest.mark.parametrize(
    "bug",
    ["no-fencing", "no-late-acks", "ack-after-nack", "no-dedup", "read-is-ack", "last-in-first-out", "ack-forgotten"],
)
def test_the_machine_finds_a_planted_bug(bug: str) -> None:
    class FlawedMachine(StoreMachine):
        def open(self) -> Store:
            return cast(Store, BUGS[bug](MemoryStore()))

    find_it = settings(
        max_examples=2000, stateful_step_count=30, phases=[Phase.generate], database=None, derandomize=True
    )
    with pytest.raises((AssertionError, ExceptionGroup)):
        run_state_machine_as_test(FlawedMachine, settings=find_it)

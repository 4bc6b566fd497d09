"""Store contract: every guarantee of `ports/store.py` as a test for any store; here those of transactions.

    import pytest

    pytest.register_assert_rewrite("telex.testing")
    from telex.testing import StoreContract


    class TestMyStore(StoreContract):
        reopens = True

        async def make(self) -> Store:
            return MyStore(self.place / "store")

A store that waits, such as for a network, also defines `def run(self, work): return asyncio.run(work)` and its clock:
`clock = MyClock()` with a `lease_seconds` that is short enough to wait for.
"""

import threading
from collections.abc import Callable, Sequence
from itertools import count, pairwise
from typing import Any, TypeVar

import pytest

from telex.model.message import Event, WorkChange
from telex.model.named_tuple import NamedTuple
from telex.model.roster import Member
from telex.ports.store import (
    EVERYTHING,
    ROSTER,
    PendingRequest,
    Reads,
    RequestQuery,
    Settlement,
    SettleResult,
    Store,
    Transaction,
    changes_since,
    deliveries_of,
    events_of,
    events_with_messages,
    find_messages,
    find_thread,
    get_delivery,
    get_message,
    held_messages,
    last_event,
    latest_at,
    next_deadline,
    overdue_requests,
    roster_changed_since,
    settle,
    topic_messages,
    waiting_deliveries,
)
from telex.testing.contract_base import ContractBase
from telex.testing.contract_delivery import DeliveryPromises
from telex.testing.contract_events import EventPromises, MemberPromises, WorkPromises
from telex.testing.contract_messages import MessagePromises, RequestPromises

T = TypeVar("T")
Decide = Callable[[Transaction], T]
IDS = ("request", "other", "work", "new", "asked", "answer", "task", "plan", "refused", "report")
TOPICS = ("plan:1", "plan:2", "escalation:1")
INBOXES = ("lead", "qa")
FAR_AWAY = 1e12
DEPTH_MAX = 100
NEW_MAX = 20  # events of one transaction


class Rejected(Exception):
    """The error of a decision that raises."""


class CacheCall(NamedTuple):
    """A call that a cache got, or a decision that ran between two of them."""

    name: str
    arguments: tuple[int, ...] = ()


class RecordingCache:
    """A cache that holds nothing and records its calls."""

    def __init__(self) -> None:
        self.calls: list[CacheCall] = []

    def committed(self, before: int, after: int, changes: int) -> None:
        self.calls.append(CacheCall("committed", (before, after, changes)))

    def forget(self) -> None:
        self.calls.append(CacheCall("forget"))

    def decision(self, name: str) -> None:
        self.calls.append(CacheCall(name))

    @property
    def commits(self) -> list[tuple[int, ...]]:
        return [call.arguments for call in self.calls if call.name == "committed"]


async def submit_together(store: Store, *decisions: Decide[Any]) -> list[Any]:
    """Submit these decisions without waiting in between. The answer of each, or its error."""
    submitted = [store.transaction(decide) for decide in decisions]
    answers: list[Any] = []
    for answer in submitted:
        try:
            answers.append(await answer)
        except Rejected as error:
            answers.append(error)
    return answers


def in_turn(first: Decide[object], second: Decide[T]) -> Decide[T]:
    """A decision that does both. The answer of the second."""

    def decide(tx: Transaction) -> T:
        first(tx)
        return second(tx)

    return decide


def rejecting(write: Decide[object], *, read: bool = False) -> Decide[None]:
    """A decision that raises after this write, and after having read what it wrote."""

    def decide(tx: Transaction) -> None:
        write(tx)
        if read:
            view(tx)
        raise Rejected("no")

    return decide


async def tried(store: Store, decide: Decide[T]) -> T:
    """The answer of a decision of which nothing is stored."""
    answers: list[T] = []
    await submit_together(store, rejecting(lambda tx: answers.append(decide(tx))))
    return answers[-1]


def depth(tx: Transaction, inbox: str) -> int:
    """The lowest limit at which this inbox is not full."""
    return next(limit for limit in range(1, DEPTH_MAX) if tx.full_inbox((inbox,), limit) is None)


def by_number(tx: Transaction, read: Callable[[Reads, int], list[T]]) -> dict[int, list[T]]:
    """What there is under each number that a message of these tests may have."""
    found = {number: read(tx, number) for number in range(1, tx.position + NEW_MAX)}
    return {number: rows for number, rows in found.items() if rows}


# What a decision can read of the messages, topics, members and inboxes of these tests.
READS: dict[str, Decide[Any]] = {
    "find": lambda tx: [find_messages(tx, id_) for id_ in IDS],
    "deliveries": lambda tx: by_number(tx, deliveries_of),
    "story": lambda tx: by_number(tx, events_of),
    "pending_requests": lambda tx: [tx.pending_requests(RequestQuery(id=id_)) for id_ in IDS],
    "pending_requests of a conversation": lambda tx: tx.pending_requests(
        RequestQuery(correlation="T1", types=["note"])
    ),
    "topic": lambda tx: [topic_messages(tx, name) for name in TOPICS],
    "topics": lambda tx: tx.topics("plan"),
    "members": lambda tx: sorted(tx.members()),
    "snapshot": lambda tx: [tx.snapshot(name) for name in TOPICS],
    "earlier": lambda tx: [tx.earlier("dev", id_, 0.0) for id_ in IDS],
    "full_inbox": lambda tx: [depth(tx, inbox) for inbox in INBOXES],
}


def view(tx: Transaction) -> dict[str, Any]:
    return {name: read(tx) for name, read in READS.items()}


async def contents(store: Store) -> dict[str, Any]:
    """Everything that a reader of this store can see."""
    numbers = range(1, await store.read(last_event) + NEW_MAX)
    return {
        **await store.transaction(view),
        "messages": [message for number in numbers if (message := await store.read(get_message, number)) is not None],
        "thread": await store.read(find_thread, "T1", 100),
        "events": await store.read(events_with_messages, EVERYTHING, 1000),
        "waiting": await store.read(waiting_deliveries, INBOXES, 100),
        "depths": await store.read(lambda reads: reads.depths()),
        "overdue": await store.read(overdue_requests, FAR_AWAY, 100),
        "next_deadline": await store.read(next_deadline, INBOXES),
        "changes": await store.read(changes_since, 0),
        "position": await store.read(last_event),
        "latest_at": await store.read(latest_at),
    }


class TransactionPromises(ContractBase):
    # --- what these tests write --------------------------------------------------------------------------------------

    async def prepare(self, store: Store) -> int:
        """Store two requests with one deadline, a topic with a snapshot and a leased message, and a member. The first
        request's number."""
        [request, _, work] = await self.keep(
            store,
            self.entry("request", "lead", correlation="T1", answer_by=self.now + 5.0),
            self.entry("other", "lead", answer_by=self.now + 5.0),
            self.entry("work", "qa", work_change=WorkChange(("plan:1",))),
        )
        kim = Member("kim", "qa", joined_at=self.now, seen_at=self.now)

        def decide(tx: Transaction) -> None:
            tx.upsert_member(kim, Event(0, self.now, "joined", "kim"))
            tx.keep_snapshot("plan:1", work, "[]")

        await store.transaction(decide)
        self.held = await self.take_one(store, "qa")
        return request

    def writes(self, request: int) -> dict[str, Decide[object]]:
        """Every kind of write that a decision can make, each by its name."""
        now, pending = self.now, PendingRequest(request, self.now + 5.0, 0)
        kim, lee = Member("kim", "qa", joined_at=now), Member("lee", "dev", joined_at=now)
        report = self.report("report", "qa")._replace(work_change=WorkChange(("escalation:1",)))
        stopped = (lee._replace(stopped_at=now), Event(0, now, "stopped", "lee"))
        change = WorkChange(("plan:1", "plan:2"), (report,), (stopped,))
        return {
            "message": lambda tx: tx.append(self.entry("new", "lead", "qa", correlation="T1", to="*")),
            "request": lambda tx: tx.append(self.entry("asked", "lead", correlation="T1", answer_by=now + 5.0)),
            "answer": lambda tx: tx.append(self.entry("answer", "qa", sender="lead", answers_requests=(request,))),
            "work": lambda tx: tx.append(self.entry("task", "lead", work_change=change)),
            "plan": lambda tx: tx.append(self.entry("plan", "lead", work_change=change._replace(members=()))),
            "refusal": lambda tx: tx.append(self.entry("refused", kind="refused")),
            "event": lambda tx: tx.record(Event(0, now + 1.0, "read", "lead", request)),
            "new member": lambda tx: tx.upsert_member(lee, Event(0, now, "joined", "lee")),
            "changed member": lambda tx: tx.upsert_member(kim._replace(left_at=now), Event(0, now, "left", "kim")),
            "activity": lambda tx: tx.mark_seen("kim", now + 99.0),
            "snapshot": lambda tx: tx.keep_snapshot("plan:1", request, "[1]"),
            "first snapshot": lambda tx: tx.keep_snapshot("plan:2", request, "[2]"),
            "reminder": lambda tx: tx.remind(pending, now, now + 9.0, ("qa",), "{}", reports=(report,)),
            "expiry": lambda tx: tx.remind(pending, now, None, (), "{}", reports=(report,)),
            "ack": lambda tx: tx.settle(self.ack(self.held)),
            "dead letter": lambda tx: tx.settle(self.bury(self.held, report)),
            "look for room": lambda tx: tx.full_inbox(("lead", "qa"), 5),
        }

    def write_all(self, request: int) -> Decide[object]:
        """One decision with all of these writes but those that exclude another one of them."""
        excluded = ("expiry", "reminder", "dead letter")
        writes = [write for name, write in self.writes(request).items() if name not in excluded]
        return lambda tx: [write(tx) for write in writes]

    # --- a decision that raises --------------------------------------------------------------------------------------

    async def test_a_decision_that_raises_before_it_writes_leaves_nothing(self, store: Store) -> None:
        await self.prepare(store)
        before = await contents(store)
        [error] = await submit_together(store, rejecting(view))
        assert isinstance(error, Rejected)
        assert await contents(store) == before

    async def test_a_decision_that_raises_after_any_write_leaves_nothing(self, store: Store) -> None:
        request = await self.prepare(store)
        before = await contents(store)
        for name, write in self.writes(request).items():
            await submit_together(store, rejecting(write))
            assert await contents(store) == before, name
        await submit_together(store, rejecting(self.write_all(request)))
        assert await contents(store) == before

    async def test_a_decision_that_raises_after_it_read_what_it_wrote_leaves_nothing(self, store: Store) -> None:
        request = await self.prepare(store)
        before = await contents(store)
        for name, write in self.writes(request).items():
            await submit_together(store, rejecting(write, read=True))
            assert await contents(store) == before, name
        await submit_together(store, rejecting(self.write_all(request), read=True))
        assert await contents(store) == before

    async def test_a_message_after_a_rejected_one_is_stored_as_if_it_were_the_first(self, store: Store) -> None:
        """The same number may be used again, since no reader has seen it. Nothing of the rejected one comes with it."""
        request = await self.prepare(store)
        await submit_together(store, rejecting(self.write_all(request)))
        last = await store.read(last_event)
        [seq] = await self.keep(store, self.entry("new", "lead"))
        message = await store.read(get_message, seq)
        assert message is not None
        assert (message.id, seq > last) == ("new", True)
        assert [delivery.inbox for delivery in await store.read(deliveries_of, seq)] == ["lead"]
        assert [(event.seq, event.kind) for event in await store.read(events_of, seq)] == [(seq, "accepted")]
        assert (await self.append_one(store, self.entry("new", "lead"))).outcome == "duplicate"

    async def test_the_error_of_a_decision_reaches_its_caller_and_no_other(self, store: Store) -> None:
        error = Rejected("the one")

        def reject(_: Transaction) -> None:
            raise error

        answers = await submit_together(store, lambda _: "first", reject, lambda _: "second")
        assert answers == ["first", error, "second"]
        assert answers[1] is error

    async def test_the_others_of_its_commit_are_stored_and_it_is_not(self, store: Store) -> None:
        request = await self.prepare(store)
        rejected = [rejecting(write, read=read) for write in self.writes(request).values() for read in (False, True)]
        kinds = [event.kind for event, _ in await store.read(events_with_messages, EVERYTHING, 1000)]
        stored: list[str] = []
        for number, reject in enumerate(rejected):
            pair = [f"{number}-before", f"{number}-after"]
            decisions = [self.appending(pair[0], "plan:2"), reject, self.appending(pair[1], "plan:2")]
            first, error, second = await submit_together(store, *decisions)
            assert isinstance(error, Rejected)
            for id_, seq in zip(pair, (first, second), strict=True):
                [message] = await store.read(find_messages, id_)
                [delivery] = await store.read(deliveries_of, seq)
                assert (message.seq, delivery.inbox) == (seq, "lead")
                assert [event.seq for event in await store.read(events_of, seq)] == [seq]
            stored += pair
        events = await store.read(events_with_messages, EVERYTHING, 1000)
        assert [event.kind for event, _ in events] == [*kinds, *["accepted"] * len(stored)]
        assert [message.id for _, message in await store.read(lambda reads: topic_messages(reads, "plan:2"))] == stored
        assert await store.read(lambda reads: reads.topics("escalation")) == []

    def appending(self, id: str, topic: str) -> Decide[int]:
        return lambda tx: tx.append(self.entry(id, "lead", work_change=WorkChange((topic,))))

    async def test_a_rejected_decision_takes_no_place_and_no_id(self, store: Store) -> None:
        """Neither for the next decision of its commit nor for a later one."""
        for number, read in enumerate((False, True), 1):
            new = self.entry(f"new {read}", "lead")

            def decide(tx: Transaction, new: Any = new, limit: int = number) -> object:
                taken = tx.earlier(new.sender, new.id, 0.0), tx.full_inbox(new.inboxes, limit)
                tx.append(new)
                return taken

            [_, taken] = await submit_together(store, rejecting(decide, read=read), decide)
            assert taken == (None, None)
            assert await store.transaction(lambda tx: depth(tx, "lead")) == number + 1

    async def test_a_rejected_decision_under_an_id_leaves_the_earlier_message_of_that_id_known(
        self, store: Store
    ) -> None:
        """Of the same commit: its ids are not in the file yet."""
        for read in (False, True):
            new = self.entry(f"new {read}", "lead")

            def append(tx: Transaction, new: Any = new) -> int:
                return tx.append(new)

            def earlier(tx: Transaction, new: Any = new) -> object:
                found = tx.earlier(new.sender, new.id, 0.0)
                return found.seq if found is not None else None

            [seq, _, known] = await submit_together(store, append, rejecting(append, read=read), earlier)
            assert known == seq

    # --- reads inside a decision -------------------------------------------------------------------------------------

    async def test_a_decision_reads_what_it_has_written(self, store: Store) -> None:
        request = await self.prepare(store)
        write = self.write_all(request)

        def decide(tx: Transaction) -> tuple[dict[str, Any], dict[str, Any]]:
            before = view(tx)
            write(tx)
            return before, view(tx)

        before, seen = await store.transaction(decide)
        assert [name for name in before if before[name] == seen[name]] == []
        assert seen == await store.transaction(view)

    async def test_a_decision_reads_each_thing_right_after_it_has_written_it(self, store: Store) -> None:
        """As it reads it later, without another read in between that might have made it visible."""
        request = await self.prepare(store)
        for label, write in self.writes(request).items():
            expected = await tried(store, in_turn(in_turn(write, view), view))
            for name, read in READS.items():
                assert await tried(store, in_turn(write, read)) == expected[name], f"{name} after {label}"

    async def test_the_next_decision_of_a_commit_reads_what_the_last_one_has_written(self, store: Store) -> None:
        request = await self.prepare(store)
        before, _, seen = await submit_together(store, view, self.write_all(request), view)
        assert [name for name in before if before[name] == seen[name]] == []
        assert seen == await store.transaction(view)

    async def test_no_decision_of_a_commit_reads_what_a_rejected_one_has_written(self, store: Store) -> None:
        request = await self.prepare(store)
        for write in self.writes(request).values():
            for read in (False, True):
                before, _, seen = await submit_together(store, view, rejecting(write, read=read), view)
                assert seen == before

    async def test_a_message_of_the_same_commit_counts_as_earlier_only_within_the_window(self, store: Store) -> None:
        def decide(tx: Transaction) -> list[bool]:
            tx.append(self.entry("new", "lead"))
            return [tx.earlier("dev", "new", since) is not None for since in (self.now, self.now + 1.0)]

        assert await store.transaction(decide) == [True, False]

    async def test_a_decision_reads_what_is_held(self, store: Store) -> None:
        await self.keep(store, self.entry("a", "lead"), self.entry("b", "lead"))
        [lease] = await self.take(store, "lead", holder="kim")

        def held(tx: Transaction) -> list[str]:
            tx.append(self.entry("c", "lead"))
            return [message.id for message in held_messages(tx, "kim")]

        assert await store.transaction(held) == ["a"]
        await settle(store, [self.ack(lease)])
        assert await store.transaction(held) == []

    async def test_a_decision_settles_a_lease_together_with_what_it_stores(self, store: Store) -> None:
        """Both or neither; and it may settle a delivery that it has just stored."""
        await self.prepare(store)
        held = self.held

        def decide(tx: Transaction) -> tuple[int, list[bool], SettleResult]:
            seq = tx.append(self.entry("answer", "lead"))
            settled = [tx.settle(self.ack(held)).done for _ in range(2)]
            [new] = deliveries_of(tx, tx.append(self.entry("new", "qa")))
            withdrawn = Settlement(new.seq, "stored", "withdrawn", self.now, "withdrawn")
            return seq, settled, tx.settle(withdrawn)

        before = await contents(store)
        await submit_together(store, rejecting(decide))
        assert await contents(store) == before
        seq, settled, withdrawn = await store.transaction(decide)
        assert (settled, withdrawn.done) == ([True, False], True)
        assert withdrawn.now == await store.read(get_delivery, withdrawn.now.seq if withdrawn.now else 0)
        assert await self.kinds(store, held.message.seq) == ["accepted", "leased", "acked"]
        assert (await self.only_delivery(store, seq)).state == "stored"

    async def test_a_decision_settles_a_delivery_that_it_has_not_read(self, store: Store) -> None:
        [seq] = await self.keep(store, self.entry("before", "lead"))
        number = (await self.only_delivery(store, seq)).seq
        first = await tried(store, lambda tx: deliveries_of(tx, tx.append(self.entry("new", "qa")))[0].seq)

        def decide(tx: Transaction) -> list[bool]:
            tx.append(self.entry("new", "qa"))
            gone = Settlement(first, "stored", "withdrawn", self.now, "withdrawn")
            return [tx.settle(gone._replace(delivery=seq)).done for seq in (first, number, number + 999_999)]

        assert await store.transaction(decide) == [True, True, False]

    async def test_a_decision_reads_which_topics_and_whether_members_have_changed(self, store: Store) -> None:
        request = await self.prepare(store)
        start = await store.read(last_event)

        def changes(reads: Reads) -> tuple[set[str], bool]:
            return set(reads.topics(after=start)), roster_changed_since(reads, start)

        def decide(tx: Transaction) -> Any:
            before = changes(tx)
            self.writes(request)["work"](tx)
            return before, changes(tx), tx.position, sorted(tx.changed)

        before, after, position, changed = await store.transaction(decide)
        assert before == (set(), False)
        assert after == await store.read(changes) == (set(TOPICS), True)
        assert (position, changed) == (start, sorted([*TOPICS, ROSTER]))

    async def test_what_the_last_decision_changed_is_named_or_before_the_position_of_the_next(
        self, store: Store
    ) -> None:
        """A cache that has everything up to the position needs nothing but these names."""
        known = await store.transaction(lambda tx: len(tx.changed))

        def changed(tx: Transaction) -> tuple[int, list[str]]:
            return tx.position, list(tx.changed)

        seq, _, (position, names) = await submit_together(
            store, self.appending("a", "plan:1"), rejecting(self.appending("b", "plan:2")), changed
        )
        assert (known, "plan:2" in names) == (0, False)
        assert position >= seq or names == ["plan:1"]

    # --- caches ------------------------------------------------------------------------------------------------------

    async def test_a_cache_forgets_after_a_rejected_decision_before_the_next_one_runs(self, store: Store) -> None:
        request, cache = await self.prepare(store), RecordingCache()
        store.caches.append(cache)

        def noting(name: str) -> Decide[object]:
            return lambda _: cache.decision(name)

        for read in (False, True):
            for write in self.writes(request).values():
                cache.calls.clear()
                rejected = in_turn(noting("rejected"), rejecting(write, read=read))
                await submit_together(store, noting("before"), rejected, noting("after"))
                names = [call.name for call in cache.calls]
                assert {after for name, after in pairwise(names) if name == "rejected"} == {"forget"}
                assert names[-1] == "committed"

    async def test_a_cache_gets_every_commit_once_with_its_numbers(self, store: Store) -> None:
        request, cache = await self.prepare(store), RecordingCache()
        store.caches.append(cache)
        for write in self.writes(request).values():
            cache.calls.clear()
            before = await store.read(last_event)
            changed = await store.transaction(in_turn(write, lambda tx: len(tx.changed)))
            after = await store.read(last_event)
            assert cache.calls == [CacheCall("committed", (before, after, changed))]

    async def test_the_commits_that_a_cache_gets_follow_each_other(self, store: Store) -> None:
        """Decisions that were submitted together may share a commit. Rejected ones are in none."""
        request, cache = await self.prepare(store), RecordingCache()
        store.caches.append(cache)
        before, rejected = await store.read(last_event), rejecting(self.writes(request)["plan"])
        good = [self.appending(id_, "plan:1") for id_ in "abc"]
        await submit_together(store, *(job for one in good for job in (one, rejected)))
        after, commits = await store.read(last_event), cache.commits
        assert [commit[0] for commit in commits] == [before, *(commit[1] for commit in commits[:-1])]
        assert (commits[-1][1], sum(commit[2] for commit in commits)) == (after, 3)

    async def test_a_cache_gets_commits_of_other_verbs_too(self, store: Store) -> None:
        await self.keep(store, self.entry("a", "lead"))
        cache = RecordingCache()
        store.caches.append(cache)
        before = await store.read(last_event)
        [lease] = await self.take(store, "lead")
        between = await store.read(last_event)
        report = self.report("report", "qa")._replace(work_change=WorkChange(("plan:1",)))
        await settle(store, [self.bury(lease, report)])
        after = await store.read(last_event)
        assert cache.commits == [(before, between, 0), (between, after, 1)]

    # --- order and snapshots -----------------------------------------------------------------------------------------

    async def test_decisions_run_in_the_order_in_which_they_were_submitted(self, store: Store) -> None:
        """The order in which their answers are awaited does not matter."""
        ran = count(1)
        submitted = [store.transaction(lambda _: next(ran)) for _ in range(6)]
        assert [await answer for answer in reversed(submitted)] == [6, 5, 4, 3, 2, 1]

    async def test_messages_are_numbered_in_the_order_of_their_decisions(self, store: Store) -> None:
        seqs = await submit_together(store, *(self.appending(f"m{number}", "plan:1") for number in range(20)))
        assert seqs == sorted(set(seqs))
        assert [message.id for _, message in await store.read(events_with_messages, EVERYTHING, 100) if message] == [
            f"m{number}" for number in range(20)
        ]

    async def test_a_read_sees_what_was_committed_and_its_position(self, store: Store) -> None:
        request = await self.prepare(store)
        [_, last] = await submit_together(store, self.write_all(request), self.appending("last", "plan:1"))

        def read(reads: Reads) -> tuple[int, Sequence[str], list[str]]:
            return reads.position, reads.changed, [message.id for _, message in topic_messages(reads, "plan:1")]

        position, changed, topic = await store.read(read)
        assert (position, list(changed), topic) == (last, [], ["work", "task", "plan", "last"])

    async def test_the_reads_of_one_snapshot_see_nothing_that_is_written_meanwhile(self, store: Store) -> None:
        if not self.reopens:
            pytest.skip("what this store keeps cannot be opened by another")
        await self.prepare(store)

        def read(reads: Reads) -> tuple[Any, ...]:
            first = self._snapshot(reads)
            self.write_elsewhere(lambda tx: self.appending("late", "plan:1")(tx))
            return first, self._snapshot(reads)

        first, second = await store.read(read)
        assert first == second
        await self.see_others(store)
        assert len((await store.read(self._snapshot))[2]) == 2

    def _snapshot(self, reads: Reads) -> tuple[Any, ...]:
        topic = [message.id for _, message in topic_messages(reads, "plan:1")]
        return reads.position, find_messages(reads, "late"), topic, list(reads.topics(after=reads.position))

    def write_elsewhere(self, decide: Decide[object]) -> None:
        """Run a decision in another thread, on a store that was opened there, and wait for it."""

        async def write() -> None:
            store = await self.make()
            try:
                await store.transaction(decide)
            finally:
                await store.close()

        thread = threading.Thread(target=lambda: self.run(write()))
        thread.start()
        thread.join()


class StoreContract(
    MessagePromises, DeliveryPromises, RequestPromises, EventPromises, MemberPromises, WorkPromises, TransactionPromises
):
    """Subclass it as `TestSomething`, say how your store is opened, and run pytest."""

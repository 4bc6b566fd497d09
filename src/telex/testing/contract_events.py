"""Store contract: events, retention, members, changes by other processes, topics."""

import json

import pytest

from telex.model.message import AT_ONCE, Event, LeasedMessage, StoredMessage, WorkChange
from telex.model.roster import Member
from telex.ports.store import (
    Changes,
    LeaseRequest,
    PendingRequest,
    Query,
    Store,
    changes_since,
    deliveries_of,
    due_times,
    events_of,
    events_with_messages,
    find_messages,
    find_thread,
    get_message,
    held_messages,
    last_event,
    latest_at,
    overdue_requests,
    settle,
    topic_messages,
)
from telex.testing.contract_base import ContractBase, ids, put_member
from telex.testing.contract_messages import remind

LONG_AGO = 0.0  # nothing is older
TIDY_STEPS = 40  # enough for everything in these tests, three at a time


def told(found: list[tuple[Event, StoredMessage | None]]) -> list[tuple[str, str | None]]:
    return [(event.kind, message.id if message else None) for event, message in found]


class EventPromises(ContractBase):
    # --- events -----------------------------------------------------------------------------------------------------

    async def _a_little_history(self, store: Store) -> list[int]:
        verdict = self.entry("m1", "lead", type="qa_verdict", correlation="T1", raw=b'{"say": "Tests failed BADLY"}')
        note = self.entry("m2", "qa", dialect="signal-md", sender="lead", raw="Prüfung: tests passed".encode())
        refused = self.entry("m3", kind="refused", raw=b"garbled tests", sender="scout")
        seqs = await self.keep(store, verdict, note, refused)
        await self.clock.sleep(10.0)
        await self.settle_one(store, self.ack(await self.take_one(store, "lead")))
        await store.transaction(lambda tx: tx.record(Event(0, self.now, "joined", "kim")))
        return seqs

    async def test_events_come_in_order_each_with_its_message(self, store: Store) -> None:
        await self._a_little_history(store)
        found = await store.read(events_with_messages, Query(), 100)
        kinds = [("accepted", "m1"), ("accepted", "m2"), ("refused", "m3"), ("leased", "m1"), ("acked", "m1")]
        assert told(found) == [*kinds, ("joined", None)]
        numbers = [event.seq for event, _ in found]
        assert sorted(set(numbers)) == numbers
        assert told(await store.read(events_with_messages, Query(after=numbers[3]), 100)) == [
            ("acked", "m1"),
            ("joined", None),
        ]
        assert told(await store.read(events_with_messages, Query(after=numbers[0]), 1)) == [("accepted", "m2")]

    async def test_events_are_filtered_by_everything_that_is_given(self, store: Store) -> None:
        await self._a_little_history(store)
        m1 = [("accepted", "m1"), ("leased", "m1"), ("acked", "m1")]
        expected = {
            Query(agent="lead"): [m1[0], ("accepted", "m2"), *m1[1:]],
            Query(agent="qa"): [("accepted", "m2")],
            Query(agent="dev"): m1,
            Query(agent="kim"): [("joined", None)],
            Query(kinds=("acked", "refused")): [("refused", "m3"), ("acked", "m1")],
            Query(type="qa_verdict"): m1,
            Query(dialect="signal-md"): [("accepted", "m2")],
            Query(correlation="T1"): m1,
            Query(since=self.now): [*m1[1:], ("joined", None)],
            Query(until=self.now - 5.0): [m1[0], ("accepted", "m2"), ("refused", "m3")],
            Query(agent="lead", type="qa_verdict", kinds=("acked",)): [("acked", "m1")],
            Query(agent="scout", type="qa_verdict"): [],
        }
        for query, events in expected.items():
            assert told(await store.read(events_with_messages, query, 100)) == events, query

    async def test_events_of_an_agent_include_messages_to_several_for_it(self, store: Store) -> None:
        everyone = self.entry("m1", "lead", "qa", to="*", detail='{"took": 1.0, "inboxes": ["lead", "qa"]}')
        await self.keep(store, everyone, self.entry("m2", "qa"))
        assert told(await store.read(events_with_messages, Query(agent="lead"), 100)) == [("accepted", "m1")]

    async def test_what_is_said_beside_a_lease_is_written_with_it(self, store: Store) -> None:
        first, second = await self.keep(store, self.entry("m1", "lead"), self.entry("m2", "lead"))
        at = self.now

        def beside(lease: LeasedMessage) -> Event | None:
            event = Event(0, at, "translated", "kim", lease.message.seq, delivery=lease.delivery, inbox=lease.inbox)
            return event._replace(detail='{"type": "T"}') if lease.message.id == "m2" else None

        taken = await store.lease(LeaseRequest(["lead"], "kim", at, at + 5.0, 9, extra_event=beside))
        assert ids(taken) == ["m1", "m2"]
        assert await self.kinds(store, first) == ["accepted", "leased"]
        *_, leased, said = await store.read(events_of, second)
        assert (leased.kind, said.kind, said.seq > leased.seq) == ("leased", "translated", True)
        assert (said.agent, said.delivery, said.inbox, said.detail) == (
            "kim",
            taken[1].delivery,
            "lead",
            '{"type": "T"}',
        )

    async def test_the_newest_come_first_when_they_are_asked_for_so(self, store: Store) -> None:
        await self.keep(store, *(self.entry(f"m{number}", "lead", raw=b"a red build") for number in range(5)))
        query = Query(text="red", newest_first=True)
        found = [message.id for _, message in await store.read(events_with_messages, query, 2) if message is not None]
        assert found == ["m4", "m3"]

    async def test_search_finds_messages_in_which_every_word_stands(self, store: Store) -> None:
        await self._a_little_history(store)
        expected = {
            "tests": ["m1", "m2", "m3"],
            "FAILED tests": ["m1"],
            "prüfung": ["m2"],
            "badly": ["m1"],
            "test": [],
            "tests nowhere": [],
            'failed"': ["m1"],
        }
        for text, found in expected.items():
            query = Query(text=text, kinds=("accepted", "refused", "imported"))
            assert [
                message.id for _, message in await store.read(events_with_messages, query, 100) if message
            ] == found, text

    async def test_words_are_parted_and_folded_alike_everywhere(self, store: Store) -> None:
        texts = {
            "m1": "a dev_blocker in src/auth-service/reset.py",
            "m2": "Die Straße ist naß, sagt Åse",
            "m3": "cafe\u0301 e\u0301tude",
            "m4": "reset auth service",
        }
        await self.keep(store, *(self.entry(id_, "lead", raw=text.encode()) for id_, text in texts.items()))
        expected = {
            "blocker": ["m1"],
            "auth-service": ["m1", "m4"],
            "service-auth": [],
            "reset.py": ["m1"],
            "straße": ["m2"],
            "strasse": [],
            "STRASSE": [],
            "ase nass": [],
            "ÅSE": ["m2"],
            "café étude": ["m3"],
            "reset ---": ["m1", "m4"],
            "--- ...": [],
        }
        for text, found in expected.items():
            query = Query(text=text, kinds=("accepted",))
            assert [
                message.id for _, message in await store.read(events_with_messages, query, 100) if message
            ] == found, text

    async def test_what_is_recorded_beside_messages_is_told(self, store: Store) -> None:
        [seq] = await self.keep(store, self.entry("m1", "lead"))
        events = [
            Event(0, self.now, "read", "lead", message=seq, inbox="lead", detail="{}"),
            Event(0, self.now, "left", "qa"),
        ]
        await store.transaction(lambda tx: [tx.record(event) for event in events])
        [_, (read, message), (left, nothing)] = await store.read(events_with_messages, Query(), 10)
        assert read[1:] == (self.now, "read", "lead", seq, None, "lead", "{}")
        assert (message and message.id, left.agent, nothing) == ("m1", "qa", None)
        assert await self.kinds(store, seq) == ["accepted", "read"]

    async def test_the_latest_moment_is_that_of_the_last_event(self, store: Store) -> None:
        assert await store.read(latest_at) == 0.0
        await self.keep(store, self.entry("m1", "lead"))
        assert await store.read(latest_at) == self.now

    # --- housekeeping -----------------------------------------------------------------------------------------------

    async def test_what_was_imported_does_not_move_the_clock(self, store: Store) -> None:
        await self.keep(store, self.entry("m1", "lead"))
        await self.keep(store, self.entry("m2", at=self.now + 80_000.0, kind="imported"))
        assert await store.read(latest_at) == self.now

    async def test_a_message_from_the_future_does_not_stop_the_pruning(self, store: Store) -> None:
        await self.keep(store, self.entry("ahead", at=self.now + 1e9), self.entry("old", at=self.now - 10.0))
        await self._tidy(store, keep=self.now - 5.0)
        assert [len(await store.read(find_messages, id_)) for id_ in ("ahead", "old")] == [1, 0]

    async def _tidy(
        self, store: Store, *, same: float = LONG_AGO, keep: float = LONG_AGO, silent: float = LONG_AGO
    ) -> None:
        """Run maintenance in small steps. A store may decline a second step within a minute, so each comes an hour
        later."""
        for step in range(1, TIDY_STEPS + 1):
            now = self.now + step * 3600.0
            await store.maintain(now, same_since=same, keep_since=keep, silent_since=silent, limit=3)

    async def test_what_is_settled_and_old_is_pruned_with_its_events(self, store: Store) -> None:
        seqs = await self.keep(store, *(self.entry(f"m{number}", "lead", correlation="T1") for number in range(5)))
        await settle(store, [self.ack(lease) for lease in await self.take(store, "lead", limit=5)])
        await self.keep(store, self.entry("refused", kind="refused"))
        await store.transaction(lambda tx: tx.record(Event(0, self.now, "joined", "kim")))
        await self.clock.sleep(10.0)
        await self.keep(store, self.entry("young", "qa"))
        await self._tidy(store, keep=self.now - 5.0)
        assert [await store.read(get_message, seq) for seq in seqs] == [None] * 5
        assert [await store.read(deliveries_of, seq) for seq in seqs] == [[]] * 5
        assert (
            await store.read(find_messages, "m1"),
            await store.read(find_thread, "T1", 10),
            await store.read(find_messages, "refused"),
        ) == ([], [], [])
        left = [
            event
            for event in told(await store.read(events_with_messages, Query(), 100))
            if event[0] not in ("pruned", "conversation-idle")
        ]
        assert left == [("accepted", "young")]

    async def test_what_is_open_or_waited_for_is_never_pruned(self, store: Store) -> None:
        await self.keep(store, self.entry("leased", "lead"), self.entry("stored", "lead"))
        await self.keep(store, self.entry("asked", "qa", answer_by=self.now + 999.0))
        await self.settle_one(store, self.ack(await self.take_one(store, "qa")))
        lease = await self.take_one(store, "lead")
        await self.clock.sleep(1.0)
        await self._tidy(store, keep=self.now)
        assert [len(await store.read(find_messages, name)) for name in ("leased", "stored", "asked")] == [1, 1, 1]
        assert (await self.settle_one(store, self.ack(lease))).done
        assert (await self.take_one(store, "lead")).message.id == "stored"

    async def test_pruning_goes_in_small_steps(self, store: Store) -> None:
        await self.keep(store, *(self.entry(f"m{number}", kind="refused") for number in range(20)))
        await self.clock.sleep(1.0)
        await self.keep(store, self.entry("young", "lead"))  # a store may keep its last event, to count on from it
        before = len(await store.read(events_with_messages, Query(kinds=("refused",)), 100))
        await store.maintain(self.now, same_since=LONG_AGO, keep_since=self.now, silent_since=LONG_AGO, limit=5)
        assert before - len(await store.read(events_with_messages, Query(kinds=("refused",)), 100)) <= 5
        await self._tidy(store, keep=self.now)
        assert await store.read(events_with_messages, Query(kinds=("refused",)), 100) == []

    async def test_an_id_within_the_window_is_not_forgotten(self, store: Store) -> None:
        new_message = self.entry("m1", "lead")
        await self.keep(store, new_message)
        await self._tidy(store, same=self.now)
        assert (await self.append_one(store, new_message)).outcome == "duplicate"

    async def test_a_conversation_that_fell_silent_is_told_once(self, store: Store) -> None:
        await self.keep(store, self.entry("m1", "lead", correlation="T1"), self.entry("m2", "qa", correlation="T1"))
        await self.keep(store, self.entry("m3", "lead", correlation="T2"))
        await self.settle_one(store, self.ack(await self.take_one(store, "qa")))
        await self.clock.sleep(10.0)
        await self.keep(store, self.entry("m4", "lead", correlation="T2"))
        for _ in range(2):
            await self._tidy(store, silent=self.now - 5.0)
        silent = [
            json.loads(event.detail or "")
            for event, _ in await store.read(events_with_messages, Query(kinds=("conversation-idle",)), 10)
        ]
        assert silent == [{"correlation": "T1", "messages": 2, "open": 1}]


class MemberPromises(ContractBase):
    async def test_members_are_written_down_as_they_are(self, store: Store) -> None:
        kim = Member("kim", "qa", ("vbw-typed", "build-flow"), joined_at=self.now, seen_at=self.now)
        lee = Member("李雷", "dev", joined_at=self.now)
        await put_member(store, kim, Event(0, self.now, "joined", "kim"))
        await put_member(store, lee)
        assert sorted(await store.read(lambda reads: reads.members())) == [kim, lee]
        gone = kim._replace(left_at=self.now + 1.0)
        await put_member(store, gone, Event(0, self.now, "left", "kim"))
        assert sorted(await store.read(lambda reads: reads.members())) == [gone, lee]
        assert [event.kind for event, _ in await store.read(events_with_messages, Query(), 10)] == [
            "joined",
            "joined",
            "left",
        ]

    async def test_a_member_that_was_active_is_seen_so(self, store: Store) -> None:
        await put_member(store, Member("kim", "qa", joined_at=self.now, seen_at=self.now))
        await store.transaction(lambda tx: tx.mark_seen("kim", self.now + 50.0), durable=False, may_use_reserve=True)
        await store.transaction(lambda tx: tx.mark_seen("nobody", self.now), durable=False, may_use_reserve=True)
        assert [(member.name, member.seen_at) for member in await store.read(lambda reads: reads.members())] == [
            ("kim", self.now + 50.0)
        ]

    async def test_members_are_there_after_reopening(self, store: Store) -> None:
        if not self.reopens:
            pytest.skip("what this store keeps is gone when it is closed")
        kim = Member("kim", "qa", ("vbw-typed",), joined_at=self.now, seen_at=self.now)
        await put_member(store, kim)
        store = await self.reopen(store)
        assert await store.read(lambda reads: reads.members()) == [kim]

    async def test_every_write_can_be_noticed(self, store: Store) -> None:
        [seq] = await self.keep(store, self.entry("m1", "lead", answer_by=self.now))
        seen = {store.changes()}
        lease = await self.take_one(store, "lead")
        seen.add(store.changes())
        await self.settle_one(store, self.ack(lease))
        seen.add(store.changes())
        await remind(store, PendingRequest(seq, self.now, 0), self.now, None)
        seen.add(store.changes())
        assert len(seen) == 4

    async def test_it_tells_into_which_inboxes_anything_has_come_since(self, store: Store) -> None:
        before = await store.read(last_event)
        assert await store.read(changes_since, before) == Changes(before)
        first, second = await self.keep(store, self.entry("m1", "kim", "role:qa"), self.entry("m2", "lead"))
        await self.append(store, self.entry("m3", kind="refused"))
        touched = await store.read(changes_since, before)
        assert sorted(touched.due) == [("kim", AT_ONCE), ("lead", AT_ONCE), ("role:qa", AT_ONCE)]
        assert touched.messages >= {first, second}
        assert touched.upto == await store.read(last_event)
        assert await store.read(changes_since, touched.upto) == Changes(touched.upto)

    async def test_it_tells_what_was_put_back_and_when_it_is_due_and_not_what_was_taken(self, store: Store) -> None:
        [seq, _] = await self.keep(store, self.entry("m1", "lead"), self.entry("m2", "qa"))
        await self.take_one(store, "qa")
        lease = await self.take_one(store, "lead")
        before = await store.read(last_event)
        await self.settle_one(store, self.give_back(lease, due_at=self.now + 5.0))
        touched = await store.read(changes_since, before)
        assert touched.due == (("lead", self.now + 5.0),)
        assert touched.messages == {seq}
        assert await store.read(due_times, ["lead", "qa", "nobody"]) == {"lead": self.now + 5.0}
        await self.keep(store, self.entry("m3", "lead"))
        assert await store.read(due_times, ["lead"]) == {"lead": AT_ONCE}

    async def test_it_tells_of_reports_and_of_what_is_asked_again(self, store: Store) -> None:
        seqs = await self.keep(store, self.entry("m1", "lead"), self.entry("m2", "kim", answer_by=self.now))
        lease = await self.take_one(store, "lead")
        before = await store.read(last_event)
        await self.settle_one(store, self.bury(lease, self.report("r1", "dev")))
        request = PendingRequest(seqs[1], self.now, 0)
        await remind(store, request, self.now, self.now + 9.0, inboxes=["kim"], reports=[self.report("r2", "qa")])
        touched = await store.read(changes_since, before)
        assert {inbox for inbox, _ in touched.due} == {"dev", "kim", "qa"}
        assert touched.messages >= set(seqs)

    async def test_it_tells_who_has_come_and_gone(self, store: Store) -> None:
        before = await store.read(last_event)
        await put_member(store, Member("kim", "qa", joined_at=self.now), Event(0, self.now, "joined", "kim"))
        stopped = Member("dev", "dev", joined_at=self.now, stopped_at=self.now)
        work_change = WorkChange(members=((stopped, Event(0, self.now, "stopped", "dev")),))
        await self.keep(store, self.entry("m1", "lead", work_change=work_change))
        assert (await store.read(changes_since, before)).members == {"kim", "dev"}

    async def test_two_who_have_it_open_see_one_store(self, store: Store) -> None:
        if not self.reopens:
            pytest.skip("what this store keeps cannot be opened by another")
        other = await self.make()
        try:
            changes = store.changes()[1]
            await self.keep(other, self.entry("m1", "lead"))
            await self.see_others(store)
            assert store.changes()[1] != changes
            assert (await store.read(changes_since, 0)).due == (("lead", AT_ONCE),)
            lease = await self.take_one(store, "lead")
            await self.see_others(other)
            assert await self.take(other, "lead") == []
            assert (await self.settle_one(other, self.ack(lease))).done
            assert not (await self.settle_one(store, self.ack(lease))).done
        finally:
            await other.close()


YEARS = 3 * 365 * 86_400.0


async def topic(store: Store, name: str, after: int = 0) -> list[tuple[Event, StoredMessage]]:
    return await store.read(topic_messages, name, after)


async def ids_in(store: Store, name: str, after: int = 0) -> list[str]:
    return [message.id for _, message in await topic(store, name, after)]


async def topics(store: Store, kind: str) -> list[str]:
    return await store.read(lambda reads: reads.topics(kind))


async def snapshot(store: Store, name: str) -> tuple[int, str] | None:
    return await store.read(lambda reads: reads.snapshot(name))


async def keep_snapshot(store: Store, name: str, seq: int, text: str) -> None:
    await store.transaction(lambda tx: tx.keep_snapshot(name, seq, text))


async def held(store: Store, holder: str) -> list[str]:
    return [message.id for message in await store.read(held_messages, holder)]


class WorkPromises(ContractBase):
    async def test_a_topic_has_what_belongs_to_it_in_order_each_with_its_event(self, store: Store) -> None:
        both = WorkChange(("plan:1", "contracts"))
        [first, _, last] = await self.keep(
            store,
            self.entry("a", "lead", work_change=both, detail='{"took": 1}'),
            self.entry("b", "lead"),
            self.entry("c", "lead", work_change=WorkChange(("plan:1",))),
        )
        assert await ids_in(store, "plan:1") == ["a", "c"]
        assert await ids_in(store, "plan:1", after=first) == ["c"]
        assert await ids_in(store, "contracts") == ["a"]
        assert await ids_in(store, "plan:2") == []
        [(event, message), _] = await topic(store, "plan:1")
        assert (event.seq, event.kind, event.detail, message.seq) == (first, "accepted", '{"took": 1}', first)
        assert last > first

    async def test_topics_are_listed_by_their_kind_and_no_other(self, store: Store) -> None:
        names = ("plan:b", "plan:a", "plan:", "plans:x", "pla:n", "plan;x", "contracts", "plan:ü")
        await self.keep(store, self.entry("m1", "lead", work_change=WorkChange(names)))
        assert sorted(await topics(store, "plan")) == ["plan:", "plan:a", "plan:b", "plan:ü"]
        assert await topics(store, "contracts") == ["contracts"]
        assert await topics(store, "task") == []

    async def test_what_follows_is_stored_with_it(self, store: Store) -> None:
        report = self.report("r", "human")._replace(work_change=WorkChange(("escalation:r",)), answer_by=self.now + 5.0)
        [_] = await self.keep(store, self.entry("a", "lead", work_change=WorkChange(("t",), (report,))))
        assert await ids_in(store, "escalation:r") == ["r"]
        assert [message.id for _, message, _ in await store.read(overdue_requests, self.now + 9.0, 9)] == ["r"]
        assert ids(await self.take(store, "human", limit=9)) == ["r"]

    async def test_a_full_inbox_keeps_nothing_of_it(self, store: Store) -> None:
        await self.keep(store, self.entry("a", "lead"))
        work_change = WorkChange(("t",), (self.report("r", "human"),))
        full = await self.append_one(store, self.entry("b", "lead", work_change=work_change), inbox_max=1)
        assert full.outcome == "inbox-full"
        assert await topics(store, "t") == []
        assert await store.read(find_messages, "r") == []

    async def test_who_changes_with_a_message_has_changed_when_it_is_kept(self, store: Store) -> None:
        member = Member("dev", "dev", joined_at=1.0, stopped_at=self.now)
        event = Event(0, self.now, "joined", "dev", detail='{"role": "dev"}')
        [seq] = await self.keep(store, self.entry("a", "lead", work_change=WorkChange(("t",), (), ((member, event),))))
        assert await store.read(lambda reads: reads.members()) == [member]
        [(told, _)] = await store.read(events_with_messages, Query(kinds=("joined",)), 9)
        assert (told.agent, told.detail, told.seq > seq) == ("dev", event.detail, True)

    async def test_what_belongs_to_a_topic_is_never_pruned(self, store: Store) -> None:
        await self.keep(
            store, self.entry("lasting", "lead", work_change=WorkChange(("t",))), self.entry("gone", "lead")
        )
        for lease in await self.take(store, "lead", limit=9):
            assert (await self.settle_one(store, self.ack(lease))).done
        later = self.now + YEARS
        for _ in range(6):
            await store.maintain(later, same_since=later, keep_since=later - 1.0, silent_since=later, limit=50)
        assert await ids_in(store, "t") == ["lasting"]
        assert await store.read(find_messages, "gone") == []

    async def test_a_snapshot_is_there_until_the_next_one_takes_its_place(self, store: Store) -> None:
        assert await snapshot(store, "plan:1") is None
        await keep_snapshot(store, "plan:1", 7, '["Grüße"]')
        await keep_snapshot(store, "plan:2", 8, "")
        assert await snapshot(store, "plan:1") == (7, '["Grüße"]')
        await keep_snapshot(store, "plan:1", 9, "[]")
        assert (await snapshot(store, "plan:1"), await snapshot(store, "plan:2")) == ((9, "[]"), (8, ""))

    async def test_what_somebody_holds_is_known(self, store: Store) -> None:
        await self.keep(store, *(self.entry(name, "lead") for name in ("a", "b", "c")))
        [first, second] = await self.take(store, "lead", limit=2, holder="kim")
        assert await held(store, "kim") == ["a", "b"]
        assert await held(store, "lee") == []
        await settle(store, [self.ack(first)])
        assert await held(store, "kim") == [second.message.id]

    async def test_topics_are_there_after_reopening(self, store: Store) -> None:
        if not self.reopens:
            pytest.skip("what this store keeps is gone when it is closed")
        await self.keep(store, self.entry("a", "lead", work_change=WorkChange(("t", "u:1"))))
        store = await self.reopen(store)
        assert await ids_in(store, "t") == ["a"]
        assert await topics(store, "u") == ["u:1"]

    async def test_nothing_is_leased_to_a_member_that_has_shut_down(self, store: Store) -> None:
        here = Member("dev", "dev", joined_at=1.0)
        await put_member(store, here)
        gone = (here._replace(stopped_at=self.now), Event(0, self.now, "stopped", "dev"))
        last = self.entry("last", "lead", sender="dev", work_change=WorkChange(("t",), (), (gone,)))
        await self.keep(store, last, self.entry("other", "dev", sender="qa"))
        assert await self.take(store, "dev", holder="dev") == []
        await put_member(store, here)
        assert ids(await self.take(store, "dev", holder="dev")) == ["other"]

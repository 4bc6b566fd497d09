"""Does a message keep its part in the work? The part of the store contract on topics and what is written with them."""

import pytest

from telex.model.event import Event
from telex.model.message import WorkChange
from telex.model.roster import Member
from telex.ports.store import Query, Store
from telex.testing.contract_base import ContractBase, ids, promise

YEARS = 3 * 365 * 86_400.0


async def said_in(store: Store, topic: str, after: int = 0) -> list[str]:
    return [message.id for _, message in await store.topic(topic, after)]


class WorkPromises(ContractBase):
    @promise
    async def test_a_topic_has_what_belongs_to_it_in_order_each_with_its_event(self, store: Store) -> None:
        both = WorkChange(("plan:1", "contracts"))
        [first, _, last] = await self.keep(
            store,
            self.entry("a", "lead", work_change=both, detail='{"took": 1}'),
            self.entry("b", "lead"),
            self.entry("c", "lead", work_change=WorkChange(("plan:1",))),
        )
        assert await said_in(store, "plan:1") == ["a", "c"]
        assert await said_in(store, "plan:1", after=first) == ["c"]
        assert await said_in(store, "contracts") == ["a"]
        assert await said_in(store, "plan:2") == []
        [(event, message), _] = await store.topic("plan:1")
        assert (event.seq, event.kind, event.detail, message.seq) == (first, "accepted", '{"took": 1}', first)
        assert last > first

    @promise
    async def test_topics_are_listed_by_their_kind_and_no_other(self, store: Store) -> None:
        names = ("plan:b", "plan:a", "plan:", "plans:x", "pla:n", "plan;x", "contracts", "plan:ü")
        await self.keep(store, self.entry("m1", "lead", work_change=WorkChange(names)))
        assert sorted(await store.topics("plan")) == ["plan:", "plan:a", "plan:b", "plan:ü"]
        assert await store.topics("contracts") == ["contracts"]
        assert await store.topics("task") == []

    @promise
    async def test_what_was_weighed_against_an_older_state_is_not_kept(self, store: Store) -> None:
        weighed = WorkChange(("t",), (("t", 0), ("u", 0)))
        [seq] = await self.keep(store, self.entry("first", "lead", work_change=weighed))
        stale = await self.append_one(store, self.entry("second", "lead", work_change=weighed))
        assert (stale.outcome, stale.seq) == ("stale", 0)
        assert await store.find("second") == []
        assert await said_in(store, "t") == ["first"]
        [_] = await self.keep(
            store, self.entry("second", "lead", work_change=WorkChange(("t",), (("t", seq), ("u", 0))))
        )
        assert ids(await self.take(store, "lead", limit=9)) == ["first", "second"]

    @promise
    async def test_of_two_that_come_together_the_second_is_stale(self, store: Store) -> None:
        weighed = WorkChange(("t",), (("t", 0),))
        appended = await store.append([self.entry(name, "lead", work_change=weighed) for name in ("a", "b")])
        assert [append_result.outcome for append_result in appended] == ["stored", "stale"]
        assert await said_in(store, "t") == ["a"]

    @promise
    async def test_a_repetition_is_one_though_its_topics_have_gone_on(self, store: Store) -> None:
        new_message = self.entry("a", "lead", work_change=WorkChange(("t",), (("t", 0),)))
        [seq] = await self.keep(store, new_message)
        again = await self.append_one(store, new_message)
        assert (again.outcome, again.seq) == ("duplicate", seq)

    @promise
    async def test_what_follows_is_kept_with_it_or_not_at_all(self, store: Store) -> None:
        report = self.report("r", "human")._replace(work_change=WorkChange(("escalation:r",)), answer_by=self.now + 5.0)
        work_change = WorkChange(("t",), (("t", 0),), (report,))
        [_] = await self.keep(store, self.entry("a", "lead", work_change=work_change))
        assert await said_in(store, "escalation:r") == ["r"]
        assert [message.id for _, message, _ in await store.overdue(self.now + 9.0, 9)] == ["r"]
        again = report._replace(id="r2")
        assert (
            await self.append_one(store, self.entry("b", "lead", work_change=work_change._replace(reports=(again,))))
        ).seq == 0
        assert await store.find("r2") == []
        assert ids(await self.take(store, "human", limit=9)) == ["r"]

    @promise
    async def test_a_full_inbox_keeps_nothing_of_it(self, store: Store) -> None:
        await self.keep(store, self.entry("a", "lead"))
        work_change = WorkChange(("t",), (), (self.report("r", "human"),))
        full = await self.append_one(store, self.entry("b", "lead", work_change=work_change, inbox_max=1))
        assert full.outcome == "inbox-full"
        assert await store.topics("t") == []
        assert await store.find("r") == []

    @promise
    async def test_who_changes_with_a_message_has_changed_when_it_is_kept(self, store: Store) -> None:
        member = Member("dev", "dev", joined_at=1.0, stopped_at=self.now)
        event = Event(0, self.now, "joined", "dev", detail='{"role": "dev"}')
        [seq] = await self.keep(
            store, self.entry("a", "lead", work_change=WorkChange(("t",), (), (), ((member, event),)))
        )
        assert await store.members() == [member]
        [(told, _)] = await store.events(Query(kinds=("joined",)), 9)
        assert (told.agent, told.detail, told.seq > seq) == ("dev", event.detail, True)

    @promise
    async def test_what_belongs_to_a_topic_is_never_pruned(self, store: Store) -> None:
        await self.keep(
            store, self.entry("lasting", "lead", work_change=WorkChange(("t",))), self.entry("gone", "lead")
        )
        for lease in await self.take(store, "lead", limit=9):
            assert (await self.settle_one(store, self.ack(lease))).done
        later = self.now + YEARS
        for _ in range(6):
            await store.maintain(later, same_since=later, keep_since=later - 1.0, silent_since=later, limit=50)
        assert await said_in(store, "t") == ["lasting"]
        assert await store.find("gone") == []

    @promise
    async def test_a_snapshot_is_there_until_the_next_one_takes_its_place(self, store: Store) -> None:
        assert await store.snapshot("plan:1") is None
        await store.keep_snapshot("plan:1", 7, '["Grüße"]')
        await store.keep_snapshot("plan:2", 8, "")
        assert await store.snapshot("plan:1") == (7, '["Grüße"]')
        await store.keep_snapshot("plan:1", 9, "[]")
        assert (await store.snapshot("plan:1"), await store.snapshot("plan:2")) == ((9, "[]"), (8, ""))

    @promise
    async def test_what_somebody_holds_is_known(self, store: Store) -> None:
        await self.keep(store, *(self.entry(name, "lead") for name in ("a", "b", "c")))
        [first, second] = await self.take(store, "lead", limit=2, holder="kim")
        assert [message.id for message in await store.held("kim")] == ["a", "b"]
        assert await store.held("lee") == []
        await store.settle([self.ack(first)])
        assert [message.id for message in await store.held("kim")] == [second.message.id]

    @promise
    async def test_topics_are_there_after_reopening(self, store: Store) -> None:
        if not self.reopens:
            pytest.skip("what this store keeps is gone when it is closed")
        [seq] = await self.keep(store, self.entry("a", "lead", work_change=WorkChange(("t", "u:1"), (("t", 0),))))
        store = await self.reopen(store)
        assert await said_in(store, "t") == ["a"]
        assert await store.topics("u") == ["u:1"]
        stale = await self.append_one(store, self.entry("b", "lead", work_change=WorkChange(("t",), (("t", 0),))))
        assert stale.outcome == "stale"
        [_] = await self.keep(store, self.entry("b", "lead", work_change=WorkChange(("t",), (("t", seq),))))

    @promise
    async def test_who_has_shut_down_is_kept_no_more_from_and_leased_nothing(self, store: Store) -> None:
        here = Member("dev", "dev", joined_at=1.0)
        await store.upsert_member(here, None)
        gone = (here._replace(stopped_at=self.now), Event(0, self.now, "stopped", "dev"))
        last = self.entry("last", "lead", sender="dev", work_change=WorkChange(("t",), (), (), (gone,)))
        together = await store.append(
            [last, self.entry("late", "lead", sender="dev"), self.entry("other", "dev", sender="qa")]
        )
        assert [append_result.outcome for append_result in together] == ["stored", "stopped", "stored"]
        assert (await self.append_one(store, self.entry("later", "lead", sender="dev"))).outcome == "stopped"
        assert (await self.append_one(store, last)).outcome == "duplicate"
        assert (await store.find("late"), await store.find("later")) == ([], [])
        assert await self.take(store, "dev", holder="dev") == []
        # Whoever wrote this has not heard of it yet; only who comes back expressly is back.
        assert (await store.upsert_member(here._replace(seen_at=self.now), None)).stopped_at == self.now
        assert (await self.append_one(store, self.entry("later", "lead", sender="dev"))).outcome == "stopped"
        assert (await store.upsert_member(here, None, back=True)).stopped_at is None
        [_] = await self.keep(store, self.entry("back", "lead", sender="dev"))
        assert ids(await self.take(store, "dev", holder="dev")) == ["other"]

"""Store contract: topics and what is written with them."""

import pytest

from telex.model.message import Event, Message, WorkChange
from telex.model.roster import Member
from telex.ports.store import Query, Store
from telex.testing.contract_base import ContractBase, ids, promise, put_member, read

YEARS = 3 * 365 * 86_400.0


async def topic(store: Store, name: str, after: int = 0) -> list[tuple[Event, Message]]:
    return await read(store, lambda reads: reads.topic(name, after))


async def ids_in(store: Store, name: str, after: int = 0) -> list[str]:
    return [message.id for _, message in await topic(store, name, after)]


async def topics(store: Store, kind: str) -> list[str]:
    return await read(store, lambda reads: reads.topics(kind))


async def snapshot(store: Store, name: str) -> tuple[int, str] | None:
    return await read(store, lambda reads: reads.snapshot(name))


async def keep_snapshot(store: Store, name: str, seq: int, text: str) -> None:
    await store.transaction(lambda tx: tx.keep_snapshot(name, seq, text))


async def held(store: Store, holder: str) -> list[str]:
    return [message.id for message in await read(store, lambda reads: reads.held(holder))]


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
        assert await ids_in(store, "plan:1") == ["a", "c"]
        assert await ids_in(store, "plan:1", after=first) == ["c"]
        assert await ids_in(store, "contracts") == ["a"]
        assert await ids_in(store, "plan:2") == []
        [(event, message), _] = await topic(store, "plan:1")
        assert (event.seq, event.kind, event.detail, message.seq) == (first, "accepted", '{"took": 1}', first)
        assert last > first

    @promise
    async def test_topics_are_listed_by_their_kind_and_no_other(self, store: Store) -> None:
        names = ("plan:b", "plan:a", "plan:", "plans:x", "pla:n", "plan;x", "contracts", "plan:ü")
        await self.keep(store, self.entry("m1", "lead", work_change=WorkChange(names)))
        assert sorted(await topics(store, "plan")) == ["plan:", "plan:a", "plan:b", "plan:ü"]
        assert await topics(store, "contracts") == ["contracts"]
        assert await topics(store, "task") == []

    @promise
    async def test_what_follows_is_stored_with_it(self, store: Store) -> None:
        report = self.report("r", "human")._replace(work_change=WorkChange(("escalation:r",)), answer_by=self.now + 5.0)
        [_] = await self.keep(store, self.entry("a", "lead", work_change=WorkChange(("t",), (report,))))
        assert await ids_in(store, "escalation:r") == ["r"]
        assert [message.id for _, message, _ in await store.overdue(self.now + 9.0, 9)] == ["r"]
        assert ids(await self.take(store, "human", limit=9)) == ["r"]

    @promise
    async def test_a_full_inbox_keeps_nothing_of_it(self, store: Store) -> None:
        await self.keep(store, self.entry("a", "lead"))
        work_change = WorkChange(("t",), (self.report("r", "human"),))
        full = await self.append_one(store, self.entry("b", "lead", work_change=work_change), inbox_max=1)
        assert full.outcome == "inbox-full"
        assert await topics(store, "t") == []
        assert await store.find("r") == []

    @promise
    async def test_who_changes_with_a_message_has_changed_when_it_is_kept(self, store: Store) -> None:
        member = Member("dev", "dev", joined_at=1.0, stopped_at=self.now)
        event = Event(0, self.now, "joined", "dev", detail='{"role": "dev"}')
        [seq] = await self.keep(store, self.entry("a", "lead", work_change=WorkChange(("t",), (), ((member, event),))))
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
        assert await ids_in(store, "t") == ["lasting"]
        assert await store.find("gone") == []

    @promise
    async def test_a_snapshot_is_there_until_the_next_one_takes_its_place(self, store: Store) -> None:
        assert await snapshot(store, "plan:1") is None
        await keep_snapshot(store, "plan:1", 7, '["Grüße"]')
        await keep_snapshot(store, "plan:2", 8, "")
        assert await snapshot(store, "plan:1") == (7, '["Grüße"]')
        await keep_snapshot(store, "plan:1", 9, "[]")
        assert (await snapshot(store, "plan:1"), await snapshot(store, "plan:2")) == ((9, "[]"), (8, ""))

    @promise
    async def test_what_somebody_holds_is_known(self, store: Store) -> None:
        await self.keep(store, *(self.entry(name, "lead") for name in ("a", "b", "c")))
        [first, second] = await self.take(store, "lead", limit=2, holder="kim")
        assert await held(store, "kim") == ["a", "b"]
        assert await held(store, "lee") == []
        await store.settle([self.ack(first)])
        assert await held(store, "kim") == [second.message.id]

    @promise
    async def test_topics_are_there_after_reopening(self, store: Store) -> None:
        if not self.reopens:
            pytest.skip("what this store keeps is gone when it is closed")
        await self.keep(store, self.entry("a", "lead", work_change=WorkChange(("t", "u:1"))))
        store = await self.reopen(store)
        assert await ids_in(store, "t") == ["a"]
        assert await topics(store, "u") == ["u:1"]

    @promise
    async def test_nothing_is_leased_to_a_member_that_has_shut_down(self, store: Store) -> None:
        here = Member("dev", "dev", joined_at=1.0)
        await put_member(store, here)
        gone = (here._replace(stopped_at=self.now), Event(0, self.now, "stopped", "dev"))
        last = self.entry("last", "lead", sender="dev", work_change=WorkChange(("t",), (), (gone,)))
        await self.keep(store, last, self.entry("other", "dev", sender="qa"))
        assert await self.take(store, "dev", holder="dev") == []
        await put_member(store, here)
        assert ids(await self.take(store, "dev", holder="dev")) == ["other"]

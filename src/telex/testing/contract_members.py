"""Store contract: members, and changes by other processes that have the store open."""

import pytest

from telex.model.message import AT_ONCE, Event, WorkChange
from telex.model.roster import Member
from telex.ports.store import Changes, PendingRequest, Query, Store
from telex.testing.contract_base import ContractBase, promise, put_member
from telex.testing.contract_requests import remind


class MemberPromises(ContractBase):
    @promise
    async def test_members_are_written_down_as_they_are(self, store: Store) -> None:
        kim = Member("kim", "qa", ("vbw-typed", "build-flow"), joined_at=self.now, seen_at=self.now)
        lee = Member("李雷", "dev", joined_at=self.now)
        await put_member(store, kim, Event(0, self.now, "joined", "kim"))
        await put_member(store, lee)
        assert sorted(await store.members()) == [kim, lee]
        gone = kim._replace(left_at=self.now + 1.0)
        await put_member(store, gone, Event(0, self.now, "left", "kim"))
        assert sorted(await store.members()) == [gone, lee]
        assert [event.kind for event, _ in await store.events(Query(), 10)] == ["joined", "joined", "left"]

    @promise
    async def test_a_member_that_was_active_is_seen_so(self, store: Store) -> None:
        await put_member(store, Member("kim", "qa", joined_at=self.now, seen_at=self.now))
        await store.seen("kim", self.now + 50.0)
        await store.seen("nobody", self.now)
        assert [(member.name, member.seen_at) for member in await store.members()] == [("kim", self.now + 50.0)]

    @promise
    async def test_members_are_there_after_reopening(self, store: Store) -> None:
        if not self.reopens:
            pytest.skip("what this store keeps is gone when it is closed")
        kim = Member("kim", "qa", ("vbw-typed",), joined_at=self.now, seen_at=self.now)
        await put_member(store, kim)
        store = await self.reopen(store)
        assert await store.members() == [kim]

    @promise
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

    @promise
    async def test_it_tells_into_which_inboxes_anything_has_come_since(self, store: Store) -> None:
        before = (await store.changes_since(None)).upto
        assert await store.changes_since(before) == Changes(before)
        first, second = await self.keep(store, self.entry("m1", "kim", "role:qa"), self.entry("m2", "lead"))
        await self.append(store, self.entry("m3", kind="refused"))
        touched = await store.changes_since(before)
        assert sorted(touched.due) == [("kim", AT_ONCE), ("lead", AT_ONCE), ("role:qa", AT_ONCE)]
        assert touched.messages >= {first, second}
        assert touched.upto == (await store.changes_since(None)).upto
        assert await store.changes_since(touched.upto) == Changes(touched.upto)

    @promise
    async def test_it_tells_what_was_put_back_and_when_it_is_due_and_not_what_was_taken(self, store: Store) -> None:
        [seq, _] = await self.keep(store, self.entry("m1", "lead"), self.entry("m2", "qa"))
        await self.take_one(store, "qa")
        lease = await self.take_one(store, "lead")
        before = (await store.changes_since(None)).upto
        await self.settle_one(store, self.give_back(lease, due_at=self.now + 5.0))
        touched = await store.changes_since(before)
        assert touched.due == (("lead", self.now + 5.0),)
        assert touched.messages == {seq}
        assert await store.due_times(["lead", "qa", "nobody"]) == {"lead": self.now + 5.0}
        await self.keep(store, self.entry("m3", "lead"))
        assert await store.due_times(["lead"]) == {"lead": AT_ONCE}

    @promise
    async def test_it_tells_of_reports_and_of_what_is_asked_again(self, store: Store) -> None:
        seqs = await self.keep(store, self.entry("m1", "lead"), self.entry("m2", "kim", answer_by=self.now))
        lease = await self.take_one(store, "lead")
        before = (await store.changes_since(None)).upto
        await self.settle_one(store, self.bury(lease, self.report("r1", "dev")))
        request = PendingRequest(seqs[1], self.now, 0)
        await remind(store, request, self.now, self.now + 9.0, inboxes=["kim"], reports=[self.report("r2", "qa")])
        touched = await store.changes_since(before)
        assert {inbox for inbox, _ in touched.due} == {"dev", "kim", "qa"}
        assert touched.messages >= set(seqs)

    @promise
    async def test_it_tells_who_has_come_and_gone(self, store: Store) -> None:
        before = (await store.changes_since(None)).upto
        await put_member(store, Member("kim", "qa", joined_at=self.now), Event(0, self.now, "joined", "kim"))
        stopped = Member("dev", "dev", joined_at=self.now, stopped_at=self.now)
        work_change = WorkChange(members=((stopped, Event(0, self.now, "stopped", "dev")),))
        await self.keep(store, self.entry("m1", "lead", work_change=work_change))
        assert (await store.changes_since(before)).members == {"kim", "dev"}

    @promise
    async def test_two_who_have_it_open_see_one_store(self, store: Store) -> None:
        if not self.reopens:
            pytest.skip("what this store keeps cannot be opened by another")
        other = await self.make()
        try:
            changes = store.changes()
            await self.keep(other, self.entry("m1", "lead"))
            assert store.changes() != changes
            assert (await store.changes_since(0)).due == (("lead", AT_ONCE),)
            lease = await self.take_one(store, "lead")
            assert await self.take(other, "lead") == []
            assert (await self.settle_one(other, self.ack(lease))).done
            assert not (await self.settle_one(store, self.ack(lease))).done
        finally:
            await other.close()

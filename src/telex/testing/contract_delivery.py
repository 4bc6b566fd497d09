"""Store contract: leases, fencing tokens and settlements."""

import json

from telex.model.message import AT_ONCE
from telex.ports.store import (
    LeaseRequest,
    Query,
    SettleResult,
    Store,
    dead_letters,
    events_of,
    events_with_messages,
    expired_leases,
    find_messages,
    get_delivery,
    next_deadline,
    settle,
    waiting_deliveries,
)
from telex.testing.contract_base import ERROR, ESCALATION, STATUS, VALIDATION, ContractBase, ids


class DeliveryPromises(ContractBase):
    async def test_messages_of_a_class_come_in_the_order_in_which_they_were_kept(self, store: Store) -> None:
        names = [f"m{number}" for number in range(12)]
        for name in names:
            await self.keep(store, self.entry(name, "lead"))
        taken = [*await self.take(store, "lead", limit=5), *await self.take(store, "lead", limit=100)]
        assert ids(taken) == names

    async def test_what_is_more_urgent_comes_first_and_keeps_its_order(self, store: Store) -> None:
        ranks = [STATUS, VALIDATION, ERROR, ESCALATION, STATUS, ESCALATION, ERROR, VALIDATION]
        await self.keep(store, *(self.entry(f"{place}", "lead", rank=rank) for place, rank in enumerate(ranks)))
        taken = await self.take(store, "lead", limit=100)
        assert ids(taken) == ["3", "5", "2", "6", "1", "7", "0", "4"]

    async def test_several_inboxes_are_one_queue(self, store: Store) -> None:
        await self.keep(
            store, self.entry("a", "role:qa"), self.entry("b", "kim"), self.entry("c", "role:qa", rank=ERROR)
        )
        await self.keep(store, self.entry("d", "somebody-else"))
        assert ids(await self.take(store, "kim", "role:qa", limit=100, holder="kim")) == ["c", "a", "b"]

    async def test_a_shared_inbox_gives_each_message_to_one_reader(self, store: Store) -> None:
        await self.keep(store, *(self.entry(f"m{number}", "role:qa") for number in range(4)))
        kim = await self.take(store, "kim", "role:qa", limit=2, holder="kim")
        lee = await self.take(store, "lee", "role:qa", limit=100, holder="lee")
        assert (ids(kim), ids(lee)) == (["m0", "m1"], ["m2", "m3"])

    async def test_a_lease_is_told_and_shown(self, store: Store) -> None:
        [seq] = await self.keep(store, self.entry("m1", "role:qa"))
        lease = await self.take_one(store, "role:qa", holder="kim")
        until = self.now + self.lease_seconds
        assert (lease.message.seq, lease.inbox, lease.attempt, lease.until) == (seq, "role:qa", 1, until)
        delivery = await self.only_delivery(store, seq)
        assert (delivery.seq, delivery.state, delivery.due_at) == (lease.delivery, "leased", until)
        assert (delivery.attempts, delivery.fence, delivery.holder) == (1, lease.fence, "kim")
        event = (await store.read(events_of, seq))[-1]
        assert (event.kind, event.agent, event.delivery, event.inbox) == ("leased", "kim", lease.delivery, "role:qa")
        assert json.loads(event.detail or "") == {"until": until, "attempt": 1}

    async def test_what_is_leased_is_offered_to_nobody_else(self, store: Store) -> None:
        await self.keep(store, self.entry("m1", "lead"))
        await self.take_one(store, "lead")
        assert await self.take(store, "lead", limit=100, holder="another") == []

    async def test_looking_leases_nothing(self, store: Store) -> None:
        [seq] = await self.keep(store, self.entry("m1", "lead"))
        for _ in range(2):
            [(delivery, message)] = await store.read(waiting_deliveries, ["lead"], 10)
            assert (delivery.state, delivery.attempts, message.seq) == ("stored", 0, seq)
        assert await self.kinds(store, seq) == ["accepted"]

    async def test_waiting_shows_what_is_stored_and_leased_in_the_order_of_offering(self, store: Store) -> None:
        await self.keep(store, *(self.entry(name, "lead") for name in "abc"), self.entry("d", "lead", rank=ESCALATION))
        await self.settle_one(store, self.ack(await self.take_one(store, "lead")))
        await self.take_one(store, "lead")
        shown = [
            (message.id, delivery.state) for delivery, message in await store.read(waiting_deliveries, ["lead"], 10)
        ]
        assert shown == [("a", "leased"), ("b", "stored"), ("c", "stored")]
        assert len(await store.read(waiting_deliveries, ["lead"], 2)) == 2

    async def test_only_the_deliveries_asked_for_are_leased(self, store: Store) -> None:
        await self.keep(store, *(self.entry(name, "lead") for name in "abc"), self.entry("d", "qa"))
        waiting = await store.read(waiting_deliveries, ["lead", "qa"], 10)
        wanted = [delivery.seq for delivery, message in waiting if message.id in "bd"]
        now = self.now
        assert ids(await store.lease(LeaseRequest(["lead"], "lead", now, now + 60.0, 10, only=wanted))) == ["b"]

    async def test_nothing_is_leased_before_it_is_due(self, store: Store) -> None:
        await self.keep(store, self.entry("m1", "lead"))
        lease = await self.take_one(store, "lead")
        await self.settle_one(store, self.give_back(lease, due_at=self.now + self.lease_seconds))
        assert await self.take(store, "lead") == []
        await self.let_the_lease_run_out()
        assert (await self.take_one(store, "lead")).attempt == 2

    # --- leases that run out ----------------------------------------------------------------------------------------

    async def test_a_lease_that_runs_out_is_told(self, store: Store) -> None:
        await self.keep(store, self.entry("m1", "lead"), self.entry("m2", "lead"))
        lease = await self.take_one(store, "lead")
        assert await store.read(expired_leases, self.now, 10) == []
        await self.let_the_lease_run_out()
        [(delivery, message)] = await store.read(expired_leases, self.now, 10)
        assert (delivery.seq, delivery.state, message.id) == (lease.delivery, "leased", "m1")

    async def test_a_lease_that_runs_out_gives_the_message_back(self, store: Store) -> None:
        await self.keep(store, self.entry("m1", "lead"))
        first = await self.take_one(store, "lead")
        await self.let_the_lease_run_out()
        settled = await self.settle_one(store, self.give_back(first, due_at=self.now))
        assert settled.done
        assert await store.read(expired_leases, self.now, 10) == []
        second = await self.take_one(store, "lead", holder="another")
        assert (second.delivery, second.attempt) == (first.delivery, 2)
        assert second.fence > first.fence

    # --- acks and nacks that come late ------------------------------------------------------------------------------

    async def test_an_ack_after_the_lease_ran_out_counts_before_that_is_noticed(self, store: Store) -> None:
        [seq] = await self.keep(store, self.entry("m1", "lead"))
        lease = await self.take_one(store, "lead")
        await self.let_the_lease_run_out()
        assert (await self.settle_one(store, self.ack(lease))).done
        assert await self.kinds(store, seq) == ["accepted", "leased", "acked"]
        assert await store.read(expired_leases, self.now, 10) == []

    async def test_an_ack_after_the_lease_ran_out_counts_while_nobody_else_was_offered_the_message(
        self, store: Store
    ) -> None:
        [seq] = await self.keep(store, self.entry("m1", "lead"))
        lease = await self.take_one(store, "lead", holder="kim")
        await self.let_the_lease_run_out()
        await self.settle_one(store, self.expire(lease))
        assert not (await self.settle_one(store, self.ack(lease)._replace(holder="sam"))).done
        assert (await self.settle_one(store, self.ack(lease)._replace(holder="kim"))).done
        assert await self.kinds(store, seq) == [
            "accepted",
            "leased",
            "lease-expired",
            "acked",
        ]
        assert await self.take(store, "lead") == []
        assert await store.read(lambda reads: reads.depths()) == {}

    async def test_a_nack_after_the_lease_ran_out_counts_once_while_nobody_else_was_offered_the_message(
        self, store: Store
    ) -> None:
        [seq] = await self.keep(store, self.entry("m1", "lead"))
        lease = await self.take_one(store, "lead")
        await self.let_the_lease_run_out()
        await self.settle_one(store, self.expire(lease))
        nack = self.give_back(lease, due_at=self.now + self.lease_seconds, kind="nacked", after_expiry=True)
        assert [settled.done for settled in await settle(store, [nack, nack, self.ack(lease)])] == [True, False, False]
        assert await self.take(store, "lead") == []
        await self.let_the_lease_run_out()
        assert (await self.take_one(store, "lead")).attempt == 2
        assert (await self.kinds(store, seq))[-3:] == ["lease-expired", "nacked", "leased"]

    async def test_an_ack_is_refused_after_the_message_was_offered_again(self, store: Store) -> None:
        await self.keep(store, self.entry("m1", "lead"))
        late = await self.take_one(store, "lead")
        await self.let_the_lease_run_out()
        await self.settle_one(store, self.expire(late))
        again = await self.take_one(store, "lead")
        assert not (await self.settle_one(store, self.ack(late))).done
        await self.let_the_lease_run_out()
        await self.settle_one(store, self.expire(again))
        assert not (await self.settle_one(store, self.ack(late))).done
        assert (await self.settle_one(store, self.ack(again))).done

    async def test_an_ack_is_refused_after_the_message_was_given_back(self, store: Store) -> None:
        await self.keep(store, self.entry("m1", "lead"))
        lease = await self.take_one(store, "lead")
        await self.settle_one(store, self.give_back(lease, due_at=self.now, kind="nacked"))
        settled = await self.settle_one(store, self.ack(lease))
        assert not settled.done
        assert settled.now is not None
        assert (settled.now.state, settled.now.holder) == ("stored", None)

    async def test_an_ack_is_refused_after_the_message_was_given_up_or_withdrawn(self, store: Store) -> None:
        await self.keep(store, self.entry("m1", "lead"), self.entry("m2", "lead"))
        dead, gone = await self.take(store, "lead", limit=2)
        buried = self.bury(dead)
        expired = self.give_back(gone, due_at=0.0, becomes="expired", kind="expired")
        await settle(store, [buried, expired])
        acks = [self.ack(dead), self.ack(gone)]
        assert [settled.done for settled in await settle(store, acks)] == [False, False]
        revive = buried._replace(was="dead", becomes="stored", kind="retried", fence=None, attempts=0, due_at=self.now)
        await settle(store, [revive, expired._replace(was="expired", becomes="withdrawn", kind="dropped")])
        assert [settled.done for settled in await settle(store, acks)] == [False, False]

    async def test_an_ack_under_an_older_lease_is_refused(self, store: Store) -> None:
        await self.keep(store, self.entry("m1", "lead"))
        stalled = await self.take_one(store, "lead", holder="stalled")
        await self.settle_one(store, self.give_back(stalled, due_at=self.now))
        current = await self.take_one(store, "lead", holder="current")
        assert not (await self.settle_one(store, self.ack(stalled))).done
        assert (await self.settle_one(store, self.ack(current))).done

    async def test_an_ack_by_somebody_else_than_the_holder_is_refused(self, store: Store) -> None:
        await self.keep(store, self.entry("m1", "lead"))
        lease = await self.take_one(store, "lead", holder="kim")
        assert not (await self.settle_one(store, self.ack(lease)._replace(holder="sam"))).done
        assert (await self.settle_one(store, self.ack(lease)._replace(holder="kim"))).done

    async def test_a_lease_can_be_extended_and_then_runs_longer(self, store: Store) -> None:
        await self.keep(store, self.entry("m1", "lead"))
        lease = await self.take_one(store, "lead")
        later = lease.until + self.lease_seconds
        longer = self.give_back(lease, due_at=later, becomes="leased", kind="extended", running_at=self.now)
        settled = await self.settle_one(store, longer)
        assert settled.now is not None
        assert (settled.done, settled.now.due_at, settled.now.attempts) == (True, later, 1)
        await self.let_the_lease_run_out()
        assert await store.read(expired_leases, self.now, 10) == []
        assert (await self.settle_one(store, self.ack(lease))).done

    # --- settling ---------------------------------------------------------------------------------------------------

    async def test_an_ack_is_final_and_told(self, store: Store) -> None:
        [seq] = await self.keep(store, self.entry("m1", "lead"))
        lease = await self.take_one(store, "lead")
        settled = await self.settle_one(store, self.ack(lease)._replace(detail='{"ms": 3}'))
        assert settled == SettleResult(True, await store.read(get_delivery, lease.delivery))
        assert settled.now is not None
        assert settled.now.state == "acked"
        event = (await store.read(events_of, seq))[-1]
        assert (event.kind, event.agent, event.delivery, event.detail) == ("acked", "lead", lease.delivery, '{"ms": 3}')
        await self.let_the_lease_run_out()
        assert (await self.take(store, "lead"), await store.read(expired_leases, self.now, 10)) == ([], [])

    async def test_settling_twice_is_the_same_as_settling_once(self, store: Store) -> None:
        [seq] = await self.keep(store, self.entry("m1", "lead"))
        ack = self.ack(await self.take_one(store, "lead"))
        settled = await settle(store, [ack, ack])
        settled += await settle(store, [ack])
        assert [settle_result.done for settle_result in settled] == [True, False, False]
        assert [settle_result.now.state for settle_result in settled if settle_result.now] == ["acked"] * 3
        assert await self.kinds(store, seq) == ["accepted", "leased", "acked"]

    async def test_settling_what_is_not_there_does_nothing(self, store: Store) -> None:
        await self.keep(store, self.entry("m1", "lead"))
        ack = self.ack(await self.take_one(store, "lead"))
        assert await settle(store, [ack._replace(delivery=ack.delivery + 999_999_999)]) == [SettleResult(False, None)]

    async def test_a_settlement_decided_on_another_state_does_not_happen(self, store: Store) -> None:
        await self.keep(store, self.entry("m1", "lead"))
        lease = await self.take_one(store, "lead")
        bury = self.bury(lease, self.report("r1", "dev"))
        await self.settle_one(store, self.ack(lease))
        assert not (await self.settle_one(store, bury)).done
        assert await store.read(find_messages, "r1") == []

    async def test_one_settlement_that_fails_does_not_hold_up_the_others(self, store: Store) -> None:
        await self.keep(store, self.entry("m1", "lead"), self.entry("m2", "lead"))
        first, second = [self.ack(lease) for lease in await self.take(store, "lead", limit=2)]
        settled = await settle(store, [first._replace(fence=first.fence and first.fence + 1), second])
        assert [settle_result.done for settle_result in settled] == [False, True]

    async def test_a_dead_letter_is_kept_with_its_report(self, store: Store) -> None:
        [seq] = await self.keep(store, self.entry("m1", "lead"))
        lease = await self.take_one(store, "lead")
        settled = await self.settle_one(store, self.bury(lease, self.report("r1", "dev"), self.report("r2", "qa")))
        assert settled.now is not None
        assert (settled.done, settled.now.state) == (True, "dead")
        assert ids(await self.take(store, "dev", "qa", limit=10)) == ["r1", "r2"]
        assert [(delivery.message, message.id) for delivery, message in await store.read(dead_letters, 10)] == [
            (seq, "m1")
        ]
        assert await self.take(store, "lead") == []

    async def test_a_dead_letter_may_have_one_more_round_of_attempts(self, store: Store) -> None:
        await self.keep(store, self.entry("m1", "lead"))
        lease = await self.take_one(store, "lead")
        buried = self.bury(lease)
        await self.settle_one(store, buried)
        revive = buried._replace(was="dead", becomes="stored", kind="retried", fence=None, attempts=0, due_at=self.now)
        assert (await self.settle_one(store, revive)).done
        assert await store.read(dead_letters, 10) == []
        again = await self.take_one(store, "lead")
        assert again.attempt == 1
        assert again.fence > lease.fence  # attempts start anew, fences never: an old reader may still be out there

    async def test_a_waiting_message_may_be_withdrawn(self, store: Store) -> None:
        [seq] = await self.keep(store, self.entry("m1", "lead"))
        delivery = await self.only_delivery(store, seq)
        lease = await self.take_one(store, "lead")
        await self.settle_one(store, self.give_back(lease, due_at=self.now))
        withdraw = self.give_back(lease, due_at=0.0, was="stored", becomes="withdrawn", kind="withdrawn", fence=None)
        assert (await self.settle_one(store, withdraw)).done
        assert await self.take(store, "lead") == []
        assert (await self.only_delivery(store, seq)).seq == delivery.seq

    async def test_dead_letters_are_listed_newest_first(self, store: Store) -> None:
        await self.keep(store, *(self.entry(name, "lead") for name in "abc"))
        await settle(store, [self.bury(lease) for lease in await self.take(store, "lead", limit=3)])
        assert [message.id for _, message in await store.read(dead_letters, 10)] == ["c", "b", "a"]
        assert [message.id for _, message in await store.read(dead_letters, 1)] == ["c"]

    # --- how much, and when -----------------------------------------------------------------------------------------

    async def test_depths_count_what_is_stored_and_leased_in_each_inbox(self, store: Store) -> None:
        first = self.now
        await self.keep(store, *(self.entry(name, "lead") for name in "abc"), self.entry("d", "qa"))
        await self.clock.sleep(1.0)
        await self.keep(store, self.entry("e", "lead"))
        leases = await self.take(store, "lead", limit=2)
        assert await store.read(lambda reads: reads.depths()) == {"lead": (2, 2, first), "qa": (1, 0, first)}
        await settle(store, [self.ack(lease) for lease in leases])
        assert (await store.read(lambda reads: reads.depths()))["lead"] == (2, 0, first)
        await self.settle_one(store, self.ack(await self.take_one(store, "qa")))
        assert "qa" not in await store.read(lambda reads: reads.depths())

    async def test_soonest_is_when_something_falls_due_or_a_lease_runs_out(self, store: Store) -> None:
        assert await store.read(next_deadline, ["lead"]) is None
        await self.keep(store, self.entry("m1", "lead"))
        assert await store.read(next_deadline, ["lead"]) == AT_ONCE
        lease = await self.take_one(store, "lead")
        assert await store.read(next_deadline, ["lead"]) == lease.until
        assert await store.read(next_deadline, ["qa"]) == lease.until
        await self.settle_one(store, self.give_back(lease, due_at=self.now + 5.0))
        assert await store.read(next_deadline, ["lead"]) == self.now + 5.0
        assert await store.read(next_deadline, ["qa"]) is None

    async def test_a_number_of_a_delivery_is_never_used_twice(self, store: Store) -> None:
        """An old reader may still hold a token: it must not settle what came later."""
        await self.keep(store, self.entry("m1", "lead"))
        lease = await self.take_one(store, "lead")
        await self.settle_one(store, self.ack(lease))
        last = max(event.seq for event, _ in await store.read(events_with_messages, Query(), 100))
        far = self.now + 10_000.0
        for step in range(10):
            await store.maintain(far + step * 3600.0, same_since=far, keep_since=far, silent_since=far, limit=100)
        assert await store.read(find_messages, "m1") == []
        [seq] = await self.keep(store, self.entry("m2", "lead"))
        assert seq > last
        assert (await self.only_delivery(store, seq)).seq != lease.delivery

"""Store contract: messages are stored exactly once and unchanged; requests, answers and deadlines."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from telex.model.message import NewMessage, StoredMessage
from telex.model.text import digest_of
from telex.ports.store import (
    AppendResult,
    ConversationPage,
    ConversationSummary,
    PendingRequest,
    RequestQuery,
    Store,
    answers_to,
    conversations,
    deliveries_of,
    events_of,
    find_messages,
    find_thread,
    get_delivery,
    get_message,
    next_deadline,
    overdue_requests,
    settle,
    waiting_deliveries,
)
from telex.testing.contract_base import ContractBase, ids

ODD_BYTES = {
    "text": 'Grüße, 世界 🚀\r\n"'.encode(),
    "not UTF-8": b"\xff\xfe\x00\x80 not text",
    "NUL": b"a\x00b\x00",
    "nothing": b"",
    "every byte": bytes(range(256)),
    "1 MiB": b"x" * 1_048_576,
}
ODD_NAMES = ["zoë", "李雷", "a b", "x'y\"z", "🦊", "%_*", "dev;--", "İstanbul"]


class MessagePromises(ContractBase):
    async def test_what_was_kept_reads_back_as_it_was_given(self, store: Store) -> None:
        new_message = self.entry("m1", "lead", to="role:lead", rank=1, correlation="T1", reply_to="m0", raw=b"{}")
        [seq] = await self.keep(store, new_message)
        message = await store.read(get_message, seq)
        assert message is not None
        assert message == (seq, *new_message[:12], False)

    async def test_bytes_are_kept_exactly_as_given(self, store: Store) -> None:
        for name, raw in ODD_BYTES.items():
            [seq] = await self.keep(store, self.entry(name, "lead", raw=raw))
            message = await store.read(get_message, seq)
            assert message is not None
            assert message.raw == raw, name
            assert message.digest == digest_of(raw), name
            assert (await self.take_one(store, "lead")).message.raw == raw, name

    async def test_any_name_may_be_an_inbox_an_agent_or_an_id(self, store: Store) -> None:
        for name in ODD_NAMES:
            await self.keep(store, self.entry(name, name, sender=name, role=name, correlation=name))
        for name in ODD_NAMES:
            lease = await self.take_one(store, name, holder=name)
            message = lease.message
            assert (message.id, message.sender, message.role, message.correlation) == (name,) * 4
            assert (await self.settle_one(store, self.ack(lease))).done
            assert [message.seq for message in await store.read(find_messages, name)] == [message.seq]
            assert [message.seq for message in await store.read(find_thread, name, 10)] == [message.seq]

    async def test_later_messages_have_higher_numbers(self, store: Store) -> None:
        seqs = [*await self.keep(store, self.entry("a", "lead"), self.entry("b", "qa"))]
        await self.take(store, "lead")
        seqs += await self.keep(store, self.entry("c", "lead"))
        assert sorted(set(seqs)) == seqs

    async def test_a_message_has_the_number_of_the_event_that_brought_it(self, store: Store) -> None:
        [seq] = await self.keep(store, self.entry("m1", "lead", detail='{"ms": 1}'))
        [event] = await store.read(events_of, seq)
        assert event == (seq, self.now, "accepted", "dev", seq, None, None, '{"ms": 1}')

    async def test_a_broadcast_is_one_message_with_a_delivery_for_each(self, store: Store) -> None:
        [seq] = await self.keep(store, self.entry("m1", "lead", "qa", "scout", to="*"))
        assert [delivery.inbox for delivery in await store.read(deliveries_of, seq)] == ["lead", "qa", "scout"]
        for inbox in ("lead", "qa", "scout"):
            assert ids(await self.take(store, inbox, limit=10)) == ["m1"]

    # --- the same again ---------------------------------------------------------------------------------------------

    async def test_the_same_message_again_is_a_duplicate_and_kept_once(self, store: Store) -> None:
        new_message = self.entry("m1", "lead")
        [seq] = await self.keep(store, new_message)
        assert await self.append(store, new_message) == [AppendResult("duplicate", seq)]
        assert await self.kinds(store, seq) == ["accepted", "duplicate"]
        assert ids(await self.take(store, "lead", limit=10)) == ["m1"]

    async def test_the_same_message_twice_at_once_is_kept_once(self, store: Store) -> None:
        new_message = self.entry("m1", "lead")
        outcomes = [appended.outcome for appended in await self.append(store, new_message, new_message, new_message)]
        assert outcomes == ["stored", "duplicate", "duplicate"]
        assert len(await store.read(find_messages, "m1")) == 1

    async def test_a_duplicate_of_what_is_done_brings_nothing_back(self, store: Store) -> None:
        new_message = self.entry("m1", "lead")
        await self.keep(store, new_message)
        await self.settle_one(store, self.ack(await self.take_one(store, "lead")))
        assert (await self.append_one(store, new_message)).outcome == "duplicate"
        assert await self.take(store, "lead") == []

    async def test_a_used_id_with_other_bytes_or_another_recipient_is_not_kept(self, store: Store) -> None:
        [seq] = await self.keep(store, self.entry("m1", "lead"))
        for other in (self.entry("m1", "lead", raw=b"other"), self.entry("m1", "qa")):
            assert await self.append_one(store, other) == AppendResult("id-reused", seq)
        assert len(await store.read(find_messages, "m1")) == 1
        assert len(await store.read(events_of, seq)) == 1
        assert await self.take(store, "qa") == []

    async def test_two_senders_may_use_the_same_id(self, store: Store) -> None:
        first, second = await self.keep(store, self.entry("m1", "lead"), self.entry("m1", "lead", sender="qa"))
        assert [message.seq for message in await store.read(find_messages, "m1")] == [first, second]

    async def test_an_id_may_be_used_again_when_the_window_has_passed(self, store: Store) -> None:
        new_message = self.entry("m1", "lead")
        await self.keep(store, new_message)
        later = new_message._replace(at=new_message.at + 7200.0)
        since = new_message.at
        assert (await self.append_one(store, later, dedup_since=since)).outcome == "duplicate"
        assert (await self.append_one(store, later, dedup_since=since + 1.0)).outcome == "stored"
        assert (await self.append_one(store, later, dedup_since=since + 1.0)).outcome == "duplicate"

    async def test_a_refused_message_does_not_use_up_its_id(self, store: Store) -> None:
        await self.keep(store, self.entry("m1", kind="refused"))
        assert (await self.append_one(store, self.entry("m1", "lead"))).outcome == "stored"

    # --- refused and full -------------------------------------------------------------------------------------------

    async def test_a_refused_message_is_kept_and_delivered_to_nobody(self, store: Store) -> None:
        new_message = self.entry(
            "m1", kind="refused", raw=b"{broken", dialect=None, type=None, detail='{"findings": []}'
        )
        [seq] = await self.keep(store, new_message)
        message = await store.read(get_message, seq)
        assert message is not None
        assert (message.raw, message.refused, message.dialect, message.type) == (b"{broken", True, None, None)
        assert await store.read(deliveries_of, seq) == []
        assert await self.kinds(store, seq) == ["refused"]
        assert await self.take(store, "lead") == []

    async def test_an_imported_message_is_history_and_delivered_to_nobody(self, store: Store) -> None:
        [seq] = await self.keep(store, self.entry("m1", kind="imported"))
        [event] = await store.read(events_of, seq)
        message = await store.read(get_message, seq)
        assert message is not None
        assert (event.kind, message.refused, await store.read(deliveries_of, seq)) == ("imported", False, [])

    async def test_a_full_inbox_takes_nothing_more_until_something_is_settled(self, store: Store) -> None:
        first, second, third = (self.entry(f"m{number}", "lead") for number in range(3))
        await self.keep(store, first, second, inbox_max=2)
        lease = await self.take_one(store, "lead")  # what is leased still lies in the inbox
        assert await self.append_one(store, third, inbox_max=2) == AppendResult("inbox-full", 0, "lead")
        assert await store.read(find_messages, "m2") == []
        await self.settle_one(store, self.ack(lease))
        assert (await self.append_one(store, third, inbox_max=2)).outcome == "stored"

    async def test_one_full_inbox_stops_a_broadcast_as_a_whole(self, store: Store) -> None:
        await self.keep(store, self.entry("m1", "qa"))
        broadcast = self.entry("m2", "lead", "qa", to="*")
        assert await self.append_one(store, broadcast, inbox_max=1) == AppendResult("inbox-full", 0, "qa")
        assert await self.take(store, "lead") == []

    async def test_a_full_inbox_is_noticed_within_one_write(self, store: Store) -> None:
        entries = [self.entry(f"m{number}", "lead") for number in range(5)]
        outcomes = [appended.outcome for appended in await self.append(store, *entries, inbox_max=3)]
        assert outcomes == ["stored"] * 3 + ["inbox-full"] * 2

    # --- finding ----------------------------------------------------------------------------------------------------

    async def test_find_has_every_message_of_an_id_oldest_first(self, store: Store) -> None:
        refused = self.entry("m1", kind="refused")
        first, second = await self.keep(store, refused, self.entry("m1", "lead"))
        await self.keep(store, self.entry("m2", "lead"))
        assert [(message.seq, message.refused) for message in await store.read(find_messages, "m1")] == [
            (first, True),
            (second, False),
        ]
        assert await store.read(find_messages, "M1") == []

    async def test_a_thread_is_a_conversation_in_order(self, store: Store) -> None:
        seqs = await self.keep(store, *(self.entry(f"m{number}", "lead", correlation="T1") for number in range(5)))
        await self.keep(store, self.entry("x", "lead", correlation="T2"), self.entry("y", "lead"))
        assert [message.seq for message in await store.read(find_thread, "T1", 10)] == seqs
        assert [message.seq for message in await store.read(find_thread, "T1", 2)] == seqs[:2]
        assert await store.read(find_thread, "T3", 10) == []

    async def test_conversations_are_counted_and_paged_the_latest_first(self, store: Store) -> None:
        for number in range(6):
            await self.keep(store, self.entry(f"m{number}", "lead", correlation=f"T{number % 3}", sender="dev"))
        await self.keep(store, self.entry("T1", "lead"), self.entry("m6", "qa", correlation="T1", sender="lead"))
        await self.keep(store, self.entry("no", kind="refused", correlation="T1"), self.entry("m7", "lead"))
        first = await store.read(lambda reads: reads.conversations(None, 2))
        assert [(one.correlation, one.messages, one.last.id) for one in first.conversations] == [
            ("T1", 5, "no"),
            ("T2", 2, "m5"),
        ]
        [conversation, _] = first.conversations
        assert (conversation.senders, conversation.refused) == (("dev", "lead"), 1)
        [rest] = await self.conversations_after(store, first)
        assert (rest.correlation, rest.messages) == ("T0", 2)

    async def conversations_after(self, store: Store, page: ConversationPage) -> list[ConversationSummary]:
        found: list[ConversationSummary] = []
        while page.next is not None:
            page = await store.read(conversations, page.next, 2)
            found += page.conversations
        return found

    async def test_what_is_not_there_is_none_or_nothing(self, store: Store) -> None:
        assert await store.read(get_message, 1) is None
        assert await store.read(get_delivery, 1) is None
        assert await store.read(deliveries_of, 1) == []
        assert await store.read(events_of, 1) == []
        assert await store.read(find_messages, "m1") == []

    # --- afterwards -------------------------------------------------------------------------------------------------

    async def test_all_is_there_after_reopening(self, store: Store) -> None:
        if not self.reopens:
            pytest.skip("what this store keeps is gone when it is closed")
        entries = [self.entry(name, "lead", raw=raw, correlation="T1") for name, raw in ODD_BYTES.items()]
        seqs = await self.keep(store, *entries)
        acked, given_back, _ = await self.take(store, "lead", limit=3)
        await settle(store, [self.ack(acked), self.give_back(given_back, due_at=self.now + 5.0)])
        before = [
            (await store.read(get_message, seq), await store.read(deliveries_of, seq), await store.read(events_of, seq))
            for seq in seqs
        ]
        store = await self.reopen(store)
        assert [
            (await store.read(get_message, seq), await store.read(deliveries_of, seq), await store.read(events_of, seq))
            for seq in seqs
        ] == before
        assert [message.seq for message in await store.read(find_thread, "T1", 10)] == seqs
        assert (await self.append_one(store, entries[0])).outcome == "duplicate"
        [more] = await self.keep(store, self.entry("more", "lead"))
        assert more > max(event.seq for _, _, story in before for event in story)


async def remind(
    store: Store,
    request: PendingRequest,
    at: float,
    due_at: float | None,
    *,
    inboxes: Sequence[str] = (),
    detail: str = "{}",
    reports: Sequence[NewMessage] = (),
) -> bool:
    return await store.transaction(lambda tx: tx.remind(request, at, due_at, inboxes, detail, reports=reports))


async def pending_requests(
    store: Store, id: str | None, correlation: str | None, types: Sequence[str] | None = None
) -> list[tuple[PendingRequest, StoredMessage]]:
    return await store.read(
        lambda reads: reads.pending_requests(RequestQuery(id=id, correlation=correlation, types=types))
    )


class RequestPromises(ContractBase):
    async def test_a_request_is_overdue_when_its_time_has_come(self, store: Store) -> None:
        [seq] = await self.keep(store, self.entry("m1", "lead", "qa", answer_by=self.now + 300.0))
        await self.keep(store, self.entry("m2", "lead"))
        assert await store.read(overdue_requests, self.now + 299.0, 10) == []
        [(pending_request, message, deliveries)] = await store.read(overdue_requests, self.now + 300.0, 10)
        assert pending_request == PendingRequest(seq, self.now + 300.0, 0)
        assert (message.id, [delivery.inbox for delivery in deliveries]) == ("m1", ["lead", "qa"])
        assert await store.read(next_deadline, []) == self.now + 300.0

    async def test_a_reminder_puts_the_request_into_the_inbox_once_more(self, store: Store) -> None:
        [seq] = await self.keep(store, self.entry("m1", "lead", answer_by=self.now + 1.0))
        await self.settle_one(store, self.ack(await self.take_one(store, "lead")))
        pending_request, at = PendingRequest(seq, self.now + 1.0, 0), self.now
        assert await remind(store, pending_request, at, at + 5.0, inboxes=["lead"], detail='{"attempt": 1}')
        assert not await remind(store, pending_request, at, at + 9.0, inboxes=["lead"]), "another process was faster"
        [(again, _, deliveries)] = await store.read(overdue_requests, at + 5.0, 10)
        assert again == PendingRequest(seq, at + 5.0, 1)
        assert [delivery.state for delivery in deliveries] == ["acked", "stored"]
        assert (await self.take_one(store, "lead")).message.id == "m1"
        kinds = await self.kinds(store, seq)
        assert kinds == ["accepted", "leased", "acked", "reply-overdue", "request-repeated", "leased"]

    async def test_a_request_may_be_waited_for_no_longer_and_its_sender_told(self, store: Store) -> None:
        [seq] = await self.keep(store, self.entry("m1", "lead", answer_by=self.now))
        pending_request = PendingRequest(seq, self.now, 0)
        assert await remind(store, pending_request, self.now, None, reports=[self.report("r1", "dev")])
        assert not await remind(store, pending_request, self.now, None, reports=[self.report("r2", "dev")])
        assert await store.read(overdue_requests, self.now + 999.0, 10) == []
        assert await self.kinds(store, seq) == ["accepted", "reply-overdue", "expired"]
        assert ids(await self.take(store, "dev", limit=10)) == ["r1"]

    async def test_an_answer_ends_the_waiting_once(self, store: Store) -> None:
        [seq] = await self.keep(store, self.entry("m1", "lead", answer_by=self.now))
        answers = [self.entry(name, "dev", sender="lead", answers_requests=(seq,)) for name in ("m2", "m3")]
        [by, _] = await self.keep(store, *answers)
        assert await store.read(overdue_requests, self.now, 10) == []
        [_, event] = await store.read(events_of, seq)
        assert (event.kind, event.agent, json.loads(event.detail or "")) == ("answered", "lead", {"by": by})

    async def test_what_is_not_kept_answers_nothing(self, store: Store) -> None:
        [seq] = await self.keep(store, self.entry("m1", "lead", answer_by=self.now))
        await self.keep(store, self.entry("m2", "dev", sender="lead"))
        other = self.entry("m2", "dev", sender="lead", raw=b"other", answers_requests=(seq,))
        full = self.entry("m3", "dev", sender="lead", answers_requests=(seq,))
        assert [appended.outcome for appended in await self.append(store, other, full, inbox_max=1)] == [
            "id-reused",
            "inbox-full",
        ]
        assert [
            pending_request.message for pending_request, _, _ in await store.read(overdue_requests, self.now, 10)
        ] == [seq]

    async def test_requests_that_wait_are_found_by_id_or_by_conversation(self, store: Store) -> None:
        wait: dict[str, Any] = {"correlation": "T1", "answer_by": self.now}
        first, second = await self.keep(store, *(self.entry(name, "lead", **wait) for name in ("m1", "m2")))
        await self.keep(store, self.entry("m3", "lead", correlation="T1"), self.entry("m4", "lead", answer_by=self.now))
        assert [
            (pending_request.message, message.id)
            for pending_request, message in await pending_requests(store, "m2", None)
        ] == [(second, "m2")]
        assert [message.seq for _, message in await pending_requests(store, None, "T1")] == [first, second]
        assert await pending_requests(store, "m3", None) == []
        assert await pending_requests(store, "m2", "T9") == []
        assert len(await pending_requests(store, None, None)) == 3

    async def test_requests_that_wait_may_be_asked_for_by_their_types(self, store: Store) -> None:
        types = {"m1": "question", "m2": "review", "m3": None, "m4": "question"}
        wait: dict[str, Any] = {"correlation": "T1", "answer_by": self.now}
        await self.keep(store, *(self.entry(name, "lead", type=type_, **wait) for name, type_ in types.items()))
        await self.keep(store, self.entry("m5", "lead", type="question", correlation="T2", answer_by=self.now))
        for wanted in (["question"], ["review", "question"], ["review", "review"], ["verdict"], []):
            found = [message.id for _, message in await pending_requests(store, None, "T1", wanted)]
            assert found == [name for name, type_ in types.items() if type_ in wanted]
        assert [message.id for _, message in await pending_requests(store, None, "T1", None)] == list(types)
        assert [message.id for _, message in await pending_requests(store, "m2", None, ["review"])] == ["m2"]
        assert await pending_requests(store, "m2", None, ["question"]) == []

    async def test_a_request_is_found_as_long_as_it_waits_and_no_longer(self, store: Store) -> None:
        """However the waiting ends: by an answer, when its delivery is given up, or when its time has run out."""
        names = ("answered", "released", "expired", "put off", "waiting")
        wait: dict[str, Any] = {"correlation": "T1", "answer_by": self.now}
        seqs = await self.keep(store, *(self.entry(name, "lead", **wait) for name in names))
        await self.keep(store, self.entry("the answer", "dev", sender="lead", answers_requests=seqs[:1]))
        taken = {lease.message.id: lease for lease in await self.take(store, "lead", limit=5)}
        await settle(store, [self.bury(taken["released"])._replace(release=True)])
        await remind(store, PendingRequest(seqs[2], self.now, 0), self.now, None)
        await remind(store, PendingRequest(seqs[3], self.now, 0), self.now, self.now + 9.0)
        if self.reopens:
            store = await self.reopen(store)
        for name in names:
            assert bool(await pending_requests(store, name, None)) == (name in names[3:])
        found = await pending_requests(store, None, "T1")
        assert [pending_request for pending_request, _ in found] == [
            PendingRequest(seqs[3], self.now + 9.0, 1),
            PendingRequest(seqs[4], self.now, 0),
        ]

    async def test_settling_can_release_a_request(self, store: Store) -> None:
        await self.keep(
            store, self.entry("m1", "lead", answer_by=self.now), self.entry("m2", "lead", answer_by=self.now)
        )
        first, second = [self.bury(lease) for lease in await self.take(store, "lead", limit=2)]
        await settle(store, [first._replace(release=True), second])
        assert [message.id for _, message, _ in await store.read(overdue_requests, self.now, 10)] == ["m2"]

    async def test_answers_are_found_by_reply_or_by_conversation_and_type(self, store: Store) -> None:
        answer: dict[str, Any] = {"sender": "lead", "correlation": "T1", "type": "verdict"}
        await self.keep(store, self.entry("early", "dev", **answer))
        [asked] = await self.keep(store, self.entry("ask", "lead", correlation="T1"))
        await self.keep(store, self.entry("by-reply", "dev", sender="lead", reply_to="ask"))
        await self.keep(store, self.entry("by-type", "dev", **answer))
        await self.keep(store, self.entry("other-type", "dev", **(answer | {"type": "note"})))
        await self.keep(store, self.entry("other-talk", "dev", **(answer | {"correlation": "T2"})))
        await self.keep(store, self.entry("other-question", "dev", reply_to="m0", **answer))
        await self.keep(store, self.entry("other-inbox", "qa", **answer))
        message = await store.read(get_message, asked)
        assert message is not None
        found = await store.read(answers_to, ["dev", "role:dev"], message, ["verdict"])
        waiting = {delivery.seq: message.id for delivery, message in await store.read(waiting_deliveries, ["dev"], 100)}
        assert [waiting[delivery.seq] for delivery in found] == ["by-reply", "by-type"]

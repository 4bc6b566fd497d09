"""Store contract: requests, their answers and deadlines."""

import json
from collections.abc import Sequence
from typing import Any

from telex.model.message import Message, NewMessage
from telex.ports.store import PendingRequest, Store
from telex.testing.contract_base import ContractBase, ids, promise, read


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
) -> list[tuple[PendingRequest, Message]]:
    return await read(store, lambda reads: reads.pending_requests(id, correlation, types))


class RequestPromises(ContractBase):
    @promise
    async def test_a_request_is_overdue_when_its_time_has_come(self, store: Store) -> None:
        [seq] = await self.keep(store, self.entry("m1", "lead", "qa", answer_by=self.now + 300.0))
        await self.keep(store, self.entry("m2", "lead"))
        assert await store.overdue(self.now + 299.0, 10) == []
        [(pending_request, message, deliveries)] = await store.overdue(self.now + 300.0, 10)
        assert pending_request == PendingRequest(seq, self.now + 300.0, 0)
        assert (message.id, [delivery.inbox for delivery in deliveries]) == ("m1", ["lead", "qa"])
        assert await store.next_deadline([]) == self.now + 300.0

    @promise
    async def test_a_reminder_puts_the_request_into_the_inbox_once_more(self, store: Store) -> None:
        [seq] = await self.keep(store, self.entry("m1", "lead", answer_by=self.now + 1.0))
        await self.settle_one(store, self.ack(await self.take_one(store, "lead")))
        pending_request, at = PendingRequest(seq, self.now + 1.0, 0), self.now
        assert await remind(store, pending_request, at, at + 5.0, inboxes=["lead"], detail='{"attempt": 1}')
        assert not await remind(store, pending_request, at, at + 9.0, inboxes=["lead"]), "another process was faster"
        [(again, _, deliveries)] = await store.overdue(at + 5.0, 10)
        assert again == PendingRequest(seq, at + 5.0, 1)
        assert [delivery.state for delivery in deliveries] == ["acked", "stored"]
        assert (await self.take_one(store, "lead")).message.id == "m1"
        kinds = [event.kind for event in await store.story(seq)]
        assert kinds == ["accepted", "leased", "acked", "reply-overdue", "request-repeated", "leased"]

    @promise
    async def test_a_request_may_be_waited_for_no_longer_and_its_sender_told(self, store: Store) -> None:
        [seq] = await self.keep(store, self.entry("m1", "lead", answer_by=self.now))
        pending_request = PendingRequest(seq, self.now, 0)
        assert await remind(store, pending_request, self.now, None, reports=[self.report("r1", "dev")])
        assert not await remind(store, pending_request, self.now, None, reports=[self.report("r2", "dev")])
        assert await store.overdue(self.now + 999.0, 10) == []
        assert [event.kind for event in await store.story(seq)] == ["accepted", "reply-overdue", "expired"]
        assert ids(await self.take(store, "dev", limit=10)) == ["r1"]

    @promise
    async def test_an_answer_ends_the_waiting_once(self, store: Store) -> None:
        [seq] = await self.keep(store, self.entry("m1", "lead", answer_by=self.now))
        answers = [self.entry(name, "dev", sender="lead", answers_requests=(seq,)) for name in ("m2", "m3")]
        [by, _] = await self.keep(store, *answers)
        assert await store.overdue(self.now, 10) == []
        [_, event] = await store.story(seq)
        assert (event.kind, event.agent, json.loads(event.detail or "")) == ("answered", "lead", {"by": by})

    @promise
    async def test_what_is_not_kept_answers_nothing(self, store: Store) -> None:
        [seq] = await self.keep(store, self.entry("m1", "lead", answer_by=self.now))
        await self.keep(store, self.entry("m2", "dev", sender="lead"))
        other = self.entry("m2", "dev", sender="lead", raw=b"other", answers_requests=(seq,))
        full = self.entry("m3", "dev", sender="lead", answers_requests=(seq,))
        assert [appended.outcome for appended in await self.append(store, other, full, inbox_max=1)] == [
            "id-reused",
            "inbox-full",
        ]
        assert [pending_request.message for pending_request, _, _ in await store.overdue(self.now, 10)] == [seq]

    @promise
    async def test_requests_that_wait_are_found_by_id_or_else_by_conversation(self, store: Store) -> None:
        wait: dict[str, Any] = {"correlation": "T1", "answer_by": self.now}
        first, second = await self.keep(store, *(self.entry(name, "lead", **wait) for name in ("m1", "m2")))
        await self.keep(store, self.entry("m3", "lead", correlation="T1"), self.entry("m4", "lead", answer_by=self.now))
        assert [
            (pending_request.message, message.id)
            for pending_request, message in await pending_requests(store, "m2", "T9")
        ] == [(second, "m2")]
        assert [message.seq for _, message in await pending_requests(store, None, "T1")] == [first, second]
        assert await pending_requests(store, "m3", None) == []
        assert await pending_requests(store, None, None) == []

    @promise
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

    @promise
    async def test_a_request_is_found_as_long_as_it_waits_and_no_longer(self, store: Store) -> None:
        """However the waiting ends: by an answer, when its delivery is given up, or when its time has run out."""
        names = ("answered", "released", "expired", "put off", "waiting")
        wait: dict[str, Any] = {"correlation": "T1", "answer_by": self.now}
        seqs = await self.keep(store, *(self.entry(name, "lead", **wait) for name in names))
        await self.keep(store, self.entry("the answer", "dev", sender="lead", answers_requests=seqs[:1]))
        taken = {lease.message.id: lease for lease in await self.take(store, "lead", limit=5)}
        await store.settle([self.bury(taken["released"])._replace(release=True)])
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

    @promise
    async def test_settling_can_release_a_request(self, store: Store) -> None:
        await self.keep(
            store, self.entry("m1", "lead", answer_by=self.now), self.entry("m2", "lead", answer_by=self.now)
        )
        first, second = [self.bury(lease) for lease in await self.take(store, "lead", limit=2)]
        await store.settle([first._replace(release=True), second])
        assert [message.id for _, message, _ in await store.overdue(self.now, 10)] == ["m2"]

    @promise
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
        message = await store.message(asked)
        assert message is not None
        found = await store.answers_to(["dev", "role:dev"], message, ["verdict"])
        waiting = {delivery.seq: message.id for delivery, message in await store.waiting(["dev"], 100)}
        assert [waiting[seq] for seq in found] == ["by-reply", "by-type"]

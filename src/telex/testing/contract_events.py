"""Store contract: events and pruning."""

import json

from telex.model.message import Event, Lease, Message
from telex.ports.store import LeaseRequest, Query, Store
from telex.testing.contract_base import ContractBase, ids, promise

LONG_AGO = 0.0  # nothing is older
TIDY_STEPS = 40  # enough for everything in these tests, three at a time


def told(found: list[tuple[Event, Message | None]]) -> list[tuple[str, str | None]]:
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

    @promise
    async def test_events_come_in_order_each_with_its_message(self, store: Store) -> None:
        await self._a_little_history(store)
        found = await store.events(Query(), 100)
        kinds = [("accepted", "m1"), ("accepted", "m2"), ("refused", "m3"), ("leased", "m1"), ("acked", "m1")]
        assert told(found) == [*kinds, ("joined", None)]
        numbers = [event.seq for event, _ in found]
        assert sorted(set(numbers)) == numbers
        assert told(await store.events(Query(after=numbers[3]), 100)) == [("acked", "m1"), ("joined", None)]
        assert told(await store.events(Query(after=numbers[0]), 1)) == [("accepted", "m2")]

    @promise
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
            assert told(await store.events(query, 100)) == events, query

    @promise
    async def test_events_of_an_agent_include_messages_to_several_for_it(self, store: Store) -> None:
        everyone = self.entry("m1", "lead", "qa", to="*", detail='{"took": 1.0, "inboxes": ["lead", "qa"]}')
        await self.keep(store, everyone, self.entry("m2", "qa"))
        assert told(await store.events(Query(agent="lead"), 100)) == [("accepted", "m1")]

    @promise
    async def test_what_is_said_beside_a_lease_is_written_with_it(self, store: Store) -> None:
        first, second = await self.keep(store, self.entry("m1", "lead"), self.entry("m2", "lead"))
        at = self.now

        def beside(lease: Lease) -> Event | None:
            event = Event(0, at, "translated", "kim", lease.message.seq, delivery=lease.delivery, inbox=lease.inbox)
            return event._replace(detail='{"type": "T"}') if lease.message.id == "m2" else None

        taken = await store.lease(LeaseRequest(["lead"], "kim", at, at + 5.0, 9, extra_event=beside))
        assert ids(taken) == ["m1", "m2"]
        assert [event.kind for event in await store.story(first)] == ["accepted", "leased"]
        *_, leased, said = await store.story(second)
        assert (leased.kind, said.kind, said.seq > leased.seq) == ("leased", "translated", True)
        assert (said.agent, said.delivery, said.inbox, said.detail) == (
            "kim",
            taken[1].delivery,
            "lead",
            '{"type": "T"}',
        )

    @promise
    async def test_the_newest_come_first_when_they_are_asked_for_so(self, store: Store) -> None:
        await self.keep(store, *(self.entry(f"m{number}", "lead", raw=b"a red build") for number in range(5)))
        query = Query(text="red", newest_first=True)
        found = [message.id for _, message in await store.events(query, 2) if message is not None]
        assert found == ["m4", "m3"]

    @promise
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
            assert [message.id for _, message in await store.events(query, 100) if message] == found, text

    @promise
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
            assert [message.id for _, message in await store.events(query, 100) if message] == found, text

    @promise
    async def test_what_is_recorded_beside_messages_is_told(self, store: Store) -> None:
        [seq] = await self.keep(store, self.entry("m1", "lead"))
        events = [
            Event(0, self.now, "read", "lead", message=seq, inbox="lead", detail="{}"),
            Event(0, self.now, "left", "qa"),
        ]
        await store.transaction(lambda tx: [tx.record(event) for event in events])
        [_, (read, message), (left, nothing)] = await store.events(Query(), 10)
        assert read[1:] == (self.now, "read", "lead", seq, None, "lead", "{}")
        assert (message and message.id, left.agent, nothing) == ("m1", "qa", None)
        assert [event.kind for event in await store.story(seq)] == ["accepted", "read"]

    @promise
    async def test_the_latest_moment_is_that_of_the_last_event(self, store: Store) -> None:
        assert await store.latest_at() == 0.0
        await self.keep(store, self.entry("m1", "lead"))
        assert await store.latest_at() == self.now

    # --- housekeeping -----------------------------------------------------------------------------------------------

    @promise
    async def test_what_was_imported_does_not_move_the_clock(self, store: Store) -> None:
        await self.keep(store, self.entry("m1", "lead"))
        await self.keep(store, self.entry("m2", at=self.now + 80_000.0, kind="imported"))
        assert await store.latest_at() == self.now

    @promise
    async def test_a_message_from_the_future_does_not_stop_the_pruning(self, store: Store) -> None:
        await self.keep(store, self.entry("ahead", at=self.now + 1e9), self.entry("old", at=self.now - 10.0))
        await self._tidy(store, keep=self.now - 5.0)
        assert [len(await store.find(id_)) for id_ in ("ahead", "old")] == [1, 0]

    async def _tidy(
        self, store: Store, *, same: float = LONG_AGO, keep: float = LONG_AGO, silent: float = LONG_AGO
    ) -> None:
        """Step by small step. A store may decline to tidy twice in a minute, so each step comes an hour later."""
        for step in range(1, TIDY_STEPS + 1):
            now = self.now + step * 3600.0
            await store.maintain(now, same_since=same, keep_since=keep, silent_since=silent, limit=3)

    @promise
    async def test_what_is_settled_and_old_is_pruned_with_its_events(self, store: Store) -> None:
        seqs = await self.keep(store, *(self.entry(f"m{number}", "lead", correlation="T1") for number in range(5)))
        await store.settle([self.ack(lease) for lease in await self.take(store, "lead", limit=5)])
        await self.keep(store, self.entry("refused", kind="refused"))
        await store.transaction(lambda tx: tx.record(Event(0, self.now, "joined", "kim")))
        await self.clock.sleep(10.0)
        await self.keep(store, self.entry("young", "qa"))
        await self._tidy(store, keep=self.now - 5.0)
        assert [await store.message(seq) for seq in seqs] == [None] * 5
        assert [await store.deliveries(seq) for seq in seqs] == [[]] * 5
        assert (await store.find("m1"), await store.thread("T1", 10), await store.find("refused")) == ([], [], [])
        left = [
            event for event in told(await store.events(Query(), 100)) if event[0] not in ("pruned", "conversation-idle")
        ]
        assert left == [("accepted", "young")]

    @promise
    async def test_what_is_open_or_waited_for_is_never_pruned(self, store: Store) -> None:
        await self.keep(store, self.entry("leased", "lead"), self.entry("stored", "lead"))
        await self.keep(store, self.entry("asked", "qa", answer_by=self.now + 999.0))
        await self.settle_one(store, self.ack(await self.take_one(store, "qa")))
        lease = await self.take_one(store, "lead")
        await self.clock.sleep(1.0)
        await self._tidy(store, keep=self.now)
        assert [len(await store.find(name)) for name in ("leased", "stored", "asked")] == [1, 1, 1]
        assert (await self.settle_one(store, self.ack(lease))).done
        assert (await self.take_one(store, "lead")).message.id == "stored"

    @promise
    async def test_pruning_goes_in_small_steps(self, store: Store) -> None:
        await self.keep(store, *(self.entry(f"m{number}", kind="refused") for number in range(20)))
        await self.clock.sleep(1.0)
        await self.keep(store, self.entry("young", "lead"))  # a store may keep its last event, to count on from it
        before = len(await store.events(Query(kinds=("refused",)), 100))
        await store.maintain(self.now, same_since=LONG_AGO, keep_since=self.now, silent_since=LONG_AGO, limit=5)
        assert before - len(await store.events(Query(kinds=("refused",)), 100)) <= 5
        await self._tidy(store, keep=self.now)
        assert await store.events(Query(kinds=("refused",)), 100) == []

    @promise
    async def test_an_id_within_the_window_is_not_forgotten(self, store: Store) -> None:
        new_message = self.entry("m1", "lead")
        await self.keep(store, new_message)
        await self._tidy(store, same=self.now)
        assert (await self.append_one(store, new_message)).outcome == "duplicate"

    @promise
    async def test_a_conversation_that_fell_silent_is_told_once(self, store: Store) -> None:
        await self.keep(store, self.entry("m1", "lead", correlation="T1"), self.entry("m2", "qa", correlation="T1"))
        await self.keep(store, self.entry("m3", "lead", correlation="T2"))
        await self.settle_one(store, self.ack(await self.take_one(store, "qa")))
        await self.clock.sleep(10.0)
        await self.keep(store, self.entry("m4", "lead", correlation="T2"))
        for _ in range(2):
            await self._tidy(store, silent=self.now - 5.0)
        silent = [
            json.loads(event.detail or "") for event, _ in await store.events(Query(kinds=("conversation-idle",)), 10)
        ]
        assert silent == [{"correlation": "T1", "messages": 2, "open": 1}]

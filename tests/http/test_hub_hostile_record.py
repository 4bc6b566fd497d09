"""Can a record from elsewhere, or a very long one, harm a team that works?"""

import asyncio
import hashlib
import time
from pathlib import Path
from typing import Any

import pytest

import telex
from telex.bus import notify as follow
from telex.model.limits import HUB_LIMITS, LIMITS
from telex.model.message import Event, NewMessage, WorkChange
from telex.model.roster import Member
from telex.ports.store import Query, events_with_messages
from telex.protocol import plain
from telex.stores.sqlite.connection import SqliteConnection
from telex.surfaces import size_limits
from telex.surfaces.http import page, page_stats, stream
from telex.surfaces.http.app import Hub
from telex.surfaces.http.asgi import HttpResponse, Receive, Scope, Send, reply
from telex.surfaces.http.limits import RequestLimits
from telex.surfaces.http.page_stats import RecentEvents
from telex.surfaces.http.stream import EventBacklog
from telex.surfaces.http.tokens import AT_HOME
from telex.surfaces.page import past
from tests.http.http_kit import (
    QUIET,
    Asking,
    Door,
    alive,
    client_of,
    events_in,
    hub_test,
    let_in_as,
    opened,
    play,
    played,
    soon,
)
from tests.proofs import proves


def entry(id_: str, **given: Any) -> NewMessage:
    raw = b"The build is red."
    digest = hashlib.sha256(raw).digest()
    return NewMessage(id_, time.time(), "dev", "dev", "lead", "plain", None, 3, None, None, digest, raw)._replace(
        **given
    )


@proves("hostile_hub/history-only")
@hub_test()
async def test_what_is_imported_is_history_whatever_it_says_of_itself(door: Door) -> None:
    thrown_out = Member("qa", "qa", joined_at=1.0, stopped_at=1.0)
    await door.bus.join("qa", role="qa")
    asked = await door.bus.send(b"Is it red?", sender="qa", to="lead")
    before = [one.member for one in await door.bus.roster()]
    told = Event(0, 1.0, "stopped", "qa")
    change = WorkChange(("approval:a-1",), (entry("report", inboxes=("qa",), kind="accepted"),), ((thrown_out, told),))
    hostile = entry("h-1", inboxes=("lead",), answer_by=1.0, answers_requests=(1, 2), work_change=change)
    body = {"entries": [plain(hostile)]}
    answer = await door.client.post("/import", json=body)
    assert answer.status_code == 200, answer.text
    await door.bus.sweep()
    assert [one.member for one in await door.bus.roster()] == before
    assert await door.bus.inbox("qa") == []
    assert [message.id for _, message in await door.bus.inbox("lead")] == [asked.id]
    [story] = await door.bus.why("h-1")
    assert (story.state, story.answer_by, story.deliveries) == ("recorded", None, ())
    assert [event.kind for event in story.events] == ["imported"]
    assert await door.bus.search("report") == []
    kinds = {event.kind async for event, _ in door.bus.events()}
    assert kinds <= {"joined", "accepted", "imported"}


@proves("hostile_hub/refused-fold")
@pytest.mark.parametrize("back", [page_stats.EVENTS_BACK, 0])
def test_while_a_long_record_is_read_for_a_page_others_have_their_turn(
    back: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_stats, "TURN_EVENTS", 10)
    monkeypatch.setattr(page_stats, "EVENTS_BACK", back)

    async def scene() -> int:
        async with telex.connect("memory:", settings=QUIET) as bus:
            for number in range(100):
                await bus.send({"type": f"x{number}"}, sender="dev", to="lead", check=False)
            turns = 0

            async def others() -> None:
                nonlocal turns
                while True:
                    turns += 1
                    await asyncio.sleep(0)

            task = asyncio.create_task(others())
            record = await RecentEvents(bus).caught_up()
            task.cancel()
            assert len(record.refusals.within(0.0)) == 100
            return turns

    assert play(scene) >= 10


@proves("hostile_hub/missed-bytes")
def test_what_was_missed_is_read_in_runs_of_few_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "READ_BYTES_MAX", 4_000)
    monkeypatch.setattr(stream, "PAGE", 10)

    async def scene() -> None:
        async with telex.connect("memory:", settings=QUIET) as bus:
            for number in range(25):
                await bus.send(f"{number} " * (300 if number < 15 else 1), sender="dev", to="lead")
            missed, runs = EventBacklog(bus), list[int]()
            read = missed._read

            async def counted(after: int, until: int) -> Any:
                frames, upto = await read(after, until)
                runs.append(sum(len(text) for _, text in frames))
                return frames, upto

            monkeypatch.setattr(missed, "_read", counted)
            every = [event.seq async for event, _ in bus.events()]
            for _ in range(2):  # the second finds what was kept
                told = b"".join([text async for text in missed.between(0, every[-1])]).decode()
                assert [one["id"] for one in events_in(told)] == every
            assert max(runs) < 6_000
            assert len(runs) > 5

    play(scene)


@proves("hostile_hub/missed-bytes")
@pytest.mark.parametrize("newest_first", [False, True])
def test_a_record_of_large_messages_is_read_a_few_at_a_time(
    newest_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "PAGE_BYTES", 10_000)

    async def scene() -> None:
        async with telex.connect("memory:", settings=QUIET) as bus:
            for number in range(120):
                await bus.send(f"{number} " * (500 if number < 60 else 1), sender="dev", to="lead")
            store, sizes = bus.store, list[int]()  # type: ignore[attr-defined]
            read = store.read

            async def counted(query: Any, *arguments: Any) -> Any:
                page = await read(query, *arguments)
                if query is events_with_messages:
                    sizes.append(len(page))
                return page

            monkeypatch.setattr(store, "read", counted)
            told = [event.seq async for event, _ in bus.events(Query(newest_first=newest_first))]
            assert sorted(told) == list(range(1, len(told) + 1))
            assert len(told) >= 120
            if not newest_first:
                assert set(sizes[:3]) == {follow.PAGE_MIN}
                assert max(sizes) > follow.PAGE_MIN

    play(scene)


@proves("hostile_hub/look-bytes")
@pytest.mark.parametrize(
    "path, asked, few",
    [
        ("/inbox/lead", {}, 3),  # looked at one by one, for what its reader is given in their place
        ("/search", {"text": "red"}, size_limits.FIRST),
        ("/dead", {}, size_limits.FIRST),
    ],
)
def test_a_list_of_large_messages_ends_early_and_one_of_small_ones_does_not(
    path: str, asked: dict[str, str], few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> list[int]:
        async with opened(settings=QUIET._replace(limits=LIMITS._replace(attempts_max=1))) as door:
            for number in range(40):
                await door.send(f"The build is red, {number} times over. ".encode() * 100)
            if path == "/dead":
                for leased in await door.bus.receive("lead", limit=40):
                    await door.bus.nack(leased.token, agent="lead", reason="No.")
            counts = []
            for room in (1_000_000, 10_000):
                monkeypatch.setattr(size_limits, "LOOK_BYTES", room)
                answer = await door.client.get(path, params={"limit": "10000"} | asked)
                counts.append(len(answer.json()["answer"]))
            return counts

    assert play(scene) == [40, few]


@proves("hostile_hub/look-bytes")
@pytest.mark.parametrize("path, asked", [("/inbox/lead", {}), ("/search", {"text": "r"})])
@hub_test()
async def test_a_list_of_tiny_messages_ends_early_too(
    door: Door, path: str, asked: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(size_limits, "LOOK_BYTES", 100_000)
    for number in range(400):
        await door.bus.send(b"r", sender="dev", to="lead", id=f"n-{number}")
    answer = await door.client.get(path, params={"limit": "100000"} | asked)
    assert 0 < len(answer.json()["answer"]) < 400
    assert len(answer.content) < 200_000


@proves("hostile_hub/long-search/matches")
def test_a_search_reads_as_many_matches_as_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts, rows = list[int](), SqliteConnection.rows

    def counted(self: SqliteConnection, *given: Any) -> list[Any]:
        found = rows(self, *given)
        counts.append(len(found))
        return found

    async def scene() -> list[str]:
        async with opened(str(tmp_path / "telex.db")) as door:
            for number in range(600):  # more than are looked through without the index
                await door.bus.send(b"Red.", sender="dev", to="lead", id=f"n-{number}", correlation="c-1")
            await door.client.get("/search?text=red&limit=1")  # brings the index up to date
            monkeypatch.setattr(SqliteConnection, "rows", counted)
            found = (await door.client.get("/search?text=red&limit=3")).json()["answer"]
            monkeypatch.undo()
            everything = (await door.client.get("/search?text=red&limit=1000")).json()["answer"]
            assert len(everything) == 600
            return [message["id"] for message in found]

    assert play(scene) == ["n-599", "n-598", "n-597"]
    assert max(counts) < 520, "the newest messages are not in the index yet"


@proves("hostile_hub/bodies")
@played
async def test_all_bodies_together_may_take_so_much_and_no_more() -> None:
    go_on = asyncio.Event()

    async def slow(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await go_on.wait()
        await reply(send, HttpResponse(200, b"{}"))

    app = let_in_as(AT_HOME, RequestLimits(HUB_LIMITS._replace(bodies_bytes_max=2_500))(slow))
    first = [Asking(app, "POST", "/send", body=b"x" * 1_000) for _ in range(2)]
    await asyncio.sleep(0)
    third = Asking(app, "POST", "/send", body=b"x" * 1_000)
    await soon(third.task)
    assert third.status == 429
    go_on.set()
    await soon(asyncio.gather(*(one.task for one in first)))
    again = [Asking(app, "POST", "/send", body=b"x" * 1_000) for _ in range(2)]
    await soon(asyncio.gather(*(one.task for one in again)))
    assert [one.status for one in (*first, *again)] == [200] * 4


@proves("hostile_hub/long-history")
@pytest.mark.parametrize("path", ["/trace/long", "/trace/long/picture", "/messages/many"])
@hub_test()
async def test_a_hub_that_reads_a_long_history_answers_others_meanwhile(door: Door, path: str) -> None:
    for number in range(300):  # a refused message does not use up its id
        refused = b'{"type": "plan_contract", "id": "many", "number": %d}' % number
        await door.bus.send(refused, sender="dev", to="lead", id="many", correlation="long", check=False)
    long = asyncio.ensure_future(door.client.get(path))
    await asyncio.sleep(0)
    assert (await soon(door.client.get("/healthz"))).status_code == 200
    assert not long.done()
    assert (await soon(long)).status_code == 200


@proves("hostile_hub/long-history")
@played
async def test_a_hub_that_looks_into_the_past_answers_others_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_stats, "EVENTS_BACK", 20)
    monkeypatch.setattr(past, "STEP", 200)
    async with telex.connect("memory:", settings=QUIET) as bus:
        for number in range(300):
            await bus.send(b"The build is red.", sender="dev", to="lead", id=f"n-{number}")
        hub = let_in_as(AT_HOME, Hub(bus, QUIET, page.routes(bus, QUIET)))
        async with alive(hub), client_of(hub) as client:
            for _ in range(2):  # the second finds the past folded, and follows what was open
                looking = asyncio.ensure_future(client.get("/page/feed?before=100"))
                await asyncio.sleep(0)
                for _ in range(3):
                    await soon(client.get("/healthz"))
                assert not looking.done()
                assert len((await soon(looking)).json()["rows"]) == 40

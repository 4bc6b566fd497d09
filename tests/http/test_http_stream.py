"""Live events over HTTP: viewers, resumption, slow viewers, an unavailable store."""

import asyncio
import random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from telex.errors import StoreUnavailable
from telex.ports.store import events_with_messages
from telex.surfaces.http.stream import Chunk, Listener
from tests.http.http_kit import Asking, Door, events_in, every_id, hub_test, latest, left, opened, played, soon, watch
from tests.proofs import proves


@proves("http/live/events")
@hub_test()
async def test_a_viewer_is_told_of_what_happens_from_now_on(door: Door) -> None:
    await door.send()
    before = await latest(door.bus)
    viewer = watch(door.app)
    await viewer.until(lambda: "retry: " in viewer.text)
    sent = (await door.send(b"second")).json()
    await viewer.until(lambda: before + 1 in viewer.ids)
    *_, told = events_in(viewer.text)  # perhaps with something of the moment before it came
    assert (told["id"], told["event"]) == (before + 1, "happening")
    assert told["data"]["event"]["seq"] == told["id"]
    assert told["data"]["event"]["kind"] == "accepted"
    assert (told["data"]["message"]["id"], told["data"]["message"]["raw"]) == (sent["id"], "second")
    assert viewer.headers[b"content-type"].startswith(b"text/event-stream")
    assert viewer.headers[b"cache-control"] == b"no-store"
    await left(viewer)
    assert door.hub.broadcast.viewers == 0


@proves("http/live/events")
@hub_test()
async def test_a_viewer_is_told_nothing_of_what_happened_while_nobody_watched(door: Door) -> None:
    first = watch(door.app)
    await first.until(lambda: "retry: " in first.text)
    await door.send(b"heard")
    await first.until(lambda: bool(first.ids))
    await left(first)
    await door.send(b"unheard")
    while not door.hub.broadcast.rests:
        await asyncio.sleep(0.01)
    await door.send(b"unheard too")
    before = await latest(door.bus)
    second = watch(door.app)
    await second.until(lambda: "retry: " in second.text)
    await door.send(b"heard again")
    await second.until(lambda: before + 1 in second.ids)
    assert second.ids == [before + 1]
    await left(second)


@proves("http/live/resume")
@played
async def test_a_viewer_goes_on_where_it_was_cut_off_while_messages_pour_in() -> None:
    """It is cut off at any moment, a hundred times, and puts its pieces together."""
    chance = random.Random(41)
    async with opened() as door:
        pouring = asyncio.create_task(pour(door, 300))
        heard: list[int] = []
        while not pouring.done() or heard != await every_id(door.bus):
            viewer = watch(door.app, resumed_after=heard[-1] if heard else 0)
            wanted = chance.randint(1, 12)
            at_most = asyncio.create_task(viewer.until(lambda v=viewer, n=wanted: len(v.ids) >= n))  # type: ignore[misc]
            await asyncio.wait((at_most,), timeout=0.2)
            at_most.cancel()
            await left(viewer)
            heard += viewer.ids
        assert heard == await every_id(door.bus)


async def pour(door: Door, messages: int) -> None:
    for number in range(messages):
        await door.bus.send(f"number {number}", sender="dev", to="lead")
        await asyncio.sleep(0.001 if number % 7 else 0.06)  # now together with others, now alone


@proves("http/live/joining")
@hub_test()
async def test_viewers_that_join_in_a_burst_miss_nothing_and_hear_nothing_twice(door: Door) -> None:
    pouring, viewers = asyncio.create_task(pour(door, 70)), []
    while not pouring.done():
        here = await latest(door.bus)
        viewers.append((here, watch(door.app, f"after={here}")))
        await asyncio.sleep(0.004)
    assert len(viewers) > 20
    for here, viewer in viewers:
        wanted = await every_id(door.bus, here)
        await viewer.until(lambda v=viewer, ids=wanted: v.ids[-1:] == ids[-1:])  # type: ignore[misc]
        assert viewer.ids == wanted
    await left(*(viewer for _, viewer in viewers))


@proves("http/live/joining")
@hub_test()
async def test_an_event_that_nobody_was_there_for_is_told_to_whoever_comes_a_moment_later(door: Door) -> None:
    """It was read, and not yet told, when the viewer came."""
    await door.send()
    for _ in range(20):
        here = await latest(door.bus)
        await door.bus.send("now", sender="dev", to="lead")
        await asyncio.sleep(0.01)  # it is read by now
        viewer = watch(door.app, resumed_after=here)
        await viewer.until(lambda v=viewer, n=here: v.ids == [n + 1])  # type: ignore[misc]
        await left(viewer)


@proves("http/live/ahead")
@hub_test()
async def test_a_viewer_that_has_read_further_than_was_told_hears_nothing_again(door: Door) -> None:
    other = watch(door.app)  # for whom everything is written out
    await other.until(lambda: bool(other.told))
    for number in range(3):
        await door.bus.send(f"{number}", sender="dev", to="lead")
        page = (await door.client.get("/events", params={"limit": "1000"})).json()["answer"]
        here = page[-1]["event"]["seq"]
        viewer = watch(door.app, f"after={here}")
        await viewer.until(lambda v=viewer: bool(v.told))  # type: ignore[misc]
        await door.bus.send("after", sender="dev", to="lead")
        await viewer.until(lambda v=viewer: bool(v.ids))  # type: ignore[misc]
        assert viewer.ids == [here + 1]
        await left(viewer)
    await left(other)


@proves("http/live/other-record")
@hub_test()
async def test_a_viewer_with_an_id_of_another_record_is_told_what_happens_from_now_on(door: Door) -> None:
    await door.send()
    viewer = watch(door.app, resumed_after=10**9)
    await viewer.until(lambda: bool(viewer.told))
    await asyncio.sleep(0.1)
    await door.send()
    await viewer.until(lambda: len(viewer.ids) == 1)
    chosen = watch(door.app, "kinds=accepted", resumed_after=10**9)
    await chosen.until(lambda: bool(chosen.told))
    await door.send()
    await chosen.until(lambda: len(chosen.ids) == 1)
    await left(viewer, chosen)


@proves("http/live/filters")
@pytest.mark.parametrize(
    "query, kinds",
    [("kinds=leased", {"leased"}), ("kinds=leased,acked", {"leased", "acked"}), ("agent=lead&kinds=acked", {"acked"})],
)
@hub_test()
async def test_a_viewer_that_wants_only_some_of_it_is_told_only_that(door: Door, query: str, kinds: set[str]) -> None:
    viewer = watch(door.app, f"after=0&{query}")
    for _ in range(3):
        await door.send()
        [leased] = await door.bus.receive("lead")
        await door.bus.ack(leased.token, agent="lead")
    await viewer.until(lambda: len(viewer.ids) >= 3 * len(kinds))
    wanted = [event.seq async for event, _ in door.bus.events() if event.kind in kinds]
    assert viewer.ids == wanted
    resumed = watch(door.app, f"after=0&{query}", resumed_after=wanted[0])
    await resumed.until(lambda: len(resumed.ids) >= len(wanted) - 1)
    assert resumed.ids == wanted[1:]
    await left(viewer, resumed)


@proves("http/live/heartbeat")
@pytest.mark.parametrize("query", ["", "kinds=acked"])
@hub_test()
async def test_where_nothing_happens_a_comment_says_that_the_hub_is_still_there(door: Door, query: str) -> None:
    door.hub.broadcast.heartbeat_seconds = 0.01
    viewer = watch(door.app, query)
    await viewer.until(lambda: viewer.text.count(": still here\n\n") >= 3)
    assert viewer.ids == []
    await left(viewer)


@proves("http/live/slow")
@hub_test()
async def test_a_viewer_that_does_not_keep_up_is_let_go_and_resumes_without_a_gap(door: Door) -> None:
    door.hub.broadcast.behind_bytes_max = 2_000
    slow, quick = watch(door.app, "after=0"), watch(door.app, "after=0")
    await slow.until(lambda: bool(slow.told))
    slow.takes.clear()
    await pour(door, 60)
    await quick.until(lambda: len(quick.ids) >= 60)
    assert door.hub.broadcast.viewers == 1
    slow.takes.set()
    await soon(slow.task)
    assert slow.told[-1] == b""
    again = watch(door.app, resumed_after=slow.ids[-1])
    everything = await every_id(door.bus)
    await again.until(lambda: again.ids[-1:] == everything[-1:])
    assert slow.ids + again.ids == everything
    await left(again, quick)


@proves("http/live/ending")
@played
async def test_the_end_of_the_hub_ends_every_stream() -> None:
    async with opened() as door:
        viewers = [watch(door.app), watch(door.app, "kinds=acked"), watch(door.app, "after=0")]
        for viewer in viewers:
            await viewer.until(lambda v=viewer: bool(v.told))  # type: ignore[misc]
    for viewer in viewers:
        await soon(viewer.task)
        assert viewer.told[-1] == b""


@proves("http/live/store-away")
@hub_test()
async def test_a_store_that_is_away_for_a_while_costs_no_viewer_an_event(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("telex.surfaces.http.stream.RETRY_SECONDS", 0.01)
    viewer = watch(door.app, "after=0")
    await door.send()
    await viewer.until(lambda: bool(viewer.ids))
    store, failed = door.bus.store, asyncio.Event()  # type: ignore[attr-defined]
    read = store.read

    async def away(query: Any, *arguments: Any) -> Any:
        if query is not events_with_messages:
            return await read(query, *arguments)
        failed.set()
        raise StoreUnavailable("the disk is gone.")

    with monkeypatch.context() as broken:
        broken.setattr(store, "read", away)
        await door.bus.send("while nobody can read", sender="dev", to="lead")
        await soon(failed.wait())
    await door.send(b"after")
    everything = await every_id(door.bus)
    await viewer.until(lambda: viewer.ids == everything)
    await left(viewer)


@proves("http/live/arguments")
@pytest.mark.parametrize(
    "query, resumed", [("kindz=acked", ""), ("after=x", ""), ("", "x"), ("", "9" * 19), ("", "-1")]
)
@hub_test()
async def test_a_stream_that_is_asked_for_wrongly_is_refused_before_it_begins(
    door: Door, query: str, resumed: str
) -> None:
    headers = {"accept": "text/event-stream", "last-event-id": resumed}
    asked = Asking(door.app, "GET", "/events", query, headers)
    await soon(asked.task)
    assert asked.status == 400
    assert b"arguments-wrong" in asked.told[0]


@proves("http/live/real")
@hub_test(serve=True)
async def test_a_client_behind_a_real_server_is_told_and_is_forgotten_when_it_goes(door: Door, port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /events?after=0 HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n")
    await door.send()
    head = await soon(reader.readuntil(b"event: happening"))
    assert head.startswith(b"HTTP/1.1 200 OK")
    assert door.hub.broadcast.viewers == 1
    writer.close()
    async with asyncio.timeout(20):
        while door.hub.broadcast.viewers:
            await door.send()  # whoever has gone is noticed at the latest when it is told something
            await asyncio.sleep(0.01)


@given(st.text(max_size=80))
@example("\r\x85\u2028\u2029\x1c")
@hub_test()
async def test_no_text_in_a_message_ends_its_event_or_begins_another(door: Door, text: str) -> None:
    viewer = watch(door.app, "after=0&kinds=accepted,refused")
    await door.bus.send(text + "\n\nid: 9\nevent: planted\ndata: {}\n\n", sender="dev", to="lead", check=False)
    await viewer.until(lambda: bool(viewer.ids))
    [told] = events_in(viewer.text)
    assert told["event"] == "happening"
    await left(viewer)


@proves("http/live/leaving")
@pytest.mark.parametrize("steps", range(5))
def test_who_leaves_just_as_news_comes_is_let_go(steps: int) -> None:
    """`steps` turns of the loop after the news."""

    async def watched(listener: Listener) -> None:
        while True:
            await listener.next(60.0)

    async def left() -> bool:
        listener = Listener(1_000)
        viewer = asyncio.ensure_future(watched(listener))
        for _ in range(3):
            await asyncio.sleep(0)
        listener.give(Chunk(1, 1, b"x"))
        for _ in range(steps):
            await asyncio.sleep(0)
        viewer.cancel()
        done, _ = await asyncio.wait((viewer,), timeout=5.0)
        viewer.cancel()
        return bool(done)

    assert asyncio.run(left())

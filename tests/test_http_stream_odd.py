"""What becomes of whoever watches when the store is away, the client odd, or a message meant to confuse it?"""

import asyncio
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from telex.errors import StoreUnavailable
from telex.ports.store import events_with_messages
from tests.http_kit import Asking, events_in, every_id, left, opened, play, served, soon, watch
from tests.proofs import proves


@proves("http/live/store-away")
def test_a_store_that_is_away_for_a_while_costs_no_viewer_an_event(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("telex.surfaces.http.stream.AGAIN_SECONDS", 0.01)

    async def scene() -> None:
        async with opened() as door:
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

    play(scene)


@proves("http/live/arguments")
@pytest.mark.parametrize(
    "query, resumed", [("kindz=acked", ""), ("after=x", ""), ("", "x"), ("", "9" * 19), ("", "-1")]
)
def test_a_stream_that_is_asked_for_wrongly_is_refused_before_it_begins(query: str, resumed: str) -> None:
    async def scene() -> None:
        async with opened() as door:
            headers = {"accept": "text/event-stream", "last-event-id": resumed}
            asked = Asking(door.app, "GET", "/events", query, headers)
            await soon(asked.task)
            assert asked.status == 400
            assert b"arguments-wrong" in asked.told[0]

    play(scene)


@proves("http/live/real")
def test_a_client_behind_a_real_server_is_told_and_is_forgotten_when_it_goes() -> None:
    async def scene() -> None:
        async with opened() as door, served(door.app) as port:
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

    play(scene)


@given(st.text(max_size=80))
@example("\r\x85\u2028\u2029\x1c")
def test_no_text_in_a_message_ends_its_event_or_begins_another(text: str) -> None:
    async def scene() -> None:
        async with opened() as door:
            viewer = watch(door.app, "after=0&kinds=accepted,refused")
            await door.bus.send(text + "\n\nid: 9\nevent: planted\ndata: {}\n\n", sender="dev", to="lead")
            await viewer.until(lambda: bool(viewer.ids))
            [told] = events_in(viewer.text)
            assert told["event"] == "happening"
            await left(viewer)

    play(scene)

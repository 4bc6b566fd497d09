"""Event stream of a hub, resumed after the last event when the connection breaks."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from typing import Any

import httpx2

from telex.errors import StoreError
from telex.http_client.problems import error_in
from telex.http_client.transport import NO_HUB, PAUSE_SECONDS_MAX, PAUSE_SECONDS_MIN, RetryTransport, whole
from telex.model.message import Event, Message
from telex.protocol import CodecError, decoded, made
from telex.protocol.verbs import EventRecord

SILENCE_SECONDS = 45.0  # a hub says something every fifteen seconds, if only that it is still there
LATE_SECONDS = 1.0  # that the end of a wait may be seen too late
FRAME_BYTES_MAX = 64 * 1_048_576  # no event is that large: whoever sends that is no hub
STREAM = {"accept": "text/event-stream"}
OK = 200


async def followed(
    line: RetryTransport, path: str, query: list[tuple[str, str]], after: int, wait: float | None
) -> AsyncGenerator[tuple[Event, Message | None], None]:
    """What happened after that event and happens from now on; with `wait`, until nothing has for so long."""
    last, answered, pause = line.clock.now(), line.clock.now(), PAUSE_SECONDS_MIN
    while True:
        left = SILENCE_SECONDS if wait is None else min(SILENCE_SECONDS, last + wait - line.clock.now())
        if left <= 0:
            return
        try:
            async with line.wire.stream(path, query, STREAM | {"last-event-id": str(after)}, left) as (status, chunks):
                line.answered = True
                if status != OK:
                    raise error_in(status, await whole(chunks))
                async with aclosing(_frames(chunks)) as frames:
                    async for event_record in frames:
                        answered, pause = line.clock.now(), PAUSE_SECONDS_MIN
                        if event_record is not None:
                            last, after = answered, event_record.event.seq
                            yield event_record.event, event_record.message
                        elif wait is not None and left - (last + wait - answered) > LATE_SECONDS:
                            break  # asked again with the little time that is left
        except httpx2.ReadTimeout:
            continue
        except httpx2.TransportError as error:
            if line.clock.now() - answered > line.patience:
                raise line.away() from error
        await line.clock.sleep(pause)
        pause = min(pause * 2, PAUSE_SECONDS_MAX)


async def _frames(chunks: AsyncIterator[bytes]) -> AsyncGenerator[EventRecord | None, None]:
    """Each event, and None for each sign of life without one. Lines end at line feeds and nowhere else: what is written
    in a message may have other characters that some would take for the end of a line."""
    kept = bytearray()
    async for chunk in chunks:
        seen = max(len(kept) - 1, 0)  # an end may lie across two chunks
        kept += chunk
        end = kept.rfind(b"\n\n", seen)
        if end >= 0:
            frames = bytes(kept[:end]).split(b"\n\n")
            del kept[: end + 2]
            for frame in frames:
                yield _happening(frame)
        if len(kept) > FRAME_BYTES_MAX:
            raise StoreError(f"the hub sent an event of more than {FRAME_BYTES_MAX:,} bytes, {NO_HUB}")


def _happening(frame: bytes) -> EventRecord | None:
    data = b"\n".join(_data(frame))
    if not data:
        return None
    try:
        found: Any = made(EventRecord, decoded(data))
    except (CodecError, ValueError) as error:
        say = "invalid event from the hub: is it a Telex hub of this version?"
        raise StoreError(say) from error
    assert isinstance(found, EventRecord)
    return found


def _data(frame: bytes) -> Iterator[bytes]:
    for line in frame.split(b"\n"):
        name, _, value = line.partition(b":")
        if name == b"data":
            yield value.removeprefix(b" ")

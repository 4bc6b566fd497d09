"""Event stream of a hub, resumed after the last event when the connection breaks."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing

import httpx2

from telex.errors import StoreError
from telex.http_client.bus import WRONG_VERSION, error_in
from telex.http_client.transport import (
    NO_HUB,
    PAUSE_SECONDS_MAX,
    PAUSE_SECONDS_MIN,
    HttpQuery,
    RetryTransport,
    whole,
)
from telex.model.message import Event, Message
from telex.protocol import CodecError, decoded, made
from telex.protocol.verbs import EventRecord

SILENCE_SECONDS = 45.0  # read timeout; a hub sends a keep-alive every 15 seconds
LATE_SECONDS = 1.0  # by which the end of a wait may be late
FRAME_BYTES_MAX = 64 * 1_048_576  # no event is that large
STREAM = {"accept": "text/event-stream"}
OK = 200


async def followed(
    line: RetryTransport, request: HttpQuery, after: int, wait: float | None
) -> AsyncGenerator[tuple[Event, Message | None], None]:
    """Events after that one, for ever, or until none has come for `wait` seconds."""
    last, answered, pause = line.clock.now(), line.clock.now(), PAUSE_SECONDS_MIN
    while True:
        left = SILENCE_SECONDS if wait is None else min(SILENCE_SECONDS, last + wait - line.clock.now())
        if left <= 0:
            return
        try:
            async with line.wire.stream(request, STREAM | {"last-event-id": str(after)}, left) as (status, chunks):
                line.answered = True
                if status != OK:
                    raise error_in(status, await whole(chunks))
                async with aclosing(_frames(chunks)) as frames:
                    async for record in frames:
                        answered, pause = line.clock.now(), PAUSE_SECONDS_MIN
                        if record is not None:
                            last, after = answered, record.event.seq
                            yield record.event, record.message
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
    """Each event, and None for each keep-alive. Only line feeds end a line: a message may contain other characters that
    a parser of text would take for one."""
    buffer = bytearray()
    async for chunk in chunks:
        searched = max(len(buffer) - 1, 0)  # the end of a frame may be split between two chunks
        buffer += chunk
        end = buffer.rfind(b"\n\n", searched)
        if end >= 0:
            frames = bytes(buffer[:end]).split(b"\n\n")
            del buffer[: end + 2]
            for frame in frames:
                yield _record(frame)
        if len(buffer) > FRAME_BYTES_MAX:
            raise StoreError(f"the hub sent an event of more than {FRAME_BYTES_MAX:,} bytes, {NO_HUB}")


def _record(frame: bytes) -> EventRecord | None:
    fields = (line.partition(b":") for line in frame.split(b"\n"))
    data = b"\n".join(value.removeprefix(b" ") for name, _, value in fields if name == b"data")
    if not data:
        return None
    try:
        record: EventRecord = made(EventRecord, decoded(data))
    except (CodecError, ValueError) as error:
        raise StoreError(f"invalid event from the hub: {WRONG_VERSION}") from error
    return record

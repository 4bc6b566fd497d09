"""Limits per connection: timeouts, size of the request head, number of connections.

uvicorn has no timeout for a request head, no limit for its size, and none for a client that does not read its
response. Timers are set only where something is already late, so that a request in one piece costs nothing more.
"""

import asyncio
from collections import Counter
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from telex.model.limits import HUB_LIMITS, HubLimits
from telex.surfaces.http.allowed_hosts import is_loopback
from telex.surfaces.http.auth_errors import HEAD_TOO_LARGE, NOT_HTTP, TOO_MANY_CONNECTIONS, TOO_SLOW, raw
from telex.surfaces.http.problem import HttpResponse

Timer = asyncio.TimerHandle | None
LINE_BYTES = len(b": \r\n")  # around the name and value of a header
URL_BYTES_MAX = 65_535  # of the parser
READ_BYTES_MIN = 16_384  # a client that takes less than that of what waits for it does not really read


class HubProtocol(HttpToolsProtocol):
    """One connection. `limited_by` makes a class of it that has its limits and counts its own connections."""

    limits: HubLimits = HUB_LIMITS
    peers: "Counter[str]"

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._late: Timer = None  # until a request is whole
        self._stuck: Timer = None  # until enough is read
        self._unparsed_bytes = 0  # received since the last part of a request that was complete
        self._invalid = NOT_HTTP  # the response to what the parser refuses
        self._in_head = self._in_body = self._deaf = False
        self._peer: str | None = None  # counted under this address
        self._asked: list[RequestResponseCycle] = []  # what is not answered yet: several, where one sends ahead

    # --- how many ----------------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._peer = self.client[0] if self.client else ""
        self.peers[self._peer] += 1
        if self._is_one_too_many(self._peer):
            self._turn_away(TOO_MANY_CONNECTIONS)
        else:
            self._hurry()

    def _is_one_too_many(self, peer: str) -> bool:
        if len(self.connections) > self.limits.connections_max:
            return True
        return self.peers[peer] > self.limits.connections_per_peer_max and not is_loopback(peer)

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_timers()
        if self._peer is not None:
            self.peers[self._peer] -= 1
            if not self.peers[self._peer]:
                del self.peers[self._peer]
            self._peer = None
        for one in self._asked:  # uvicorn tells only the last of them that nobody is there any more
            one.disconnected = True
            one.message_event.set()
        self._asked.clear()
        super().connection_lost(exc)

    # --- how slow, and how large -------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self._in_head = True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # otherwise it is a trailer, which is ignored (RFC 9110, 6.5.1)
            super().on_header(name, value.strip(b" \t"))  # of trailing blanks, which the parser leaves (5.5)

    def on_headers_complete(self) -> None:
        size = len(self.url) + sum(len(name) + len(value) + LINE_BYTES for name, value in self.headers)
        if size > self.limits.head_bytes_max or len(self.url) > URL_BYTES_MAX:
            self._invalid = HEAD_TOO_LARGE
            raise ValueError("head too large")  # for the parser, which stops and has `send_400_response` called
        self._in_head, self._in_body = False, True
        self._unparsed_bytes = max(self._unparsed_bytes - size, 0)  # a trailer may have come in the same piece
        super().on_headers_complete()
        self._asked = [one for one in self._asked if not one.response_complete]
        if self.cycle is not None:
            self._asked.append(self.cycle)

    def on_body(self, body: bytes) -> None:
        self._unparsed_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._in_body, self._unparsed_bytes = False, 0
        super().on_message_complete()

    def data_received(self, data: bytes) -> None:
        if self._deaf or self.transport.is_closing():
            return  # turned away, or about to be; what still comes is not looked at
        self._unparsed_bytes += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            self._forget_timers()
        elif self._unparsed_bytes > self.limits.head_bytes_max and not self._deaf:  # a head, trailer or chunk extension
            self._turn_away(HEAD_TOO_LARGE)
        elif self._is_answering():
            self._hurry_no_more()  # from here on the request is bounded as a request
        elif self._in_head or self._in_body:  # the body of a request that was answered before it was whole
            self._hurry()
        elif self._has_answered():
            self._hurry_no_more()
            self._unset_keepalive_if_required()
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if (self._in_head or self._in_body) and not self._is_answering() and not self.transport.is_closing():
            self._unset_keepalive_if_required()  # the next request has begun, and has its own time
            self._hurry()

    def _hurry(self) -> None:
        if self._late is None:
            self._late = self.loop.call_later(self.limits.head_seconds, self._turn_away, TOO_SLOW)

    def _hurry_no_more(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def pause_writing(self) -> None:
        super().pause_writing()
        if self._stuck is None:
            self._look_later()

    def resume_writing(self) -> None:
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None
        super().resume_writing()

    def _look_later(self) -> None:
        left = self.transport.get_write_buffer_size()
        self._stuck = self.loop.call_later(self.limits.write_seconds, self._look_whether_it_reads, left)

    def _look_whether_it_reads(self, left: int) -> None:
        """A slow reader gets its time as long as it reads. Reading a byte now and then is not reading."""
        self._stuck = None
        if self.transport.get_write_buffer_size() > left - READ_BYTES_MIN:
            self.transport.abort()
        else:
            self._look_later()

    # --- and then ----------------------------------------------------------------------------------------------------

    def send_400_response(self, msg: str) -> None:
        if self._is_answering() and not self._in_body:  # it comes behind a request that was one, and gets its answer
            self._deaf = True
            self.cycle.keep_alive = False
        else:
            self._turn_away(self._invalid)

    def _turn_away(self, answer: HttpResponse) -> None:
        """Say why, and close. Where another answer has begun or was given there is no place for it."""
        self._forget_timers()
        if self.transport.is_closing():
            return
        if self._in_body:
            begun = cast("RequestResponseCycle | None", self.cycle)
            is_said = begun is None or not begun.response_started
        else:
            is_said = not self._is_answering()
        if is_said:
            self.transport.write(raw(answer))
        self.transport.close()

    def _is_answering(self) -> bool:
        cycle = cast("RequestResponseCycle | None", self.cycle)
        return cycle is not None and not cycle.response_complete

    def _has_answered(self) -> bool:
        cycle = cast("RequestResponseCycle | None", self.cycle)
        return cycle is not None and cycle.response_complete

    def _forget_timers(self) -> None:
        self._hurry_no_more()
        if self._stuck is not None:
            self._stuck.cancel()
            self._stuck = None


def limited_by(limits: HubLimits) -> type[HubProtocol]:
    """The protocol of one hub."""
    return type("LimitedProtocol", (HubProtocol,), {"limits": limits, "peers": Counter()})

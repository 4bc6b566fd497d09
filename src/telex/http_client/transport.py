"""HTTP transport with retries, on an event loop or blocking.

An idempotent request is repeated until it is answered or times out, so a restart of the hub goes unnoticed. Others are
repeated only where they cannot have arrived.
"""

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from ipaddress import ip_address
from typing import Any, NamedTuple, Protocol
from urllib.parse import SplitResult, urlsplit

from telex.errors import OutcomeUnknown, StoreError, StoreUnavailable
from telex.model.limits import LIMITS, Limits
from telex.ports.environment import TRACEPARENT, Clock, traceparent

try:
    import httpx2

    from telex.http_client.deadline import reading_in_time
except ImportError as error:
    raise StoreUnavailable("the client of a hub needs an extra: pip install 'telex[client]'") from error

LOG = logging.getLogger("telex.http_client")
QUIET_SECONDS = 2.0  # how long it may be before somebody who sits and waits is told why
PAUSE_SECONDS_MIN, PAUSE_SECONDS_MAX = 0.05, 2.0  # between two tries; it doubles
ANSWER_SECONDS = 30.0  # what a hub may be silent beyond the time it was asked to wait
WHOLE_SECONDS = 120.0  # what it may take for all of its answer: one that drips keeps nobody for ever
CHUNKS_AHEAD = 16  # of a stream, that are read before somebody asks for them
SHARED_CONNECTIONS = 32  # by everything that does not wait
BUSY, GATEWAY = 429, frozenset({502, 504})  # said by a hub in need, and by a proxy in front of a dead one
NOT_READY = b'"not-ready"'
ANSWER_BYTES_MAX = 256 * 1_048_576  # a hub says less at once, and whoever asks must not run out of memory
PLAIN = "identity"
NO_HUB = "which no Telex hub does: is it one?"


class HttpReply(NamedTuple):
    status: int
    body: bytes


class HttpQuery(NamedTuple):
    """What is asked of a hub."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    kind: str = "application/json"
    wait: float = 0.0  # seconds that the hub was asked to wait
    twice: bool = True  # may it be put again though it may have arrived?
    id: str | None = None  # what an answer that never came would have been about

    def headers(self) -> dict[str, str]:
        found = {"content-type": self.kind} if self.body is not None else {}
        trace = traceparent()
        return found if trace is None else found | {TRACEPARENT: trace}

    def timeout(self, connect_seconds: float) -> httpx2.Timeout:
        return httpx2.Timeout(self.wait + ANSWER_SECONDS, connect=connect_seconds, pool=None)

    def seconds_max(self) -> float:
        return self.wait + WHOLE_SECONDS


class Transport(Protocol):
    """What is done in two ways: on a loop, and blocking."""

    async def ask(self, question: HttpQuery) -> HttpReply: ...

    def stream(self, path: str, query: Any, headers: Mapping[str, str], silence: float) -> Any:
        """An async context manager: the status and the chunks of an answer without an end."""

    async def close(self) -> None: ...


class AsyncTransport:
    """Whoever waits has a connection to itself; all else shares a few, which costs a third of having many."""

    def __init__(
        self, url: str, headers: Mapping[str, str], connect_seconds: float = LIMITS.hub_connect_seconds
    ) -> None:
        self._connect_seconds = connect_seconds
        self._quick = httpx2.AsyncClient(**_options(url, headers, SHARED_CONNECTIONS))
        self._waiting = httpx2.AsyncClient(**_options(url, headers, None))
        self._sharing = 0  # questions under way on those connections that are shared

    async def ask(self, question: HttpQuery) -> HttpReply:
        if question.wait > 0:
            return await self._asked(self._waiting, question, question.seconds_max())
        turns = 1 + self._sharing // SHARED_CONNECTIONS  # so many answers come before its own is here, at most
        self._sharing += 1
        try:
            return await self._asked(self._quick, question, question.seconds_max() * turns)
        finally:
            self._sharing -= 1

    async def _asked(self, client: httpx2.AsyncClient, http_query: HttpQuery, seconds: float) -> HttpReply:
        import asyncio  # a client that blocks does without

        asked = client.stream(
            http_query.method,
            http_query.path,
            params=http_query.query,
            content=http_query.body,
            headers=http_query.headers(),
            timeout=http_query.timeout(self._connect_seconds),
        )
        try:
            async with asyncio.timeout(seconds), asked as answer:
                _must_be_plain(answer)
                return HttpReply(answer.status_code, await whole(answer.aiter_raw()))
        except TimeoutError as error:
            raise httpx2.ReadTimeout("the response took too long") from error

    @asynccontextmanager
    async def stream(
        self, path: str, query: Any, headers: Mapping[str, str], silence: float
    ) -> AsyncIterator[tuple[int, AsyncIterator[bytes]]]:
        """A task of its own reads it: whoever stops in the middle of an `async for` leaves the rest to the loop, which
        cleans up in another task than it was begun in, and a connection must not be left by any other."""
        import asyncio

        timeout = httpx2.Timeout(silence, connect=self._connect_seconds)
        status: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        parts: asyncio.Queue[bytes | Exception | None] = asyncio.Queue(CHUNKS_AHEAD)

        async def read() -> None:
            try:
                asked = self._waiting.stream("GET", path, params=query, headers=dict(headers), timeout=timeout)
                async with asked as answer:
                    _must_be_plain(answer)
                    status.set_result(answer.status_code)
                    async for chunk in answer.aiter_raw():
                        await parts.put(chunk)
                await parts.put(None)
            except Exception as error:
                if status.done():
                    await parts.put(error)
                else:
                    status.set_exception(error)

        async def chunks() -> AsyncIterator[bytes]:
            while (part := await parts.get()) is not None:
                if isinstance(part, Exception):
                    raise part
                yield part

        reading = asyncio.create_task(read())
        try:
            yield await status, chunks()
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    async def close(self) -> None:
        await self._quick.aclose()
        await self._waiting.aclose()


class BlockingTransport:
    """Never waits for a loop, so that a coroutine over it runs to its end when it is pushed once."""

    def __init__(
        self, url: str, headers: Mapping[str, str], connect_seconds: float = LIMITS.hub_connect_seconds
    ) -> None:
        self._connect_seconds = connect_seconds
        self._client = httpx2.Client(**_options(url, headers, SHARED_CONNECTIONS))
        self._time = reading_in_time(self._client)

    async def ask(self, question: HttpQuery) -> HttpReply:
        http_query = question
        asked = self._client.stream(
            http_query.method,
            http_query.path,
            params=http_query.query,
            content=http_query.body,
            headers=http_query.headers(),
            timeout=http_query.timeout(self._connect_seconds),
        )
        with self._time.within(http_query.seconds_max()), asked as answer:
            _must_be_plain(answer)
            return HttpReply(answer.status_code, await whole(_one_by_one(answer)))

    @asynccontextmanager
    async def stream(
        self, path: str, query: Any, headers: Mapping[str, str], silence: float
    ) -> AsyncIterator[tuple[int, AsyncIterator[bytes]]]:
        timeout = httpx2.Timeout(silence, connect=self._connect_seconds)
        with self._client.stream("GET", path, params=query, headers=dict(headers), timeout=timeout) as answer:
            _must_be_plain(answer)
            yield answer.status_code, _one_by_one(answer)

    async def close(self) -> None:
        self._client.close()


async def _one_by_one(answer: httpx2.Response) -> AsyncIterator[bytes]:
    for chunk in answer.iter_raw():
        yield chunk


def _must_be_plain(answer: httpx2.Response) -> None:
    """A hub packs nothing, and was asked not to: a few bytes that unpack to a great many are an attack.

    Raises:
        StoreError: it is packed.
    """
    if answer.headers.get("content-encoding", PLAIN).lower() != PLAIN:
        raise StoreError(f"the hub sent a compressed response, {NO_HUB}")


async def whole(chunks: AsyncIterator[bytes], limit: int | None = None) -> bytes:
    """All of an answer.

    Raises:
        StoreError: it is larger than anything that a hub says.
    """
    limit = ANSWER_BYTES_MAX if limit is None else limit
    parts, size = [], 0
    async for chunk in chunks:
        size += len(chunk)
        if size > limit:
            raise StoreError(f"the hub sent a response of more than {limit:,} bytes, {NO_HUB}")
        parts.append(chunk)
    return b"".join(parts)


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _options(url: str, headers: Mapping[str, str], limit: int | None) -> dict[str, Any]:
    parts = urlsplit(url)
    if not parts.hostname or parts.username or parts.query or parts.fragment or not _has_a_port(parts):
        raise StoreUnavailable("give a hub as http://HOST:PORT; the token goes into TELEX_TOKEN.")
    limits = httpx2.Limits(max_connections=limit, max_keepalive_connections=limit)
    return {
        "base_url": url,
        "headers": {**headers, "accept-encoding": PLAIN},
        "limits": limits,
        "trust_env": not is_loopback(parts.hostname),  # what lies on this machine is never asked through a proxy
        "follow_redirects": False,  # the token is for this hub and for no other
    }


def _has_a_port(parts: SplitResult) -> bool:
    """One that there can be; if it names none, its scheme does."""
    try:
        return parts.port != 0
    except ValueError:
        return False


class RetryTransport:
    """A hub that is asked until it answers: one that has answered before is given time to restart."""

    def __init__(self, wire: Transport, clock: Clock, name: str, limits: Limits = LIMITS) -> None:
        self.wire, self.clock, self._name, self._limits = wire, clock, name, limits
        self.answered = False

    @property
    def patience(self) -> float:
        """Seconds after which a hub that does not answer is an error."""
        return self._limits.hub_retry_seconds if self.answered else self._limits.hub_connect_seconds

    async def ask(self, question: HttpQuery) -> HttpReply:
        """
        Raises:
            StoreUnavailable: the hub could not be reached for as long as patience lasts; it was not done.
            OutcomeUnknown: it may have been done, and the answer was lost.
        """
        began, pause, arrived, told = self.clock.now(), PAUSE_SECONDS_MIN, False, False
        while True:
            try:
                reply = await self.wire.ask(question)
            except httpx2.TransportError as error:
                arrived = arrived or not isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout)
                self.answered = self.answered or (arrived and not isinstance(error, httpx2.TimeoutException))
                if arrived and not question.twice:
                    raise self._unknown(question) from error
                if self._left(began) <= 0:
                    raise (self._unknown(question) if arrived and question.id else self.away()) from error
            except (httpx2.InvalidURL, httpx2.UnsupportedProtocol) as error:
                raise StoreUnavailable(f"{self._name} is no hub address: use http://HOST:PORT.") from error
            else:
                self.answered = self.answered or reply.status not in GATEWAY
                busy = reply.status == BUSY or (reply.status == 503 and NOT_READY in reply.body)
                if not (busy or reply.status in GATEWAY) or self._left(began) <= 0:
                    return reply
            told = told or self._told(began)
            await self.clock.sleep(min(pause, self._left(began)))
            pause = min(pause * 2, PAUSE_SECONDS_MAX)

    def _left(self, began: float) -> float:
        return began + self.patience - self.clock.now()

    def _told(self, began: float) -> bool:
        if self.clock.now() - began < QUIET_SECONDS:
            return False
        LOG.warning("%s does not answer; retrying for up to %g s", self._name, self.patience)
        return True

    def away(self) -> StoreError:
        return StoreUnavailable(f"no hub answers at {self._name}: start one there with telex serve, and try again.")

    def _unknown(self, question: HttpQuery) -> StoreError:
        say = f"{self._name} disconnected before it answered: check the outcome before you try again."
        return OutcomeUnknown(say, question.id)

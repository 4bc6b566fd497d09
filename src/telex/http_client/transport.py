"""HTTP transport with retries, on an event loop or blocking.

An idempotent request is retried until it is answered or times out, so a restart of the hub goes unnoticed. Others are
retried only if they cannot have arrived. Where several hubs share a store, the next hub gets the retry.
"""

import logging
import os
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import SplitResult, urlsplit

from telex.errors import OutcomeUnknown, StoreError, StoreUnavailable
from telex.model.limits import LIMITS, Limits
from telex.model.named_tuple import NamedTuple
from telex.ports.environment import TRACEPARENT, Clock, traceparent

if TYPE_CHECKING:
    from ssl import SSLContext

try:
    import httpx2
except ImportError as error:
    raise StoreUnavailable("the client of a hub needs an extra: pip install 'telex[client]'") from error

LOG = logging.getLogger("telex.http_client")
QUIET_SECONDS = 2.0  # of retries before a warning is logged
PAUSE_SECONDS_MIN, PAUSE_SECONDS_MAX = 0.05, 2.0  # backoff between two attempts; it doubles
ANSWER_SECONDS = 30.0  # read timeout, beyond the time that the hub was asked to wait
WHOLE_SECONDS = 120.0  # total timeout of a response, beyond the same: a server may send it byte by byte
CHUNKS_AHEAD = 16  # buffer of a stream
SHARED_CONNECTIONS = 32  # for all requests that do not wait
BUSY, UNAVAILABLE, GATEWAY = 429, 503, frozenset({502, 504})  # of a hub, twice; of a proxy before a dead one
NOT_READY = b'"not-ready"'
NOT_DONE = (NOT_READY, b'"store-unavailable"')  # codes of 503: another hub may do it, and this one has not
MAYBE_DONE = (b'"outcome-unknown"', b'"hub-closing"')  # the same, but this one may have done it
POSITION = "telex-position"  # header: entry of the log that the client has seen, or that the hub's copy has
POSITION_DIGITS_MAX = 18
LOG_NAME = "telex-log"  # header: which log that is
LOG_NAME_CHARACTERS_MAX = 64
ANSWER_BYTES_MAX = 256 * 1_048_576  # no response of a hub is larger
PLAIN = "identity"
NO_HUB = "which no Telex hub does: is it one?"
TOO_LONG = "the response took too long"
Stream = tuple[int, AsyncIterator[bytes]]  # status and chunks


class LogPosition(NamedTuple):
    """How much of a shared log a hub's copy has, or a client has seen."""

    entry: int = 0  # 0: unknown, or none
    log: str = ""  # its name

    def headers(self) -> dict[str, str]:
        return {POSITION: str(self.entry), LOG_NAME: self.log} if self.entry else {}

    def advanced(self, other: "LogPosition") -> "LogPosition":
        """The later of two positions; the other one, if it is of another log, which counts anew."""
        return other if other.log and other.log != self.log else max(self, other, key=lambda one: one.entry)


class HttpReply(NamedTuple):
    status: int
    body: bytes
    position: LogPosition = LogPosition()  # of the hub's copy


class HttpQuery(NamedTuple):
    """A request to a hub."""

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    kind: str = "application/json"
    wait: float = 0.0  # seconds that the hub is asked to wait
    twice: bool = True  # idempotent: retried even if it may have arrived
    id: str | None = None  # of the message, for OutcomeUnknown
    position: LogPosition = LogPosition()  # that the hub's copy must have

    def options(self, connect_seconds: float) -> dict[str, Any]:
        """Arguments of the client's `stream`."""
        headers = {"content-type": self.kind} if self.body is not None else {}
        if (trace := traceparent()) is not None:
            headers[TRACEPARENT] = trace
        headers |= self.position.headers()
        timeout = httpx2.Timeout(self.wait + ANSWER_SECONDS, connect=connect_seconds, pool=None)
        head = {"method": self.method, "url": self.path, "params": self.query, "headers": headers}
        return {**head, "content": self.body, "timeout": timeout}

    def seconds_max(self) -> float:
        return self.wait + WHOLE_SECONDS


class Transport(Protocol):
    async def ask(self, question: HttpQuery) -> HttpReply: ...

    def stream(self, request: HttpQuery, headers: Mapping[str, str], silence: float) -> Any:
        """An async context manager: the status and the chunks of a response without an end."""

    async def close(self) -> None: ...


class AsyncTransport:
    """Connection pool: a long poll has a connection of its own; all other requests share a few, which is three times as
    fast as many."""

    def __init__(
        self, url: str, headers: Mapping[str, str], connect_seconds: float = LIMITS.hub_connect_seconds
    ) -> None:
        self._connect_seconds = connect_seconds
        self._quick = httpx2.AsyncClient(**_options(url, headers, SHARED_CONNECTIONS))
        self._waiting = httpx2.AsyncClient(**_options(url, headers, None))
        self._sharing = 0  # open requests on pooled connections

    async def ask(self, question: HttpQuery) -> HttpReply:
        if question.wait > 0:
            return await self._ask(self._waiting, question, question.seconds_max())
        turns = 1 + self._sharing // SHARED_CONNECTIONS  # responses that may have to come first
        self._sharing += 1
        try:
            return await self._ask(self._quick, question, question.seconds_max() * turns)
        finally:
            self._sharing -= 1

    async def _ask(self, client: httpx2.AsyncClient, request: HttpQuery, seconds: float) -> HttpReply:
        import asyncio  # not for a blocking client

        try:
            async with asyncio.timeout(seconds), client.stream(**request.options(self._connect_seconds)) as response:
                _must_be_plain(response)
                return HttpReply(response.status_code, await whole(response.aiter_raw()), _position(response))
        except TimeoutError as error:
            raise httpx2.ReadTimeout(TOO_LONG) from error

    @asynccontextmanager
    async def stream(self, request: HttpQuery, headers: Mapping[str, str], silence: float) -> AsyncIterator[Stream]:
        """A task of its own reads the response: a consumer that leaves an `async for` is cleaned up by the loop in
        another task, and a connection must be closed by the task that opened it."""
        import asyncio

        status: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        parts: asyncio.Queue[bytes | Exception | None] = asyncio.Queue(CHUNKS_AHEAD)
        options = _stream_options(request, headers, silence, self._connect_seconds)

        async def read() -> None:
            try:
                async with self._waiting.stream(**options) as response:
                    _must_be_plain(response)
                    status.set_result(response.status_code)
                    async for chunk in response.aiter_raw():
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

        reader = asyncio.create_task(read())
        try:
            yield await status, chunks()
        finally:
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)

    async def close(self) -> None:
        await self._quick.aclose()
        await self._waiting.aclose()


class BlockingTransport:
    """Never yields to a loop, so a coroutine over it runs to its end in one step."""

    def __init__(
        self, url: str, headers: Mapping[str, str], connect_seconds: float = LIMITS.hub_connect_seconds
    ) -> None:
        self._connect_seconds = connect_seconds
        self._client = httpx2.Client(**_options(url, headers, SHARED_CONNECTIONS))
        self._deadline = _Deadline(self._client)

    async def ask(self, question: HttpQuery) -> HttpReply:
        response_of = self._client.stream(**question.options(self._connect_seconds))
        with self._deadline.within(question.seconds_max()), response_of as response:
            _must_be_plain(response)
            return HttpReply(response.status_code, await whole(_chunks(response)), _position(response))

    @asynccontextmanager
    async def stream(self, request: HttpQuery, headers: Mapping[str, str], silence: float) -> AsyncIterator[Stream]:
        with self._client.stream(**_stream_options(request, headers, silence, self._connect_seconds)) as response:
            _must_be_plain(response)
            yield response.status_code, _chunks(response)

    async def close(self) -> None:
        self._client.close()


class _Deadline:
    """Total timeout of a blocking response: each read gets the remaining time, since a socket timeout limits one read.

    The client has no option for this, so its connections are wrapped. If a later version makes them elsewhere, only
    this limit is gone.
    """

    def __init__(self, client: httpx2.Client) -> None:
        self._until: float | None = None
        for transport in (client._transport, *client._mounts.values()):
            pool: Any = getattr(transport, "_pool", None)
            if hasattr(pool, "_network_backend"):
                pool._network_backend = _TimedReads(pool._network_backend, self)

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        self._until = time.monotonic() + seconds
        try:
            yield
        finally:
            self._until = None

    def limit(self, timeout: float | None) -> float | None:
        if self._until is None:
            return timeout
        left = self._until - time.monotonic()
        if left <= 0:
            import httpcore2

            raise httpcore2.ReadTimeout(TOO_LONG)
        return left if timeout is None else min(timeout, left)


class _TimedReads:
    """Proxy of a network backend and of its streams."""

    def __init__(self, inner: Any, deadline: _Deadline) -> None:
        self._inner, self._deadline = inner, deadline

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def connect_tcp(self, *args: Any, **kwargs: Any) -> "_TimedReads":
        return _TimedReads(self._inner.connect_tcp(*args, **kwargs), self._deadline)

    def start_tls(self, *args: Any, **kwargs: Any) -> "_TimedReads":
        return _TimedReads(self._inner.start_tls(*args, **kwargs), self._deadline)

    def read(self, max_bytes: int, timeout: float | None = None) -> Any:
        return self._inner.read(max_bytes, self._deadline.limit(timeout))


async def _chunks(response: httpx2.Response) -> AsyncIterator[bytes]:
    for chunk in response.iter_raw():
        yield chunk


def _stream_options(
    request: HttpQuery, headers: Mapping[str, str], silence: float, connect_seconds: float
) -> dict[str, Any]:
    timeout = httpx2.Timeout(silence, connect=connect_seconds)
    return {"method": "GET", "url": request.path, "params": request.query, "headers": headers, "timeout": timeout}


def _must_be_plain(response: httpx2.Response) -> None:
    """A hub compresses nothing, and was asked not to: a few bytes may decompress to gigabytes."""
    if response.headers.get("content-encoding", PLAIN).lower() != PLAIN:
        raise StoreError(f"the hub sent a compressed response, {NO_HUB}")


def _position(response: httpx2.Response) -> LogPosition:
    text, log = response.headers.get(POSITION, ""), response.headers.get(LOG_NAME, "")
    is_number = text.isascii() and text.isdigit() and len(text) <= POSITION_DIGITS_MAX
    is_name = log.isascii() and log.isalnum() and len(log) <= LOG_NAME_CHARACTERS_MAX
    return LogPosition(int(text) if is_number else 0, log if is_name else "")


async def whole(chunks: AsyncIterator[bytes]) -> bytes:
    parts, size = [], 0
    async for chunk in chunks:
        size += len(chunk)
        if size > ANSWER_BYTES_MAX:
            raise StoreError(f"the hub sent a response of more than {ANSWER_BYTES_MAX:,} bytes, {NO_HUB}")
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
    is_http = parts.scheme.lower() in ("http", "https") and bool(parts.hostname)
    if not is_http or parts.username or parts.query or parts.fragment or not _has_valid_port(parts):
        raise StoreUnavailable("give a hub as http://HOST:PORT; the token goes into TELEX_TOKEN.")
    trust_env = not is_loopback(parts.hostname or "")  # no proxy to this machine
    certificates = tuple(os.environ.get(name) for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"))
    return {
        "base_url": url,
        "headers": {**headers, "accept-encoding": PLAIN},
        "limits": httpx2.Limits(max_connections=limit, max_keepalive_connections=limit),
        "trust_env": trust_env,
        "verify": _tls_context(trust_env, certificates),
        "follow_redirects": False,  # the token is for this hub only
    }


@cache
def _tls_context(trust_env: bool, certificates: tuple[str | None, ...]) -> "SSLContext":
    """One for all clients: making it takes 50 ms. `certificates`, read from the environment, are part of the key."""
    return httpx2.create_ssl_context(trust_env=trust_env)


def _has_valid_port(parts: SplitResult) -> bool:
    try:
        return parts.port != 0  # None: that of the scheme
    except ValueError:
        return False


class RetryTransport:
    """Retries of requests at one hub, or in turn at several hubs that share a store. One that has answered before gets
    time to restart."""

    def __init__(self, wires: Sequence[Transport], clock: Clock, name: str, limits: Limits = LIMITS) -> None:
        self.wires, self.clock, self._name, self._limits = wires, clock, name, limits
        self.answered = False
        self.current = 0  # index of the hub that new requests go to: the one that answered last
        self.position = LogPosition()  # the latest that a hub has reported: no request is answered from an older copy

    @property
    def patience(self) -> float:
        """Timeout in seconds for a hub that does not answer."""
        return self._limits.hub_retry_seconds if self.answered else self._limits.hub_connect_seconds

    async def ask(self, question: HttpQuery) -> HttpReply:
        """
        Raises:
            StoreUnavailable: no hub could be reached in time; nothing was done.
            OutcomeUnknown: it may have been done, and the response was lost.
        """
        attempts, arrived, warned = Attempts(self), False, False
        while True:
            try:
                reply = await attempts.wire.ask(question._replace(position=self.position))
            except httpx2.TransportError as error:
                arrived = arrived or not isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout)
                self.answered = self.answered or (arrived and not isinstance(error, httpx2.TimeoutException))
                if arrived and not question.twice:
                    raise self._unknown(question) from error
                if not attempts.fail():
                    raise (self._unknown(question) if arrived and question.id else self.away()) from error
            except (httpx2.InvalidURL, httpx2.UnsupportedProtocol) as error:
                raise StoreUnavailable(f"{self._name} is no hub address: use http://HOST:PORT.") from error
            else:
                self.answered = self.answered or reply.status not in GATEWAY
                self.position = self.position.advanced(reply.position)
                if not self.is_retried(reply, twice=question.twice):
                    attempts.succeed()
                    return reply
                if reply.status in GATEWAY and not question.twice:
                    raise self._unknown(question)
                arrived = arrived or any(code in reply.body for code in MAYBE_DONE)
                if not (attempts.stay() if reply.status == BUSY else attempts.fail()):
                    if arrived and question.id:
                        raise self._unknown(question)
                    return reply
            if not warned and attempts.seconds >= QUIET_SECONDS:
                LOG.warning("%s does not answer; retrying for up to %g s", self._name, self.patience)
                warned = True
            await attempts.pause()

    def is_retried(self, reply: HttpReply, *, twice: bool = True) -> bool:
        """Whether the request is retried after this response: the hub is busy or unavailable. `twice`: it is
        idempotent."""
        if reply.status == BUSY or reply.status in GATEWAY:
            return True
        several = NOT_DONE + MAYBE_DONE if twice else NOT_DONE
        codes = several if len(self.wires) > 1 else (NOT_READY,)
        return reply.status == UNAVAILABLE and any(code in reply.body for code in codes)

    def away(self) -> StoreError:
        return StoreUnavailable(f"no hub answers at {self._name}: start one there with telex serve, and try again.")

    def _unknown(self, question: HttpQuery) -> StoreError:
        say = f"{self._name} disconnected before it answered: check the outcome before you try again."
        return OutcomeUnknown(say, question.id)


class Attempts:
    """Attempts of one request or stream: the hub of the next one, and the backoff before it."""

    def __init__(self, line: RetryTransport) -> None:
        self._line, self._hub, self._failures = line, line.current, 0
        self._has_moved = False
        self.begin()

    def begin(self) -> None:
        """The hub answers: reset the timeout and the backoff."""
        self._began, self._pause_seconds, self._failures = self._line.clock.now(), PAUSE_SECONDS_MIN, 0

    @property
    def wire(self) -> Transport:
        return self._line.wires[self._hub]

    @property
    def seconds(self) -> float:
        """Time since the first attempt."""
        return self._line.clock.now() - self._began

    def succeed(self) -> None:
        """Other requests go to the hub that has answered this one."""
        if self._has_moved:
            self._line.current = self._hub

    def fail(self) -> bool:
        """Retry at the next hub. False: each has been tried, and the timeout has passed."""
        self._failures += 1
        self._hub, self._has_moved = (self._hub + 1) % len(self._line.wires), True
        return not self._is_round or self.seconds < self._line.patience

    def stay(self) -> bool:
        """Retry at the same hub. False: the timeout has passed."""
        self._failures = 0
        return self.seconds < self._line.patience

    @property
    def _is_round(self) -> bool:
        return self._failures % len(self._line.wires) == 0

    async def pause(self) -> None:
        """Wait for the backoff if every hub has been tried."""
        if not self._is_round:
            return
        left = self._line.patience - self.seconds
        await self._line.clock.sleep(min(self._pause_seconds, left) if left > 0 else self._pause_seconds)
        self._pause_seconds = min(self._pause_seconds * 2, PAUSE_SECONDS_MAX)

"""The replicated log on a JetStream stream: opening, following, conditional publishing, messages between hubs.

The log is followed with an ephemeral push consumer from the position of the copy. Another consumer is started after a
gap, a silence of heartbeats, or a heartbeat that names an entry which was not delivered; this watch runs from the first
entry on, since a consumer can also stall while a copy catches up. Every request during opening is repeated until the
time for opening is over: an election takes seconds.
"""

import asyncio
import json
import os
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime
from typing import TypeVar

import nats
import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.js.api import (
    AckPolicy,
    ConsumerConfig,
    DeliverPolicy,
    DiscardPolicy,
    RetentionPolicy,
    StorageType,
    StreamConfig,
    StreamInfo,
)
from nats.js.errors import APIError, BadRequestError, NoStreamResponseError, NotFoundError

from telex.errors import StoreUnavailable
from telex.model.named_tuple import NamedTuple
from telex.stores.nats.address import HubSecrets, TeamAddress, user_and_password
from telex.stores.nats.batch import FORMAT, MAC_HEADER, Entry

T = TypeVar("T")
OPEN_SECONDS = 30.0
ATTEMPT_SECONDS = 1.0  # of one request to the servers
HEARTBEAT_SECONDS = 0.5
SILENCE_SECONDS = 3 * HEARTBEAT_SECONDS  # then another consumer is made
CONSUMER_SECONDS = 30.0  # the server deletes a consumer that is not read
PAYLOAD_BYTES_MIN = 2 * 1_048_576  # a message of 1 MiB fits
PENDING_BYTES = 64 * 1_048_576
INCARNATION, SCHEMA, LOG_FORMAT = "telex.incarnation", "telex.schema", "telex.format"  # metadata of a stream
_WRONG_SEQUENCE = (10071, 10164)
_NAME_IN_USE = 10058  # by a stream of another configuration
_NO_LEADER = (10008, 10009)  # of the cluster or of JetStream, during an election
_NO_PEERS = 10005  # for the replicas of a stream: the description says why
_NO_ROOM = (10077, 10023, 10047, 10122)  # of the stream, the account or the disk
_ENTRY = "$JS.ACK."  # reply subject of what is in the stream; heartbeats and flow control have none or another one
_STALLED, _LAST_SENT = "Nats-Consumer-Stalled", "Nats-Last-Stream"


class LogState(NamedTuple):
    incarnation: str
    schema: int  # of an empty copy
    first: int  # entries before it were cut off
    last: int
    replicas: int
    bytes: int
    bytes_max: int
    created_at: float


# Outcomes of one attempt to publish.


class Stored(NamedTuple):
    position: int


class Conflict(NamedTuple):
    """Something else is behind the base, perhaps an earlier attempt of the same batch."""

    last: int | None  # the log's last entry, if the server named it


class NoRoom(NamedTuple):
    reason: str


class NotStored(NamedTuple):
    """There is no leader: try again."""


class InDoubt(NamedTuple):
    """No answer: it may have been stored."""


Outcome = Stored | Conflict | NoRoom | NotStored | InDoubt


class Log:
    """Connection of one hub to the log of its team."""

    def __init__(self, client: Client, address: TeamAddress) -> None:
        self._client, self.address = client, address
        self.stream = client.jetstream(timeout=ATTEMPT_SECONDS)
        self.heard_at = time.monotonic()  # of the last entry or heartbeat
        self.consumers = 0  # how many were made
        self._subscription: Subscription | None = None
        self._follower: object = None
        self._delivered = 0  # the last entry that was delivered
        self._has_missed = False  # the consumer has sent more than was delivered
        self._headers = {"Nats-Expected-Stream": address.stream}

    @classmethod
    async def connect(cls, address: TeamAddress, secrets: HubSecrets, *, seconds: float = OPEN_SECONDS) -> "Log":
        """
        Raises:
            StoreUnavailable: no server answers in time, or the credentials are wrong.
        """
        options: dict[str, object] = {}
        if secrets.creds is not None and (login := user_and_password(secrets.creds)) is not None:
            options["user"], options["password"] = login
        elif secrets.creds is not None:
            options["user_credentials"] = secrets.creds
        refused: list[str] = []

        async def note(error: Exception) -> None:
            refused.append(str(error))

        connecting = nats.connect(
            servers=list(address.servers),
            max_reconnect_attempts=-1,
            reconnect_time_wait=0.1,
            ping_interval=2,
            max_outstanding_pings=2,
            connect_timeout=2,
            pending_size=PENDING_BYTES,
            error_cb=note,
            **options,
        )
        try:
            client = await asyncio.wait_for(connecting, seconds)
        except (OSError, nats.errors.Error, TimeoutError) as error:
            why = refused[-1] if refused else str(error) or type(error).__name__
            raise StoreUnavailable(f"no NATS server of {address} can be reached: {why}") from error
        if client.max_payload < PAYLOAD_BYTES_MIN:
            await client.close()
            raise StoreUnavailable(
                f"the NATS servers take messages of {client.max_payload} bytes: set max_payload to 8MB."
            )
        return cls(client, address)

    @property
    def is_connected(self) -> bool:
        return self._client.is_connected

    @property
    def batch_bytes_max(self) -> int:
        return self._client.max_payload - 1_024

    # --- the stream --------------------------------------------------------------------------------------------------

    async def repeat(self, request: Callable[[], Awaitable[T]], until: float) -> T:
        """The answer of a request that is repeated until it is answered.

        Raises:
            StoreUnavailable: not until that monotonic time.
            NotFoundError: what it asks for does not exist.
        """
        while True:
            try:
                return await request()
            except NotFoundError:
                raise
            except (APIError, nats.errors.Error, NoStreamResponseError, TimeoutError) as error:
                if not _is_temporary(error) or time.monotonic() > until:
                    say = f"the log of {self.address} cannot be used: {str(error) or type(error).__name__}"
                    raise StoreUnavailable(say) from error
            await asyncio.sleep(0.1)

    async def state(self, until: float) -> LogState | None:
        """State and configuration of the stream; None: there is none."""
        try:
            return _state_of(await self.repeat(lambda: self.stream.stream_info(self.address.stream), until))
        except NotFoundError:
            return None

    async def create(
        self, until: float, *, schema: int, replicas: int, bytes_max: int, incarnation: str | None = None
    ) -> LogState:
        """Make the stream, or find the one that another hub has just made."""
        made = incarnation or os.urandom(10).hex()
        config = StreamConfig(
            name=self.address.stream,
            subjects=[self.address.subject],
            retention=RetentionPolicy.LIMITS,
            storage=StorageType.FILE,
            num_replicas=replicas,
            discard=DiscardPolicy.NEW,
            max_bytes=bytes_max,
            deny_delete=True,
            allow_direct=True,
            metadata={INCARNATION: made, SCHEMA: str(schema), LOG_FORMAT: str(FORMAT)},
        )

        async def make() -> LogState:
            try:
                return _state_of(await self.stream.stream_info(self.address.stream))
            except NotFoundError:
                try:
                    await self.stream.add_stream(config)  # equal if it is repeated; another hub's has other metadata
                except BadRequestError as error:
                    if error.err_code != _NAME_IN_USE:
                        raise
                return _state_of(await self.stream.stream_info(self.address.stream))

        return await self.repeat(make, until)

    async def delete(self, until: float) -> None:
        """Delete the stream and the snapshots."""
        for stream in (self.address.stream, f"OBJ_{self.address.bucket}"):
            with suppress(NotFoundError):
                await self.repeat(lambda name=stream: self.stream.delete_stream(name), until)  # type: ignore[misc]

    async def cut(self, position: int) -> None:
        """Delete the entries before this one."""
        await self.stream.purge_stream(self.address.stream, seq=position)

    async def server_time_offset(self) -> float:
        """Seconds to add to this machine's clock for the servers' time."""
        sent = time.time()
        info = await self._client.request(f"$JS.API.STREAM.INFO.{self.address.stream}", b"", timeout=ATTEMPT_SECONDS)
        received = time.time()
        return _server_time(info.data) - (sent + received) / 2

    # --- following ---------------------------------------------------------------------------------------------------

    async def follow(self, after: int, hear: Callable[[Entry | Callable[[], Awaitable[None]]], None]) -> None:
        """Deliver all entries after this position, in place of what was followed before. Among them are callables: to
        be awaited when everything before them was processed, so that the server sends more."""
        await self._end_consumer()
        self._follower = follower = object()
        self._delivered, self._has_missed = after, False
        inbox = self._client.new_inbox()

        async def receive(message: Msg) -> None:
            if follower is not self._follower:
                return  # of a consumer that was replaced
            self.heard_at = time.monotonic()
            headers = message.headers or {}
            if not message.reply.startswith(_ENTRY):
                reply = message.reply or headers.get(_STALLED)
                if reply:
                    hear(lambda: self._client.publish(reply))
                self._has_missed |= int(headers.get(_LAST_SENT, "0")) > self._delivered
                return
            about = message.metadata
            self._delivered = about.sequence.stream
            mac = headers.get(MAC_HEADER, "")
            hear(Entry(about.sequence.stream, message.data, mac, about.timestamp.timestamp()))

        subscription = await self._client.subscribe(inbox, cb=receive, pending_msgs_limit=-1, pending_bytes_limit=-1)
        config = ConsumerConfig(
            deliver_subject=inbox,
            ack_policy=AckPolicy.NONE,
            deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=after + 1,
            mem_storage=True,
            num_replicas=1,
            flow_control=True,
            max_deliver=1,
            idle_heartbeat=HEARTBEAT_SECONDS,
            inactive_threshold=CONSUMER_SECONDS,
        )
        try:
            await self.stream.add_consumer(self.address.stream, config)
        except BaseException:
            await _quietly(subscription.unsubscribe())
            raise
        self._subscription, self.heard_at = subscription, time.monotonic()
        self.consumers += 1

    async def _end_consumer(self) -> None:
        if self._subscription is not None:
            old, self._subscription = self._subscription, None
            await _quietly(old.unsubscribe())

    @property
    def is_silent(self) -> bool:
        """Whether the consumer has stopped, or its last entries were lost, although the servers are there."""
        is_silent = time.monotonic() - self.heard_at > SILENCE_SECONDS
        return self.is_connected and (is_silent or self._has_missed)

    # --- writing -----------------------------------------------------------------------------------------------------

    async def publish(self, data: bytes, mac: str, base: int) -> Outcome:
        """Try once to store a batch directly behind `base`."""
        headers = self._headers | {MAC_HEADER: mac, "Nats-Expected-Last-Sequence": str(base)}
        try:
            ack = await self.stream.publish(self.address.subject, data, timeout=ATTEMPT_SECONDS, headers=headers)
        except (NoStreamResponseError, nats.errors.NoRespondersError):
            return NotStored()
        except APIError as error:
            if error.err_code in _WRONG_SEQUENCE:
                return Conflict(_last_named(error.description or ""))
            if error.err_code in _NO_ROOM:
                return NoRoom(error.description or "")
            return NotStored()
        except (nats.errors.Error, TimeoutError):
            return InDoubt()
        return Stored(ack.seq)

    # --- messages between hubs ---------------------------------------------------------------------------------------

    async def listen(self, subject: str, hear: Callable[[Msg], Awaitable[None]]) -> Subscription:
        """
        Raises:
            StoreUnavailable: the servers do not answer.
        """
        try:
            subscription = await self._client.subscribe(subject, cb=hear)
            await self._client.flush()
        except (nats.errors.Error, OSError) as error:
            say = f"the servers of {self.address} do not answer: {str(error) or type(error).__name__}"
            raise StoreUnavailable(say) from error
        return subscription

    def new_inbox(self) -> str:
        return self._client.new_inbox()

    async def tell(self, subject: str, data: bytes, mac: str, reply: str = "") -> None:
        """Publish without an answer. Losing it is harmless."""
        await _quietly(self._client.publish(subject, data, reply=reply, headers={MAC_HEADER: mac}))

    async def close(self) -> None:
        await self._end_consumer()
        await _quietly(self._client.close())


def _state_of(info: StreamInfo) -> LogState:
    config, metadata = info.config, info.config.metadata or {}
    if LOG_FORMAT not in metadata:
        raise StoreUnavailable(f"the stream {config.name} was not made by Telex.")
    return LogState(
        metadata.get(INCARNATION, ""),
        int(metadata.get(SCHEMA, "0")),
        info.state.first_seq,
        info.state.last_seq,
        replicas=config.num_replicas or 1,
        bytes=info.state.bytes,
        bytes_max=-1 if config.max_bytes is None else config.max_bytes,
        created_at=info.created.timestamp() if info.created is not None else 0.0,
    )


def _is_temporary(error: Exception) -> bool:
    """Whether the same request may succeed if it is repeated."""
    if not isinstance(error, APIError) or error.code == 503 or error.err_code in _NO_LEADER:
        return True
    return error.err_code == _NO_PEERS and "offline" in (error.description or "")  # of a server that restarts


def _server_time(data: bytes) -> float:
    text = str(json.loads(data)["ts"])
    head, _, rest = text.partition(".")
    return datetime.fromisoformat(f"{head}+00:00").timestamp() + float(f"0.{rest.rstrip('Z') or 0}")


def _last_named(description: str) -> int | None:
    number = description.rpartition(":")[2].strip()
    return int(number) if number.isdecimal() else None


async def _quietly(work: Awaitable[object]) -> None:
    with suppress(nats.errors.Error, OSError, asyncio.TimeoutError):
        await work

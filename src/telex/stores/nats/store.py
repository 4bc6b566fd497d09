"""Replicated store: a SQLite copy of the team that follows the log, and writes to it in turn with other hubs."""

import asyncio
import os
import socket
import time
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import apsw
import msgspec
import nats.errors
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from telex.errors import StoreDamaged, StoreError, StoreTooNew, StoreUnavailable
from telex.model.named_tuple import NamedTuple
from telex.ports.replica import HubStatus, ReplicaStatus
from telex.stores.nats.address import HubSecrets, TeamAddress
from telex.stores.nats.batch import MAC_HEADER, Batch, Entry, Signer, next_chain, read_entry
from telex.stores.nats.durability import ServerFacts, is_durable, is_synced, require_durability
from telex.stores.nats.log import OPEN_SECONDS, Log, LogState
from telex.stores.nats.replica_file import (
    Place,
    ReplicaConnection,
    ReplicaFile,
    create_replica,
    digest_of_tables,
    table_digest,
)
from telex.stores.nats.snapshot import SnapshotStore, make_snapshot
from telex.stores.nats.turn import Turn, TurnMessage
from telex.stores.nats.writer import BatchWriter
from telex.stores.sqlite import maintenance
from telex.stores.sqlite.schema import MIGRATIONS, VERSION
from telex.stores.sqlite.store import SqliteStore
from telex.stores.sqlite.transaction import SqliteTransaction, WriteJob

FILE = "telex.db"  # so that --store FOLDER finds the token file beside it
TICK_SECONDS = 0.05
APPLY_SECONDS = 0.02  # of one transaction that applies batches: callers are served in between
APPLY_AGAIN_SECONDS = 1.0  # after the disk was full
ANNOUNCE_SECONDS = 1.0
GONE_SECONDS = 5.0  # a hub that has not announced itself for so long is not listed
LOG_CHECKS, CHECK_AGAIN_SECONDS = 5, 0.5  # before a log that seems to have lost entries halts a hub
BEHIND_SECONDS = 2.0  # without a word from the log
SNAPSHOT_SECONDS, SNAPSHOT_BYTES = 3_600.0, 256 * 1_048_576  # of the log, between two snapshots
CHECK_LOG_SECONDS = 10.0
RESERVED_SHARE = 0.9  # of the log's size: beyond, only what frees space is written
LOG_BYTES = 4 * 1_024 * 1_048_576


class ReplicaOptions(NamedTuple):
    replicas: int = 3  # of a stream that is made
    log_bytes: int = LOG_BYTES
    url: str = ""  # where this hub answers HTTP
    version: str = ""  # of Telex
    servers: tuple[ServerFacts, ...] = ()  # as their monitoring addresses describe them
    accepts_weaker: bool = False  # runs also where an acknowledged message may be lost with one machine
    open_seconds: float = OPEN_SECONDS


class Announcement(msgspec.Struct, array_like=True, frozen=True):
    """Status of a hub, sent to the others; `digest` answers a checkpoint."""

    node: str
    name: str
    url: str
    version: str
    position: int
    clock_offset: float
    left: bool = False
    digests: tuple[tuple[int, str], ...] = ()  # by position of the checkpoint


_encode = msgspec.msgpack.Encoder().encode
_decode_turn = msgspec.msgpack.Decoder(TurnMessage).decode
_decode_announcement = msgspec.msgpack.Decoder(Announcement).decode


class ReplicatedStore(SqliteStore):
    """One hub's store. It belongs to the event loop that opened it."""

    def __init__(self, log: Log, file: ReplicaFile, signer: Signer, state: LogState, options: ReplicaOptions) -> None:
        super().__init__(file.reader)
        self._replica, self._log, self._signer, self._options = file, log, signer, options
        place = file.reader.place
        self.position, self.chain, self.writer = place.position, place.chain, place.writer
        self.schema, self.replicas = file.reader.schema, state.replicas
        self.synced = is_synced(options.servers, state.replicas)
        self._state = state
        self._log_bytes = state.bytes  # grows with every entry until the stream is asked again
        self._log_end = state.last
        self.node = os.urandom(10).hex()
        self.turn = Turn(self.node, self._send_turn)
        self.turn.holder = place.writer
        self.batches = BatchWriter(self, file.writer, log, node=self.node, signer=signer, turn=self.turn)
        self._group = self.batches
        self._inbox: deque[Entry | Callable[[], Awaitable[None]]] = deque()
        self._is_applying = False
        self._must_follow, self._follow_from = True, 0.0
        self._moved = asyncio.Event()
        self.on_applied: Callable[[], None] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._subscriptions: list[Subscription] = []
        self._reply = log.new_inbox()
        self._hubs: dict[str, tuple[Announcement, float]] = {}
        self.digests: dict[int, str] = {}  # of this copy, by position of the checkpoint
        self.clock_offset = 0.0
        self.void_entries = 0
        self._snapshots = SnapshotStore(log)
        self._snapshot, self._snapshot_bytes, self._snapshot_at = 0, 0, time.monotonic()
        self._is_closed = False

    # --- opening -----------------------------------------------------------------------------------------------------

    @classmethod
    async def open_replica(
        cls,
        address: TeamAddress,
        folder: str,
        secrets: HubSecrets,
        options: ReplicaOptions = ReplicaOptions(),  # noqa: B008
    ) -> "ReplicatedStore":
        """Open this hub's copy of a team, bring it up to date with the log, and keep following it.

        Raises:
            StoreError: the log cannot be reached, or the copy does not belong to it.
        """
        until = time.monotonic() + options.open_seconds
        log = await Log.connect(address, secrets, seconds=options.open_seconds)
        try:
            state = await log.state(until)
            if state is None:
                state = await log.create(until, schema=VERSION, replicas=options.replicas, bytes_max=options.log_bytes)
            require_durability(state.replicas, options.servers, accepts_weaker=options.accepts_weaker)
            path, signer = os.path.join(folder, FILE), Signer(secrets.keys, state.incarnation)
            if not os.path.exists(path):
                await _make_copy(log, state, signer, path, until)
            file = ReplicaFile(path)
        except BaseException:
            await log.close()
            raise
        try:
            _check_place(file.reader.place, state, path)
            self = cls(log, file, signer, state, options)
            await self._start(until)
        except BaseException:
            file.close()
            await log.close()
            raise
        return self

    async def _start(self, until: float) -> None:
        self.clock_offset = await self._log.repeat(self._log.server_time_offset, until)
        self._subscriptions = [
            await self._log.listen(self._log.address.hub(self.node), self._hear_turn),
            await self._log.listen(f"{self._reply}.*", self._hear_absence),
            await self._log.listen(self._log.address.hubs, self._hear_announcement),
        ]
        self._spawn(self._watch())  # before the first entry: a consumer can also stall while a copy catches up
        self._spawn(self._announce())
        target = self._log_end
        while self.position < target:
            is_reached = await self.reach(target, until - time.monotonic())
            if self.batches.halted is not None:
                return  # it serves reads, and says why it does not write
            if not is_reached:
                await self._cancel()
                raise StoreUnavailable(f"the log of {self._log.address} was not read in time: entry {self.position}.")
        self._spawn(self._keep_snapshots())

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # --- what SqliteStore asks for -----------------------------------------------------------------------------------

    def begin(self, file: ReplicaConnection) -> SqliteTransaction:
        return SqliteTransaction(file, self._recent_ids, self._quota, self._forget_caches)

    def forget(self) -> None:
        self._forget()

    def committed(self, tx: SqliteTransaction | None, position: int, chain: bytes, schema: int) -> None:
        if position > self.position:
            self.writer = self.node
        self.position, self.chain, self.schema = position, chain, schema
        self._log_end = max(self._log_end, position)
        if tx is not None:
            self._transactions += 1
            self._committed(tx)
        self._moved.set()
        self._apply_soon()

    def changes(self) -> tuple[int, int]:
        return self._transactions, self._replica.writer.data_version()

    async def maintain(
        self, now: float, *, same_since: float, keep_since: float, silent_since: float, limit: int
    ) -> int:
        file = self._replica.reader
        if maintenance.texts_mark(file) < (file.value("SELECT max(seq) FROM messages") or 0):
            await self._submit(
                WriteJob(lambda tx: maintenance.index_texts(tx.file, limit), durable=False, is_local=True)
            )
        return await super().maintain(
            now, same_since=same_since, keep_since=keep_since, silent_since=silent_since, limit=limit
        )

    @property
    def is_log_full(self) -> bool:
        """Whether the rest of the log's space is reserved for entries that free some."""
        return 0 < self._state.bytes_max * RESERVED_SHARE < self._log_bytes

    def now(self) -> float:
        """The servers' time."""
        return time.time() + self.clock_offset

    # --- following ---------------------------------------------------------------------------------------------------

    def catch_up(self) -> None:
        self._must_follow = True

    async def _watch(self) -> None:
        """Follow the log, and start again when nothing comes from it."""
        while not self._is_closed:  # nats-py may swallow a cancellation
            if (self._must_follow or self._log.is_silent) and time.monotonic() >= self._follow_from:
                await self._follow()
            self.batches.check(time.monotonic())
            await asyncio.sleep(TICK_SECONDS)

    async def _follow(self) -> None:
        self._must_follow = False
        self._inbox.clear()
        try:
            await self._check_log()
            await self._log.follow(self.position, self._hear)
        except StoreDamaged as error:
            self.lost(error)
        except (nats.errors.Error, StoreError, TimeoutError, OSError):
            self._must_follow = True

    async def _check_log(self) -> None:
        """
        Raises:
            StoreDamaged: the log was deleted, is another one, or has lost entries. One answer is not enough: a server
                that was stopped or has just started may be behind.
        """
        for checks_left in reversed(range(LOG_CHECKS)):
            state = await self._log.state(time.monotonic())
            try:
                if state is None:
                    raise StoreDamaged("the log was deleted. telex doctor says how to start a new one.")
                _check_place(self._replica.reader.place, state, self._replica.reader.path)
                return
            except StoreDamaged:
                if not checks_left:
                    raise
            await asyncio.sleep(CHECK_AGAIN_SECONDS)

    def _hear(self, item: Entry | Callable[[], Awaitable[None]]) -> None:
        self._inbox.append(item)
        self._apply_soon()

    def _apply_soon(self) -> None:
        if self._inbox and not self._is_applying:
            self._is_applying = True
            asyncio.get_running_loop().call_soon(self._apply_inbox)

    def _apply_inbox(self) -> None:
        """Take what was delivered, in order; entries of one transaction are applied together."""
        self._is_applying = False
        if self.batches.halted is not None or self._is_closed:
            return
        entries: list[Entry] = []
        while self._inbox:
            item = self._inbox[0]
            if not isinstance(item, Entry):
                if entries:
                    break  # everything before it has to be applied first
                self._inbox.popleft()
                self._spawn(_quietly(item))
                continue
            if item.position > self._log_end:
                self._log_end, self._log_bytes = item.position, self._log_bytes + len(item.data)
            following = self.position + 1 + len(entries)
            if item.position > following:
                self._must_follow = True  # a gap
                self._inbox.clear()
                break
            if item.position == following:
                if not entries and self.batches.is_own(item):
                    if not self.batches.delivered():
                        return  # continues when its acknowledgement has come
                    self._note_server_time(item)
                else:
                    entries.append(item)
            self._inbox.popleft()
        if entries:
            self.batches.overtaken()
            self._apply(entries)
        self._apply_soon()

    def _apply(self, entries: list[Entry]) -> None:
        file, began = self._replica.applier, time.monotonic()
        position, chain, schema, writer = self.position, self.chain, self.schema, self.writer
        applied: list[tuple[int, Batch]] = []
        done = void = 0
        try:
            file.begin()
            for entry in entries:
                batch = read_entry(entry, self._signer, chain, schema)
                position, chain = entry.position, next_chain(chain, entry.position, entry.data)
                if batch is None:
                    done, void = done + 1, void + 1
                    continue
                schema = self._apply_batch(file, batch, position)
                done, writer = done + 1, batch.node
                applied.append((position, batch))
                if batch.is_checkpoint or time.monotonic() - began > APPLY_SECONDS:
                    break
            file.set_place(position, chain, writer)
            file.commit()
        except Exception as error:
            file.roll_back()
            if 0 < done < len(entries):  # a copy that halts has everything before the entry that halts it
                self._inbox.extendleft(reversed(entries[done:]))
                self._apply(entries[:done])
            else:
                self._inbox.clear()
                self._stop_or_retry(error, position)
            return
        self._inbox.extendleft(reversed(entries[done:]))  # what was not applied yet
        self.void_entries += void
        self.position, self.chain, self.schema, self.writer = position, chain, schema, writer
        now = time.monotonic()
        for place, batch in applied:
            self.turn.written(batch.node, place, now, batch.turn)
        if applied and applied[-1][1].is_checkpoint:
            self._take_digest(position)
        self._moved.set()
        self.batches.schedule()
        if self.on_applied is not None:
            self.on_applied()

    def _apply_batch(self, file: ReplicaConnection, batch: Batch, position: int) -> int:
        """The schema after it."""
        if batch.migrate:
            if batch.migrate > len(MIGRATIONS):
                raise StoreTooNew(
                    f"the log went to schema {batch.migrate} at entry {position}, and this Telex knows "
                    f"{len(MIGRATIONS)}: upgrade this hub. It serves reads meanwhile."
                )
            file.migrate(batch.migrate)
        if batch.rows:
            try:
                file.apply(batch.rows)
            except (apsw.AbortError, apsw.ConstraintError) as error:
                raise StoreDamaged(
                    f"this copy has other rows than the writer of entry {position} had: stop this hub, remove its "
                    "copy, and it starts from a snapshot."
                ) from error
        return batch.schema

    def _stop_or_retry(self, error: Exception, position: int) -> None:
        """An error that another attempt cannot change halts this copy; a full disk does not."""
        if isinstance(error, (apsw.CorruptError, apsw.NotADBError)):
            error = StoreDamaged(f"this copy is damaged ({error}): stop this hub, remove its copy, and it starts anew.")
        if isinstance(error, (StoreDamaged, StoreTooNew)):
            self.lost(error)
        elif isinstance(error, (apsw.Error, StoreError)):
            self._must_follow, self._follow_from = True, time.monotonic() + APPLY_AGAIN_SECONDS
        else:
            self.lost(StoreDamaged(f"entry {position} of the log cannot be applied: {error!r}"))
            raise error

    def lost(self, reason: StoreError) -> None:
        """Halt: reads go on, writes are refused with the reason, and other hubs do not ask this one."""
        if self.batches.halted is None:
            self.batches.halt(reason)
            self._moved.set()
            if self._subscriptions:
                self._spawn(_quietly(self._subscriptions[0].unsubscribe))

    def _note_server_time(self, entry: Entry) -> None:
        """Correct the clock offset, a little, by an entry that was just stored."""
        measured = entry.at - time.time()
        if abs(measured - self.clock_offset) > 1.0:
            return  # an entry that waited for long
        self.clock_offset += 0.05 * (measured - self.clock_offset)

    # --- replica port ------------------------------------------------------------------------------------------------

    async def reach(self, position: int, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while self.position < position and self.batches.halted is None:
            self._moved.clear()
            left = end - time.monotonic()
            if left <= 0:
                return False
            with suppress(TimeoutError):
                await asyncio.wait_for(self._moved.wait(), left)
        return self.position >= position

    async def refresh(self, seconds: float) -> bool:
        """Wait until this copy has everything that the log has now."""
        state = await self._log.state(time.monotonic() + seconds)
        return state is not None and await self.reach(state.last, seconds)

    def status(self) -> ReplicaStatus:
        now, halted = time.time(), self.batches.halted
        silence = time.monotonic() - self._log.heard_at
        hubs = [
            HubStatus._make((*msgspec.structs.astuple(one)[: len(HubStatus._fields) - 1], seen_at))
            for one, seen_at in self._hubs.values()
            if now - seen_at < GONE_SECONDS
        ]
        return ReplicaStatus(
            self._log.address.team,
            self.node,
            self.position,
            self._log_end,
            self.writer,
            halted=None if halted is None else halted.say,
            behind_since=now - silence if silence > BEHIND_SECONDS else None,
            replicas=self.replicas,
            synced=self.synced,
            is_durable=is_durable(self.replicas, self.synced),
            clock_offset=self.clock_offset,
            snapshot=self._snapshot,
            log_bytes=self._log_bytes,
            log_bytes_max=self._state.bytes_max,
            hubs=tuple(sorted(hubs, key=lambda hub: hub.node)),
        )

    # --- messages between hubs ---------------------------------------------------------------------------------------

    def _send_turn(self, node: str, message: TurnMessage) -> None:
        data = _encode(message)
        reply = f"{self._reply}.{node}" if message.kind == "ask" else ""
        self._spawn(self._log.tell(self._log.address.hub(node), data, self._signer.sign(data), reply))

    async def _hear_turn(self, message: Msg) -> None:
        if not self._signer.is_valid(message.data, (message.headers or {}).get(MAC_HEADER, "")):
            return
        with suppress(msgspec.MsgspecError):
            self.turn.receive(_decode_turn(message.data), time.monotonic())
            self.batches.schedule()

    async def _hear_absence(self, message: Msg) -> None:
        """The server reports no subscriber on the subject where we have asked for the turn."""
        if message.headers and message.headers.get("Status") == "503":
            self.turn.absent(message.subject.rpartition(".")[2])
            self.batches.schedule()

    async def _announce(self) -> None:
        while not self._is_closed:
            await self._tell_hubs(left=False)
            await asyncio.sleep(ANNOUNCE_SECONDS)

    async def _tell_hubs(self, *, left: bool) -> None:
        own = Announcement(
            node=self.node,
            name=f"{socket.gethostname()}:{os.getpid()}",
            url=self._options.url,
            version=self._options.version,
            position=self.position,
            clock_offset=round(self.clock_offset, 4),
            left=left,
            digests=tuple(sorted(self.digests.items()))[-2:],
        )
        data = _encode(own)
        await self._log.tell(self._log.address.hubs, data, self._signer.sign(data))

    async def _hear_announcement(self, message: Msg) -> None:
        if not self._signer.is_valid(message.data, (message.headers or {}).get(MAC_HEADER, "")):
            return
        with suppress(msgspec.MsgspecError):
            one = _decode_announcement(message.data)
            if one.left:
                self._hubs.pop(one.node, None)
            else:
                self._hubs[one.node] = one, time.time()

    def hub_digests(self, position: int) -> dict[str, str]:
        """The digests that hubs have announced for a checkpoint, by node."""
        return {
            one.node: digest for one, _ in self._hubs.values() for place, digest in one.digests if place == position
        }

    # --- checkpoints, snapshots, schema ------------------------------------------------------------------------------

    async def checkpoint(self) -> int:
        """Write a checkpoint, at which every hub computes a digest of its tables. Its position."""
        while not await self.batches.write_special():
            pass
        position = self.position
        self._take_digest(position)
        return position

    def _take_digest(self, position: int) -> None:
        """Begin a read transaction at this position now, and compute the digest in a thread."""
        connection = apsw.Connection(self._replica.reader.path, flags=apsw.SQLITE_OPEN_READONLY)
        connection.execute("BEGIN")
        connection.execute("SELECT position FROM replica").fetchall()

        async def compute() -> None:
            try:
                self.digests[position] = await asyncio.to_thread(digest_of_tables, connection)
            finally:
                connection.close()
            for old in sorted(self.digests)[:-4]:
                del self.digests[old]
            await self._tell_hubs(left=False)

        self._spawn(compute())

    async def migrate(self, schema: int) -> None:
        """Bring the tables of all copies to this schema."""
        while self.schema < schema:
            await self.batches.write_special(migrate=self.schema + 1)

    async def _keep_snapshots(self) -> None:
        """Put snapshots into the object store and cut the log behind them, if this hub was the last to write."""
        while not self._is_closed:
            await asyncio.sleep(CHECK_LOG_SECONDS)
            if self.batches.halted is None:
                await _quietly(self._keep_snapshot)  # next time, after an election or when the disk has room

    async def _keep_snapshot(self) -> None:
        state = await self._log.state(time.monotonic())
        if state is None:
            return
        self._state, self._log_bytes, self._log_end = state, state.bytes, max(self._log_end, state.last)
        names = await self._snapshots.positions()
        self._snapshot = names[-1] if names else 0
        is_old = time.monotonic() - self._snapshot_at > SNAPSHOT_SECONDS and self.position > self._snapshot
        grown = state.bytes - self._snapshot_bytes
        limit = min(SNAPSHOT_BYTES, state.bytes_max // 4) if state.bytes_max > 0 else SNAPSHOT_BYTES
        if self.writer == self.node and (is_old or grown > limit):
            await self.snapshot()

    async def snapshot(self) -> int:
        """Put a snapshot into the object store, and cut the log behind the last but one. Its position."""
        position, data = await asyncio.to_thread(make_snapshot, self._replica.reader.path)
        await self._snapshots.put(position, data, self._signer)
        self._snapshot, self._snapshot_at = position, time.monotonic()
        positions = await self._snapshots.positions()
        if len(positions) > 1:
            await self._log.cut(positions[-2] + 1)
            for old in positions[:-2]:
                await self._snapshots.remove(old)
        state = await self._log.state(time.monotonic() + 1.0)
        if state is not None:
            self._state, self._log_bytes, self._snapshot_bytes = state, state.bytes, state.bytes
        return position

    # --- the end -----------------------------------------------------------------------------------------------------

    async def _cancel(self) -> None:
        self._is_closed = True
        tasks = [*self._tasks, *self.batches.tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def close(self) -> None:
        """Wait for the batch in flight, and leave the turn to others."""
        flight = self.batches.flight
        if flight is not None:
            await asyncio.wait([flight.done], timeout=2.0)
        self.turn.pass_on(time.monotonic())
        self._is_closed = True
        for subscription in self._subscriptions:
            await _quietly(subscription.unsubscribe)
        await self._tell_hubs(left=True)
        if self.batches.halted is None:
            self.batches.halt(StoreUnavailable("this bus has been closed: open another one."))
        await self._cancel()
        await self._log.close()
        self._replica.close()

    @property
    def incarnation(self) -> str:
        """Name of the log that this copy belongs to."""
        return self._state.incarnation

    def digest(self) -> str:
        """Hash of the replicated tables of this copy."""
        return table_digest(self._replica.reader.path)


async def _make_copy(log: Log, state: LogState, signer: Signer, path: str, until: float) -> None:
    """Start from the newest snapshot, or from nothing if the log has everything."""
    snapshots = SnapshotStore(log)

    async def fetch() -> bool:
        positions = await snapshots.positions()
        if positions:
            await snapshots.fetch(positions[-1], path, signer)
        return bool(positions)

    if await log.repeat(fetch, until):
        return
    if state.first > 1:
        raise StoreDamaged(f"the log of {log.address} starts at entry {state.first}, and there is no snapshot before.")
    create_replica(path, state.incarnation, state.schema)


def _check_place(place: Place, state: LogState, path: str) -> None:
    if place.incarnation != state.incarnation:
        raise StoreDamaged(f"{path} belongs to another log, which was deleted: remove it, or start a new log from it.")
    if state.last < place.position:
        raise StoreDamaged(
            f"the log ends at entry {state.last}, and {path} has entry {place.position}: the log has lost entries. "
            "telex doctor says how to start a new one from this copy."
        )
    if state.first > place.position + 1:
        raise StoreDamaged(f"the log starts after what {path} has: remove it, and the hub starts from a snapshot.")


async def _quietly(work: Callable[[], Awaitable[object]]) -> None:
    with suppress(Exception):
        await work()

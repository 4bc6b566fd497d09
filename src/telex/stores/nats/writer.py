"""Write path of the replicated store: decisions wait for this hub's turn and share one batch.

One batch is in flight at a time, with its transaction open; what is submitted meanwhile goes into the next one. The
outcome of a batch is decided by what the log has in its place: the same bytes commit it, anything else rolls it back,
and its decisions run again on top of that.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import apsw

from telex.errors import OutcomeUnknown, StoreDamaged, StoreError, StoreFull, StoreUnavailable
from telex.stores.group_commit import resolve
from telex.stores.nats.batch import FORMAT, Batch, Entry, Signer, encode, next_chain, pack
from telex.stores.nats.log import Conflict, InDoubt, Log, NoRoom, NotStored, Outcome, Stored
from telex.stores.nats.replica_file import ReplicaConnection
from telex.stores.nats.turn import Turn
from telex.stores.sqlite.connection import store_error
from telex.stores.sqlite.transaction import FailedJob, SqliteTransaction, WriteJob

OUTCOME_SECONDS = 20.0  # after which a caller gets an error
RETRY_SECONDS = 0.03
OWN_COPY_SECONDS = 0.3  # how long a conflict waits for the log to deliver what is there
SAFE_REPLICAS = 3  # with so many, an entry that was delivered is as safe as one that was acknowledged
JOBS_MAX = 500  # of one batch
LARGE_BATCH = 32  # jobs, after which a hub keeps its turn
TURN_BATCHES_MAX = 4  # that a hub writes before it passes its turn on


class Pending:
    """A job that waits for its transaction or for its outcome."""

    def __init__(self, job: WriteJob, future: "asyncio.Future[Any]", undo: Callable[[Any], WriteJob] | None) -> None:
        self.job, self.future, self.undo = job, future, undo
        self.since = time.monotonic()


class Flight:
    """A batch that is being published. Its transaction is open."""

    def __init__(self, batch: Batch, data: bytes, mac: str, chain: bytes) -> None:
        self.base, self.data, self.mac, self.chain = batch.base, data, mac, chain
        self.migrates, self.turn = bool(batch.migrate), batch.turn
        self.pending: Sequence[Pending] = ()
        self.answers: Sequence[Any] = ()
        self.tx: SqliteTransaction | None = None
        self.in_doubt = False  # an attempt had no answer: it may be in the log
        self.done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()  # True: committed
        self.error: Exception | None = None
        self.began = time.monotonic()

    @property
    def since(self) -> float:
        """When its first job was submitted."""
        return min((one.since for one in self.pending), default=self.began)


class CacheOwner(Protocol):
    """The store, as far as its writer needs it."""

    position: int
    chain: bytes
    schema: int
    replicas: int

    @property
    def is_log_full(self) -> bool: ...

    def begin(self, file: ReplicaConnection) -> SqliteTransaction: ...

    def forget(self) -> None: ...

    def committed(self, tx: SqliteTransaction | None, position: int, chain: bytes, schema: int) -> None: ...

    def lost(self, reason: StoreError) -> None:
        """The log has lost entries, or this copy cannot be written."""

    def catch_up(self) -> None:
        """Follow the log anew."""

    def now(self) -> float: ...


class BatchWriter:
    def __init__(
        self, store: CacheOwner, file: ReplicaConnection, log: Log, *, node: str, signer: Signer, turn: Turn
    ) -> None:
        self._store, self._file, self._log = store, file, log
        self._node, self._signer, self._turn = node, signer, turn
        self._queue: list[Pending] = []
        self._local: list[Pending] = []
        self._number = 0
        self._singly = 0  # so many jobs of the queue get a batch of their own, after one of their group failed
        self._is_scheduled = False
        self._kept_turns = 0  # large batches after which this hub has kept its turn
        self.flight: Flight | None = None
        self.halted: StoreError | None = None
        self.decides_twice = False  # for tests: each batch is decided, rolled back, and decided again
        self.conflicts = 0
        self.tasks: set[asyncio.Task[None]] = set()

    # --- callers -----------------------------------------------------------------------------------------------------

    def submit(self, job: WriteJob) -> "asyncio.Future[Any]":
        return self._add(job, None).future

    async def submit_or_undo(self, job: WriteJob, undo: Callable[[Any], WriteJob]) -> Any:
        pending = self._add(job, undo)
        try:
            return await pending.future
        except asyncio.CancelledError:
            future = pending.future
            if future.done() and not future.cancelled() and future.exception() is None:
                self._add(undo(future.result()), None)
            raise

    def _add(self, job: WriteJob, undo: Callable[[Any], WriteJob] | None) -> Pending:
        pending = Pending(job, asyncio.get_running_loop().create_future(), undo)
        if self.halted is not None:
            pending.future.set_exception(_refusal(self.halted))
        elif self._store.is_log_full and job.durable and not job.may_use_reserve:
            pending.future.set_exception(
                StoreFull("the log is nearly full, and its rest is for acks: nothing of this was stored.")
            )
        else:
            (self._local if job.is_local else self._queue).append(pending)
            self.schedule()
        return pending

    @property
    def is_idle(self) -> bool:
        return self.flight is None and not self._queue and not self._local

    # --- one step ----------------------------------------------------------------------------------------------------

    def schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._step)

    def _step(self) -> None:
        self._is_scheduled = False
        if self.halted is not None or self.flight is not None:
            return
        if self._local:
            local, self._local = self._local, []
            self._run_local([pending for pending in local if not pending.future.done()])
        self._queue = [pending for pending in self._queue if not pending.future.done()]
        if not self._log.is_connected:
            return  # `check` comes back to it
        if not self._queue:
            self._turn.pass_on(time.monotonic())
        elif self._turn.is_mine(self._store.position):
            self._decide(1 if self._singly else JOBS_MAX)
        else:
            self._turn.ask(time.monotonic())

    def _run_local(self, pending: Sequence[Pending]) -> None:
        """Run jobs that change only what is not replicated, each in a transaction of its own."""
        for one in pending:
            try:
                self._file.begin()
                tx = self._store.begin(self._file)
                answer = tx.run(one.job)
                self._file.commit()
            except Exception as error:
                self._file.roll_back()
                self._store.forget()
                answer = FailedJob(_explained(error, self._file.path))
            resolve(one.future, answer)

    # --- deciding ----------------------------------------------------------------------------------------------------

    def _decide(self, limit: int) -> None:
        pending, self._queue = self._queue[:limit], self._queue[limit:]
        jobs = [one.job for one in pending]
        try:
            tx, answers, rows = self._run(jobs)
        except Exception as error:
            self._undo()
            if len(pending) > 1:  # one that fails must not fail the others
                self._queue = pending + self._queue
                self._singly = len(pending)
            else:
                self._singly = max(0, self._singly - 1)
                resolve(pending[0].future, FailedJob(_explained(error, self._file.path)))
            self.schedule()
            return
        self._singly = max(0, self._singly - 1)
        if not rows and not any(job.durable for job in jobs):
            self._commit_locally(tx, pending, answers)
            return
        is_large = len(pending) >= LARGE_BATCH
        self._kept_turns = (self._kept_turns + 1) % TURN_BATCHES_MAX if is_large else 0
        turn = self._turn.following(has_more=self._has_more(pending), keeps=self._kept_turns > 0)
        flight = self._flight(rows=pack(rows), turn=turn)
        if len(flight.data) > self._log.batch_bytes_max:
            self._undo()
            self._shrink(pending, len(flight.data))
            return
        flight.pending, flight.answers, flight.tx = pending, answers, tx
        self._start(flight)

    def _has_more(self, pending: Sequence[Pending]) -> bool:
        """Callers that are answered together are likely to send again."""
        return len(pending) > 1 or bool(self._queue)

    def _run(self, jobs: Sequence[WriteJob]) -> tuple[SqliteTransaction, list[Any], bytes]:
        """Run the jobs in a transaction that stays open. Their answers, and the rows they have changed."""
        ids = {job.prefetch_id for job in jobs if job.prefetch_id is not None}
        self._file.begin()
        if self.decides_twice:
            self._store.begin(self._file).run_all(jobs, ids)
            self._undo()
            self._file.begin()
        session = self._file.record()
        try:
            tx = self._store.begin(self._file)
            answers = tx.run_all(jobs, ids)
            prunes = any(job.prunes for job in jobs)
            return tx, answers, session.patchset() if prunes else session.changeset()
        finally:
            session.close()

    def _undo(self) -> None:
        self._file.roll_back()
        self._store.forget()

    def _commit_locally(self, tx: SqliteTransaction, pending: Sequence[Pending], answers: Sequence[Any]) -> None:
        """Nothing replicated was changed, and no caller asked whether it is still the latest."""
        try:
            self._file.commit()
        except StoreError as error:
            self._undo()
            answers = [FailedJob(error)] * len(pending)
        else:
            self._store.committed(tx, self._store.position, self._store.chain, self._store.schema)
        for one, answer in zip(pending, answers, strict=True):
            resolve(one.future, answer)
        self.schedule()

    def _shrink(self, pending: list[Pending], size: int) -> None:
        """The batch is too large for the log: decide fewer jobs at once."""
        self._queue = pending + self._queue
        if len(pending) > 1:
            self._decide(len(pending) // 2)
            return
        [one] = pending
        self._queue.remove(one)
        say = f"{size} bytes are too large for one entry of the log: nothing of this was stored."
        resolve(one.future, FailedJob(StoreFull(say)))
        self.schedule()

    def _flight(
        self, *, rows: bytes = b"", turn: tuple[str, ...] = (), migrate: int = 0, is_checkpoint: bool = False
    ) -> Flight:
        self._number += 1
        store = self._store
        batch = Batch(
            format=FORMAT,
            base=store.position,
            node=self._node,
            number=self._number,
            chain=store.chain,
            schema=migrate or store.schema,
            at=store.now(),
            migrate=migrate,
            is_checkpoint=is_checkpoint,
            rows=rows,
            turn=turn,
        )
        data = encode(batch)
        return Flight(batch, data, self._signer.sign(data), next_chain(store.chain, batch.base + 1, data))

    def _start(self, flight: Flight) -> None:
        self._file.set_place(flight.base + 1, flight.chain, self._node)
        self.flight = flight
        task = asyncio.ensure_future(self._publish(flight))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def write_special(self, *, migrate: int = 0) -> bool:
        """Write a checkpoint, or a change of the schema. False: another batch came first.

        Raises:
            StoreError: the log has no room or does not answer, or this hub has halted.
        """
        while self.flight is not None:
            await asyncio.wait([self.flight.done])
        if self.halted is not None:
            raise self.halted
        self._file.begin()
        if migrate:
            self._file.migrate(migrate)
        flight = self._flight(migrate=migrate, is_checkpoint=not migrate)
        self._start(flight)
        is_committed = await flight.done
        if flight.error is not None:
            raise flight.error
        return is_committed

    # --- publishing --------------------------------------------------------------------------------------------------

    async def _publish(self, flight: Flight) -> None:
        while self.flight is flight:
            outcome = await self._log.publish(flight.data, flight.mac, flight.base)
            if self.flight is not flight:
                return  # the log has delivered what is there
            await self._judge(flight, outcome)

    async def _judge(self, flight: Flight, outcome: Outcome) -> None:
        match outcome:
            case Stored(position) if position == flight.base + 1:
                self._commit(flight)
            case Stored(position) if position > flight.base:
                await self._wait_for_log(flight)  # behind another batch: void, and the log delivers the other one
            case Stored(position):
                self._report_loss(f"the log stored at {position} what belongs at {flight.base + 1}")
            case Conflict():  # also with an earlier end: a server that was stopped answers as the leader it was
                await self._wait_for_log(flight)
            case NoRoom(reason) if not flight.in_doubt:
                self._fail(flight, StoreFull(f"the log has no room ({reason}): nothing of this was stored."))
            case NoRoom() | NotStored():
                await asyncio.sleep(RETRY_SECONDS)
            case InDoubt():
                flight.in_doubt = True
                await asyncio.sleep(RETRY_SECONDS)  # a closed connection fails at once

    async def _wait_for_log(self, flight: Flight) -> None:
        """Another entry has our position: perhaps our own batch, whose acknowledgement was lost. The log shows it."""
        flight.in_doubt = True
        await asyncio.wait([flight.done], timeout=OWN_COPY_SECONDS)
        if self.flight is flight:
            self._store.catch_up()
            await asyncio.wait([flight.done], timeout=1.0)

    def _report_loss(self, what: str) -> None:
        self._store.lost(StoreDamaged(f"{what}: the log has lost entries. telex doctor says how to start a new one."))

    def is_own(self, entry: Entry) -> bool:
        """Whether this entry is the batch in flight."""
        flight = self.flight
        own = None if flight is None else (flight.base + 1, flight.data, flight.mac)
        return own == (entry.position, entry.data, entry.mac)

    def delivered(self) -> bool:
        """The log has delivered the batch in flight. False: its acknowledgement has to be waited for."""
        flight = self.flight
        assert flight is not None
        if self._store.replicas < SAFE_REPLICAS and not flight.in_doubt:
            return False
        self._commit(flight)
        return True

    def _commit(self, flight: Flight) -> None:
        try:
            self._file.commit()
        except StoreError as error:  # the log has it, and this copy gets it from there
            unknown = OutcomeUnknown(f"outcome unknown ({error.say}): send again with the same id.")
            self._end(flight, [FailedJob(unknown)] * len(flight.pending), committed=False)
            self._store.forget()
            self._store.catch_up()
            return
        schema = self._file.schema if flight.migrates else self._store.schema
        self._store.committed(flight.tx, flight.base + 1, flight.chain, schema)
        now = time.monotonic()
        self._turn.written(self._node, flight.base + 1, now, flight.turn)
        if not self._kept_turns:
            self._turn.pass_on(now, has_more=self._has_more(flight.pending))  # to one that asked after the decision
        self._end(flight, flight.answers, committed=True)

    def overtaken(self) -> None:
        """Another entry is in the place of the batch in flight: its jobs run again on top of that."""
        flight = self.flight
        if flight is None:
            return
        self.conflicts += 1
        self._undo()
        self._queue = [*flight.pending, *self._queue]
        flight.pending = ()
        self._end(flight, (), committed=False)

    def _fail(self, flight: Flight, error: Exception) -> None:
        self._undo()
        flight.error = error
        self._end(flight, [FailedJob(error)] * len(flight.pending), committed=False)

    def _end(self, flight: Flight, answers: Sequence[Any], *, committed: bool) -> None:
        self.flight = None
        if not flight.done.done():
            flight.done.set_result(committed)
        for pending, answer in zip(flight.pending, answers, strict=True):
            if pending.future.cancelled() and pending.undo is not None and committed and type(answer) is not FailedJob:
                self._add(pending.undo(answer), None)
            else:
                resolve(pending.future, answer)
        self.schedule()

    # --- time and failure --------------------------------------------------------------------------------------------

    def check(self, now: float) -> None:
        """Periodic check: turns that do not come, and callers that have waited too long."""
        if self.halted is not None:
            return
        if self._queue and self.flight is None:
            self._turn.check(now)
            self.schedule()
        late = [one for one in self._queue if now - one.since > OUTCOME_SECONDS]
        for one in late:
            error = StoreUnavailable("the log does not answer: nothing of this was stored.")
            resolve(one.future, FailedJob(error))
        flight = self.flight
        if flight is not None and now - flight.since > OUTCOME_SECONDS:
            self._fail(
                flight, OutcomeUnknown("outcome unknown (the log does not answer): send again with the same id.")
            )

    def halt(self, error: StoreError) -> None:
        """Accept nothing more. What is in flight may be stored or not."""
        self.halted = error
        if (flight := self.flight) is not None:
            unknown = OutcomeUnknown(
                f"outcome unknown (this hub has halted: {error.say}): send again with the same id."
            )
            self._fail(flight, unknown)
        waiting, self._queue, self._local = [*self._queue, *self._local], [], []
        for one in waiting:
            resolve(one.future, FailedJob(_refusal(error)))


def _refusal(reason: StoreError) -> StoreUnavailable:
    """Error for a caller of a halted hub: nothing was stored, and another hub can do it."""
    return StoreUnavailable(f"this hub takes no writes, and others may: {reason.say}")


def _explained(error: Exception, path: str) -> Exception:
    return store_error(error, path, False) if isinstance(error, apsw.Error) else error

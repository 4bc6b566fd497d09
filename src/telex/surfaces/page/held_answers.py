"""Answers of persons that are held back for a few seconds, so that they can be undone, and their outcomes.

They are in a file beside the store before they are confirmed: a hub that is killed sends them after its next start. A
hub that stops sends them at once. Each job of an answer is checked again before it is carried out, so that one that was
carried out before the hub was killed is not carried out twice.
"""

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Literal

import msgspec

from telex.errors import StoreDamaged, StoreUnavailable, TelexError
from telex.model.finding import Finding
from telex.model.text import ROOT
from telex.stores.disk import make_folder, open_file, refuse_links, sync_folder

UNDO_SECONDS = 10.0
DEADLINE_SECONDS = 2.0  # an answer is sent so long before the deadline of what it answers
REMINDED_SECONDS = 300.0  # a stall is not shown for so long after a reminder
KEPT_SECONDS = 3_600.0  # outcomes, so that a repeated request gets the first response
KEPT_MAX = 500
KEPT_BYTES_MAX = 4 * 1_048_576  # of them, in the file
BYTES_MAX = 16 * 1_048_576
USUAL_STORE, USUAL_NAME = "telex.db", "answers.json"
LOG = logging.getLogger("telex.http")

Action = Literal["allow", "reject", "answer", "retry", "drop", "nudge"]
State = Literal["held", "sending", "sent", "undone"]


class Job(msgspec.Struct, frozen=True):
    """The answer to one item."""

    key: str
    title: str
    by: str  # who asked, or whom it is about
    paths: tuple[str, ...] = ()  # that an approval grants
    letters: tuple[str, ...] = ()  # keys of dead letters


class AnswerOutcome(msgspec.Struct, frozen=True):
    key: str
    state: Literal["done", "stale", "failed"]
    findings: tuple[dict[str, str | None], ...] = ()


def failed(key: str, *findings: Finding) -> AnswerOutcome:
    return AnswerOutcome(key, "failed", tuple(finding._asdict() for finding in findings))


class HeldAnswer(msgspec.Struct):
    id: str  # made by the client
    digest: str  # of the request
    action: Action
    agent: str  # who answers
    role: str | None
    operator: bool
    jobs: tuple[Job, ...]
    at: float
    undo_until: float
    stale: tuple[str, ...] = ()
    failed: tuple[AnswerOutcome, ...] = ()
    reason: str = ""
    text: str = ""
    to: str = ""
    conditions: tuple[str, ...] = ()
    state: State = "held"
    outcomes: tuple[AnswerOutcome, ...] = ()


Executor = Callable[[HeldAnswer], Awaitable[list[AnswerOutcome]]]


def answers_path(store: str) -> str:
    """The file of a store. Two stores in one folder have two."""
    folder, name = os.path.split(store)
    return os.path.join(folder, USUAL_NAME if name == USUAL_STORE else f"{name}-{USUAL_NAME}")


def _hides(answer: HeldAnswer, since: float) -> bool:
    """Whether the items of this answer are not shown: until it is carried out, or since a person's reminder."""
    is_open = answer.state in ("held", "sending")
    if answer.action != "nudge":
        return is_open
    return answer.operator and (is_open or (answer.state == "sent" and answer.undo_until > since))


class HeldAnswers:
    def __init__(self, path: str | None, execute: Executor) -> None:
        """Without a path they are in memory only."""
        self._path, self._execute = path, execute
        self._answers: dict[str, HeldAnswer] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._lock = asyncio.Lock()
        self._is_loaded = False

    # --- queries -----------------------------------------------------------------------------------------------------

    async def load(self) -> None:
        """Read the answers that an earlier process held back, once."""
        if self._is_loaded:
            return
        self._is_loaded = True
        for answer in self._read():
            self._answers[answer.id] = answer
            if answer.state in ("held", "sending"):
                self._schedule(answer)

    def get(self, id_: str) -> HeldAnswer | None:
        return self._answers.get(id_)

    def open(self) -> list[HeldAnswer]:
        return [answer for answer in self._answers.values() if answer.state in ("held", "sending")]

    def recent(self, since: float) -> list[HeldAnswer]:
        """Open ones, and those with an outcome since then."""
        return [
            answer
            for answer in self._answers.values()
            if answer.state in ("held", "sending") or (answer.undo_until >= since and answer.outcomes)
        ]

    def answered_keys(self) -> frozenset[str]:
        """Keys of the items and dead letters that have an answer which is not carried out yet, and of stalls with a
        recent reminder by a person: that of an agent hides nothing."""
        since = time.time() - REMINDED_SECONDS
        jobs = [job for answer in self._answers.values() if _hides(answer, since) for job in answer.jobs]
        return frozenset([*(job.key for job in jobs), *(letter for job in jobs for letter in job.letters)])

    # --- changes -----------------------------------------------------------------------------------------------------

    async def hold(self, answer: HeldAnswer) -> None:
        """Hold an answer back. Raises StoreUnavailable if the file cannot be written, or would become too large to be
        read again: then there is no answer."""
        self._forget(time.time())
        self._answers[answer.id] = answer
        try:
            if len(msgspec.json.encode([*self._answers.values()])) > BYTES_MAX:
                raise StoreUnavailable("too many answers are held back: send or undo some. Nothing was answered.")
            await self._write()
        except StoreUnavailable:
            del self._answers[answer.id]
            raise
        if answer.state == "held":
            self._schedule(answer)

    async def undo(self, id_: str) -> bool:
        """False: it is too late."""
        answer = self._answers.get(id_)
        if answer is None or answer.state != "held":
            return False
        answer.state = "undone"
        self._cancel(id_)
        await self._write()
        return True

    async def send_now(self, id_: str) -> None:
        """Carry it out at once."""
        answer = self._answers.get(id_)
        if answer is not None and answer.state == "held":
            answer.undo_until = min(answer.undo_until, time.time())
            self._cancel(id_)
            self._schedule(answer)
        task = self._tasks.get(id_)
        if task is not None:
            await asyncio.shield(task)

    async def close(self) -> None:
        """Carry out all that is held back. For the end of the hub."""
        for answer in self.open():
            with suppress(asyncio.CancelledError):
                await self.send_now(answer.id)

    # --- execution ---------------------------------------------------------------------------------------------------

    def _schedule(self, answer: HeldAnswer) -> None:
        task = asyncio.ensure_future(self._run(answer))
        self._tasks[answer.id] = task
        task.add_done_callback(lambda done: self._done(answer.id, done))

    def _done(self, id_: str, task: asyncio.Task[None]) -> None:
        if self._tasks.get(id_) is task:
            del self._tasks[id_]

    def _cancel(self, id_: str) -> None:
        task = self._tasks.pop(id_, None)
        if task is not None:
            task.cancel()

    async def _run(self, answer: HeldAnswer) -> None:
        await asyncio.sleep(max(0.0, answer.undo_until - time.time()))
        answer.state = "sending"  # from here on it cannot be undone, and its task is not cancelled
        try:
            answer.outcomes = tuple(await self._execute(answer))
        except TelexError as error:
            answer.outcomes = self._all_failed(answer, Finding(error.code, ROOT, error.say))
        except Exception:
            LOG.exception("the answer %r failed", answer.id)
            say = "Ask the operator of the hub to look into its log: this is a bug in Telex."
            answer.outcomes = self._all_failed(answer, Finding("internal-error", ROOT, say))
        answer.state = "sent"
        with suppress(StoreUnavailable):  # then it is carried out again after a restart, which changes nothing
            await self._write()

    @staticmethod
    def _all_failed(answer: HeldAnswer, finding: Finding) -> tuple[AnswerOutcome, ...]:
        return tuple(failed(job.key, finding) for job in answer.jobs)

    # --- file --------------------------------------------------------------------------------------------------------

    def _forget(self, now: float) -> None:
        over = [answer for answer in self._answers.values() if answer.state in ("sent", "undone")]
        size = 0
        for number, answer in enumerate(reversed(over), 1):
            size += len(msgspec.json.encode(answer))
            if number > KEPT_MAX or size > KEPT_BYTES_MAX or answer.at < now - KEPT_SECONDS:
                del self._answers[answer.id]

    def _read(self) -> Sequence[HeldAnswer]:
        if self._path is None:
            return ()
        try:
            with open(open_file(self._path, os.O_RDONLY), "rb") as file:
                return msgspec.json.decode(file.read(BYTES_MAX), type=list[HeldAnswer])
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise StoreUnavailable(f"{self._path} cannot be read: {error.strerror}.") from error
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            say = f"{self._path} has no held answers ({error}): move it away and restart the hub."
            raise StoreDamaged(say) from error

    async def _write(self) -> None:
        if self._path is None:
            return
        async with self._lock:
            raw = msgspec.json.encode([*self._answers.values()])
            await asyncio.to_thread(_replace, self._path, raw)


def _replace(path: str, raw: bytes) -> None:
    """Replace a file atomically and durably."""
    new = f"{path}-new"
    try:
        make_folder(os.path.dirname(path))
        refuse_links([path, new])
        with open(open_file(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), "wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, path)
        sync_folder(os.path.dirname(path) or ".")
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be written: {error.strerror}. Nothing was answered.") from error

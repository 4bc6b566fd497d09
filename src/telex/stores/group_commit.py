"""Group commit: jobs submitted in one turn of the event loop share one transaction and one sync.

A sync costs as much as writing fifteen messages. The queue runs on the event loop itself, because a thread would cost
more than it saves.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from telex.errors import OutcomeUnknown
from telex.stores.sqlite.transaction import FailedJob, WriteJob


class CommitQueue(Protocol):
    """Jobs that wait for a transaction which they share."""

    def submit(self, job: WriteJob) -> asyncio.Future[Any]: ...

    async def submit_or_undo(self, job: WriteJob, undo: Callable[[Any], WriteJob]) -> Any:
        """The answer. If the caller is cancelled before it arrives, the job is undone."""


class GroupCommit:
    """Jobs that wait for the next transaction. `run` executes them all in one and returns their answers."""

    def __init__(self, run: Callable[[Sequence[WriteJob]], list[Any]]) -> None:
        self._run = run
        self._waiting: list[tuple[WriteJob, asyncio.Future[Any]]] = []

    def submit(self, job: WriteJob) -> asyncio.Future[Any]:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        if not self._waiting:
            loop.call_soon(self._flush)
        self._waiting.append((job, future))
        return future

    async def submit_or_undo(self, job: WriteJob, undo: Callable[[Any], WriteJob]) -> Any:
        """The answer. If the caller is cancelled before it arrives, the job is undone."""
        future = self.submit(job)
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None:
                self._run([undo(future.result())])
            raise

    def _flush(self) -> None:
        waiting = [(job, future) for job, future in self._waiting if not future.done()]  # the rest was cancelled
        self._waiting = []
        if not waiting:
            return
        try:
            answers = self._run([job for job, _ in waiting])
        except Exception as error:
            if len(waiting) > 1 and not isinstance(error, OutcomeUnknown):
                self._one_by_one(waiting)  # one that fails must not fail the others
                return
            answers = [FailedJob(error)] * len(waiting)  # what may have been committed is not run again
        for (_, future), answer in zip(waiting, answers, strict=True):
            resolve(future, answer)

    def _one_by_one(self, waiting: list[tuple[WriteJob, asyncio.Future[Any]]]) -> None:
        for job, future in waiting:
            try:
                [answer] = self._run([job])
            except Exception as error:
                answer = FailedJob(error)
            resolve(future, answer)


def resolve(future: asyncio.Future[Any], answer: Any) -> None:
    if future.done():
        return
    if type(answer) is FailedJob:
        future.set_exception(answer.error)
    else:
        future.set_result(answer)

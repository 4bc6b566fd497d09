"""How do many senders share one sync? What they ask for within one turn of the event loop is one transaction.

One sync costs as much as writing fifteen messages, so those that come together are written together, and each is
answered when all are on disk. This runs on the event loop itself: handing over to a thread would cost more than it
saves.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from telex.errors import OutcomeUnknown
from telex.model.message import NewMessage


class WriteJob(NamedTuple):
    work: Callable[[Any], Any]  # is given the transaction's batch
    promised: bool = True  # must it be on disk before it is answered?
    freeing: bool = False  # may it use the room kept for a full disk?


Asked = WriteJob | Sequence[NewMessage]  # something to do, or messages to keep


class GroupCommit:
    """What is asked for in one turn. `run` does it all in one transaction and returns the answers."""

    def __init__(self, run: Callable[[Sequence[Asked]], list[Any]]) -> None:
        self._run = run
        self._waiting: list[tuple[Asked, asyncio.Future[Any]]] = []

    def submit(self, asked: Asked) -> "asyncio.Future[Any]":
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        if not self._waiting:
            loop.call_soon(self._flush)
        self._waiting.append((asked, future))
        return future

    async def submit_or_undo(self, job: WriteJob, undo: Callable[[Any], WriteJob]) -> Any:
        """The answer; and where the caller is gone when it comes, what was done for it is undone."""
        future = self.submit(job)
        try:
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None:
                self._run([undo(future.result())])
            raise

    def _flush(self) -> None:
        waiting = [(asked, future) for asked, future in self._waiting if not future.done()]  # nobody waits for the rest
        self._waiting = []
        if not waiting:
            return
        try:
            answers = self._run([asked for asked, _ in waiting])
        except Exception as error:
            if len(waiting) > 1 and not isinstance(error, OutcomeUnknown):
                self._one_by_one(waiting)  # what one of them met must not befall the others
                return
            for _, future in waiting:  # what may have been done is not done again
                _fail(future, error)
            return
        for (_, future), answer in zip(waiting, answers, strict=True):
            if not future.done():
                future.set_result(answer)

    def _one_by_one(self, waiting: "list[tuple[Asked, asyncio.Future[Any]]]") -> None:
        for asked, future in waiting:
            try:
                [answer] = self._run([asked])
            except Exception as error:
                _fail(future, error)
            else:
                if not future.done():
                    future.set_result(answer)


def _fail(future: "asyncio.Future[Any]", error: Exception) -> None:
    if not future.done():
        future.set_exception(error)

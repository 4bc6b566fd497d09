"""How do many senders share one sync? What they ask for within one turn of the event loop is one transaction.

One sync costs as much as writing fifteen messages, so those that come together are written together, and each is
answered when all are on disk. This runs on the event loop itself: handing over to a thread would cost more than it
saves.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple


class Job(NamedTuple):
    work: Callable[[Any], Any]  # is given the transaction's batch
    promised: bool  # must it be on disk before it is answered?
    freeing: bool  # may it use the room kept for a full disk?


class Group:
    """Jobs of one turn. `run` does them all in one transaction and returns their answers."""

    def __init__(self, run: Callable[[Sequence[Job]], list[Any]]) -> None:
        self._run = run
        self._waiting: list[tuple[Job, asyncio.Future[Any]]] = []

    async def submit(self, job: Job) -> Any:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        self._waiting.append((job, future))
        if len(self._waiting) == 1:
            loop.call_soon(self._flush)
        return await future

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        try:
            answers = self._run([job for job, _ in waiting])
        except Exception as error:
            if len(waiting) == 1:
                _fail(waiting[0][1], error)
            else:
                self._one_by_one(waiting)  # what one of them met must not befall the others
            return
        for (_, future), answer in zip(waiting, answers, strict=True):
            if not future.done():
                future.set_result(answer)

    def _one_by_one(self, waiting: "list[tuple[Job, asyncio.Future[Any]]]") -> None:
        for job, future in waiting:
            try:
                [answer] = self._run([job])
            except Exception as error:
                _fail(future, error)
            else:
                if not future.done():
                    future.set_result(answer)


def _fail(future: "asyncio.Future[Any]", error: Exception) -> None:
    if not future.done():
        future.set_exception(error)

"""Revalidation of tokens for open requests: a token may be revoked or expire while its client waits or streams.

One timer checks the tokens of open requests and ends those whose token is not valid any more.
"""

import asyncio
from collections.abc import Callable

LOOK_SECONDS = 2.0  # between two looks, while anybody with a token is inside
_Task = asyncio.Task[None]


class TokenValidity:
    def __init__(self, is_valid: Callable[[str], bool], seconds: float = LOOK_SECONDS) -> None:
        self._is_valid, self._seconds = is_valid, seconds
        self._inside: dict[_Task, str] = {}  # who shows which token
        self._over: set[_Task] = set()
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, task: _Task, token: str) -> None:
        self._inside[task] = token
        if self._timer is None:
            loop = task.get_loop()
            self._timer = loop.call_later(self._seconds, self._look_again, loop)

    def end(self, task: _Task) -> None:
        self._inside.pop(task, None)
        self._over.discard(task)

    def is_over(self, task: _Task) -> bool:
        return task in self._over

    def look(self) -> None:
        """End every request whose token is not valid any more."""
        valid = {token: self._is_valid(token) for token in set(self._inside.values())}
        for task, token in self._inside.items():
            if not valid[token] and task not in self._over:
                self._over.add(task)
                task.cancel()

    def _look_again(self, loop: asyncio.AbstractEventLoop) -> None:
        self.look()
        self._timer = loop.call_later(self._seconds, self._look_again, loop) if self._inside else None

"""Answer of a transaction that ran when it was submitted, in a store that has no queue."""

from collections.abc import Callable, Generator
from typing import Generic, TypeVar

T = TypeVar("T")


class Completed(Generic[T]):
    """An awaitable that makes a call at once, and gives its answer or raises its error when it is awaited.

    A coroutine would make the call only when it is awaited, and decisions would run in the order in which their callers
    wait for them.
    """

    __slots__ = ("_answer", "_error")

    def __init__(self, call: Callable[[], T]) -> None:
        self._error: Exception | None = None
        try:
            self._answer = call()
        except Exception as error:
            self._error = error

    def __await__(self) -> Generator[None, None, T]:
        yield from ()  # it never waits
        if self._error is not None:
            raise self._error
        return self._answer

"""The bus: its verbs over a store, written as coroutines.

Over a store that blocks, such a coroutine never has to wait: `run_sync` runs it without an event loop, a thread or an
import.
"""

from collections.abc import AsyncGenerator, Coroutine, Iterator
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")


def run_sync(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never has to wait."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    return _stop(coroutine)


def iterate_sync(stream: AsyncGenerator[T, None]) -> Iterator[T]:
    """Iterate over an async generator that never has to wait. It is closed with the iterator."""
    step: Any = stream.__anext__
    try:
        while True:
            turn = step()
            try:
                turn.send(None)  # a third of the cost of `run_sync(anext(stream))`: a log has many events
            except StopIteration as end:
                item: T = end.value
            except StopAsyncIteration:
                return
            else:
                _stop(turn)
            yield item
    finally:
        # A generator that is still waiting cannot be closed, and that error would hide the assertion.
        if not getattr(stream, "ag_running", False):
            run_sync(stream.aclose())


def _stop(waiting: Any) -> NoReturn:
    """Raise the assertion inside the coroutine, which releases what it holds, and here whatever it does with it."""
    mistake = AssertionError("a blocking bus never waits for an event loop")
    try:
        waiting.throw(mistake)
    finally:
        raise mistake


class LazyModule:
    """A module that is imported by the first use of one of its names: a cold `telex send` needs few of them."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._module: Any = None

    def __getattr__(self, attribute: str) -> Any:
        if self._module is None:
            self._module = __import__(self._name, fromlist=(attribute,))
        return getattr(self._module, attribute)

"""How does a coroutine run that never has to wait? It is pushed once; no loop, no thread, and nothing to import."""

from collections.abc import AsyncGenerator, Coroutine, Iterator
from typing import Any, TypeVar

T = TypeVar("T")


def drive(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never has to wait for a loop."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        done: T = end.value
        return done
    coroutine.close()
    raise AssertionError("a blocking bus never waits for an event loop")


def driven(stream: AsyncGenerator[T, None]) -> Iterator[T]:
    """What an async generator gives that never has to wait for a loop. Whoever looks away closes it."""
    step: Any = stream.__anext__
    try:
        while True:
            try:
                step().send(None)  # as `drive(anext(stream))` would, at a third of the cost: a record has many events
            except StopIteration as end:
                one: T = end.value
            except StopAsyncIteration:
                return
            else:
                raise AssertionError("a blocking bus never waits for an event loop")
            yield one
    finally:
        drive(stream.aclose())

"""Runner of coroutines that never wait: one `send(None)`, without an event loop, a thread or an import."""

from collections.abc import AsyncGenerator, Coroutine, Iterator
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")


def run_sync(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never has to wait for a loop."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        done: T = end.value
        return done
    return _stop(coroutine)


def iterate_sync(stream: AsyncGenerator[T, None]) -> Iterator[T]:
    """What an async generator gives that never has to wait for a loop. Whoever looks away closes it."""
    step: Any = stream.__anext__
    try:
        while True:
            turn = step()
            try:
                turn.send(None)  # as `drive(anext(stream))` would, at a third of the cost: a record has many events
            except StopIteration as end:
                one: T = end.value
            except StopAsyncIteration:
                return
            else:
                _stop(turn)
            yield one
    finally:
        # One that waits even now cannot be closed, and to be told that would hide the mistake.
        if not getattr(stream, "ag_running", False):
            run_sync(stream.aclose())


def _stop(waiting: Any) -> NoReturn:
    """Our own mistake: it waits. It is told so where it does, which lays down what it holds and shows the place; and
    it is said here whatever it makes of that."""
    mistake = AssertionError("a blocking bus never waits for an event loop")
    try:
        waiting.throw(mistake)
    finally:
        raise mistake

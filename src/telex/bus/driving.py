"""How does a coroutine run that never has to wait? It is pushed once; no loop, no thread, and nothing to import."""

from collections.abc import Coroutine
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

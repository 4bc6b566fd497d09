"""Blocking bus: the methods of `ports.bus.Bus` for a program without an event loop.

A blocking store and clock never yield, so a coroutine over them runs to its end in one step: no loop, no thread, no
import. Each thread opens its own bus. The methods are made from `Bus` at import; their types are in `client.pyi`, which
`python -m telex.generate` writes.
"""

from collections.abc import Callable
from typing import Any

from telex.bus import iterate_sync, run_sync
from telex.ports.bus import Bus

VERBS = {name: verb for name, verb in vars(Bus).items() if not name.startswith("_")}


def add_verbs(kind: type, make: Callable[[str], Any]) -> None:
    """Add each method of `Bus` that the class does not define, with the docstring and signature of `Bus`."""
    for name, verb in VERBS.items():
        if name not in vars(kind):
            method = make(name)
            method.__name__, method.__qualname__ = name, f"{kind.__name__}.{name}"
            method.__doc__, method.__wrapped__ = verb.__doc__, verb
            setattr(kind, name, method)


class SyncBus:
    """See `telex.ports.bus.Bus` for what each method does."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    @property
    def awaitable(self) -> Bus:
        """The same bus with methods to be awaited; `run_sync` runs a coroutine over them."""
        return self._bus


def _blocking(name: str) -> Callable[..., Any]:
    run: Any = iterate_sync if name == "events" else run_sync

    def method(self: SyncBus, *args: Any, **kwargs: Any) -> Any:
        return run(getattr(self._bus, name)(*args, **kwargs))

    return method


add_verbs(SyncBus, _blocking)

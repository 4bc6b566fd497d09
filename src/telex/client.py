"""Blocking bus: the methods of `ports.bus.Bus` for a program without an event loop.

A blocking store and clock never yield, so a coroutine over them runs to its end in one step: no loop, no thread, no
import. Each thread opens its own bus. The methods are made from `Bus`; their types are in `client.pyi`, which
`python -m telex.generate` writes. `SyncAgent` and `SyncLease` are imported from `sync_agent` on first use.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from telex.bus import iterate_sync, run_sync
from telex.ports.bus import Bus

if TYPE_CHECKING:
    from telex.sync_agent import SyncAgent
    from telex.validation.check import CheckPolicy


def methods_of(kind: type) -> dict[str, Any]:
    return {name: method for name, method in vars(kind).items() if not name.startswith("_") and callable(method)}


VERBS = methods_of(Bus)


def add_verbs(kind: type, make: Callable[[str], Any], verbs: Mapping[str, Any] = VERBS) -> None:
    """Add each of these methods that the class does not define, with its docstring and signature."""
    for name, verb in verbs.items():
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

    @property
    def policy(self) -> "CheckPolicy":
        return self._bus.policy

    def agent(self, name: str, *, role: str | None = None) -> "SyncAgent":
        from telex.sync_agent import SyncAgent

        return SyncAgent(self._bus.agent(name, role=role))


def blocking(name: str) -> Callable[..., Any]:
    run: Any = iterate_sync if name == "events" else run_sync

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return run(getattr(self.awaitable, name)(*args, **kwargs))

    return method


add_verbs(SyncBus, blocking)


def __getattr__(name: str) -> Any:
    if name not in ("SyncAgent", "SyncLease"):
        raise AttributeError(f"module 'telex.client' has no attribute {name!r}")
    from telex import sync_agent

    return getattr(sync_agent, name)

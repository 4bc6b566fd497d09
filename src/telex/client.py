"""Blocking bus: the methods of `ports.bus.Bus`, and of an agent and its leases, for a program without an event loop.

A blocking store and clock never yield, so a coroutine over them runs to its end in one step: no loop, no thread, no
import. Each thread opens its own bus. The methods are made from `Bus`, `Agent` and `Lease`; their types are in
`client.pyi`, which `python -m telex.generate` writes.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from telex.agent import WAIT_SECONDS, Agent, Lease
from telex.bus import iterate_sync, run_sync
from telex.ports.bus import Bus

if TYPE_CHECKING:
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
        return SyncAgent(self._bus.agent(name, role=role))


class SyncLease:
    """See `telex.agent.Lease` for what each method does. Nothing extends it meanwhile."""

    def __init__(self, lease: Lease) -> None:
        self.awaitable = lease

    def __getattr__(self, name: str) -> Any:
        return getattr(self.awaitable, name)


class SyncAgent:
    """See `telex.agent.Agent` for what each method does."""

    def __init__(self, agent: Agent) -> None:
        self.awaitable = agent
        self.name, self.role = agent.name, agent.role

    def receive(self, limit: int = 1, wait: float = 0.0, lease: float | None = None) -> list[SyncLease]:
        return [SyncLease(received) for received in run_sync(self.awaitable.receive(limit, wait, lease))]

    def listen(self, *, limit: int = 1, lease: float | None = None) -> Iterator[SyncLease]:
        """Received messages, without end. Their leases are not extended: ack in time, or call `extend`."""
        while True:
            yield from self.receive(limit, WAIT_SECONDS, lease)


def _blocking(name: str) -> Callable[..., Any]:
    run: Any = iterate_sync if name == "events" else run_sync

    def method(self: SyncBus | SyncAgent | SyncLease, *args: Any, **kwargs: Any) -> Any:
        return run(getattr(self.awaitable, name)(*args, **kwargs))

    return method


add_verbs(SyncBus, _blocking)
add_verbs(SyncAgent, _blocking, methods_of(Agent))
add_verbs(SyncLease, _blocking, methods_of(Lease))

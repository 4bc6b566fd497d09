"""Store wrapper that runs every decision twice: once in a transaction that is undone, then for real.

A store may run a decision again, after a rollback or in another process. A decision that changes anything but its
transaction and the registered caches then gives another answer, or leaves something behind. A bus on this store must
behave as on the store inside. It uses nothing but the contract: a decision that raises leaves nothing.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

from telex.ports.store import Store, Transaction

T = TypeVar("T")
Transact = Callable[..., Awaitable[T]]


class _Undo(Exception):
    """Raised at the end of the first run."""


def decide_twice(transaction: Transact[T], decide: Callable[[Transaction], T], **options: Any) -> Awaitable[T]:
    """Submit both runs of a decision. The answer is that of the second."""

    def rehearse(tx: Transaction) -> T:
        decide(tx)
        raise _Undo

    return _second(transaction(rehearse, **options), transaction(decide, **options))


async def _second(rehearsed: Awaitable[T], decided: Awaitable[T]) -> T:
    with suppress(Exception):  # an error of the decision itself comes from the second run too
        await rehearsed
    return await decided


class DecideTwice:
    """A store whose transaction() runs every decision twice."""

    def __init__(self, store: Store) -> None:
        self.inner = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def transaction(self, decide: Callable[[Transaction], T], **options: Any) -> Awaitable[T]:
        return decide_twice(self.inner.transaction, decide, **options)

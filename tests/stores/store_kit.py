"""What tests of stores share: messages to be stored, a disk that is full once, an act just before a transaction."""

from collections.abc import Awaitable, Callable
from typing import Any

import apsw
import pytest

from telex.bus import run_sync
from telex.model.message import NewMessage
from telex.model.text import digest_of
from telex.ports.store import Store
from telex.stores.sqlite.transaction import SqliteTransaction
from telex.testing.contract_base import append

NOW = 1_790_000_000.0
SINCE = NOW - 3600.0


def entry(id_: str, to: str = "lead") -> NewMessage:
    raw = b"all is well"
    return NewMessage(id_, NOW, "dev", "dev", to, None, None, 3, None, None, digest_of(raw), raw, (to,))


def outcomes(store: Store, *messages: NewMessage, inbox_max: int | None = None) -> list[str]:
    """What becomes of these messages, which are sent in one transaction."""
    results = run_sync(append(store, messages, dedup_since=SINCE, inbox_max=inbox_max))
    return [result.outcome for result in results]


def full_at_first(commit: Any) -> Any:
    """In place of `SqliteTransaction.commit`: the first transaction is undone at its end, the next finds room."""
    tried: list[SqliteTransaction] = []

    def committing(tx: SqliteTransaction) -> None:
        commit(tx)
        tried.append(tx)
        if len(tried) == 1:
            raise apsw.FullError("no room")

    return committing


def before_next_transaction(patch: pytest.MonkeyPatch, store: Store, act: Callable[[], object]) -> None:
    """What its caller knows was read before this; what its decision reads comes after it."""
    transaction = store.transaction

    def late(decide: Callable[[Any], Any], **how: Any) -> Awaitable[Any]:
        patch.setattr(store, "transaction", transaction)
        act()
        return transaction(decide, **how)

    patch.setattr(store, "transaction", late)

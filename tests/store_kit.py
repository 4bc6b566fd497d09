"""What tests of the store on disk share: a message to be kept, and a disk that is full once."""

from typing import Any

import apsw

from telex.model.digest import digest_of
from telex.model.message import NewMessage
from telex.stores.sqlite.batch import Batch

NOW = 1_790_000_000.0


def entry(id_: str, to: str = "lead", inbox_max: int | None = None) -> NewMessage:
    raw = b"all is well"
    first = (id_, NOW, "dev", "dev", to, None, None, 3, None, None, digest_of(raw), raw, (to,))
    return NewMessage(*first, dedup_since=NOW - 3600.0, inbox_max=inbox_max)


def full_at_first(write: Any) -> Any:
    """In place of `Batch.write`: the first transaction is undone at its end, the next finds room."""
    tried: list[Batch] = []

    def writing(batch: Batch) -> None:
        write(batch)
        tried.append(batch)
        if len(tried) == 1:
            raise apsw.FullError("no room")

    return writing

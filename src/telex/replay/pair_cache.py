"""What was found out about those who speak to each other, so that it need not be found out anew with every message?

There may be more of them than anybody should remember, and what one sends to everybody names thousands of inboxes. Once
it is too much, all is forgotten: those who still speak are soon known again.
"""

from typing import TypeVar

ENTRIES_MAX = 4_096
INBOXES_MAX = 200_000  # in all entries together

K = TypeVar("K")
V = TypeVar("V")


class PairCache(dict[K, V]):
    inboxes = 0  # in what is remembered

    def keep(self, key: K, found: V, inboxes: int) -> None:
        """`inboxes`: how many of them it names."""
        if len(self) >= ENTRIES_MAX or self.inboxes + inboxes > INBOXES_MAX:
            self.clear()
        self[key] = found
        self.inboxes += inboxes

    def clear(self) -> None:
        super().clear()
        self.inboxes = 0

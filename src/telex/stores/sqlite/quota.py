"""Inbox quota: how many messages may still be put into each inbox before its deliveries are counted again."""

from collections.abc import Iterable
from typing import Protocol

UNCOUNTED_SHARE = 16  # one in so many free places may be taken after other processes wrote, without counting again


class InboxCounter(Protocol):
    """The write transaction, as far as a quota needs it."""

    @property
    def data_version(self) -> int: ...

    def count_open(self, inbox: str) -> int: ...


class InboxQuota:
    """Counting a deep inbox for every send would cost more than the send itself.

    A count stays exact as long as this process alone writes. After other processes wrote, each process may use a
    sixteenth of the places that were free at its last count before it counts again. Near the limit that is none, and
    every send counts.
    """

    def __init__(self) -> None:
        self._used: dict[str, int] = {}  # at the last count, and by this process since
        self._counted_at: dict[str, int] = {}  # the file's data version at the last count
        self._uncounted: dict[str, int] = {}  # places that may be used without counting, whatever others write

    def has_room(self, counter: InboxCounter, inbox: str, limit: int) -> bool:
        """Is there room for one more message?"""
        if self._uncounted.get(inbox, 0) > 0:
            return True
        if self._used.get(inbox, 0) < limit and self._counted_at.get(inbox) == counter.data_version:
            return True
        used = self._used[inbox] = counter.count_open(inbox)
        self._uncounted[inbox] = max(0, limit - used) // UNCOUNTED_SHARE
        self._counted_at[inbox] = counter.data_version
        return used < limit

    def add(self, inboxes: Iterable[str]) -> None:
        """A message was put into these inboxes, whether room was asked for or not."""
        for inbox in inboxes:
            if inbox in self._used:
                self._used[inbox] += 1
                self._uncounted[inbox] -= 1

    def recount(self) -> None:
        """Messages were taken back: count before relying on the counts again."""
        self._counted_at.clear()

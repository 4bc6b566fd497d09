"""Inbox quota: how many messages may still be put into each inbox before its deliveries are counted again."""

from typing import Protocol

UNCOUNTED_SHARE = 16  # one in so many free places may be taken after other processes wrote, without counting again


class InboxCounter(Protocol):
    """The write transaction, as far as a quota needs it."""

    @property
    def data_version(self) -> int: ...

    def count_open(self, inbox: str) -> int: ...


class InboxQuota:
    """Counting a deep inbox for every send would cost more than the send itself.

    A count stays exact as long as this process alone writes and reserves every place. After other processes wrote, each
    process may use a sixteenth of the places that were free at its last count before it counts again. Near the limit
    that is none, and every send counts.
    """

    def __init__(self) -> None:
        self._used: dict[str, int] = {}  # at the last count, and reserved since
        self._counted_at: dict[str, int] = {}  # the file's data version at the last count
        self._uncounted: dict[str, int] = {}  # places that may be reserved without counting, whatever others write

    def reserve(self, counter: "InboxCounter", inbox: str, limit: int) -> bool:
        """Reserve one place, if there is one."""
        used, uncounted = self._used.get(inbox, 0), self._uncounted.get(inbox, 0)
        if uncounted < 1 and (used >= limit or self._counted_at.get(inbox) != counter.data_version):
            used = counter.count_open(inbox)
            uncounted = max(0, limit - used) // UNCOUNTED_SHARE
            self._counted_at[inbox] = counter.data_version
            self._used[inbox], self._uncounted[inbox] = used, uncounted
            if used >= limit:
                return False
        self._used[inbox] = used + 1
        self._uncounted[inbox] = max(0, uncounted - 1)
        return True

    def recount(self) -> None:
        """Something was put into an inbox without a reservation, or a reservation was dropped: count before relying on
        the counts again."""
        self._counted_at.clear()

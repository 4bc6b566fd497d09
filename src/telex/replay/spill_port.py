"""Where does a replay put what shall not be in memory? What it asks of whoever keeps that, under names, for a while."""

from collections.abc import Iterable, Iterator
from typing import Protocol


class SpillPort(Protocol):
    def put(self, things: Iterable[tuple[str, bytes]]) -> bool:
        """All of these, or none. False: there is no room for them."""

    def get(self, name: str) -> bytes | None:
        """What was last put there under this name."""

    def each(self, name: str) -> Iterator[bytes]:
        """Everything that was ever put there under this name, the last first."""

    def items(self) -> Iterator[tuple[str, bytes]]:
        """All that is there, in the order in which it was put: of one name, the last holds."""

"""Turns to write: which hub writes next. A hint that avoids conflicts; nothing depends on it.

The hub that wrote last has the turn, unless its batch names another one. A hub asks the holder for it, and gets it
together with the list of hubs that wait behind it: in the next batch if the holder knew of it when it decided that, or
with a message after the batch that was being published. A hub that gets no answer takes the turn: if the old holder
still writes, one of the two batches fails its condition and is decided again.

A turn is one batch, or up to four while they are large: the other hubs apply one while the next one is published.

Batches and messages reach a hub in any order. What a hub knows about the turn therefore has a version, and earlier
knowledge never replaces later knowledge. A hub that is asked and knows a later holder answers with that.
"""

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from telex.model.named_tuple import NamedTuple

ASK_AGAIN_SECONDS = 0.2  # without an answer: asks again, which also shows whether the holder is still connected
SILENCE_SECONDS = 1.0  # without any new batch: takes the turn
WAIT_SECONDS = 3.0  # takes the turn in any case


class Version(NamedTuple):
    position: int  # of the last batch
    grants: int = 0  # messages that have given the turn away since


class TurnMessage(msgspec.Struct, array_like=True, frozen=True):
    kind: Literal["ask", "holder"]
    node: str  # who asks; for `holder`, who has the turn
    position: int  # the version that the sender knows
    grants: int
    waiting: tuple[str, ...] = ()  # hubs that wait behind the holder

    @property
    def version(self) -> Version:
        return Version(self.position, self.grants)


Send = Callable[[str, TurnMessage], None]  # to a node


class Turn:
    """The turn as one hub sees it. `now` is monotonic time."""

    def __init__(self, node: str, send: Send) -> None:
        self._node, self._send = node, send
        self.holder = ""  # empty: no hub has written yet
        self._version = Version(0)
        self._waiting: dict[str, Version] = {}  # hubs that have asked this one, and what they knew; in order
        self._asked: str | None = None  # this hub waits for the turn, and that one knows it
        self._asked_at = self._since = self._heard_at = 0.0

    @property
    def _is_holder(self) -> bool:
        return self.holder in ("", self._node)

    def is_mine(self, position: int) -> bool:
        return self._is_holder and position >= self._version.position

    def ask(self, now: float) -> None:
        """This hub has something to write, and another one has the turn."""
        if self._is_holder or self._asked is not None:
            return
        self._since = self._heard_at = now
        self._ask(now)

    def _ask(self, now: float) -> None:
        self._asked, self._asked_at = self.holder, now
        self._send(self.holder, TurnMessage("ask", self._node, *self._version))

    def check(self, now: float) -> None:
        """Called periodically while this hub waits for its turn."""
        if self._asked is None:
            return
        if now - max(self._heard_at, self._since) > SILENCE_SECONDS or now - self._since > WAIT_SECONDS:
            self.take()
        elif now - self._asked_at > ASK_AGAIN_SECONDS:
            self._ask(now)

    def take(self) -> None:
        position, grants = self._version
        self.holder, self._asked, self._version = self._node, None, Version(position, grants + 1)

    def absent(self, node: str) -> None:
        """That hub is not connected any more."""
        if self._asked is not None and node == self.holder:
            self.take()

    def receive(self, message: TurnMessage, now: float) -> None:
        if message.kind == "holder":
            self._learn(message.version, message.node, message.waiting, now)
        elif self._is_holder or message.version > self._version:  # the turn is on its way to this hub
            self._waiting[message.node] = message.version
        else:
            self._refer(message.node)

    def _refer(self, node: str) -> None:
        self._send(node, TurnMessage("holder", self.holder, *self._version))

    def written(self, node: str, position: int, now: float, named: tuple[str, ...] = ()) -> None:
        """A hub has written, and named these in its batch: the first has the turn, else the writer."""
        self._heard_at = now
        holder, *waiting = named or (node,)
        self._learn(Version(position), holder, waiting, now)

    def _learn(self, version: Version, holder: str, waiting: Sequence[str], now: float) -> None:
        if version > self._version:
            self._version, self.holder = version, holder
            if not self._is_holder:
                self._wait(waiting, now)
        if version == self._version and self._is_holder:  # also if a hub has told it before, without those who wait
            self._asked = None
            self._waiting = {**dict.fromkeys(waiting, version), **self._waiting}
            self._waiting.pop(self._node, None)

    def _wait(self, waiting: Sequence[str], now: float) -> None:
        """Another hub has the turn, and these wait behind it. Those that had asked this one before are referred."""
        for node in [node for node, known in self._waiting.items() if known <= self._version]:
            del self._waiting[node]
            if node not in (self.holder, *waiting):
                self._refer(node)
        if self._node in waiting:
            if self._asked is None:
                self._since = now
            self._asked, self._asked_at = self.holder, now
        elif self._asked is not None:
            self._ask(now)

    def following(self, *, has_more: bool, keeps: bool = False) -> tuple[str, ...]:
        """Nodes to name in the next batch of this hub. `has_more`: it expects to write again soon; `keeps`: it also
        writes the batch after that."""
        if not self._waiting or not (has_more or keeps):
            return tuple(self._waiting)
        return (self._node, *self._waiting) if keeps else (*self._waiting, self._node)

    def pass_on(self, now: float, *, has_more: bool = False) -> bool:
        """No batch is being published: grant the turn to the next hub that waits, if there is one. `has_more`: this one
        wants it back after the others."""
        if not self._waiting or not self._is_holder:
            return False
        holder, *waiting = self.following(has_more=has_more)
        self._waiting = {}
        position, grants = self._version
        self._learn(Version(position, grants + 1), holder, waiting, now)
        self._send(holder, TurnMessage("holder", holder, *self._version, tuple(waiting)))
        return True

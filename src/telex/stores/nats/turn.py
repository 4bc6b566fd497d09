"""Turns to write: which hub writes next. A hint that avoids conflicts; nothing depends on it.

The hub that wrote last has the turn, unless its batch names another one. A hub asks the holder for it and gets it with
the next batch, or with a message if none is being written, together with the list of hubs that wait behind it. A hub
that gets no answer takes the turn: if the old holder still writes, one of the two batches fails its condition and is
decided again.
"""

from collections.abc import Callable, Iterable
from typing import Literal

import msgspec

ASK_AGAIN_SECONDS = 0.2  # without an answer: asks again, which also shows whether the holder is still connected
SILENCE_SECONDS = 1.0  # without any new batch: takes the turn
WAIT_SECONDS = 3.0  # takes the turn in any case


class TurnMessage(msgspec.Struct, array_like=True, frozen=True):
    kind: Literal["ask", "grant", "refer"]
    node: str  # who asks or grants; for `refer`, who has the turn instead
    position: int = 0  # the receiver of a grant writes on top of this entry
    waiting: tuple[str, ...] = ()  # hubs that wait behind the receiver of a grant


Send = Callable[[str, TurnMessage], None]  # to a node


class Turn:
    """The turn as one hub sees it. `now` is monotonic time."""

    def __init__(self, node: str, send: Send) -> None:
        self._node, self._send = node, send
        self.holder = ""  # empty: nobody has written yet
        self._granted_at = 0  # position of the last grant that was given or received
        self._waiting: list[str] = []  # hubs that have asked this one
        self._asked: str | None = None
        self._asked_at = self._since = self._heard_at = 0.0

    def is_mine(self, position: int) -> bool:
        return self.holder in ("", self._node) and position >= self._granted_at

    def ask(self, now: float) -> None:
        """This hub has something to write, and another one has the turn."""
        if self.holder in ("", self._node):
            return
        if self._asked is None:
            self._since = self._heard_at = now
        if self._asked != self.holder:
            self._ask(now)

    def _ask(self, now: float) -> None:
        self._asked, self._asked_at = self.holder, now
        self._send(self.holder, TurnMessage("ask", self._node))

    def check(self, now: float) -> None:
        """To be called now and then while this hub waits for its turn."""
        if self._asked is None:
            return
        if now - max(self._heard_at, self._since) > SILENCE_SECONDS or now - self._since > WAIT_SECONDS:
            self.take()
        elif now - self._asked_at > ASK_AGAIN_SECONDS:
            self._ask(now)

    def take(self) -> None:
        self.holder, self._asked, self._granted_at = self._node, None, 0

    def absent(self, node: str) -> None:
        """That hub is not connected any more."""
        if self._asked == node == self.holder:
            self.take()

    def receive(self, message: TurnMessage, now: float) -> None:
        match message.kind:
            case "ask" if self.holder in ("", self._node, message.node):  # its batch that names this hub is on the way
                if message.node not in self._waiting:
                    self._waiting.append(message.node)
            case "ask":
                self._send(message.node, TurnMessage("refer", self.holder))
            case "grant":
                self._accept(message.position, message.waiting)
            case "refer" if self._asked is not None and message.node not in ("", self._node, self._asked):
                self.holder = message.node
                self._ask(now)

    def written(self, node: str, position: int, now: float, named: tuple[str, ...] = ()) -> None:
        """Another hub has written, and named these in its batch: the first has the turn, else the writer."""
        self._heard_at = now
        if position <= self._granted_at:
            return
        self.holder, *waiting = named or (node,)
        if self.holder == self._node:
            self._accept(position, waiting)
        elif self._asked is not None and named and self._node not in waiting:
            self._ask(now)  # the writer had not heard of it yet
        elif self._asked is not None and self._asked != self.holder:
            self._asked, self._asked_at = self.holder, now  # our place in the list of waiting hubs travels with it

    def _accept(self, position: int, waiting: Iterable[str]) -> None:
        self.holder, self._asked, self._granted_at = self._node, None, position
        self._waiting = [node for node in dict.fromkeys((*waiting, *self._waiting)) if node != self._node]

    def following(self, *, has_more: bool) -> tuple[str, ...]:
        """Nodes to name in the next batch of this hub. `has_more`: it expects to write again soon."""
        return (*self._waiting, self._node) if self._waiting and has_more else tuple(self._waiting)

    def pass_on(self, position: int, now: float) -> bool:
        """This hub has nothing to write: grant the turn to the next one that waits, if there is one."""
        if not self._waiting or self.holder not in ("", self._node):
            return False
        named = tuple(self._waiting)
        self.passed(named, position, now)
        self._send(named[0], TurnMessage("grant", self._node, position, named[1:]))
        return True

    def passed(self, named: tuple[str, ...], position: int, now: float) -> None:
        """This hub has granted the turn to the first of these. One that has asked since then asks that one."""
        has_more = self._node in named
        self._waiting = []
        if has_more:
            self._since = self._heard_at = now
        self._asked, self._asked_at = named[0] if has_more else None, now
        self.holder, self._granted_at = named[0], position

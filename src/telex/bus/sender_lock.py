"""In which order are one sender's messages kept? In the order in which it sends them, though it wait for none of them.

Most messages are kept at once, one behind the other. One that means something to the work is weighed, perhaps more than
once, and what its sender says after it must not overtake it: the report would come before the plan. So while such a
message is under way, its sender's later ones wait. Those of others do not.
"""

from collections import deque

from telex.validation.authorization import normalised

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio


MORE_AT_ONCE = 4  # times as many are told as the last time, when all of those could go on


class SenderQueue:
    """Of one sender: the message under way, and those behind it."""

    def __init__(self) -> None:
        self.is_taken = False
        self.is_moving = False  # some who waited were told to go on, and will in this turn of the loop
        self.at_once = 1  # how many are told next: if the first takes the turn, the others were told for nothing
        self.again: deque[asyncio.Future[None]] = deque()  # told to go on, when one ahead of them took the turn
        self.waiting: deque[asyncio.Future[None]] = deque()

    async def free(self) -> None:
        while self.is_taken:
            await _told(self.again)

    def first(self) -> "list[asyncio.Future[None]]":
        """Those who are told to go on next, out of those who wait."""
        self.waiting.extendleft(reversed(self.again))  # they are ahead of those whom nobody has told yet
        self.again.clear()
        found: list[asyncio.Future[None]] = []
        while self.waiting and len(found) < self.at_once:
            one = self.waiting.popleft()
            if not one.done():  # a caller may be gone
                found.append(one)
        return found


class SenderLock:
    """Whoever has waited goes on without waiting for anything else until it takes its turn or is kept: only so do those
    who are told to go on at once stay in order."""

    def __init__(self) -> None:
        self._lines: dict[str, SenderQueue] = {}  # by sender that has a message under way

    def is_taken(self, sender: str) -> bool:
        return bool(self._lines) and normalised(sender) in self._lines

    async def wait(self, sender: str) -> None:
        """Until nothing that this sender sent before is under way. Only where an event loop runs can anything be."""
        line = self._lines.get(normalised(sender)) if self._lines else None
        if line is not None:
            await _told(line.waiting)
            await line.free()

    async def acquire(self, sender: str) -> None:
        """To be called by whoever has waited."""
        line = self._lines.setdefault(normalised(sender), SenderQueue())
        await line.free()
        line.is_taken = True

    def release(self, sender: str) -> None:
        name = normalised(sender)
        self._lines[name].is_taken = False
        if not self._lines[name].is_moving:
            self._go_on(name)

    def _go_on(self, name: str) -> None:
        """Tell those who wait. Whoever comes before they have gone on is behind them, and waits until then."""
        line = self._lines[name]
        line.is_moving = False
        if line.is_taken:
            line.at_once = 1
            return
        told = line.first()
        if not told:
            del self._lines[name]
            return
        for over in told:
            over.set_result(None)
        line.at_once *= MORE_AT_ONCE
        line.is_moving = True
        told[0].get_loop().call_soon(self._go_on, name)


async def _told(line: "deque[asyncio.Future[None]]") -> None:
    import asyncio

    over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    line.append(over)
    await over

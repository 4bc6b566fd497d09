"""In which order are one sender's messages kept? In the order in which it sends them, though it wait for none of them.

Most messages are kept at once, one behind the other. One that means something to the work is weighed, perhaps more than
once, and what its sender says after it must not overtake it: the report would come before the plan. So while such a
message is under way, its sender's later ones wait. Those of others do not.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio


class Turns:
    def __init__(self) -> None:
        self._waiting: dict[str, list[asyncio.Future[None]]] = {}  # by sender that has a message under way

    def is_taken(self, sender: str) -> bool:
        return sender in self._waiting

    async def wait(self, sender: str) -> None:
        """Until nothing of this sender is under way. Only where an event loop runs can anything be."""
        while (others := self._waiting.get(sender)) is not None:
            import asyncio

            over = asyncio.get_running_loop().create_future()
            others.append(over)
            await over

    async def take(self, sender: str) -> None:
        await self.wait(sender)
        self._waiting[sender] = []

    def give_up(self, sender: str) -> None:
        for over in self._waiting.pop(sender):
            if not over.done():  # its caller may be gone
                over.set_result(None)

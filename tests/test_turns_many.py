"""Are many messages of one sender, some weighed and some not, kept in the order in which they were sent?

Those who wait are told to go on a few at a time. Of the few, those behind one that takes its turn wait again, and they
are still ahead of everybody who was not told yet.
"""

import asyncio
import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

import telex
from telex.bus.sender_lock import SenderLock
from telex.config import Settings
from telex.ports.bus import Bus
from telex.ports.store import Query
from tests.contract_team import contract
from tests.proofs import proves

TAKES, GOES_ON = True, False  # a message that is weighed, and one that is kept at once
LINE = [TAKES, *[GOES_ON] * 5, TAKES, GOES_ON, TAKES, *[GOES_ON] * 3, TAKES]


@proves("bus/order/sender")
def test_a_plan_is_not_overtaken_by_notes_nor_notes_by_a_plan(tmp_path: Path) -> None:
    async def sent_and_kept() -> tuple[list[str], list[str]]:
        async with telex.connect(tmp_path / "telex.db", settings=Settings()) as bus:
            await bus.join("dev", role="dev")
            await bus.join("lead", role="lead")
            sent = await asyncio.gather(*(_send(bus, number, takes) for number, takes in enumerate(LINE)))
            events = bus.events(Query(kinds=("accepted",)))
            return sent, [message.id async for _, message in events if message is not None]

    sent, kept = asyncio.run(sent_and_kept())
    assert kept == sent


async def _send(bus: Bus, number: int, takes: bool) -> str:
    raw = json.dumps(contract(f"P{number}")).encode() if takes else f"note {number}".encode()
    receipt = await bus.send(raw, sender="lead", to="dev", id=None if takes else f"note-{number}")
    assert receipt.accepted, receipt.findings
    return receipt.id


@proves("bus/order/sender")
@given(st.lists(st.integers(0, 8), min_size=3, max_size=12), st.lists(st.integers(0, 99), max_size=6))
def test_whoever_is_told_a_second_time_is_still_ahead_of_those_behind(notes: list[int], called_off: list[int]) -> None:
    """So many notes before each plan; some of the callers are gone while they wait."""
    line, kept = [one for count in notes for one in (*[GOES_ON] * count, TAKES)], list[int]()

    async def send(turns: SenderLock, number: int, takes: bool) -> None:
        await turns.wait("dev")
        if not takes:
            kept.append(number)
            return
        await turns.acquire("dev")
        try:
            await asyncio.sleep(0)
            kept.append(number)
        finally:
            turns.release("dev")

    async def work() -> bool:
        turns = SenderLock()
        tasks = [asyncio.ensure_future(send(turns, *one)) for one in enumerate([TAKES, *line])]
        await asyncio.sleep(0)
        for number in called_off:
            tasks[min(number, len(line))].cancel()
        await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 10.0)
        await asyncio.sleep(0)
        return turns.is_taken("dev")

    assert not asyncio.run(work()), "nothing is under way any more"
    assert kept == sorted(kept)
    assert set(range(len(line) + 1)) - set(kept) <= {min(number, len(line)) for number in called_off}

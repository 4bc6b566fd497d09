"""Is a viewer let go at whatever moment it leaves?"""

import asyncio

import pytest

from telex.surfaces.http.stream import Chunk, Listener
from tests.proofs import proves


@proves("http/live/leaving")
@pytest.mark.parametrize("steps", range(5))
def test_who_leaves_just_as_news_comes_is_let_go(steps: int) -> None:
    """`steps` turns of the loop after the news."""

    async def watched(listener: Listener) -> None:
        while True:
            await listener.next(60.0)

    async def left() -> bool:
        listener = Listener(1_000)
        viewer = asyncio.ensure_future(watched(listener))
        for _ in range(3):
            await asyncio.sleep(0)
        listener.give(Chunk(1, 1, b"x"))
        for _ in range(steps):
            await asyncio.sleep(0)
        viewer.cancel()
        done, _ = await asyncio.wait((viewer,), timeout=5.0)
        viewer.cancel()
        return bool(done)

    assert asyncio.run(left())

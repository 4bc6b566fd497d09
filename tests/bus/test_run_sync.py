"""Is it seen when a blocking bus is made to wait, whatever it waits in? That is a mistake of our own."""

from collections.abc import AsyncGenerator, Callable, Generator

import pytest

from telex.bus import iterate_sync, run_sync
from tests.proofs import proves


class Waiting:
    def __await__(self) -> Generator[None, None, None]:
        yield


async def at_once() -> AsyncGenerator[int, None]:
    await Waiting()
    yield 1


async def after_the_first() -> AsyncGenerator[int, None]:
    yield 1
    await Waiting()


async def when_it_is_told_so() -> AsyncGenerator[int, None]:
    yield 1
    try:
        await Waiting()
    finally:
        await Waiting()


async def whatever_it_is_told() -> AsyncGenerator[int, None]:
    yield 1
    try:
        await Waiting()
    except AssertionError:
        yield 2


@proves("bus/never-waits")
@pytest.mark.parametrize("stream", [at_once, after_the_first, when_it_is_told_so, whatever_it_is_told])
def test_a_stream_that_waits_is_said_to(stream: Callable[[], AsyncGenerator[int, None]]) -> None:
    with pytest.raises(AssertionError, match="never waits"):
        list(iterate_sync(stream()))


@proves("bus/never-waits")
def test_a_stream_that_waits_lays_down_what_it_holds() -> None:
    held = []

    async def stream() -> AsyncGenerator[int, None]:
        held.append("a lock")
        try:
            yield 1
            await Waiting()
        finally:
            held.clear()

    with pytest.raises(AssertionError):
        list(iterate_sync(stream()))
    assert held == []


@proves("bus/never-waits")
def test_a_coroutine_that_waits_is_said_to_even_if_it_goes_on_waiting() -> None:
    async def stubborn() -> None:
        try:
            await Waiting()
        finally:
            await Waiting()

    with pytest.raises(AssertionError, match="never waits"):
        run_sync(stubborn())


@proves("bus/never-waits")
def test_what_goes_wrong_in_a_stream_is_told_as_it_is() -> None:
    async def stream() -> AsyncGenerator[int, None]:
        yield 1
        raise LookupError("its own")

    with pytest.raises(LookupError, match="its own"):
        list(iterate_sync(stream()))

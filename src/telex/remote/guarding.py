"""May these paths be written, when the contracts are at a hub and the disk is here? Links are followed on this side."""

from collections.abc import Awaitable, Callable, Sequence

from telex.model.contract import Verdict
from telex.rules.contracts import NOT_IN_PROJECT
from telex.rules.paths import Odd, Resolver, normal, real

Ask = Callable[[Sequence[str]], Awaitable[list[Verdict]]]


async def guard(paths: list[str], ask: Ask, resolve: Resolver | None) -> list[Verdict]:
    """Both must be right: the name that is shown, and the file that it leads to."""
    led = {path: found for path in paths if (found := _led(path, resolve)) is not None}
    behind = [where for where in led.values() if not isinstance(where, Odd)]
    verdicts = await ask([*paths, *behind])
    there = dict(zip(behind, verdicts[len(paths) :], strict=True))
    return [_both(one, led.get(one.path), there) for one in verdicts[: len(paths)]]


def _led(path: str, resolve: Resolver | None) -> str | Odd | None:
    """Where a path leads, if that is somewhere else."""
    found = normal(path)
    if resolve is None or isinstance(found, Odd):
        return None
    led = real(found, resolve)
    return None if led == found else led


def _both(named: Verdict, led: str | Odd | None, there: dict[str, Verdict]) -> Verdict:
    if led is None:
        return named
    if isinstance(led, Odd):
        say = f"Name the file by its path from the project's root: this cannot be taken, since {led.why}."
        return Verdict(named.path, False, NOT_IN_PROJECT, say)
    if not named.allowed or there[led].allowed:
        return named
    return there[led]._replace(path=named.path, reason=f"{there[led].reason} It leads to {led}.")

"""Guard with contracts at a hub and files on this disk: symbolic links are resolved locally."""

from collections.abc import Awaitable, Callable, Sequence

from telex.errors import StoreError
from telex.model.contracts import PathVerdict
from telex.validation.contracts import NOT_IN_PROJECT
from telex.validation.project_paths import InvalidPath, Resolver, normal, real

Ask = Callable[[Sequence[str]], Awaitable[list[PathVerdict]]]


async def guard(paths: list[str], ask: Ask, resolve: Resolver | None) -> list[PathVerdict]:
    """Both must be right: the name that is shown, and the file that it leads to."""
    led = {path: found for path in paths if (found := _led(path, resolve)) is not None}
    behind = [where for where in led.values() if not isinstance(where, InvalidPath)]
    asked = [*paths, *behind]
    verdicts = await ask(asked)
    if [verdict.path for verdict in verdicts] != asked:
        raise StoreError("invalid response from the hub: it does not judge the paths that were asked for.")
    there = dict(zip(behind, verdicts[len(paths) :], strict=True))
    return [_both(verdict, led.get(verdict.path), there) for verdict in verdicts[: len(paths)]]


def _led(path: str, resolve: Resolver | None) -> str | InvalidPath | None:
    """Where a path leads, if that is somewhere else."""
    found = normal(path)
    if resolve is None or isinstance(found, InvalidPath):
        return None
    led = real(found, resolve)
    return None if led == found else led


def _both(named: PathVerdict, led: str | InvalidPath | None, there: dict[str, PathVerdict]) -> PathVerdict:
    if led is None:
        return named
    if isinstance(led, InvalidPath):
        say = f"Give the path of the file from the project's root: this one is invalid, since {led.why}."
        return PathVerdict(named.path, False, NOT_IN_PROJECT, say)
    if not named.allowed or there[led].allowed:
        return named
    return there[led]._replace(path=named.path, reason=f"{there[led].reason} It resolves to {led}.")

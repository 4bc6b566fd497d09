"""Simulator of a team that stalls, crashes and repeats messages: one seed, one team.

    python -m telex.testing.simulator --seeds 0:500 --store sqlite
    python -m telex.testing.simulator --seeds 41 --history

Everything follows from the seed: members, actions, passing of time. Afterwards time advances until all is quiet, and
`sim_invariants` compares the log with what the agents received. A failure prints its seed and history, and the same
seed reproduces it. `--bug NAME` plants a fault, which must be found.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, cast

from telex.bus import run_sync
from telex.bus.local import LocalBus
from telex.model.limits import Limits
from telex.model.named_tuple import NamedTuple
from telex.ports.store import Query, Store, events_with_messages
from telex.stores.memory import MemoryStore
from telex.testing import FakeClock
from telex.testing.faulty_stores import BUGS, DecideTwice
from telex.testing.sim_invariants import EVENTS_MAX, SendObserver, check
from telex.testing.sim_team import SimTeam
from telex.validation.check import CheckPolicy

STEPS = 150
ROUNDS_OF_REST = 8
INBOX_MAXIMA = (5, 10_000)


class SimulationRun(NamedTuple):
    seed: int
    violations: list[str]
    history: list[str]
    kinds: Counter[str]  # of the events

    def report(self) -> str:
        return "\n".join([*self.history, *(f"seed {self.seed}: {violation}" for violation in self.violations)])


def simulate(seed: int, stores: list[Store], *, steps: int = STEPS) -> SimulationRun:
    """Run a team on these stores: several connections to one database, as several processes have."""
    random, clock, witness = Random(seed), FakeClock(), SendObserver()
    limits = Limits(inbox_max=random.choice(INBOX_MAXIMA))
    policy = CheckPolicy(limits=limits, work=False)
    team = SimTeam(random, clock, witness, [LocalBus(store, clock, policy=policy) for store in stores])
    with suppress(_Stop):
        _guarded(witness, lambda: _live(team, steps))
        _guarded(witness, lambda: run_sync(check(stores[0], witness, limits, team.readers(), clock.now())))
    events = run_sync(stores[0].read(events_with_messages, Query(), EVENTS_MAX))
    return SimulationRun(seed, witness.violations, witness.history, Counter(event.kind for event, _ in events))


def _live(team: SimTeam, steps: int) -> None:
    team.start()
    for _ in range(steps):
        team.step()
    team.rest(ROUNDS_OF_REST)


class _Stop(Exception):
    """The run of this seed ends."""


def _guarded(witness: SendObserver, part: Callable[[], None]) -> None:
    """An exception of the bus is a violation too, with the history that led to it."""
    try:
        part()
    except Exception as error:
        import traceback

        where = traceback.extract_tb(error.__traceback__)[-1]
        witness.wrong(f"{type(error).__name__}: {error} ({Path(where.filename).name}:{where.lineno})")
        raise _Stop from error


def run(seed: int, store: str = "memory", bug: str | None = None, *, twice: bool = False) -> SimulationRun:
    """Run one seed on a new store of this kind. `twice`: every decision runs twice, the first time rolled back."""
    wrap: Callable[[Store], Any] = BUGS[bug] if bug is not None else DecideTwice if twice else lambda store: store
    if store == "memory":
        return simulate(seed, [cast(Store, wrap(MemoryStore()))])
    from telex.stores.sqlite.store import SqliteStore

    with TemporaryDirectory(prefix="telex-simulator-") as folder:
        path = str(Path(folder) / "telex.db")
        stores = [SqliteStore.open(path, durable=False) for _ in range(2)]
        try:
            return simulate(seed, [cast(Store, wrap(store)) for store in stores])
        finally:
            for opened in stores:
                run_sync(opened.close())


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m telex.testing.simulator", description="Run seeded teams.")
    parser.add_argument("--seeds", default="0:500", help="one seed, or a range as first:last+1")
    parser.add_argument("--store", choices=["memory", "sqlite"], default="memory")
    parser.add_argument("--bug", choices=sorted(BUGS), help="plant this bug in the store")
    parser.add_argument("--twice", action="store_true", help="run every decision twice, the first time rolled back")
    parser.add_argument("--history", action="store_true", help="print the history of every seed")
    chosen = parser.parse_args(arguments)
    first, _, end = chosen.seeds.partition(":")
    kinds: Counter[str] = Counter()
    failed = 0
    for seed in range(int(first), int(end or int(first) + 1)):
        result = run(seed, chosen.store, chosen.bug, twice=chosen.twice)
        kinds += result.kinds
        if result.violations or chosen.history:
            print(result.report())
        if result.violations:
            failed += 1
            options = f" --bug {chosen.bug}" if chosen.bug else " --twice" if chosen.twice else ""
            command = f"python -m telex.testing.simulator --seeds {seed} --store {chosen.store}{options}"
            print(f"replay: {command}", file=sys.stderr)
            if chosen.bug:
                return 1  # found
    print(f"{failed} seeds failed; {', '.join(f'{count} {kind}' for kind, count in kinds.most_common())}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

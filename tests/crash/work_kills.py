"""Do the rules of the work survive kill -9? Eight processes on one file get into each other's way and are killed.

    python -m tests.crash.work_kills --kills 500 --seed 7

Afterwards the book is compared with the log, and both with what the processes were promised. It prints the verdict as
JSON and exits with 1 if anything is not as it should be.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import telex
from telex.bus import context, run_sync
from telex.bus.orchestrator import Orchestrator
from telex.client import SyncBus
from telex.stores.sqlite.reads import SqliteReads
from telex.work.pipeline import OPEN
from telex.work.snapshots import encode_state
from telex.work.view import FOLDS
from tests.crash.agents import SETTINGS
from tests.crash.kills import Killer, die_with_parent, main
from tests.crash.work_agents import NAMES, WITNESS, crew_turn, run, talker
from tests.crash.work_verdict import BookVerdict, judge

LOOK_SECONDS = 0.05  # between two looks of the witness
TURNS_MAX = 400  # after the last kill, until every work must be done


def topics_ignored() -> None:
    """A message is decided on the cached state of a topic, although another process has written there since."""
    topics = SqliteReads.topics
    ignored = lambda self, kind=None, after=0: [] if kind is None else topics(self, kind, after)  # noqa: E731
    setattr(SqliteReads, "topics", ignored)  # noqa: B010


def stops_ignored() -> None:
    """A message is stored although its sender has shut down since the roster was read."""
    setattr(context, "roster_changed_since", lambda reads, position: False)  # noqa: B010


PLANTS: dict[str, Callable[[], None]] = {"topics-ignored": topics_ignored, "stops-ignored": stops_ignored}


def book_of(bus: SyncBus) -> dict[str, str]:
    """Every matter of the work as this bus knows it, in a form that can be compared and written down."""
    return {topic: encode_state(state) for kind in FOLDS for topic, state in bus.work_state(kind).items()}


def witness(store: str, folder: Path) -> int:
    """Somebody who looks on from beginning to end, and so hears of everything bit by bit. Its process."""
    process = os.fork()
    if process:
        return process
    try:
        die_with_parent()
        with telex.connect(store, settings=SETTINGS) as bus:
            while not (folder / "over").exists():
                book_of(bus)
                time.sleep(LOOK_SECONDS)
            (folder / f"{WITNESS}.json").write_text(json.dumps(book_of(bus)), encoding="utf-8")
            os._exit(0)
    finally:
        os._exit(1)


def finish(folder: Path, seed: int) -> int:
    """What the dead left undone: say what was in doubt, and go on with every work. How many are left over."""
    with telex.connect(folder / "telex.db", settings=SETTINGS) as bus:
        for name in NAMES:
            own = talker(name, folder, Random(seed))
            if own is not None:
                own.settle_doubts(bus)
        orchestrator = Orchestrator(bus.awaitable, "orchestrator")
        for _ in range(TURNS_MAX):
            run_sync(orchestrator.step())
            crew_turn(bus, limit=50)
            works: dict[str, Any] = run_sync(orchestrator.works())
            left = sum(any(place.state in OPEN for place in work.places.values()) for work in works.values())
            if not left:
                return 0
            time.sleep(0.01)  # what somebody was killed with comes back when its lease has run out
        return left


def torture(folder: Path, kills: int, seed: int, plant: str | None = None) -> BookVerdict:
    if plant is not None:
        PLANTS[plant]()
    looking_on = witness(str(folder / "telex.db"), folder)
    killer = Killer(folder, Random(seed), NAMES, run)
    killer.go(kills)
    if killer.failed:
        raise SystemExit("\n".join(killer.failed))
    unfinished = finish(folder, seed)
    (folder / "over").touch()
    _, status = os.waitpid(looking_on, 0)
    assert status == 0, "the witness has died"
    seen = json.loads((folder / f"{WITNESS}.json").read_text(encoding="utf-8"))
    with telex.connect(folder / "telex.db", settings=SETTINGS) as bus:
        live = book_of(bus)
    return judge(folder, killer.kills, unfinished, live, seen)


if __name__ == "__main__":
    sys.exit(main(__doc__ or "", torture, tuple(PLANTS), 40))

"""Does a power cut lose anything? One run of a busy team, cut at many moments, each disk opened by the real store.

    python -m tests.crash.power --points 1000 --seed 7

What was promised to any process before the cut must be there after it. It prints what became of each cut as JSON and
exits with 1 if a promise was broken or a store could not be opened.
"""

import argparse
import asyncio
import json
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import apsw

from telex.errors import StoreError
from telex.model.message import NewMessage
from telex.model.text import digest_of
from telex.ports.store import LeaseRequest, find_messages, get_delivery, get_message
from telex.stores.disk import BALLAST_BYTES
from telex.stores.sqlite.store import SqliteStore
from telex.testing.contract_base import append
from tests.crash.disk import CUTS, Cut, Disk
from tests.crash.messages import body_of
from tests.crash.power_mutations import PLANTS
from tests.crash.syscalls import STRACE, Act, Promise, record

NAME = "telex.db"
MESSAGES = 800  # enough for a few checkpoints
CUTS_PER_RUN = 250  # then the team works anew, and its processes meet in other ways
SLOW_SYNCS = 0.001  # seconds; others write meanwhile, and what they write is not covered
FIRST_START = 0.2  # how many cuts fall before the first promise, where the file is half made


class Case(NamedTuple):
    """One power cut, and what was found after it."""

    moment: int
    cut: Cut
    promises: int
    lost: tuple[str, ...]
    corrupt: str | None


class Outcome(NamedTuple):
    acts: Counter[str]
    cases: tuple[Case, ...]

    @property
    def broken(self) -> list[Case]:
        return [case for case in self.cases if case.lost or case.corrupt]


def record_writers(folder: Path, plant: str = "", messages: int = MESSAGES) -> list[Act]:
    """Let the team work once on a new store, and tell everything that it did and was promised."""
    (folder / "store").mkdir()
    command = [sys.executable, "-m", "tests.crash.power_writer", str(folder / "store" / NAME), str(messages), plant]
    return record(command, folder / "store", folder / "trace", slow_syncs=SLOW_SYNCS)


def simulate(acts: Sequence[Act], points: int, seed: int) -> Outcome:
    """Cut the power at so many moments and look at what is left. The same seed makes the same cuts."""
    cases = tuple(cases_of(acts, points, Random(seed)))
    return Outcome(Counter(type(act).__name__ for act in acts), cases)


def cases_of(acts: Sequence[Act], points: int, random: Random) -> Iterator[Case]:
    disk = Disk()
    fast = "/dev/shm" if Path("/dev/shm").is_dir() else None
    for moment in moments(acts, points, random):
        for act in acts[disk.acts : moment]:
            disk.do(act)
        cut = random.choice(CUTS)
        folder = Path(tempfile.mkdtemp(prefix="telex-power-", dir=fast))
        try:
            for name, content in disk.after(cut, random).items():
                (folder / name).write_bytes(content)
            lost, corrupt = asyncio.run(look(folder / NAME, disk.promises))
        finally:
            shutil.rmtree(folder)
        yield Case(moment, cut, len(disk.promises), lost, corrupt)


def moments(acts: Sequence[Act], points: int, random: Random) -> list[int]:
    first = next(number for number, act in enumerate(acts) if isinstance(act, Promise))
    early = int(points * FIRST_START)
    return sorted(
        [random.randint(0, first) for _ in range(early)]
        + [random.randint(first, len(acts)) for _ in range(points - early)]
    )


async def look(path: Path, promises: Sequence[str]) -> tuple[tuple[str, ...], str | None]:
    """What is missing, and what is wrong with the file. The store must open, whatever it finds, and go on working."""
    try:
        store = SqliteStore.open(str(path))
        lost = tuple([promise for promise in promises if not await kept(store, promise)])
        await use(store)
        await store.close()
        wrong = integrity(path)
    except (StoreError, apsw.Error, AssertionError) as error:
        return tuple(promises), f"{type(error).__name__}: {error}"
    return lost, None if wrong == "ok" else wrong


async def kept(store: SqliteStore, promise: str) -> bool:
    verb, what = promise.split(" ")
    if verb == "sent":
        raw = body_of(what)
        return [(one.raw, one.digest) for one in await store.read(find_messages, what)] == [(raw, digest_of(raw))]
    assert verb == "acked", promise
    delivery = await store.read(get_delivery, int(what.partition(".")[0]))
    message = await store.read(get_message, delivery.message) if delivery is not None else None
    whole = message is not None and message.raw == body_of(message.id)
    return whole and delivery is not None and delivery.state == "acked"


async def use(store: SqliteStore) -> None:
    """The store after the cut is one like any other."""
    raw = b"the power is back"
    entry = NewMessage("after", 1.0, "dev", "dev", "qa", None, None, 3, None, None, digest_of(raw), raw, ("after",))
    await append(store, [entry])
    leased = await store.lease(LeaseRequest(("after",), "qa", 2.0, 3.0, 10))
    assert [one.message.raw for one in leased] == [raw], leased
    await store.maintain(1.0, same_since=0.0, keep_since=0.0, silent_since=0.0, limit=1)
    ballast = Path(store.path + "-ballast").stat().st_size
    assert ballast == BALLAST_BYTES, f"the ballast has {ballast} bytes"


def integrity(path: Path) -> str:
    connection = apsw.Connection(str(path))
    try:
        return "; ".join(str(row[0]) for row in connection.execute("PRAGMA integrity_check"))
    finally:
        connection.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=100)
    parser.add_argument("--seed", type=int, default=Random().randrange(10**6))
    parser.add_argument("--plant", choices=list(PLANTS), default="", help="a bug that has to be found")
    asked = parser.parse_args()
    if STRACE is None:
        print("NOT CHECKED: no power cut was simulated; needs strace", file=sys.stderr)
        return 1
    outcome = Outcome(Counter(), ())
    for run, done in enumerate(range(0, asked.points, CUTS_PER_RUN)):
        with tempfile.TemporaryDirectory(prefix="telex-power-") as folder:
            acts = record_writers(Path(folder), asked.plant)
        more = simulate(acts, min(CUTS_PER_RUN, asked.points - done), asked.seed + run)
        outcome = Outcome(outcome.acts + more.acts, outcome.cases + more.cases)
    fates = Counter("corrupt" if one.corrupt else "lost" if one.lost else "kept" for one in outcome.cases)
    print(json.dumps({"seed": asked.seed, "cuts": asked.points, **fates, "acts": outcome.acts}, indent=1))
    for case in outcome.broken[:10]:
        print(case._replace(lost=case.lost[:3]), file=sys.stderr)
    return 1 if outcome.broken else 0


if __name__ == "__main__":
    sys.exit(main())

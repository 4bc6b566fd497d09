"""Was every promise kept? What the killed were promised, held against what the store says in the end."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import apsw

from telex.model.message import Event
from telex.ports.store import deliveries_of, events_of, find_messages
from telex.stores.sqlite.store import SqliteStore
from tests.crash.agent_log import read_all, words_of
from tests.crash.messages import body_of, has_reply, reply_id

ACKS_PER_KILL_MIN = 5  # with fewer, the kills would have hit nothing but start-up


class Verdict(NamedTuple):
    kills: int
    stops: int
    sent: int
    acked: int
    leases_lost: int  # acks that came too late and were told so
    duplicates: int  # messages sent again after a kill that had been kept
    errors: dict[str, int]  # what the store answered instead, and the callers had to try again
    lost: list[str]  # accepted, and not there, or not whole, or not acked though every inbox is empty
    acked_twice: list[str]
    late: list[str]  # acks that were believed though the lease had passed on
    undone: list[str]  # acked, and nobody did the work
    answered_wrongly: list[str]  # acked with a reply, and there is none, or several
    integrity: str

    @property
    def right(self) -> bool:
        broken = self.lost or self.acked_twice or self.late or self.undone or self.answered_wrongly
        return not broken and self.integrity == "ok" and self.acked >= ACKS_PER_KILL_MIN * self.kills


async def judge(folder: Path, kills: int, stops: int) -> Verdict:
    lines = read_all(folder)
    promised = {id_ for id_, *_ in words_of(lines, "sent")}
    done = {id_ for (id_,) in words_of(lines, "done")}
    store = SqliteStore.open(str(folder / "telex.db"))
    found = Counter[str]()
    broken: dict[str, list[str]] = defaultdict(list)
    times = Counter(id_ for _, id_, _ in words_of(lines, "acked"))
    broken["acked_twice"] = [id_ for id_, count in times.items() if count > 1]
    for id_ in sorted(promised):
        await judge_one(store, id_, done, broken, found)
    await store.close()
    return Verdict(
        kills=kills,
        stops=stops,
        sent=len(promised),
        acked=found["acked"],
        leases_lost=len(words_of(lines, "lease-lost")),
        duplicates=found["duplicate"],
        errors=dict(Counter(line.words[0] for line in lines if line.verb == "error")),
        lost=broken["lost"],
        acked_twice=sorted(set(broken["acked_twice"])),
        late=broken["late"],
        undone=broken["undone"],
        answered_wrongly=broken["answered_wrongly"],
        integrity=integrity(folder / "telex.db"),
    )


async def judge_one(
    store: SqliteStore, id_: str, done: set[str], broken: dict[str, list[str]], found: Counter[str]
) -> None:
    """One accepted message, as the store tells it."""
    messages = await store.read(find_messages, id_)
    acked = 0
    for message in messages:
        if message.raw != body_of(id_):
            broken["lost"].append(f"{id_}: other bytes")
        states = [delivery.state for delivery in await store.read(deliveries_of, message.seq)]
        acked += states.count("acked")
        story = await store.read(events_of, message.seq)
        found["duplicate"] += sum(event.kind == "duplicate" for event in story)
        broken["late"] += believed_from_another(id_, story)
    found["acked"] += acked
    if not acked:
        broken["lost"].append(id_)
    if acked > 1:
        broken["acked_twice"].append(id_)
    if acked and id_ not in done:
        broken["undone"].append(id_)
    if has_reply(id_) and len(await store.read(find_messages, reply_id(id_))) != acked:
        broken["answered_wrongly"].append(id_)


def believed_from_another(id_: str, story: Iterable[Event]) -> list[str]:
    """Acks by somebody else than the last one to whom the message was leased."""
    holder: dict[int | None, str | None] = {}
    late = []
    for event in story:
        if event.kind == "leased":
            holder[event.delivery] = event.agent
        elif event.kind == "acked" and event.agent != holder.get(event.delivery):
            late.append(f"{id_}: acked by {event.agent} while {holder.get(event.delivery)} had it")
    return late


def integrity(path: Path) -> str:
    connection = apsw.Connection(str(path))
    try:
        return "; ".join(row[0] for row in connection.execute("PRAGMA integrity_check"))
    finally:
        connection.close()

"""Do the rules hold after the kills? The log, read once more by somebody who knows the rules but not the book."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from telex.dialects.registry import BUILT_IN
from telex.model.message import Event, StoredMessage
from telex.ports.store import EVERYTHING, events_with_messages
from telex.stores.doctor import ReadOnlyConnection, wrong_topics
from telex.stores.sqlite.store import SqliteStore
from telex.work import reducer
from telex.work.snapshots import encode_state
from telex.work.view import WorkMessage, work_message_from_log
from tests.crash.agent_log import read_all, words_of
from tests.crash.verdict import integrity

DIALECTS = {dialect.name: dialect for dialect in BUILT_IN}
SAID_PER_KILL_MIN = 2  # with fewer, the kills would have hit nothing but start-up
Log = list[tuple[Event, StoredMessage | None]]


class BookVerdict(NamedTuple):
    kills: int
    kept: int
    refused: dict[str, int]  # by code
    deeds: dict[str, int]  # how often each was done
    snapshots: int
    unfinished: int  # works that did not come to an end
    lost: list[str]  # kept, as its sender was told, and not there, or there twice
    answered_twice: list[str]
    after_its_end: list[str]  # messages of agents that had shut down
    out_of_place: list[str]  # tasks that moved from where they were not
    sent_twice: list[str]  # dispatches of a work
    books_differ: list[str]  # topics that are not the same to everybody
    wrong_topics: list[str]
    integrity: str

    @property
    def right(self) -> bool:
        wrong = (self.lost, self.answered_twice, self.after_its_end, self.out_of_place, self.sent_twice)
        busy = self.kept >= SAID_PER_KILL_MIN * self.kills
        return busy and not (any(wrong) or self.unfinished or self.books_differ or self.wrong_topics) and self.sound

    @property
    def sound(self) -> bool:
        return self.integrity == "ok"


def judge(folder: Path, kills: int, unfinished: int, live: Mapping[str, str], seen: Mapping[str, str]) -> BookVerdict:
    path, lines = folder / "telex.db", read_all(folder)
    log = asyncio.run(_log(path))
    kept = [message for event, message in log if event.kind == "accepted" and message is not None]
    said = list(_said(log))
    folded = {topic: encode_state(state) for topic, state in reducer.written(log, DIALECTS).items()}
    file = ReadOnlyConnection(str(path))
    wrong, snapshots = wrong_topics(file)[1], file.value("SELECT count(*) FROM snapshots")
    file.close()
    return BookVerdict(
        kills=kills,
        kept=len(words_of(lines, "kept")),
        refused=dict(Counter(code for _, _, *codes in words_of(lines, "refused") for code in codes)),
        deeds=dict(Counter(one.action for one in said)),
        snapshots=snapshots,
        unfinished=unfinished,
        lost=_lost({(sender, id_) for id_, sender, *_ in words_of(lines, "kept")}, kept),
        answered_twice=_twice(one.text("request") for one in said if one.action == "answer"),
        after_its_end=_after_its_end(said, kept),
        out_of_place=_out_of_place(said),
        sent_twice=_twice(one.id for one in kept if one.sender == "orchestrator"),
        books_differ=sorted(
            topic
            for topic in folded.keys() | live.keys() | seen.keys()
            if not folded.get(topic) == live.get(topic) == seen.get(topic)
        ),
        wrong_topics=wrong,
        integrity=integrity(path),
    )


async def _log(path: Path) -> Log:
    store = SqliteStore.open(str(path))
    try:
        return await store.read(events_with_messages, EVERYTHING, 10_000_000)
    finally:
        await store.close()


def _said(log: Log) -> Iterator[WorkMessage]:
    for event, message in log:
        dialect = DIALECTS.get(message.dialect or "") if message is not None else None
        if event.kind == "accepted" and message is not None and dialect is not None:
            one = work_message_from_log(message, event, dialect)
            if one is not None:
                yield one


def _twice(names: Iterator[str]) -> list[str]:
    return [name for name, times in Counter(names).items() if times > 1]


def _lost(promised: set[tuple[str, str]], kept: list[StoredMessage]) -> list[str]:
    times = Counter((one.sender, one.id) for one in kept)
    return [f"{sender} {id_}: {times[sender, id_]} times" for sender, id_ in promised if times[sender, id_] != 1]


def _after_its_end(said: list[WorkMessage], kept: list[StoredMessage]) -> list[str]:
    ends = {one.sender: one.seq for one in reversed(said) if one.action == "stopped" and one.get("approved") is True}
    return [f"{one.sender}: {one.id}" for one in kept if one.seq > ends.get(one.sender, one.seq)]


def _out_of_place(said: list[WorkMessage]) -> list[str]:
    stands: dict[str, str] = {}
    odd = []
    for one in said:
        if one.action == "move":
            task = one.text("task")
            if stands.get(task, one.text("came_from")) != one.text("came_from"):
                odd.append(f"{one.id}: {task} was {stands[task]}, not {one.text('came_from')}")
            stands[task] = one.text("goes_to")
    return odd

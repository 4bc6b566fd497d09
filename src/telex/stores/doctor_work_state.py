"""Check of the work state: fold all messages of the log again and compare with the stored snapshots."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from telex.dialects.registry import VERSIONS
from telex.model.message import Event, Message
from telex.stores.sqlite.rows import EVENT, MESSAGE, event_and_message
from telex.work import reducer, snapshots
from telex.work.view import work_message_from_log

if TYPE_CHECKING:
    from telex.stores.doctor import ReadOnlyConnection

PAGE = 500
_KEPT = f"""SELECT {EVENT}, {MESSAGE} FROM messages m JOIN events e ON e.seq = m.seq
WHERE m.seq > ? AND m.refused = 0 ORDER BY m.seq LIMIT {PAGE}"""
_SINCE = "SELECT coalesce((SELECT value FROM marks WHERE name = 'weighed'), 0)"


def wrong_topics(file: "ReadOnlyConnection") -> tuple[int, list[str]]:
    """How many topics there are, and those whose messages or snapshot are not as the log has it."""
    dialects = {dialect.name: dialect for dialect in VERSIONS}
    book: dict[str, Any] = {}
    said_in: dict[str, list[int]] = {}
    kept = {topic: (seq, words) for topic, seq, words in file.rows("SELECT topic, seq, words FROM snapshots")}
    wrong: dict[str, None] = {}
    for event, message in _messages(file):
        dialect = dialects.get(message.dialect or "")
        work_message = work_message_from_log(message, event, dialect) if dialect is not None else None
        for topic in reducer.topics_changed(work_message, book) if work_message is not None else ():
            assert work_message is not None
            book[topic] = reducer.fold_in_place(topic, book.get(topic), work_message)
            said_in.setdefault(topic, []).append(message.seq)
            if topic in kept and kept[topic][0] == message.seq and not _is_as(topic, *kept[topic], book[topic]):
                wrong[topic] = None
    indexed: dict[str, list[int]] = {}
    for name, seq in file.rows("SELECT name, seq FROM topics ORDER BY name, seq"):
        indexed.setdefault(name, []).append(seq)
    wrong |= {topic: None for topic in indexed.keys() | said_in.keys() if indexed.get(topic) != said_in.get(topic)}
    return len(indexed), sorted(wrong)


def _messages(file: "ReadOnlyConnection") -> Iterator[tuple[Event, Message]]:
    after = int(file.value(_SINCE))
    while rows := file.rows(_KEPT, (after,)):
        for row in rows:
            event, message = event_and_message(row)
            assert message is not None
            yield event, message
        after = rows[-1][0]


def _is_as(topic: str, seq: int, words: str, state: Any) -> bool:
    try:
        return bool(snapshots.decode_snapshot(topic, seq, words) == state)
    except ValueError:  # of other folds or harmed, and therefore never used
        return True

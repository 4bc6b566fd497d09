"""Which chapters does the book have, and how is it written? The table that joins deeds, chapters and folds."""

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from typing import Any

from telex.dialects.spec import Dialect
from telex.flow.book.chapter import Book, Chapter, Draft, Fold, Ground
from telex.flow.book.deeds import CHAPTERS, FOLDS
from telex.flow.book.said import Said, heard
from telex.model.event import Event
from telex.model.message import Message
from telex.model.refusal import Finding
from telex.model.roster import Member


@cache
def chapters_on(deed: str) -> tuple[Chapter, ...]:
    modules = [import_module(f"telex.flow.book.{name}") for name in CHAPTERS.get(deed, ())]
    return tuple(module.CHAPTERS[deed] for module in modules)


@cache
def fold_of(kind: str) -> Fold:
    fold: Fold = import_module(f"telex.flow.book.{FOLDS[kind]}").FOLDS[kind]
    return fold


def kind_of(topic: str) -> str:
    return topic.partition(":")[0]


def wanted(said: Said, book: Book) -> set[str]:
    return {topic for chapter in chapters_on(said.does) for topic in chapter.wanted(said, book)}


def belongs(said: Said, book: Book) -> tuple[str, ...]:
    found = [topic for chapter in chapters_on(said.does) for topic in chapter.belongs(said, book)]
    return tuple(dict.fromkeys(found))


def weigh(said: Said, book: Book, ground: Ground) -> tuple[Finding, ...]:
    return tuple(one for chapter in chapters_on(said.does) for one in chapter.weigh(said, book, ground))


def follows(said: Said, book: Book, ground: Ground) -> tuple[Draft, ...]:
    return tuple(one for chapter in chapters_on(said.does) for one in chapter.follows(said, book, ground))


def stopping(said: Said, book: Book, ground: Ground) -> tuple[Member, ...]:
    """Who has shut down with this message."""
    if said.does != "stopped":
        return ()
    from telex.flow.book.shutdown import parts

    return parts(said, book, ground)


def fold(topic: str, state: Any, said: Said) -> Any:
    return fold_of(kind_of(topic))(state, said)


def written(events: Iterable[tuple[Event, Message | None]], dialects: Mapping[str, Dialect]) -> dict[str, Any]:
    """The whole book, from nothing."""
    book: dict[str, Any] = {}
    for event, message in events:
        write(book, event, message, dialects)
    return book


def write(book: dict[str, Any], event: Event, message: Message | None, dialects: Mapping[str, Dialect]) -> None:
    """One event more. Only a message that was accepted changes anything."""
    if event.kind != "accepted" or message is None or message.dialect is None:
        return
    dialect = dialects.get(message.dialect)
    said = heard(message, event, dialect) if dialect is not None else None
    if said is None:
        return
    for topic in belongs(said, book):
        book[topic] = fold(topic, book.get(topic), said)

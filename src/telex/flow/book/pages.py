"""Which chapters does the book have, and how is it written? The table that joins deeds, chapters and folds."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import import_module
from typing import Any

from telex.dialects.spec import Dialect
from telex.flow.book.chapter import Book, Chapter, Draft, Fold, Ground, Remark, Topics, nothing
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
def weighing(deed: str) -> tuple[Callable[[Said, Book, Ground], Iterable[Remark]], ...]:
    """What weighs it: not every chapter has something to say against anybody."""
    return tuple(chapter.weigh for chapter in chapters_on(deed) if chapter.weigh is not nothing)


@cache
def _belonging(deed: str) -> tuple[Callable[[Said, Book], Topics], ...]:
    return tuple(chapter.belongs for chapter in chapters_on(deed) if chapter.belongs is not nothing)


@cache
def fold_of(kind: str) -> Fold:
    fold: Fold = import_module(f"telex.flow.book.{FOLDS[kind]}").FOLDS[kind]
    return fold


def kind_of(topic: str) -> str:
    return topic.partition(":")[0]


def wanted(said: Said, book: Book) -> set[str]:
    return {topic for chapter in chapters_on(said.does) for topic in chapter.wanted(said, book)}


def belongs(said: Said, book: Book) -> tuple[str, ...]:
    found = [topic for belongs in _belonging(said.does) for topic in belongs(said, book)]
    return tuple(dict.fromkeys(found)) if len(found) > 1 else tuple(found)


def weigh(said: Said, book: Book, ground: Ground) -> tuple[Finding, ...]:
    """What speaks against it, and what its sender should know."""
    return tuple([one.told() for weigh in weighing(said.does) for one in weigh(said, book, ground)])


def remarks(said: Said, book: Book, ground: Ground) -> tuple[Remark, ...]:
    """The same, for whoever wants to read few of them: they are not yet put into words."""
    return tuple([one for weigh in weighing(said.does) for one in weigh(said, book, ground)])


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
    """One event more, for whoever alone holds the book. Only a message that was accepted changes anything."""
    if event.kind != "accepted" or message is None or message.dialect is None:
        return
    dialect = dialects.get(message.dialect)
    said = heard(message, event, dialect) if dialect is not None else None
    if said is None:
        return
    from telex.flow.book.owning import owned

    for topic in belongs(said, book):
        book[topic] = owned(kind_of(topic), fold(topic, book.get(topic), said))

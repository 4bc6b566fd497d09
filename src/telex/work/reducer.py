"""Which chapters does the book have, and how is it written? The table that joins deeds, chapters and folds."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import import_module
from typing import Any

from telex.dialects.schema import Dialect
from telex.model.event import Event
from telex.model.finding import Finding
from telex.model.message import Message
from telex.model.roster import Member
from telex.work.actions import CHAPTERS, FOLDS
from telex.work.rule_set import Book, DraftMessage, Fold, LazyFinding, RuleContext, Topics, WorkRules, nothing
from telex.work.view import WorkMessage, heard


@cache
def chapters_on(deed: str) -> tuple[WorkRules, ...]:
    modules = [import_module(f"telex.work.{name}") for name in CHAPTERS.get(deed, ())]
    return tuple(module.CHAPTERS[deed] for module in modules)


@cache
def weighing(deed: str) -> tuple[Callable[[WorkMessage, Book, RuleContext], Iterable[LazyFinding]], ...]:
    """What weighs it: not every chapter has something to say against anybody."""
    return tuple(chapter.weigh for chapter in chapters_on(deed) if chapter.weigh is not nothing)


@cache
def _belonging(deed: str) -> tuple[Callable[[WorkMessage, Book], Topics], ...]:
    return tuple(chapter.belongs for chapter in chapters_on(deed) if chapter.belongs is not nothing)


@cache
def fold_of(kind: str) -> Fold:
    fold: Fold = import_module(f"telex.work.{FOLDS[kind]}").FOLDS[kind]
    return fold


def kind_of(topic: str) -> str:
    return topic.partition(":")[0]


def wanted(said: WorkMessage, book: Book) -> set[str]:
    return {topic for chapter in chapters_on(said.does) for topic in chapter.wanted(said, book)}


def belongs(said: WorkMessage, book: Book) -> tuple[str, ...]:
    found = [topic for belongs in _belonging(said.does) for topic in belongs(said, book)]
    return tuple(dict.fromkeys(found)) if len(found) > 1 else tuple(found)


def weigh(said: WorkMessage, book: Book, ground: RuleContext) -> tuple[Finding, ...]:
    """What speaks against it, and what its sender should know."""
    return tuple([one.told() for weigh in weighing(said.does) for one in weigh(said, book, ground)])


def remarks(said: WorkMessage, book: Book, ground: RuleContext) -> tuple[LazyFinding, ...]:
    """The same, for whoever wants to read few of them: they are not yet put into words."""
    return tuple([one for weigh in weighing(said.does) for one in weigh(said, book, ground)])


def follows(said: WorkMessage, book: Book, ground: RuleContext) -> tuple[DraftMessage, ...]:
    return tuple(one for chapter in chapters_on(said.does) for one in chapter.follows(said, book, ground))


def stopping(said: WorkMessage, book: Book, ground: RuleContext) -> tuple[Member, ...]:
    """Who has shut down with this message."""
    if said.does != "stopped":
        return ()
    from telex.work.shutdown import parts

    return parts(said, book, ground)


def fold(topic: str, state: Any, said: WorkMessage) -> Any:
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
    from telex.work.mutable_state import owned

    for topic in belongs(said, book):
        book[topic] = owned(kind_of(topic), fold(topic, book.get(topic), said))

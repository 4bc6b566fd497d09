"""Reducer of the work state: applies the rules of an action to a message, and folds messages into topics."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any, NamedTuple

from telex.dialects.schema import Dialect
from telex.model.finding import Finding
from telex.model.message import Event, Message
from telex.model.roster import Member
from telex.work.actions import CHAPTERS, FOLDS, IN_PLACE
from telex.work.rule_set import Book, DraftMessage, Fold, RuleContext, Topics, WorkRules, nothing
from telex.work.view import WorkMessage, work_message_from_log


@cache
def rules_for(deed: str) -> tuple[WorkRules, ...]:
    modules = [import_module(f"telex.work.{name}") for name in CHAPTERS.get(deed, ())]
    return tuple(module.CHAPTERS[deed] for module in modules)


class ActionRules(NamedTuple):
    """The rules of one action, without those that say nothing."""

    checks: tuple[Callable[[WorkMessage, Book, RuleContext], Iterable[Finding]], ...]
    topics_changed: tuple[Callable[[WorkMessage, Book], Topics], ...]
    follow_ups: tuple[Callable[[WorkMessage, Book, RuleContext], Iterable[DraftMessage]], ...]


@cache
def action_rules(action: str) -> ActionRules:
    rules = rules_for(action)
    return ActionRules(
        tuple(rule.check for rule in rules if rule.check is not nothing),
        tuple(rule.topics_changed for rule in rules if rule.topics_changed is not nothing),
        tuple(rule.follow_ups for rule in rules if rule.follow_ups is not nothing),
    )


@cache
def fold_of(kind: str) -> Fold:
    fold: Fold = import_module(f"telex.work.{FOLDS[kind]}").FOLDS[kind]
    return fold


def kind_of(topic: str) -> str:
    return topic.partition(":")[0]


def topics_changed(work_message: WorkMessage, book: Book) -> tuple[str, ...]:
    found: tuple[str, ...] = ()
    for changed in action_rules(work_message.action).topics_changed:
        if topics := changed(work_message, book):
            found = (*found, *topics)
    return tuple(dict.fromkeys(found)) if len(found) > 1 else found


def check_rules(work_message: WorkMessage, book: Book, context: RuleContext) -> tuple[Finding, ...]:
    """What the rules find in a message."""
    found: tuple[Finding, ...] = ()
    for check in action_rules(work_message.action).checks:
        if findings := check(work_message, book, context):
            found = (*found, *findings)
    return found


def stopping(work_message: WorkMessage, book: Book, context: RuleContext) -> tuple[Member, ...]:
    """The members that stop with this message."""
    if work_message.action != "stopped":
        return ()
    from telex.work.shutdown import parts

    return parts(work_message, book, context)


def fold(topic: str, state: Any, work_message: WorkMessage) -> Any:
    """The state of a topic after a message. The state before stays as it is."""
    return fold_in_place(topic, copy_state(topic, state), work_message)


def fold_in_place(topic: str, state: Any, work_message: WorkMessage) -> Any:
    """The same, for a caller that drops the state before: some folds write into it."""
    return fold_of(kind_of(topic))(state, work_message)


_COPIED = (dict, list, MappingProxyType)


def copy_state(topic: str, state: Any) -> Any:
    """A state that later messages do not change."""
    if state is None or kind_of(topic) not in IN_PLACE:
        return state
    return type(state)(*[value.copy() if isinstance(value, _COPIED) else value for value in state])


def written(events: Iterable[tuple[Event, Message | None]], dialects: Mapping[str, Dialect]) -> dict[str, Any]:
    """The work state, folded from all events."""
    book: dict[str, Any] = {}
    for event, message in events:
        write(book, event, message, dialects)
    return book


def write(book: dict[str, Any], event: Event, message: Message | None, dialects: Mapping[str, Dialect]) -> None:
    """Fold an event into the work state, in place. Only accepted messages change it."""
    if event.kind != "accepted" or message is None or message.dialect is None:
        return
    dialect = dialects.get(message.dialect)
    work_message = work_message_from_log(message, event, dialect) if dialect is not None else None
    if work_message is None:
        return
    for topic in topics_changed(work_message, book):
        book[topic] = fold_in_place(topic, book.get(topic), work_message)

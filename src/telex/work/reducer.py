"""Reducer of the work state: types of the rules, their application to a message, folds, and composed messages.

The fold of a topic depends only on its state and the message, so that folding one topic alone and folding all of them
give the same state.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any

from telex.delivery.routing import normal_address
from telex.dialects.scalars import format_timestamp
from telex.dialects.schema import (
    TYPE,
    Dialect,
    Field,
    Integer,
    MessageType,
    Number,
    OneOf,
    Semantics,
    Timestamp,
    Tree,
    get_path,
    set_path,
)
from telex.model.finding import Finding
from telex.model.limits import LIMITS, Limits
from telex.model.message import Event, StoredMessage
from telex.model.named_tuple import NamedTuple
from telex.model.roster import HUMAN, ONE_OF_ROLE, Member, Roster
from telex.work.view import FOLDS, IN_PLACE, RULES, WorkMessage, work_message_from_log

WorkState = Mapping[str, Any]  # topic → its state; a topic without messages is absent
Topics = Iterable[str]


class RuleContext(NamedTuple):
    """Input of a decision besides the work state."""

    now: float
    roster: Roster
    limits: Limits = LIMITS
    settings: Mapping[str, Any] = {}  # of the team: `task_states`, …
    dialects: Mapping[str, Dialect] = {}


class DraftMessage(NamedTuple):
    """A message of the bus that follows from another. Both are stored in one transaction."""

    dialect: Dialect
    type: MessageType
    to: str  # an address, as for --to
    of: Mapping[str, Any]  # by the names of the field map
    correlation: str | None = None
    reply_to: str | None = None
    id: str | None = None


def nothing(*_: Any) -> tuple[()]:
    return ()


class WorkRules(NamedTuple):
    """The rules of one module for one action, as functions of the message and the work state."""

    # Topics whose state the message changes.
    topics_changed: Callable[[WorkMessage, WorkState], Topics] = nothing
    check: Callable[[WorkMessage, WorkState, RuleContext], Iterable[Finding]] = nothing
    follow_ups: Callable[[WorkMessage, WorkState, RuleContext], Iterable[DraftMessage]] = nothing


Fold = Callable[[Any, WorkMessage], Any]  # (state or None, message that belongs to the topic) → state


APPROVED, REJECTED, CONDITIONAL = "approved", "rejected", "conditional"
_DECISIONS = {APPROVED: APPROVED, REJECTED: REJECTED, CONDITIONAL: CONDITIONAL, "lgtm": APPROVED}


def decision_of(message: WorkMessage) -> str:
    """approved, rejected or conditional; a message without a decision is a rejection."""
    decision = _DECISIONS.get(message.text("decision").casefold())
    if decision is not None:
        return decision
    if message.get("approved") is not True:
        return REJECTED
    return CONDITIONAL if message.texts("conditions") else APPROVED


def topic_of_request(request_id: str) -> str:
    return f"approval:{request_id}"


def for_dispatches(answer: WorkRules) -> WorkRules:
    """Rules of an answer for a dispatch that answers a request. In signal-md, dispatches are the only answers."""

    def changed(message: WorkMessage, topics: WorkState) -> Topics:
        counts = _decides(message, topics) and _was_asked(message, topics)
        return answer.topics_changed(message, topics) if counts else ()

    def check(message: WorkMessage, topics: WorkState, context: RuleContext) -> Iterable[Finding]:
        return answer.check(message, topics, context) if _decides(message, topics) else ()

    return WorkRules(changed, nothing if answer.check is nothing else check)


def _may_decide(message: WorkMessage) -> bool:
    return message.reply_to is not None and message.has("decision")


def _decides(message: WorkMessage, topics: WorkState) -> bool:
    """Whether it replies to a request and is sent to the agent that asked: another request may have the same id."""
    asked = topics.get(topic_of_request(message.reply_to or "")) if _may_decide(message) else None
    if asked is None:
        return False
    heard_by = message.inboxes or (normal_address(message.to),)
    return not {asked.request.by, ONE_OF_ROLE + asked.request.role}.isdisjoint(heard_by)


def _was_asked(message: WorkMessage, topics: WorkState) -> bool:
    """Older logs may have decisions of agents that were not asked."""
    request = topics[topic_of_request(message.reply_to or "")].request
    asked = {HUMAN, *(request.inboxes or (normal_address(request.to),))}
    return message.sender != request.by and not asked.isdisjoint(
        {message.sender, message.role, ONE_OF_ROLE + message.role}
    )


@cache
def rules_for(action: str) -> tuple[WorkRules, ...]:
    modules = [import_module(f"telex.work.{name}") for name in RULES.get(action, ())]
    return tuple(module.RULES[action] for module in modules)


class ActionRules(NamedTuple):
    """The rules of one action, without empty ones."""

    checks: tuple[Callable[[WorkMessage, WorkState, RuleContext], Iterable[Finding]], ...]
    topics_changed: tuple[Callable[[WorkMessage, WorkState], Topics], ...]
    follow_ups: tuple[Callable[[WorkMessage, WorkState, RuleContext], Iterable[DraftMessage]], ...]


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


def topics_changed(message: WorkMessage, topics: WorkState) -> tuple[str, ...]:
    found: tuple[str, ...] = ()
    for changed in action_rules(message.type.action).topics_changed:
        if names := changed(message, topics):
            found = (*found, *names)
    return tuple(dict.fromkeys(found)) if len(found) > 1 else found


def check_rules(message: WorkMessage, topics: WorkState, context: RuleContext) -> tuple[Finding, ...]:
    found: tuple[Finding, ...] = ()
    for check in action_rules(message.type.action).checks:
        if findings := check(message, topics, context):
            found = (*found, *findings)
    return found


def stopping(message: WorkMessage, topics: WorkState, context: RuleContext) -> tuple[Member, ...]:
    """The members that stop with this message."""
    if message.action != "stopped":
        return ()
    from telex.work.shutdown import parts

    return parts(message, topics, context)


def fold(topic: str, state: Any, message: WorkMessage) -> Any:
    """The state of a topic after a message. The state before stays as it is."""
    return fold_in_place(topic, copy_state(topic, state), message)


def fold_in_place(topic: str, state: Any, message: WorkMessage) -> Any:
    """The same, for a caller that drops the state before: some folds write into it."""
    return fold_of(kind_of(topic))(state, message)


_COPIED = (dict, list, MappingProxyType)


def copy_state(topic: str, state: Any) -> Any:
    """A state that later messages do not change."""
    if state is None or kind_of(topic) not in IN_PLACE:
        return state
    return type(state)(*[value.copy() if isinstance(value, _COPIED) else value for value in state])


def written(events: Iterable[tuple[Event, StoredMessage | None]], dialects: Mapping[str, Dialect]) -> dict[str, Any]:
    """The work state, folded from all events."""
    topics: dict[str, Any] = {}
    for event, message in events:
        write(topics, event, message, dialects)
    return topics


def write(topics: dict[str, Any], event: Event, message: StoredMessage | None, dialects: Mapping[str, Dialect]) -> None:
    """Fold an event into the work state, in place. Only accepted messages change it."""
    if event.kind != "accepted" or message is None or message.dialect is None:
        return
    dialect = dialects.get(message.dialect)
    work_message = work_message_from_log(message, event, dialect) if dialect is not None else None
    if work_message is None:
        return
    for topic in topics_changed(work_message, topics):
        topics[topic] = fold_in_place(topic, topics.get(topic), work_message)


NOTHING: Tree = {}


class HeaderFields(NamedTuple):
    """Envelope values of a composed message."""

    id: str
    at: float
    sender: str
    to: str | None = None
    correlation: str | None = None
    reply_to: str | None = None


def compose(
    dialect: Dialect, type_: MessageType, of: Mapping[str, Any], header: HeaderFields, like: Tree = NOTHING
) -> Tree:
    """A complete message. Other envelope fields, such as its phase or task, are copied from the message `like`."""
    semantics, wire = type_.semantics, dialect.wire
    known = {
        wire.id: header.id,
        wire.correlation: header.correlation,
        wire.timestamp: format_timestamp(header.at),
        wire.sender: header.sender,
        wire.recipient: header.to,
        wire.version: dialect.stated_version,
    }
    tree: Tree = {TYPE: type_.name}
    for name, field in dialect.envelope.items():
        value = known.get(name)
        if value is None:
            value = like.get(name) if name != wire.recipient else None
        if value is None and field.required:
            value = _least(field, header.at)
        if value is not None and _fits(field, value):
            tree[name] = value
    fields = {
        where: _written(semantics, name, of[name])
        for name, where in semantics.field_map.items()
        if of.get(name) is not None
    }
    if header.reply_to is not None and wire.reply_to is not None:
        fields.setdefault(wire.reply_to, header.reply_to)
    for where, value in fields.items():
        if where not in dialect.envelope or where not in tree or of.get(where) is not None:
            set_path(tree, dialect.locate(type_, where), value)
    for path, value in semantics.defaults.items():
        steps = tuple(path.removeprefix("$.").split("."))
        if "[" not in path and get_path(steps)(tree) is None:
            set_path(tree, steps, value)
    return tree


def _written(semantics: Semantics, name: str, value: Any) -> Any:
    """A value of the rules as the type has it."""
    spelling = semantics.spelling.get(name)
    return spelling[value][0] if spelling and value in spelling else value


def can_compose(dialect: Dialect, type_: MessageType) -> bool:
    """Whether the bus knows a value for each required field of the type."""
    semantics = type_.semantics
    if not semantics.intents:
        return True
    known = {dialect.locate(type_, where)[-1] for where in semantics.field_map.values()}
    known |= {path.rpartition(".")[2] for path in semantics.defaults}
    return semantics.body is None and all(name in known for name, field in type_.fields.items() if field.required)


def _least(field: Field, now: float) -> Any:
    """The smallest valid value of a field."""
    kind = field.kind
    if isinstance(kind, OneOf):
        return kind.values[0]
    if isinstance(kind, (Integer, Number)):
        return kind.at_least or 0
    return format_timestamp(now) if isinstance(kind, Timestamp) else ""


def _fits(field: Field, value: Any) -> bool:
    """False for an optional field of roles whose value is an agent's name: the caller fills it in."""
    return not isinstance(field.kind, OneOf) or value in field.kind.values or field.required

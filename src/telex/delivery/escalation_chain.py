"""Escalation chain: order of the levels, who may answer, and the message that the bus sends to the next level.

An escalation waits at one level at a time. When its deadline passes, the bus sends it to the next level that has a
member, with one line added that names the level that did not answer; a human has no deadline. Every level that has
received it may still answer, and one answer closes the escalation.
"""

import copy
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from telex.delivery.routing import inboxes_of
from telex.dialects.scalars import format_timestamp
from telex.dialects.schema import PRIORITIES, Dialect, MessageType, OneOf, Tree, get_path, kind_at, set_path
from telex.dialects.write import write
from telex.model.digest import digest_of
from telex.model.escalation import NO_DEADLINE, Escalation, EscalationLevel
from telex.model.event import Event
from telex.model.limits import Limits
from telex.model.message import NewMessage
from telex.model.roster import HUMAN, ONE_OF_ROLE, TELEX, Member, Roster
from telex.validation.authorization import normalised

ESCALATE = "escalate"


def is_escalation(type_: MessageType | None) -> bool:
    return type_ is not None and type_.deed is not None and type_.deed.action == ESCALATE


def deadline_of(level: str, inboxes: Sequence[str], now: float, limits: Limits) -> float:
    with_a_person = normalised(level) == HUMAN or HUMAN in inboxes
    return NO_DEADLINE if with_a_person else now + limits.escalation_seconds


# --- levels ----------------------------------------------------------------------------------------------------------


def above(dialect: Dialect, type_: MessageType, level: str) -> Iterator[str]:
    """The levels above this one, nearest first: along the dialect's chain, or in the order of its type's values."""
    if dialect.chain:
        seen = {level}
        while (over := dialect.chain.get(level)) is not None and over not in seen:
            yield over
            level = over
            seen.add(over)
        return
    levels = _levels(dialect, type_)
    yield from levels[levels.index(level) + 1 :] if level in levels else levels[-1:]


def _levels(dialect: Dialect, type_: MessageType) -> tuple[str, ...]:
    assert type_.deed is not None
    field = kind_at(dialect.fields_of(type_), dialect.locate(type_, type_.deed.field_map["level"]))
    return field.kind.values if field is not None and isinstance(field.kind, OneOf) else ()


class EscalationStep(NamedTuple):
    """Step to the next level that has a member."""

    below: str  # the level directly below it in the chain, perhaps one without members
    level: str
    recipient: str  # first member of that level, or human


def climb_from(dialect: Dialect, type_: MessageType, level: str, roster: Roster) -> EscalationStep | None:
    """The next step; None: there is no level above. A human is always available."""
    below = level
    for over in above(dialect, type_, level):
        role = normalised(over)
        members = roster.of_role(role) if role != HUMAN else ()
        if role == HUMAN or members:
            return EscalationStep(below, over, members[0].name if members else HUMAN)
        below = over
    return None


# --- answers ---------------------------------------------------------------------------------------------------------


def may_answer(member: Member, escalation: Escalation, dialect: Dialect, type_: MessageType, roster: Roster) -> bool:
    """Every level that has received it, every level above those, and humans; never its author."""
    if member.name == escalation.by:
        return False
    if member.role == HUMAN:
        return True
    first = escalation.rungs[0].level
    roles = {normalised(first), *map(normalised, above(dialect, type_, first))}
    recipients = {inbox for rung in escalation.rungs for inbox in rung.inboxes}
    return member.role in roles or not recipients.isdisjoint(inboxes_of(member, roster))


def goes_back(escalation: Escalation, inboxes: Sequence[str]) -> bool:
    """Whether a message is addressed to the author; any address counts where the bus is the author."""
    return escalation.by == TELEX or not {escalation.by, ONE_OF_ROLE + escalation.role}.isdisjoint(inboxes)


def with_events(escalation: Escalation, events: Iterable[Event]) -> Escalation:
    """The escalation with its answer, if the events of its messages contain one."""
    ours = {rung.seq for rung in escalation.rungs}
    answers = [event for event in events if event.kind == "answered" and event.message in ours]
    if not answers:
        return escalation
    first = min(answers, key=lambda event: event.seq)
    return escalation._replace(answered_by=first.agent, answered_at=first.at)


# --- message to the next level ---------------------------------------------------------------------------------------


class LastStep(NamedTuple):
    """The message of an escalation that was not answered in time, parsed."""

    dialect: Dialect
    type: MessageType
    tree: Tree


def climbing(
    escalation: Escalation, last: LastStep, step: EscalationStep, now: float, new_id: str, *, limits: Limits
) -> tuple[Tree, NewMessage]:
    """Message of the bus that takes the escalation to the next level."""
    dialect, type_, _ = last
    role = normalised(step.level)
    address = HUMAN if role == HUMAN else ONE_OF_ROLE + role
    correlation = escalation.correlation or escalation.id
    tree = _tree_for(last, step, escalation.now)
    by_name = dialect.addresses == "names"
    wire = dialect.wire
    places = {
        wire.id: new_id,
        wire.timestamp: format_timestamp(now),
        wire.sender: TELEX if by_name else step.below,
        wire.recipient: step.recipient if by_name else role,
        wire.reply_to: escalation.id,
    }
    if wire.correlation in dialect.envelope:
        places[wire.correlation] = correlation
    tree |= {name: value for name, value in places.items() if name is not None}
    raw = write(dialect, tree).encode()
    new_message = NewMessage(
        id=new_id,
        at=now,
        sender=TELEX,
        role=TELEX,
        to=address,
        dialect=dialect.name,
        type=type_.name,
        rank=PRIORITIES.index(type_.priority),
        correlation=correlation,
        reply_to=escalation.id,
        digest=digest_of(raw),
        raw=raw,
        inboxes=(address,),
        detail=json.dumps({"inboxes": [address]}),
        answer_by=deadline_of(step.level, (address,), now, limits),
    )
    return tree, new_message


def _tree_for(last: LastStep, step: EscalationStep, unanswered: EscalationLevel) -> Tree:
    """Content of the last message, for the next level, with a line that names the level that did not answer."""
    dialect, type_, tree = last._replace(tree=copy.deepcopy(last.tree))
    assert type_.deed is not None
    names, role = type_.deed.field_map, normalised(unanswered.level)
    silent = f"{role} has not answered {unanswered.id} since {format_timestamp(unanswered.at)}"
    set_path(tree, dialect.locate(type_, names["level"]), step.level)
    if "evidence" in names:
        _append(tree, dialect.locate(type_, names["evidence"]), silent)
    elif "history" in names:
        failed = {"history_agent": role, "history_attempts": 1, "history_error": silent}
        line = {names[name].rpartition(".")[2]: value for name, value in failed.items() if name in names}
        _append(tree, dialect.locate(type_, names["history"]), line)
    return tree


def _append(tree: Tree, path: tuple[str, ...], line: Any) -> None:
    before = get_path(path)(tree)
    set_path(tree, path, [*(before if isinstance(before, list) else ()), line])

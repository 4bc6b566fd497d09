"""Who is above whom, who may answer, and what is said when nobody did?

An escalation waits with one level at a time. When its deadline has passed it goes on to the next level where anybody is
to be found, in the same words and one line more; with a person it stays. Whoever it has been with may still answer, and
one answer ends all of it.
"""

import copy
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from telex.delivery.routing import inboxes_of
from telex.delivery.system_messages import format_timestamp
from telex.dialects.rule_evaluation import get_path, set_path
from telex.dialects.schema import PRIORITIES, Dialect, MessageType, OneOf, Tree, kind_at
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


# --- the ladder ------------------------------------------------------------------------------------------------------


def above(dialect: Dialect, type_: MessageType, level: str) -> Iterator[str]:
    """The levels over this one, the nearest first: along the dialect's chain, or as its type lists them."""
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
    """From which level to which; levels between them where nobody is to be found are passed over."""

    below: str
    level: str


def climb_from(dialect: Dialect, type_: MessageType, level: str, roster: Roster) -> EscalationStep | None:
    """None: there is nothing above. A person is always to be found."""
    below = level
    for over in above(dialect, type_, level):
        if normalised(over) == HUMAN or roster.of_role(normalised(over)):
            return EscalationStep(below, over)
        below = over
    return None


# --- the answer ------------------------------------------------------------------------------------------------------


def may_answer(member: Member, matter: Escalation, dialect: Dialect, type_: MessageType, roster: Roster) -> bool:
    """Whoever it is or was with, whoever is above them, or a person. Never who raised it."""
    if member.name == matter.by:
        return False
    if member.role == HUMAN:
        return True
    first = matter.rungs[0].level
    roles = {normalised(first), *(normalised(one) for one in above(dialect, type_, first))}
    asked = {inbox for rung in matter.rungs for inbox in rung.inboxes}
    return member.role in roles or not asked.isdisjoint(inboxes_of(member, roster))


def goes_back(matter: Escalation, inboxes: Sequence[str]) -> bool:
    """Does a message come to who raised it? What the bus raised has nobody to go back to, so anybody will do."""
    return matter.by == TELEX or not {matter.by, ONE_OF_ROLE + matter.role}.isdisjoint(inboxes)


def with_events(matter: Escalation, events: Iterable[Event]) -> Escalation:
    """The matter as it stands, given what happened to its messages."""
    ours = {rung.seq for rung in matter.rungs}
    told = [event for event in events if event.kind == "answered" and event.message in ours]
    if not told:
        return matter
    first = min(told, key=lambda event: event.seq)
    return matter._replace(answered_by=first.agent, answered_at=first.at)


# --- the climb -------------------------------------------------------------------------------------------------------


def climbing(
    matter: Escalation,
    words: Tree,
    dialect: Dialect,
    type_: MessageType,
    climb: EscalationStep,
    roster: Roster,
    now: float,
    new_id: str,
    limits: Limits,
) -> tuple[Tree, NewMessage]:
    """The same matter as a message of the bus's own to the next level."""
    role = normalised(climb.level)
    address = HUMAN if role == HUMAN else ONE_OF_ROLE + role
    correlation = matter.correlation or matter.id
    tree = _reworded(words, dialect, type_, climb, matter.now)
    by_name = dialect.addresses == "names"
    recipient = role if not by_name or role == HUMAN else roster.of_role(role)[0].name
    wire = dialect.wire
    places = {
        wire.id: new_id,
        wire.timestamp: format_timestamp(now),
        wire.sender: TELEX if by_name else climb.below,
        wire.recipient: recipient,
        wire.reply_to: matter.id,
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
        reply_to=matter.id,
        digest=digest_of(raw),
        raw=raw,
        inboxes=(address,),
        detail=json.dumps({"inboxes": [address]}),
        answer_by=deadline_of(climb.level, (address,), now, limits),
    )
    return tree, new_message


def _reworded(words: Tree, dialect: Dialect, type_: MessageType, climb: EscalationStep, last: EscalationLevel) -> Tree:
    """What was said before, to the next level, and who did not answer it."""
    assert type_.deed is not None
    names, tree = type_.deed.field_map, copy.deepcopy(words)
    silent = f"{normalised(last.level)} has not answered {last.id} since {format_timestamp(last.at)}"
    set_path(tree, dialect.locate(type_, names["level"]), climb.level)
    if "evidence" in names:
        _add(tree, dialect.locate(type_, names["evidence"]), silent)
    elif "history" in names:
        failed = {"history_agent": normalised(last.level), "history_attempts": 1, "history_error": silent}
        line = {names[name].rpartition(".")[2]: value for name, value in failed.items() if name in names}
        _add(tree, dialect.locate(type_, names["history"]), line)
    return tree


def _add(tree: Tree, path: tuple[str, ...], line: Any) -> None:
    before = get_path(path)(tree)
    set_path(tree, path, [*(before if isinstance(before, list) else ()), line])

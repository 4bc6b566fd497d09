"""Work state of escalations: one topic per escalation, with its first message and the message to each further level.
Each of those further messages also has a topic of its own, so that an answer to it finds the escalation.

Any message of the current level answers an escalation, plain text included. So the answer is the event `answered` of
the messages here, and `bus/escalate.py` combines both.
"""

from collections.abc import Iterator

from telex.delivery.routing import role_at
from telex.dialects.schema import Dialect, MessageType, OneOf, kind_at
from telex.model.finding import Finding
from telex.model.roster import HUMAN, TELEX, Roster
from telex.model.text import ROOT
from telex.model.work import Escalation, EscalationLevel
from telex.validation.authorization import normalised
from telex.work.reducer import Fold, RuleContext, WorkRules, WorkState
from telex.work.view import WorkMessage, id_reused

KIND, CLIMB = "escalation", "climb"
ANY = "escalations"  # empty until the first escalation: no message can be an answer to one


def topic_of(id_: str) -> str:
    return f"{KIND}:{id_}"


def topics_of_step(id_: str) -> tuple[str, str]:
    """The topics that a message of an escalation may have: as its first, or as a further level."""
    return topic_of(id_), f"{CLIMB}:{id_}"


def above(dialect: Dialect, type_: MessageType, level: str) -> Iterator[str]:
    """The levels above this one, nearest first: along the dialect's chain, or in the order of its type's values."""
    if dialect.chain:
        seen = {level}
        while (over := dialect.chain.get(level)) is not None and over not in seen:
            yield over
            level = over
            seen.add(over)
        return
    field = kind_at(dialect.fields_of(type_), dialect.locate(type_, type_.field_map["level"]))
    levels = field.kind.values if field is not None and isinstance(field.kind, OneOf) else ()
    yield from levels[levels.index(level) + 1 :] if level in levels else levels[-1:]


def _topics(message: WorkMessage, topics: WorkState) -> Iterator[str]:
    """A further level belongs to its escalation. The bus also starts escalations, in reply to other messages."""
    if ANY not in topics:
        yield ANY
    if _may_climb(message) and topic_of(str(message.reply_to)) in topics:
        yield topic_of(str(message.reply_to))
        yield f"{CLIMB}:{message.id}"
    else:
        yield topic_of(message.id)


def _check(message: WorkMessage, topics: WorkState, context: RuleContext) -> tuple[Finding, ...]:
    """The id of an open escalation must not be reused: an answer names only the id."""
    if message.sender == TELEX:
        return ()
    first, climb = topics_of_step(message.id)
    skips = _skips_a_step(message, context.roster)
    if first not in topics and climb not in topics:
        return skips
    escalation: Escalation | None = topics.get(first)
    by = escalation.by if escalation is not None else TELEX
    return (*skips, id_reused(message, f"{by} has handed something up"))


def _skips_a_step(message: WorkMessage, roster: Roster) -> tuple[Finding, ...]:
    """Delivered to a level above the one that the message names, although a level below that one has a member."""
    level = message.text("level")
    levels = [normalised(one) for one in (level, *above(message.dialect, message.type, level))]
    here = next((place for place, role in enumerate(levels) if role == HUMAN or roster.of_role(role)), 0)
    skipping = [inbox for inbox in message.inboxes if role_at(inbox, roster) in levels[here + 1 :]]
    if not skipping:
        return ()
    say = f"Send it to {levels[here]}: an escalation goes exactly one step up, and {skipping[0]} is above that."
    return (Finding("escalation-skips-a-step", ROOT, say, expected=levels[here], found=skipping[0]),)


def _may_climb(message: WorkMessage) -> bool:
    return message.sender == TELEX and message.reply_to is not None


def _fold(state: Escalation | None, message: WorkMessage) -> Escalation:
    rung = EscalationLevel(
        id=message.id,
        seq=message.seq,
        at=message.at,
        level=message.text("level"),
        to=message.to,
        inboxes=message.inboxes or (message.to,),
    )
    if state is not None and _may_climb(message) and message.reply_to == state.id:
        return state._replace(rungs=(*state.rungs, rung))
    return Escalation(
        id=message.id,
        by=message.sender,
        role=message.role,
        at=message.at,
        dialect=message.dialect.name,
        type=message.type.name,
        reason=message.text("reason"),
        severity=message.text("severity"),
        correlation=message.correlation,
        cause=message.reply_to if message.sender == TELEX else None,
        rungs=(rung,),
    )


def _climbed(state: str | None, message: WorkMessage) -> str | None:
    """Id of the escalation that this level belongs to."""
    return state or message.reply_to


def _since(state: float | None, message: WorkMessage) -> float:
    """Time of the first escalation."""
    return message.at if state is None else state


RULES: dict[str, WorkRules] = {"escalate": WorkRules(_topics, _check)}
FOLDS: dict[str, Fold] = {KIND: _fold, CLIMB: _climbed, ANY: _since}

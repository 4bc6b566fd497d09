"""Correlation of a send: the message it replies to, its conversation, and the pending requests it answers."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from telex.bus.context import ESCALATE, BusContext
from telex.delivery.routing import Route, inboxes_of
from telex.delivery.validator_cache import CheckedMessage, TypeTraits
from telex.model.finding import Finding
from telex.model.json_path import ROOT, path_of
from telex.model.limits import LIMITS
from telex.model.message import Message, WorkChange
from telex.model.roster import HUMAN, ONE_OF_ROLE, Member, Roster
from telex.ports.store import Reads
from telex.work.view import COMES_ALONG, DECIDING

APPROVAL = "approval"  # kind of topic: one request for approval each


class SendRequest(NamedTuple):
    """Arguments of a send."""

    raw: bytes
    sender: str
    role: str | None = None
    to: str | None = None
    id: str | None = None
    reply_to: str | None = None
    correlation: str | None = None
    answer_within: float | None = None  # seconds; None: the default of its type, if it asks for an answer


def replace_surrogates(text: str | None) -> str | None:
    """The text with lone surrogates escaped: a refused message may have some, and no store can hold them."""
    if text is None or text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode()


def infer_reply_to(
    context: BusContext,
    reads: Reads,
    request: SendRequest,
    checked: CheckedMessage,
    *,
    member: Member,
    inboxes: Route,
) -> SendRequest:
    """Add reply_to and correlation where the message cannot name them.

    A dialect without ids cannot name what it answers. A sender that holds one message from the recipient answers that
    one. An answer belongs to the conversation of what it answers.
    """
    envelope, traits = checked.envelope, checked.traits
    reply_to = envelope.reply_to or request.reply_to
    if reply_to is None and traits is not None:
        reply_to = _held_request(context, reads, traits, member, inboxes)
        if reply_to is None and traits.answers and member.dialects:
            from telex.bus.render import unnamed_request  # it may have been shown a request as another type

            reply_to = unnamed_request(context, reads, member, traits.answers, envelope.correlation, inboxes=inboxes)
        if reply_to is not None:
            request = request._replace(reply_to=reply_to)
    if reply_to is not None and envelope.correlation is None and request.correlation is None:
        messages = [message for message in reads.find(reply_to) if not message.refused]
        request = request._replace(correlation=messages[-1].correlation if messages else None)
    return request


def _held_request(context: BusContext, reads: Reads, traits: TypeTraits, member: Member, inboxes: Route) -> str | None:
    """The id of the one message that the sender holds from the recipient and that this may answer."""
    if traits.dialect.wire.id is None and traits.replies:
        held = [message for message in reads.held(member.name) if _may_answer(traits, message, inboxes)]
        if len(held) == 1:
            return held[0].id
    if _is_decision_without_request(traits):
        held = [message for message in reads.held(member.name) if _is_from(message, inboxes)]
        if len(held) == 1 and context.action_of(held[0]) == "ask":
            return held[0].id
    return None


def _may_answer(traits: TypeTraits, message: Message, inboxes: Route) -> bool:
    fits = message.type in traits.answers or (message.type is None and not traits.answers)
    return fits and _is_from(message, inboxes)


def _is_decision_without_request(traits: TypeTraits) -> bool:
    """A dispatch with a decision, in a dialect that has no requests to name."""
    return traits.action == "dispatch" and "decision" in traits.type.field_map


def _is_from(message: Message, inboxes: Route) -> bool:
    """Was it sent by an agent or a role among these?"""
    return not {message.sender, ONE_OF_ROLE + message.role}.isdisjoint(inboxes)


class AnsweredRequests(NamedTuple):
    """The pending requests that a message answers, and what is odd about it as a reply."""

    requests: tuple[int, ...] = ()
    findings: tuple[Finding, ...] = ()


def requests_answered_by(
    context: BusContext,
    reads: Reads,
    request: SendRequest,
    checked: CheckedMessage,
    *,
    member: Member,
    inboxes: Route,
    work_change: WorkChange | None,
) -> AnsweredRequests:
    """Pending requests that this message answers: the one it names, or those of its conversation that want its type.

    An answer goes to the sender of the request and comes from those asked. Requests for approval and for shutdown are
    answered only by a message that decides them.
    """
    reply_to, traits = checked.envelope.reply_to or request.reply_to, checked.traits
    correlation = checked.envelope.correlation or request.correlation
    named = reads.pending_requests(reply_to, None) if reply_to is not None else []
    settles = _settles_escalations(traits)
    wanted = traits.answers if traits is not None else frozenset()
    types = wanted | context.escalation_types if settles else wanted
    related = reads.pending_requests(None, correlation, sorted(types)) if correlation is not None and types else []
    decided = _decided(context, reads, work_change) if traits is not None and traits.action in DECIDING else ()
    if not named and not related:
        return AnsweredRequests(decided)
    from telex.bus.escalate import escalations_answered_by, is_escalation  # most messages answer nothing

    settled = escalations_answered_by(
        context, reads, member, traits, named, related=related if settles else [], inboxes=inboxes
    )
    found = named if reply_to is not None else [pair for pair in related if pair[1].type in wanted]
    found = [pair for pair in found if pair[1].sender != member.name and not is_escalation(context, pair[1])]
    findings = [_correlation_differs(checked, message) for _, message in found if reply_to is not None]
    answered = list[int]()
    for pending, message in found:
        if _wants_another_answer(context, message, traits, work_change):
            continue
        deliveries, own = reads.deliveries(message.seq), inboxes_of(member, context.team.roster)
        was_asked = any(delivery.inbox in own or delivery.holder == member.name for delivery in deliveries)
        if not was_asked and member.role != HUMAN:
            asked = dict.fromkeys(delivery.inbox for delivery in deliveries)
            findings.append(_not_answered(message, " or ".join(asked)) if reply_to is not None else None)
        elif _is_from(message, inboxes):
            answered.append(pending.message)
    return AnsweredRequests((*settled, *decided, *answered), tuple([one for one in findings if one is not None]))


def _not_answered(message: Message, whom: str) -> Finding:
    say = f"Leave the answer to {whom}, who was asked: this is delivered, and {message.id} waits on."
    return Finding("request-not-answered", ROOT, say, "warning", expected=whom)


def _correlation_differs(checked: CheckedMessage, message: Message) -> Finding | None:
    """A reply that names another conversation than its request."""
    own, dialect = checked.envelope.correlation, checked.dialect
    field = dialect.wire.correlation if dialect is not None and dialect.name == message.dialect else None
    if field is None or not own or not message.correlation or own.casefold() == message.correlation.casefold():
        return None
    say = f"Give the reply the {field} of its request: {message.id} is in {message.correlation}."
    found = own[: LIMITS.found_characters_max]
    return Finding("correlation-differs", path_of(field), say, "warning", expected=message.correlation, found=found)


def _settles_escalations(traits: TypeTraits | None) -> bool:
    """A report does not answer an escalation of its conversation, nor does another escalation."""
    if traits is None:
        return True
    return traits.action is not None and traits.action not in COMES_ALONG and traits.action != ESCALATE


def with_decided_request(request: SendRequest, checked: CheckedMessage, work_change: WorkChange) -> SendRequest:
    """Add as reply_to the request that the message decides by its task, where it names none."""
    if checked.envelope.reply_to or request.reply_to:
        return request
    decided = _requests_in(work_change)
    return request._replace(reply_to=decided[0]) if len(decided) == 1 else request


def askers_not_reached(before: Mapping[str, Any], roster: Roster, inboxes: Route) -> list[str]:
    """Agents whose requests for approval a message decides without being delivered to them. The inbox of a role counts
    where the agent is its only member."""
    askers = [state.request.by for topic, state in before.items() if topic.startswith(APPROVAL + ":") and state]
    return [asker for asker in askers if asker not in inboxes and not _is_alone_at(asker, roster, inboxes)]


def _is_alone_at(name: str, roster: Roster, inboxes: Route) -> bool:
    member = roster.find(name)
    alone = member is not None and len(roster.of_role(member.role)) == 1
    return member is not None and alone and not set(inboxes_of(member, roster)).isdisjoint(inboxes)


def _requests_in(work_change: WorkChange) -> list[str]:
    """The requests for approval that a message changes."""
    prefix = APPROVAL + ":"
    return [topic.removeprefix(prefix) for topic in work_change.topics if topic.startswith(prefix)]


def _decided(context: BusContext, reads: Reads, work_change: WorkChange | None) -> tuple[int, ...]:
    ids = _requests_in(work_change) if work_change is not None else ()
    found = [pair for id_ in ids for pair in reads.pending_requests(id_, None)]
    return tuple(pending.message for pending, message in found if context.action_of(message) == "ask")


def _wants_another_answer(
    context: BusContext, message: Message, traits: TypeTraits | None, work_change: WorkChange | None
) -> bool:
    """Does a request wait on after this reply? Text in reply is delivered, but decides nothing."""
    action = context.action_of(message) if context.policy.work else ""
    if action == "ask":
        return context.team.topic(f"{APPROVAL}:{message.id}") is not None
    return action == "stop" and (work_change is None or traits is None or traits.action != "stopped")

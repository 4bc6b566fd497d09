"""Correlation of a send: the message it replies to, its conversation and the requests it answers; hints for a message
that answers nothing; and the messages of the bus that follow from it.

Text does not answer a request for shutdown or approval, nor a dispatch, and neither does a result that belongs to no
work: the sender gets a warning.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from telex.bus.context import ESCALATE, SHUTDOWN, BusContext
from telex.bus.decision import APPROVAL, SendRequest
from telex.delivery.routing import Route, inboxes_of, normal_address, route
from telex.delivery.validator_cache import CheckedMessage, TypeTraits
from telex.dialects.schema import PRIORITIES, Dialect, MessageType, Tree
from telex.dialects.write import write
from telex.model.finding import Finding
from telex.model.limits import LIMITS
from telex.model.message import NewMessage, StoredMessage, WorkChange
from telex.model.named_tuple import NamedTuple
from telex.model.roster import HUMAN, ONE_OF_ROLE, TELEX, Member, Roster
from telex.model.text import ROOT, digest_of, path_of
from telex.ports.store import Reads, RequestQuery, deliveries_of, find_messages, held_messages
from telex.validation.authorization import may_send
from telex.work import reducer
from telex.work.reducer import DraftMessage, HeaderFields, compose
from telex.work.view import COMES_ALONG, DECIDING, WorkMessage, fields_of

if TYPE_CHECKING:
    from telex.model.work import ShutdownRequest


def work_message_of(
    header: HeaderFields, role: str, inboxes: Route, dialect: Dialect, type_: MessageType, *, tree: Tree
) -> WorkMessage:
    """A message that is not stored yet, as the work rules see it."""
    return WorkMessage(
        seq=0,
        id=header.id,
        at=header.at,
        sender=header.sender,
        role=role,
        to=header.to or "",
        inboxes=inboxes,
        dialect=dialect,
        type=type_,
        fields=fields_of(tree, dialect, type_),
        correlation=header.correlation,
        reply_to=header.reply_to,
    )


def new_message_of(message: WorkMessage, raw: bytes) -> NewMessage:
    """The message as it is stored, without detail, deadline and work change."""
    return NewMessage(
        id=message.id,
        at=message.at,
        sender=message.sender,
        role=message.role,
        to=message.to,
        dialect=message.dialect.name,
        type=message.type.name,
        rank=PRIORITIES.index(message.type.priority),
        correlation=message.correlation,
        reply_to=message.reply_to,
        digest=digest_of(raw),
        raw=raw,
        inboxes=message.inboxes,
    )


def report_of_draft(
    context: BusContext, draft: DraftMessage, topics: Mapping[str, Any], roster: Roster, now: float
) -> NewMessage:
    """A message of the bus itself, stored together with the one that it follows from."""
    id_, dialect, type_ = draft.id or context.clock.new_id(), draft.dialect, draft.type
    header = HeaderFields(id_, now, TELEX, draft.to, correlation=draft.correlation, reply_to=draft.reply_to)
    tree = compose(dialect, type_, draft.of, header)
    routed = route(normal_address(draft.to), Member(TELEX, TELEX), roster)
    inboxes = (HUMAN,) if isinstance(routed, Finding) else routed  # a human always exists
    message = work_message_of(header, TELEX, inboxes, dialect, type_, tree=tree)
    raw = write(dialect, tree).encode("utf-8", "backslashreplace")
    return new_message_of(message, raw)._replace(
        answer_by=_answer_by(context, message), work_change=WorkChange(reducer.topics_changed(message, topics))
    )


def _answer_by(context: BusContext, message: WorkMessage) -> float | None:
    if message.action == "escalate":
        from telex.bus.escalate import deadline_of

        return deadline_of(message.text("level"), message.inboxes, message.at, context.limits)
    asks = message.type.reply is not None and HUMAN not in message.inboxes
    return message.at + context.limits.request_seconds if asks else None


# --- hints -----------------------------------------------------------------------------------------------------------


def missing_answer_hint(
    context: BusContext, member: Member, checked: CheckedMessage, inboxes: Route, reply_to: str | None
) -> tuple[Finding, ...]:
    """A warning for plain text that goes to an agent which waits for a typed answer of the sender."""
    stops = _shutdown_hint(context, member, checked, inboxes)
    if stops or reply_to is None:
        return stops
    if not context.policy.work or (checked.checked is not None and checked.checked.outcome != "plain"):
        return ()
    return _approval_hint(context, member, reply_to) or _dispatch_hint(context, member, reply_to)


def _shutdown_hint(context: BusContext, member: Member, checked: CheckedMessage, inboxes: Route) -> tuple[Finding, ...]:
    requests = context.team.topic(SHUTDOWN)
    if requests is None:
        return ()
    from telex.work.shutdown import open_call

    call = open_call(requests, member, context.team.roster)
    if call is None or {call.by, ONE_OF_ROLE + call.role}.isdisjoint(inboxes):
        return ()
    return _warning(context, member, checked, call)


def _warning(
    context: BusContext, member: Member, looked: CheckedMessage, call: "ShutdownRequest"
) -> tuple[Finding, ...]:
    """With a draft of the answer."""
    import json

    from telex.dialects.scalars import format_timestamp
    from telex.dialects.write import draft

    dialect, type_ = context.type_that("stopped")
    if dialect is None or type_ is None:
        return ()
    checked = looked.checked
    if checked is not None and checked.outcome != "plain" and checked.type != type_.name:
        return ()  # a coding tool's own frame, about something else
    given = {type_.field_map["request"]: call.id}
    role = member.role if may_send(member.role, type_) else None  # else it signs as one of those who may
    now, new_id = format_timestamp(context.clock.now()), context.clock.new_id()
    begun = draft(dialect, type_, given, now=now, new_id=new_id, role=role)
    say = f"Send a {type_.name} that names {call.id}: this is delivered, but no text answers a request to shut down."
    return (Finding("shutdown-not-answered", ROOT, say, "warning", expected=json.dumps(begun, ensure_ascii=False)),)


def _approval_hint(context: BusContext, member: Member, reply_to: str) -> tuple[Finding, ...]:
    """Text in reply to a request for approval, from an agent that may decide it."""
    from telex.work.approvals import answerers, answering, topic_of

    found = context.team.topic(topic_of(reply_to))
    if found is None or not found.waits or found.request.by == member.name:
        return ()
    words, own = answering(found.request, context.dialects), {member.name, member.role, ONE_OF_ROLE + member.role}
    if words is None or own.isdisjoint(answerers(found.request, words, (member,))):
        return ()
    decides = words[1].name
    say = f"Answer {reply_to} with {decides} (telex approve, telex reject): this text is delivered and decides nothing."
    return (Finding("approval-not-decided", ROOT, say, "warning", decides),)


def _dispatch_hint(context: BusContext, member: Member, reply_to: str) -> tuple[Finding, ...]:
    """Text in reply to a dispatch of a work, from an agent that does not run it."""
    work = context.team.topic(f"work:{reply_to.partition('.')[0]}")
    if work is None or work.by == member.name:
        return ()
    from telex.work.signals import text_answers_nothing

    return text_answers_nothing(work, reply_to)


def answers_no_dispatch(context: BusContext, work_message: WorkMessage) -> tuple[Finding, ...]:
    """A warning for a result that belongs to no work, while some work waits for one like it."""
    from telex.work.signals import answers_nothing, topic_of

    topic = topic_of(work_message)
    if topic is not None and context.team.topic(topic) is not None:
        return ()  # it belongs to a work, whose own rules apply
    works = [context.team.topic(name) for name in context.team.topic_names("work")]
    return answers_nothing(work_message, [work for work in works if work is not None])


# --- correlation -----------------------------------------------------------------------------------------------------


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

    A message of a dialect without ids answers the one message that its sender holds from the recipient. An answer
    belongs to the conversation of its request.
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
        messages = [message for message in find_messages(reads, reply_to) if not message.refused]
        request = request._replace(correlation=messages[-1].correlation if messages else None)
    return request


def _held_request(context: BusContext, reads: Reads, traits: TypeTraits, member: Member, inboxes: Route) -> str | None:
    """The id of the one message that the sender holds from the recipient and that this may answer."""
    if traits.dialect.wire.id is None and traits.replies:
        held = [
            message
            for message in held_messages(reads, member.name)
            if _is_from(message, inboxes)
            and (message.type in traits.answers or (message.type is None and not traits.answers))
        ]
        if len(held) == 1:
            return held[0].id
    if traits.action == "dispatch" and "decision" in traits.type.field_map:
        held = [message for message in held_messages(reads, member.name) if _is_from(message, inboxes)]
        if len(held) == 1 and context.action_of(held[0]) == "ask":
            return held[0].id
    return None


def _is_from(message: StoredMessage, inboxes: Route) -> bool:
    return not {message.sender, ONE_OF_ROLE + message.role}.isdisjoint(inboxes)


class AnsweredRequests(NamedTuple):
    """The pending requests that a message answers, and warnings about the reply."""

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
    named = reads.pending_requests(RequestQuery(id=reply_to)) if reply_to is not None else []
    # A report does not answer an escalation of its conversation, nor does another escalation.
    reports = {None, ESCALATE, *COMES_ALONG}
    settles = traits is None or traits.action not in reports
    wanted = traits.answers if traits is not None else frozenset()
    types = wanted | context.escalation_types if settles else wanted
    query = RequestQuery(correlation=correlation, types=sorted(types))
    related = reads.pending_requests(query) if correlation is not None and types else []
    decided = _decided(context, reads, work_change) if traits is not None and traits.action in DECIDING else ()
    if not named and not related:
        return AnsweredRequests(decided)
    from telex.bus.escalate import escalations_answered_by  # most messages answer nothing

    settled = escalations_answered_by(
        context, reads, member, traits, named, related=related if settles else [], inboxes=inboxes
    )
    requests = named if reply_to is not None else [pair for pair in related if pair[1].type in wanted]
    requests = [pair for pair in requests if pair[1].sender != member.name and not context.is_escalation(pair[1])]
    findings = [_correlation_differs(checked, message) for _, message in requests if reply_to is not None]
    answered = list[int]()
    for pending, message in requests:
        if _wants_another_answer(context, message, traits, work_change):
            continue
        deliveries, own = deliveries_of(reads, message.seq), inboxes_of(member, context.team.roster)
        was_asked = any(delivery.inbox in own or delivery.holder == member.name for delivery in deliveries)
        if not was_asked and member.role != HUMAN:
            whom = " or ".join(dict.fromkeys(delivery.inbox for delivery in deliveries))
            say = f"Leave the answer to {whom}: this is delivered, and {message.id} still waits for an answer."
            if reply_to is not None:
                findings.append(Finding("request-not-answered", ROOT, say, "warning", expected=whom))
        elif _is_from(message, inboxes):
            answered.append(pending.message)
    return AnsweredRequests((*settled, *decided, *answered), tuple([f for f in findings if f is not None]))


def _correlation_differs(checked: CheckedMessage, message: StoredMessage) -> Finding | None:
    """A reply that names another conversation than its request."""
    own, dialect = checked.envelope.correlation, checked.dialect
    field = dialect.wire.correlation if dialect is not None and dialect.name == message.dialect else None
    if field is None or not own or not message.correlation or own.casefold() == message.correlation.casefold():
        return None
    say = f"Give the reply the {field} of its request: {message.id} is in {message.correlation}."
    found = own[: LIMITS.found_characters_max]
    return Finding("correlation-differs", path_of(field), say, "warning", expected=message.correlation, found=found)


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
    requests = [pair for id_ in ids for pair in reads.pending_requests(RequestQuery(id=id_))]
    return tuple(pending.message for pending, message in requests if context.action_of(message) == "ask")


def _wants_another_answer(
    context: BusContext, message: StoredMessage, traits: TypeTraits | None, work_change: WorkChange | None
) -> bool:
    """Whether the request still waits after this reply: text decides nothing."""
    action = context.action_of(message) if context.policy.work else ""
    if action == "ask":
        return context.team.topic(f"{APPROVAL}:{message.id}") is not None
    return action == "stop" and (work_change is None or traits is None or traits.action != "stopped")

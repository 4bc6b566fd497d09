"""Work rules of one send: findings, changed topics and follow-up messages; hints for a message that answers nothing.

Text does not answer a request for shutdown or approval, and a result that belongs to no work does not answer a
dispatch: the sender gets a warning.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from telex.bus.context import SHUTDOWN, BusContext, Topics
from telex.delivery.routing import Route, normal_address, route
from telex.delivery.validator_cache import CheckedMessage
from telex.dialects.schema import PRIORITIES, Dialect, MessageType, Tree
from telex.dialects.write import write
from telex.model.finding import Finding, refusals
from telex.model.message import Event, NewMessage, WorkChange
from telex.model.named_tuple import NamedTuple
from telex.model.roster import HUMAN, ONE_OF_ROLE, TELEX, Member, Roster
from telex.model.text import ROOT, digest_of
from telex.ports.store import Reads
from telex.validation.authorization import may_send
from telex.work import reducer
from telex.work.reducer import DraftMessage, HeaderFields, RuleContext, compose
from telex.work.view import WorkMessage, fields_of

if TYPE_CHECKING:
    from telex.model.work import ShutdownRequest


class WorkDecision(NamedTuple):
    findings: tuple[Finding, ...] = ()
    change: WorkChange | None = None  # what is written with the message; None: it changes nothing
    before: Mapping[str, Any] | None = None  # the topics it changes, as they were


NO_CHANGE = WorkDecision()


def check_work_rules(
    context: BusContext, reads: Reads, message: WorkMessage, roster: Roster, evidence: tuple[Finding, ...] = ()
) -> WorkDecision:
    """Apply the rules to a message, on the topics of the transaction. `evidence`: findings on its claims."""
    topics, action = Topics(context.team), message.action
    rules = RuleContext(message.at, roster, context.limits, context.work, context.dialects)
    if action == "signal":
        evidence = (*evidence, *answers_no_dispatch(context, reads, message))
    findings = reducer.check_rules(message, topics, rules)
    if findings and refusals(findings):
        return WorkDecision((*evidence, *findings))
    findings = (*evidence, *findings)
    if evidence and refusals(evidence):
        return WorkDecision(findings)
    changed = reducer.topics_changed(message, topics)
    follow_ups = reducer.action_rules(action).follow_ups
    if not changed and not follow_ups and action != "stopped":
        return WorkDecision(findings) if findings else NO_CHANGE
    before = {topic: topics.get(topic) for topic in changed}
    if not follow_ups and action != "stopped":
        return WorkDecision(findings, WorkChange(changed), before)
    after = topics.after({topic: reducer.fold(topic, state, message) for topic, state in before.items()})
    reports = tuple(
        report_of_draft(context, draft, after, roster, message.at)
        for rule in follow_ups
        for draft in rule(message, after, rules)
    )
    stopped = tuple(
        (member._replace(stopped_at=message.at), Event(0, message.at, "stopped", member.name))
        for member in reducer.stopping(message, after, rules)
    )
    change = WorkChange(changed, reports, stopped) if changed or reports or stopped else None
    return WorkDecision(findings, change, before)


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
    return stops if stops or reply_to is None else _approval_hint(context, member, checked, reply_to)


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


def _approval_hint(context: BusContext, member: Member, checked: CheckedMessage, reply_to: str) -> tuple[Finding, ...]:
    """Text in reply to a request for approval, from an agent that may decide it."""
    if not context.policy.work or (checked.checked is not None and checked.checked.outcome != "plain"):
        return ()
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


def answers_no_dispatch(context: BusContext, reads: Reads, work_message: "WorkMessage") -> tuple[Finding, ...]:
    """A warning for a result that belongs to no work, while some work waits for one like it."""
    from telex.work.signals import answers_nothing, topic_of

    topic = topic_of(work_message)
    if topic is not None and context.team.topic(topic) is not None:
        return ()  # it belongs to a work, whose own rules apply
    works = [context.team.topic(name) for name in context.team.topic_names("work")]
    return answers_nothing(work_message, [work for work in works if work is not None])

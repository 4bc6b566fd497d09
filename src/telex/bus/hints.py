"""Hints to a sender whose message answers nothing, though it may be meant as an answer.

Text does not answer a request for shutdown or approval, and a result that belongs to no work does not answer a
dispatch. Every plain text passes here, so the rules are imported only where there is such a request.
"""

from typing import TYPE_CHECKING

from telex.bus.context import SHUTDOWN, BusContext
from telex.delivery.routing import Route
from telex.delivery.validator_cache import CheckedMessage
from telex.model.finding import Finding
from telex.model.json_path import ROOT
from telex.model.roster import ONE_OF_ROLE, Member
from telex.ports.store import Reads
from telex.validation.authorization import may_send

if TYPE_CHECKING:
    from telex.model.shutdown import ShutdownRequest
    from telex.work.view import WorkMessage


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
    if dialect is None or type_ is None or type_.deed is None:
        return ()
    checked = looked.checked
    if checked is not None and checked.outcome != "plain" and checked.type != type_.name:
        return ()  # a coding tool's own frame, about something else
    given = {type_.deed.field_map["request"]: call.id}
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
    from telex.work.user_dialect_requests import undecided

    found = context.team.topic(topic_of(reply_to))
    if found is None or not found.waits or found.request.by == member.name:
        return ()
    words, own = answering(found.request, context.dialects), {member.name, member.role, ONE_OF_ROLE + member.role}
    if words is None or own.isdisjoint(answerers(found.request, words, (member,))):
        return ()
    return (undecided(reply_to, words[1].name, "no text"),)


def answers_no_dispatch(context: BusContext, reads: Reads, work_message: "WorkMessage") -> tuple[Finding, ...]:
    """A warning for a result that belongs to no work, while some work waits for one like it."""
    from telex.work.signals import answers_nothing, topic_of

    topic = topic_of(work_message)
    if topic is not None and context.team.topic(topic) is not None:
        return ()  # it belongs to a work, whose own rules apply
    works = [context.team.topic(name) for name in context.team.topic_names("work")]
    return answers_nothing(work_message, [work for work in works if work is not None])

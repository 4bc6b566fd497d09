"""Did somebody mean to answer something, and did not? Text is no answer to a request to shut down or to approve, and a
result that belongs to no work is none to a dispatch; its sender is told so.

It is on the path of every plain text, so nothing is imported while nobody was ever asked to shut down and the text
replies to nothing.
"""

from typing import TYPE_CHECKING

from telex.bus.directory import SHUTDOWN, BusContext
from telex.delivery.routing import Route
from telex.delivery.validator_cache import CheckedMessage
from telex.model.finding import Finding
from telex.model.json_path import ROOT
from telex.model.roster import ONE_OF_ROLE, Member
from telex.validation.authorization import may_send

if TYPE_CHECKING:
    from telex.model.shutdown import ShutdownRequest
    from telex.work.view import WorkMessage


async def missing_answer_hint(
    context: BusContext, member: Member, checked: CheckedMessage, inboxes: Route, reply_to: str | None
) -> tuple[Finding, ...]:
    """A warning to a member that sends whoever asked it for a certain answer something else that might be meant as
    that."""
    if checked.traits is not None:
        return ()
    stops = await _stops_nobody(context, member, checked, inboxes)
    return stops if stops or reply_to is None else await _decides_nothing(context, member, checked, reply_to)


async def _stops_nobody(
    context: BusContext, member: Member, checked: CheckedMessage, inboxes: Route
) -> tuple[Finding, ...]:
    roster = await context.roster()
    if not context.was_asked_to_stop:
        return ()
    from telex.work.shutdown import open_call

    known = (await context.work_cache.of((SHUTDOWN,))).get(SHUTDOWN)
    call = open_call(known, member, roster) if known is not None else None
    if call is None or {call.by, ONE_OF_ROLE + call.role}.isdisjoint(inboxes):
        return ()
    return _warning(context, member, checked, call)


def _warning(
    context: BusContext, member: Member, looked: CheckedMessage, call: "ShutdownRequest"
) -> tuple[Finding, ...]:
    """With the answer begun, so that the rest is easily filled in."""
    import json

    from telex.delivery.system_messages import format_timestamp
    from telex.dialects.draft import draft

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


async def _decides_nothing(
    context: BusContext, member: Member, checked: CheckedMessage, reply_to: str
) -> tuple[Finding, ...]:
    """Text in reply to a request for approval, from somebody who could have decided it."""
    if not context.policy.work or (checked.checked is not None and checked.checked.outcome != "plain"):
        return ()
    from telex.work.approvals import answerers, answering, topic_of
    from telex.work.user_dialect_requests import undecided

    topic = topic_of(reply_to)
    found = (await context.work_cache.of((topic,))).get(topic)
    if found is None or not found.waits or found.request.by == member.name:
        return ()
    words, own = answering(found.request, context.dialects), {member.name, member.role, ONE_OF_ROLE + member.role}
    if words is None or own.isdisjoint(answerers(found.request, words, (member,))):
        return ()
    return (undecided(reply_to, words[1].name, "no text"),)


async def answers_no_dispatch(context: BusContext, work_message: "WorkMessage") -> tuple[Finding, ...]:
    """A warning to whoever sends a result that no work will hear of, while some wait for one like it."""
    if work_message.action != "signal":
        return ()
    from telex.work.signals import answers_nothing, topic_of

    topic = topic_of(work_message)
    if topic is not None and await context.work_cache.of((topic,)):
        return ()  # it belongs to a work, which has its own word for what comes out of turn
    return answers_nothing(work_message, (await context.work_cache.of_kind("work")).values())

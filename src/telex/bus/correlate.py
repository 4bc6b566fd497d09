"""What does a message answer, and to which conversation does it belong? What it does not say itself is found out."""

from typing import NamedTuple

from telex.bus.directory import HAND_UP, BusContext
from telex.delivery.routing import Route
from telex.delivery.validator_cache import CheckedMessage, TypeTraits
from telex.model.message import Message, WorkChange
from telex.model.roster import ONE_OF_ROLE, Member
from telex.work.actions import COMES_ALONG, DECIDING

APPROVAL = "approval"  # the kind of topic: what was asked for approval


class SendRequest(NamedTuple):
    """What was asked for."""

    raw: bytes
    sender: str
    role: str | None = None
    to: str | None = None
    id: str | None = None
    reply_to: str | None = None
    correlation: str | None = None
    answer_within: float | None = None  # seconds; None: as long as its type may take, if it asks at all


def replace_surrogates(text: str | None) -> str | None:
    """The text with half characters written out: a refused message may have some, and no store can hold them."""
    if text is None or text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode()


async def infer_reply_to(
    context: BusContext, request: SendRequest, checked: CheckedMessage, member: Member, inboxes: Route
) -> SendRequest:
    """With what it answers and the conversation it belongs to, where the message has no words for that.

    A dialect without ids cannot name what it answers. Who writes back to the one whose message it has in hand, and has
    only that one from there, answers it. What is an answer belongs to the conversation of what it answers.
    """
    facts, kind = checked.envelope, checked.traits
    reply_to = facts.reply_to or request.reply_to
    if reply_to is None and kind is not None and kind.dialect.wire.id is None and kind.replies:
        held = [
            message for message in await context.store.held(member.name) if _may_be_answered(message, checked, inboxes)
        ]
        if len(held) == 1:
            request = request._replace(reply_to=held[0].id)
            reply_to = held[0].id
    if reply_to is None and kind is not None and _says_yes_or_no(kind):
        held = [message for message in await context.store.held(member.name) if _is_from(message, inboxes)]
        if len(held) == 1 and context.action_of(held[0]) == "ask":
            request = request._replace(reply_to=held[0].id)
            reply_to = held[0].id
    if reply_to is None and kind is not None and kind.answers and member.dialects:
        from telex.bus.render import unnamed_answers  # it may have been shown a request as something else

        reply_to = await unnamed_answers(context, member, kind.answers, facts.correlation, inboxes)
        request = request._replace(reply_to=reply_to)
    if reply_to is not None and facts.correlation is None and request.correlation is None:
        messages = [message for message in await context.store.find(reply_to) if not message.refused]
        request = request._replace(correlation=messages[-1].correlation if messages else None)
    return request


def _may_be_answered(message: Message, checked: CheckedMessage, inboxes: Route) -> bool:
    kind = checked.traits
    assert kind is not None
    fits = message.type in kind.answers or (message.type is None and not kind.answers)
    return fits and _is_from(message, inboxes)


def _says_yes_or_no(kind: TypeTraits) -> bool:
    """Is it a dispatch that would decide a request, if only it named one? Its dialect knows no requests."""
    action = kind.type.deed
    return kind.action == "dispatch" and action is not None and "decision" in action.field_map


def _is_from(message: Message, inboxes: Route) -> bool:
    """Is it from one of these, or from whoever of a role?"""
    return not {message.sender, ONE_OF_ROLE + message.role}.isdisjoint(inboxes)


async def requests_answered_by(
    context: BusContext,
    request: SendRequest,
    checked: CheckedMessage,
    member: Member,
    inboxes: Route,
    work_change: WorkChange | None,
) -> tuple[int, ...]:
    """The requests that this message answers: the one it names, or those of its conversation that want this type.

    An answer goes to whoever asked and comes from somebody else; anything else leaves the asker waiting. To approve or
    to shut down is answered by what does so, and by nothing else.
    """
    reply_to, kind = checked.envelope.reply_to or request.reply_to, checked.traits
    correlation = checked.envelope.correlation or request.correlation
    named = await context.store.pending_requests(reply_to, None) if reply_to is not None else []
    tells = kind is None or (kind.action is not None and kind.action not in COMES_ALONG)
    wanted = kind.answers if kind is not None else frozenset()
    settles = tells and (kind is None or kind.action != HAND_UP)  # what hands another matter up is no answer
    types = wanted | context.types_handing_up if settles else wanted
    spoken_of = (
        await context.store.pending_requests(None, correlation, sorted(types))
        if correlation is not None and types
        else []
    )
    decided = await _decided(context, work_change) if kind is not None and kind.action in DECIDING else ()
    if not named and not spoken_of:
        return decided
    from telex.bus.escalate import escalations_answered_by, is_escalation  # most messages are no answer

    settled = await escalations_answered_by(context, member, kind, named, spoken_of if settles else [], inboxes)
    found = named if reply_to is not None else [one for one in spoken_of if one[1].type in wanted]
    others = [
        pending_request.message
        for pending_request, message in found
        if not is_escalation(context, message) and not await _waits_on(context, message, kind, work_change)
        if message.sender != member.name and _is_from(message, inboxes)
    ]
    return (*settled, *decided, *others)


def with_decided_requests(request: SendRequest, checked: CheckedMessage, work_change: WorkChange | None) -> SendRequest:
    """With the request that it decides by its task, where it names none: whoever asked is told which."""
    kind = checked.traits
    if (
        kind is None
        or kind.action not in DECIDING
        or checked.envelope.reply_to
        or request.reply_to
        or work_change is None
    ):
        return request
    decided = _requests_in(work_change)
    return request._replace(reply_to=decided[0]) if len(decided) == 1 else request


def _requests_in(work_change: WorkChange) -> list[str]:
    """The requests for approval that a message is about, by the book."""
    kind = APPROVAL + ":"
    return [topic.removeprefix(kind) for topic in work_change.topics if topic.startswith(kind)]


async def _decided(context: BusContext, work_change: WorkChange | None) -> tuple[int, ...]:
    """Those that it decides."""
    ids = _requests_in(work_change) if work_change is not None else ()
    found = [one for id_ in ids for one in await context.store.pending_requests(id_, None)]
    return tuple(pending_request.message for pending_request, message in found if context.action_of(message) == "ask")


async def _waits_on(
    context: BusContext, message: Message, kind: TypeTraits | None, work_change: WorkChange | None
) -> bool:
    """Does a request want another answer than this? Text in reply is delivered, and whoever asked still has none."""
    does = context.action_of(message) if context.policy.work else ""
    if does == "ask":
        topic = f"{APPROVAL}:{message.id}"
        return topic in await context.work_cache.of((topic,))
    return does == "stop" and (work_change is None or kind is None or kind.action != "stopped")

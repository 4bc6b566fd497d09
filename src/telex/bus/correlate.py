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


def whole(text: str | None) -> str | None:
    """The text with half characters written out: a refused message may have some, and no store can hold them."""
    if text is None or text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode()


async def placed(
    office: BusContext, asked: SendRequest, looked: CheckedMessage, member: Member, inboxes: Route
) -> SendRequest:
    """With what it answers and the conversation it belongs to, where the message has no words for that.

    A dialect without ids cannot name what it answers. Who writes back to the one whose message it has in hand, and has
    only that one from there, answers it. What is an answer belongs to the conversation of what it answers.
    """
    facts, kind = looked.facts, looked.kind
    reply_to = facts.reply_to or asked.reply_to
    if reply_to is None and kind is not None and kind.dialect.wire.id is None and kind.replies:
        held = [one for one in await office.store.held(member.name) if _may_be_answered(one, looked, inboxes)]
        if len(held) == 1:
            asked = asked._replace(reply_to=held[0].id)
            reply_to = held[0].id
    if reply_to is None and kind is not None and _says_yes_or_no(kind):
        held = [one for one in await office.store.held(member.name) if _is_from(one, inboxes)]
        if len(held) == 1 and office.deed_of(held[0]) == "ask":
            asked = asked._replace(reply_to=held[0].id)
            reply_to = held[0].id
    if reply_to is None and kind is not None and kind.answers and member.dialects:
        from telex.bus.render import answered_unnamed  # it may have been shown a request as something else

        reply_to = await answered_unnamed(office, member, kind.answers, facts.correlation, inboxes)
        asked = asked._replace(reply_to=reply_to)
    if reply_to is not None and facts.correlation is None and asked.correlation is None:
        found = [one for one in await office.store.find(reply_to) if not one.refused]
        asked = asked._replace(correlation=found[-1].correlation if found else None)
    return asked


def _may_be_answered(message: Message, looked: CheckedMessage, inboxes: Route) -> bool:
    kind = looked.kind
    assert kind is not None
    fits = message.type in kind.answers or (message.type is None and not kind.answers)
    return fits and _is_from(message, inboxes)


def _says_yes_or_no(kind: TypeTraits) -> bool:
    """Is it a dispatch that would decide a request, if only it named one? Its dialect knows no requests."""
    deed = kind.type.deed
    return kind.deed == "dispatch" and deed is not None and "decision" in deed.names


def _is_from(message: Message, inboxes: Route) -> bool:
    """Is it from one of these, or from whoever of a role?"""
    return not {message.sender, ONE_OF_ROLE + message.role}.isdisjoint(inboxes)


async def answered(
    office: BusContext,
    asked: SendRequest,
    looked: CheckedMessage,
    member: Member,
    inboxes: Route,
    part: WorkChange | None,
) -> tuple[int, ...]:
    """The requests that this message answers: the one it names, or those of its conversation that want this type.

    An answer goes to whoever asked and comes from somebody else; anything else leaves the asker waiting. To approve or
    to shut down is answered by what does so, and by nothing else.
    """
    reply_to, kind = looked.facts.reply_to or asked.reply_to, looked.kind
    correlation = looked.facts.correlation or asked.correlation
    named = await office.store.asked(reply_to, None) if reply_to is not None else []
    tells = kind is None or (kind.deed is not None and kind.deed not in COMES_ALONG)
    wanted = kind.answers if kind is not None else frozenset()
    settles = tells and (kind is None or kind.deed != HAND_UP)  # what hands another matter up is no answer
    types = wanted | office.types_handing_up if settles else wanted
    spoken_of = await office.store.asked(None, correlation, sorted(types)) if correlation is not None and types else []
    decided = await _decided(office, part) if kind is not None and kind.deed in DECIDING else ()
    if not named and not spoken_of:
        return decided
    from telex.bus.escalate import answered_by, is_escalation  # most messages are no answer

    settled = await answered_by(office, member, kind, named, spoken_of if settles else [], inboxes)
    found = named if reply_to is not None else [one for one in spoken_of if one[1].type in wanted]
    others = [
        ask.message
        for ask, message in found
        if not is_escalation(office, message) and not await _waits_on(office, message, kind, part)
        if message.sender != member.name and _is_from(message, inboxes)
    ]
    return (*settled, *decided, *others)


def with_what_it_decides(asked: SendRequest, looked: CheckedMessage, part: WorkChange | None) -> SendRequest:
    """With the request that it decides by its task, where it names none: whoever asked is told which."""
    kind = looked.kind
    if kind is None or kind.deed not in DECIDING or looked.facts.reply_to or asked.reply_to or part is None:
        return asked
    decided = _requests_in(part)
    return asked._replace(reply_to=decided[0]) if len(decided) == 1 else asked


def _requests_in(part: WorkChange) -> list[str]:
    """The requests for approval that a message is about, by the book."""
    kind = APPROVAL + ":"
    return [topic.removeprefix(kind) for topic in part.topics if topic.startswith(kind)]


async def _decided(office: BusContext, part: WorkChange | None) -> tuple[int, ...]:
    """Those that it decides."""
    ids = _requests_in(part) if part is not None else ()
    found = [one for id_ in ids for one in await office.store.asked(id_, None)]
    return tuple(ask.message for ask, message in found if office.deed_of(message) == "ask")


async def _waits_on(office: BusContext, message: Message, kind: TypeTraits | None, part: WorkChange | None) -> bool:
    """Does a request want another answer than this? Text in reply is delivered, and whoever asked still has none."""
    does = office.deed_of(message) if office.desk.work else ""
    if does == "ask":
        topic = f"{APPROVAL}:{message.id}"
        return topic in await office.books.of((topic,))
    return does == "stop" and (part is None or kind is None or kind.deed != "stopped")

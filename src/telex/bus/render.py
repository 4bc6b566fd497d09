"""Rendering of a leased message in a dialect that its reader reads, recorded together with the lease.

Only members that declare the dialects they read need this module.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from telex.bus.context import BusContext
from telex.delivery.reader_form import choices_of, markdown_for, rendering_for
from telex.dialects.registry import PLAIN
from telex.dialects.schema import Dialect, MessageType
from telex.model.dialect_version import choice_of
from telex.model.event import CHANGES, Event, detail_of
from telex.model.message import Lease, Message, Rendering
from telex.model.roster import ONE_OF_ROLE, Member
from telex.ports.store import LeaseRequest, Reads


def reader_form(context: BusContext, reads: Reads, message: Message, member: Member) -> Rendering | None:
    """The form in which the member last got the message; where it has not, or will get it again, as it would now."""
    last = _last_lease(reads, message, member.name)
    if last is None:
        return rendered(context, message, member) if member.dialects else None
    if not last:
        return None
    dialects = (str(last.get("reads", last.get("dialect"))),)
    return rendered(context, message, member._replace(dialects=dialects))


def _last_lease(reads: Reads, message: Message, name: str) -> dict[str, Any] | None:
    """Details of the translation in which the message was last leased; empty where it was not translated. None: it was
    not leased yet, or will be again."""
    is_stored = {
        delivery.seq: delivery.state == "stored" for delivery in reads.deliveries(message.seq) if delivery.attempts
    }
    found: dict[str, Any] | None = None
    for event in reads.story(message.seq) if is_stored else ():
        if event.agent != name or is_stored.get(event.delivery or 0, True):
            continue
        if event.kind == "leased":
            found = {}
        elif event.kind == "translated":
            found = detail_of(event)
    return found


def rendered(context: BusContext, message: Message, member: Member) -> Rendering | None:
    """The message as the member reads it. None: as it was sent."""
    try:
        if _has_lost_its_dialect(context, message) and not _reads(member, message.dialect):
            return _without_its_dialect(message, member)
        return rendering_for(message, member, context.dialects, context.limits)
    except Exception as error:  # a mistake of ours must not keep a message from its reader for ever, nor be hidden
        return _instead(context, message, member, error)


def _instead(context: BusContext, message: Message, member: Member, error: Exception) -> Rendering:
    """Markdown, which says whatever there is to say; what not even that can say is handed over as it was sent."""
    mistake = _where(error)
    try:
        rendering = markdown_for(message, member, context.dialects, context.limits)
    except Exception:
        rendering = Rendering(PLAIN.name, None, message.raw)
    return rendering._replace(mistake=mistake)


def _has_lost_its_dialect(context: BusContext, message: Message) -> bool:
    """It was typed when it came, and the team's settings have that dialect no more."""
    return message.type is not None and message.dialect not in (None, PLAIN.name) and context.type_of(message) is None


def _reads(member: Member, dialect: str | None) -> bool:
    return not member.dialects or any(
        dialect_choice.dialect == _base(dialect) for dialect_choice in choices_of(member.dialects)
    )


def _base(dialect: str | None) -> str:
    return choice_of(dialect or "").dialect


def _without_its_dialect(message: Message, member: Member) -> Rendering:
    """Markdown of what can be seen: which fields the message has, and no word of what such a message is for."""
    from telex.translation.envelope import MessageHeader
    from telex.translation.markdown import render

    try:
        tree = json.loads(message.raw)
    except (ValueError, RecursionError):
        tree = None
    body = None if isinstance(tree, dict) else message.raw.decode("utf-8", "backslashreplace")
    name = message.dialect or ""
    purpose = f"This team does not have the dialect {name} any more, so nobody can say what such a message is for."
    type_ = MessageType(message.type or "", purpose, senders=(), receivers=(), priority="STATUS", fields={}, example={})
    dialect = Dialect(name, "", purpose="", form="json", roles=(), types={})
    header = MessageHeader(
        message.id,
        message.at,
        sender=message.sender,
        sender_role=message.role,
        recipient=member.name,
        recipient_role=member.role,
        correlation=message.correlation,
        reply_to=message.reply_to,
    )
    text = render(tree if isinstance(tree, dict) else {}, dialect, type_, header, body)
    return Rendering(PLAIN.name, None, text.encode("utf-8", "backslashreplace"))


def _where(error: Exception) -> str:
    """For whoever is to fix it: the kind of error and the line, and none of the words of the message."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    place = f"{Path(frame.tb_frame.f_code.co_filename).name} line {frame.tb_lineno}" if frame is not None else "?"
    return f"{type(error).__name__} in {place}"


def unnamed_request(
    context: BusContext,
    reads: Reads,
    member: Member,
    answers: frozenset[str],
    correlation: str | None,
    *,
    inboxes: Sequence[str],
) -> str | None:
    """The one request that a member answers without naming it: of those that it was shown as a type which this answers,
    the one of the same conversation, or the one that it holds."""
    among = reads.held(member.name)
    if correlation is not None:
        # A request without a conversation was shown as one of its own, under its id.
        asked = [*reads.pending_requests(None, correlation), *reads.pending_requests(correlation, None)]
        same = [message for message in among if correlation in (message.correlation, message.id)]
        among = [*same, *(message for _, message in asked)]
    back = [message for message in among if not {message.sender, ONE_OF_ROLE + message.role}.isdisjoint(inboxes)]
    forms = [
        (message.id, reader_form(context, reads, message, member)) for message in back if message.sender != member.name
    ]
    found = {id_ for id_, form in forms if form is not None and form.type in answers}
    return found.pop() if len(found) == 1 else None


async def lease(context: BusContext, member: Member, request: LeaseRequest) -> list[Lease]:
    """Lease messages, each with its translation for the reader."""
    made: dict[int, Rendering | None] = {}
    if request.limit > 1 and not request.only:  # translated before the lock is taken, as far as possible
        waiting = await context.store.waiting(request.inboxes, request.limit)
        made = {
            delivery.seq: rendered(context, message, member)
            for delivery, message in waiting
            if delivery.state == "stored"
        }

    def told(lease: Lease) -> Event | None:
        if lease.delivery not in made:
            made[lease.delivery] = rendered(context, lease.message, member)
        rendering = made[lease.delivery]
        if rendering is None:
            return None
        detail = json.dumps(facts(rendering, member, lease.message))
        return Event(
            0,
            request.now,
            kind="translated",
            agent=member.name,
            message=lease.message.seq,
            delivery=lease.delivery,
            inbox=lease.inbox,
            detail=detail,
        )

    leases = await context.store.lease(request._replace(extra_event=told))
    return [lease._replace(rendering=made.get(lease.delivery)) for lease in leases]


def facts(rendering: Rendering, member: Member, message: Message) -> dict[str, str | int | None]:
    """For the record: into what, and how much of it is not the same."""
    counts = {name: len(getattr(rendering, name)) for name in CHANGES}
    mistake = {"mistake": rendering.mistake} if rendering.mistake else {}
    kind = {"dialect": rendering.dialect, "type": rendering.type} | _spelling(rendering, member, message)
    return kind | {name: count for name, count in counts.items() if count} | mistake


def _spelling(rendering: Rendering, member: Member, message: Message) -> dict[str, str]:
    """What its reader asked for where that is more than a dialect: it may read other spellings when somebody asks."""
    base = _base(rendering.dialect)
    choice = next((choice for choice in choices_of(member.dialects) if choice.dialect == base), None)
    other_version = rendering.dialect != message.dialect and base == _base(message.dialect)
    if choice is None or not (choice.spellings or other_version):
        return {}
    return {"reads": choice.text if other_version else choice._replace(version=None).text}

"""Form of a message for one reader: the original if the reader has its dialect, else a translation, else markdown.

A rendering is a function of the message and its reader, so it is computed on demand and never stored; the event
`translated` is stored together with the lease. Plain text and messages that cannot be parsed are passed on unchanged.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from telex.bus import LazyModule
from telex.bus.context import BusContext
from telex.delivery.membership import respellings, spelt_for
from telex.dialects.parse.reader import read
from telex.dialects.registry import PLAIN
from telex.dialects.schema import Dialect, MessageType, Tree, get_path
from telex.dialects.write import write
from telex.errors import NotFound
from telex.model.finding import refusals
from telex.model.limits import LIMITS, Limits
from telex.model.message import CHANGES, Event, LeasedMessage, Rendering, StoredMessage, detail_of
from telex.model.roster import ONE_OF_ROLE, DialectChoice, Member, choice_of
from telex.ports.store import (
    LeaseRequest,
    Reads,
    RequestQuery,
    deliveries_of,
    events_of,
    held_messages,
    waiting_deliveries,
)
from telex.validation.authorization import normalised
from telex.work.view import parse_tree

if TYPE_CHECKING:
    from telex.translation import markdown
    from telex.translation import translate as translation
    from telex.validation import rules as fields
else:  # most readers need no translation
    markdown = LazyModule("telex.translation.markdown")
    translation = LazyModule("telex.translation.translate")
    fields = LazyModule("telex.validation.rules")

Dialects = Mapping[str, Dialect]


async def rendering(context: BusContext, message: StoredMessage, agent: str) -> Rendering | None:
    roster, name = await context.roster(), normalised(agent)
    member = roster.find(name) or roster.members.get(name)
    if member is None:
        raise NotFound(f"{name[:128]} is not in the team: telex team lists the members.")
    return await context.read(lambda reads: reader_form(context, reads, message, member))


async def lease(context: BusContext, member: Member, request: LeaseRequest) -> list[LeasedMessage]:
    """Lease messages, each with its translation for the reader."""
    renderings: dict[int, Rendering | None] = {}
    if request.limit > 1 and not request.only:  # translated before the lock is taken, as far as possible
        waiting = await context.store.read(waiting_deliveries, request.inboxes, request.limit)
        stored = [(delivery, message) for delivery, message in waiting if delivery.state == "stored"]
        renderings = {delivery.seq: rendered(context, message, member) for delivery, message in stored}

    def translated(lease: LeasedMessage) -> Event | None:
        if lease.delivery not in renderings:
            renderings[lease.delivery] = rendered(context, lease.message, member)
        rendering = renderings[lease.delivery]
        if rendering is None:
            return None
        detail = json.dumps(_event_detail(rendering, member, lease.message))
        event = Event(0, request.now, "translated", member.name, lease.message.seq)
        return event._replace(delivery=lease.delivery, inbox=lease.inbox, detail=detail)

    leases = await context.store.lease(request._replace(extra_event=translated))
    return [lease._replace(rendering=renderings.get(lease.delivery)) for lease in leases]


def _event_detail(rendering: Rendering, member: Member, message: StoredMessage) -> dict[str, str | int | None]:
    """Dialect and type of the rendering, and how many fields were changed."""
    counts = {name: len(getattr(rendering, name)) for name in CHANGES}
    mistake = {"mistake": rendering.mistake} if rendering.mistake else {}
    kind = {"dialect": rendering.dialect, "type": rendering.type} | _spelling(rendering, member, message)
    return kind | {name: count for name, count in counts.items() if count} | mistake


def _spelling(rendering: Rendering, member: Member, message: StoredMessage) -> dict[str, str]:
    """The version and spellings that the reader chose, if any: its choice may change before the event is read."""
    base = _base(rendering.dialect)
    choice = next((choice for choice in choices_of(member.dialects) if choice.dialect == base), None)
    other_version = rendering.dialect != message.dialect and base == _base(message.dialect)
    if choice is None or not (choice.spellings or other_version):
        return {}
    return {"reads": choice.text if other_version else choice._replace(version=None).text}


def reader_form(context: BusContext, reads: Reads, message: StoredMessage, member: Member) -> Rendering | None:
    """The form in which the member last leased the message; before the first lease, and before a retry, the form that
    it would get now."""
    last = _last_lease(reads, message, member.name)
    if last is None:
        return rendered(context, message, member) if member.dialects else None
    if not last:
        return None
    dialects = (str(last.get("reads", last.get("dialect"))),)
    return rendered(context, message, member._replace(dialects=dialects))


def _last_lease(reads: Reads, message: StoredMessage, name: str) -> dict[str, Any] | None:
    """Details of the translation in which the message was last leased; empty where it was not translated. None: it was
    not leased yet, or will be again."""
    deliveries = [delivery for delivery in deliveries_of(reads, message.seq) if delivery.attempts]
    is_stored = {delivery.seq: delivery.state == "stored" for delivery in deliveries}
    detail: dict[str, Any] | None = None
    for event in events_of(reads, message.seq) if is_stored else ():
        if event.agent != name or is_stored.get(event.delivery or 0, True):
            continue
        if event.kind == "leased":
            detail = {}
        elif event.kind == "translated":
            detail = detail_of(event)
    return detail


def unnamed_request(
    context: BusContext,
    reads: Reads,
    member: Member,
    answers: frozenset[str],
    correlation: str | None,
    *,
    inboxes: Sequence[str],
) -> str | None:
    """Id of the request that a reply without reply-to answers; None unless exactly one fits. Candidates are the leased
    messages, or with a correlation the leased and pending requests of that conversation. A candidate fits if the member
    sees it as one of the types that the reply answers."""
    among = held_messages(reads, member.name)
    if correlation is not None:
        # A request without correlation was shown as a conversation of its own, under its id.
        pending = [
            *reads.pending_requests(RequestQuery(correlation=correlation)),
            *reads.pending_requests(RequestQuery(id=correlation)),
        ]
        held = [message for message in among if correlation in (message.correlation, message.id)]
        among = [*held, *(message for _, message in pending)]
    others = [message for message in among if message.sender != member.name]
    requests = [message for message in others if not {message.sender, ONE_OF_ROLE + message.role}.isdisjoint(inboxes)]
    forms = [(message.id, reader_form(context, reads, message, member)) for message in requests]
    ids = {id_ for id_, form in forms if form is not None and form.type in answers}
    return ids.pop() if len(ids) == 1 else None


# --- rendering -------------------------------------------------------------------------------------------------------


def rendered(context: BusContext, message: StoredMessage, member: Member) -> Rendering | None:
    """The message as the member reads it. None: as it was sent."""
    try:
        if _has_lost_its_dialect(context, message) and not _reads(member, message.dialect):
            return _without_its_dialect(message, member)
        return rendering_for(message, member, context.dialects, context.limits)
    except Exception as error:  # our bug must not block the message; it is named in the rendering
        return _fallback(context, message, member, error)


def _fallback(context: BusContext, message: StoredMessage, member: Member, error: Exception) -> Rendering:
    mistake = _where(error)
    try:
        rendering = markdown_for(message, member, context.dialects, context.limits)
    except Exception:
        rendering = Rendering(PLAIN.name, None, message.raw)
    return rendering._replace(mistake=mistake)


def _where(error: Exception) -> str:
    """The kind of error and the line, without any content of the message."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    place = f"{Path(frame.tb_frame.f_code.co_filename).name} line {frame.tb_lineno}" if frame is not None else "?"
    return f"{type(error).__name__} in {place}"


def _has_lost_its_dialect(context: BusContext, message: StoredMessage) -> bool:
    """It has a type, but the team's settings do not have its dialect any more."""
    return message.type is not None and message.dialect not in (None, PLAIN.name) and context.type_of(message) is None


def _reads(member: Member, dialect: str | None) -> bool:
    base = _base(dialect)
    return not member.dialects or any(choice.dialect == base for choice in choices_of(member.dialects))


def _base(dialect: str | None) -> str:
    return choice_of(dialect or "").dialect


def _without_its_dialect(message: StoredMessage, member: Member) -> Rendering:
    """Markdown of the fields, without an explanation of the type."""
    try:
        tree = json.loads(message.raw)
    except (ValueError, RecursionError):
        tree = None
    body = None if isinstance(tree, dict) else message.raw.decode("utf-8", "backslashreplace")
    name = message.dialect or ""
    purpose = f"The team no longer has the dialect {name}, so the purpose of this type is unknown."
    type_ = MessageType(message.type or "", purpose, senders=(), receivers=(), priority="STATUS", fields={}, example={})
    dialect = Dialect(name, "", purpose="", form="json", roles=(), types={})
    text = markdown.render(tree if isinstance(tree, dict) else {}, dialect, type_, _header(message, member), body)
    return Rendering(PLAIN.name, None, _bytes(text))


def rendering_for(
    message: StoredMessage, member: Member, dialects: Dialects, limits: Limits = LIMITS
) -> Rendering | None:
    """Rendering of the message for this member; None: the message itself."""
    dialect = dialects.get(message.dialect or "")
    type_ = dialect.types.get(message.type or "") if dialect is not None else None
    if dialect is None or type_ is None or not member.dialects:
        return None
    own = next((choice for choice in choices_of(member.dialects) if _is_choice_of(choice, dialect)), None)
    if own is not None:
        return _respelt(message, dialect, type_, own, limits)
    tree, body = _tree_and_body(message, dialect, type_, limits)
    header = _header(message, member)
    # A lenient team lets messages of any shape pass: markdown can render them, a translation cannot.
    is_valid = not refusals(fields.validate(tree, dialect, type_, body=body, limits=limits).findings)
    begun = message.id if type_.reply is not None else None  # so that the answer names this conversation
    correlated = header._replace(correlation=message.correlation or begun)
    for choice, to in _candidates(choices_of(member.dialects), dialects) if is_valid else ():
        made = translation.translate(tree, dialect, type_, to, correlated, body=body)
        if isinstance(made, translation.Translation) and not _answers_something_else(made, message):
            return _written(made, choice)
    return Rendering(PLAIN.name, None, _bytes(markdown.render(tree, dialect, type_, header, body)))


def _answers_something_else(made: "translation.Translation", message: StoredMessage) -> bool:
    """Whether the translation names a request that the original does not reply to. The bus authorised the sender to
    answer `reply_to` only."""
    if made.type.action != "answer":
        return False
    if message.reply_to is None:
        return True
    where = made.type.field_map.get("request")
    path = made.dialect.locate(made.type, where) if where is not None else None
    return path is not None and get_path(path)(made.tree) != message.reply_to


def markdown_for(message: StoredMessage, member: Member, dialects: Dialects, limits: Limits = LIMITS) -> Rendering:
    """Markdown rendering of a message whose dialect and type are known."""
    dialect = dialects[message.dialect or ""]
    type_ = dialect.types[message.type or ""]
    tree, body = _tree_and_body(message, dialect, type_, limits)
    return Rendering(PLAIN.name, None, _bytes(markdown.render(tree, dialect, type_, _header(message, member), body)))


@lru_cache(maxsize=1024)
def choices_of(dialects: tuple[str, ...]) -> tuple[DialectChoice, ...]:
    """The dialects that a member reads, in order of preference."""
    return tuple(map(choice_of, dialects))


def _is_choice_of(choice: DialectChoice, dialect: Dialect) -> bool:
    """A member may have joined under an earlier version of the team's own dialect."""
    return choice.dialect == dialect.base and choice.version in (None, dialect.version)


def _candidates(choices: tuple[DialectChoice, ...], dialects: Dialects) -> Iterator[tuple[DialectChoice, Dialect]]:
    """Dialects to try, up to the point where the reader prefers markdown."""
    for choice in choices:
        if choice.dialect == PLAIN.name:
            return
        to = next((dialect for dialect in dialects.values() if _is_choice_of(choice, dialect)), None)
        if to is not None:
            yield choice, to


def _tree_and_body(
    message: StoredMessage, dialect: Dialect, type_: MessageType, limits: Limits
) -> tuple[Tree, str | None]:
    if dialect.form == "json":
        return parse_tree(message.raw, dialect, type_), None
    parsed = read(message.raw, (dialect,), forced=dialect, limits=limits)
    return parsed.tree, parsed.body


def _header(message: StoredMessage, member: Member) -> "translation.MessageHeader":
    header = translation.MessageHeader(message.id, message.at, message.sender, message.role, recipient=member.name)
    return header._replace(recipient_role=member.role, correlation=message.correlation, reply_to=message.reply_to)


def _written(made: "translation.Translation", choice: DialectChoice) -> Rendering:
    tree = spelt_for(choice.spellings, made.tree, made.dialect, made.type) or made.tree
    raw = _bytes(write(made.dialect, tree, made.body))
    lost, invented, narrowed = (
        tuple(change.path for change in changes) for changes in (made.lost, made.invented, made.narrowed)
    )
    return Rendering(made.dialect.name, made.type.name, raw, lost, invented=invented, narrowed=narrowed)


def _respelt(
    message: StoredMessage, dialect: Dialect, type_: MessageType, choice: DialectChoice, limits: Limits
) -> Rendering | None:
    """For a reader of the dialect: fields under the names of the version that the reader knows."""
    if not respellings(type_):
        return None
    parsed = read(message.raw, (dialect,), forced=dialect, limits=limits)
    tree = spelt_for(choice.spellings, parsed.tree, dialect, type_)
    return None if tree is None else Rendering(dialect.name, type_.name, _bytes(write(dialect, tree, parsed.body)))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")  # a lone surrogate is written as a JSON escape

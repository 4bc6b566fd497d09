"""Form of a message for one reader: the original if the reader has its dialect, else a translation, else markdown.

A rendering is a function of the message and its reader, so it is computed on demand and never stored. Plain text and
messages that cannot be parsed are passed on unchanged.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from telex.bus.context import BusContext
from telex.delivery.membership import respellings, spelt_for
from telex.dialects.field_access import get_path
from telex.dialects.parse.reader import read
from telex.dialects.registry import PLAIN
from telex.dialects.schema import Dialect, MessageType, Tree
from telex.dialects.write import write
from telex.model.finding import refusals
from telex.model.limits import LIMITS, Limits
from telex.model.message import CHANGES, Event, Lease, Message, Rendering, detail_of
from telex.model.roster import ONE_OF_ROLE, DialectChoice, Member, choice_of
from telex.ports.store import LeaseRequest, Reads
from telex.work.view import parse_tree

if TYPE_CHECKING:
    from telex.translation.translate import FieldChange, MessageHeader, Translation


Dialects = Mapping[str, Dialect]


def rendering_for(message: Message, member: Member, dialects: Dialects, limits: Limits = LIMITS) -> Rendering | None:
    """What this member receives instead of the message; None: the message itself."""
    dialect = dialects.get(message.dialect or "")
    type_ = dialect.types.get(message.type or "") if dialect is not None else None
    if dialect is None or type_ is None or not member.dialects:
        return None
    choices = choices_of(member.dialects)
    read_as = next((dialect_choice for dialect_choice in choices if _is_that(dialect_choice, dialect)), None)
    if read_as is not None:
        return _respelt(message, dialect, type_, read_as, limits)
    return _translated(message, member, dialects, limits)


def _translated(message: Message, member: Member, dialects: Dialects, limits: Limits) -> Rendering:
    from telex.translation.markdown import render
    from telex.translation.translate import Translation, translate
    from telex.validation.fields import validate  # imported here: most readers need no translation

    dialect, type_ = _dialect_and_type(message, dialects)
    tree, body = _tree_and_body(message, dialect, type_, limits)
    header = _header(message, member)
    # A lenient team lets messages of any shape pass: markdown can render them, a translation cannot.
    is_valid = not refusals(validate(tree, dialect, type_, body=body, limits=limits).findings)
    begun = message.id if type_.reply is not None else None  # so that the answer names this conversation
    placed = header._replace(correlation=message.correlation or begun)
    for choice, to in _candidates(choices_of(member.dialects), dialects) if is_valid else ():
        made = translate(tree, dialect, type_, to, placed, body=body)
        if isinstance(made, Translation) and not _answers_something_else(made, message):
            return _written(made, choice)
    return Rendering(PLAIN.name, None, _bytes(render(tree, dialect, type_, header, body)))


def _answers_something_else(made: "Translation", message: Message) -> bool:
    """Whether the translation names a request that the original does not reply to. The bus authorised the sender to
    answer `reply_to` only."""
    action = made.type.deed
    if action is None or action.action != "answer":
        return False
    if message.reply_to is None:
        return True
    where = action.field_map.get("request")
    return where is not None and get_path(made.dialect.locate(made.type, where))(made.tree) != message.reply_to


def markdown_for(message: Message, member: Member, dialects: Dialects, limits: Limits = LIMITS) -> Rendering:
    """Markdown rendering of a message whose dialect and type are known."""
    from telex.translation.markdown import render

    dialect, type_ = _dialect_and_type(message, dialects)
    tree, body = _tree_and_body(message, dialect, type_, limits)
    return Rendering(PLAIN.name, None, _bytes(render(tree, dialect, type_, _header(message, member), body)))


def _dialect_and_type(message: Message, dialects: Dialects) -> tuple[Dialect, MessageType]:
    dialect = dialects[message.dialect or ""]
    return dialect, dialect.types[message.type or ""]


@lru_cache(maxsize=1024)
def choices_of(dialects: tuple[str, ...]) -> tuple[DialectChoice, ...]:
    """The dialects that a member reads, in order of preference."""
    return tuple(map(choice_of, dialects))


def _is_that(choice: DialectChoice, dialect: Dialect) -> bool:
    """A member may have joined under an earlier version of the team's own dialect."""
    return choice.dialect == dialect.base and choice.version in (None, dialect.version)


def _candidates(choices: tuple[DialectChoice, ...], dialects: Dialects) -> Iterator[tuple[DialectChoice, Dialect]]:
    """Dialects to try, up to the point where the reader prefers markdown."""
    for choice in choices:
        if choice.dialect == PLAIN.name:
            return
        to = next((dialect for dialect in dialects.values() if _is_that(choice, dialect)), None)
        if to is not None:
            yield choice, to


def _tree_and_body(message: Message, dialect: Dialect, type_: MessageType, limits: Limits) -> tuple[Tree, str | None]:
    if dialect.form == "json":
        return parse_tree(message.raw, dialect, type_), None
    reading = read(message.raw, (dialect,), forced=dialect, limits=limits)
    return reading.tree, reading.body


def _header(message: Message, member: Member) -> "MessageHeader":
    from telex.translation.translate import MessageHeader

    header = MessageHeader(message.id, message.at, message.sender, message.role, recipient=member.name)
    return header._replace(recipient_role=member.role, correlation=message.correlation, reply_to=message.reply_to)


# --- serialisation ----------------------------------------------------------------------------------------------------


def _written(made: "Translation", choice: DialectChoice) -> Rendering:
    tree = spelt_for(choice.spellings, made.tree, made.dialect, made.type) or made.tree
    raw = _bytes(write(made.dialect, tree, made.body))
    changes = (_places(made.lost), _places(made.invented), _places(made.narrowed))
    return Rendering(made.dialect.name, made.type.name, raw, *changes)


def _respelt(
    message: Message, dialect: Dialect, type_: MessageType, choice: DialectChoice, limits: Limits
) -> Rendering | None:
    """For a reader of the dialect: fields under the names of the version that the reader knows."""
    if not respellings(type_):
        return None
    reading = read(message.raw, (dialect,), forced=dialect, limits=limits)
    tree = spelt_for(choice.spellings, reading.tree, dialect, type_)
    return None if tree is None else Rendering(dialect.name, type_.name, _bytes(write(dialect, tree, reading.body)))


def _places(changes: "tuple[FieldChange, ...]") -> tuple[str, ...]:
    return tuple(change.path for change in changes)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")  # a lone surrogate is written as a JSON escape


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
    from telex.translation.markdown import render
    from telex.translation.result import MessageHeader

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

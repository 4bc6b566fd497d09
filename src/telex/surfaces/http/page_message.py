"""One message for the page: its content, its text sanitised, its findings and its history."""

from typing import Any

from telex.dialects.schema import Dialect, MessageType
from telex.errors import NotFound
from telex.model.event import BRINGING, detail_of
from telex.model.message import Message, Rendering
from telex.model.roster import ONE_OF_ROLE
from telex.ports.bus import Bus, MessageHistory
from telex.ports.store import Query
from telex.protocol import plain
from telex.surfaces.http.event_history import happenings
from telex.surfaces.http.page_markup import Markup, markup
from telex.surfaces.http.page_refusals import explained
from telex.validation.check import CheckPolicy, CheckResult, check

RAW_BYTES_MAX = 65_536  # of one text on the page; what is longer is cut, and said to be
TREE_BYTES_MAX = 262_144  # a larger message is shown as text only
READERS_MAX = 50
NUMBER_MAX = 2**63 - 1  # no store counts any further
Facts = dict[str, Any]


async def message_facts(bus: Bus, desk: CheckPolicy, seq: int) -> Facts:
    """Everything about the message of that number.

    Raises:
        NotFound: there is none.
    """
    message = await message_of(bus, seq)
    story = next((history for history in await bus.why(message.id) if history.message.seq == seq), None)
    if story is None:
        raise _no_such(seq)
    checked = check(message.raw, desk, as_role=message.role, as_name=message.sender)
    dialect, type_ = kind_of(message, desk)
    text, cut = text_of(message.raw)
    shown, html_of = _markup_of(message, dialect, type_, checked)
    findings = _findings(story)
    codes = dict.fromkeys(one["code"] for one in (*findings, *(finding._asdict() for finding in checked.findings)))
    return {
        "message": {name: value for name, value in plain(message).items() if name != "raw"},
        "raw": text,
        "bytes": len(message.raw),
        "cut": cut,
        "tree": _tree(message, checked),
        "body": checked.body,
        "html": shown.html,
        "html_of": html_of,
        "html_cut": shown.cut,
        "findings": findings,
        "check": _check_facts(checked),
        "explanations": {code: told for code in codes if (told := explained(code))},
        "about": _about(dialect, type_),
        "state": story.state,
        "answer_by": story.answer_by,
        "deliveries": story.deliveries,
        "events": story.events,
        "renderings": await _renderings(bus, story),
    }


async def message_of(bus: Bus, seq: int) -> Message:
    """The number of a message is that of the event which brought it."""
    if seq > NUMBER_MAX:
        raise _no_such(seq)
    async with happenings(bus, Query(after=seq - 1, kinds=BRINGING)) as events:
        async for event, message in events:
            if event.seq == seq and message is not None:
                return message
            break
    raise _no_such(seq)


def _no_such(seq: int) -> NotFound:
    return NotFound(f"no message has the number {seq}: it was never sent here or is no longer stored.")


def kind_of(message: Message, desk: CheckPolicy) -> tuple[Dialect | None, MessageType | None]:
    dialect = next((dialect for dialect in desk.dialects if dialect.name == message.dialect), None)
    return dialect, dialect.types.get(message.type or "") if dialect is not None else None


def text_of(raw: bytes) -> tuple[str, bool]:
    """As text, whatever the bytes, and whether there is more of it."""
    return raw[:RAW_BYTES_MAX].decode("utf-8", "backslashreplace"), len(raw) > RAW_BYTES_MAX


def read_tree(message: Message, desk: CheckPolicy) -> Any:
    """Content of the message; None for plain text, or if it is too large to show."""
    return _tree(message, check(message.raw, desk, as_role=message.role, as_name=message.sender))


def _tree(message: Message, checked: CheckResult) -> Any:
    read = checked.outcome in ("message", "control") and checked.tree
    return checked.tree if read and len(message.raw) <= TREE_BYTES_MAX else None


def _markup_of(
    message: Message, dialect: Dialect | None, type_: MessageType | None, checked: CheckResult
) -> tuple[Markup, str]:
    """Markdown of a message: its body, or a rendering if it has none."""
    if checked.body is not None and checked.outcome == "message":
        return markup(checked.body), "body"
    if dialect is None or type_ is None or checked.outcome != "message":
        return markup(text_of(message.raw)[0]), "text"
    from telex.translation.envelope import MessageHeader
    from telex.translation.markdown import render

    header = MessageHeader(message.id, message.at, message.sender, message.role, recipient=message.to)
    header = header._replace(correlation=message.correlation, reply_to=message.reply_to)
    return markup(render(checked.tree, dialect, type_, header)), "told"


def _findings(story: MessageHistory) -> list[Facts]:
    """Findings from when it was received."""
    brought = next((event for event in story.events if event.kind in BRINGING), None)
    said = detail_of(brought).get("findings") if brought is not None else None
    return (
        [finding for finding in said if isinstance(finding, dict) and finding.get("code")]
        if isinstance(said, list)
        else []
    )


def _check_facts(checked: CheckResult) -> Facts:
    """Result of checking it now, without the work rules."""
    fixed = None
    tree = checked.fixed or checked.skeleton
    if not checked.valid and tree is not None and checked.dialect is not None:
        from telex.dialects.write import write

        fixed, _ = text_of(write(checked.dialect, tree, checked.body).encode("utf-8", "surrogatepass"))
    certain = checked.fixed is not None
    return {"valid": checked.valid, "findings": checked.findings, "fixed": fixed, "certain": certain}


def _about(dialect: Dialect | None, type_: MessageType | None) -> Facts | None:
    if dialect is None or type_ is None:
        return None
    return {
        "dialect": dialect.name,
        "version": dialect.version,
        "form": dialect.form,
        "purpose": type_.purpose,
        "priority": type_.priority,
        "reply": type_.reply,
        "senders": type_.senders,
        "receivers": type_.receivers,
    }


async def _renderings(bus: Bus, story: MessageHistory) -> list[Facts]:
    """Renderings for readers of other dialects."""
    readers = dict.fromkeys(delivery.holder or delivery.inbox for delivery in story.deliveries)
    found = []
    for reader in list(readers)[:READERS_MAX]:
        made = await _rendering(bus, story.message, reader)
        if made is not None:
            text, cut = text_of(made.raw)
            found.append({**made._asdict(), "raw": text, "cut": cut, "agent": reader})
    return found


async def _rendering(bus: Bus, message: Message, reader: str) -> Rendering | None:
    if reader.startswith(ONE_OF_ROLE):
        return None
    try:
        return await bus.rendering(message, agent=reader)
    except NotFound:  # it waits for a role without members
        return None

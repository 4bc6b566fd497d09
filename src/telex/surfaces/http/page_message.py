"""One message for the page: content, sanitised text, findings, history and renderings; dialects for its forms.

Its text is markdown, in two independent layers: the renderer accepts no HTML, and its output is cleaned with an
allow-list. No images, no styles, no ids that a script could find; a link leads to a visible outside address, or is
removed.
"""

from contextlib import aclosing
from functools import cache
from typing import TYPE_CHECKING, Any

from telex.dialects.schema import (
    Anything,
    Boolean,
    Dialect,
    Fields,
    Group,
    Integer,
    Kind,
    ListOf,
    MapOf,
    MessageType,
    Number,
    OneOf,
    Text,
    Timestamp,
)
from telex.errors import NotFound
from telex.generate.schemas import type_schema
from telex.generate.type_view import addressed_fields, meaning
from telex.model.message import BRINGING, Rendering, StoredMessage, detail_of
from telex.model.named_tuple import NamedTuple
from telex.model.roster import ONE_OF_ROLE
from telex.ports.bus import Bus, MessageHistory
from telex.ports.store import Query
from telex.protocol import plain
from telex.surfaces.http.page_stats import explanation
from telex.surfaces.page.gist import gist
from telex.surfaces.page.history import History
from telex.surfaces.page.rows import delivery_row, row
from telex.validation.check import CheckPolicy, CheckResult, check

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

CHARACTERS_MAX = 20_000  # of rendered text: hostile text of this length takes a fifth of a second
NESTING_MAX = 20  # levels of quotes and lists
RAW_BYTES_MAX = 65_536  # of one text on the page
BODY_BYTES, BODY_BYTES_MAX = 16_384, 4 * 1_048_576  # of one message: unless more is asked for, and at most
DELIVERIES_MAX = 50
EVENTS_MAX = 200
TREE_BYTES_MAX = 262_144  # a larger message is shown as text only
READERS_MAX = 50
SEQ_MAX = 2**63 - 1
_BLOCKS = ("p", "br", "hr", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "ul", "ol", "li")
TAGS = {*_BLOCKS, "a", "strong", "em", "s", "code", "table", "thead", "tbody", "tr", "th", "td"}
SCHEMES = ("http://", "https://", "mailto:")
_TYPE = ("purpose", "priority", "reply", "senders", "receivers")
_FORM_DIALECT = ("name", "version", "purpose", "form", "roles", "payload", "addresses", "wire")
_FORM_TYPE = ("name", "purpose", "senders", "receivers", "priority", "reply", "sections", "example", "body_example")
Facts = dict[str, Any]


class MessageFactsQuery(NamedTuple):
    seq: int
    at: float  # the moment at which its state is shown
    body_max: int = BODY_BYTES  # bytes of its text


async def message_facts(bus: Bus, policy: CheckPolicy, query: MessageFactsQuery) -> Facts:
    """Everything about the message with this sequence number. Raises NotFound."""
    message = await _message(bus, query.seq)
    history = next((history for history in await bus.why(message.id) if history.message.seq == query.seq), None)
    if history is None:
        raise no_such_message(query.seq)
    checked = check(message.raw, policy, as_role=message.role, as_name=message.sender)
    dialect, type_ = kind_of(message, policy)
    text, cut = text_of(message.raw, query.body_max)
    shown, html_of = _markup_of(message, dialect, type_, checked)
    findings = _findings(history)
    codes = dict.fromkeys([*(row["code"] for row in findings), *(finding.code for finding in checked.findings)])
    return {
        **await _state_facts(bus, policy, history, query.at),
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
        "explanations": {code: explained for code in codes if (explained := explanation(code))},
        "about": _about(dialect, type_),
        "answer_by": history.answer_by,
        "events": [event for event in history.events if event.at <= query.at][-EVENTS_MAX:],
        "renderings": await _renderings(bus, history),
    }


async def _state_facts(bus: Bus, policy: CheckPolicy, story: MessageHistory, at: float) -> Facts:
    """Row and deliveries at a moment, and the messages before and after it."""
    folded = History(policy.dialects)
    for event in story.events:
        folded.fold(event, story.message)
    message = folded.messages[story.message.seq]
    answer = message.answered_by if message.answered <= at else 0
    return {
        "row": row(message, at),
        "deliveries": [delivery_row(delivery, at) for delivery in message.deliveries[:DELIVERIES_MAX]],
        "deliveries_more": max(0, len(message.deliveries) - DELIVERIES_MAX),
        "reply_to": await _linked(bus, id_=message.reply_to) if message.reply_to else None,
        "answered_by": await _linked(bus, seq=answer) if answer else None,
    }


async def _linked(bus: Bus, *, id_: str = "", seq: int = 0) -> Facts | None:
    """Facts for a link to another message."""
    try:
        message = await _message(bus, seq) if seq else (await bus.why(id_))[-1].message
    except NotFound:
        return None
    return {"seq": message.seq, "id": message.id, "from": message.sender, "at": message.at, "gist": gist(message.raw)}


async def _message(bus: Bus, seq: int) -> StoredMessage:
    if seq <= SEQ_MAX:
        async with aclosing(bus.events(Query(after=seq - 1, kinds=BRINGING))) as events:
            async for event, message in events:
                if event.seq == seq and message is not None:
                    return message
                break
    raise no_such_message(seq)


def no_such_message(seq: int | str) -> NotFound:
    return NotFound(f"no message has the number {seq}: it was never sent here or is no longer stored.")


def kind_of(message: StoredMessage, policy: CheckPolicy) -> tuple[Dialect | None, MessageType | None]:
    dialect = next((dialect for dialect in policy.dialects if dialect.name == message.dialect), None)
    return dialect, dialect.types.get(message.type or "") if dialect is not None else None


def text_of(raw: bytes, bytes_max: int = RAW_BYTES_MAX) -> tuple[str, bool]:
    """The bytes as text, and whether it was cut."""
    return raw[:bytes_max].decode("utf-8", "backslashreplace"), len(raw) > bytes_max


def read_tree(message: StoredMessage, policy: CheckPolicy) -> Any:
    """Fields of the message; None for plain text, or if it is too large to show."""
    return _tree(message, check(message.raw, policy, as_role=message.role, as_name=message.sender))


def _tree(message: StoredMessage, checked: CheckResult) -> Any:
    is_shown = checked.outcome in ("message", "control") and len(message.raw) <= TREE_BYTES_MAX
    return checked.tree or None if is_shown else None


def _findings(history: MessageHistory) -> list[Facts]:
    """Findings from when it was sent."""
    accepted = next((event for event in history.events if event.kind in BRINGING), None)
    findings = detail_of(accepted).get("findings") if accepted is not None else None
    if not isinstance(findings, list):
        return []
    return [finding for finding in findings if isinstance(finding, dict) and finding.get("code")]


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
    about = {"dialect": dialect.name, "version": dialect.version, "form": dialect.form}
    return about | {name: getattr(type_, name) for name in _TYPE}


async def _renderings(bus: Bus, history: MessageHistory) -> list[Facts]:
    """Renderings for readers of other dialects."""
    readers = dict.fromkeys(delivery.holder or delivery.inbox for delivery in history.deliveries)
    facts = []
    for reader in list(readers)[:READERS_MAX]:
        rendering = await _rendering(bus, history.message, reader)
        if rendering is not None:
            text, cut = text_of(rendering.raw)
            facts.append({**rendering._asdict(), "raw": text, "cut": cut, "agent": reader})
    return facts


async def _rendering(bus: Bus, message: StoredMessage, reader: str) -> Rendering | None:
    if reader.startswith(ONE_OF_ROLE):
        return None
    try:
        return await bus.rendering(message, agent=reader)
    except NotFound:  # a role without members
        return None


# --- markup -----------------------------------------------------------------------------------------------------------


class Markup(NamedTuple):
    html: str
    cut: bool


def _markup_of(
    message: StoredMessage, dialect: Dialect | None, type_: MessageType | None, checked: CheckResult
) -> tuple[Markup, str]:
    """Markup of the body, or of a rendering if the message has none; and which of the two it is."""
    if checked.body is not None and checked.outcome == "message":
        return markup(checked.body), "body"
    if dialect is None or type_ is None or checked.outcome != "message":
        return markup(text_of(message.raw)[0]), "text"
    from telex.translation.envelope import MessageHeader
    from telex.translation.markdown import render

    header = MessageHeader(message.id, message.at, message.sender, message.role, recipient=message.to)
    header = header._replace(correlation=message.correlation, reply_to=message.reply_to)
    return markup(render(checked.tree, dialect, type_, header)), "told"


def markup(text: str) -> Markup:
    """Markdown as sanitised HTML."""
    import nh3

    rendered = _renderer().render(_visible(text[:CHARACTERS_MAX]))
    clean = nh3.clean(
        rendered,
        tags=TAGS,
        clean_content_tags={"script", "style"},
        attributes={"a": {"href"}, "ol": {"start"}},
        attribute_filter=_allowed_value,
        url_schemes={"http", "https", "mailto"},
        link_rel="nofollow noopener noreferrer",
        set_tag_attribute_values={"a": {"target": "_blank"}},
        strip_comments=True,
    )
    return Markup(clean, len(text) > CHARACTERS_MAX)


@cache
def _renderer() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    options = {"html": False, "linkify": False, "typographer": False, "maxNesting": NESTING_MAX}
    return MarkdownIt("commonmark", options).enable(["table", "strikethrough"]).disable("image")


def _allowed_value(tag: str, name: str, value: str) -> str | None:
    if (tag, name) == ("a", "href"):
        return value if value.lower().startswith(SCHEMES) else None
    return value if (tag, name) in (("ol", "start"), ("a", "rel"), ("a", "target")) else None


def _visible(text: str) -> str:
    """The text with invisible characters escaped, such as those that reverse the direction of a line."""
    if text.isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return "".join(
        char
        if char.isprintable() or char in "\n\t\u00a0"
        else char.encode("unicode_escape").decode("ascii").replace("\\", "\\\\")
        for char in text
    )


# --- dialects, for the forms of the page ---


def dialects_facts(dialects: tuple[Dialect, ...]) -> list[Facts]:
    return [
        {name: getattr(dialect, name) for name in _FORM_DIALECT}
        | {"types": [_type_facts(dialect, type_) for type_ in dialect.types.values()]}
        for dialect in dialects
    ]


def _type_facts(dialect: Dialect, type_: MessageType) -> Facts:
    fields = _fields_facts(addressed_fields(dialect, type_), dialect)
    return {name: getattr(type_, name) for name in _FORM_TYPE} | {
        "fields": fields,
        "schema": type_schema(dialect, type_),
    }


def _fields_facts(fields: Fields, dialect: Dialect | None = None) -> list[Facts]:
    """Fields with their meanings, which only fields at the top level have."""
    facts = []
    for name, field in fields.items():
        text = meaning(dialect, name) if dialect is not None else None
        own = {"name": name, "required": field.required, **_kind_facts(field.kind)}
        facts.append(own | {"meaning": text} if text else own)
    return facts


def _kind_facts(kind: Kind) -> Facts:
    match kind:
        case Text(may_be_empty, characters_max, _):
            return {"kind": "text", "may_be_empty": may_be_empty, "maximum": characters_max}
        case OneOf(values):
            return {"kind": "choice", "values": values}
        case Integer(least, most) | Number(least, most):
            return {"kind": "integer" if isinstance(kind, Integer) else "number", "minimum": least, "maximum": most}
        case Boolean():
            return {"kind": "boolean"}
        case Timestamp():
            return {"kind": "moment"}
        case ListOf(item):
            return {"kind": "list", "item": _kind_facts(item)}
        case MapOf(value):
            return {"kind": "map", "item": _kind_facts(value)}
        case Group(fields):
            return {"kind": "group", "fields": _fields_facts(fields)}
        case Anything():
            return {"kind": "any"}
    raise AssertionError(f"unknown kind of field: {kind}")

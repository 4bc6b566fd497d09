"""Form of a message for one reader: the original if the reader has its dialect, else a translation, else markdown.

A rendering is a function of the message and its reader, so it is computed on demand and never stored. Plain text and
messages that cannot be parsed are passed on unchanged.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from telex.delivery.dialect_versions import respellings, spelt_for
from telex.dialects.parse.reader import read
from telex.dialects.registry import PLAIN
from telex.dialects.schema import Dialect, MessageType, Tree, get_path
from telex.dialects.write import write
from telex.model.dialect_version import DialectChoice, choice_of
from telex.model.finding import refusals
from telex.model.limits import LIMITS, Limits
from telex.model.message import Message, Rendering
from telex.model.roster import Member
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
    from telex.validation.rules import validate  # imported here: most readers need no translation

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

"""In which words does a reader get a message? As it was sent if it reads that, else translated, else as markdown.

A rendering is a function of the original and its reader, so it is made whenever it is wanted and never kept. Text that
nobody typed is read by everybody, and so is what cannot be read at all: both are handed over as they came.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

from telex.delivery.dialect_versions import respellings, spelt_for
from telex.dialects.field_access import get_path
from telex.dialects.parse.reader import read
from telex.dialects.registry import PLAIN
from telex.dialects.schema import Dialect, MessageType, Tree
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
    """What this member is given in the place of the message. None: the message itself."""
    dialect = dialects.get(message.dialect or "")
    type_ = dialect.types.get(message.type or "") if dialect is not None else None
    if dialect is None or type_ is None or not member.dialects:
        return None
    choices = choices_of(member.dialects)
    read_as = next((dialect_choice for dialect_choice in choices if _is_that(dialect_choice, dialect)), None)
    if read_as is not None:
        return _respelt(message, dialect, type_, read_as, limits)
    return _in_other_words(message, dialect, type_, member, dialects, limits)


def _in_other_words(
    message: Message, dialect: Dialect, type_: MessageType, member: Member, dialects: Dialects, limits: Limits
) -> Rendering:
    from telex.translation.markdown import render
    from telex.translation.translate import Translation, translate
    from telex.validation.fields import validate  # a reader that reads what it is sent does without all of this

    tree, body = _said(message, dialect, type_, limits)
    header = _header(message, member)
    # What a lenient team let pass may be any shape at all; markdown can say it, and another dialect could not.
    whole = not refusals(validate(tree, dialect, type_, body=body, limits=limits).findings)
    begun = message.id if type_.reply is not None else None  # its answer then names a conversation that can be found
    placed = header._replace(correlation=message.correlation or begun)
    for choice, to in _ways(choices_of(member.dialects), dialects) if whole else ():
        made = translate(tree, dialect, type_, to, placed, body)
        if isinstance(made, Translation) and not _answers_something_else(made, message):
            return _written(made, choice)
    return Rendering(PLAIN.name, None, _bytes(render(tree, dialect, type_, header, body)))


def _answers_something_else(made: "Translation", message: Message) -> bool:
    """Would its reader take it for the answer to a request, and the bus does not know it as that one's? Who may answer
    was looked at for what it replies to, and for nothing else that it may name."""
    action = made.type.deed
    if action is None or action.action != "answer":
        return False
    if message.reply_to is None:
        return True
    where = action.field_map.get("request")
    return where is not None and get_path(made.dialect.locate(made.type, where))(made.tree) != message.reply_to


def markdown_for(message: Message, member: Member, dialects: Dialects, limits: Limits = LIMITS) -> Rendering:
    """What anybody can read, of a message whose dialect and type are known."""
    from telex.translation.markdown import render

    dialect = dialects[message.dialect or ""]
    type_ = dialect.types[message.type or ""]
    tree, body = _said(message, dialect, type_, limits)
    return Rendering(PLAIN.name, None, _bytes(render(tree, dialect, type_, _header(message, member), body)))


@lru_cache(maxsize=1024)
def choices_of(dialects: tuple[str, ...]) -> tuple[DialectChoice, ...]:
    """What a member reads, its first choice first."""
    return tuple(map(choice_of, dialects))


def _is_that(choice: DialectChoice, dialect: Dialect) -> bool:
    """Somebody may have joined before the team's own dialect had its present version."""
    return choice.dialect == dialect.name and choice.version in (None, dialect.version)


def _ways(choices: tuple[DialectChoice, ...], dialects: Dialects) -> Iterator[tuple[DialectChoice, Dialect]]:
    """The dialects to be tried, up to where the reader would rather have markdown."""
    for choice in choices:
        if choice.dialect == PLAIN.name:
            return
        to = dialects.get(choice.dialect)
        if to is not None and _is_that(choice, to):
            yield choice, to


def _said(message: Message, dialect: Dialect, type_: MessageType, limits: Limits) -> tuple[Tree, str | None]:
    if dialect.form == "json":
        return parse_tree(message.raw, dialect, type_), None
    reading = read(message.raw, (dialect,), forced=dialect, limits=limits)
    return reading.tree, reading.body


def _header(message: Message, member: Member) -> "MessageHeader":
    from telex.translation.translate import MessageHeader

    return MessageHeader(
        message.id,
        message.at,
        message.sender,
        message.role,
        member.name,
        member.role,
        message.correlation,
        message.reply_to,
    )


# --- written down -----------------------------------------------------------------------------------------------------


def _written(made: "Translation", choice: DialectChoice) -> Rendering:
    tree = spelt_for(choice.spellings, made.tree, made.dialect, made.type) or made.tree
    raw = _bytes(write(made.dialect, tree, made.body))
    changes = (_places(made.lost), _places(made.invented), _places(made.narrowed))
    return Rendering(made.dialect.name, made.type.name, raw, *changes)


def _respelt(
    message: Message, dialect: Dialect, type_: MessageType, choice: DialectChoice, limits: Limits
) -> Rendering | None:
    """For who reads the dialect: its fields under the names that the reader knows them by."""
    if not respellings(type_):
        return None
    reading = read(message.raw, (dialect,), forced=dialect, limits=limits)
    tree = spelt_for(choice.spellings, reading.tree, dialect, type_)
    return None if tree is None else Rendering(dialect.name, type_.name, _bytes(write(dialect, tree, reading.body)))


def _places(changes: "tuple[FieldChange, ...]") -> tuple[str, ...]:
    return tuple(change.path for change in changes)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")  # half a character is written as JSON would have it

"""Which answer does a message ask for, and how does somebody give it who does not speak its dialect?

The answer is begun in the asker's dialect, with everything that can be known filled in and a marked blank for the rest.
Where no particular answer is asked for, plain text will do.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from telex.dialects.blanks import blank
from telex.dialects.draft import draft, field_named
from telex.dialects.schema import ANY, Dialect, MessageType, OneOf, Text, Timestamp, Tree
from telex.dialects.write import write
from telex.model.roster import TELEX
from telex.translation.markdown_escape import code, fenced, on_one_line, shown_lines
from telex.translation.result import MessageHeader
from telex.validation.authorization import has_no_words

# A word that every shell takes as it is. Whatever else an id or a name holds is never put into a command to be typed.
_PLAIN_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:@-]*\Z")
# What plain words cannot do, and which command does it for those who write no messages.
_BY_COMMAND: Mapping[str, tuple[str, ...]] = {
    "ask": ("telex approve {id} --as {me} --reason WORDS", "telex reject {id} --as {me} --reason WORDS"),
    "escalate": ("telex answer {id} --as {me} TEXT",),
}
_IN_WORDS = ("telex send --as {me} --to {you} --reply-to {id} -",)


def reply_lines(tree: Tree, dialect: Dialect, type_: MessageType, header: MessageHeader) -> list[str]:
    """The end of a rendering: what to answer, and how."""
    answer = dialect.types.get(type_.reply or "")
    does = type_.deed.action if type_.deed is not None else ""
    if header.sender == TELEX and answer is None:
        does = "escalate"  # the bus hands things on and reads nothing; whoever raised it hears the answer
    commands = _typed(_BY_COMMAND.get(does, _IN_WORDS), header)
    if answer is None and does in _BY_COMMAND:
        return [f"**It waits for an answer**{_by(commands)}."]
    you = on_one_line(header.sender)
    if answer is None:
        return [f"No particular answer is asked for; plain text reaches {you}{_by(commands)}."]
    if does == "ask" and has_no_words(header.recipient_role or "", dialect, answer):
        words = _by(_typed(_IN_WORDS, header))
        return [f"**The answer is for {' or '.join(answer.senders)} to give**; plain text reaches {you}{words}."]
    begun = answer_begun(tree, dialect, answer, header)
    sections = "\n".join(f"## {name}\n" for name in answer.sections)
    text = _json(begun) if dialect.form == "json" else shown_lines(write(dialect, begun, sections))
    also = _by(commands, " Or type ") + "." if does in _BY_COMMAND and commands else ""
    return [
        f"**It asks for {_an(answer.name)}**: fill in what is marked, and send it to {you}.{also}",
        "",
        *fenced(text.rstrip("\n"), language="json" if dialect.form == "json" else ""),
    ]


def answer_begun(tree: Tree, dialect: Dialect, answer: MessageType, header: MessageHeader) -> Tree:
    """The answer as far as it can be known: whom and what it answers, who gives it, and what it is about."""
    wire = dialect.wire
    by_name = dialect.addresses == "names"
    known: dict[str | None, Any] = {
        wire.reply_to: header.id,
        wire.correlation: header.correlation,
        wire.sender: header.recipient if by_name else header.recipient_role,
        wire.recipient: header.sender if by_name else None,
        wire.task: _same(tree, dialect, wire.task),
    }
    given = {name: value for name, value in known.items() if name and value and _takes(dialect, answer, name, value)}
    return draft(dialect, answer, given, now=blank(Timestamp()), new_id=blank(Text(printable=True)))


def _same(tree: Tree, dialect: Dialect, name: str | None) -> Any:
    """What the message itself says under a name that the answer has too."""
    inside = tree.get(dialect.payload) if dialect.payload else tree
    return inside.get(name) if isinstance(inside, dict) and name else None


def _takes(dialect: Dialect, answer: MessageType, name: str, value: Any) -> bool:
    """Has the answer such a field, and may this stand in it?"""
    field = field_named(dialect, answer, name)
    if field is None or not isinstance(value, str):
        return False
    if isinstance(field.kind, OneOf) and value not in field.kind.values:
        return False
    return (
        name != dialect.wire.sender or dialect.addresses == "names" or answer.senders == ANY or value in answer.senders
    )


def _typed(commands: tuple[str, ...], header: MessageHeader) -> list[str]:
    """The commands with their words filled in; none where a word would have to be quoted, which readers get wrong."""
    words = {"id": header.id, "me": header.recipient, "you": header.sender}
    if not all(_PLAIN_WORD.match(word or "") for word in words.values()):
        return []
    return [code(command.format(**words)) for command in commands]


def _by(commands: list[str], before: str = ": ") -> str:
    return before + " or ".join(commands) if commands else ""


def _json(tree: Tree) -> str:
    text = json.dumps(tree, ensure_ascii=False)
    return text if text.isprintable() else json.dumps(tree)


def _an(name: str) -> str:
    article = "an" if name[:1].lower() in tuple("aeiou") else "a"
    return f"{article} {on_one_line(name)}"

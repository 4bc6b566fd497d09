"""Escaping of untrusted text in markdown.

A message may contain headings, HTML, fences, image links, or lines that look like our own output. Rendered as markdown,
none of that takes effect; read as text, every line is marked as quoted. Only what would take effect is escaped, since
most readers are agents and see the escapes.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from telex.dialects.schema import ANY, TYPE, Dialect, MessageType, OneOf, Text, Timestamp, Tree
from telex.dialects.write import blank, draft, field_named, write
from telex.model.roster import EVERYONE, TELEX
from telex.model.text import shown
from telex.translation.envelope import MessageHeader
from telex.validation.authorization import has_no_words

_ACTIVE = re.compile(
    r"""\\(?=[!-/:-@\[-`{-~]|$)            # an escape, or a forced line end
    |[`*\[~]                               # code, emphasis, links and pictures, strokes
    |(?<![^\W_])_                          # emphasis; inside a word or behind it an underscore is only a letter
    |<(?=[A-Za-z/!?])                      # HTML and addresses
    |&(?=\#?\w+;)                          # the name of a character""",
    re.VERBOSE,
)
_ACTIVE_AT_THE_START = re.compile(
    r"""(?P<mark>\#(?=\#{0,5}(?:\s|$))     # a heading
    |[-+](?=[\s|:-]|$)|=(?==*\s*$)         # lists, rules, the line under a heading
    |>|\||:(?=-))                          # quotes and tables
    |(?P<number>[0-9]{1,9})(?=[.)](?:\s|$))""",
    re.VERBOSE,
)
_BACKSLASHED = r"\\\g<0>"
_VERBATIM = re.compile(r"^(?: {4}| {0,3}\t| {0,3}(?:```|~~~))", re.MULTILINE)


def on_one_line(text: str) -> str:
    """The text within a line of ours."""
    return _escaped(shown(text.strip().replace("\t", " ")))


def quoted(text: str, indent: str = "") -> list[str]:
    """A text of several lines as a quotation; one that must keep its indentation, as code must, in a fence."""
    seen = shown_lines(text.strip("\n"))
    if _VERBATIM.search(text):
        return fenced(seen, indent)
    return [f"{indent}> {_escaped(line)}".rstrip(" ") for line in seen.split("\n")]


def shown_lines(text: str) -> str:
    """`shown` for a text of several lines, which stay."""
    return "\n".join(shown(line.replace("\t", "    ")).rstrip(" ") for line in text.split("\n"))


def fenced(text: str, indent: str = "", language: str = "") -> list[str]:
    """The text as it is, in a fence that is longer than any inside."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(longest + 1, 3)
    return [indent + line for line in (f"{fence}{language}", *text.split("\n"), fence)]


def code(text: str) -> str:
    """Words of ours, to be typed as they stand. They hold no backtick."""
    assert "`" not in text
    return f"`{text}`"


def _escaped(line: str) -> str:
    blanks, words = line[: len(line) - len(line.lstrip(" "))], line.lstrip(" ")
    start = _ACTIVE_AT_THE_START.match(words)
    if start is None:
        return blanks + _ACTIVE.sub(_BACKSLASHED, words)
    if start["number"]:
        after = start.end()
        return f"{blanks}{start['number']}\\{words[after]}{_ACTIVE.sub(_BACKSLASHED, words[after + 1 :])}"
    return f"{blanks}\\{start['mark']}{_ACTIVE.sub(_BACKSLASHED, words[start.end() :])}"


LINE_CHARACTERS_MAX = 160  # longer values get lines of their own
TEXT_CHARACTERS_MAX = 4_000
LABEL_CHARACTERS_MAX = 64
ITEMS_MAX = 20
DEPTH_MAX = 4  # levels of lists; deeper values are written in one line
_JOINED_WORDS = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+|[A-Z][a-z0-9]*)*\Z")  # task_id, taskId
_WORD_BEGINS = re.compile(r"_|(?=[A-Z])")
_NOTHING: tuple[Any, ...] = ("", None, [], {})
Facts = list[tuple[str, Any]]  # each with its label


def render(tree: Tree, dialect: Dialect, type_: MessageType, header: MessageHeader, body: str | None = None) -> str:
    """The message as markdown. `body` is the text under front matter."""
    whom = "everybody" if header.recipient == EVERYONE else _named(header.recipient, header.recipient_role)
    title = f"# {on_one_line(type_.name)} from {_named(header.sender, header.sender_role)}"
    title += f" to {whom}" if whom else ""
    facts = _facts(tree, dialect, type_, header)
    long = [(label, value) for label, value in facts if isinstance(value, str) and _is_long(value)]
    short = [fact for fact in facts if fact not in long]
    if body is not None and body.strip():
        long.append(("body", body))
    blocks = [
        [title[:-1] + "\\#" if title.endswith("#") else title],  # a trailing # would close the heading
        [on_one_line(type_.purpose)],
        [line for label, value in short for line in _fact(label, value, 0)],
        *([f"{label}:", *_text(value, "")] for label, value in long),
        reply_lines(tree, dialect, type_, header),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _named(name: str | None, role: str | None) -> str:
    """`ada (dev)`, or only `dev` where an agent is named after its role."""
    text = _brief(name or role or "", LABEL_CHARACTERS_MAX)
    return text if not role or role == name or not name else f"{text} ({_brief(role, LABEL_CHARACTERS_MAX)})"


# --- fields ----------------------------------------------------------------------------------------------------------


def _facts(tree: Tree, dialect: Dialect, type_: MessageType, header: MessageHeader) -> Facts:
    """Fields of the type in its order; then the envelope and unknown fields; then what the bus adds."""
    inside = tree.get(dialect.payload) if dialect.payload else tree
    inside = inside if isinstance(inside, dict) else {}  # a lenient team lets any shape pass
    known_to_bus = {name for name in dialect.wire if name != dialect.wire.timestamp}
    own = [(name, inside[name]) for name in type_.fields if name in inside]
    envelope = [(name, tree[name]) for name in dialect.envelope if name in tree and name not in known_to_bus]
    added = [(name, value) for name, value in inside.items() if inside is not tree and name not in type_.fields]
    told = {TYPE, *dialect.envelope, *([dialect.payload] if inside else []), *(type_.fields if inside is tree else ())}
    added += [(name, value) for name, value in tree.items() if name not in told]
    known = {"about": header.correlation, "answers": header.reply_to, "message id": header.id}
    said = [value for _, value in own]
    facts = [(_label(name), value) for name, value in (*own, *envelope, *added)]
    return [*facts, *((label, value) for label, value in known.items() if value and value not in said)]


def _label(name: str) -> str:
    """`task id` for task_id and taskId; any other name as it is."""
    if _JOINED_WORDS.match(name):
        name = _WORD_BEGINS.sub(" ", name).lower()
    return _brief(name, LABEL_CHARACTERS_MAX) or "none"


# --- one field -------------------------------------------------------------------------------------------------------


def _fact(label: str, value: Any, depth: int) -> Iterator[str]:
    """Lines of one field: `- label: value`, or a nested list."""
    indent = "  " * depth
    if isinstance(value, str) and _is_long(value):
        yield f"{indent}- {label}:"
        yield from _text(value, f"{indent}  ")
    elif not isinstance(value, (list, dict)) or value in _NOTHING or depth >= DEPTH_MAX:
        yield f"{indent}- {label}: {_word(value)}"
    elif isinstance(value, dict) and all(
        type(item) in (int, float) and key.isidentifier() for key, item in value.items()
    ):
        yield f"{indent}- {label}: {', '.join(f'{_label(name)} {_word(one)}' for name, one in value.items())}"
    elif isinstance(value, dict):
        yield f"{indent}- {label}:"
        for name, one in list(value.items())[:ITEMS_MAX]:
            yield from _fact(_label(name), one, depth + 1)
        yield from _more(len(value), depth + 1)
    else:
        yield from _items(label, value, depth)


def _items(label: str, value: list[Any], depth: int) -> Iterator[str]:
    """A list of texts, or one numbered entry for each object."""
    indent = "  " * depth
    if any(isinstance(one, (list, dict)) for one in value):
        for number, one in enumerate(value[:ITEMS_MAX], 1):
            yield from _fact(f"{label} ({number} of {len(value)})", one, depth)
        yield from _more(len(value), depth)
        return
    yield f"{indent}- {label}:"
    for one in value[:ITEMS_MAX]:
        if isinstance(one, str) and _is_long(one):
            first, *others = _text(one, "")
            yield from (f"{indent}  - {first}", *(f"{indent}    {line}".rstrip(" ") for line in others))
        else:
            yield f"{indent}  - {_word(one)}"
    yield from _more(len(value), depth + 1)


def _more(count: int, depth: int) -> Iterator[str]:
    if count > ITEMS_MAX:
        yield f"{'  ' * depth}- … and {count - ITEMS_MAX:,} more"


# --- words -----------------------------------------------------------------------------------------------------------


def _word(value: Any) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case str() if value.strip():
            return on_one_line(value)
        case int() | float():
            return str(value)
        case _ if value in _NOTHING or isinstance(value, str):
            return "none"
        case _:
            return _brief(json.dumps(value, ensure_ascii=False, default=str), LINE_CHARACTERS_MAX)


def _text(text: str, indent: str) -> list[str]:
    """A long text as a block quote."""
    left_out = len(text) - TEXT_CHARACTERS_MAX
    lines = quoted(text[:TEXT_CHARACTERS_MAX], indent)
    if left_out > 0:
        lines += ["", f"{indent}({left_out:,} more characters stand in the message itself)"]
    return lines


def _brief(text: str, limit: int) -> str:
    return on_one_line(text if len(text) <= limit else text[: limit - 1] + "…")


def _is_long(text: str) -> bool:
    return len(text) > LINE_CHARACTERS_MAX or "\n" in text.strip()


# --- how to reply -----------------------------------------------------------------------------------------------------


# A word that needs no quotes in any shell; other ids and names are never put into a command.
_PLAIN_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:@-]*\Z")
# Commands that answer a message of these actions, for readers who write no messages.
_BY_COMMAND: Mapping[str, tuple[str, ...]] = {
    "ask": ("telex approve {id} --as {me} --reason WORDS", "telex reject {id} --as {me} --reason WORDS"),
    "escalate": ("telex answer {id} --as {me} TEXT",),
}
_IN_WORDS = ("telex send --as {me} --to {you} --reply-to {id} -",)


def reply_lines(tree: Tree, dialect: Dialect, type_: MessageType, header: MessageHeader) -> list[str]:
    """The end of a rendering: which answer is expected, and how to send it."""
    answer = dialect.types.get(type_.reply or "")
    does = type_.action
    if header.sender == TELEX and answer is None:
        does = "escalate"  # the bus forwards the answer to the author
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
    if dialect.form == "json":
        text = json.dumps(begun, ensure_ascii=False)
        text = text if text.isprintable() else json.dumps(begun)
    else:
        text = shown_lines(write(dialect, begun, sections))
    article = "an" if answer.name[:1].lower() in tuple("aeiou") else "a"
    also = _by(commands, " Or type ") + "." if does in _BY_COMMAND and commands else ""
    return [
        f"**It asks for {article} {on_one_line(answer.name)}**: fill in what is marked, and send it to {you}.{also}",
        "",
        *fenced(text.rstrip("\n"), language="json" if dialect.form == "json" else ""),
    ]


def answer_begun(tree: Tree, dialect: Dialect, answer: MessageType, header: MessageHeader) -> Tree:
    """Draft of the answer, with the fields that are known: request, sender, recipient, task."""
    wire, inside = dialect.wire, tree.get(dialect.payload) if dialect.payload else tree
    by_name = dialect.addresses == "names"
    known: dict[str | None, Any] = {
        wire.reply_to: header.id,
        wire.correlation: header.correlation,
        wire.sender: header.recipient if by_name else header.recipient_role,
        wire.recipient: header.sender if by_name else None,
        wire.task: inside.get(wire.task or "") if isinstance(inside, dict) else None,
    }
    given = {name: value for name, value in known.items() if name and value and _takes(dialect, answer, name, value)}
    return draft(dialect, answer, given, now=blank(Timestamp()), new_id=blank(Text(printable=True)))


def _takes(dialect: Dialect, answer: MessageType, name: str, value: Any) -> bool:
    """Whether the answer has such a field and the value is valid there."""
    field = field_named(dialect, answer, name)
    if field is None or not isinstance(value, str):
        return False
    if isinstance(field.kind, OneOf) and value not in field.kind.values:
        return False
    if name != dialect.wire.sender or dialect.addresses == "names":
        return True
    return answer.senders == ANY or value in answer.senders


def _typed(commands: tuple[str, ...], header: MessageHeader) -> list[str]:
    """The commands with their arguments; none if an argument would need quotes."""
    words = {"id": header.id, "me": header.recipient, "you": header.sender}
    if not all(_PLAIN_WORD.match(word or "") for word in words.values()):
        return []
    return [code(command.format(**words)) for command in commands]


def _by(commands: list[str], before: str = ": ") -> str:
    return before + " or ".join(commands) if commands else ""

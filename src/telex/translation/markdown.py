"""How does a message read to somebody who speaks none of its dialects? As short markdown, for people and agents.

First who says what to whom, then the facts as a list, then whatever is long, then the answer that is asked for. Nothing
that a message says can pose as a heading, a fact or a word of ours: see `markdown_escape`. What is left out for length
is said to be, and where it stands in full.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from telex.dialects.schema import TYPE, Dialect, MessageType, Tree
from telex.model.roster import EVERYONE
from telex.translation.markdown_escape import on_one_line, quoted
from telex.translation.reply_text import reply_lines
from telex.translation.result import MessageHeader

LINE_CHARACTERS_MAX = 160  # what is longer is no fact among others and gets lines of its own
TEXT_CHARACTERS_MAX = 4_000
LABEL_CHARACTERS_MAX = 64
ITEMS_MAX = 20
DEPTH_MAX = 4  # levels of lists; what lies deeper is said in one line
_JOINED_WORDS = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+|[A-Z][a-z0-9]*)*\Z")  # task_id, taskId
_WORD_BEGINS = re.compile(r"_|(?=[A-Z])")
_NOTHING: tuple[Any, ...] = ("", None, [], {})
Facts = list[tuple[str, Any]]  # each with its label


def render(tree: Tree, dialect: Dialect, type_: MessageType, header: MessageHeader, body: str | None = None) -> str:
    """The message as markdown. `body` is what stands under front matter."""
    facts = _facts(tree, dialect, type_, header)
    long = [(label, value) for label, value in facts if isinstance(value, str) and _is_long(value)]
    short = [fact for fact in facts if fact not in long]
    if body is not None and body.strip():
        long.append(("body", body))
    blocks = [
        [_title(type_, header)],
        [on_one_line(type_.purpose)],
        [line for label, value in short for line in _fact(label, value, 0)],
        *([f"{label}:", *_text(value, "")] for label, value in long),
        reply_lines(tree, dialect, type_, header),
    ]
    return "\n\n".join("\n".join(block) for block in blocks if block) + "\n"


def _title(type_: MessageType, header: MessageHeader) -> str:
    whom = "everybody" if header.recipient == EVERYONE else _named(header.recipient, header.recipient_role)
    title = f"# {on_one_line(type_.name)} from {_named(header.sender, header.sender_role)}"
    title += f" to {whom}" if whom else ""
    return title[:-1] + "\\#" if title.endswith("#") else title  # which would close the heading and not be seen


def _named(name: str | None, role: str | None) -> str:
    """`ada (dev)`, or only `dev` where an agent is named after its role."""
    told = _brief(name or role or "", LABEL_CHARACTERS_MAX)
    return told if not role or role == name or not name else f"{told} ({_brief(role, LABEL_CHARACTERS_MAX)})"


# --- which facts -----------------------------------------------------------------------------------------------------


def _facts(tree: Tree, dialect: Dialect, type_: MessageType, header: MessageHeader) -> Facts:
    """What the type says, in its order; then its envelope and what its sender added; then what the bus knows."""
    inside = tree.get(dialect.payload) if dialect.payload else tree
    inside = inside if isinstance(inside, dict) else {}  # a lenient team may let anything pass
    own = [(name, inside[name]) for name in type_.fields if name in inside]
    envelope = [(name, tree[name]) for name in dialect.envelope if name in tree and not _the_bus_tells(name, dialect)]
    added = [(name, value) for name, value in inside.items() if inside is not tree and name not in type_.fields]
    told = {TYPE, *dialect.envelope, *([dialect.payload] if inside else []), *(type_.fields if inside is tree else ())}
    added += [(name, value) for name, value in tree.items() if name not in told]
    known = {"about": header.correlation, "answers": header.reply_to, "message id": header.id}
    said = [value for _, value in own]
    facts = [(_label(name), value) for name, value in (*own, *envelope, *added)]
    return [*facts, *((label, value) for label, value in known.items() if value and value not in said)]


def _the_bus_tells(name: str, dialect: Dialect) -> bool:
    return name in dialect.wire and name != dialect.wire.timestamp


def _label(name: str) -> str:
    """`task id` for task_id and taskId; any other name as it is."""
    if _JOINED_WORDS.match(name):
        name = _WORD_BEGINS.sub(" ", name).lower()
    return _brief(name, LABEL_CHARACTERS_MAX) or "none"


# --- one fact --------------------------------------------------------------------------------------------------------


def _fact(label: str, value: Any, depth: int) -> Iterator[str]:
    """The lines of one fact: `- label: value`, or what it is made of in a list below."""
    indent = "  " * depth
    if isinstance(value, str) and _is_long(value):
        yield f"{indent}- {label}:"
        yield from _text(value, f"{indent}  ")
    elif not isinstance(value, (list, dict)) or value in _NOTHING or depth >= DEPTH_MAX:
        yield f"{indent}- {label}: {_word(value)}"
    elif isinstance(value, dict) and _are_numbers(value):
        yield f"{indent}- {label}: {', '.join(f'{_label(name)} {_word(one)}' for name, one in value.items())}"
    elif isinstance(value, dict):
        yield f"{indent}- {label}:"
        yield from _entries(value, depth + 1)
    else:
        yield from _items(label, value, depth)


def _entries(value: dict[str, Any], depth: int) -> Iterator[str]:
    for name, one in list(value.items())[:ITEMS_MAX]:
        yield from _fact(_label(name), one, depth)
    yield from _more(len(value), depth)


def _items(label: str, value: list[Any], depth: int) -> Iterator[str]:
    """Texts below each other; things that have parts one by one, so that no part is taken for another's."""
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
    """A long text, marked as quoted line by line."""
    left_out = len(text) - TEXT_CHARACTERS_MAX
    lines = quoted(text[:TEXT_CHARACTERS_MAX], indent)
    return (
        [*lines, "", f"{indent}({left_out:,} more characters stand in the message itself)"] if left_out > 0 else lines
    )


def _brief(text: str, limit: int) -> str:
    return on_one_line(text if len(text) <= limit else text[: limit - 1] + "…")


def _is_long(text: str) -> bool:
    return len(text) > LINE_CHARACTERS_MAX or "\n" in text.strip()


def _are_numbers(value: dict[str, Any]) -> bool:
    return all(type(one) in (int, float) and name.isidentifier() for name, one in value.items())

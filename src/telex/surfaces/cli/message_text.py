"""Text of messages in the output of commands: behind a mark on every line, or as raw bytes with --raw.

The mark tells what others have written from what Telex says, also where a coding tool joins stdout and stderr.
"""

import sys
from typing import Any

from telex.model.message import CHANGES, Message, Rendering
from telex.surfaces.cli.output import Screen, shown, shown_block
from telex.trace.text import cells

Spoken = Message | Rendering  # what somebody reads: as it was sent, or in its own words
MARK = "| "


def text_of(message: Spoken) -> str:
    """As text, whatever the bytes: what is no UTF-8 stands there escaped."""
    return message.raw.decode("utf-8", "backslashreplace")


def marked(text: str, width: int | None = None) -> str:
    """Safe to look at, with the mark before every line: no text can pass for a line of Telex. A terminal has a width,
    and would go on without the mark."""
    lines = shown_block(text.rstrip("\n")).split("\n")
    if width is not None:
        lines = [part for line in lines for part in _folded(line, max(width - len(MARK), 2))]
    return "\n".join(MARK + line for line in lines)


def _folded(line: str, room: int) -> list[str]:
    if cells(line) <= room:
        return [line]
    parts, used = [""], 0
    for letter in line:
        used += cells(letter)
        if used > room:
            parts.append("")
            used = cells(letter)
        parts[-1] += letter
    return parts


def write_body(message: Spoken, *, raw: bool = False) -> None:
    """The text behind its mark, or the bytes as they came, with a line end."""
    if raw:
        write_bytes(message.raw if message.raw.endswith(b"\n") else message.raw + b"\n")
        return
    sys.stdout.write(marked(text_of(message), Screen(sys.stdout).width) + "\n")
    sys.stdout.flush()


def write_bytes(raw: bytes) -> None:
    sys.stdout.flush()
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:  # a stream of text, as in a test: it shows what it can
        sys.stdout.write(raw.decode("utf-8", "backslashreplace"))
        return
    buffer.write(raw)
    buffer.flush()


def what(message: Spoken) -> str:
    """`vbw-typed execution_update`"""
    return " ".join(shown(word) for word in (message.dialect, message.type) if word) or "text"


def head_facts(message: Message) -> dict[str, Any]:
    return {
        "id": message.id,
        "from": message.sender,
        "role": message.role,
        "to": message.to,
        "dialect": message.dialect,
        "type": message.type,
        "correlation": message.correlation,
        "reply_to": message.reply_to,
    }


def rendering_facts(message: Message, rendering: Rendering | None) -> dict[str, Any]:
    """What a reader has before it, where that is not what was sent: instead of the message's own dialect and type."""
    if rendering is None:
        return {}
    original = {"dialect": message.dialect, "type": message.type}
    changes = {name: list(getattr(rendering, name)) for name in CHANGES}
    return {"dialect": rendering.dialect, "type": rendering.type, "translated_from": original | changes}


def whence(message: Message, rendering: Rendering | None) -> str:
    """`, translated from vbw-typed execution_update (2 lost)`"""
    if rendering is None:
        return ""
    counts = [f"{count} {name}" for name in CHANGES if (count := len(getattr(rendering, name)))]
    changed = f" ({', '.join(counts)})" if counts else ""
    return f", translated from {what(message)}{changed}"

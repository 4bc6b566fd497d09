"""How is what a message says put on a screen, or into a pipe?"""

import sys
from typing import Any

from telex.model.message import Message
from telex.surfaces.cli.render import shown, shown_block


def text_of(message: Message) -> str:
    """As text, whatever the bytes: what is no UTF-8 stands there escaped."""
    return message.raw.decode("utf-8", "backslashreplace")


def body_lines(message: Message, indent: int = 0) -> list[str]:
    """Safe to look at, a line for each."""
    return [" " * indent + line for line in shown_block(text_of(message).rstrip("\n")).split("\n")]


def write_body(message: Message) -> None:
    """To a terminal what is safe to look at; to anything else the bytes as they came."""
    if sys.stdout.isatty():
        sys.stdout.write("\n".join(body_lines(message)) + "\n")
        return
    write_bytes(message.raw if message.raw.endswith(b"\n") else message.raw + b"\n")


def write_bytes(raw: bytes) -> None:
    sys.stdout.flush()
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:  # a stream of text, as in a test: it shows what it can
        sys.stdout.write(raw.decode("utf-8", "backslashreplace"))
        return
    buffer.write(raw)
    buffer.flush()


def what(message: Message) -> str:
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

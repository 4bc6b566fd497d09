"""Messages that are sent while processes are killed or the power is cut: notes and typed updates.

The bytes of a message follow from its id, so that a reader can tell whether it is whole.
"""

import json
import zlib
from typing import Any

from telex.dialects.builtin.vbw_typed import VBW_TYPED

SENDERS, READERS = "dev", "lead"  # their roles
TO = f"role:{READERS}"
NOTE_EVERY = 4  # messages; a note is plain text, and its id is given beside it


def is_note(id_: str) -> bool:
    return int(id_.rpartition("-")[2]) % NOTE_EVERY == 0


def has_reply(id_: str) -> bool:
    """Whether its reader acks it with a reply, in one transaction."""
    return int(id_.rpartition("-")[2]) % NOTE_EVERY == 1


def reply_id(id_: str) -> str:
    return f"{id_}.reply"


def body_of(id_: str) -> bytes:
    words = "all is well\n" * (zlib.crc32(id_.encode()) % 300)
    if is_note(id_):
        return f"note {id_}\n{words}".encode()
    example = VBW_TYPED.types["execution_update"].example
    return json.dumps(example | {"id": id_, "payload": example["payload"] | {"evidence": words}}).encode()


def sending(id_: str) -> tuple[bytes, dict[str, Any]]:
    """The bytes, and what `send` is told beside them: a typed message has its id inside."""
    beside = {"id": id_} if is_note(id_) else {}
    return body_of(id_), {"role": SENDERS, "to": TO, **beside}

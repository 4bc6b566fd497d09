"""What do those send whose power is cut? Notes under an id of their own, and typed updates that take the beaten track.

The bytes of a message follow from its id, so that whoever finds it can tell whether it is whole.
"""

import json
import zlib
from collections.abc import Callable
from typing import Any

from telex.bus import local
from telex.bus.directory import BusContext, Whom
from telex.bus.fast_path import send_fast
from telex.dialects.builtin.vbw_typed import VBW_TYPED
from telex.model.message import NewMessage

SENDERS, READERS = "dev", "lead"  # their roles
TO = f"role:{READERS}"
NOTE_EVERY = 4  # messages; a note goes the patient way


def is_note(id_: str) -> bool:
    return int(id_.rpartition("-")[2]) % NOTE_EVERY == 0


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


def watch_beaten_track(tell: Callable[[str], object]) -> None:
    """From now on, in this process, `tell` the id of every message that takes it."""

    def watched(office: BusContext, raw: bytes, whom: Whom, began: float) -> NewMessage | None:
        entry = send_fast(office, raw, whom, began)
        if entry is not None:
            tell(entry.id)
        return entry

    vars(local)["ordinary"] = watched

"""The beaten track of a replay: is this line a bare message with nothing to find in it?

Most lines of a long foreign log are. One decode tells it, and what is asked of it afterwards is taken from that: the
line need not even be looked at for what kind of line it is, since no other kind would pass. Whatever is not quite
ordinary goes the patient way in `simulate`, which would say the same.
"""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from telex.dialects.schema import ANY, Dialect, MessageType
from telex.replay.decoded_message import Glimpse, glimpse_of, is_exact
from telex.replay.reader import moment_in
from telex.validation.check import CheckPolicy
from telex.validation.compiled import StructLayout
from telex.validation.envelope import attribute, paths_of
from telex.validation.fast_validator import FastValidator
from telex.validation.guard_source import Beside
from telex.work.actions import CHAPTERS, IDLE
from telex.work.user_dialect_requests import ANSWERING, ASKING, stands_for

MomentReader = Callable[[bytes, Any], float | None]  # of a message as it is written, and as it was decoded
PROGRESS, STATUS, BLOCKER = "progress", "status", "blocker"
ASKS = "asks in own words"  # no deed, and still to be remembered
ANSWERS = "answers in own words"  # no deed either, and not everybody's to do
_REPORT = ("plan", "task", "status", "commit", "tokens", "files")
REPORTED = {  # what a report on the work says, by the deed and its names
    PROGRESS: _REPORT,
    STATUS: _REPORT,
    BLOCKER: ("plan", "task", "severity", "blocker", "needs"),
}
Values = tuple[Any, ...]
# What kind of message it is, the message, its id, sender and recipient, and what it says of REPORTED. None: who knows.
Track = Callable[[bytes], "tuple[TypeProfile, Any, Values, Values] | None"]
NOBODY_NAMED = "\0"  # before the role that alone may send a type whose messages name no sender; no name has it


class TypeProfile(NamedTuple):
    """What is known of all messages of one type."""

    dialect: Dialect
    type: MessageType
    whoever: str  # who sends it, where it does not say so
    deed: str | None  # what it does to the work, where the book has a chapter on that; ASKS
    idle: tuple[str, ...]  # the deed means nothing while nothing was said in these; none: it always means something
    reports: str  # the deed, where it is one of REPORTED; else nothing
    moment: MomentReader  # when it says that it was written
    glimpse: Glimpse  # what it says to the rules of the work


def track(desk: CheckPolicy) -> Track:
    """Opens the track for messages of nobody in particular; `AllowedTypes` tells which of them may pass between two."""
    passes: Track = FastValidator(desk, plate=partial(_plate, desk)).passes
    return passes


def _plate(desk: CheckPolicy, dialect: Dialect, type_: MessageType, shape: StructLayout) -> Beside:
    wire, does = dialect.wire, type_.deed.action if type_.deed is not None and desk.work else ""
    idle, own = IDLE.get(does), _names(dialect, type_) if does in REPORTED else {}
    facts = paths_of(dialect, type_)
    head = attribute(facts.get("id"), shape), _on_top(wire.sender, shape), attribute(facts.get("recipient"), shape)
    report = tuple(attribute(own.get(name), shape) for name in REPORTED[does]) if own else ()
    plate = TypeProfile(
        dialect,
        type_,
        NOBODY_NAMED + only_sender(type_),
        does if does in CHAPTERS else _in_own_words(type_) if desk.work else None,
        idle.topics if idle is not None and not idle.name else (),
        does if own else "",
        _moment_reader(wire.timestamp, shape),
        glimpse_of(dialect, type_, shape),
    )
    return plate, (head, report)


def _in_own_words(type_: MessageType) -> str | None:
    return ANSWERS if stands_for(type_, ANSWERING) else ASKS if stands_for(type_, ASKING) else None


def _moment_reader(name: str | None, shape: StructLayout) -> MomentReader:
    """As it stands in the message decoded, and from the text where that may say something else."""
    if name is None or name not in shape.attributes:
        return lambda raw, message: None
    fields = [("at", Any, None)]
    decode = msgspec.json.Decoder(msgspec.defstruct("Written", fields, rename={"at": name})).decode
    decoded = attrgetter(shape.attributes[name])

    def moment(raw: bytes, message: Any) -> float | None:
        at = decoded(message)
        if type(at) is datetime and is_exact(at, raw):
            return at.timestamp()
        written: Any = decode(raw)
        return moment_in(written.at) if isinstance(written.at, str) else None

    return moment


def only_sender(type_: MessageType) -> str:
    """The role of whoever sends a message that does not name its sender, where only one role may; else nothing."""
    return type_.senders[0] if len(type_.senders) == 1 and type_.senders != ANY else ""


def _names(dialect: Dialect, type_: MessageType) -> dict[str, tuple[str, ...]]:
    """Where a report says each of these things."""
    assert type_.deed is not None
    wanted = REPORTED[type_.deed.action]
    return {name: dialect.locate(type_, where) for name, where in type_.deed.field_map.items() if name in wanted}


def _on_top(name: str | None, shape: StructLayout) -> str:
    return attribute((name,) if name in shape.attributes and name is not None else None, shape)

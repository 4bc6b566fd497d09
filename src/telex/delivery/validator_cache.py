"""Cache of compiled validators, one per pair of sender and recipient.

Compiling takes ten milliseconds or more and then saves most of the cost of each message, so a pair gets a compiled
validator only after a few messages. Both paths return the message's type traits and envelope.
"""

from collections.abc import Callable
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from telex.delivery.routing import Participants
from telex.dialects.schema import PRIORITIES, Dialect, MessageType, get_path
from telex.model.finding import Finding
from telex.validation.check import (
    NO_FACTS,
    CheckPolicy,
    CheckResult,
    Envelope,
    attribute,
    check,
    facts_in,
    facts_in_envelope,
    opener_of,
)
from telex.work.actions import CHAPTERS, IDLE

if TYPE_CHECKING:
    from telex.validation.compiled import FastValidator, StructLayout

OPENED_AFTER = 8  # messages of one pair
LANES_MAX = 512  # pairs with a compiled validator
PAIRS_MAX = 8 * LANES_MAX  # pairs counted that have none yet
STATUS = PRIORITIES.index("STATUS")  # the priority of plain text


class TypeTraits(NamedTuple):
    """Properties of a message type that the bus needs, computed once."""

    dialect: Dialect
    type: MessageType
    rank: int  # index of its priority in PRIORITIES
    asks: bool  # for an answer, in a dialect with ids
    answers: frozenset[str]  # types that it answers
    stands_alone: bool  # neither asks nor answers: storing it needs no lookup
    replies: bool = False  # it answers the message that its sender received, even if the dialect has no reply field
    action: str | None = None  # work action, if there are rules for it
    idle: tuple[str, ...] | None = None  # while these topics are empty, the message has no effect on the work


class CheckedMessage(NamedTuple):
    """A validated message with its traits."""

    checked: CheckResult | None  # None: the compiled validator accepted it without findings
    traits: TypeTraits | None
    envelope: Envelope

    @property
    def dialect(self) -> Dialect | None:
        return self.traits.dialect if self.traits is not None else self.checked.dialect if self.checked else None

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.checked.findings if self.checked is not None else ()


class ValidatorCache:
    """A team's check policy with its compiled validators."""

    def __init__(self, desk: CheckPolicy) -> None:
        self.desk = desk
        self._bytes_max = desk.limits.message_bytes_max
        self._used: dict[Participants, int] = {}
        self._open: dict[Participants, FastValidator] = {}
        self._shared: dict[tuple[Any, ...], Callable[[bytes], Any]] = {}  # between pairs of the same roles
        self._kinds: dict[tuple[str, str], TypeTraits] = {}

    def quick(self, raw: bytes, participants: Participants) -> "CheckedMessage | None":
        """Result of the compiled validator; None: there is none, or it did not accept the message."""
        lane = self._open.get(participants)
        answer = lane.passes(raw) if lane is not None and len(raw) <= self._bytes_max else None
        return answer[0](answer[1]) if answer is not None else None

    def check(self, raw: bytes, participants: Participants) -> CheckedMessage:
        lane = self._open.get(participants) or self._lane(participants)
        if lane is not None and len(raw) <= self._bytes_max:
            answer = lane.passes(raw)
            if answer is not None:
                result: CheckedMessage = answer[0](answer[1])
                return result
        checked = check(raw, self.desk, **participants._asdict())
        dialect = checked.dialect
        type_ = dialect.types.get(checked.type or "") if dialect is not None else None
        if dialect is None or checked.outcome != "message":
            return CheckedMessage(checked, None, NO_FACTS)
        if type_ is None:
            return CheckedMessage(checked, None, facts_in_envelope(checked.tree, dialect))
        kind, where = self._kind(dialect, type_), _telling(dialect, type_)
        if (
            kind.idle is not None
            and where is not None
            and not IDLE[kind.action or ""].fits(get_path(where)(checked.tree))
        ):
            kind = kind._replace(idle=None)
        return CheckedMessage(checked, kind, facts_in(checked.tree, dialect, type_))

    def _kind(self, dialect: Dialect, type_: MessageType) -> TypeTraits:
        type_traits = self._kinds.get((dialect.name, type_.name))
        if type_traits is None:
            rank = PRIORITIES.index(type_.priority)
            asks = type_.reply is not None and dialect.wire.id is not None
            answers = frozenset(other.name for other in dialect.types.values() if other.reply == type_.name)
            does = type_.deed.action if type_.deed is not None and self.desk.work else None
            deed = does if does in CHAPTERS else None
            type_traits = self._kinds[dialect.name, type_.name] = TypeTraits(
                dialect,
                type_,
                rank,
                asks=asks,
                answers=answers,
                stands_alone=not asks and not answers,
                replies=bool(answers) or deed == "signal",
                action=deed,
                idle=IDLE[deed].topics if deed in IDLE else None,
            )
        return type_traits

    def opening(self, dialect: Dialect, type_: MessageType, shape: "StructLayout") -> Callable[[Any], CheckedMessage]:
        kind, facts, new = self._kind(dialect, type_), opener_of(dialect, type_, shape), tuple.__new__
        where = _telling(dialect, type_) if kind.idle is not None else None
        if where is None:
            # As CheckedMessage(None, kind, facts) would build it, in half the time.
            return lambda message: new(CheckedMessage, (None, kind, facts(message)))
        said, idle, busy = attrgetter(attribute(where, shape)), IDLE[kind.action or ""], kind._replace(idle=None)
        return lambda message: new(CheckedMessage, (None, kind if idle.fits(said(message)) else busy, facts(message)))

    def _lane(self, participants: Participants) -> "FastValidator | None":
        used = self._used.pop(participants, 0) + 1
        if used < OPENED_AFTER:
            self._used[participants] = used
            if len(self._used) > PAIRS_MAX:  # evict the least recently used half
                self._used = dict(islice(self._used.items(), PAIRS_MAX // 2, None))
            return None
        if len(self._open) >= LANES_MAX:
            self._open.clear()
            self._shared.clear()
        from telex.validation.compiled import FastValidator

        lane = self._open[participants] = FastValidator(
            self.desk, **participants._asdict(), of_type=self.opening, shared=self._shared
        )
        return lane


def _telling(dialect: Dialect, type_: MessageType) -> tuple[str, ...] | None:
    """Path of the field that decides whether the message affects the work; None: no single field does."""
    idle = IDLE.get(type_.deed.action) if type_.deed is not None else None
    if idle is None or type_.deed is None or not idle.name:
        return None
    return dialect.locate(type_, type_.deed.field_map[idle.name])

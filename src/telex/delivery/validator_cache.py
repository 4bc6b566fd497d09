"""Cache of compiled validators, one per pair of sender and recipient.

Compiling takes ten milliseconds or more and then saves most of the cost of each message, so a pair gets a compiled
validator only after a few messages. Both paths return the message's type traits and envelope.
"""

from collections.abc import Callable
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from telex.delivery.routing import Participants
from telex.dialects.schema import PRIORITIES, Dialect, MessageType, get_path
from telex.model.finding import Finding
from telex.model.named_tuple import NamedTuple
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
from telex.work.view import COMES_ALONG, DECIDING, IDLE, RULES

if TYPE_CHECKING:
    from telex.validation.compiled import FastValidator
    from telex.validation.compiler import StructLayout

OPENED_AFTER = 8  # messages of one pair
VALIDATORS_MAX = 512  # pairs with a compiled validator
PAIRS_MAX = 8 * VALIDATORS_MAX  # pairs counted that have none yet
STATUS = PRIORITIES.index("STATUS")  # the priority of plain text


class TypeTraits(NamedTuple):
    """Properties of a message type that the bus needs, computed once."""

    dialect: Dialect
    type: MessageType
    rank: int  # index of its priority in PRIORITIES
    asks: bool  # for an answer, in a dialect with ids
    answers: frozenset[str]  # types that it answers
    decides: bool  # a request for approval
    settles: bool  # it may answer an escalation of its conversation: every message of the work but a report
    is_due: bool  # its answer is due at some time
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

    def __init__(self, policy: CheckPolicy) -> None:
        self.policy = policy
        self._bytes_max = policy.limits.message_bytes_max
        self._used: dict[Participants, int] = {}
        self._compiled: dict[Participants, FastValidator] = {}
        self._shared: dict[tuple[Any, ...], Callable[[bytes], Any]] = {}  # between pairs of the same roles
        self._traits: dict[tuple[str, str], TypeTraits] = {}

    def quick(self, raw: bytes, participants: Participants) -> "CheckedMessage | None":
        """Result of the compiled validator; None: there is none, or it did not accept the message."""
        validator = self._compiled.get(participants)
        answer = validator.passes(raw) if validator is not None and len(raw) <= self._bytes_max else None
        return answer[0](answer[1]) if answer is not None else None

    def check(self, raw: bytes, participants: Participants) -> CheckedMessage:
        validator = self._compiled.get(participants) or self._compile(participants)
        if validator is not None and len(raw) <= self._bytes_max:
            answer = validator.passes(raw)
            if answer is not None:
                result: CheckedMessage = answer[0](answer[1])
                return result
        checked = check(raw, self.policy, **participants._asdict())
        dialect = checked.dialect
        type_ = dialect.types.get(checked.type or "") if dialect is not None else None
        if dialect is None or checked.outcome != "message":
            return CheckedMessage(checked, None, NO_FACTS)
        if type_ is None:
            return CheckedMessage(checked, None, facts_in_envelope(checked.tree, dialect))
        traits, path = self._traits_of(dialect, type_), _deciding_field(dialect, type_)
        if traits.idle is not None and path is not None:  # the topics may be none
            is_idle = IDLE[traits.action or ""].fits(get_path(path)(checked.tree))
            traits = traits if is_idle else traits._replace(idle=None)
        return CheckedMessage(checked, traits, facts_in(checked.tree, dialect, type_))

    def _traits_of(self, dialect: Dialect, type_: MessageType) -> TypeTraits:
        traits = self._traits.get((dialect.name, type_.name))
        if traits is None:
            asks = type_.reply is not None and dialect.wire.id is not None
            answers = frozenset(other.name for other in dialect.types.values() if other.reply == type_.name)
            action = type_.action if self.policy.work and type_.action in RULES else None
            traits = self._traits[dialect.name, type_.name] = TypeTraits(
                dialect,
                type_,
                PRIORITIES.index(type_.priority),
                asks=asks,
                answers=answers,
                decides=action in DECIDING,
                settles=action is not None and action not in COMES_ALONG,
                is_due=asks or action == "escalate",
                replies=bool(answers) or action == "signal",
                action=action,
                idle=_idle_topics(type_, action),
            )
        return traits

    def opening(self, dialect: Dialect, type_: MessageType, shape: "StructLayout") -> Callable[[Any], CheckedMessage]:
        traits, envelope, new = self._traits_of(dialect, type_), opener_of(dialect, type_, shape), tuple.__new__
        path = _deciding_field(dialect, type_) if traits.idle is not None else None
        if path is None:
            # As CheckedMessage(None, traits, envelope) would build it, in half the time.
            return lambda message: new(CheckedMessage, (None, traits, envelope(message)))
        value, idle, busy = attrgetter(attribute(path, shape)), IDLE[traits.action or ""], traits._replace(idle=None)
        return lambda message: new(
            CheckedMessage, (None, traits if idle.fits(value(message)) else busy, envelope(message))
        )

    def _compile(self, participants: Participants) -> "FastValidator | None":
        used = self._used.pop(participants, 0) + 1
        if used < OPENED_AFTER:
            self._used[participants] = used
            if len(self._used) > PAIRS_MAX:  # evict the least recently used half
                self._used = dict(islice(self._used.items(), PAIRS_MAX // 2, None))
            return None
        if len(self._compiled) >= VALIDATORS_MAX:
            self._compiled.clear()
            self._shared.clear()
        from telex.validation.compiled import FastValidator

        validator = self._compiled[participants] = FastValidator(
            self.policy, **participants._asdict(), of_type=self.opening, shared=self._shared
        )
        return validator


def _idle_topics(type_: MessageType, action: str | None) -> tuple[str, ...] | None:
    """Topics: while they are empty, a message of the type may have no effect. None: the rules apply to every message,
    as to those of a type with its own spelling of the deciding value."""
    idle = IDLE.get(action or "")
    if idle is None:
        return None
    has_plain_value = idle.name in type_.field_map and idle.name not in type_.semantics.spelling
    return idle.topics if not idle.name or has_plain_value else None


def _deciding_field(dialect: Dialect, type_: MessageType) -> tuple[str, ...] | None:
    """Path of the field that decides whether the message affects the work; None: no single field does."""
    idle = IDLE.get(type_.action)
    if idle is None or not idle.name:
        return None
    where = type_.field_map.get(idle.name)
    return dialect.locate(type_, where) if where is not None else None

"""Compiled validators of a policy, for one sender and recipient.

They only accept messages without any finding; every other message goes through `check`, and a property test compares
the two.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from telex.dialects.parse.detect import DetectionHint, fits_better, knows, roles_fit
from telex.dialects.schema import ANY, Dialect, MessageType
from telex.model.named_tuple import NamedTuple
from telex.validation.authorization import may_receive, may_send, signed_as
from telex.validation.check import STRICT, CheckPolicy, CheckResult, check
from telex.validation.compiler import (
    DEPTH_OF_TYPES_MAX,
    StructLayout,
    Validate,
    compile_dialect,
    compile_validator,
)


class ValidMessage(NamedTuple):
    """Dialect and type of a message without findings."""

    dialect: Dialect
    type: MessageType


class AllowedTypes(NamedTuple):
    """Types that a sender may send to a recipient without a finding, computed before any message."""

    policy: CheckPolicy
    as_role: str | None = None
    to_role: str | None = None
    as_name: str | None = None
    to_name: str | None = None

    def allows(self, dialect: Dialect, type_: MessageType) -> bool:
        """Whether a message of this type can have no findings."""
        if self.policy.limits.depth_max < DEPTH_OF_TYPES_MAX or self.is_nameless:
            return False  # a valid type may exceed the depth limit; an empty name is always a finding
        sends = self.as_role is None or may_send(self.as_role, type_)
        receives = self.to_role is None or may_receive(self.to_role, type_)
        return sends and receives and self._is_first_choice(dialect, type_)

    def claims(self, dialect: Dialect, type_: MessageType) -> dict[str, tuple[str, ...]]:
        """Allowed values of the sender and recipient fields, where they are known in advance."""
        allowed: dict[str, tuple[str, ...]] = {}
        sender, recipient = self.signed(dialect)
        both = ((dialect.wire.sender, sender, type_.senders), (dialect.wire.recipient, recipient, type_.receivers))
        for field, signed, roles in both:
            if field and signed is not None:
                allowed[field] = (signed,)
            elif field and dialect.addresses == "roles" and roles != ANY:
                allowed[field] = roles
        return allowed

    def signed(self, dialect: Dialect) -> tuple[str | None, str | None]:
        """Values of the sender and recipient fields in this dialect: roles, or names where it uses names."""
        return signed_as(dialect, self.as_role, self.as_name), signed_as(dialect, self.to_role, self.to_name)

    @property
    def is_nameless(self) -> bool:
        return "" in self[1:]

    def _is_first_choice(self, dialect: Dialect, type_: MessageType) -> bool:
        """Whether detection prefers this dialect, for a type that several dialects have."""
        if self.policy.forced:
            return True
        hint = DetectionHint(self.policy.preferred, self.as_role, self.to_role)
        rivals = [
            other
            for other in self.policy.dialects
            if type_.name in other.types
            and other.form == "json"
            and (
                other.name == hint.preferred
                or knows(other, hint.as_role) != knows(dialect, hint.as_role)
                or not fits_better(type_, dialect, other)
            )
        ]

        def rank(other: Dialect) -> tuple[bool, bool, bool]:
            fits = roles_fit(other.types[type_.name], hint)
            return knows(other, hint.as_role), other.name == hint.preferred, fits

        return max(rivals, key=rank) is dialect


class FastValidator:
    """Compiled validators of a policy for one sender and recipient (or for any).

    `passes(raw)` returns a value for the message's type and the decoded message if it has no findings; None leaves the
    decision to `check`. The caller has checked the size limit. `of_type` makes the value for a type, by default a
    ValidMessage. Validators of one policy with one `of_type` may be `shared`: in most dialects only roles count, and
    many senders have the same role.
    """

    def __init__(
        self,
        policy: CheckPolicy = STRICT,
        *,
        as_role: str | None = None,
        to_role: str | None = None,
        as_name: str | None = None,
        to_name: str | None = None,
        of_type: Callable[[Dialect, MessageType, StructLayout], Any] | None = None,
        shared: "dict[tuple[Any, ...], Validate] | None" = None,
    ) -> None:
        self.policy, self._allowed = policy, AllowedTypes(policy, as_role, to_role, as_name, to_name)
        self._of_type = of_type or (lambda dialect, type_, layout: ValidMessage(dialect, type_))
        self._shared = {} if shared is None else shared
        among = (policy.forced,) if policy.forced else policy.dialects
        self.passes: Validate = self._choose([dialect for dialect in among if dialect.form == "json"])

    def check(self, raw: bytes) -> CheckResult:
        """As `check`, except that `tree` is empty for a message that the compiled validator accepts."""
        answer = self.passes(raw) if len(raw) <= self.policy.limits.message_bytes_max else None
        if answer is None:
            _, as_role, to_role, as_name, to_name = self._allowed
            return check(raw, self.policy, as_role=as_role, to_role=to_role, as_name=as_name, to_name=to_name)
        passed: ValidMessage = answer[0]
        return CheckResult(True, "message", passed.dialect, passed.type.name, findings=(), tree={}, text=raw.decode())

    def _choose(self, dialects: list[Dialect]) -> Validate:
        """The validator of one dialect, or of several in most-recently-used order, compiled on first use."""
        if len(dialects) == 1:
            return self._compile(dialects[0], lambda raw: None)  # no other validator: `check` decides
        validators = [(dialect, self._shared.get(self._depends_on(dialect))) for dialect in dialects]
        validators.sort(key=lambda pair: pair[1] is None)

        def passes(raw: bytes) -> tuple[Any, Any] | None:
            for index, (dialect, validate) in enumerate(validators):
                if validate is None:
                    key = self._depends_on(dialect)
                    validate = self._shared.get(key) or self._compile(dialect, lambda raw: _ELSEWHERE)
                    validators[index], self._shared[key] = (dialect, validate), validate
                answer: tuple[Any, Any] | None = validate(raw)
                if answer is not _ELSEWHERE:
                    if index:
                        validators.insert(0, validators.pop(index))
                    return answer
            return None

        return passes

    def _depends_on(self, dialect: Dialect) -> tuple[Any, ...]:
        """Cache key of this dialect's validator under one policy."""
        allowed = self._allowed
        return (dialect.name, allowed.as_role, allowed.to_role, *allowed.signed(dialect), allowed.is_nameless)

    def _compile(self, dialect: Dialect, other: Validate) -> Validate:
        compiled = compile_dialect(dialect, self.policy.limits, partial(self._allowed.claims, dialect))
        open_types = [type_ for type_ in dialect.types.values() if self._allowed.allows(dialect, type_)]

        def passed(type_: MessageType) -> Any:
            return self._of_type(dialect, type_, compiled.shapes[type_.name])

        return compile_validator(compiled, open_types, passed, other, self.policy.limits)


_ELSEWHERE: Any = object()

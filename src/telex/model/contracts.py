"""Contracts of plans: revisions, grants and progress."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from telex.model.named_tuple import NamedTuple

SCOPE_CHANGE, GATE_OVERRIDE = "scope_change", "gate_override"
WIDENING = (SCOPE_CHANGE, GATE_OVERRIDE)  # the kinds of request that may widen a contract
NONE: Any = MappingProxyType({})  # an empty dict that cannot be written to


class ContractTerms(NamedTuple):
    phase: str
    objective: str
    tasks: tuple[str, ...]
    allowed: tuple[str, ...]
    forbidden: tuple[str, ...]
    depends_on: tuple[str, ...]
    must_haves: tuple[str, ...]
    checks: tuple[str, ...]
    budget: int | None  # tokens


class Revision(NamedTuple):
    number: int  # from 1
    digest: str  # of the terms: equal for two revisions with equal terms
    words: ContractTerms
    id: str  # of the message
    seq: int
    by: str
    at: float
    dialect: str


class CompletedTask(NamedTuple):
    commit: str
    by: str
    at: float


class WideningRequest(NamedTuple):
    """A request that would widen the contract and has no answer yet."""

    kind: str  # one of WIDENING
    by: str
    at: float
    paths: tuple[str, ...] = ()  # granted where the approval lists none


class Grant(NamedTuple):
    """Paths that an approval added to the contract."""

    patterns: tuple[str, ...]
    override: bool  # of a forbidden path; stays marked as such
    by: str  # who approved
    role: str
    at: float
    request: str  # id of the request
    asked_by: str
    conditions: tuple[str, ...] = ()


class Closure(NamedTuple):
    """The end of a contract: by a lead or an architect, never by reports."""

    by: str
    at: float
    reason: str
    id: str  # of the message


class Plan(NamedTuple):
    id: str
    revisions: tuple[Revision, ...] = ()
    to: tuple[str, ...] = ()  # every address that it was sent to, in any revision
    done: dict[str, CompletedTask] = NONE  # by task
    spent: int = 0  # tokens
    asks: dict[str, WideningRequest] = NONE  # by the request's id
    grants: tuple[Grant, ...] = ()
    cycle: int = 0  # number of the last review; 0: none
    approved: bool = False  # by that review
    closed: Closure | None = None  # a new contract opens it again

    @property
    def words(self) -> ContractTerms | None:
        """Terms of the latest revision, which is in force; None: no contract was sent."""
        return self.revisions[-1].words if self.revisions else None

    @property
    def is_complete(self) -> bool:
        """Whether every task is done. False before the first contract."""
        return bool(self.revisions) and all(map(self.done.__contains__, self.revisions[-1].words.tasks))

    @property
    def is_open(self) -> bool:
        """Whether its contract is in force: until it is closed."""
        return bool(self.revisions) and self.closed is None

    @property
    def has_work(self) -> bool:
        """Whether its contract is in force and has an open task, or no tasks at all."""
        return self.is_open and not (self.revisions[-1].words.tasks and self.is_complete)

    @property
    def granted(self) -> tuple[str, ...]:
        return tuple([pattern for grant in self.grants if not grant.override for pattern in grant.patterns])

    @property
    def lifted(self) -> tuple[str, ...]:
        return tuple([pattern for grant in self.grants if grant.override for pattern in grant.patterns])

    @property
    def conditions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([condition for grant in self.grants for condition in grant.conditions]))


class PlanSummary(NamedTuple):
    """The fields of a plan that are searched."""

    to: tuple[str, ...]
    by: str  # who sent the latest contract
    tasks: tuple[str, ...]
    allowed: tuple[str, ...] = ()


class ContractIndex(NamedTuple):
    """The plans that have a contract, indexed."""

    open: dict[str, PlanSummary]  # by plan, in the order in which they were opened
    closed: dict[str, PlanSummary]
    by_task: dict[str, tuple[str, ...]]  # plans by task
    asks: dict[str, tuple[str, ...]]  # by the id of a pending request: the plans that it may mean
    names: dict[str, str]  # by name without case and outer blanks: the first plan of that name

    @classmethod
    def empty(cls) -> "ContractIndex":
        return cls({}, {}, {}, {}, {})

    def find(self, plan: str) -> PlanSummary | None:
        return self.open.get(plan) or self.closed.get(plan)


class PathVerdict(NamedTuple):
    """Whether an agent may write a path now."""

    path: str  # as given
    allowed: bool
    code: str | None  # of the finding, if it may not
    reason: str  # a sentence
    plan: str | None = None  # the plan that allows it, or the first that does not
    conditions: tuple[str, ...] = ()  # of approvals
    override: bool = False  # allowed by an override, although forbidden
    ask: Mapping[str, Any] | None = None  # the request to send
    ask_to: str | None = None  # its recipient

"""Contracts of plans: every revision, what was granted since, and how far each plan has come."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

SCOPE_CHANGE, GATE_OVERRIDE = "scope_change", "gate_override"
WIDENING = (SCOPE_CHANGE, GATE_OVERRIDE)  # the kinds of request that may widen a contract
NONE: Any = MappingProxyType({})  # an empty dict that cannot be written to


class ContractTerms(NamedTuple):
    """What a contract says."""

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
    digest: str  # of the words: two revisions with one digest say the same
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
    paths: tuple[str, ...] = ()  # that it names: they are granted where the approval lists none


class Grant(NamedTuple):
    """What an approval added to the contract."""

    patterns: tuple[str, ...]
    override: bool  # it sets a forbidden path aside, and stays marked as that for ever
    by: str  # who approved
    role: str
    at: float
    request: str  # the id of the request, and
    asked_by: str  # whose it was
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
    to: tuple[str, ...] = ()  # every address that it was sent to: a revision sent to one frees nobody else
    done: dict[str, CompletedTask] = NONE  # by task
    spent: int = 0  # tokens
    asks: dict[str, WideningRequest] = NONE  # by the request's id
    grants: tuple[Grant, ...] = ()
    cycle: int = 0  # the last review; 0: there was none
    approved: bool = False  # by that review
    closed: Closure | None = None  # a new contract opens it again

    @property
    def words(self) -> ContractTerms | None:
        """The latest contract, which is the one that holds; None: there was never one."""
        return self.revisions[-1].words if self.revisions else None

    @property
    def is_complete(self) -> bool:
        """Is every task done? Not while nobody has said what the tasks are."""
        return bool(self.revisions) and all(map(self.done.__contains__, self.revisions[-1].words.tasks))

    @property
    def is_open(self) -> bool:
        """Does its contract hold? It does until it is closed, whatever was reported."""
        return bool(self.revisions) and self.closed is None

    @property
    def has_work(self) -> bool:
        """Does its contract hold, with a task to do? One without tasks always has."""
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
    """As much of a plan as it takes to find it."""

    to: tuple[str, ...]
    by: str  # who sent the latest contract
    tasks: tuple[str, ...]
    allowed: tuple[str, ...] = ()


class ContractIndex(NamedTuple):
    """The plans that have a contract, and where to find them."""

    open: dict[str, PlanSummary]  # by plan: those whose contract holds, in the order in which they were opened
    closed: dict[str, PlanSummary]
    by_task: dict[str, tuple[str, ...]]  # the plans that have a task
    asks: dict[str, tuple[str, ...]]  # by the id of a request without an answer: the plans that it may mean

    def find(self, plan: str) -> PlanSummary | None:
        return self.open.get(plan) or self.closed.get(plan)


class PathVerdict(NamedTuple):
    """May this agent write this path now?"""

    path: str  # as asked
    allowed: bool
    code: str | None  # of the finding, where it may not
    reason: str  # a sentence
    plan: str | None = None  # the one that allows it, or the first that does not
    conditions: tuple[str, ...] = ()  # of approvals: to be kept to
    override: bool = False  # allowed although it is forbidden, since somebody set that aside
    ask: Mapping[str, Any] | None = None  # the request to send, whole
    ask_to: str | None = None  # and to whom

"""Does a report keep to its plan? Told at a glance, where it is one like hundreds before it.

Most of what a team says while it works are reports on a plan whose contract is known. What the contract says is then
worked out once, and held against each. What they tick off is gathered, and written into the plan before anybody else
looks at it: `settle`. A report that is not quite ordinary is weighed as any message is, by `work/plan_checks.py`,
which would say the same.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from telex.model.contracts import CompletedTask, ContractIndex, Plan
from telex.replay.decoded_message import MessageContext
from telex.replay.fast_path import PROGRESS, STATUS, MomentReader, Values
from telex.replay.log_clock import LogClock
from telex.validation.contracts import ContractScope, may_touch
from telex.work import blockers
from telex.work.actions import IDLE
from telex.work.plan_checks import conditions_noticed
from telex.work.plan_lookup import CONTRACTS, plan_in, topic_of
from telex.work.plans import COMPLETE, with_closed
from telex.work.rule_set import LazyFinding

PLANS_MAX = 256  # known at a time
FILES_MAX = 1_000  # of a plan, of which it is known that they may be touched
_NEW = tuple.__new__  # makes a NamedTuple in half the time


class ReportTerms(NamedTuple):
    """What a contract says to every report, with what was granted since."""

    notes: tuple[LazyFinding, ...]
    scope: ContractScope
    may_touch: set[str]  # files of which that is known


class PlanReportState:
    """What a plan says to its reports as long as it stands as it does, and what they have said since."""

    __slots__ = ("checked", "done", "needs", "plan", "room", "spent", "terms", "to_do", "topic")

    def __init__(self, plan: Plan, needs: tuple[tuple[str, Plan], ...], terms: ReportTerms) -> None:
        assert plan.words is not None, "without a contract it says nothing to anybody"
        self.topic, self.plan, self.terms = topic_of(plan.id), plan, terms
        self.needs = needs  # the plans that have to be complete, and how they stand
        self.to_do = set(plan.words.tasks).difference(plan.done)
        self.room = math.inf if plan.words.budget is None else plan.words.budget - plan.spent  # tokens
        self.done: dict[str, CompletedTask] = {}  # reported since the plan was written
        self.spent = 0  # the same
        self.checked = 0  # how many changes there were to the book when it was last seen to hold

    def lets_touch(self, files: list[str]) -> bool:
        """All of these? What it lets pass is remembered."""
        _, scope, known = self.terms
        if not all(may_touch(path, scope) for path in files):
            return False
        if len(known) + len(files) > FILES_MAX:
            known.clear()
        known.update(files[:FILES_MAX])
        return True

    def settled(self) -> Plan:
        """The plan with all that was reported."""
        id_, revisions, to, done, spent, asks, grants, cycle, approved = self.plan
        done, spent = {**done, **self.done}, spent + self.spent
        self.done, self.spent = {}, 0
        self.plan = Plan(id_, revisions, to, done, spent, asks, grants, cycle, approved)
        return self.plan


Notes = tuple[LazyFinding, ...] | None  # what there is to say to a report; None: it has to be weighed
Hear = Callable[[tuple[Any, ...], MomentReader, bytes, Any, str], Notes]  # what it says, when, …, its sender


class PlanReportChecks:
    def __init__(self, book: dict[str, Any], times: LogClock) -> None:
        self._book, self._times = book, times
        self._plans: dict[str, PlanReportState] = {}
        self._unsettled: dict[str, PlanReportState] = {}
        self._held_up: set[str] = set()  # topics of tasks
        self._changes = 0
        self.hear: dict[str, Hear] = {PROGRESS: self._progress, STATUS: self._status}

    def _progress(self, told: tuple[Any, ...], moment: MomentReader, raw: bytes, message: Any, sender: str) -> Notes:
        """How far a task of a plan has come. It is weighed where there is something against it, or where the task was
        done already."""
        name, task, status, commit, tokens, files = told
        plan_report_state = self._plans.get(name)
        if plan_report_state is None or plan_report_state.checked != self._changes:
            plan_report_state = self._looked_up(name, plan_report_state)
            if plan_report_state is None:
                return None
        notes, _, may_touch = plan_report_state.terms
        if task not in plan_report_state.to_do or (
            files and not may_touch.issuperset(files) and not plan_report_state.lets_touch(files)
        ):
            return None
        done = status == COMPLETE
        if done or tokens:
            if tokens and not _can_be_spent(tokens, plan_report_state.room):
                return None
            at = self._times.at(moment(raw, message))
            self._times.saw(at)
            self._gather(
                name,
                plan_report_state,
                tokens or 0,
                task,
                _NEW(CompletedTask, (commit or "", sender, at)) if done else None,
            )
        if self._held_up and (topic := blockers.topic_at(name, task)) in self._held_up:
            self._times.saw(self._times.at(moment(raw, message)))
            self._book[topic] = None  # it goes on
            self._held_up.discard(topic)
        return notes

    def _gather(
        self, name: str, plan_report_state: PlanReportState, tokens: int, task: str, done: CompletedTask | None
    ) -> None:
        """For the plan, until somebody else looks at it."""
        self._unsettled[name] = plan_report_state
        plan_report_state.spent += tokens
        plan_report_state.room -= tokens
        if done is not None:
            plan_report_state.done[task] = done
            plan_report_state.to_do.discard(task)
            if not plan_report_state.to_do:  # which the list of contracts hears of
                contracts: ContractIndex = self._book[CONTRACTS]
                self._book[CONTRACTS] = with_closed(contracts, name, contracts.plans[name], True)
        if not plan_report_state.room or not plan_report_state.to_do:
            del self._plans[name]  # what comes next is weighed

    def _status(self, told: tuple[Any, ...], moment: MomentReader, raw: bytes, message: Any, sender: str) -> Notes:
        """How a task goes, in a dialect where that is all that is said."""
        name, task, status, *_ = told
        held_up = self._held_up and blockers.topic_at(name or "", task) in self._held_up
        return () if not held_up and IDLE[STATUS].fits(status) else None

    def blocked(self, told: Values, around: MessageContext) -> bool:
        """Somebody cannot go on. False: it has to be weighed, where it is the first of all or says less than usual."""
        name, task, severity, what, needs = told
        if type(name) is not str or type(task) is not str or type(what) is not str or not what:
            return False
        if (severity or "") not in blockers.HOLDS_UP:
            return True
        if blockers.ANY not in self._book:
            return False
        number, id_, at, sender, to, inboxes, _, _ = around
        topic = blockers.topic_at(name, task)
        self._times.saw(at)
        state = (id_ or f"line {number}", task, name, sender.name, to, inboxes or (to,), at, what, needs or "")
        self._book[topic] = _NEW(blockers.Blocker, state)
        self._held_up.add(topic)
        return True

    def settle(self) -> None:
        """From now on the book tells all that was reported."""
        if self._unsettled:
            for plan_report_state in self._unsettled.values():
                self._book[plan_report_state.topic] = plan_report_state.settled()
            self._unsettled.clear()

    def changed(self) -> None:
        """Somebody else writes into the book."""
        self._changes += 1

    def is_held_up(self, topic: str, so: bool) -> None:
        """So it is from now on with the task that this topic tells of."""
        if so:
            self._held_up.add(topic)
        else:
            self._held_up.discard(topic)

    def _looked_up(self, name: str, before: PlanReportState | None) -> PlanReportState | None:
        """None: its reports are not to be told at a glance."""
        if before is None or not self._still_holds(before):
            plan_report_state = self._learnt(name, before)
            if plan_report_state is None:
                self._plans.pop(name, None)
                return None
            if len(self._plans) >= PLANS_MAX:
                self._plans.clear()
            before = self._plans[name] = plan_report_state
        before.checked = self._changes
        return before

    def _still_holds(self, plan_report_state: PlanReportState) -> bool:
        get = self._book.get
        return get(plan_report_state.topic) is plan_report_state.plan and all(
            get(topic) is state for topic, state in plan_report_state.needs
        )

    def _learnt(self, name: str, before: PlanReportState | None) -> PlanReportState | None:
        if CONTRACTS not in self._book or type(name) is not str:
            return None
        self.settle()
        plan = plan_in(self._book, name)
        words = plan.words if plan is not None else None
        if plan is None or words is None or (words.budget is not None and plan.spent >= words.budget):
            return None
        needs = []
        for other in words.depends_on:
            needed = plan_in(self._book, other)
            if needed is None or not needed.is_complete:
                return None
            needs.append((topic_of(other), needed))
        if before is not None and before.plan.revisions is plan.revisions and before.plan.grants is plan.grants:
            return PlanReportState(plan, tuple(needs), before.terms)
        return PlanReportState(plan, tuple(needs), ReportTerms(conditions_noticed(plan), ContractScope(plan), set()))


def _can_be_spent(tokens: Any, room: float) -> bool:
    return type(tokens) is int and 0 < tokens <= room

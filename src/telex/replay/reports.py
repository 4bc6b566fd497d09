"""Does a report keep to its plan? Told at a glance, where it is one like hundreds before it.

Most of what a team says while it works are reports on a plan whose contract is known. What the contract says is then
worked out once, and held against each. A report that is not quite ordinary is weighed as any message is, by
`flow/book/plan_checks.py`, which would say the same.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from telex.flow.book import blockers
from telex.flow.book.deeds import IDLE
from telex.flow.book.plan_checks import conditions_of
from telex.flow.book.plan_finding import contracts_in, plan_in, topic_of
from telex.flow.book.plans import COMPLETE, after_report
from telex.model.contract import Done, Plan
from telex.model.refusal import Finding
from telex.rules.contracts import Scope, judge

PLANS_MAX = 256  # known at a time
FILES_MAX = 1_000  # of a plan, of which it is known that they may be touched


class Outcome(NamedTuple):
    """A report that passes."""

    notes: tuple[Finding, ...] = ()
    plan: str | None = None  # the topic of the plan, where it changes that
    blocker: str | None = None  # the topic of what held its task up until now


class Terms(NamedTuple):
    """What a contract says to every report, with what was granted since."""

    tasks: frozenset[str]
    goes_on: Outcome  # of a report that changes nothing
    ticked_off: Outcome  # of one that does
    scope: Scope
    may_touch: set[str]  # files of which that is known


class Known(NamedTuple):
    """What a plan says to its reports, as long as it stands as it does."""

    topic: str
    plan: Plan
    needs: tuple[tuple[str, Any], ...]  # the plans that have to be complete, and how they stand
    terms: Terms


NOTHING = Outcome()


class Reports:
    def __init__(self, book: Mapping[str, Any]) -> None:
        self._book = book
        self._plans: dict[str, Known] = {}

    def status(self, told: tuple[Any, ...]) -> Outcome | None:
        """How a task goes, in a dialect where that is all that is said. None: it has to be weighed."""
        name, task, status, *_ = told
        held_up = blockers.ANY in self._book and self._book.get(blockers.topic_at(name or "", task)) is not None
        return NOTHING if not held_up and IDLE["status"].fits(status) else None

    def progress(self, told: tuple[Any, ...]) -> Outcome | None:
        """How far a task of a plan has come. None: it has to be weighed."""
        name, task, status, _, tokens, files = told
        if type(name) is not str or type(task) is not str or tokens:
            return None
        known = self._plans.get(name)
        if known is None or not self._still_holds(known):
            known = self._learnt(name, known)
            if known is None:
                return None
        tasks, goes_on, ticked_off, _, may_touch = known.terms
        if task not in tasks:
            return None
        for path in files or ():
            if path not in may_touch and not _may_touch(known.terms, path):
                return None
        outcome = ticked_off if status == COMPLETE or task in known.plan.done else goes_on
        if blockers.ANY in self._book and self._book.get(held_up := blockers.topic_at(name, task)) is not None:
            return outcome._replace(blocker=held_up)
        return outcome

    def after(self, topic: str, told: tuple[Any, ...], sender: str, at: float) -> Plan | None:
        """The plan once it was reported. None: it has come to its end by that, or begun again, which others hear of."""
        _, task, status, commit, _, _ = told
        plan: Plan = self._book[topic]
        after = after_report(plan, task, Done(commit or "", sender, at) if status == COMPLETE else None)
        return after if after.is_open is plan.is_open else None

    def _still_holds(self, known: Known) -> bool:
        book = self._book
        if book.get(known.topic) is not known.plan:
            return False
        return not known.needs or all(book.get(topic) is state for topic, state in known.needs)

    def _learnt(self, name: str, before: Known | None) -> Known | None:
        """None: its reports are not to be told at a glance."""
        plan = plan_in(self._book, name) if contracts_in(self._book) is not None else None
        words = plan.words if plan is not None else None
        if plan is None or words is None or (words.budget is not None and plan.spent >= words.budget):
            return None
        others = {other: plan_in(self._book, other) for other in words.depends_on}
        if any(other is None or not other.is_complete for other in others.values()):
            return None
        if len(self._plans) >= PLANS_MAX:
            self._plans.clear()
        same = before is not None and before.plan.revisions is plan.revisions and before.plan.grants is plan.grants
        terms = before.terms if before is not None and same else _terms(plan)
        needs = tuple((topic_of(other), state) for other, state in others.items())
        known = self._plans[name] = Known(topic_of(name), plan, needs, terms)
        return known


def _terms(plan: Plan) -> Terms:
    assert plan.words is not None
    notes = tuple(conditions_of(plan))
    return Terms(frozenset(plan.words.tasks), Outcome(notes), Outcome(notes, topic_of(plan.id)), Scope(plan), set())


def _may_touch(terms: Terms, path: str) -> bool:
    if judge(path, [terms.scope]).code is not None:
        return False
    if len(terms.may_touch) >= FILES_MAX:
        terms.may_touch.clear()
    terms.may_touch.add(path)
    return True

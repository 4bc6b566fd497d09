"""Which plans does the list of contracts have, when not all of them are in memory?

A plan leaves the list together with its topic. To everybody who reads the list it is the same: whoever asks for a plan
by its name finds it, and so does who asks which plans have a task. Only going through all of them takes a while.
"""

from array import array
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Any

from telex.model.contracts import PlanSummary
from telex.replay.spill_port import SpillPort
from telex.replay.state_codec import LEFT, LISTED, EvictedPlan, packed, unpacked
from telex.work.mutable_contracts import MutablePlans
from telex.work.plan_lookup import CONTRACTS

FEW = 16  # plans that are rather looked at one by one
ALIKE_MAX = 1_000


def _name_of(plan: str) -> str:
    """Under which a plan is put away. No topic is called so."""
    return f"{CONTRACTS}:{plan}"


def _marks(tasks: tuple[str, ...]) -> bytes:
    """By which it is told in no time that none of very many plans has a task."""
    return array("q", map(hash, tasks)).tobytes()


class PlanCache(MutablePlans):
    """As a dict it has those that are in memory. Of an open one that is put away it is still known whom it is for."""

    def __init__(self, plans: Mapping[str, PlanSummary], away: SpillPort) -> None:
        self._numbers = {plan: number for number, plan in enumerate(plans)}  # in which order they came: here or open
        self._away, self._count = away, len(plans)
        self._alike: dict[tuple[tuple[str, ...], str], PlanSummary] = {}
        super().__init__(plans)

    # --- reading -----------------------------------------------------------------------------------------------------

    def get(self, plan: str, default: Any = None) -> Any:
        found = super().get(plan)
        if found is not None:
            return found
        elsewhere = self._put_away(plan)
        return elsewhere[1] if elsewhere is not None else default

    def __missing__(self, plan: str) -> PlanSummary:
        elsewhere = self._put_away(plan)
        if elsewhere is None:
            raise KeyError(plan)
        return elsewhere[1]

    def __contains__(self, plan: object) -> bool:
        return plan in self._numbers or (isinstance(plan, str) and self._put_away(plan) is not None)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[str]:
        numbers = dict(self._numbers)
        for evicted_plan in self._left():
            numbers.setdefault(evicted_plan.plan.decode("utf-8", "surrogatepass"), evicted_plan.number)
        return iter(sorted(numbers, key=numbers.__getitem__))

    def keys(self) -> Any:
        return list(self)

    def values(self) -> Any:
        return [self[plan] for plan in self]

    def items(self) -> Any:
        return [(plan, self[plan]) for plan in self]

    def having(self, task: str, likely: tuple[str, ...]) -> tuple[str, ...]:
        if len(likely) <= FEW:
            likeliest = [plan for plan in likely if task in self[plan].tasks]
            return tuple(likeliest or self._with_task(task))
        found = self._with_task(task)
        return tuple([plan for plan in likely if plan in found] or found)

    def _with_task(self, task: str) -> dict[str, int]:
        """All that have it, in their order."""
        found = {plan: self._numbers[plan] for plan, one in super().items() if task in one.tasks}
        for evicted_plan in self._left(_marks((task,))):
            plan = evicted_plan.plan.decode("utf-8", "surrogatepass")
            if plan not in found and not dict.__contains__(self, plan) and task in self[plan].tasks:
                found[plan] = evicted_plan.number
        return dict(sorted(found.items(), key=itemgetter(1)))

    def _left(self, mark: bytes = b"") -> Iterator[EvictedPlan]:
        """Those that have ever left, the latest first; perhaps only those whose tasks may have this mark."""
        for data in self._away.each(CONTRACTS):
            if mark in data:
                yield from [one for one in unpacked(LEFT, data) if mark in one.tasks]

    def _put_away(self, plan: str) -> tuple[int, PlanSummary] | None:
        data = self._away.get(_name_of(plan))
        return unpacked(LISTED, data) if data is not None else None

    # --- writing -----------------------------------------------------------------------------------------------------

    def put(self, key: str, value: PlanSummary) -> "PlanCache":
        opens_again = key not in self.still_open  # if it is open now, and known at all
        if key not in self._numbers:
            elsewhere = self._put_away(key)
            opens_again = elsewhere is not None
            self._numbers[key] = elsewhere[0] if elsewhere is not None else self._count
            self._count += elsewhere is None
        self[key] = value
        self.covered.clear()
        if value.closed:
            self.still_open.pop(key, None)
        else:
            self.still_open[key] = value
            if opens_again:  # it has its old place again, which is seldom the last one
                self.still_open = dict(sorted(self.still_open.items(), key=lambda one: self._numbers[one[0]]))
        return self

    # --- putting away ------------------------------------------------------------------------------------------------

    def leaving(self, plans: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """What has to be put away so that these can leave."""
        evicted_plans = []
        for plan in plans:
            if dict.__contains__(self, plan):
                number, listed = self._numbers[plan], self[plan]
                yield _name_of(plan), packed((number, listed))
                evicted_plans.append(EvictedPlan(number, plan.encode("utf-8", "surrogatepass"), _marks(listed.tasks)))
        if evicted_plans:
            yield CONTRACTS, packed(tuple(evicted_plans))

    def leave(self, plans: Iterable[str]) -> None:
        """They have been put away."""
        for plan in plans:
            listed: PlanSummary | None = self.pop(plan, None)
            if listed is None:
                continue
            if listed.closed:
                del self._numbers[plan]
            else:
                self.still_open[plan] = self._like(listed)

    def _like(self, listed: PlanSummary) -> PlanSummary:
        """As much of it as `covering` asks for. Most are for the same, and then there is one for all of them."""
        if len(self._alike) >= ALIKE_MAX:
            self._alike.clear()
        return self._alike.setdefault((listed.to, listed.by), PlanSummary(listed.to, listed.by, ()))

"""How is a long list of contracts folded by somebody who alone holds it? In place, with the open plans known.

A fold gives a new list and leaves the old one as it was, which takes a copy of it for every contract, request and
answer. Who goes through the whole work of a team and keeps no earlier state needs no copy: `mutable_contracts` makes
the list such a one, and the same fold then writes into it. To everybody who reads it, it is the same mapping.
"""

from typing import Any

from telex.model.contracts import ContractIndex, PlanSummary

COVERED_MAX = 64  # agents whose open plans are remembered; each may have thousands


class MutableMap(dict[str, Any]):
    """A mapping of which there is one reference: the state that was before is gone."""

    def put(self, key: str, value: Any) -> "MutableMap":
        self[key] = value
        return self

    def drop(self, key: str) -> "MutableMap":
        self.pop(key, None)
        return self


class MutablePlans(MutableMap):
    """The plans, and by themselves those of them that are not closed, in the same order."""

    def __init__(self, plans: Any) -> None:
        super().__init__(plans)
        self.still_open = self._open_ones()
        self.covered: dict[tuple[str, str], tuple[str, ...]] = {}  # the open plans of an agent and its role
        self._tasks: dict[str, int] = {}  # of how many plans each task is one
        for plan in plans.values():
            self._count_tasks(plan, 1)

    def covers(self, agent: str, role: str, plans: tuple[str, ...]) -> tuple[str, ...]:
        """Remember them until the list is another."""
        if len(self.covered) >= COVERED_MAX:
            self.covered.clear()
        self.covered[agent, role] = plans
        return plans

    def put(self, key: str, value: PlanSummary) -> "MutablePlans":
        known = self.get(key)
        self[key] = value
        self.covered.clear()
        if known is not None:
            self._count_tasks(known, -1)
        self._count_tasks(value, 1)
        if value.closed:
            self.still_open.pop(key, None)
        elif known is not None and known.closed:
            self.still_open = self._open_ones()  # it has its old place again, which is seldom the last one
        else:
            self.still_open[key] = value
        return self

    def having(self, task: str, likely: tuple[str, ...]) -> tuple[str, ...]:
        """Those of the likely ones that have the task; where none of them has it, all that have."""
        if task not in self._tasks:
            return ()
        likeliest = [plan for plan in likely if task in self[plan].tasks]  # mostly so, and all plans are many
        return tuple(likeliest or [plan for plan, one in self.items() if task in one.tasks])

    def _count_tasks(self, summary: PlanSummary, step: int) -> None:
        for task in set(summary.tasks):
            left = self._tasks.get(task, 0) + step
            if left:
                self._tasks[task] = left
            else:
                del self._tasks[task]

    def _open_ones(self) -> dict[str, PlanSummary]:
        return {name: one for name, one in self.items() if not one.closed}


def mutable_contracts(state: ContractIndex) -> ContractIndex:
    """The same list, for somebody who alone holds it from now on."""
    if isinstance(state.plans, MutablePlans) and type(state.asks) is MutableMap:
        return state
    return ContractIndex(MutablePlans(state.plans), MutableMap(state.asks))

"""Contracts that apply to one agent, at any moment."""

from collections.abc import Iterable
from typing import Any

from telex.model.contracts import ContractIndex, Plan, PlanSummary
from telex.surfaces.page.agents import PageAgent
from telex.work.plans import covering

PLANS_MAX = 3
LISTED_MAX = 50  # patterns or texts of one list

Facts = dict[str, Any]


def contracts_facts(plans: Iterable[Plan], agent: PageAgent, at: float, *, is_past: bool) -> Facts:
    """The latest contracts that covered the agent then, newest first."""
    past = [_plan_at(plan, at) for plan in plans]
    open_ = {plan.id: plan for plan in past if plan.is_open}
    own = sorted(_covering(open_, agent), key=lambda plan: -plan.revisions[-1].at)
    return {
        "contracts": [_contract(plan, is_past=is_past) for plan in own[:PLANS_MAX]],
        "contracts_more": max(0, len(own) - PLANS_MAX),
    }


def _plan_at(plan: Plan, at: float) -> Plan:
    return plan._replace(
        revisions=tuple(revision for revision in plan.revisions if revision.at <= at),
        grants=tuple(grant for grant in plan.grants if grant.at <= at),
        done={task: done for task, done in plan.done.items() if done.at <= at},
        closed=plan.closed if plan.closed is not None and plan.closed.at <= at else None,
    )


def _covering(plans: dict[str, Plan], agent: PageAgent) -> list[Plan]:
    summaries = {id_: PlanSummary(plan.to, plan.revisions[-1].by, ()) for id_, plan in plans.items()}
    return [plans[id_] for id_ in covering(ContractIndex.empty()._replace(open=summaries), agent.name, agent.role)]


def _contract(plan: Plan, *, is_past: bool) -> Facts:
    last = plan.revisions[-1]
    terms = last.words
    return {
        "plan": plan.id,
        "revision": last.number,
        "by": last.by,
        "at": last.at,
        "message": last.seq,
        "objective": terms.objective,
        "allowed": terms.allowed[:LISTED_MAX],
        "granted": [
            {"pattern": pattern, "by": grant.by, "at": grant.at, "override": grant.override}
            for grant in plan.grants
            for pattern in grant.patterns
        ][:LISTED_MAX],
        "forbidden": terms.forbidden[:LISTED_MAX],
        "must": terms.must_haves[:LISTED_MAX],
        "tasks": {"done": sum(task in plan.done for task in terms.tasks), "all": len(terms.tasks)},
        "tokens": {"spent": None if is_past else plan.spent, "budget": terms.budget},  # known for now only
    }

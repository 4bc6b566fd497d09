"""Work rules of plans: one topic for each plan, and `contracts`, the index of all plans.

The latest contract of a plan holds, with what was granted since; all revisions are kept. The checks of messages against
a contract are in `plan_checks.py`, those of a contract itself in `contract_checks.py`; `plan_lookup.py` finds the plan
that a message means.
"""

import json
from typing import Any

from telex.model.contracts import (
    GATE_OVERRIDE,
    Closure,
    CompletedTask,
    ContractIndex,
    ContractTerms,
    Grant,
    Plan,
    PlanSummary,
    Revision,
    WideningRequest,
)
from telex.model.text import digest_of
from telex.work.plan_checks import (
    check_answer,
    check_close,
    check_contract,
    check_files,
    check_progress,
    check_request,
    check_review,
)
from telex.work.plan_lookup import (
    CONTRACTS,
    asked_plan,
    candidates,
    contracts_in,
    meant,
    named_paths,
    plan_in,
    request_of,
    topic_of,
    widens,
)
from telex.work.reducer import Fold, Topics, WorkRules, WorkState, for_dispatches
from telex.work.view import WorkMessage

COMPLETE = "complete"
_encode = json.JSONEncoder().encode
ASKS_MAX = 1_000  # open requests; older ones are dropped

# --- which topics -----------------------------------------------------------------------------------------------------


def _own_topic(message: WorkMessage) -> str:
    return topic_of(message.text("plan"))


def _contract_topics(message: WorkMessage, topics: WorkState) -> Topics:
    return (CONTRACTS, _own_topic(message))


def _progress_topics(message: WorkMessage, topics: WorkState) -> Topics:
    """Most reports change nothing; those do not belong to the topic and can be pruned."""
    plan = plan_in(topics, message.text("plan")) if contracts_in(topics) is not None else None
    if plan is None or not (
        message.get("status") == COMPLETE or message.get("tokens") or message.text("task") in plan.done
    ):
        return ()
    return (topic_of(plan.id),)


def _close_topics(message: WorkMessage, topics: WorkState) -> Topics:
    plan = plan_in(topics, message.text("plan"))
    return (CONTRACTS, topic_of(plan.id)) if plan is not None and plan.is_open else ()


def _review_topics(message: WorkMessage, topics: WorkState) -> Topics:
    return (_own_topic(message),)


def _ask_topics(message: WorkMessage, topics: WorkState) -> Topics:
    plan = meant(message, topics) if widens(message) else None
    return (CONTRACTS, topic_of(plan.id)) if plan is not None else ()


def _answer_topics(message: WorkMessage, topics: WorkState) -> Topics:
    plan = asked_plan(message, topics)
    return (CONTRACTS, topic_of(plan.id)) if plan is not None else ()


# --- a plan -----------------------------------------------------------------------------------------------------------


def fold_plan(state: Plan | None, message: WorkMessage) -> Plan | None:
    """Completed tasks and requests are written in place."""
    match message.action:
        case "contract":
            return _after_contract(state or _new_plan(message), message)
        case "progress" if state is not None:
            return _after_progress(state, message)
        case "close" if state is not None:
            by, at, reason = message.sender, message.at, message.text("reason")
            return state._replace(closed=Closure(by, at, reason, message.id))
        case "review":
            approved = message.get("result") == "approve"
            plan = state or _new_plan(message)
            return plan._replace(cycle=_count(message, "cycle") or 0, approved=approved)
        case "ask" if state is not None:
            kind, paths = message.text("kind"), named_paths(message)
            asked = WideningRequest(kind, message.sender, message.at, paths)
            state.asks[message.id] = asked
            _drop_oldest(state.asks)
        case "answer" | "dispatch" if state is not None:
            return _after_answer(state, message)
    return state


def _new_plan(message: WorkMessage) -> Plan:
    return Plan(message.text("plan"), done={}, asks={})


def _after_contract(plan: Plan, message: WorkMessage) -> Plan:
    words = words_of(message)
    digest = digest_of(_encode(words).encode()).hex()
    to = plan.to if message.to in plan.to else (*plan.to, message.to)
    if plan.revisions and plan.revisions[-1].digest == digest:
        return plan._replace(to=to, closed=None)  # the same contract again, perhaps to another agent
    number = len(plan.revisions) + 1
    made = Revision(
        number,
        digest,
        words=words,
        id=message.id,
        seq=message.seq,
        by=message.sender,
        at=message.at,
        dialect=message.dialect.name,
    )
    return plan._replace(revisions=(*plan.revisions, made), to=to, closed=None)


def words_of(message: WorkMessage) -> ContractTerms:
    return ContractTerms(
        message.text("phase"),
        message.text("objective"),
        tasks=message.texts("tasks"),
        allowed=message.texts("allowed"),
        forbidden=message.texts("forbidden"),
        depends_on=message.texts("depends_on"),
        must_haves=message.texts("must_haves"),
        checks=message.texts("checks"),
        budget=_count(message, "budget"),
    )


def _after_progress(plan: Plan, message: WorkMessage) -> Plan:
    """The last report on a task holds: one that was complete and then failed is not done."""
    task, tokens = message.text("task"), _count(message, "tokens")
    plan.done.pop(task, None)
    if message.get("status") == COMPLETE:
        plan.done[task] = CompletedTask(message.text("commit"), message.sender, message.at)
    return plan._replace(spent=plan.spent + tokens) if tokens else plan


def _after_answer(plan: Plan, message: WorkMessage) -> Plan:
    request = request_of(message)
    asked = plan.asks.pop(request, None)
    if asked is None or message.get("approved") is not True:
        return plan
    grant = Grant(
        message.texts("modifications") or asked.paths,
        asked.kind == GATE_OVERRIDE,
        by=message.sender,
        role=message.role,
        at=message.at,
        request=request,
        asked_by=asked.by,
        conditions=message.texts("conditions"),
    )
    return plan._replace(grants=(*plan.grants, grant))


def _count(message: WorkMessage, name: str) -> int | None:
    found = message.get(name)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


# --- the list of contracts --------------------------------------------------------------------------------------------


def fold_contracts(state: ContractIndex | None, message: WorkMessage) -> ContractIndex:
    """Written in place, as the state of the whole team's contracts is long."""
    index = ContractIndex({}, {}, {}, {}) if state is None else state
    plan = message.text("plan")
    summary = index.find(plan)
    match message.action:
        case "contract":
            before = summary.to if summary is not None else ()
            to = before if message.to in before else (*before, message.to)
            tasks, allowed = message.texts("tasks"), message.texts("allowed")
            _open(index, plan, summary, PlanSummary(to, message.sender, tasks, allowed))
        case "close" if summary is not None:
            index.closed[plan] = index.open.pop(plan, summary)
        case "ask":
            index.asks[message.id] = candidates(index, message)
            _drop_oldest(index.asks)
        case "answer" | "dispatch":
            index.asks.pop(request_of(message), None)
    return index


def _open(index: ContractIndex, plan: str, before: PlanSummary | None, summary: PlanSummary) -> None:
    index.closed.pop(plan, None)
    index.open[plan] = summary
    for task in set(before.tasks).difference(summary.tasks) if before is not None else ():
        index.by_task[task] = tuple([other for other in index.by_task[task] if other != plan])
        if not index.by_task[task]:
            del index.by_task[task]
    for task in dict.fromkeys(summary.tasks):
        plans = index.by_task.get(task, ())
        index.by_task[task] = plans if plan in plans else (*plans, plan)


def _drop_oldest(asks: dict[str, Any]) -> None:
    if len(asks) > ASKS_MAX:
        del asks[next(iter(asks))]


_ANSWER = WorkRules(_answer_topics, check_answer)
RULES: dict[str, WorkRules] = {
    "contract": WorkRules(_contract_topics, check_contract),
    "progress": WorkRules(_progress_topics, check_progress),
    "close": WorkRules(_close_topics, check_close),
    "review": WorkRules(_review_topics, check_review),
    "ask": WorkRules(_ask_topics, check_request),
    "answer": _ANSWER,
    "dispatch": for_dispatches(_ANSWER),
    "commit": WorkRules(check=check_files),
    "signal": WorkRules(check=check_files),
}
FOLDS: dict[str, Fold] = {"plan": fold_plan, CONTRACTS: fold_contracts}

"""Plans and their contracts: which plan a message means, which agents a plan covers, and the folds of their topics.

Each plan has a topic, and `contracts` is the index of all plans. The latest contract of a plan holds, with what
was granted since; all revisions are kept. A contract covers the agents that it was sent to: one by name, one or all of
a role, everyone. Sent to the name of a role, it covers those of that role who have no contract of their own. The checks
are in `plan_checks.py`.
"""

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from telex.model.contracts import (
    GATE_OVERRIDE,
    WIDENING,
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
from telex.model.roster import ALL_OF_ROLE, EVERYONE, ONE_OF_ROLE
from telex.model.text import digest_of
from telex.validation.contracts import normal
from telex.validation.patterns import SEPARATOR, WILD
from telex.work.reducer import Fold, WorkState
from telex.work.view import WorkMessage

COMPLETE = "complete"
_encode = json.JSONEncoder().encode
ASKS_MAX = 1_000  # open requests; older ones are dropped
CONTRACTS = "contracts"  # the topic


def topic_of(plan: str) -> str:
    return f"plan:{plan}"


def contracts_in(topics: WorkState) -> ContractIndex | None:
    """None: there has never been a contract."""
    contract_index: ContractIndex | None = topics.get(CONTRACTS)
    return contract_index if contract_index is not None and (contract_index.open or contract_index.closed) else None


def plan_in(topics: WorkState, plan: str) -> Plan | None:
    """The plan, if it has a contract."""
    found: Plan | None = topics.get(topic_of(plan))
    return found if found is not None and found.revisions else None


def plans_in(topics: WorkState, plans: Iterable[str]) -> Iterator[Plan]:
    return (found for plan in plans if (found := plan_in(topics, plan)) is not None)


def covering(contracts: ContractIndex, agent: str, role: str) -> tuple[str, ...]:
    """Plans whose contracts apply to this agent."""
    one_of, all_of = ONE_OF_ROLE + role, ALL_OF_ROLE + role
    own, like_role = [], []
    for plan, (to, by, _, _) in contracts.open.items():
        if agent in to or (by != agent and (EVERYONE in to or one_of in to or all_of in to)):
            own.append(plan)
        elif role in to:
            like_role.append(plan)
    return tuple(own or like_role)


def open_plans(topics: WorkState, plans: Iterable[str]) -> list[Plan]:
    return [plan for plan in plans_in(topics, plans) if plan.is_open]


# --- of a message ----------------------------------------------------------------------------------------------------


def candidates(contracts: ContractIndex, message: WorkMessage) -> tuple[str, ...]:
    """Plans that a message on a task may mean, the likeliest last: those with the task, or the sender's own."""
    return _with_task(contracts, message) or covering(contracts, message.sender, message.role)


def _with_task(contracts: ContractIndex, message: WorkMessage) -> tuple[str, ...]:
    """Those of the sender's own plans that have the task, or all others that have; none: no plan has it."""
    task = task_of(message)
    having = contracts.by_task.get(task, ()) if task else ()
    if len(having) < 2:  # nothing to choose from: a team may have thousands of contracts
        return having
    own = covering(contracts, message.sender, message.role)
    return tuple([plan for plan in having if plan in own]) or having


def task_of(message: WorkMessage) -> str:
    return message.text("task") or message.correlation or ""


def meant(message: WorkMessage, topics: WorkState) -> Plan | None:
    """The plan that a request or a submission means: the one that has its task, or the sender's only open one."""
    contracts = contracts_in(topics)
    if contracts is None:
        return None
    task, among = task_of(message), _with_task(contracts, message)
    if not among:
        return _only_one(topics, covering(contracts, message.sender, message.role))
    if len(among) == 1:  # the common case, in half the time
        only = plan_in(topics, among[0])
        return only if only is not None and (task in only.revisions[-1].words.tasks or only.has_work) else None
    plans = [plan for name in among if (plan := plan_in(topics, name)) is not None]
    with_work = [plan for plan in plans if plan.has_work]
    with_task = [plan for plan in with_work or plans if task in plan.revisions[-1].words.tasks]
    if with_task:
        return with_task[-1]
    return with_work[0] if len(with_work) == 1 else None


def _only_one(topics: WorkState, plans: Iterable[str]) -> Plan | None:
    """The one of them with a task to do; or, if none has, the only one. There may be thousands, so two are read."""
    found = list(islice((plan for plan in plans_in(topics, plans) if plan.has_work), 2))
    found = found or list(islice(plans_in(topics, plans), 2))
    return found[0] if len(found) == 1 else None


def widens(message: WorkMessage) -> bool:
    """Whether it asks for more than the contract allows."""
    return message.get("kind") in WIDENING


def named_paths(message: WorkMessage) -> tuple[str, ...]:
    """Paths that a request to widen a contract names: those of its options that have no wildcard and no blank."""
    options = message.texts("options") if widens(message) else ()
    return tuple(dict.fromkeys(path for option in options if (path := _plain_path(option)) is not None))


def _plain_path(text: str) -> str | None:
    if not WILD.isdisjoint(text) or len(text.split()) != 1 or not {SEPARATOR, "."} & set(text):
        return None
    path = normal(text)
    return path if isinstance(path, str) else None


def request_of(message: WorkMessage) -> str:
    """The id of the request that an answer names."""
    return message.text("request") or message.reply_to or ""


def asked_plan(message: WorkMessage, topics: WorkState) -> Plan | None:
    """The plan that the answered request wants widened."""
    contracts, request = contracts_in(topics), request_of(message)
    among = contracts.asks.get(request, ()) if contracts is not None else ()
    for name in among:
        plan = plan_in(topics, name)
        if plan is not None and request in plan.asks:
            return plan
    return None


# --- a plan -----------------------------------------------------------------------------------------------------------


def fold_plan(state: Plan | None, message: WorkMessage) -> Plan | None:
    """Completed tasks and requests are written in place."""
    match message.action:
        case "contract":
            return _after_contract(state or _new_plan(message), message)
        case "progress" if state is not None:
            # The last report on a task holds: one that was complete and then failed is not done
            task, tokens = message.text("task"), _count(message, "tokens")
            state.done.pop(task, None)
            if message.get("status") == COMPLETE:
                state.done[task] = CompletedTask(message.text("commit"), message.sender, message.at)
            return state._replace(spent=state.spent + tokens) if tokens else state
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
    index = ContractIndex.empty() if state is None else state
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


def bare_name(plan: str) -> str:
    return plan.strip().casefold()


def _open(index: ContractIndex, plan: str, before: PlanSummary | None, summary: PlanSummary) -> None:
    index.closed.pop(plan, None)
    index.open[plan] = summary
    index.names.setdefault(bare_name(plan), plan)
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


FOLDS: dict[str, Fold] = {"plan": fold_plan, CONTRACTS: fold_contracts}

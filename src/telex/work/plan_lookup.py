"""Lookup of plans in the index of contracts: which plan a message means, and which agents a plan covers.

A contract covers the agents that it was sent to: one by name, one or all of a role, everyone. Sent to the name of a
role, it covers those of that role who have no contract of their own.
"""

from collections.abc import Iterable, Iterator
from itertools import islice

from telex.model.contracts import WIDENING, ContractIndex, Plan
from telex.model.roster import ALL_OF_ROLE, EVERYONE, ONE_OF_ROLE
from telex.validation.contracts import normal
from telex.validation.patterns import SEPARATOR, WILD
from telex.work.reducer import WorkState
from telex.work.view import WorkMessage

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
    own = covering(contracts, message.sender, message.role)
    return _with_task(contracts, task_of(message), own) or own


def _with_task(contracts: ContractIndex, task: str, own: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the sender's own plans that have the task, or all others that have; none: no plan has it."""
    having = contracts.by_task.get(task, ()) if task else ()
    return tuple([plan for plan in having if plan in own]) or having


def task_of(message: WorkMessage) -> str:
    return message.text("task") or message.correlation or ""


def meant(message: WorkMessage, topics: WorkState) -> Plan | None:
    """The plan that a request or a submission means: the one that has its task, or the sender's only open one."""
    contracts = contracts_in(topics)
    if contracts is None:
        return None
    task, own = task_of(message), covering(contracts, message.sender, message.role)
    among = _with_task(contracts, task, own)
    if not among:
        return _only_one(topics, own)
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

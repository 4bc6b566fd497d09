"""What was agreed about a plan, and how far has it come? A topic for each, and `contracts` to find them by.

The latest contract of a plan holds, with what was granted since; all revisions are kept. How a message is weighed
against them is `plan_checks.py`, how a contract is weighed itself `contract_checks.py`, and which plan a message means
`plan_lookup.py`.
"""

import json
from collections.abc import Mapping
from typing import Any

from telex.model.contracts import (
    GATE_OVERRIDE,
    CompletedTask,
    ContractIndex,
    ContractTerms,
    Grant,
    Plan,
    PlanSummary,
    Revision,
    WideningRequest,
)
from telex.model.digest import digest_of
from telex.work.contract_checks import weigh_contract
from telex.work.decisions import for_dispatches
from telex.work.mutable_contracts import MutableMap
from telex.work.plan_checks import weigh_answer, weigh_ask, weigh_files, weigh_progress, weigh_review
from telex.work.plan_lookup import (
    CONTRACTS,
    asked_plan,
    candidates,
    contracts_in,
    covering,
    meant,
    plan_in,
    request_of,
    topic_of,
    widens,
)
from telex.work.rule_set import Book, Fold, Topics, WorkRules
from telex.work.view import WorkMessage

COMPLETE = "complete"
_encode = json.JSONEncoder().encode
ASKS_MAX = 1_000  # requests without an answer that are remembered; nobody comes back to older ones

# --- which topics -----------------------------------------------------------------------------------------------------


def _own_topic(said: WorkMessage) -> str:
    return topic_of(said.text("plan"))


def _contract_topics(said: WorkMessage, book: Book) -> Topics:
    return (CONTRACTS, _own_topic(said))


def _progress_wanted(said: WorkMessage, book: Book) -> Topics:
    yield CONTRACTS
    contracts = contracts_in(book)
    if contracts is None:
        return
    yield _own_topic(said)
    if _own_topic(said) not in book and said.text("plan") in contracts.plans:
        return  # it says itself what it depends on, once it is known
    plan = plan_in(book, said.text("plan"))
    if plan is not None and plan.words is not None:
        yield from map(topic_of, plan.words.depends_on)
    else:
        yield from map(topic_of, covering(contracts, said.sender, said.role))


def _progress_belongs(said: WorkMessage, book: Book) -> Topics:
    """Most reports change nothing: then they are no part of the plan's story, and are pruned like any message. The list
    of contracts hears of one only when the plan closes by it, or opens again."""
    plan = plan_in(book, said.text("plan")) if contracts_in(book) is not None else None
    if plan is None or not (said.get("status") == COMPLETE or said.get("tokens") or said.text("task") in plan.done):
        return ()
    after = _plan_after_progress(plan, said)
    return (topic_of(plan.id), CONTRACTS) if after.is_open is not plan.is_open else (topic_of(plan.id),)


def _review_topics(said: WorkMessage, book: Book) -> Topics:
    return (_own_topic(said),)


def _ask_wanted(said: WorkMessage, book: Book) -> Topics:
    return _task_wanted(said, book) if widens(said) else ()


def _ask_belongs(said: WorkMessage, book: Book) -> Topics:
    plan = meant(said, book) if widens(said) else None
    return (CONTRACTS, topic_of(plan.id)) if plan is not None else ()


def _answer_wanted(said: WorkMessage, book: Book) -> Topics:
    yield CONTRACTS
    contracts = contracts_in(book)
    if contracts is not None:
        yield from map(topic_of, contracts.asks.get(request_of(said), ()))


def _answer_belongs(said: WorkMessage, book: Book) -> Topics:
    plan = asked_plan(said, book)
    return (CONTRACTS, topic_of(plan.id)) if plan is not None else ()


def _task_wanted(said: WorkMessage, book: Book) -> Topics:
    yield CONTRACTS
    contracts = contracts_in(book)
    if contracts is not None:
        yield from map(topic_of, candidates(contracts, said))
        yield from map(topic_of, covering(contracts, said.sender, said.role))


def _files_wanted(said: WorkMessage, book: Book) -> Topics:
    return _task_wanted(said, book) if said.texts("files") else ()


def _none(said: WorkMessage, book: Book) -> Topics:
    return ()


# --- a plan -----------------------------------------------------------------------------------------------------------


def fold_plan(state: Plan | None, said: WorkMessage) -> Plan | None:
    match said.does:
        case "contract":
            return _plan_after_contract(state or Plan(said.text("plan")), said)
        case "progress" if state is not None:
            return _plan_after_progress(state, said)
        case "review":
            approved = said.get("result") == "approve"
            return (state or Plan(said.text("plan")))._replace(cycle=_count(said, "cycle") or 0, approved=approved)
        case "ask" if state is not None:
            ask = WideningRequest(said.text("kind"), said.sender, said.at)
            return _with_asks(state, _latest({**state.asks, said.id: ask}), state.grants)
        case "answer" | "dispatch" if state is not None:
            return _plan_after_answer(state, said)
    return state


def _plan_after_contract(plan: Plan, said: WorkMessage) -> Plan:
    words = words_of(said)
    digest = digest_of(_encode(words).encode()).hex()
    to = plan.to if said.to in plan.to else (*plan.to, said.to)
    if plan.revisions and plan.revisions[-1].digest == digest:
        return plan._replace(to=to)  # the same words again, perhaps to somebody else
    number = len(plan.revisions) + 1
    made = Revision(number, digest, words, said.id, said.seq, said.sender, said.at, said.dialect.name)
    id_, revisions, _, done, spent, asks, grants, cycle, approved = plan
    return Plan(id_, (*revisions, made), to, done, spent, asks, grants, cycle, approved)


def words_of(said: WorkMessage) -> ContractTerms:
    return ContractTerms(
        said.text("phase"),
        said.text("objective"),
        said.texts("tasks"),
        said.texts("allowed"),
        said.texts("forbidden"),
        said.texts("depends_on"),
        said.texts("must_haves"),
        said.texts("checks"),
        _count(said, "budget"),
    )


def _plan_after_progress(plan: Plan, said: WorkMessage) -> Plan:
    done = CompletedTask(said.text("commit"), said.sender, said.at) if said.get("status") == COMPLETE else None
    return after_report(plan, said.text("task"), done, _count(said, "tokens") or 0)


def after_report(plan: Plan, about: str, done: CompletedTask | None, tokens: int = 0) -> Plan:
    """The last report on a task holds: one that was complete and then failed is not done."""
    tasks = {task: one for task, one in plan.done.items() if task != about}
    if done is not None:
        tasks[about] = done
    return plan._replace(done=tasks, spent=plan.spent + tokens)


def _plan_after_answer(plan: Plan, said: WorkMessage) -> Plan:
    request = request_of(said)
    ask = plan.asks.get(request)
    if ask is None:
        return plan
    asks = _without(plan.asks, request)
    if said.get("approved") is not True:
        return _with_asks(plan, asks, plan.grants)
    grant = Grant(
        said.texts("modifications"),
        ask.kind == GATE_OVERRIDE,
        said.sender,
        said.role,
        said.at,
        request,
        ask.by,
        said.texts("conditions"),
    )
    return _with_asks(plan, asks, (*plan.grants, grant))


def _with_asks(plan: Plan, asks: Mapping[str, WideningRequest], grants: tuple[Grant, ...]) -> Plan:
    """As `_replace` would make it, in a third of the time."""
    id_, revisions, to, done, spent, _, _, cycle, approved = plan
    return Plan(id_, revisions, to, done, spent, asks, grants, cycle, approved)


def _count(said: WorkMessage, name: str) -> int | None:
    found = said.get(name)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


# --- the list of contracts --------------------------------------------------------------------------------------------


def fold_contracts(state: ContractIndex | None, said: WorkMessage) -> ContractIndex:
    state = state or ContractIndex()
    plan = said.text("plan")
    known = state.plans.get(plan)
    match said.does:
        case "contract":
            before = known.to if known is not None else ()
            to = before if said.to in before else (*before, said.to)
            listed = PlanSummary(to, said.sender, said.texts("tasks"))
            return ContractIndex(_with(state.plans, plan, listed), state.asks)
        case "progress" if known is not None:
            return with_closed(state, plan, known, said.get("status") == COMPLETE)
        case "ask":
            return ContractIndex(state.plans, _latest(_with(state.asks, said.id, candidates(state, said))))
        case "answer" | "dispatch":
            return ContractIndex(state.plans, _without(state.asks, request_of(said)))
    return state


def with_closed(state: ContractIndex, plan: str, known: PlanSummary, closed: bool) -> ContractIndex:
    """The plan has come to its end, or goes on after all."""
    return ContractIndex(_with(state.plans, plan, known._replace(closed=closed)), state.asks)


def _with(known: Mapping[str, Any], key: str, value: Any) -> dict[str, Any]:
    return known.put(key, value) if isinstance(known, MutableMap) else {**known, key: value}


def _without(known: Mapping[str, Any], key: str) -> dict[str, Any]:
    return (
        known.drop(key) if isinstance(known, MutableMap) else {one: value for one, value in known.items() if one != key}
    )


def _latest(asks: dict[str, Any]) -> dict[str, Any]:
    while len(asks) > ASKS_MAX:
        del asks[next(iter(asks))]
    return asks


_ANSWER = WorkRules(_answer_wanted, _answer_belongs, weigh_answer)
CHAPTERS: dict[str, WorkRules] = {
    "contract": WorkRules(_contract_topics, _contract_topics, weigh_contract),
    "progress": WorkRules(_progress_wanted, _progress_belongs, weigh_progress),
    "review": WorkRules(_review_topics, _review_topics, weigh_review),
    "ask": WorkRules(_ask_wanted, _ask_belongs, weigh_ask),
    "answer": _ANSWER,
    "dispatch": for_dispatches(_ANSWER),
    "commit": WorkRules(_files_wanted, _none, weigh_files),
    "signal": WorkRules(_files_wanted, _none, weigh_files),
}
FOLDS: dict[str, Fold] = {"plan": fold_plan, CONTRACTS: fold_contracts}

"""Work state for the page: approvals, escalations, contracts, shutdowns, dead letters."""

from typing import Any

from telex.dialects.schema import Dialect
from telex.model.contracts import Plan
from telex.model.message import detail_of
from telex.model.roster import ONE_OF_ROLE, TELEX, Member, roster_of
from telex.model.work import (
    NO_SHUTDOWNS,
    STATES,
    TOPIC,
    UNSETTLED,
    Escalation,
    MemberShutdown,
    ShutdownState,
    waits_for_ever,
)
from telex.ports.bus import Bus
from telex.surfaces.http.page_message import kind_of, read_tree, text_of
from telex.surfaces.http.page_stats import RefusalStats
from telex.surfaces.size_limits import within_bytes
from telex.validation.check import CheckPolicy
from telex.work.approvals import Approval, answerers, answering
from telex.work.shutdown import in_progress

SHOWN_MAX = 200  # rows of one kind
CALLS_MAX = 5
Facts = dict[str, Any]

# --- approvals --------------------------------------------------------------------------------------------------------


async def approvals_facts(bus: Bus, policy: CheckPolicy, now: float) -> list[Facts]:
    """Open requests, most urgent first, with deadline and possible answerers."""
    state: dict[str, Approval] = await bus.work_state("approval")
    seconds = policy.limits.request_seconds
    rows = sorted(
        (_deadline(approval, seconds), approval.request.at, approval.request.id, approval)
        for approval in state.values()
        if approval.waits
    )
    members = [presence.member for presence in await bus.roster()] if rows else []
    return [
        {**await _approval(bus, policy, approval, members), "deadline": deadline, "overdue": deadline <= now}
        for deadline, _, _, approval in rows[:SHOWN_MAX]
    ]


def _deadline(approval: Approval, seconds: float) -> float:
    """The request's own deadline, or the default for answers."""
    own, at = approval.request.deadline, approval.request.at
    return own if own is not None and own > at else at + seconds


async def _approval(bus: Bus, policy: CheckPolicy, approval: Approval, members: list[Member]) -> Facts:
    request = approval.request
    dialect = next((dialect for dialect in policy.dialects if dialect.name == request.dialect), None)
    content = await _content(bus, policy, request.id, request.by)
    return {**request._asdict(), **_answer_facts(approval, dialect, members), **content}


def _answer_facts(approval: Approval, dialect: Dialect | None, members: list[Member]) -> Facts:
    """Who may answer, and the optional fields of an answer in this dialect."""
    words = answering(approval.request, {dialect.name: dialect}) if dialect is not None else None
    if words is None:
        return {"may_answer": [], "takes": []}
    takes = [name for name in ("conditions", "modifications") if name in words[1].field_map]
    return {"may_answer": answerers(approval.request, words, members), "takes": takes}


async def _content(bus: Bus, policy: CheckPolicy, id_: str, sender: str) -> Facts:
    """Sequence number and fields of the last accepted message with this id."""
    messages = [history.message for history in await bus.why(id_)]
    message = next((one for one in reversed(messages) if one.sender == sender and not one.refused), None)
    if message is None:
        return {"seq": None, "says": None}
    dialect, _ = kind_of(message, policy)
    tree = read_tree(message, policy)
    own = tree.get(dialect.payload) if dialect is not None and dialect.payload and isinstance(tree, dict) else tree
    return {"seq": message.seq, "says": own}


# --- escalations ------------------------------------------------------------------------------------------------------


async def escalations_facts(bus: Bus, policy: CheckPolicy) -> list[Facts]:
    """Open escalations, oldest first, with the recipient of an answer."""
    return [await _escalation(bus, policy, escalation) for escalation in (await bus.escalations())[:SHOWN_MAX]]


async def _escalation(bus: Bus, policy: CheckPolicy, escalation: Escalation) -> Facts:
    step = escalation.now
    return {
        **escalation._asdict(),
        "with": step.to,
        "step": step.id,
        "climbs_at": step.due_at if step.due_at is not None and not waits_for_ever(step.due_at) else None,
        "answer_to": await _answer_to(bus, escalation),
        **await _content(bus, policy, step.id, TELEX if len(escalation.rungs) > 1 else escalation.by),
    }


async def _answer_to(bus: Bus, escalation: Escalation) -> str | None:
    """The agent that waits for the answer; if the bus raised it, the last sender before that."""
    if escalation.by != TELEX:
        return escalation.by
    if not escalation.correlation:
        return None
    messages = [history.message for history in await bus.trace(escalation.correlation)]
    earlier = [message for message in messages if message.at <= escalation.at and not message.refused]
    return next((message.sender for message in reversed(earlier) if message.sender != TELEX), None)


# --- contracts --------------------------------------------------------------------------------------------------------


async def contracts_facts(bus: Bus, refusals: RefusalStats) -> Facts:
    """Plans with a contract, open ones first, and refusals for leaving a contract."""
    state: dict[str, Plan] = await bus.work_state("plan")
    plans = [plan for plan in state.values() if plan.revisions]
    plans.sort(key=lambda plan: (plan.is_open, plan.revisions[-1].at), reverse=True)
    return {"plans": [_plan(plan) for plan in plans[:SHOWN_MAX]], "outside": refusals.outside()[:SHOWN_MAX]}


def _plan(plan: Plan) -> Facts:
    last = plan.revisions[-1]
    return {
        **last.words._asdict(),
        **{name: getattr(plan, name) for name in ("id", "to", "closed", "spent", "granted", "lifted", "grants")},
        **{name: getattr(last, name) for name in ("by", "at", "seq")},
        "revision": last.number,
        "open": plan.is_open,
        "complete": plan.is_complete,
        "tasks": [{"name": task, "done": plan.done.get(task)} for task in last.words.tasks],
        "asks": [{"id": id_, **widening_request._asdict()} for id_, widening_request in plan.asks.items()],
        "approved": plan.approved,
        "cycle": plan.cycle,
    }


# --- shutdown ---------------------------------------------------------------------------------------------------------


async def shutdown_facts(bus: Bus) -> Facts:
    """Shutdown requests, the state of each agent, and agents that could request one."""
    presences = await bus.roster()
    shutdown_state: ShutdownState = (await bus.work_state(TOPIC)).get(TOPIC, NO_SHUTDOWNS)
    members = [presence.member for presence in presences if not presence.member.name.startswith(ONE_OF_ROLE)]
    agents = [*in_progress(shutdown_state, roster_of(members))]
    waiting = {presence.member.name: presence.waiting + presence.leased for presence in presences}
    here = [presence.member for presence in presences if presence.state in ("here", "silent")]
    return {
        "under_way": any(member_shutdown.state in UNSETTLED for member_shutdown in agents),
        "calls": [
            call._asdict() | {"answers": len(call.answers)} for call in reversed(shutdown_state.calls[-CALLS_MAX:])
        ],
        "agents": [_agent(member_shutdown, waiting) for member_shutdown in agents],
        "states": STATES,
        "here": [{"name": member.name, "role": member.role} for member in here],
    }


def _agent(member_shutdown: MemberShutdown, waiting: dict[str, int]) -> Facts:
    member, call, answer = member_shutdown.member, member_shutdown.call, member_shutdown.answer
    return {
        "name": member.name,
        "role": member.role,
        "state": member_shutdown.state,
        "says": STATES[member_shutdown.state],
        "asked_at": call.at if call is not None else None,
        "asked_by": call.by if call is not None else None,
        "answered_at": answer.at if answer is not None else None,
        "status": answer.status if answer is not None else None,
        "pending": answer.pending if answer is not None else None,
        "waiting": waiting.get(member.name, 0),
    }


# --- dead letters -----------------------------------------------------------------------------------------------------


async def dead_facts(bus: Bus) -> list[Facts]:
    """Dead letters, newest first, with the reasons of each attempt."""
    limited = await within_bytes(lambda limit: bus.dead_letters(limit=limit), SHOWN_MAX)
    return [
        {
            "delivery": delivery,
            "message": {name: value for name, value in message._asdict().items() if name not in ("raw", "digest")},
            "gist": text_of(message.raw)[0][:400],
            "reasons": await _reasons(bus, message.id, delivery.seq),
        }
        for delivery, message in limited.found
    ]


async def _reasons(bus: Bus, id_: str, delivery: int) -> list[Facts]:
    events = [event for history in await bus.why(id_) for event in history.events if event.delivery == delivery]
    return [
        {"at": event.at, "kind": event.kind, "agent": event.agent, "reason": detail_of(event).get("reason")}
        for event in events
        if event.kind in ("nacked", "lease-expired", "dead", "expired", "retried")
    ]

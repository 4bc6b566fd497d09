"""Work state for the page: approvals, escalations, contracts, shutdowns."""

from collections.abc import Iterable
from typing import Any

from telex.dialects.schema import Dialect
from telex.model.contracts import Plan
from telex.model.escalation import Escalation, waits_for_ever
from telex.model.roster import ONE_OF_ROLE, TELEX, Member, roster_of
from telex.model.shutdown import NO_SHUTDOWNS, STATES, TOPIC, UNSETTLED, MemberShutdown, ShutdownState
from telex.ports.bus import Bus, MessageHistory, Presence
from telex.surfaces.http.page_message import kind_of, read_tree, text_of
from telex.surfaces.http.page_refusals import RefusalStats
from telex.surfaces.http.size_limits import within_bytes
from telex.validation.check import CheckPolicy
from telex.work.approvals import Approval, answerers, answering
from telex.work.shutdown import in_progress

SHOWN_MAX = 200  # of one kind; a longer list would not help a human
CALLS_MAX = 5
Facts = dict[str, Any]

# --- approvals --------------------------------------------------------------------------------------------------------


async def approvals_facts(bus: Bus, desk: CheckPolicy, now: float) -> list[Facts]:
    """Open requests, most urgent first, with deadline and who may answer."""
    state: dict[str, Approval] = await bus.work_state("approval")
    waiting = [approval for approval in state.values() if approval.waits]
    seconds = desk.limits.request_seconds
    rows = sorted(
        (_deadline(approval, seconds), approval.request.at, approval.request.id, approval) for approval in waiting
    )
    members = [presence.member for presence in await bus.roster()] if rows else []
    return [
        {**await _approval(bus, desk, approval, members), "deadline": deadline, "overdue": deadline <= now}
        for deadline, _, _, approval in rows[:SHOWN_MAX]
    ]


def _deadline(approval: Approval, seconds: float) -> float:
    """The request's own deadline, or the default for answers."""
    own, at = approval.request.deadline, approval.request.at
    return own if own is not None and own > at else at + seconds


async def _approval(bus: Bus, desk: CheckPolicy, approval: Approval, members: list[Member]) -> Facts:
    request = approval.request
    dialect = next((dialect for dialect in desk.dialects if dialect.name == request.dialect), None)
    asks = await _asked_with(bus, desk, request.id, request.by)
    return {**request._asdict(), **_answering(approval, dialect, members), **asks}


def _answering(approval: Approval, dialect: Dialect | None, members: list[Member]) -> Facts:
    """Who may answer, and the optional fields of an answer in this dialect."""
    words = answering(approval.request, {dialect.name: dialect}) if dialect is not None else None
    if words is None:
        return {"may_answer": [], "takes": []}
    takes = [name for name in ("conditions", "modifications") if name in words[1].field_map]
    return {"may_answer": answerers(approval.request, words, members), "takes": takes}


async def _asked_with(bus: Bus, desk: CheckPolicy, id_: str, sender: str) -> Facts:
    """The request's message: its sequence number and content."""
    story = _last(
        [history for history in await bus.why(id_) if history.message.sender == sender and not history.message.refused]
    )
    if story is None:
        return {"seq": None, "says": None}
    dialect, _ = kind_of(story.message, desk)
    tree = read_tree(story.message, desk)
    own = tree.get(dialect.payload) if dialect is not None and dialect.payload and isinstance(tree, dict) else tree
    return {"seq": story.message.seq, "says": own}


def _last(stories: list[MessageHistory]) -> MessageHistory | None:
    return stories[-1] if stories else None


# --- escalations ------------------------------------------------------------------------------------------------------


async def escalations_facts(bus: Bus, desk: CheckPolicy) -> list[Facts]:
    """What was handed up and waits, oldest first, with whom an answer goes to."""
    escalations = await bus.escalations()
    return [
        {
            **escalation._asdict(),
            "with": escalation.now.to,
            "step": escalation.now.id,
            "climbs_at": escalation.now.due_at
            if escalation.now.due_at is not None and not waits_for_ever(escalation.now.due_at)
            else None,
            "answer_to": await _whom(bus, escalation),
            **await _asked_with(bus, desk, escalation.now.id, TELEX if len(escalation.rungs) > 1 else escalation.by),
        }
        for escalation in escalations[:SHOWN_MAX]
    ]


async def _whom(bus: Bus, matter: Escalation) -> str | None:
    """Who waits for the answer. What the bus itself raised goes to whoever spoke last before that."""
    if matter.by != TELEX:
        return matter.by
    if not matter.correlation:
        return None
    spoke = [history.message for history in await bus.trace(matter.correlation) if history.message.at <= matter.at]
    others = [message.sender for message in spoke if message.sender != TELEX and not message.refused]
    return others[-1] if others else None


# --- contracts --------------------------------------------------------------------------------------------------------


async def contracts_facts(bus: Bus, refusals: RefusalStats) -> Facts:
    """The plans that have a contract, the open ones first, and where somebody would have gone beyond one."""
    state: dict[str, Plan] = await bus.work_state("plan")
    plans = sorted(
        (plan for plan in state.values() if plan.revisions), key=lambda plan: plan.revisions[-1].at, reverse=True
    )
    ordered = sorted(plans, key=lambda plan: not plan.is_open)
    return {"plans": [_plan(plan) for plan in ordered[:SHOWN_MAX]], "outside": refusals.outside()[:SHOWN_MAX]}


def _plan(plan: Plan) -> Facts:
    last = plan.revisions[-1]
    return {
        **last.words._asdict(),
        "id": plan.id,
        "revision": last.number,
        "by": last.by,
        "at": last.at,
        "seq": last.seq,
        "to": plan.to,
        "open": plan.is_open,
        "complete": plan.is_complete,
        "closed": plan.closed,
        "tasks": [{"name": task, "done": plan.done.get(task)} for task in last.words.tasks],
        "spent": plan.spent,
        "granted": plan.granted,
        "lifted": plan.lifted,
        "grants": plan.grants,
        "asks": [{"id": id_, **widening_request._asdict()} for id_, widening_request in plan.asks.items()],
        "approved": plan.approved,
        "cycle": plan.cycle,
    }


# --- shutdown ---------------------------------------------------------------------------------------------------------


async def shutdown_facts(bus: Bus) -> Facts:
    """Who was asked to stop and where each one stands, and who might ask."""
    presences = await bus.roster()
    state = await bus.work_state(TOPIC)
    shutdown_state: ShutdownState = state.get(TOPIC, NO_SHUTDOWNS)
    members = [presence.member for presence in presences if not presence.member.name.startswith(ONE_OF_ROLE)]
    agents = [*in_progress(shutdown_state, roster_of(members))]
    waiting = {presence.member.name: presence.waiting + presence.leased for presence in presences}
    return {
        "under_way": any(member_shutdown.state in UNSETTLED for member_shutdown in agents),
        "calls": [_call(shutdown_request) for shutdown_request in reversed(shutdown_state.calls[-CALLS_MAX:])],
        "agents": [_standing(member_shutdown, waiting) for member_shutdown in agents],
        "states": STATES,
        "here": [{"name": presence.member.name, "role": presence.member.role} for presence in _here(presences)],
    }


def _here(presences: Iterable[Presence]) -> list[Presence]:
    return [presence for presence in presences if presence.state in ("here", "silent")]


def _call(call: Any) -> Facts:
    return {name: value for name, value in call._asdict().items() if name != "answers"} | {"answers": len(call.answers)}


def _standing(member_shutdown: MemberShutdown, waiting: dict[str, int]) -> Facts:
    return {
        "name": member_shutdown.member.name,
        "role": member_shutdown.member.role,
        "state": member_shutdown.state,
        "says": STATES[member_shutdown.state],
        "asked_at": member_shutdown.call.at if member_shutdown.call is not None else None,
        "asked_by": member_shutdown.call.by if member_shutdown.call is not None else None,
        "answered_at": member_shutdown.answer.at if member_shutdown.answer is not None else None,
        "status": member_shutdown.answer.status if member_shutdown.answer is not None else None,
        "pending": member_shutdown.answer.pending if member_shutdown.answer is not None else None,
        "waiting": waiting.get(member_shutdown.member.name, 0),
    }


# --- dead letters -----------------------------------------------------------------------------------------------------


async def dead_facts(bus: Bus) -> list[Facts]:
    """What was given up on, newest first, with what its reader said the last time."""
    found = (await within_bytes(lambda limit: bus.dead_letters(limit=limit), SHOWN_MAX)).found
    return [
        {
            "delivery": delivery,
            "message": {name: value for name, value in message._asdict().items() if name not in ("raw", "digest")},
            "gist": text_of(message.raw)[0][:400],
            "reasons": await _reasons(bus, message.id, delivery.seq),
        }
        for delivery, message in found
    ]


async def _reasons(bus: Bus, id_: str, delivery: int) -> list[Facts]:
    from telex.model.event import detail_of

    events = [event for story in await bus.why(id_) for event in story.events if event.delivery == delivery]
    return [
        {"at": event.at, "kind": event.kind, "agent": event.agent, "reason": detail_of(event).get("reason")}
        for event in events
        if event.kind in ("nacked", "lease-expired", "dead", "expired", "retried")
    ]

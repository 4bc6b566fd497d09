"""What waits for a person, what was agreed, and who is stopping? The matters of the work, as the page shows them."""

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
from telex.validation.check import Desk
from telex.work.approvals import Approval, answerers, answering
from telex.work.shutdown_progress import in_progress

SHOWN_MAX = 200  # matters of one kind; a person who is asked more is not helped by a longer list
CALLS_MAX = 5
Facts = dict[str, Any]

# --- approvals --------------------------------------------------------------------------------------------------------


async def approvals_facts(bus: Bus, desk: Desk, now: float) -> list[Facts]:
    """The requests that wait, the most urgent first: what each asks, until when, and who may answer."""
    book: dict[str, Approval] = await bus.book("approval")
    waiting = [one for one in book.values() if one.waits]
    seconds = desk.limits.request_seconds
    rows = sorted((_deadline(one, seconds), one.request.at, one.request.id, one) for one in waiting)
    members = [one.member for one in await bus.roster()] if rows else []
    return [await _approval(bus, desk, one, deadline, now, members) for deadline, _, _, one in rows[:SHOWN_MAX]]


def _deadline(approval: Approval, seconds: float) -> float:
    """As the request says, or as long as any answer may take."""
    own, at = approval.request.deadline, approval.request.at
    return own if own is not None and own > at else at + seconds


async def _approval(
    bus: Bus, desk: Desk, approval: Approval, deadline: float, now: float, members: list[Member]
) -> Facts:
    request = approval.request
    dialect = next((one for one in desk.dialects if one.name == request.dialect), None)
    asks = await _asked_with(bus, desk, request.id, request.by)
    return {
        **request._asdict(),
        "deadline": deadline,
        "overdue": deadline <= now,
        **_answering(approval, dialect, members),
        **asks,
    }


def _answering(approval: Approval, dialect: Dialect | None, members: list[Member]) -> Facts:
    """Who may answer, and what an answer in this dialect has a place for."""
    words = answering(approval.request, {dialect.name: dialect}) if dialect is not None else None
    if words is None:
        return {"may_answer": [], "takes": []}
    names = words[1].deed.names if words[1].deed is not None else {}
    takes = [name for name in ("conditions", "modifications") if name in names]
    return {"may_answer": answerers(approval.request, words, members), "takes": takes}


async def _asked_with(bus: Bus, desk: Desk, id_: str, sender: str) -> Facts:
    """The message itself: its number, and what it says in its own fields."""
    story = _last([one for one in await bus.why(id_) if one.message.sender == sender and not one.message.refused])
    if story is None:
        return {"seq": None, "says": None}
    dialect, _ = kind_of(story.message, desk)
    tree = read_tree(story.message, desk)
    own = tree.get(dialect.payload) if dialect is not None and dialect.payload and isinstance(tree, dict) else tree
    return {"seq": story.message.seq, "says": own}


def _last(stories: list[MessageHistory]) -> MessageHistory | None:
    return stories[-1] if stories else None


# --- escalations ------------------------------------------------------------------------------------------------------


async def escalations_facts(bus: Bus, desk: Desk) -> list[Facts]:
    """What was handed up and waits, oldest first, with whom an answer goes to."""
    found = await bus.escalations()
    return [
        {
            **one._asdict(),
            "with": one.now.to,
            "step": one.now.id,
            "climbs_at": one.now.due_at if one.now.due_at is not None and not waits_for_ever(one.now.due_at) else None,
            "answer_to": await _whom(bus, one),
            **await _asked_with(bus, desk, one.now.id, TELEX if len(one.rungs) > 1 else one.by),
        }
        for one in found[:SHOWN_MAX]
    ]


async def _whom(bus: Bus, matter: Escalation) -> str | None:
    """Who waits for the answer. What the bus itself raised goes to whoever spoke last before that."""
    if matter.by != TELEX:
        return matter.by
    if not matter.correlation:
        return None
    spoke = [one.message for one in await bus.trace(matter.correlation) if one.message.at <= matter.at]
    others = [one.sender for one in spoke if one.sender != TELEX and not one.refused]
    return others[-1] if others else None


# --- contracts --------------------------------------------------------------------------------------------------------


async def contracts_facts(bus: Bus, refusals: RefusalStats) -> Facts:
    """The plans that have a contract, the open ones first, and where somebody would have gone beyond one."""
    book: dict[str, Plan] = await bus.book("plan")
    plans = sorted((one for one in book.values() if one.revisions), key=lambda one: one.revisions[-1].at, reverse=True)
    ordered = sorted(plans, key=lambda one: not one.is_open)
    return {"plans": [_plan(one) for one in ordered[:SHOWN_MAX]], "outside": refusals.outside()[:SHOWN_MAX]}


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
        "tasks": [{"name": task, "done": plan.done.get(task)} for task in last.words.tasks],
        "spent": plan.spent,
        "granted": plan.granted,
        "lifted": plan.lifted,
        "grants": plan.grants,
        "asks": [{"id": id_, **ask._asdict()} for id_, ask in plan.asks.items()],
        "approved": plan.approved,
        "cycle": plan.cycle,
    }


# --- shutdown ---------------------------------------------------------------------------------------------------------


async def shutdown_facts(bus: Bus) -> Facts:
    """Who was asked to stop and where each one stands, and who might ask."""
    presences = await bus.roster()
    book = await bus.book(TOPIC)
    known: ShutdownState = book.get(TOPIC, NO_SHUTDOWNS)
    members = [one.member for one in presences if not one.member.name.startswith(ONE_OF_ROLE)]
    agents = [*in_progress(known, roster_of(members))]
    waiting = {one.member.name: one.waiting + one.leased for one in presences}
    return {
        "under_way": any(one.state in UNSETTLED for one in agents),
        "calls": [_call(one) for one in reversed(known.calls[-CALLS_MAX:])],
        "agents": [_standing(one, waiting) for one in agents],
        "states": STATES,
        "here": [{"name": one.member.name, "role": one.member.role} for one in _here(presences)],
    }


def _here(presences: Iterable[Presence]) -> list[Presence]:
    return [one for one in presences if one.state in ("here", "silent")]


def _call(call: Any) -> Facts:
    return {name: value for name, value in call._asdict().items() if name != "answers"} | {"answers": len(call.answers)}


def _standing(one: MemberShutdown, waiting: dict[str, int]) -> Facts:
    return {
        "name": one.member.name,
        "role": one.member.role,
        "state": one.state,
        "says": STATES[one.state],
        "asked_at": one.call.at if one.call is not None else None,
        "asked_by": one.call.by if one.call is not None else None,
        "answered_at": one.answer.at if one.answer is not None else None,
        "status": one.answer.status if one.answer is not None else None,
        "pending": one.answer.pending if one.answer is not None else None,
        "waiting": waiting.get(one.member.name, 0),
    }


# --- dead letters -----------------------------------------------------------------------------------------------------


async def dead_facts(bus: Bus) -> list[Facts]:
    """What was given up on, newest first, with what its reader said the last time."""
    found = (await within_bytes(lambda most: bus.dead_letters(most=most), SHOWN_MAX)).found
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
        {"at": one.at, "kind": one.kind, "agent": one.agent, "reason": detail_of(one).get("reason")}
        for one in events
        if one.kind in ("failed", "lapsed", "dead", "expired", "retried")
    ]

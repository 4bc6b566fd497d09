"""Work state for the page: shutdowns."""

from collections import Counter
from typing import Any

from telex.model.roster import HUMAN, LEADS, ONE_OF_ROLE, Member, roster_of
from telex.model.work import (
    NO_SHUTDOWNS,
    STATES,
    TOPIC,
    UNSETTLED,
    MemberShutdown,
    ShutdownRequest,
    ShutdownState,
)
from telex.ports.bus import Bus
from telex.work.shutdown import in_progress

SHOWN_MAX = 200  # rows of one kind
CALLS_MAX = 5
Facts = dict[str, Any]

# --- shutdown ---------------------------------------------------------------------------------------------------------


async def shutdown_facts(bus: Bus, now: float) -> Facts:
    """Shutdown requests, the state of each agent, and agents that could request one."""
    presences = await bus.roster()
    shutdown_state: ShutdownState = (await bus.work_state(TOPIC)).get(TOPIC, NO_SHUTDOWNS)
    members = [presence.member for presence in presences if not presence.member.name.startswith(ONE_OF_ROLE)]
    agents = [*in_progress(shutdown_state, roster_of(members))]
    waiting = {presence.member.name: presence.waiting + presence.leased for presence in presences}
    here = [presence.member for presence in presences if presence.state in ("here", "silent")]
    return {
        "now": now,
        "under_way": any(member_shutdown.state in UNSETTLED for member_shutdown in agents),
        "counts": Counter(member_shutdown.state for member_shutdown in agents),
        "agents_all": len(agents),
        "calls": [_call_facts(call) for call in reversed(shutdown_state.calls[-CALLS_MAX:])],
        "agents": [_agent(one, waiting) for one in sorted(agents, key=_shutdown_rank)[:SHOWN_MAX]],
        "askers": _askers(here),
        "would_stop": sum(member.name != HUMAN for member in here),
    }


def _shutdown_rank(member_shutdown: MemberShutdown) -> tuple[bool, str]:
    return member_shutdown.state not in UNSETTLED, member_shutdown.member.name


def _call_facts(call: ShutdownRequest) -> Facts:
    return {name: getattr(call, name) for name in ("id", "by", "at", "reason")} | {
        "asked": len(call.asked),
        "answers": len(call.answers),
    }


def _askers(here: list[Member]) -> list[Facts]:
    """Agents in whose name a shutdown can be requested, leads first."""
    agents = sorted(
        (member for member in here if member.name != HUMAN), key=lambda member: (member.role not in LEADS, member.name)
    )
    return [{"name": member.name, "role": member.role} for member in agents[:SHOWN_MAX]]


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

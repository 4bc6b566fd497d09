"""How an agent can be woken: its session on the hub's machine, the ways into it, and what became of earlier wakes."""

import shlex
from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any

from telex.delivery.wakes import NOT_SEEN, STAGES, WakeState, fold
from telex.model.message import Event, detail_of
from telex.surfaces.clients.sessions import ENDED, Session, is_live, reach_of_session
from telex.surfaces.clients.wakes import WAYS

WAY_NAMES = {  # as a person calls them
    "claude-socket": "messaging socket",
    "codex-socket": "control socket",
    "codex-queue": "command codex queue",
    "tmux-keys": "keys typed into tmux",
    "claude-hook": "hook that waits",
}

Facts = dict[str, Any]


def session_of(sessions: Iterable[Session], agent: str) -> tuple[Session, bool] | None:
    """The latest session of this name, a live one before all others, and whether it is live."""
    own = [(session, is_live(session)) for session in sessions if session.agent == agent]
    return max(own, key=lambda pair: (pair[1], pair[0].seen_at), default=None)


def clients_of(sessions: Iterable[Session]) -> dict[str, str]:
    """The client of each agent, by its latest session."""
    latest = sorted(sessions, key=lambda session: (session.state != ENDED, session.seen_at))
    return {session.agent: session.client for session in latest}


def session_facts(session: Session, *, live: bool) -> Facts:
    """Without its socket, token and folder."""
    return {
        "client": session.client,
        "id": session.id,
        "state": session.state if live else ENDED,
        "live": live,
        "started_at": session.started_at,
        "seen_at": session.seen_at,
        "reach": reach_of_session(session) if live else None,
    }


def join_command(agent: str, role: str) -> str:
    """How a person adds an agent that left or was shut down."""
    return f"telex team join {shlex.quote(agent)} --role {shlex.quote(role)} --as human"


def wake_facts(agent: str, session: Session | None, events: Sequence[Event], at: float) -> Facts:
    """`session`: a live one. `events`: of the agent's wakes, in their order."""
    past = [event for event in events if event.at <= at and event.kind in STAGES]
    state = reduce(fold, past, WakeState())
    results = _results(past)
    usable = [way.name for way in WAYS if session is not None and way.fits(session)]
    names = dict.fromkeys((*usable, *results))
    return {
        "stage": state.stage,
        "since": state.since or None,
        "failed": state.failed or None,
        "ways": [
            {"way": name, "words": WAY_NAMES.get(name, name), "usable": name in usable}
            | results.get(name, {"works": None, "last_at": None, "seconds": None, "error": None})
            for name in names
        ],
        "by_hand": f"telex receive --as {shlex.quote(agent)}",
    }


def _results(events: Iterable[Event]) -> dict[str, Facts]:
    """The last result of each way: how long the agent took to look, or why the delivery failed."""
    results: dict[str, Facts] = {}
    delivered: tuple[str, float] | None = None
    for event in events:
        detail = detail_of(event)
        way = str(detail.get("way") or "")
        match event.kind:
            case "wake-delivered":
                delivered = way, event.at
                results[way] = _result(event.at, works=True)
            case "wake-due" if way and delivered is not None:
                results[way] = _result(event.at, works=False, error=str(detail.get("reason") or "it failed"))
            case "wake-seen" if delivered is not None:
                results[delivered[0]]["seconds"] = event.at - delivered[1]
                delivered = None
            case "wake-withdrawn" if delivered is not None:
                if detail.get("reason") == NOT_SEEN:
                    results[delivered[0]] |= {"works": False, "error": NOT_SEEN}
                delivered = None
            case _:
                pass
    return results


def _result(at: float, *, works: bool, error: str | None = None) -> Facts:
    return {"works": works, "last_at": at, "seconds": None, "error": error}

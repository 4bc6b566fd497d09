"""Agents for the page, at any moment: a row for each in the list, and the facts of one agent's page.

All of it is folded from the log, so looking at an agent does not mark it as seen.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from telex.model.named_tuple import NamedTuple
from telex.model.roster import HUMAN, ONE_OF_ROLE
from telex.model.work import Escalation
from telex.ports.bus import Presence
from telex.surfaces.page.find import GONE
from telex.surfaces.page.history import AnswerWait, Attempt, History, Lane, PageMessage
from telex.surfaces.page.rows import recipient_label, row
from telex.surfaces.page.search import folded
from telex.surfaces.page.timeline import holders_of

HOUR = 3_600.0
ROWS_MAX = 20  # of an inbox
SAID_MAX = 6
HELD_MAX = 5
WAITS_MAX = 10
WHOM_MAX = 5
FILES_MAX = 20
TURN_AGENTS = 20  # a few milliseconds of work; then other requests run

Facts = dict[str, Any]
Holders = dict[int, str]  # who has to answer an escalation now, by its first message


class PageAgent(NamedTuple):
    """A member of the team at a moment."""

    name: str
    role: str
    state: str  # here, silent, left, … as in the roster
    seen_at: float | None = None  # also by what is not folded; None in the past

    def active_at(self, lane: Lane, at: float) -> float | None:
        times = [time for time in (lane.active_at(at), self.seen_at) if time is not None]
        return max(times, default=None)


class Moment(NamedTuple):
    at: float
    is_past: bool
    silent_seconds: float  # without activity, an agent is shown as silent


# --- members ----------------------------------------------------------------------------------------------------------


def agents_at(roster: Iterable[Presence], history: History, moment: Moment) -> list[PageAgent]:
    """All members of the roster then, with the state of that moment."""
    members = [
        (presence.member, state)
        for presence in roster
        if not presence.member.name.startswith(ONE_OF_ROLE)
        if (state := _state_at(presence, history, moment)) is not None
    ]
    return [
        PageAgent(member.name, member.role, state, None if moment.is_past else member.seen_at)
        for member, state in members
    ]


def roles_of(agents: Iterable[PageAgent], names: Iterable[str]) -> dict[str, str]:
    """The role of each of these names, as far as they are agents: it gives a name its colour."""
    wanted = set(names)
    return {agent.name: agent.role for agent in agents if agent.name in wanted}


def roles_by_name(roster: Iterable[Presence]) -> dict[str, str]:
    """The role of each member that is not named after its role: it gives a name its colour on every view."""
    members = (presence.member for presence in roster)
    return {member.name: member.role for member in members if member.role != member.name}


def _state_at(presence: Presence, history: History, moment: Moment) -> str | None:
    """None: it had not joined yet. The roster knows only the last time that a member joined and left."""
    if not moment.is_past:
        return presence.state
    member, lane = presence.member, history.lanes.get(presence.member.name)
    active_at = lane.active_at(moment.at) if lane is not None else None
    if active_at is None and (member.joined_at is None or member.joined_at > moment.at):
        return None
    if member.left_at is not None and member.left_at <= moment.at:
        return "left"
    if member.stopped_at is not None and member.stopped_at <= moment.at:
        return "shut down"
    times = [time for time in (active_at, member.joined_at) if time is not None and time <= moment.at]
    return "here" if moment.at - max(times) <= moment.silent_seconds else "silent"


# --- list -------------------------------------------------------------------------------------------------------------


class AgentsQuery(NamedTuple):
    sort: str = "attention"  # a key of SORTS; with - in front, in reverse
    show: str = "team"  # a key of SHOWN
    filter: str = ""  # words in the name, role, client or state
    offset: int = 0
    limit: int = 60


STATE_ORDER = {state: place for place, state in enumerate(("here", "silent", "not seen yet", *GONE))}
SORTS: dict[str, Callable[[Facts], Any]] = {  # the order of the first click on a column
    "attention": lambda agent: (-agent["weight"], -(agent["active_at"] or 0.0)),
    "name": lambda agent: (),
    "role": lambda agent: agent["role"],
    "state": lambda agent: STATE_ORDER.get(agent["state"], len(STATE_ORDER)),
    "doing": lambda agent: agent["doing"]["since"] if agent["doing"] else float("inf"),  # the longest first
    "waits": lambda agent: agent["waits"]["since"] if agent["waits"] else float("inf"),
    "unread": lambda agent: -agent["unread"],
    "refused": lambda agent: -agent["refused"],
    "sent": lambda agent: -agent["sent"],
    "active": lambda agent: -(agent["active_at"] or 0.0),
}
SHOWN: dict[str, Callable[[Facts], bool]] = {
    "team": lambda agent: agent["state"] not in GONE,
    "working": lambda agent: agent["doing"] is not None,
    "waiting": lambda agent: agent["waits"] is not None,
    "refused": lambda agent: agent["refused"] > 0,
    "silent": lambda agent: agent["state"] == "silent",
    "gone": lambda agent: agent["state"] in GONE,
}


async def agent_rows(
    history: History, agents: Sequence[PageAgent], escalations: Sequence[Escalation], at: float
) -> list[Facts]:
    """A row for each, in turns, so that other requests are answered."""
    holders, rows = holders_of(history, escalations, at), list[Facts]()
    for number, agent in enumerate(agents, 1):
        rows.append(_agent_row(history, agent, holders, at))
        if number % TURN_AGENTS == 0:
            await asyncio.sleep(0)
    return rows


def _agent_row(history: History, agent: PageAgent, holders: Holders, at: float) -> Facts:
    lane = history.lanes.get(agent.name) or Lane()
    held, waits, recent = lane.held_at(at), _waits(lane, holders, at), lane.sent_in(at - HOUR, at)
    refused = sum(message.refused for message in recent)
    for_person = [wait for wait in waits if HUMAN in wait.whom]
    return {
        "name": agent.name,
        "role": agent.role,
        "state": agent.state,
        "doing": _doing(held),
        "waits": _wait((for_person or waits)[0]) | {"more": len(waits) - 1} if waits else None,
        "unread": len(lane.unread_at(at)),
        "refused": refused,
        "sent": len(recent) - refused,
        "active_at": agent.active_at(lane, at),
        "weight": 8 * bool(for_person) + 4 * bool(waits) + 2 * bool(refused) + bool(held),
    }


def agents_page(rows: Sequence[Facts], query: AgentsQuery) -> Facts:
    """One page of the list, with the counts of the whole."""
    words = folded(query.filter).split()
    matching = [agent for agent in rows if _has_words(agent, words)]
    shown = sorted(filter(SHOWN[query.show], matching), key=lambda agent: folded(agent["name"]))
    shown.sort(key=SORTS[query.sort.removeprefix("-")])
    if query.sort.startswith("-"):
        shown.reverse()
    end = query.offset + query.limit
    return {
        "agents": shown[query.offset : end],
        "matched": len(shown),
        "roles": _roles_in(rows, shown[query.offset : end]),
        "cursor": str(end) if end < len(shown) else None,
        "counts": {name: sum(map(is_shown, matching)) for name, is_shown in SHOWN.items()},
        "total": len(rows),
    }


def _roles_in(rows: Sequence[Facts], shown: Sequence[Facts]) -> dict[str, str]:
    """Roles of the agents that the shown ones wait for."""
    names = {name for row in shown if row["waits"] for name in row["waits"]["whom"]}
    return {row["name"]: row["role"] for row in rows if row["name"] in names}


def _has_words(agent: Facts, words: Sequence[str]) -> bool:
    text = folded(f"{agent['name']} {agent['role']} {agent['client'] or ''} {agent['state']}")
    return all(word in text for word in words)


# --- one agent --------------------------------------------------------------------------------------------------------


def agent_facts(history: History, agent: PageAgent, escalations: Sequence[Escalation], at: float) -> Facts:
    lane, shared = history.lane(agent.name), history.lane(ONE_OF_ROLE + agent.role)
    held, waits = lane.held_at(at), _waits(lane, holders_of(history, escalations, at), at)
    return {
        "name": agent.name,
        "role": agent.role,
        "state": agent.state,
        "active_at": agent.active_at(lane, at),
        "doing": _doing(held),
        "waits": [_wait(wait) for wait in reversed(waits)][:WAITS_MAX],
        "waits_more": max(0, len(waits) - WAITS_MAX),
        "holds": _holds(lane, held, at),
        "hour": _last_hour(history, lane, at),
        "inbox": _inbox(lane, shared, held, at),
        **_conversation_rows(lane, at),
    }


def names_in(facts: Facts) -> Iterator[str]:
    """Names that the facts of an agent mention."""
    for message in (*facts["inbox"]["rows"], *facts["said"], *facts["heard"]):
        yield message["from"]
        yield message["to_label"]
    for wait in facts["waits"]:
        yield from wait["whom"]


def _doing(held: Sequence[tuple[PageMessage, Attempt]]) -> Facts | None:
    """The message that it took last of those that it has in hand."""
    if not held:
        return None
    message, attempt = held[-1]
    return _link(message) | {
        "since": attempt.taken,
        "attempt": attempt.number,
        "from": message.sender,
        "from_role": message.role,
        "more": len(held) - 1,
    }


def _waits(lane: Lane, holders: Holders, at: float) -> list[AnswerWait]:
    """An escalation waits for the agent to which it has climbed."""
    return [
        wait._replace(whom=(holders[wait.message.seq],)) if wait.message.seq in holders else wait
        for wait in lane.waits_at(at)
    ]


def _wait(wait: AnswerWait) -> Facts:
    labels = [recipient_label(name) for name in wait.whom]
    return _link(wait.message) | {
        "why": wait.why,
        "since": wait.since,
        "whom": labels[:WHOM_MAX],
        "whom_more": max(0, len(labels) - WHOM_MAX),
        "for_person": HUMAN in wait.whom,
    }


def _link(message: PageMessage) -> Facts:
    return {"message": message.seq, "gist": message.gist, "kind": message.kind, "conversation": message.conversation}


def _holds(lane: Lane, held: Sequence[tuple[PageMessage, Attempt]], at: float) -> Facts:
    """Messages in hand, and the files that it has reported to have changed for them."""
    conversations = {message.conversation for message, _ in held if message.conversation}
    reports = (one.report for one in reversed(lane.sent) if one.at <= at and one.conversation in conversations)
    files = [file for report in reports if report is not None for file in report.files]
    return {
        "messages": len(held),
        "rows": [_link(message) | {"since": attempt.taken} for message, attempt in reversed(held)][:HELD_MAX],
        "files": [*dict.fromkeys(files)][:FILES_MAX],
    }


def _last_hour(history: History, lane: Lane, at: float) -> Facts:
    since = max(at - HOUR, history.begins_at, _first_act(lane, at))
    recent = lane.sent_in(at - HOUR, at)
    received = {message.seq for delivery, message in lane.inbox if at - HOUR <= delivery.sent <= at}
    received |= {message.seq for message, attempt in lane.bars_in(at - HOUR, at) if attempt.taken >= at - HOUR}
    tokens = [one.report.tokens for one in recent if one.report is not None and one.report.tokens is not None]
    return {
        "since": since,
        "busy": _busy_seconds(lane, since, at) / (at - since) if at > since else 0.0,
        "sent": sum(not message.refused for message in recent),
        "refused": sum(message.refused for message in recent),
        "received": len(received),
        "tokens": sum(tokens) if tokens else None,  # None: it has reported none
    }


def _first_act(lane: Lane, at: float) -> float:
    times = [message.at for message in lane.sent[:1]] + [taken for taken, _, _ in lane.bars[:1]]
    return min(times, default=at)


def _busy_seconds(lane: Lane, since: float, until: float) -> float:
    """How long it had at least one message in hand."""
    busy, end = 0.0, since
    for _, attempt in lane.bars_in(since, until):
        begin, done = max(attempt.taken, end), min(attempt.done, until)
        if done > begin:
            busy, end = busy + done - begin, done
    return busy


def _inbox(lane: Lane, shared: Lane, held: Sequence[tuple[PageMessage, Attempt]], at: float) -> Facts:
    """Messages not taken, the oldest first, then those in hand."""
    own, of_role = lane.unread_at(at), shared.unread_at(at)
    waiting = sorted((*own, *of_role), key=lambda pair: (pair[0].sent, pair[1].seq))
    messages = [message for _, message in waiting[:ROWS_MAX]] + [message for message, _ in reversed(held)]
    return {
        "unread": len(own),
        "shared": len(of_role),  # in the inbox that its role has in common
        "in_hand": len(held),
        "rows": [row(message, at) for message in messages[:ROWS_MAX]],
    }


def _conversation_rows(lane: Lane, at: float) -> Facts:
    """The last messages that it sent and received, with filters of the feed that show the rest."""
    sent = lane.sent_in(0.0, at)
    heard = dict.fromkeys(message for message, _ in reversed([*lane.bars_in(0.0, at)]))
    return {
        "said": [row(message, at) for message in sent[: -SAID_MAX - 1 : -1]],
        "heard": [row(message, at) for message in [*heard][:SAID_MAX]],
    }

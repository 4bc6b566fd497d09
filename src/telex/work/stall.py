"""Analysis of stalled work, with the command that would resolve each case.

From who waits for whom: cycles, approvals that no member may give, silent agents with work in hand, and the agent that
most others wait for.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from telex.model.roster import HUMAN, ONE_OF_ROLE, Roster
from telex.model.stall import Deadlock, Remedy, Stall, Wait

STEPS_MAX = 20_000  # of the search for circles; a team that is tied up beyond that gets one for each tangle
WAITERS_MIN = 2  # one that a single other waits for is nothing to point at

Graph = Mapping[str, frozenset[str]]


class PendingApproval(NamedTuple):
    """An approval that waits: who asked, and which agents here may give it."""

    wait: Wait
    givers: tuple[str, ...]
    roles: tuple[str, ...]  # that may give it, here or not


class IdleConversation(NamedTuple):
    """An agent that did nothing for long."""

    name: str
    since: float | None  # None: it has never been seen
    in_hand: tuple[str, ...]  # ids of what it has leased
    waiting: int
    waits: tuple[Wait, ...] = ()


def stalls(
    waits: Iterable[Wait], approvals: Sequence[PendingApproval], silent: Sequence[IdleConversation], now: float
) -> Stall:
    every = tuple(sorted(waits, key=lambda wait: (wait.since, wait)))
    graph = graph_of(every)
    knots = [_cycle(circle, every) for circle in circles(graph)]
    knots += [_nobody(pending_approval) for pending_approval in approvals if not pending_approval.givers]
    knots += [
        _silent(idle_conversation, now)
        for idle_conversation in silent
        if idle_conversation.in_hand or idle_conversation.waiting
    ]
    return Stall(now, every, (*knots, *_everybody(graph, every)))


def graph_of(waits: Iterable[Wait]) -> Graph:
    found: dict[str, set[str]] = {}
    for wait in waits:
        found.setdefault(wait.who, set()).add(wait.whom)
        found.setdefault(wait.whom, set())
    return {who: frozenset(whom) for who, whom in found.items()}


def single(inbox: str, roster: Roster) -> str:
    """The one agent that an inbox means: for a role that just one has, that one."""
    role = inbox.removeprefix(ONE_OF_ROLE)
    if not inbox.startswith(ONE_OF_ROLE) and (inbox in roster.members or inbox not in roster.default_roles):
        return inbox
    members = roster.of_role(role)
    return members[0].name if len(members) == 1 else inbox


# --- circles ---------------------------------------------------------------------------------------------------------


def circles(graph: Graph) -> list[tuple[str, ...]]:
    """Every circle, each once and from its first name on; the shortest first.

    There may be more than anybody could read: when the search has taken too many steps, one for each tangle is told.
    """
    found: list[tuple[str, ...]] = []
    left = STEPS_MAX
    for tangle in _tangles(graph):
        inside, before = {one: sorted(graph[one] & tangle) for one in tangle}, len(found)
        for start in sorted(tangle):
            left = _from(start, inside, found, left)
        if len(found) == before:
            found.append(_any_circle(min(tangle), inside))
    return sorted(found, key=lambda circle: (len(circle), circle))


def _from(start: str, inside: Mapping[str, Sequence[str]], found: list[tuple[str, ...]], left: int) -> int:
    """Circles in which nobody comes before `start`. How many steps are left."""
    path, ways = [start], [iter(inside[start])]
    while path and left > 0:
        left -= 1
        step = next(ways[-1], None)
        if step is None:
            path.pop()
            ways.pop()
        elif step == start:
            found.append(tuple(path))
        elif step > start and step not in path:
            path.append(step)
            ways.append(iter(inside[step]))
    return left


def _any_circle(start: str, inside: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    path = [start]
    while (step := inside[path[-1]][0]) not in path:
        path.append(step)
    circle = path[path.index(step) :]
    first = circle.index(min(circle))
    return (*circle[first:], *circle[:first])


def _tangles(graph: Graph) -> list[frozenset[str]]:
    """Sets of those who can each be reached from every other, where there is a circle at all."""
    behind = reached(graph)
    tangles = {
        frozenset({other for other in behind[one] if one in behind[other]}) for one in graph if one in behind[one]
    }
    return sorted(tangles, key=min)


def reached(graph: Graph) -> dict[str, frozenset[str]]:
    """For each, whom it waits for, directly or through others."""
    return {one: _reached_from(one, graph) for one in graph}


def _reached_from(start: str, graph: Graph) -> frozenset[str]:
    seen: set[str] = set()
    edge = set(graph[start])
    while edge:
        seen |= edge
        edge = {further for one in edge for further in graph[one]} - seen
    return frozenset(seen)


# --- knots -----------------------------------------------------------------------------------------------------------


def _cycle(circle: tuple[str, ...], waits: Sequence[Wait]) -> Deadlock:
    pairs = zip(circle, (*circle[1:], circle[0]), strict=True)
    along = [[wait for wait in waits if (wait.who, wait.whom) == pair] for pair in pairs]
    told = " → ".join((*circle, circle[0]))
    say = f"They wait for each other: {told}." if len(circle) > 1 else f"{circle[0]} waits for itself."
    # One who waits for another for several reasons waits on when one of them is gone.
    weakest = min(along, key=lambda same: (len(same), min(map(_ease, same))))
    return Deadlock("cycle", circle, tuple(wait for same in along for wait in same), say, _remedy_of(weakest))


def _ease(wait: Wait) -> tuple[int, float]:
    """Which wait is best undone: one that a person can end with a word, the oldest of those."""
    order = ("approval", "escalation", "answer", "blocker", "unread", "shutdown", "dependency")
    return order.index(wait.why), wait.since


def _nobody(pending_approval: PendingApproval) -> Deadlock:
    wait = pending_approval.wait
    able = " or ".join(pending_approval.roles) or "anybody asked"
    say = f"{wait.who} waits for an approval ({wait.about}) that only {able} or a person may give, and none is here."
    return Deadlock("no-approver", (wait.who,), (wait,), say, remedy_for(wait))


def _silent(idle_conversation: IdleConversation, now: float) -> Deadlock:
    has = [f"has {_so_many(len(idle_conversation.in_hand))} in hand"] if idle_conversation.in_hand else []
    has += [f"has {_so_many(idle_conversation.waiting)} waiting"] if idle_conversation.waiting else []
    since = (
        f"for {_span(now - idle_conversation.since)}" if idle_conversation.since is not None else "from the beginning"
    )
    say = f"{idle_conversation.name} has been silent {since} and {' and '.join(has)}."
    return Deadlock(
        "silent",
        (idle_conversation.name,),
        idle_conversation.waits,
        say,
        Remedy(f"telex team leave {operand(idle_conversation.name)}"),
    )


def _everybody(graph: Graph, waits: Sequence[Wait]) -> list[Deadlock]:
    """The one that most wait for. In a circle everybody is waited for alike, and that has been told."""
    behind = reached(graph)
    freely: dict[str, list[str]] = {one: [] for one, others in graph.items() if not others}
    for other in sorted(graph):
        for one in behind[other]:
            if one in freely:
                freely[one].append(other)
    most = max((len(others) for others in freely.values()), default=0)
    if most < WAITERS_MIN:
        return []
    return [
        _waited_for(one, freely[one], [wait for wait in waits if wait.whom == one])
        for one in sorted(freely)
        if len(freely[one]) == most
    ]


def _waited_for(one: str, waiters: Sequence[str], waits: Sequence[Wait]) -> Deadlock:
    say = f"{len(waiters)} wait for {one}, directly or through others: {', '.join(waiters)}."
    return Deadlock("bottleneck", (one,), tuple(waits), say, _remedy_of(waits))


# --- remedies --------------------------------------------------------------------------------------------------------


def _remedy_of(waits: Iterable[Wait]) -> Remedy:
    return remedy_for(min(waits, key=_ease))


def remedy_for(wait: Wait) -> Remedy:
    """What ends one wait, for a person to send."""
    if wait.remedy is not None:
        return wait.remedy
    if wait.why == "approval":
        return Remedy(f"telex approve --reason 'It was waited for' {operand(wait.about)}")
    if wait.why == "shutdown":
        return Remedy(f"telex team shutdown --as {quoted(wait.who)} --force")
    if wait.id is not None and wait.why in ("escalation", "answer", "blocker"):
        return Remedy(f"telex answer {operand(wait.id)} 'Go on without it: this is how'")
    words = f"{wait.who} waits for you: {wait.words or wait.about}.\n"
    return Remedy(f"telex send --as {HUMAN} --to {quoted(wait.whom)} -", words)


_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.,:/@+=")


def quoted(word: str) -> str:
    """As one word for the shell, whatever stands in it."""
    if word and _SAFE.issuperset(word):
        return word
    return "'" + word.replace("'", "'\"'\"'") + "'"


def operand(word: str) -> str:
    """The same where an option might stand: an id may begin like one."""
    return f"-- {quoted(word)}" if word.startswith("-") else quoted(word)


def _so_many(count: int) -> str:
    return f"{count} {'message' if count == 1 else 'messages'}"


def _span(seconds: float) -> str:
    minutes = int(seconds // 60)
    if minutes < 1:
        return f"{int(seconds)} s"
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h"

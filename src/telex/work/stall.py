"""Analysis of stalled work, with the command that would resolve each case.

From the graph of waits: cycles of agents that wait for each other, approvals that no member may give, messages that no
agent reads, and the agent that most others wait for. Unread messages alone are no wait: a note asks for nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from telex.model.named_tuple import NamedTuple
from telex.model.roster import HUMAN, ONE_OF_ROLE, Member, Roster
from telex.model.work import Deadlock, Remedy, Stall, Wait

WAITERS_MIN = 2  # of a bottleneck
NAMES_MAX = 12  # listed

Graph = Mapping[str, frozenset[str]]


class PendingApproval(NamedTuple):
    """An approval that waits: who asked, and which agents here may give it."""

    wait: Wait
    givers: tuple[str, ...]
    roles: tuple[str, ...]  # that may give it, here or not


class IdleInbox(NamedTuple):
    """An inbox with leased or waiting messages that no active agent reads."""

    inbox: str
    is_claimed: bool  # False: no agent with that name or role has joined
    say: str  # why it is not read, without capital letter and full stop
    leased: int
    waiting: int


def stalls(waits: Iterable[Wait], approvals: Sequence[PendingApproval], idle: Sequence[IdleInbox], now: float) -> Stall:
    every = tuple(sorted(waits, key=lambda wait: (wait.since, wait)))
    graph = graph_of(every)
    groups = components(graph)
    by_pair: dict[tuple[str, str], list[Wait]] = {}
    for wait in every:
        by_pair.setdefault((wait.who, wait.whom), []).append(wait)
    knots = [_cycle(group, graph, by_pair) for group in groups if len(group) > 1 or group[0] in graph[group[0]]]
    knots.sort(key=lambda knot: (len(knot.who), knot.who))
    knots += [_nobody(pending_approval) for pending_approval in approvals if not pending_approval.givers]
    knots += [_unread(inbox) for inbox in sorted(idle, key=lambda inbox: inbox.is_claimed)]
    return Stall(now, every, (*knots, *_most_waited_for(graph, groups, every)))


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


def idle_reason(inbox: str, roster: Roster, now: float, silent_seconds: float) -> tuple[bool, str] | None:
    """Why no agent reads an inbox, and whether one has claimed it. None: an agent or a person reads it."""
    role = inbox.removeprefix(ONE_OF_ROLE)
    readers = _readers(inbox, role, roster)
    if role == HUMAN or any(now - (member.seen_at or 0.0) <= silent_seconds for member in readers):
        return None
    if not readers:
        return False, f"no agent has the role {role}" if inbox != role else f"no agent has joined as {inbox}"
    names = ", ".join(member.name for member in readers[:NAMES_MAX])
    seen_at = max(member.seen_at or 0.0 for member in readers)
    return True, f"{names} {'has' if len(readers) == 1 else 'have'} been silent for {_span(now - seen_at)}"


def _readers(inbox: str, role: str, roster: Roster) -> list[Member]:
    """Members that read the inbox. One named like a role is read by that role until a member has that name."""
    own = roster.members.get(inbox)
    members = [own] if own is not None else [member for member in roster.members.values() if member.role == role]
    return [member for member in members if member.is_here and member.joined_at is not None]


# --- knots -----------------------------------------------------------------------------------------------------------


def components(graph: Graph) -> list[list[str]]:
    """Strongly connected components, each after those that it leads to (Tarjan's algorithm, without recursion)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    place: dict[str, int] = {}  # on the stack
    stack: list[str] = []
    found: list[list[str]] = []
    path: list[tuple[str, Iterator[str]]] = []

    def enter(name: str) -> None:
        index[name] = low[name] = len(index)
        place[name] = len(stack)
        stack.append(name)
        path.append((name, iter(sorted(graph[name]))))

    for root in sorted(graph):
        if root not in index:
            enter(root)
        while path:
            name, others = path[-1]
            for other in others:
                if other not in index:
                    enter(other)
                    break
                if other in place:
                    low[name] = min(low[name], index[other])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[name])
                if low[name] == index[name]:
                    found.append(stack[place[name] :])
                    del stack[place[name] :]
                    for member in found[-1]:
                        del place[member]
    return found


def circle_of(group: Sequence[str], graph: Graph) -> tuple[str, ...]:
    """The shortest circle through the first name of a component."""
    start, members = min(group), frozenset(group)
    before: dict[str, str] = {}
    queue = [start]
    for name in queue:
        for other in sorted(graph[name] & members):
            if other == start:
                circle = [name]
                while circle[-1] != start:
                    circle.append(before[circle[-1]])
                return tuple(reversed(circle))
            if other not in before:
                before[other] = name
                queue.append(other)
    raise AssertionError(f"{start} is in no circle")


def _cycle(group: Sequence[str], graph: Graph, by_pair: Mapping[tuple[str, str], Sequence[Wait]]) -> Deadlock:
    circle = circle_of(group, graph)
    along = [by_pair[pair] for pair in zip(circle, (*circle[1:], circle[0]), strict=True)]
    told = " → ".join((*circle, circle[0]))
    if len(group) == 1:
        say = f"{circle[0]} waits for itself."
    elif len(group) == len(circle):
        say = f"They wait for each other: {told}."
    else:
        say = f"{len(group)} wait for each other ({_listed(sorted(group))}), for example {told}."
    # An agent that waits for another for several reasons still waits when one of them is gone.
    weakest = min(along, key=lambda same: (len(same), min(map(_ease, same))))
    who = circle if len(group) == len(circle) else tuple(sorted(group))
    return Deadlock("cycle", who, tuple(wait for same in along for wait in same), say, _remedy_of(weakest))


def _ease(wait: Wait) -> tuple[int, float]:
    """Sort key of waits: those that a person can end first, then by age."""
    order = ("approval", "escalation", "answer", "blocker", "shutdown", "dependency")
    return order.index(wait.why), wait.since


def _nobody(pending_approval: PendingApproval) -> Deadlock:
    wait = pending_approval.wait
    able = " or ".join(pending_approval.roles) or "a recipient"
    say = f"{wait.who} waits for an approval ({wait.about}) that only {able} or a person may give, and none is here."
    return Deadlock("no-approver", (wait.who,), (wait,), say, remedy_for(wait))


def _unread(idle: IdleInbox) -> Deadlock:
    has = [f"{_so_many(idle.leased)} leased"] if idle.leased else []
    has += [f"{_so_many(idle.waiting)} waiting"] if idle.waiting else []
    say = f"{' and '.join(has)} for {idle.inbox}: {idle.say}."
    # Only a person can start the agent. The command shows what it would find; it takes nothing and withdraws nothing.
    remedy = Remedy(f"telex inbox --as {quoted(idle.inbox.removeprefix(ONE_OF_ROLE))}")
    return Deadlock("silent" if idle.is_claimed else "unread", (idle.inbox,), (), say, remedy)


def _most_waited_for(graph: Graph, groups: Sequence[Sequence[str]], waits: Sequence[Wait]) -> list[Deadlock]:
    """Agents that most others wait for, directly or indirectly, and that wait for none themselves."""
    ends: dict[str, frozenset[str]] = {}  # by name: those without waits of their own that it waits for
    waiters: dict[str, list[str]] = {}
    for group in groups:  # each after those that it leads to
        further = frozenset(end for name in group for other in graph[name] for end in ends.get(other, ()))
        for name in group:
            ends[name] = further if graph[name] else frozenset((name,))
            for end in further:
                waiters.setdefault(end, []).append(name)
    most = max(map(len, waiters.values()), default=0)
    if most < WAITERS_MIN:
        return []
    return [
        _waited_for(name, sorted(waiters[name]), [wait for wait in waits if wait.whom == name])
        for name in sorted(waiters)
        if len(waiters[name]) == most
    ]


def _waited_for(name: str, waiters: Sequence[str], waits: Sequence[Wait]) -> Deadlock:
    say = f"{len(waiters)} wait for {name}, directly or through others: {_listed(waiters)}."
    return Deadlock("bottleneck", (name,), tuple(waits), say, _remedy_of(waits))


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMES_MAX} more" if len(names) > NAMES_MAX else ""
    return ", ".join(names[:NAMES_MAX]) + more


# --- remedies --------------------------------------------------------------------------------------------------------


def _remedy_of(waits: Iterable[Wait]) -> Remedy:
    return remedy_for(min(waits, key=_ease))


def remedy_for(wait: Wait) -> Remedy:
    """Command that ends one wait, for a person. No remedy removes an agent or its messages."""
    if wait.remedy is not None:
        return wait.remedy
    if wait.why == "approval":
        return Remedy(f"telex approve --reason 'It was waited for' {operand(wait.about)}")
    if wait.id is not None and wait.why in ("escalation", "answer", "blocker"):
        return Remedy(f"telex answer {operand(wait.id)} 'Go on without it: this is how'")
    words = f"{wait.who} waits for you: {wait.words or wait.about}.\n"
    return Remedy(f"telex send --as {HUMAN} --to {quoted(wait.whom)} -", words)


_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.,:/@+=")


def quoted(word: str) -> str:
    """One word for the shell."""
    if word and _SAFE.issuperset(word):
        return word
    return "'" + word.replace("'", "'\"'\"'") + "'"


def operand(word: str) -> str:
    """One word that the shell command does not take for an option."""
    return f"-- {quoted(word)}" if word.startswith("-") else quoted(word)


def _so_many(count: int) -> str:
    return f"{count} {'message' if count == 1 else 'messages'}"


def _span(seconds: float) -> str:
    minutes = int(seconds // 60)
    if minutes < 1:
        return f"{int(seconds)} s"
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h"

"""Needs of a person: approvals, escalations, dead letters, stalls and wake failures in one list, ordered by deadline.

Values in, values out: `surfaces/http/page_needs.py` reads them from the bus. A key names an item and its revision, so
that an answer to an item that has changed meanwhile is recognised.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any, Literal, get_args

from telex.model.contracts import Plan
from telex.model.limits import Limits
from telex.model.named_tuple import NamedTuple
from telex.model.roster import HUMAN
from telex.model.work import Deadlock, Escalation, Stall, Wait, waits_for_ever
from telex.surfaces.page.wake_failures import WakeFailure
from telex.work.approvals import Approval

NeedKind = Literal["approval", "escalation", "dead", "stall", "wake"]
NEED_KINDS: tuple[NeedKind, ...] = get_args(NeedKind)
CYCLE_SECONDS = 60.0  # agents that wait for each other for less may just be about to answer
BOTTLENECK_SECONDS = 600.0
TITLE_CHARACTERS_MAX = 160
LETTER = "letter"  # key of one dead letter of a group
NO_DEADLINE = float("inf")


class Need(NamedTuple):
    kind: NeedKind
    id: str  # within its kind
    revision: int  # changes whenever an answer to it would have another meaning
    title: str
    by: str  # who asks, or whom it is about
    since: float
    subject: Any  # Approval, Escalation, DeadGroup, Deadlock, IdleInboxes or WakeFailure
    due: float | None = None
    message: int | None = None  # its number
    conversation: str | None = None

    @property
    def key(self) -> str:
        return f"{self.kind}:{self.id}@{self.revision}"

    @property
    def place(self) -> tuple[float, float, str]:
        """Sort key: by deadline, then by age; items without a deadline are last."""
        return (NO_DEADLINE if self.due is None else self.due), self.since, self.key


class NeedKey(NamedTuple):
    kind: str
    id: str
    revision: int | None


def parsed_key(key: str) -> NeedKey:
    """The parts of a key; without a revision, as in an address of the page, it is None."""
    kind, _, rest = key.partition(":")
    id_, separator, revision = rest.rpartition("@")
    if not separator or not (revision.isascii() and revision.isdigit() and len(revision) < 19):
        return NeedKey(kind, rest, None)
    return NeedKey(kind, id_, int(revision))


# --- approvals and escalations ----------------------------------------------------------------------------------------


def approval_needs(
    approvals: Iterable[Approval], plans: Mapping[str, Plan], limits: Limits, at: float | None
) -> Iterator[Need]:
    """`at`: requests that were open then; None: now. `plans`: by id of the request that would widen them."""
    for approval in approvals:
        request, answer = approval
        if answer is not None if at is None else request.at > at or (answer is not None and answer.at <= at):
            continue
        plan = plans.get(request.id)
        own = request.deadline if request.deadline is not None and request.deadline > request.at else None
        yield Need(
            "approval",
            request.id,
            len(plan.revisions) if plan is not None and plan.revisions else 1,
            title=shortened(request.subject or request.kind or request.type),
            by=request.by,
            since=request.at,
            due=own if own is not None else request.at + limits.request_seconds,
            conversation=request.correlation,
            subject=approval,
        )


def plans_by_request(plans: Iterable[Plan]) -> dict[str, Plan]:
    """The plan that each request would widen, or has widened."""
    found: dict[str, Plan] = {}
    for plan in plans:
        found.update(dict.fromkeys([*(grant.request for grant in plan.grants), *plan.asks], plan))
    return found


def escalation_needs(escalations: Iterable[Escalation], limits: Limits, at: float | None) -> Iterator[Need]:
    for escalation in escalations:
        if at is not None:
            rungs = tuple(rung for rung in escalation.rungs if rung.at <= at)
            was_answered = escalation.answered_at is not None and escalation.answered_at <= at
            if not rungs or was_answered:
                continue
            escalation = escalation._replace(rungs=rungs, answered_at=None, answered_by=None)
        elif not escalation.is_open:
            continue
        step = escalation.now
        climbs = step.due_at if step.due_at is not None and not waits_for_ever(step.due_at) else None
        yield Need(
            "escalation",
            escalation.id,
            len(escalation.rungs),
            title=shortened(escalation.reason or escalation.type),
            by=escalation.by,
            since=step.at,
            due=climbs if climbs is not None else step.at + limits.escalation_seconds,  # what every level has
            message=step.seq,
            conversation=escalation.correlation,
            subject=escalation,
        )


# --- dead letters -----------------------------------------------------------------------------------------------------


class DeadLetter(NamedTuple):
    delivery: int
    event: int  # number of the event of its death
    at: float  # of its death
    inbox: str
    reason: str
    attempts: int
    message: int
    id: str
    sender: str
    gist: str
    conversation: str | None

    @property
    def key(self) -> str:
        return f"{LETTER}:{self.delivery}@{self.event}"


class DeadGroup(NamedTuple):
    """Dead letters of one recipient that failed for one reason, newest first."""

    reason: str
    inbox: str
    letters: tuple[DeadLetter, ...]


def dead_needs(letters: Iterable[DeadLetter]) -> Iterator[Need]:
    groups: dict[tuple[str, str], list[DeadLetter]] = {}
    for letter in letters:
        groups.setdefault((letter.reason, letter.inbox), []).append(letter)
    for (reason, inbox), members in groups.items():
        yield dead_need(DeadGroup(reason, inbox, tuple(sorted(members, key=lambda letter: -letter.event))))


def dead_need(group: DeadGroup) -> Need:
    """The revision is the number of the newest death: an answer is for the letters up to it."""
    conversations = {letter.conversation for letter in group.letters}
    count = len(group.letters)
    title = group.reason or "no reason given"
    return Need(
        "dead",
        blake2b(f"{group.reason}\0{group.inbox}".encode("utf-8", "replace"), digest_size=6).hexdigest(),
        group.letters[0].event,
        title=shortened(title if count == 1 else f"{count:,} × {title}"),
        by=group.inbox,
        since=min(letter.at for letter in group.letters),
        message=group.letters[0].message,
        conversation=conversations.pop() if len(conversations) == 1 else None,
        subject=group,
    )


def without_letters(needs: Iterable[Need], answered: frozenset[str]) -> Iterator[Need]:
    """The items, without the dead letters of these keys."""
    for need in needs:
        if need.kind != "dead" or not answered:
            yield need
            continue
        left = tuple(letter for letter in need.subject.letters if letter.key not in answered)
        if left:
            yield need if len(left) == len(need.subject.letters) else dead_need(need.subject._replace(letters=left))


# --- stalls -----------------------------------------------------------------------------------------------------------


class InboxWithoutReader(NamedTuple):
    inbox: str
    say: str
    since: float


class IdleInboxes(NamedTuple):
    """Inboxes with messages that no agent reads."""

    inboxes: tuple[InboxWithoutReader, ...]


class StallSnapshot(NamedTuple):
    stall: Stall
    oldest: Mapping[str, float]  # by inbox: when its oldest open message came


def stall_needs(snapshot: StallSnapshot) -> Iterator[Need]:
    """One item per tangle of agents that wait for each other, and one for all inboxes that no agent reads.

    An approval that no agent may give is in the list anyway.
    """
    stall, idle = snapshot.stall, []
    for knot in stall.knots:
        if knot.kind in ("unread", "silent"):
            since = snapshot.oldest.get(knot.who[0], stall.at)
            idle.append(InboxWithoutReader(knot.who[0], knot.say, since))
        elif knot.kind == "cycle":
            since = max(wait.since for wait in knot.waits)
            if stall.at - since >= CYCLE_SECONDS:
                inside = [wait for wait in stall.waits if {wait.who, wait.whom} <= {*knot.who}]
                tangle = knot._replace(waits=tuple(inside))
                yield _stall(f"cycle:{min(knot.who)}", _cycle_title(knot), tangle, since)
        elif knot.kind == "bottleneck" and knot.who[0] != HUMAN and knot.waits:
            since = min(wait.since for wait in knot.waits)
            if stall.at - since >= BOTTLENECK_SECONDS:
                count = len(behind(knot.who[0], waiters_of(stall.waits)))
                yield _stall(f"bottleneck:{knot.who[0]}", f"{count} wait for {knot.who[0]}", knot, since)
    if idle:
        idle.sort(key=lambda one: one.since)
        title = f"Nobody reads the messages for {named([one.inbox for one in idle])}"
        by, since = idle[0].inbox, idle[0].since
        revision = _revision(one.inbox for one in idle)
        subject = IdleInboxes(tuple(idle))
        yield Need("stall", "unread", revision, shortened(title), by=by, since=since, subject=subject)


def _stall(id_: str, title: str, knot: Deadlock, since: float) -> Need:
    revision = _revision(f"{wait.who} {wait.whom} {wait.about}" for wait in knot.waits)
    return Need("stall", id_, revision, shortened(title), by=knot.who[0], since=since, subject=knot)


def _cycle_title(knot: Deadlock) -> str:
    if len(knot.who) == 1:
        return f"{knot.who[0]} waits for itself"
    return f"{named(knot.who)} wait for each other"


def _revision(parts: Iterable[str]) -> int:
    return int.from_bytes(blake2b("\n".join(parts).encode("utf-8", "replace"), digest_size=3).digest(), "big")


def waiters_of(waits: Iterable[Wait]) -> dict[str, frozenset[str]]:
    """By agent: who waits for it."""
    found: dict[str, set[str]] = {}
    for wait in waits:
        found.setdefault(wait.whom, set()).add(wait.who)
    return {whom: frozenset(who) for whom, who in found.items()}


def behind(name: str, waiters: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Agents that wait for this one, directly or through others."""
    seen, rest = {name}, [name]
    while rest:
        new = waiters.get(rest.pop(), frozenset()) - seen
        seen |= new
        rest += new
    return frozenset(agent for agent in seen if agent != name and not agent.startswith("plan:"))


# --- wake failures ----------------------------------------------------------------------------------------------------


def wake_needs(failures: Iterable[WakeFailure], unread: Mapping[str, int] | None) -> Iterator[Need]:
    """`unread`: messages by agent, as far as it is known; an agent without any need not be woken."""
    for failure in failures:
        if unread is None or unread.get(failure.agent):
            agent, title = failure.agent, shortened(f"{failure.agent} could not be woken")
            yield Need("wake", agent, failure.attempts, title, by=agent, since=failure.since, subject=failure)


# --- words ------------------------------------------------------------------------------------------------------------


def named(names: Sequence[str], most: int = 3) -> str:
    """`dev, qa and 4 more`."""
    shown = [name if len(name) <= 40 else f"{name[:39]}…" for name in names]
    if len(shown) > most:
        return f"{', '.join(shown[: most - 1])} and {len(shown) - most + 1} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def shortened(text: str, most: int = TITLE_CHARACTERS_MAX) -> str:
    text = " ".join(text[: most * 4].split())
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def wider_patterns(paths: Iterable[str], known: Iterable[str]) -> list[str]:
    """Patterns that allow each of the paths and its neighbours: files with the same ending in its folder."""
    taken, found = {*known}, []
    for path in paths:
        folder, slash, name = path.rpartition("/")
        stem, dot, ending = name.rpartition(".")
        pattern = f"{folder}/*.{ending}" if dot and stem else f"{folder}/"
        # A pattern without a folder would be for files in every folder.
        if name and slash and not {"*", "?", "["} & set(path) and pattern not in taken:
            taken.add(pattern)
            found.append(pattern)
    return found

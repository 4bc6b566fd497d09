"""Shared state of the verbs of a bus: store, clock, policy, validators, and a cache of roster, routes and topics.

The cache is valid as of one event number. A transaction that begins at that number finds it valid, because the lock
keeps other processes from writing. One that begins later reads on the topics that were written in between, and reloads
the roster if a member joined, left or stopped. A transaction updates the cache as it writes; a rollback empties it.
Outside a transaction the cache may be out of date: it serves to choose a validator only.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from telex.delivery.routing import Participants, Route, inboxes_of, normal_address, role_at, route
from telex.dialects.registry import versions_of
from telex.dialects.schema import Dialect, MessageType
from telex.errors import InvalidValue, StoreError, StoreFull
from telex.model.finding import Finding
from telex.model.limits import Limits
from telex.model.message import Event, StoredMessage
from telex.model.named_tuple import NamedTuple
from telex.model.roster import AGENT, HUMAN, Member, Roster, roster_of
from telex.ports.environment import Clock, Evidence
from telex.ports.store import (
    ROSTER,
    TEXT_CHARACTERS_MAX,
    Query,
    Reads,
    Store,
    Transaction,
    next_lease_expiry,
    roster_changed_since,
    topic_messages,
)
from telex.validation.authorization import normalised
from telex.work.snapshots import LONG, decode_snapshot, encode_snapshot
from telex.work.view import WorkMessage, work_message_from_log

if TYPE_CHECKING:
    from telex.delivery.wakes import WakeState
    from telex.validation.check import CheckPolicy

T = TypeVar("T")
TOPICS_MAX, ROUTES_MAX = 20_000, 4096  # cached at a time
EMPTY = (0, None)  # a topic without messages
UNREADABLE: Any = object()  # state of a topic whose messages are all of a dialect that the team no longer has

RouteKey = tuple[str, str | None, str | None]  # sender, the role it claims, recipient; all as the caller gave them


class CachedRoute(NamedTuple):
    """Sender and recipient of a message, resolved by the roster."""

    member: Member
    address: str | None  # None: the message itself names its recipient
    route: Route | Finding | None
    participants: Participants
    joins: bool  # the sender is new, or comes back: its first message makes it a member
    seen_until: float  # when the sender's activity has to be written down again


class TeamState:
    def __init__(
        self,
        *,
        clock: Clock,
        limits: Limits,
        dialects: Mapping[str, Dialect],
        declared: Sequence[Member],
        default_roles: tuple[str, ...],
    ) -> None:
        self._clock, self._limits, self._dialects = clock, limits, dialects
        self._declared = {member.name: member for member in declared}
        self._default_roles = default_roles
        self._seen_seconds = limits.silent_seconds / 4
        self.now = 0.0
        self.forget()

    def forget(self) -> None:
        """Empty the cache: what it holds may have been rolled back."""
        self.position = -1  # the number of the event that the cache is valid for
        self.is_current = False  # it has every change that this process has made
        self._roster: Roster | None = None
        self._members: dict[str, Member] = {}  # the members that the roster was made of
        self.forget_routes()
        self._topics: dict[str, tuple[int, Any]] = {}  # by name: the number of its last message, and its state
        self._outdated: dict[str, tuple[int, Any]] = {}  # the same, where later messages are not folded in
        self.reads: Reads | None = None  # the transaction or snapshot under way
        self._tx: Transaction | None = None  # the transaction under way
        self.new_snapshots: list[tuple[str, int, str]] = []  # of topics, made in a read and not saved yet
        self._known_changes = 0  # how many of its changes the cache has

    # --- transactions ------------------------------------------------------------------------------------------------

    def begin(self, tx: Transaction) -> None:
        """Bring the cache up to date with a transaction. Each decision of a transaction calls this."""
        self._tx = tx
        self.begin_read(tx)

    def begin_read(self, reads: Reads) -> None:
        """Bring the cache up to date with a snapshot of the store."""
        if reads is not self.reads:
            self.reads, self._known_changes = reads, 0
            self.now = self._clock.now()
            if reads.position != self.position:
                self._catch_up(reads)
        if len(reads.changed) != self._known_changes:
            self._note_changes(reads)
        self.is_current = True

    def _catch_up(self, reads: Reads) -> None:
        if self._roster is None or roster_changed_since(reads, self.position):
            self.load_members(reads.members())
        if self._topics:
            self._mark_outdated(reads.topics(after=self.position))
        self.position = reads.position

    def _note_changes(self, reads: Reads) -> None:
        """Another job of the same transaction has written."""
        news = reads.changed[self._known_changes :]
        if ROSTER in news:
            self.load_members(reads.members())
        self._mark_outdated(news)
        self._known_changes = len(reads.changed)

    def _mark_outdated(self, names: Iterable[str]) -> None:
        for name in names:
            topic = self._topics.pop(name, None)
            if topic is not None:
                self._outdated[name] = topic

    def end(self) -> None:
        """A snapshot is over."""
        self.reads, self._tx, self._known_changes = None, None, 0

    def committed(self, before: int, after: int, changes: int) -> None:
        """The cache stays valid if it has all changes of the committed transaction."""
        if self.position == before and changes == self._known_changes:
            self.position = after
        else:
            self.is_current = False
        self.end()

    # --- members and routes ------------------------------------------------------------------------------------------

    @property
    def roster(self) -> Roster:
        assert self._roster is not None, "the roster is known only in a transaction or snapshot"
        return self._roster

    @property
    def is_loaded(self) -> bool:
        return self._roster is not None

    def load_members(self, members: Iterable[Member]) -> None:
        """Make the roster of the stored members and of the declared ones that have not joined yet."""
        joined = {member.name: member for member in members}
        for name, member in self._declared.items():
            joined[name] = joined.get(name, member).as_declared(member)
        if self._roster is None or joined != self._members:
            self._members, self._roster = joined, roster_of(joined.values(), self._default_roles)
            self.forget_routes()

    def forget_routes(self) -> None:
        self._routes: dict[RouteKey, CachedRoute] = {}

    def resolve_member(self, name: str, role: str | None, *, by: str | None = None) -> Member | Finding:
        """The member that acts under this name, or that is added `by` another. One that is new or comes back is
        returned as it will be stored."""
        name, role = normalised(name), normalised(role) if role is not None else None
        member = self.roster.find(name)
        if member is None:
            from telex.delivery.membership import newcomer

            new = newcomer(name, role, self.roster, self._limits, closed=bool(self._declared), by=by)
            return new if isinstance(new, Finding) else self._joined(new)
        if role is not None and role != member.role:
            from telex.delivery.membership import role_differs, role_unknown

            if member.role != AGENT or member.declared:
                return role_differs(member, role, self._limits)
            if role not in self.roster.roles():
                return role_unknown(role, self.roster, self._limits)
            member = member._replace(role=role)  # it joined without a role and gives one now
        return member if member.joined_at is not None else self._joined(member)

    def _joined(self, member: Member) -> Member:
        return member._replace(joined_at=self.now, seen_at=self.now, left_at=None, stopped_at=None)

    def is_member(self, member: Member) -> bool:
        """False: it is new, and has to be stored."""
        known = self.roster.members.get(member.name)
        return known is not None and known.is_here and known.joined_at is not None and known.role == member.role

    def route(self, key: RouteKey) -> CachedRoute | Finding:
        """Resolve sender and recipient. Routes of members are cached until the roster changes."""
        cached = self._routes.get(key)
        if cached is not None:
            return cached
        sender, role, to = key
        member = self.resolve_member(sender, role)
        if isinstance(member, Finding):
            return member
        joins = not self.is_member(member)
        cached = self._route_of(member, to, self.roster_with(member), joins)
        if not joins and not isinstance(cached.route, Finding) and len(self._routes) < ROUTES_MAX:
            self._routes[key] = cached
        return cached

    def _route_of(self, member: Member, to: str | None, roster: Roster, joins: bool) -> CachedRoute:
        seen_until = (member.seen_at or 0.0) + self._seen_seconds
        participants = Participants(as_role=member.role, as_name=member.name)
        if to is None:
            return CachedRoute(member, None, None, participants, joins=joins, seen_until=seen_until)
        address = normal_address(to)
        to_name = address if roster.find(address) is not None else None
        participants = participants._replace(to_role=role_at(address, roster), to_name=to_name)
        inboxes = self.route_to(address, member, roster)
        return CachedRoute(member, address, inboxes, participants, joins=joins, seen_until=seen_until)

    def route_to(self, address: str, sender: Member, roster: Roster) -> Route | Finding:
        """The inboxes of a normalised address."""
        return route(address, sender, roster)

    def roster_with(self, member: Member) -> Roster:
        """The roster with a member that joins in this transaction."""
        roster = self.roster
        if roster.members.get(member.name) is member:
            return roster
        return roster._replace(members={**roster.members, member.name: member})

    def add_member(self, tx: Transaction, member: Member, by: str | None = None) -> None:
        """Store a member that joins or comes back."""
        more = {"reads": member.dialects, "by": by if by != member.name else None}
        detail = json.dumps({"role": member.role} | {name: value for name, value in more.items() if value})
        declared = self._declared.get(member.name)
        is_declared = declared is not None and bool(declared.dialects)  # then telex.toml decides what it reads
        stored = member._replace(dialects=()) if is_declared else member
        self.write_member(tx, member, Event(0, self.now, "joined", member.name, detail=detail), stored)

    def write_member(self, tx: Transaction, member: Member, event: Event, stored: Member | None = None) -> None:
        tx.upsert_member(stored or member, event)
        self.put_member(member)
        self._known_changes = len(tx.changed)

    def put_member(self, member: Member) -> None:
        """A member was written: the roster has it as it would be read."""
        declared = self._declared.get(member.name)
        self._members = {**self._members, member.name: member.as_declared(declared) if declared else member}
        self._roster = self.roster._replace(members=self._members)
        self.forget_routes()

    def mark_seen(self, tx: Transaction, key: RouteKey, cached: CachedRoute) -> None:
        """Store that the sender is active, four times in the span after which it is shown as silent."""
        name = cached.member.name
        member = self.roster.members.get(name)
        if member is None or self.now - (member.seen_at or 0.0) > self._seen_seconds:
            tx.mark_seen(name, self.now)
            self.put_seen(name, self.now)
        if key in self._routes:
            self._routes[key] = cached._replace(seen_until=self.now + self._seen_seconds)

    def put_seen(self, name: str, at: float) -> None:
        if self._roster is not None and (member := self._roster.members.get(name)) is not None:
            seen = member._replace(seen_at=at)
            self._members = {**self._members, name: seen}
            self._roster = self._roster._replace(members={**self._roster.members, name: seen})

    # --- topics ------------------------------------------------------------------------------------------------------

    def topic(self, name: str, default: Any = None) -> Any:
        """The state of a topic, which may be None; `default` where it has no messages that can be read."""
        last, state = self._topics.get(name) or self._read_on(name)
        return state if last and state is not UNREADABLE else default

    def is_empty(self, names: tuple[str, ...]) -> bool:
        """Whether none of these topics has messages."""
        topics = self._topics
        for name in names:  # noqa: SIM110 - `all` takes three times as long, and every send calls this
            if (topics.get(name) or self._read_on(name))[0]:
                return False
        return True

    def topic_names(self, kind: str) -> list[str]:
        """Topics of a kind that have messages."""
        assert self.reads is not None, "topics are read only in a transaction or snapshot"
        return self.reads.topics(kind)

    def _read_on(self, name: str) -> tuple[int, Any]:
        """Read the messages of a topic that are not folded into its cached state, and fold them in."""
        reads = self.reads
        assert reads is not None, "topics are read only in a transaction or snapshot"
        known = self._outdated.pop(name, None)
        last, state = known if known is not None else _snapshot(reads, name)
        news = topic_messages(reads, name, last)
        if news:
            last, state = self._fold(name, state, news)
        if len(news) >= LONG and state is not UNREADABLE:
            snapshot = name, last, encode_snapshot(name, last, state)
            if self._tx is not None:
                self._tx.keep_snapshot(*snapshot)
            else:
                self.new_snapshots.append(snapshot)
        if len(self._topics) >= TOPICS_MAX:
            self._topics.clear()
            self._outdated.clear()
        self._topics[name] = last, state
        return last, state

    def _fold(self, name: str, state: Any, news: Sequence[tuple[Event, StoredMessage]]) -> tuple[int, Any]:
        from telex.work import reducer

        fold = reducer.fold  # callers may hold the state before the first message, but none of the later ones
        for event, message in news:
            dialect = self._dialects.get(message.dialect or "")
            work_message = work_message_from_log(message, event, dialect) if dialect is not None else None
            if work_message is not None:
                state = fold(name, None if state is UNREADABLE else state, work_message)
                fold = reducer.fold_in_place
            elif dialect is None and state is None:
                state = UNREADABLE
        return news[-1][1].seq, state

    def fold_topics(self, tx: Transaction, before: Mapping[str, Any], message: WorkMessage) -> None:
        """A message was appended that changes these topics."""
        from telex.work import reducer  # half the time of importing a function from it, for each message

        fold = reducer.fold_in_place
        self.put_topics(tx, {name: fold(name, state, message) for name, state in before.items()}, message.seq)

    def put_topics(self, tx: Transaction, states: Mapping[str, Any], seq: int) -> None:
        """Cache the states after the message of this number. Topics of its follow-up messages are read on when they are
        needed."""
        for name, state in states.items():
            self._topics[name] = seq, state
        self._known_changes += len(states)
        if len(tx.changed) != self._known_changes:
            self._note_changes(tx)


def _snapshot(reads: Reads, name: str) -> tuple[int, Any]:
    snapshot = reads.snapshot(name)
    try:
        return EMPTY if snapshot is None else (snapshot[0], decode_snapshot(name, *snapshot))
    except ValueError:  # of another version, or damaged: the log has everything
        return EMPTY


async def read_snapshot(store: Store, team: TeamState, query: Callable[[Reads], T]) -> T:
    """Run several reads on one snapshot, with the roster and the topics of that moment in `team`."""

    def run(reads: Reads) -> T:
        team.begin_read(reads)
        try:
            return query(reads)
        finally:
            team.end()

    def keep(tx: Transaction) -> None:
        for snapshot in snapshots:
            tx.keep_snapshot(*snapshot)

    answer = await store.read(run)
    if team.new_snapshots:
        snapshots, team.new_snapshots = team.new_snapshots, []
        with suppress(StoreError):  # they only save time, and a full disk can still be read
            await store.transaction(keep, durable=False)
    return answer


def states_of(team: TeamState, names: Iterable[str]) -> dict[str, Any]:
    """The states of these topics; those without messages are left out."""
    states = {name: team.topic(name, UNREADABLE) for name in names}
    return {name: state for name, state in states.items() if state is not UNREADABLE}


def default_roles(dialects: Iterable[Dialect], *, closed: bool) -> tuple[str, ...]:
    """Roles that are members by their own name without having been declared. A human always is."""
    if closed:
        return (HUMAN,)
    return tuple(dict.fromkeys([*(normalised(role) for dialect in dialects for role in dialect.roles), HUMAN]))


class Topics(Mapping[str, Any]):
    """States of topics by name, each read when a rule asks for it. A topic without messages is not in it."""

    __slots__ = ("_changed", "_team", "_topics")

    def __init__(self, team: TeamState, changed: Mapping[str, Any] | None = None) -> None:
        self._team, self._changed, self._topics = team, changed, team._topics

    def get(self, name: str, default: Any = None) -> Any:
        if self._changed is not None and name in self._changed:
            return self._changed[name]
        last, state = self._topics.get(name) or self._team._read_on(name)
        return state if last and state is not UNREADABLE else default

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name, UNREADABLE) is not UNREADABLE

    def __getitem__(self, name: str) -> Any:
        state = self.get(name, UNREADABLE)
        if state is UNREADABLE:
            raise KeyError(name)
        return state

    def after(self, changed: Mapping[str, Any]) -> "Topics":
        """The same, with these states in place of the stored ones."""
        return Topics(self._team, changed)

    def __iter__(self) -> Iterator[str]:
        raise TypeError("topics are read by name")

    def __len__(self) -> int:
        raise TypeError("topics are read by name")


# --- bus -------------------------------------------------------------------------------------------------------------

ESCALATE = "escalate"  # an action
SHUTDOWN = "shutdown"  # a topic


class BusContext:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        policy: "CheckPolicy",
        *,
        members: Sequence[Member] = (),
        work: Mapping[str, Any] | None = None,  # the team's settings of the work rules
        evidence: Evidence | None = None,  # looks up in a repository what reports claim
    ) -> None:
        from telex.delivery.validator_cache import ValidatorCache  # a guard has a TeamState only, and needs no check

        self.store, self.clock, self.policy, self.limits = store, clock, policy, policy.limits
        self.validators = ValidatorCache(policy)
        self.declared = tuple(members)
        self.dialects = {dialect.name: dialect for dialect in policy.dialects}
        self.work = work or {}
        self.evidence = evidence
        spoken = versions_of(policy.forced, policy.dialects) if policy.forced else policy.dialects
        self.team = TeamState(
            clock=clock,
            limits=policy.limits,
            dialects=self.dialects,
            declared=self.declared,
            default_roles=default_roles(spoken, closed=bool(members)),
        )
        store.caches.append(self.team)
        self.current_trace: Callable[[], str | None] = lambda: None  # the traceparent of the caller
        self.returned_at: dict[str, float] = {}  # members that stopped, and when: their messages were returned
        self.next_maintenance = 0.0  # when this bus next handles timeouts
        self.next_store_maintenance = 0.0  # when it next helps the store with its maintenance
        self.wakes: tuple[int, Mapping[str, WakeState]] = (0, {})  # of each agent, as of this event
        self._seen: dict[str, float] = {}
        self.next_lease_expiry = 0.0  # no lease expires before, unless another process has written since
        self._others: int | None = None  # change counter of the other processes when roster and leases were read

    # --- types -------------------------------------------------------------------------------------------------------

    @cached_property
    def escalation_types(self) -> frozenset[str]:
        types = [type_ for dialect in self.dialects.values() for type_ in dialect.types.values()]
        return frozenset([type_.name for type_ in types if type_.action == ESCALATE])

    def type_that(self, action: str) -> tuple[Dialect, MessageType] | tuple[None, None]:
        """The first type of the team's dialects that has this action and that the bus can compose."""
        from telex.work.reducer import can_compose

        among = (self.policy.forced,) if self.policy.forced else self.policy.dialects
        for dialect in among:
            for type_ in dialect.types.values():
                has_action = type_.action == action
                if has_action and can_compose(dialect, type_):
                    return dialect, type_
        return None, None

    def type_of(self, message: StoredMessage) -> tuple[Dialect, MessageType] | None:
        """None: plain text, or a dialect that this team no longer has."""
        dialect = self.dialects.get(message.dialect or "")
        type_ = dialect.types.get(message.type or "") if dialect is not None else None
        return (dialect, type_) if dialect is not None and type_ is not None else None

    def action_of(self, message: StoredMessage) -> str:
        """The action of a stored message in the work; empty where it has none."""
        typed = self.type_of(message)
        return typed[1].action if typed is not None else ""

    def is_escalation(self, message: StoredMessage) -> bool:
        return self.action_of(message) == ESCALATE

    # --- reads -------------------------------------------------------------------------------------------------------

    async def read(self, query: Callable[[Reads], T]) -> T:
        """Run several reads on one snapshot, with the roster and the topics of that moment in `team`."""
        return await read_snapshot(self.store, self.team, query)

    async def topics(self, names: Iterable[str]) -> dict[str, Any]:
        """The states of these topics; those without messages are left out."""
        return await self.read(lambda _: states_of(self.team, names))

    async def topics_of_kind(self, kind: str) -> dict[str, Any]:
        return await self.read(lambda reads: states_of(self.team, reads.topics(kind)))

    async def roster(self, *, fresh: bool = False) -> Roster:
        """The current roster. `fresh`: also with the current times at which members were last seen."""
        if fresh:
            await self.read(lambda reads: self.team.load_members(reads.members()))
        others = self.store.changes()[1]
        if others != self._others or not self.team.is_current:
            await self.read_lease_expiry()
            self._others = others
        return self.team.roster

    async def read_lease_expiry(self) -> None:
        """Read it together with the roster, in one snapshot."""

        def read(reads: Reads) -> None:
            self.next_lease_expiry = next_lease_expiry(reads)

        await self.read(read)

    async def inboxes(self, member: Member) -> tuple[str, ...]:
        """The inboxes of a member, by the cached roster: the caller has just read the member."""
        return inboxes_of(member, self.team.roster if self.team.is_loaded else await self.roster())

    # --- members -----------------------------------------------------------------------------------------------------

    async def member(
        self, name: str, role: str | None = None, *, by: str | None = None, dialects: tuple[str, ...] = ()
    ) -> Member | Finding:
        """The member that acts under this name. In an open team a newcomer with a known role joins by acting; one that
        has shut down comes back only when it is added `by` a lead or a person. `dialects`: those that it reads."""
        by = normalised(by) if by is not None else None
        role = normalised(role) if role is not None else None
        known = (await self.roster()).members.get(normalised(name))
        is_here = known is not None and known.joined_at is not None and known.is_here
        if known is not None and is_here and not dialects and role in (None, known.role):
            await self.mark_seen(known.name, known.seen_at or 0.0)
            return known
        refused = self.team.resolve_member(name, role, by=by)
        if isinstance(refused, Finding):
            return refused

        def join(tx: Transaction) -> Member | Finding:
            self.team.begin(tx)
            member = self.team.resolve_member(name, role, by=by)
            if isinstance(member, Finding):
                return member
            reads = dialects or member.dialects
            if not self.team.is_member(member) or reads != member.dialects:
                member = member._replace(dialects=reads, seen_at=self.team.now)
                self.team.add_member(tx, member, by)
            return member

        return await self.store.transaction(join, may_use_reserve=True)

    async def join(self, name: str, role: str | None, *, by: str | None, dialects: Sequence[str]) -> Member | Finding:
        """Add a member. telex.toml decides what a declared member reads."""
        from telex.delivery.membership import reads_differ, understood

        reads = list[str]()
        for dialect in dialects:
            choice = understood(dialect, self.dialects.values(), self.limits)
            if isinstance(choice, Finding):
                return choice
            reads.append(choice)
        declared = next((member for member in self.declared if member.name == normalised(name)), None)
        if reads and declared is not None and declared.dialects:
            differs = reads_differ(declared, tuple(dict.fromkeys(reads)), self.limits)
            if differs is not None:
                return differs
            reads = []
        return await self.member(name, role, by=by, dialects=tuple(dict.fromkeys(reads)))

    async def find_member(self, name: str, role: str | None = None) -> Member | Finding:
        """The member of this name, or the one that would join under it. Nothing is written."""
        known = (await self.roster()).members.get(normalised(name))
        return known if known is not None and not known.is_here else self.team.resolve_member(name, role)

    async def mark_seen(self, name: str, seen_at: float = 0.0) -> None:
        """Store that a member is active, four times in the span after which it is shown as silent."""
        now, often_enough = self.clock.now(), self.limits.silent_seconds / 4
        if now - self._seen.get(name, seen_at) > often_enough:
            member = (await self.roster()).find(name)
            if member is None:
                return
            self._seen[name] = now
            if now - (member.seen_at or 0.0) > often_enough:
                with suppress(StoreFull):
                    await self.store.transaction(
                        lambda tx: tx.mark_seen(name, now), durable=False, may_use_reserve=True
                    )
                    self.team.put_seen(name, now)


# --- arguments -------------------------------------------------------------------------------------------------------

YEAR_SECONDS = 366 * 86_400.0


def seconds(name: str, value: float, minimum: float = 0.0) -> float:
    """The value, if it is a span of time between `minimum` and a year: zero or NaN would harm other readers later."""
    if not minimum <= value <= YEAR_SECONDS:  # nan is neither
        raise InvalidValue(f"give {name} a span from {minimum:g} seconds to a year, not {value!r}.")
    return value


def count(name: str, value: int) -> int:
    if value < 1:
        raise InvalidValue(f"give {name} a number from 1, not {value!r}.")
    return value


def searched(query: Query) -> Query:
    """The query, if its text is short: every word costs time."""
    if query.text is not None and len(query.text) > TEXT_CHARACTERS_MAX:
        limit = f"at most {TEXT_CHARACTERS_MAX:,} characters, not {len(query.text):,}"
        raise InvalidValue(f"give text a few words: {limit}.")
    return query

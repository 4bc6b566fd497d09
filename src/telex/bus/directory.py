"""What do all verbs share? The store, the clock, the desk with its lanes, the roster, and who waits for news."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from telex.bus.sender_lock import SenderLock
from telex.bus.work_cache import WorkCache
from telex.delivery.routing import Route, inboxes_of, normal_address, role_at, route
from telex.delivery.validator_cache import Participants, ValidatorCache
from telex.dialects.schema import Dialect, MessageType
from telex.model.event import Event
from telex.model.finding import Finding
from telex.model.limits import Limits
from telex.model.message import Message
from telex.model.roster import HUMAN, Member, Roster, roster_of
from telex.ports.clock import Clock
from telex.ports.evidence import Evidence
from telex.ports.store import Store
from telex.validation.authorization import normalised
from telex.validation.check import STRICT, CheckPolicy

ROSTER_SECONDS = 0.005  # whoever joins and is written to within this time is as good as simultaneous
WAYS_MAX = 4096
HAND_UP = "escalate"  # the deed, as in delivery/escalation_chain, which is not imported before it is needed
SHUTDOWN = "shutdown"  # the topic, as in model/shutdown, which is not imported before it is needed


Whom = tuple[str, str | None, str | None]  # sender, the role it says it has, recipient; all as they were given


class CachedRoute(NamedTuple):
    """Who is speaking, to whom, and what that means for a message."""

    member: Member
    address: str | None  # None: the message itself says
    route: Route | Finding | None
    inboxes: Route | None  # the same where it is no refusal
    pair: Participants
    until: float  # then it is time to write down again that the sender is here


def cached_route(member: Member, address: str | None, roster: Roster, until: float) -> CachedRoute:
    if address is None:
        return CachedRoute(member, None, None, None, Participants(member.role, None, member.name, None), until)
    by_name = address if roster.find(address) is not None else None
    participants = Participants(member.role, role_at(address, roster), member.name, by_name)
    found = route(address, member, roster)
    return CachedRoute(member, address, found, None if isinstance(found, Finding) else found, participants, until)


class BusContext:
    def __init__(
        self,
        store: Store,
        clock: Clock,
        desk: CheckPolicy = STRICT,
        members: Sequence[Member] = (),
        work: Mapping[str, Any] | None = None,  # what the team chose for the rules of the work
        evidence: Evidence | None = None,  # what can be looked up of the claims that reports make
    ) -> None:
        self.store, self.clock, self.policy = store, clock, desk
        self.validators = ValidatorCache(desk)
        self.declared = tuple(members)
        self.default_roles = default_roles(desk, closed=bool(members))
        self.dialects = {dialect.name: dialect for dialect in desk.dialects}
        self.work_cache = WorkCache(store, self.dialects)
        self.work = work or {}
        self.evidence = evidence
        self.sender_lock = SenderLock()
        self.carried: Callable[[], str | None] | None = None  # the trace that is sent in; None: nobody traces
        self._roster: Roster | None = None
        self._joined: dict[str, Member] = {}  # whom the roster was made of
        self._roster_version = -1
        self._looked_at = float("-inf")
        self._ways: dict[Whom, CachedRoute] = {}
        self._seen: dict[str, float] = {}
        self.was_asked_to_stop = False  # anybody, ever: known as well as the roster is, and for every plain text
        self.stops_seen: dict[str, float] = {}  # who has shut down, and when: what it held was looked after
        self.next_sweep = 0.0  # when this bus next does what the clock asks for
        self.next_tidying = 0.0  # and when it next helps the store with its housekeeping

    @property
    def limits(self) -> Limits:
        return self.policy.limits

    @cached_property
    def types_handing_up(self) -> frozenset[str]:
        """The names of all types by which somebody hands a matter up."""
        types = [type_ for dialect in self.dialects.values() for type_ in dialect.types.values()]
        return frozenset([type_.name for type_ in types if type_.deed is not None and type_.deed.action == HAND_UP])

    def type_that(self, does: str) -> tuple[Dialect, MessageType] | tuple[None, None]:
        """The first type of the team's dialects that does this to the work."""
        among = (self.policy.forced,) if self.policy.forced else self.policy.dialects
        for dialect in among:
            for type_ in dialect.types.values():
                if type_.deed is not None and type_.deed.action == does:
                    return dialect, type_
        return None, None

    def type_of(self, message: Message) -> tuple[Dialect, MessageType] | None:
        """None: it is text, or of a dialect that this team has no more."""
        dialect = self.dialects.get(message.dialect or "")
        type_ = dialect.types.get(message.type or "") if dialect is not None else None
        return (dialect, type_) if dialect is not None and type_ is not None else None

    def action_of(self, message: Message) -> str:
        """What a message that was kept does to the work."""
        found = self.type_of(message)
        return found[1].deed.action if found is not None and found[1].deed is not None else ""

    # --- who is there ------------------------------------------------------------------------------------------------

    async def roster(self, now: float | None = None) -> Roster:
        """As it is at this moment, give or take a few milliseconds; read again when somebody else has written."""
        now = self.clock.now() if now is None else now
        if self._roster is not None and self.knows_roster(now):
            return self._roster
        version = self.store.others()
        if self._roster is None or version != self._roster_version:
            joined = {member.name: member for member in await self.store.members()}
            for member in self.declared:
                joined[member.name] = joined.get(member.name, member).as_declared(member)
            self.was_asked_to_stop = bool(await self.store.topics(SHUTDOWN))
            if self._roster is None or joined != self._joined:  # others write all the time, and seldom about the team
                self._roster, self._joined = roster_of(joined.values(), self.default_roles), joined
                self._ways.clear()
            self._roster_version = version
        self._looked_at = now
        return self._roster

    def knows_roster(self, now: float) -> bool:
        """Has it been looked at within the last few milliseconds?"""
        return self._roster is not None and 0.0 <= now - self._looked_at < ROSTER_SECONDS

    def find_cached_route(self, whom: "Whom", now: float) -> "CachedRoute | None":
        """The way as it was worked out before, while nothing can have changed. Looked up for every message."""
        if not self.knows_roster(now):
            return None
        cached_route = self._ways.get(whom)
        return cached_route if cached_route is not None and now < cached_route.until else None

    async def route(self, sender: str, role: str | None, to: str | None, now: float) -> "CachedRoute | Finding":
        """From whom to whom, worked out once for as long as the roster stays as it is. A refusal is not remembered."""
        await self.roster(now)
        if (known := self.find_cached_route((sender, role, to), now)) is not None:
            return known
        member = await self.member(sender, role)
        if not isinstance(member, Member):
            return member
        roster = await self.roster()
        address = normal_address(to) if to is not None else None
        if address is not None and isinstance(route(address, member, roster), Finding):
            self.forget_roster()  # perhaps somebody came in this very moment
            roster = await self.roster()
        way = cached_route(member, address, roster, now + self.limits.silent_seconds / 4)
        if not isinstance(way.route, Finding) and len(self._ways) < WAYS_MAX:
            self._ways[sender, role, to] = way
        return way

    async def member(self, name: str, role: str | None = None, *, joining: bool = False) -> Member | Finding:
        """Who is acting? Somebody new joins by acting, where the team is open and the role is known. Whoever has shut
        down comes back only by `joining` expressly."""
        name, role = normalised(name), normalised(role) if role is not None else None
        roster, now = await self.roster(), self.clock.now()
        member = roster.find(name)
        if member is None:
            return await self._newcomer(name, role, roster, now, joining)
        if role is not None and role != member.role:
            from telex.delivery.membership import role_differs

            return role_differs(member, role, self.limits)
        if member.joined_at is None:
            return await self.upsert_member(member, now, joining=joining)
        await self.is_here(name, now, member.seen_at or 0.0)
        return member

    async def is_here(self, name: str, now: float, seen_at: float = 0.0) -> None:
        """Somebody has acted. Written down a few times in the span after which it would be called silent."""
        often_enough = self.limits.silent_seconds / 4
        if now - self._seen.get(name, seen_at) > often_enough:
            member = (await self.roster()).find(name)
            if member is None:
                return  # nobody we know: an ack that was not its to give
            self._seen[name] = now
            if now - (member.seen_at or 0.0) > often_enough:
                await self.store.seen(name, now)
                self._has_been_seen(name, now)

    def _has_been_seen(self, name: str, now: float) -> None:
        """Our own writes are no news to us, so the roster would not be read again; nor need all of it be, for this."""
        if self._roster is not None and (member := self._roster.members.get(name)) is not None:
            members = {**self._roster.members, name: member._replace(seen_at=now)}
            self._roster = self._roster._replace(members=members)

    async def _newcomer(
        self, name: str, role: str | None, roster: Roster, now: float, joining: bool
    ) -> Member | Finding:
        from telex.delivery import membership  # somebody new comes rarely

        found = membership.newcomer(name, role, roster, self.limits, closed=bool(self.declared), joining=joining)
        return found if isinstance(found, Finding) else await self.upsert_member(found, now, joining=joining)

    async def upsert_member(self, member: Member, now: float, *, joining: bool) -> Member | Finding:
        since = member.joined_at if member.is_here and member.joined_at is not None else now
        joined = member._replace(joined_at=since, seen_at=now, left_at=None, stopped_at=None)
        is_told = any(one.name == member.name and one.dialects for one in self.declared)
        if is_told:  # what telex.toml says of its dialects is not kept: it may say something else tomorrow
            joined = joined._replace(dialects=())
        detail = json.dumps({"role": member.role} | ({"reads": member.dialects} if member.dialects else {}))
        known = await self.store.upsert_member(
            joined, Event(0, now, "joined", member.name, detail=detail), back=joining
        )
        self.forget_roster()
        if known.stopped_at is not None:  # it has shut down, in another process, while we were about to write
            from telex.delivery.membership import has_shut_down

            return has_shut_down(known)
        if known.role != member.role:  # somebody else has joined under this name in this very moment
            from telex.delivery.membership import role_differs

            return role_differs(known, member.role, self.limits)
        return known._replace(dialects=member.dialects) if is_told else known

    def forget_roster(self) -> None:
        self._roster = None
        self._ways.clear()

    async def inboxes(self, member: Member) -> tuple[str, ...]:
        return inboxes_of(member, await self.roster())


def default_roles(desk: CheckPolicy, *, closed: bool) -> tuple[str, ...]:
    """Who is a member by name without having been declared. A person always is."""
    if closed:
        return (HUMAN,)
    among = (desk.forced,) if desk.forced else desk.dialects
    return tuple(dict.fromkeys([*(normalised(role) for dialect in among for role in dialect.roles), HUMAN]))

"""Roster of a replay: the members at each point of a log, under the settings of the replay.

Members join and leave by the events of the log. Many logs have no such events, or only some. In an open team, the
sender and the recipient of a message that was accepted are then taken as members. In a closed team they are not: the
replay is to report them.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from telex.delivery import membership
from telex.delivery.routing import Participants, Route, normal_address, role_at, route
from telex.model.event import COMING_AND_GOING, Event, detail_of
from telex.model.finding import Finding
from telex.model.limits import Limits
from telex.model.roster import ALL_OF_ROLE, EVERYONE, HUMAN, ONE_OF_ROLE, Member, Roster
from telex.validation.authorization import normalised
from telex.validation.check import CheckPolicy

MEMBERS_MAX = 10_000  # that are taken from messages, and not from events
ROUTES_MAX = 1_024  # that are cached; one to everyone has as many inboxes as there are members


def changed(members: dict[str, Member], event: Event) -> None:
    """Write down who is there after this event."""
    name, at = event.agent, event.at
    if name is None or event.kind not in COMING_AND_GOING:
        return
    member = members.get(name)
    if event.kind == "joined":
        detail = detail_of(event)
        role, reads = detail.get("role"), detail.get("reads")
        since = member.joined_at if member is not None and member.is_here and member.joined_at is not None else at
        members[name] = Member(
            name,
            role if isinstance(role, str) else member.role if member is not None else "",
            tuple(one for one in reads if isinstance(one, str)) if isinstance(reads, list) else (),
            member.declared if member is not None else False,
            since,
        )
    elif member is not None:
        left = at if event.kind in ("left", "forced") else member.left_at
        stopped = at if event.kind in ("stopped", "forced") else member.stopped_at
        members[name] = member._replace(left_at=left, stopped_at=stopped)


NOBODY = Participants()  # nobody in particular, to nobody in particular


class ReplayPath(NamedTuple):
    """Who speaks to whom, as the bus would have seen it."""

    member: Member
    address: str | None
    inboxes: Route
    wrong: Finding | None  # what speaks against the recipient
    pair: Participants


class ReplayTeam:
    def __init__(self, desk: CheckPolicy, declared: Iterable[Member] = (), begin: Iterable[Member] = ()) -> None:
        self._declared = {member.name: member for member in declared}
        self._limits: Limits = desk.limits
        among = (desk.forced,) if desk.forced else desk.dialects
        roles = () if self._declared else (normalised(role) for dialect in among for role in dialect.roles)
        self._default_roles = tuple(dict.fromkeys([*roles, HUMAN]))
        self._members = {member.name: member for member in begin if not self._declared} | self._declared
        self.roster = Roster(self._members, self._default_roles)
        self.way, self.reached = lru_cache(ROUTES_MAX)(self._way), lru_cache(ROUTES_MAX)(self._reached)
        # Of the members that are here, in the order of the roster. A log may name thousands, a new one in each line.
        self._names = [member.name for member in self.roster.known()]
        self._roles = dict.fromkeys(member.role for member in self.roster.known())
        self._everybody: Route | None = None

    @property
    def is_closed(self) -> bool:
        return bool(self._declared)

    def happened(self, event: Event) -> None:
        """Apply an event: a member joined, left or stopped. In a closed team only declared members can join, with the
        role and dialects of their declaration."""
        if self._declared and event.agent not in self._declared and event.agent != HUMAN:
            return
        before = self._members.get(event.agent or "")
        changed(self._members, event)
        member = self._members.get(event.agent or "")
        if member is not None:
            self._put(member, before)

    def stands(self, member: Member) -> None:
        """Replace a member."""
        self._put(member, self._members.get(member.name))

    def meet(self, member: Member) -> None:
        """Add the sender of a message, in a log without events: it was a member from the beginning."""
        known = self._members
        if member.name not in known and member.name and not self.is_closed and len(known) < MEMBERS_MAX:
            self._put(member._replace(joined_at=0.0), None)

    def everybody(self) -> Route:
        """Every inbox of the team, for a message that names no recipient."""
        if self._everybody is None:
            expected = [role for role in self._default_roles if role not in self._members]
            roles = dict.fromkeys((*self._roles, *self._default_roles))
            self._everybody = (*self._names, *expected, *(ONE_OF_ROLE + role for role in roles))
        return self._everybody

    def _put(self, member: Member, before: Member | None) -> None:
        declared = self._declared.get(member.name)
        if declared is not None:
            member = member._replace(role=declared.role, dialects=declared.dialects, declared=True)
        self._members[member.name] = member
        if before is None and member.is_here:
            self._names.append(member.name)
            self._roles[member.role] = None
        elif before is not None and (before.is_here, before.role) != (member.is_here, member.role):
            self._names = [known.name for known in self.roster.known()]
            self._roles = dict.fromkeys(known.role for known in self.roster.known())
        self._everybody = None
        self.way.cache_clear()
        self.reached.cache_clear()

    def _has_role(self, role: str) -> bool:
        """The same as `bool(roster.of_role(role))`, without looking at every member."""
        return role in self._roles or (role in self._default_roles and role not in self._members)

    def _way(self, sender: str, role: str | None, to: str | None, taken: bool, bare: bool) -> ReplayPath | Finding:
        """Sender and recipients of a message. `taken`: it was accepted, so that unknown agents are taken as members.

        `bare`: all that is known of the sender is what the message claims. As in `telex check`, the claim is accepted,
        except that in a closed team it must be one of the members.
        """
        path = self._path(sender, role, to, taken)
        return path._replace(pair=NOBODY) if isinstance(path, ReplayPath) and bare and not self.is_closed else path

    def _path(self, sender: str, role: str | None, to: str | None, taken: bool) -> ReplayPath | Finding:
        member = self._member(normalised(sender), normalised(role) if role else None, taken)
        if isinstance(member, Finding):
            return member
        if not to:
            return ReplayPath(member, None, (), None, Participants(member.role or None, None, member.name, None))
        address = normal_address(to)
        by_name = address if self.roster.find(address) is not None else None
        participants = Participants(member.role or None, self._role_at(address), member.name, by_name)
        found = self.heard_by(address, member, taken=taken)
        if isinstance(found, Finding):
            return ReplayPath(member, address, (), found, participants)
        return ReplayPath(member, address, found, None, participants)

    def heard_by(self, address: str, sender: Member, *, taken: bool) -> Route | Finding:
        """The inboxes that a (normal) address stands for."""
        if not taken or self.is_closed:
            return route(address, sender, self.roster)
        # It was accepted, so the recipients were members: no finding suggests similar names of other members.
        if address == EVERYONE:
            return tuple([name for name in self._names if name != sender.name])
        if address.startswith(ALL_OF_ROLE):
            members = self.roster.of_role(address.removeprefix(ALL_OF_ROLE))
            return tuple([member.name for member in members if member.name != sender.name])
        known = None if address.startswith(ONE_OF_ROLE) else self._members.get(address)
        return (address,) if known is None or known.is_here else route(address, sender, self.roster)

    def _role_at(self, address: str) -> str | None:
        if address.startswith((ONE_OF_ROLE, ALL_OF_ROLE)):
            role = address.split(":", 1)[1]
            return role if self._has_role(role) else None
        return role_at(address, self.roster)

    def _reached(self, recipient: str, sender: Member, *, by_role: bool, taken: bool) -> ReplayPath:
        """The path to the recipient that a message itself names."""
        address = self._addressed(recipient, by_role=by_role)
        inboxes = self.heard_by(address, sender, taken=taken)
        if isinstance(inboxes, Finding):
            return ReplayPath(sender, address, (), inboxes, NOBODY)
        return ReplayPath(sender, address, inboxes, None, NOBODY)

    def _addressed(self, recipient: str, *, by_role: bool) -> str:
        """The address that a message itself names: an agent, or whoever has that role."""
        name = normal_address(recipient)
        is_role = by_role and self.roster.find(name) is None and self._has_role(name)
        return ONE_OF_ROLE + name if is_role else name

    def _member(self, name: str, role: str | None, taken: bool) -> Member | Finding:
        """As the bus decides it when somebody acts."""
        member = self.roster.find(name)
        if member is not None:
            return membership.role_differs(member, role, self._limits) if role not in (None, member.role) else member
        if self.is_closed and role is None and (others := self.roster.of_role(name)):
            return others[0]  # a message that is signed with a role: one of those who have it
        gone = self._members.get(name)
        if taken and not self.is_closed and (gone is None or gone.stopped_at is None):
            # It was taken, so it was known: here, too, nobody is to be told whose name is like it.
            return membership.name_not_allowed(name, self._limits) or Member(name, role or "")
        stranger = membership.newcomer(name, role, self.roster, self._limits, closed=self.is_closed)
        return stranger if isinstance(stranger, Finding) else Member(name, stranger.role)

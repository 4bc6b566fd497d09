"""Who was in the team at each point of a log, and who would have been under other settings?

Members come and go as the events of the log tell it. A log that tells none, or only a part, leaves much open: in a team
that anybody may join, whoever sent something that was taken and whoever it was for are then given the benefit of the
doubt. In a team that is closed they are not: that is what a replay is to find out.
"""

from collections.abc import Iterable
from typing import NamedTuple

from telex.delivery import membership
from telex.delivery.routing import Route, normal_address, role_at, route
from telex.delivery.validator_cache import Participants
from telex.model.event import COMING_AND_GOING, Event, detail_of
from telex.model.finding import Finding
from telex.model.limits import Limits
from telex.model.roster import ALL_OF_ROLE, EVERYONE, HUMAN, ONE_OF_ROLE, Member, Roster
from telex.replay.pair_cache import PairCache
from telex.replay.role_counts import RoleCounts
from telex.validation.authorization import normalised
from telex.validation.check import CheckPolicy

MEMBERS_MAX = 10_000  # of whom a log may make us remember


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
        self._ways = PairCache[tuple[str, str | None, str | None, bool, bool], ReplayPath | Finding]()
        self._reached = PairCache[tuple[str, bool, str, str, bool], tuple[str, Route, Finding | None]]()
        self.roster = Roster(self._members, self._default_roles)
        self._heads = RoleCounts(self.roster)

    @property
    def is_closed(self) -> bool:
        return bool(self._declared)

    def happened(self, event: Event) -> None:
        """Somebody came or went. Where a team is closed, nobody else could have come; and what the settings say of a
        member holds whatever it said itself."""
        if self._declared and event.agent not in self._declared and event.agent != HUMAN:
            return
        name = event.agent or ""
        before = self._members.get(name)
        changed(self._members, event)
        self._settle(name, before)

    def stands(self, member: Member) -> None:
        """A member is now like this."""
        before = self._members.get(member.name)
        self._members[member.name] = member
        self._settle(member.name, before)

    def meet(self, member: Member) -> None:
        """Somebody has spoken in a log that does not tell who comes and goes: it was there all the time."""
        known = self._members
        if member.name not in known and member.name and not self.is_closed and len(known) < MEMBERS_MAX:
            known[member.name] = member._replace(joined_at=0.0)
            self._heads.changed(None, known[member.name])
            self._reached.clear()

    def everybody(self) -> Route:
        """Whomever a message may have been for, where nothing says for whom it was."""
        return self._heads.everybody()

    def _settle(self, name: str, before: Member | None) -> None:
        declared, member = self._declared.get(name), self._members.get(name)
        if declared is not None and member is not None:
            self._members[name] = member._replace(role=declared.role, dialects=declared.dialects, declared=True)
        self._heads.changed(before, self._members.get(name))
        self._ways.clear()
        self._reached.clear()

    def way(self, sender: str, role: str | None, to: str | None, taken: bool, bare: bool) -> ReplayPath | Finding:
        """From whom to whom. `taken`: it was accepted, so that whoever is unknown here may have been known there.

        `bare`: all that is known of the sender is what the message says. It is then taken at its word, as a check takes
        it; in a closed team its sender has to be one of the members all the same.
        """
        key = (sender, role, to, taken, bare)
        known = self._ways.get(key)
        if known is None:
            known = self._way(sender, role, to, taken)
            if bare and not self.is_closed and not isinstance(known, Finding):
                known = known._replace(pair=NOBODY)
            self._ways.keep(key, known, 0 if isinstance(known, Finding) else len(known.inboxes))
        return known

    def _way(self, sender: str, role: str | None, to: str | None, taken: bool) -> ReplayPath | Finding:
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
        # It was taken, so whoever is meant was there: nobody is to be told whose name is like it, and the many others
        # are not held against it.
        if address == EVERYONE:
            return self._heads.others(sender.name)
        if address.startswith(ALL_OF_ROLE):
            members = self.roster.of_role(address.removeprefix(ALL_OF_ROLE))
            return tuple([member.name for member in members if member.name != sender.name])
        known = None if address.startswith(ONE_OF_ROLE) else self._members.get(address)
        return (address,) if known is None or known.is_here else route(address, sender, self.roster)

    def _role_at(self, address: str) -> str | None:
        if address.startswith((ONE_OF_ROLE, ALL_OF_ROLE)):
            role = address.split(":", 1)[1]
            return role if self._heads.has_role(role) else None
        return role_at(address, self.roster)

    def reached(
        self, recipient: str, sender: Member, *, by_role: bool, taken: bool
    ) -> tuple[str, Route, Finding | None]:
        """For whom a message itself says that it is: the address, the inboxes, and what speaks against it."""
        key = (recipient, by_role, sender.name, sender.role, taken)
        known = self._reached.get(key)
        if known is None:
            address = self._addressed(recipient, by_role=by_role)
            found = self.heard_by(address, sender, taken=taken)
            if isinstance(found, Finding):
                known = address, (), found
            else:
                known = (address, found, None) if address else (EVERYONE, self.everybody(), None)
            self._reached.keep(key, known, len(known[1]))
        return known

    def _addressed(self, recipient: str, *, by_role: bool) -> str:
        """The address that a message itself names: an agent, or whoever has that role."""
        name = normal_address(recipient)
        is_role = by_role and self.roster.find(name) is None and self._heads.has_role(name)
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

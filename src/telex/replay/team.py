"""Team state of a replay: the members at each point of a log, under the settings of the replay.

Members join and leave by the events of the log. Many logs have no such events, or only some. In an open team, the
sender and the recipient of a message that was accepted are then taken as members. In a closed team they are not: the
replay is to report them.
"""

from collections.abc import Mapping
from typing import Any

from telex.bus.context import EMPTY, CachedRoute, RouteKey, TeamState
from telex.delivery.membership import name_not_allowed
from telex.delivery.routing import Participants, Route, route
from telex.model.finding import Finding
from telex.model.message import COMING_AND_GOING, Event, detail_of
from telex.model.roster import ALL_OF_ROLE, EVERYONE, ONE_OF_ROLE, Member, Roster
from telex.ports.store import Transaction
from telex.validation.authorization import normalised

NEVER = float("inf")
ROUTES_MAX = 1_024  # that are cached; one to everyone has as many inboxes as there are members


def apply_member_event(members: dict[str, Member], event: Event) -> None:
    """Change the members as an event of a log says: one has joined, left or stopped."""
    name, at = event.agent, event.at
    if name is None or event.kind not in COMING_AND_GOING:
        return
    member = members.get(name)
    if event.kind == "joined":
        detail = detail_of(event)
        role, reads = detail.get("role"), detail.get("reads")
        is_here = member is not None and member.is_here and member.joined_at is not None
        members[name] = Member(
            name=name,
            role=role if isinstance(role, str) else member.role if member is not None else "",
            dialects=tuple(one for one in reads if isinstance(one, str)) if isinstance(reads, list) else (),
            declared=member.declared if member is not None else False,
            joined_at=member.joined_at if member is not None and is_here else at,
        )
    elif member is not None:
        left = at if event.kind in ("left", "forced") else member.left_at
        stopped = at if event.kind in ("stopped", "forced") else member.stopped_at
        members[name] = member._replace(left_at=left, stopped_at=stopped)


class ReplayTeam(TeamState):
    was_accepted = False  # the message at hand: then its sender and recipient were members
    _everybody: Route | None = None
    is_bare = False  # all that is known of its sender is what the message claims

    @property
    def is_closed(self) -> bool:
        return bool(self._declared)

    @property
    def is_lenient(self) -> bool:
        """An accepted message of an open team passes, whether the log names its agents or not."""
        return self.was_accepted and not self._declared

    def route(self, key: RouteKey) -> CachedRoute | Finding:
        """As the bus resolves it. As in `telex check`, the claim of a bare message is accepted, except that in a closed
        team its sender must be one of the members."""
        cached = (*key, self.was_accepted, self.is_bare)
        known = self._replay_routes.get(cached)
        if known is not None:
            return known
        found = self._resolve(key)
        if not isinstance(found, Finding):
            if len(self._replay_routes) >= ROUTES_MAX:
                self._replay_routes.clear()
            self._replay_routes[cached] = found
        return found

    def _resolve(self, key: RouteKey) -> CachedRoute | Finding:
        sender, role, to = key
        member = self.resolve_member(sender, role)
        if isinstance(member, Finding):
            return member
        found = self._route_of(member, to or None, self.roster, joins=False)._replace(seen_until=NEVER)
        participants = found.participants._replace(as_role=member.role or None)
        if self.is_bare and not self.is_closed:
            participants = Participants()
        return found._replace(participants=participants)

    def resolve_member(self, name: str, role: str | None, *, by: str | None = None) -> Member | Finding:
        name = normalised(name)
        if not name:
            return Member("", "")
        if self.roster.find(name) is None:
            if self.is_closed and role is None and (others := self.roster.of_role(name)):
                return others[0]  # a message that is signed with a role: one of those who have it
            gone = self.roster.members.get(name)
            if self.is_lenient and (gone is None or gone.stopped_at is None):
                return name_not_allowed(name, self._limits) or Member(name, normalised(role) if role else "")
        return super().resolve_member(name, role or None, by=by)

    def route_to(self, address: str, sender: Member, roster: Roster) -> Route | Finding:
        """The recipients of an accepted message were members: no finding says that they are not."""
        if not self.is_lenient:
            return route(address, sender, roster)
        if address == EVERYONE:
            return tuple([member.name for member in roster.known() if member.name != sender.name])
        if address.startswith(ALL_OF_ROLE):
            members = roster.of_role(address.removeprefix(ALL_OF_ROLE))
            return tuple([member.name for member in members if member.name != sender.name])
        known = None if address.startswith(ONE_OF_ROLE) else roster.members.get(address)
        return (address,) if known is None or known.is_here else route(address, sender, roster)

    def everybody(self) -> Route:
        """Every inbox of the team, for a message that names no recipient."""
        if self._everybody is None:
            roster = self.roster
            names = [member.name for member in roster.known()]
            expected = [role for role in roster.default_roles if role not in roster.members]
            self._everybody = (*names, *expected, *(ONE_OF_ROLE + role for role in roster.roles()))
        return self._everybody

    # --- topics: states are never dropped, so that the store need not keep the messages that they are folded from ----

    def topic_names(self, kind: str) -> list[str]:
        return sorted(name for name in self._topics if name == kind or name.startswith(kind + ":"))

    def _read_on(self, name: str) -> tuple[int, Any]:
        return EMPTY

    def put_topics(self, tx: Transaction, states: Mapping[str, Any], seq: int) -> None:
        for name, state in states.items():
            self._topics[name] = seq, state

    def forget_routes(self) -> None:
        super().forget_routes()
        self._replay_routes: dict[tuple[object, ...], CachedRoute] = {}
        self._everybody = None

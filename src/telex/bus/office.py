"""What do all verbs share? The store, the clock, the desk with its lanes, the roster, and who waits for news."""

from collections.abc import Sequence

from telex.flow.admission import STRICT, Desk
from telex.flow.lanes import Lanes
from telex.flow.routing import inboxes_of
from telex.model.event import Event
from telex.model.limits import Limits
from telex.model.paths import ROOT
from telex.model.refusal import Finding
from telex.model.roster import EVERYONE, HUMAN, TELEX, Member, Roster, roster_of
from telex.ports.clock import Clock
from telex.ports.store import Store
from telex.rules.authorization import normalised


class Office:
    def __init__(self, store: Store, clock: Clock, desk: Desk = STRICT, members: Sequence[Member] = ()) -> None:
        self.store, self.clock, self.desk = store, clock, desk
        self.lanes = Lanes(desk)
        self.declared = tuple(members)
        self.default_roles = default_roles(desk, closed=bool(members))
        self.dialects = {dialect.name: dialect for dialect in desk.dialects}
        self._roster: Roster | None = None
        self._roster_at = -1
        self._seen: dict[str, float] = {}

    @property
    def limits(self) -> Limits:
        return self.desk.limits

    # --- who is there ------------------------------------------------------------------------------------------------

    async def roster(self) -> Roster:
        """As it is at this moment; read again only when somebody else has written since."""
        version = self.store.others()
        if self._roster is None or version != self._roster_at:
            joined = {member.name: member for member in await self.store.members()}
            for member in self.declared:
                known = joined.get(member.name, member)
                joined[member.name] = known._replace(role=member.role, dialects=member.dialects, declared=True)
            self._roster, self._roster_at = roster_of(joined.values(), self.default_roles), version
        return self._roster

    async def member(self, name: str, role: str | None = None) -> Member | Finding:
        """Who is acting? Somebody new joins by acting, where the team is open and the role is known."""
        name, role = normalised(name), normalised(role) if role is not None else None
        roster, now = await self.roster(), self.clock.now()
        found = roster.find(name)
        if found is None:
            return await self._newcomer(name, role, roster, now)
        if role is not None and role != found.role:
            say = f"Leave out --role, or act as somebody else: {name} is {found.role} here."
            return Finding("role-differs", ROOT, say, expected=found.role, found=role, nearest=found.role)
        if found.joined_at is None:
            return await self.enlist(found, now)
        if now - self._seen.get(name, found.seen_at or 0.0) > self.limits.silent_seconds / 4:
            self._seen[name] = now
            await self.store.seen(name, now)
        return found

    async def _newcomer(self, name: str, role: str | None, roster: Roster, now: float) -> Member | Finding:
        if (wrong := name_not_allowed(name, self.limits)) is not None:
            return wrong
        close = roster.nearest(name)
        perhaps = f"Act as {close}, or" if close else "Act as somebody on the roster, or"
        if self.declared:
            say = f"{perhaps} add {name} to telex.toml: the team is closed."
            return Finding("sender-unknown", ROOT, say, expected=", ".join(roster.names()), found=name, nearest=close)
        if role is None:
            say = f"{perhaps} say which role {name} has: --role ROLE."
            return Finding("sender-unknown", ROOT, say, expected="a member of the team", found=name, nearest=close)
        if role not in roster.roles():
            from telex.model.nearest import nearest

            meant = nearest(role, roster.roles())
            say = f"Take the role {meant}." if meant else "Take one of the roles that the team's dialects have."
            return Finding("role-unknown", ROOT, say, expected=", ".join(roster.roles()), found=role, nearest=meant)
        return await self.enlist(Member(name, role), now)

    async def enlist(self, member: Member, now: float) -> Member:
        joined = member._replace(joined_at=now, seen_at=now, left_at=None)
        await self.store.enlist(joined, Event(0, now, "joined", member.name, detail=f'{{"role": "{member.role}"}}'))
        self.forget_roster()
        return joined

    def forget_roster(self) -> None:
        self._roster = None

    async def inboxes(self, member: Member) -> tuple[str, ...]:
        return inboxes_of(member, await self.roster())


def default_roles(desk: Desk, *, closed: bool) -> tuple[str, ...]:
    """Who is a member by name without having been declared. A person always is."""
    if closed:
        return (HUMAN,)
    among = (desk.forced,) if desk.forced else desk.dialects
    return tuple(dict.fromkeys([*(normalised(role) for dialect in among for role in dialect.roles), HUMAN]))


def name_not_allowed(name: str, limits: Limits) -> Finding | None:
    """An agent's name is a word that can be shown, written on a command line, and told from an address."""
    if not name:
        say = "Say who is acting: the name is empty."
    elif name in (TELEX, EVERYONE) or ":" in name:
        say = f"Choose another name: {name} means something else here."
    elif not name.isprintable() or len(name) > limits.id_characters_max or name.startswith("-"):
        say = f"Choose a name of at most {limits.id_characters_max} characters that can all be seen."
    else:
        return None
    return Finding("name-not-allowed", ROOT, say, found=name[: limits.found_characters_max])

"""Who is here, and of which roles, when there may be thousands? Counted as they come and go.

A roster finds that out by going through everybody. A log may make thousands known, a new one with every line, and asks
at every line: so here whoever is new is put behind the others. Only where somebody changes is it all told anew.
"""

from telex.model.roster import ONE_OF_ROLE, Member, Roster


class RoleCounts:
    def __init__(self, roster: Roster) -> None:
        self._roster = roster
        self._of_role: dict[str, int] = {}
        self._gone = 0
        for member in roster.members.values():
            self._count(member, 1)
        self._names: tuple[str, ...] | None = None  # of those who are here, in the order of the roster; None: not told
        self._roles: dict[str, None] | None = None  # theirs, each once
        self._everybody: tuple[str, ...] | None = None

    @property
    def somebody_is_gone(self) -> bool:
        return self._gone > 0

    def changed(self, before: Member | None, after: Member | None) -> None:
        """A member that was like this, or was none, is like that in the roster now."""
        if before is None and after is None:
            return
        self._count(before, -1)
        self._count(after, 1)
        if before is None and after is not None and after.is_here:
            self._put_behind(after)
        elif before is None or after is None or (before.is_here, before.role) != (after.is_here, after.role):
            self._names = self._roles = self._everybody = None

    def has_role(self, role: str) -> bool:
        """Is there anybody of that role? The same as `Roster.of_role`, which says who."""
        return role in self._of_role or (role in self._roster.default_roles and role not in self._roster.members)

    def others(self, name: str) -> tuple[str, ...]:
        """Everyone but this one, as far as they have been seen."""
        names = self._here()
        member = self._roster.members.get(name)
        if member is None or not member.is_here:
            return names
        place = names.index(name)
        return names[:place] + names[place + 1 :]

    def everybody(self) -> tuple[str, ...]:
        """Every inbox of the team."""
        if self._everybody is None:
            if self._roles is None:
                self._roles = dict.fromkeys(member.role for member in self._roster.known())
            defaults = self._roster.default_roles
            expected = (role for role in defaults if role not in self._roster.members)
            roles = dict.fromkeys((*self._roles, *defaults))
            self._everybody = (*self._here(), *expected, *(ONE_OF_ROLE + role for role in roles))
        return self._everybody

    def _put_behind(self, member: Member) -> None:
        if self._names is not None:
            self._names = (*self._names, member.name)
        if self._roles is not None:
            self._roles[member.role] = None
        self._everybody = None

    def _here(self) -> tuple[str, ...]:
        if self._names is None:
            self._names = tuple([member.name for member in self._roster.known()])
        return self._names

    def _count(self, member: Member | None, step: int) -> None:
        if member is None:
            return
        if not member.is_here:
            self._gone += step
            return
        left = self._of_role.get(member.role, 0) + step
        if left:
            self._of_role[member.role] = left
        else:
            del self._of_role[member.role]

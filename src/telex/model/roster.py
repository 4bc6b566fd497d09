"""Roster of a team: names, roles and the dialects that each member reads."""

from collections.abc import Iterable, Mapping

from telex.model.named_tuple import NamedTuple
from telex.model.text import nearest

AT, PLUS = "@", "+"


class DialectChoice(NamedTuple):
    """Dialect, version and field names that a member reads: `vbw-typed`, `vbw-typed@2.0`, `vbw-typed@2.0+approved`."""

    dialect: str
    version: str | None = None  # None: any
    spellings: tuple[str, ...] = ()  # later names of fields that it wants

    @property
    def name(self) -> str:
        return self.dialect if self.version is None else self.dialect + AT + self.version

    @property
    def text(self) -> str:
        return PLUS.join((self.name, *self.spellings))


def choice_of(text: str) -> DialectChoice:
    """The parsed choice; whether that dialect exists is not checked."""
    named, *spellings = text.split(PLUS)
    dialect, at, version = named.partition(AT)
    return DialectChoice(dialect, version if at else None, tuple(spellings))


HUMAN = "human"
LEADS = frozenset({HUMAN, "lead", "orchestrator", "build-orchestrator"})  # roles that may add an agent that was stopped
AGENT = "agent"  # role of a newcomer to an open team that gives none: it may send types that need no role
TELEX = "telex"  # sender of messages of the bus itself; no member may have this name
EVERYONE = "*"
ONE_OF_ROLE, ALL_OF_ROLE = "role:", "all:"


class Member(NamedTuple):
    name: str  # normalised; also the name of the inbox
    role: str
    dialects: tuple[str, ...] = ()  # that it reads, by preference; empty: any
    declared: bool = False  # in telex.toml
    joined_at: float | None = None  # None: a member by default or declaration that has not been seen yet
    seen_at: float | None = None
    left_at: float | None = None
    stopped_at: float | None = None  # when it shut down or was forced out; only a lead or a person adds it again

    @property
    def is_here(self) -> bool:
        return self.left_at is None and self.stopped_at is None

    def as_declared(self, declared: "Member") -> "Member":
        """The member with its declaration in telex.toml, which need not name dialects."""
        return self._replace(role=declared.role, dialects=declared.dialects or self.dialects, declared=True)

    @property
    def inboxes(self) -> tuple[str, str]:
        """Its own inbox, and the one it shares with its role."""
        return self.name, ONE_OF_ROLE + self.role


class Roster(NamedTuple):
    members: Mapping[str, Member]  # by name: declared or joined
    default_roles: tuple[str, ...] = ()  # default members, by their own name; empty in a closed team

    def find(self, name: str) -> Member | None:
        """The member of that normalised name that is here, default members included."""
        member = self.members.get(name)
        if member is not None and member.is_here:
            return member
        if member is None and name in self.default_roles:
            return Member(name, name)
        return None

    def known(self) -> list[Member]:
        """Declared or joined members that are here, by name: the recipients of a broadcast."""
        return sorted([member for member in self.members.values() if member.is_here])

    def of_role(self, role: str) -> list[Member]:
        """Members of that role that are here; the default member only where there is no other."""
        members = sorted([member for member in self.members.values() if member.role == role and member.is_here])
        default = self.find(role) if not members else None
        return members if default is None or default.role != role else [default]

    def nearest(self, name: str) -> str | None:
        return nearest(name, self.names())

    def names(self) -> list[str]:
        """All possible recipients: known members and default members."""
        defaults = (role for role in self.default_roles if self.find(role) is not None)
        return list(dict.fromkeys([*(member.name for member in self.known()), *defaults]))

    def roles(self) -> list[str]:
        return list(dict.fromkeys([*(member.role for member in self.known()), *self.default_roles]))


def roster_of(members: Iterable[Member], default_roles: tuple[str, ...] = ()) -> Roster:
    return Roster({member.name: member for member in members}, default_roles)

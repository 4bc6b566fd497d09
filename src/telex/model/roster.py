"""A reader's choice of dialect, version and field names: `vbw-typed`, `vbw-typed@2.0`,
`vbw-typed@2.0+approved`.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from telex.model.text import nearest

AT, PLUS = "@", "+"


class DialectChoice(NamedTuple):
    """One thing that a member reads."""

    dialect: str
    version: str | None = None  # None: whichever there is
    spellings: tuple[str, ...] = ()  # fields that it wants under their later names

    @property
    def name(self) -> str:
        """The dialect, with its version if one was chosen."""
        return self.dialect if self.version is None else self.dialect + AT + self.version

    @property
    def text(self) -> str:
        """As it was written."""
        return PLUS.join((self.name, *self.spellings))


def choice_of(text: str) -> DialectChoice:
    """What such a word says. Whether there is any such thing is for others to know."""
    named, *spellings = text.split(PLUS)
    dialect, at, version = named.partition(AT)
    return DialectChoice(dialect, version if at else None, tuple(spellings))


HUMAN = "human"
LEADS = frozenset({HUMAN, "lead", "orchestrator", "build-orchestrator"})  # roles that may add an agent that was stopped
AGENT = "agent"  # role of a newcomer to an open team that gives none: it may send what needs no role
TELEX = "telex"  # who signs reports made by the bus itself; nobody may be called so
EVERYONE = "*"
ONE_OF_ROLE, ALL_OF_ROLE = "role:", "all:"


class Member(NamedTuple):
    name: str  # normalised; also the name of the inbox
    role: str
    dialects: tuple[str, ...] = ()  # what it reads, its first choice first; empty: anything
    declared: bool = False  # in telex.toml
    joined_at: float | None = None  # None: a member by default or declaration that has not been seen yet
    seen_at: float | None = None
    left_at: float | None = None
    stopped_at: float | None = None  # when it shut down or was forced out; only a lead or a person adds it again

    @property
    def is_here(self) -> bool:
        """Neither left nor shut down: it may act and be written to."""
        return self.left_at is None and self.stopped_at is None

    def as_declared(self, declared: "Member") -> "Member":
        """This, as telex.toml has it. What it reads may be left to itself to say when it joins."""
        return self._replace(role=declared.role, dialects=declared.dialects or self.dialects, declared=True)

    @property
    def inboxes(self) -> tuple[str, str]:
        """Where its messages wait: its own inbox, and the one it shares with its role."""
        return self.name, ONE_OF_ROLE + self.role


class Roster(NamedTuple):
    members: Mapping[str, Member]  # by name: declared or joined
    default_roles: tuple[str, ...] = ()  # those that are members by their own name; empty when the team is closed

    def find(self, name: str) -> Member | None:
        """The member of that (normalised) name, one by default included."""
        member = self.members.get(name)
        if member is not None and member.is_here:
            return member
        if member is None and name in self.default_roles:
            return Member(name, name)
        return None

    def known(self) -> list[Member]:
        """Those who were declared or have joined, and neither left nor shut down, by name: whom a broadcast reaches."""
        return sorted([member for member in self.members.values() if member.is_here])

    def of_role(self, role: str) -> list[Member]:
        """Everyone of that role; the one by default only where there is no other."""
        members = sorted([member for member in self.members.values() if member.role == role and member.is_here])
        default = self.find(role) if not members else None
        return members if default is None or default.role != role else [default]

    def nearest(self, name: str) -> str | None:
        return nearest(name, self.names())

    def names(self) -> list[str]:
        """Everyone who can be written to: those known, and the defaults that have not left."""
        defaults = (role for role in self.default_roles if self.find(role) is not None)
        return list(dict.fromkeys([*(member.name for member in self.known()), *defaults]))

    def roles(self) -> list[str]:
        return list(dict.fromkeys([*(member.role for member in self.known()), *self.default_roles]))


def roster_of(members: Iterable[Member], default_roles: tuple[str, ...] = ()) -> Roster:
    return Roster({member.name: member for member in members}, default_roles)

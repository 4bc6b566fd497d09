"""Routing: from an address to inboxes by the roster, or a finding that lists possible recipients.

An address is an agent's name, `role:qa` (one agent of that role), `all:qa` (each of them) or `*` (all other members).
No message is stored for an inbox without a reader.
"""

from collections.abc import Collection
from itertools import islice

from telex.model.finding import Finding
from telex.model.limits import LIMITS
from telex.model.named_tuple import NamedTuple
from telex.model.roster import ALL_OF_ROLE, EVERYONE, ONE_OF_ROLE, Member, Roster
from telex.model.text import ROOT, nearest
from telex.validation.authorization import normalised

Route = tuple[str, ...]


class Participants(NamedTuple):
    """Sender and recipient of a message, as far as the roster knows them."""

    as_role: str | None = None
    to_role: str | None = None
    as_name: str | None = None
    to_name: str | None = None


def normal_address(address: str) -> str:
    """The address as the roster spells it."""
    address = address.strip()
    for prefix in (ONE_OF_ROLE, ALL_OF_ROLE):
        if address.lower().startswith(prefix):
            return prefix + normalised(address[len(prefix) :])
    return address if address == EVERYONE else normalised(address)


def route(address: str, sender: Member, roster: Roster) -> Route | Finding:
    """The inboxes of a normalised address."""
    if address == EVERYONE:
        return _others(sender, roster.known(), "the team")
    if address.startswith(ALL_OF_ROLE):
        role = address.removeprefix(ALL_OF_ROLE)
        members = roster.of_role(role)
        return _others(sender, members, f"role {role}") if members else _unknown_role(role, roster)
    if address.startswith(ONE_OF_ROLE):
        role = address.removeprefix(ONE_OF_ROLE)
        return (address,) if roster.of_role(role) else _unknown_role(role, roster)
    return _by_name(address, roster)


def role_at(address: str, roster: Roster) -> str | None:
    """The role of the recipient; None for everyone and for unknown names."""
    if address.startswith((ONE_OF_ROLE, ALL_OF_ROLE)):
        role = address.split(":", 1)[1]
        return role if roster.of_role(role) else None
    member = roster.find(address)
    return member.role if member is not None else None


def inboxes_of(member: Member, roster: Roster) -> tuple[str, ...]:
    """The inboxes of a member: its own, that of its role, and the one named like its role while no agent of that name
    has joined."""
    is_free = member.role in roster.default_roles and member.role not in roster.members
    named_like_role = (member.role,) if is_free and member.role != member.name else ()
    return (*member.inboxes, *named_like_role)


def _by_name(name: str, roster: Roster) -> Route | Finding:
    member = roster.find(name)
    if member is not None:
        return (member.name,)
    if (gone := roster.members.get(name)) is not None and not gone.is_here:
        has = "has left the team" if gone.stopped_at is None else "has shut down"
        say = f"Send it to a member of the team: {name} {has}."
        return Finding("recipient-has-left", ROOT, say, expected=listed(roster.names()), found=name)
    close, name = roster.nearest(name), name[: LIMITS.found_characters_max]
    closed = any(member.declared for member in roster.members.values())
    come = "add it to telex.toml" if closed else "have it join the team (in a shell: telex team join NAME --role ROLE)"
    whom = close or f"a member of the team, or {come}"
    say = f"Send it to {whom}: no agent or role is called {name}."
    return Finding("recipient-unknown", ROOT, say, expected=listed(roster.names()), found=name, nearest=close)


def _others(sender: Member, members: list[Member], whom: str) -> Route | Finding:
    others = tuple(member.name for member in members if member.name != sender.name)
    if others:
        return others
    say = f"Send it to one agent by name, or wait until another of {whom} has joined: no agent would receive this."
    return Finding("no-recipients", ROOT, say, found=whom)


def _unknown_role(role: str, roster: Roster) -> Finding:
    held = {member.role for member in roster.known()}
    taken = [other for other in roster.roles() if other in held or roster.of_role(other)]
    close, role = nearest(role, taken), role[: LIMITS.found_characters_max]
    whom = f"role:{close}" if close else "an agent by name, or to a role that an agent has"
    say = f"Send it to {whom}: no agent has the role {role}."
    return Finding("recipient-unknown", ROOT, say, expected=listed(taken), found=role, nearest=close)


def listed(names: Collection[str], limit: int = 12) -> str:
    """`one of a, b and 3 more`, short also in a large team."""
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return "one of " + ", ".join(islice(names, limit)) + more

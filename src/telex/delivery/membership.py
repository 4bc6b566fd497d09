"""Check whether a name may act in a role, with the finding if it may not.

Locally a caller names itself. Its role in the roster decides what it may send; a claim in a message changes nothing.
"""

from collections.abc import Sequence

from telex.delivery.routing import listed
from telex.model.dialect_version import DialectChoice, choice_of
from telex.model.finding import Finding
from telex.model.json_path import ROOT
from telex.model.limits import Limits
from telex.model.roster import AGENT, EVERYONE, LEADS, TELEX, Member, Roster
from telex.model.suggestion import nearest

ROLES_SHOWN_MAX = 40  # all there are, as long as they are few enough to choose from


def name_not_allowed(name: str, limits: Limits) -> Finding | None:
    """An agent's name is a word that can be shown, written on a command line, and told from an address."""
    if not name:
        say = "Say who is acting: the name is empty."
    elif name == TELEX:
        say = f"Choose another name: {name} is the bus itself."
    elif name == EVERYONE or ":" in name:
        say = "Choose another name: * and names with a colon are addresses."
    elif not name.isprintable() or len(name) > limits.id_characters_max or name.startswith("-"):
        say = (
            f"Choose a name of at most {limits.id_characters_max} characters that can all be seen, with no - in front."
        )
    else:
        return None
    return Finding("name-not-allowed", ROOT, say, found=name[: limits.found_characters_max])


def newcomer(
    name: str, role: str | None, roster: Roster, limits: Limits, *, closed: bool, by: str | None = None
) -> Member | Finding:
    """The member that this name becomes: a new one, or one that comes back. `closed`: only declared members may join.
    `by`: who adds it; one that has shut down is added by a lead or a person only."""
    if (finding := name_not_allowed(name, limits)) is not None:
        return finding
    gone = roster.members.get(name)
    if closed and (gone is None or not gone.declared):
        return not_declared(name, roster)
    if gone is not None and gone.stopped_at is not None:
        adds = roster.find(by) if by is not None else None
        if adds is None or adds.role not in LEADS:
            return has_shut_down(gone)
        role = role or gone.role
    if gone is not None and role is None:
        return has_left(gone)
    if gone is not None and role == gone.role:
        return gone
    if gone is not None and role is not None and closed:
        return role_differs(gone, role, limits)
    if role in (None, AGENT) or role in roster.roles():
        return Member(name, role or AGENT)
    return role_unknown(role or "", roster, limits)


def sender_unknown(name: str, roster: Roster) -> Finding:
    """A name that is not on the roster, for verbs that add no member."""
    close = roster.nearest(name)
    act = f"Act as {close}, or add" if close else "Add"
    say = f"{act} it to the team first: no agent is called {name}."
    return Finding("sender-unknown", ROOT, say, expected=listed(roster.names()), found=name, nearest=close)


def joined_as_agent(member: Member, roster: Roster) -> Finding:
    """Note on the first message of a newcomer that gave no role: its name may be a typing error."""
    close = roster.nearest(member.name)
    meant = f" Did you mean {close}?" if close and close != member.name else ""
    say = f"New in the team: {member.name}, with the role {AGENT}, which may send what needs no role.{meant}"
    return Finding("joined-as-agent", ROOT, say, "note", found=member.name, nearest=close)


def not_declared(name: str, roster: Roster) -> Finding:
    """To somebody new in a team that telex.toml has closed."""
    close = roster.nearest(name)
    say = f"Act as {close or 'a member of the team'}, or add {name} to telex.toml: only its members may act."
    return Finding("sender-unknown", ROOT, say, expected=listed(roster.names()), found=name, nearest=close)


def has_left(member: Member) -> Finding:
    say = f"Give the role {member.role} once to come back: {member.name} has left the team."
    return Finding("sender-unknown", ROOT, say, expected=f"the role {member.role}", found=member.name)


def has_shut_down(member: Member) -> Finding:
    back = f"telex team join {member.name} --as lead"
    say = f"Ask a lead or a person to add it again ({back}): {member.name} has shut down."
    return Finding("sender-has-shut-down", ROOT, say, expected=back, found=member.name)


def role_unknown(role: str, roster: Roster, limits: Limits) -> Finding:
    meant, role = nearest(role, roster.roles()), role[: limits.found_characters_max]
    which = f"the role {meant}" if meant else "one of the team's roles"
    say = f"Take {which}: no dialect of the team has a role {role}."
    expected = listed(roster.roles(), ROLES_SHOWN_MAX)
    return Finding("role-unknown", ROOT, say, expected=expected, found=role, nearest=meant)


def role_differs(member: Member, role: str, limits: Limits) -> Finding:
    say = f"Leave out the role, or act under another name: {member.name} is {member.role} here."
    found = role[: limits.found_characters_max]
    return Finding("role-differs", ROOT, say, expected=member.role, found=found, nearest=member.role)


def reads_differ(member: Member, reads: Sequence[str], limits: Limits) -> Finding | None:
    """To a declared member that says it reads something else than its declaration says."""
    if _meant(reads) == _meant(member.dialects):
        return None
    declared = " ".join(f"--reads {dialect}" for dialect in member.dialects)
    say = (
        f"Leave out the dialects, or change those of {member.name} in telex.toml:"
        f" what it reads stands there, {', '.join(member.dialects)}."
    )
    found = ", ".join(reads)[: limits.found_characters_max]
    return Finding("reads-differ", ROOT, say, expected=declared, found=found)


def _meant(reads: Sequence[str]) -> list[DialectChoice]:
    """No dialect has two versions, so whether one is named makes no difference; of two of a dialect the first holds."""
    found: dict[str, DialectChoice] = {}
    for choice in map(choice_of, reads):
        found.setdefault(choice.dialect, choice._replace(version=None))
    return list(found.values())


def dialect_unknown(name: str, dialects: Sequence[str]) -> Finding:
    meant = nearest(name, dialects)
    say = (
        f"Take {meant}: there is no dialect {name}."
        if meant
        else f"Name a dialect that there is; {name or 'nothing'} is none."
    )
    return Finding("dialect-unknown", ROOT, say, expected=listed(list(dialects)), found=name, nearest=meant)

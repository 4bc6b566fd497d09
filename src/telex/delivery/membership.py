"""Membership: whether a name may act in a role and read a dialect, with the finding if it may not.

Locally a caller names itself. Its role in the roster decides what it may send; a claim in a message changes nothing. A
version belongs to its dialect. The name of a family of dialects is resolved here, so the roster has only dialects.
"""

from collections.abc import Container, Iterable, Sequence

from telex.delivery.routing import listed
from telex.dialects.registry import FAMILIES, PLAIN
from telex.dialects.schema import Dialect, MessageType, Tree
from telex.model.finding import Finding
from telex.model.limits import Limits
from telex.model.roster import AGENT, AT, EVERYONE, LEADS, PLUS, TELEX, DialectChoice, Member, Roster, choice_of
from telex.model.text import ROOT, nearest

ROLES_SHOWN_MAX = 40


def name_not_allowed(name: str, limits: Limits) -> Finding | None:
    """A name is printable, usable on a command line, and not an address."""
    if not name:
        say = "Give the name of the agent: it is empty."
    elif name == TELEX:
        say = f"Choose another name: {name} is the bus itself."
    elif name == EVERYONE or ":" in name:
        say = "Choose another name: * and names with a colon are addresses."
    elif not name.isprintable() or len(name) > limits.id_characters_max or name.startswith("-"):
        say = f"Choose a name of at most {limits.id_characters_max} printable characters, with no - in front."
    else:
        return None
    return Finding("name-not-allowed", ROOT, say, found=name[: limits.found_characters_max])


def newcomer(
    name: str, role: str | None, roster: Roster, limits: Limits, *, closed: bool, by: str | None = None
) -> Member | Finding:
    """The member that this name becomes: a new one, or one that comes back. `closed`: only declared members may join.
    `by`: the member that adds it; one that has shut down is added by a lead or a person only."""
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
    """A newcomer in a closed team."""
    close = roster.nearest(name)
    say = f"Act as {close or 'a member of the team'}, or add {name} to telex.toml: only its members may act."
    return Finding("sender-unknown", ROOT, say, expected=listed(roster.names()), found=name, nearest=close)


def has_left(member: Member) -> Finding:
    how = f'role="{member.role}" (--role on the command line)'
    say = f"Give its role once to come back, {how}: {member.name} has left the team."
    return Finding("sender-unknown", ROOT, say, expected=f"the role {member.role}", found=member.name)


def has_shut_down(member: Member) -> Finding:
    back = f'join("{member.name}", by="lead"), or telex team join {member.name} --as lead'
    say = f"Ask a lead or a person to add it again, {back}: {member.name} has shut down."
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
    """A declared member that wants to read other dialects than telex.toml declares."""
    if _choices(reads) == _choices(member.dialects):
        return None
    declared, found = ", ".join(member.dialects), ", ".join(reads)[: limits.found_characters_max]
    say = f"Leave out the dialects, or change them in telex.toml: it declares {declared} for {member.name}."
    return Finding("reads-differ", ROOT, say, expected=declared, found=found)


def _choices(reads: Sequence[str]) -> list[DialectChoice]:
    """The first choice of each dialect, without its version."""
    choices: dict[str, DialectChoice] = {}
    for choice in map(choice_of, reads):
        choices.setdefault(choice.dialect, choice._replace(version=None))
    return list(choices.values())


def dialect_unknown(name: str, dialects: Sequence[str]) -> Finding:
    meant = nearest(name, dialects)
    say = f"Take {meant}: there is no dialect {name}." if meant else f"Take another dialect: {name!r} is unknown."
    return Finding("dialect-unknown", ROOT, say, expected=listed(list(dialects)), found=name, nearest=meant)


def understood(text: str, dialects: Iterable[Dialect], limits: Limits) -> str | Finding:
    """The choice as it is stored, with the dialect's own name in place of its family's."""
    known = {dialect.name: dialect for dialect in (*dialects, PLAIN)}
    choice = choice_of(text)
    versions = [dialect for dialect in known.values() if dialect.base == choice.dialect]  # the default one first
    family = [known[name] for name in FAMILIES.get(choice.dialect, ()) if name in known]
    dialect = next((dialect for dialect in (*versions, *family) if dialect.version == choice.version), None)
    if choice.version is None and versions:
        dialect = versions[0]
    found = text[: limits.found_characters_max]
    if dialect is None and not versions and not family:
        return dialect_unknown(choice.dialect[: len(found)], [*known])
    if dialect is None:
        return _no_version(choice, family or [*versions, *_relatives(versions[0], known)], found)
    later = later_spellings(dialect)
    unknown = next((spelling for spelling in choice.spellings if spelling not in later), None)
    if unknown is not None:
        return _no_spelling(dialect, unknown, later, found)
    is_storable = choice.version is not None and not set(choice.version) & set(
        " \t"
    )  # a store separates them by blanks
    return choice._replace(dialect=dialect.base, version=choice.version if is_storable else None).text


def later_spellings(dialect: Dialect) -> list[str]:
    """Later names of fields of this dialect."""
    return list(dict.fromkeys(name for type_ in dialect.types.values() for name in respellings(type_).values()))


def respellings(type_: MessageType) -> dict[str, str]:
    """Later names by field."""
    return {name: field.later_spelling for name, field in type_.fields.items() if field.later_spelling is not None}


def spelt_for(spellings: Container[str], tree: Tree, dialect: Dialect, type_: MessageType) -> Tree | None:
    """The message with each field under the name that its reader has chosen. None: it needs no change."""
    later = respellings(type_)
    inside = tree.get(dialect.payload) if dialect.payload else tree
    if not later or not isinstance(inside, dict):
        return None
    wanted = {name: later[name] for name in later if later[name] in spellings}
    wanted |= {spelling: name for name, spelling in later.items() if spelling not in spellings}
    if not any(name in inside and wanted[name] not in inside for name in wanted):
        return None
    renamed = {name if wanted.get(name, name) in inside else wanted[name]: value for name, value in inside.items()}
    return {**tree, dialect.payload: renamed} if dialect.payload else renamed


def _relatives(dialect: Dialect, known: dict[str, Dialect]) -> list[Dialect]:
    """The other dialects of its family."""
    names = [name for family in FAMILIES.values() if dialect.name in family for name in family]
    return [known[name] for name in names if name in known and known[name].base != dialect.base]


def _no_version(choice: DialectChoice, there: list[Dialect], found: str) -> Finding:
    supported = [dialect.base + AT + dialect.version for dialect in there]
    exact = next((dialect.base + AT + dialect.version for dialect in there if dialect.version == choice.version), None)
    meant = exact or nearest(found, supported) or supported[0]
    if not choice.version:
        say = f"Name the version of {choice.dialect}: {' or '.join(supported)}."
    else:
        say = f"Take {meant}: the team has no version {choice.version[:20]} of {choice.dialect}."
    return Finding("version-unknown", ROOT, say, expected=listed(supported), found=found, nearest=meant)


def _no_spelling(dialect: Dialect, unknown: str, later: list[str], found: str) -> Finding:
    name = dialect.base + AT + dialect.version
    supported = [name, *(name + PLUS + spelling for spelling in later)]
    close = nearest(unknown, later)
    meant = name + PLUS + close if close else name
    say = f"Take {meant}: no field of {dialect.name} is called {unknown[: len(found)]}."
    return Finding("version-unknown", ROOT, say, expected=listed(supported), found=found, nearest=meant)

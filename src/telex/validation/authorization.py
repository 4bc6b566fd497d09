"""May this role say this, to them?

What a message says of its sender proves nothing. The door it came in by knows who is speaking: another name in the
message is refused, and it is the speaker, not the name, that must be among the type's senders.
"""

from telex.dialects.blanks import is_blank
from telex.dialects.schema import ANY, Dialect, MessageType, Tree
from telex.model.finding import Finding, Severity
from telex.model.json_path import ROOT, path_of
from telex.model.roster import HUMAN
from telex.model.suggestion import nearest

EVERYONE = "*"


def same_name(one: str, other: str) -> bool:
    """Agents' names compare without case, with spaces as hyphens, and with or without `@agent-`."""
    return normalised(one) == normalised(other)


def normalised(name: str) -> str:
    """The name as it is compared. Doing it again changes nothing."""
    if not name.isascii():
        from unicodedata import normalize

        name = normalize("NFC", name)  # é as one letter or as two is the same to whoever reads it
    name = "-".join(name.lower().split())
    while name.startswith("@agent-"):
        name = name.removeprefix("@agent-")
    return name


def authorise(
    tree: Tree,
    dialect: Dialect,
    type_: MessageType,
    *,
    as_role: str | None = None,
    to_role: str | None = None,
    as_name: str | None = None,
    to_name: str | None = None,
    misdelivery: Severity = "warning",
) -> list[Finding]:
    """Everything that speaks against this sender and these receivers. None given: only the claims are checked.

    Names are those of agents; where the dialect's own fields hold roles, they play no part.
    """
    claimed = _claim(tree, dialect.wire.sender, dialect)
    sender = as_role or (claimed if dialect.addresses == "roles" else None)
    if as_role is not None and may_sign_for(as_role, claimed, dialect, type_):
        sender, findings = claimed, []
    else:
        findings = _claim_differs(claimed, signed_as(dialect, as_role, as_name), dialect)
    if sender is not None and not may_send(sender, type_):
        findings.append(_may_not_send(sender, type_, dialect, claimed=as_role is None))
    named = _claim(tree, dialect.wire.recipient, dialect)
    if dialect.addresses == "roles" and named is not None and not may_receive(named, type_):
        findings.append(_may_not_receive(named, type_, path_of(dialect.wire.recipient or ""), "refusal"))
    if to_role is not None and not may_receive(to_role, type_):
        findings.append(_may_not_receive(to_role, type_, ROOT, misdelivery))
    wanted = signed_as(dialect, to_role, to_name)
    if wanted is not None and named is not None and named != EVERYONE and not same_name(named, wanted):
        say = f"Name {wanted} in the message, or send it to {named}: the two differ."
        path = path_of(dialect.wire.recipient or "")
        findings.append(Finding("recipient-differs", path, say, misdelivery, expected=wanted, found=named))
    return findings


def signed_as(dialect: Dialect, role: str | None, name: str | None) -> str | None:
    """What stands in a field that names this agent: its role, or its name where the dialect writes names."""
    return name if dialect.addresses == "names" and name is not None else role


def may_sign_for(role: str, claimed: str | None, dialect: Dialect, type_: MessageType) -> bool:
    """May it say this in the place of that role, since its own is none of the dialect's? A person may answer whatever
    was asked, and everybody may agree to stop, which concerns nobody else. The record says who it was."""
    if claimed is None or dialect.addresses != "roles" or type_.deed is None or role in dialect.roles:
        return False
    allowed = type_.deed.action == ("answer" if role == HUMAN else "stopped")
    return allowed and may_send(claimed, type_)


def may_send(role: str, type_: MessageType) -> bool:
    return type_.senders == ANY or normalised(role) in type_.senders


def has_no_words(role: str, dialect: Dialect, answer: MessageType) -> bool:
    """Is it a role of that dialect, and one that does not send this there? Then it may not in other words either."""
    return role in dialect.roles and not may_send(role, answer)


def may_receive(role: str, type_: MessageType) -> bool:
    """A person may be asked for approval in every dialect, as a person may give it."""
    role = normalised(role)
    asks = type_.deed is not None and type_.deed.action == "ask"
    return type_.receivers == ANY or role in type_.receivers or (asks and role == HUMAN)


def _claim(tree: Tree, field: str | None, dialect: Dialect) -> str | None:
    claimed = tree.get(field) if field else None
    return claimed if isinstance(claimed, str) and not is_blank(claimed) else None


def _claim_differs(claimed: str | None, sender: str | None, dialect: Dialect) -> list[Finding]:
    if claimed is None or sender is None or same_name(claimed, sender):
        return []
    say = f"Sign as {sender}: that is who is sending."
    if dialect.addresses == "roles" and sender not in dialect.roles:
        say = f"Ask somebody else to send it: {sender} is not a role of {dialect.name}."
    path = path_of(dialect.wire.sender or "")
    return [Finding("role-claim-differs", path, say, expected=sender, found=claimed, nearest=sender)]


def _may_not_send(role: str, type_: MessageType, dialect: Dialect, *, claimed: bool) -> Finding:
    path = path_of(dialect.wire.sender) if claimed and dialect.wire.sender else path_of("type")
    may = [other.name for other in dialect.types.values() if may_send(role, other)]
    instead = f" You may send {', '.join(may)}." if may else " Ask one of them to send it."
    say = f"{type_.name} is sent by {' or '.join(type_.senders)}; you are {role}.{instead}"
    wanted = " or ".join(type_.senders)
    close = nearest(role, dialect.roles) if role not in dialect.roles else None
    return Finding("role-may-not-send", path, say, expected=wanted, found=role, nearest=close)


def _may_not_receive(role: str, type_: MessageType, path: str, severity: Severity) -> Finding:
    wanted = " or ".join(type_.receivers)
    say = f"Send {type_.name} to {wanted}, not to {role}."
    if severity == "warning":
        say = f"Send {type_.name} to {wanted} next time; {role} gets it all the same."
    return Finding("role-may-not-receive", path, say, severity, expected=wanted, found=role)

"""Authorisation: whether a role may send a type, and whether its recipient may receive it.

The sender field of a message proves nothing. The surface that received the message has authenticated its sender:
another name in the message is refused, and the authenticated sender must be among the type's senders.
"""

from telex.dialects.schema import ANY, Dialect, MessageType, Tree
from telex.dialects.write import is_blank
from telex.model.finding import Finding, Severity
from telex.model.roster import AGENT, ALL_OF_ROLE, HUMAN, ONE_OF_ROLE
from telex.model.text import ROOT, nearest, path_of

EVERYONE = "*"


def same_name(one: str, other: str) -> bool:
    """Agents' names compare without case, with spaces as hyphens, and with or without `@agent-`."""
    return normalised(one) == normalised(other)


def normalised(name: str) -> str:
    """The name in the form in which names are compared; idempotent."""
    if not name.isascii():
        from unicodedata import normalize

        name = normalize("NFC", name)  # é may be one code point or two
    name = "-".join(name.lower().split())
    while name.startswith("@agent-"):
        name = name.removeprefix("@agent-")
    return name


def authorise_sender(
    tree: Tree, dialect: Dialect, type_: MessageType, *, as_role: str | None = None, as_name: str | None = None
) -> list[Finding]:
    """Findings on the sender. Without a role only the message's own sender field is checked.

    `as_name` is the agent's name; it does not count where the dialect's field holds a role.
    """
    findings: list[Finding] = []
    claimed = _claim(tree, dialect.wire.sender)
    sender = as_role or (claimed if dialect.addresses == "roles" else None)
    if as_role is not None and may_sign_for(as_role, claimed, dialect, type_):
        sender = claimed
    else:
        signed = signed_as(dialect, as_role, as_name)
        if claimed is not None and signed is not None and not same_name(claimed, signed):
            say = f"Sign as {signed}, the sender of this message."
            if dialect.addresses == "roles" and signed == AGENT:
                say = f"Give your role once, role {normalised(claimed)}: a message cannot claim it."
            elif dialect.addresses == "roles" and signed not in dialect.roles:
                say = f"Ask another agent to send it: {signed} is not a role of {dialect.name}."
            path = path_of(dialect.wire.sender or "")
            finding = Finding("role-claim-differs", path, say, expected=signed, found=claimed, nearest=signed)
            findings.append(finding)
    if sender is not None and not may_send(sender, type_):
        findings.append(_may_not_send(sender, type_, dialect, claimed=as_role is None))
    return findings


def authorise_recipient(
    tree: Tree,
    dialect: Dialect,
    type_: MessageType,
    *,
    to_role: str | None = None,
    to_name: str | None = None,
    misdelivery: Severity = "warning",
) -> list[Finding]:
    """Findings on the recipient. Without a role only the message's own recipient field is checked."""
    findings = []
    named = _claim(tree, dialect.wire.recipient)
    if dialect.addresses == "roles" and named is not None and not may_receive(named, type_):
        findings.append(_may_not_receive(named, type_, path_of(dialect.wire.recipient or ""), "refusal"))
    if to_role is not None and not may_receive(to_role, type_):
        findings.append(_may_not_receive(to_role, type_, ROOT, misdelivery))
    wanted, address = signed_as(dialect, to_role, to_name), named
    if named is not None and dialect.addresses == "names" and named.lower().startswith((ONE_OF_ROLE, ALL_OF_ROLE)):
        wanted, address = to_role, named.partition(":")[2]  # any agent of a role
    if wanted is not None and address is not None and address != EVERYONE and not same_name(address, wanted):
        say = f"Name {wanted} in the message, or send it to {named}: the two differ."
        path = path_of(dialect.wire.recipient or "")
        findings.append(Finding("recipient-differs", path, say, misdelivery, expected=wanted, found=named))
    return findings


def signed_as(dialect: Dialect, role: str | None, name: str | None) -> str | None:
    """Value of a field that identifies this agent: its role, or its name where the dialect uses names."""
    return name if dialect.addresses == "names" and name is not None else role


def may_sign_for(role: str, claimed: str | None, dialect: Dialect, type_: MessageType) -> bool:
    """Whether an agent whose role is not in the dialect may send this under a role of the dialect. A human may answer
    every request, and every agent may confirm its own shutdown. The log has the real sender."""
    if claimed is None or dialect.addresses != "roles" or role in dialect.roles:
        return False
    allowed = type_.action == ("answer" if role == HUMAN else "stopped")
    return allowed and may_send(claimed, type_)


def may_send(role: str, type_: MessageType) -> bool:
    return type_.senders == ANY or normalised(role) in type_.senders


def has_no_words(role: str, dialect: Dialect, answer: MessageType) -> bool:
    """Whether the dialect has the role and does not let it send this. It may not send a translation of it either."""
    return role in dialect.roles and not may_send(role, answer)


def may_receive(role: str, type_: MessageType) -> bool:
    """Whether the role may receive the type. A human may receive approval requests in every dialect."""
    role = normalised(role)
    asks = type_.action == "ask"
    return type_.receivers == ANY or role in type_.receivers or (asks and role == HUMAN)


def _claim(tree: Tree, field: str | None) -> str | None:
    claimed = tree.get(field) if field else None
    return claimed if isinstance(claimed, str) and not is_blank(claimed) else None


def _may_not_send(role: str, type_: MessageType, dialect: Dialect, *, claimed: bool) -> Finding:
    path = path_of(dialect.wire.sender) if claimed and dialect.wire.sender else path_of("type")
    may = [other.name for other in dialect.types.values() if may_send(role, other)]
    instead = f" You may send {', '.join(may)}." if may else " Ask one of them to send it."
    if role == AGENT:
        instead = f" Give your role once, such as role {type_.senders[0]}."
    say = f"{type_.name} is sent by {' or '.join(type_.senders)}; you are {role}.{instead}"
    wanted = " or ".join(type_.senders)
    close = nearest(role, dialect.roles) if role not in dialect.roles else None
    return Finding("role-may-not-send", path, say, expected=wanted, found=role, nearest=close)


def _may_not_receive(role: str, type_: MessageType, path: str, severity: Severity) -> Finding:
    wanted = " or ".join(type_.receivers)
    say = f"Send {type_.name} to {wanted}, not to {role}."
    if severity == "warning":
        say = f"Send {type_.name} to {wanted} next time: {role} is not one of its recipients."
    return Finding("role-may-not-receive", path, say, severity, expected=wanted, found=role)

"""Header and result of a translation, counterparts of roles, and the envelope of the translated message."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from telex.dialects.registry import BUILT_IN
from telex.dialects.scalars import format_timestamp
from telex.dialects.schema import ANY, Dialect, MessageType, Tree
from telex.model.named_tuple import NamedTuple
from telex.validation.authorization import EVERYONE, normalised, same_name

if TYPE_CHECKING:
    from telex.translation.planner import EnvelopeField
    from telex.translation.render import LossReport

BY_THE_BUS = "as the bus has it"
NO_BUS = "generated here: no bus has stored it"


class MessageHeader(NamedTuple):
    """Metadata of a message, from the bus or from the caller."""

    id: str
    at: float
    sender: str
    sender_role: str
    recipient: str | None = None  # an agent's name, or *
    recipient_role: str | None = None
    correlation: str | None = None
    reply_to: str | None = None
    kept: bool = True  # a bus has stored it; False: the values were generated for this translation

    @property
    def known(self) -> str:
        """Reason of a value that the original does not have."""
        return BY_THE_BUS if self.kept else NO_BUS


class FieldChange(NamedTuple):
    """Reported change of one field. `path` is in the original if it is lost or narrowed, in the result if invented."""

    path: str
    slot: str | None  # such as "commit"; "$id" for a field of the envelope
    value: Any  # in the original if it is lost or narrowed, in the result if invented
    reason: str  # a clause with no capital letter and no full stop


class Translation(NamedTuple):
    dialect: Dialect
    type: MessageType
    tree: Tree
    body: str | None  # the markdown under the front matter; None where the form has none
    lost: tuple[FieldChange, ...] = ()
    invented: tuple[FieldChange, ...] = ()
    narrowed: tuple[FieldChange, ...] = ()
    carried: tuple[tuple[str, str], ...] = ()  # paths of each copied field, narrowed ones included
    sender_role: str | None = None  # of that dialect
    recipient_role: str | None = None


class NoCounterpart(NamedTuple):
    """The dialect has no such message; a reader gets markdown."""

    dialect: Dialect  # the one asked for
    reason: str  # a sentence


# Functions to fall back to in a dialect without a role for one. Never one that may decide more.
INSTEAD: Mapping[str, tuple[str, ...]] = {
    "runs": ("tests", "audits", "reviews"),
    "tests": ("reviews", "audits", "runs"),
    "reviews": ("tests", "audits"),
    "audits": ("tests", "reviews"),
    "documents": ("makes",),
    "fixes": ("makes",),
    "designs": ("leads",),
}
_BUILT_IN: Mapping[str, str] = {role: trade for dialect in BUILT_IN for role, trade in dialect.trades.items()}


def counterpart(role: str, dialect: Dialect, to: Dialect) -> str | None:
    """The role of `to` with the same name, else the one that does the same. None: `to` has no such role."""
    role = normalised(role)
    if role in to.roles:
        return role
    trade = dialect.trades.get(role) or _BUILT_IN.get(role)  # a member of a mixed team may have a role of any dialect
    wanted = (trade, *INSTEAD.get(trade, ())) if trade is not None else ()
    return next((other for does in wanted for other, trade in to.trades.items() if trade == does), None)


def address(account: "LossReport") -> str | None:
    """Write sender and recipient. Returns the reason if the sender's role may not send the type."""
    plan, header = account.plan, account.header
    theirs = _their_role(account)
    mine, whom = _my_role(account), _receiver(account, theirs) if theirs is not None else None
    if mine is None:
        allowed = " or ".join(plan.to.roles if plan.becomes.senders == ANY else plan.becomes.senders)
        role = normalised(header.sender_role)
        return f"{plan.to.name} lets {allowed} send {plan.becomes.name}, and the sender is {role}."
    if plan.spoken.intents[0] == "escalate" and plan.wires["recipient"].there is not None:
        whom = plan.to.chain.get(mine, whom)
    account.roles = (mine, whom)
    names = plan.to.addresses == "names"
    _name(account, "sender", header.sender if names else mine, _why_mine)
    everyone = header.recipient == EVERYONE
    named = (header.recipient or whom) if names else whom
    _name(account, "recipient", named, _why_theirs, unclear=everyone and not names)
    if everyone and names and "everyone" in plan.places:
        slot = plan.places["everyone"]
        if slot.slot not in plan.by_slot:
            account.write(slot.path, slot.steps, True)
            account.invent(slot.path, "everyone", True, header.known)
    signed = plan.wires["sender"].there
    if signed is None or not signed.required or signed.path in account.written:
        return None
    return f"{plan.becomes.name} has no field that fits the name of its sender."


def _my_role(account: "LossReport") -> str | None:
    """The sender's role in the dialect, if that may send the type. No other role is ever signed."""
    plan, role = account.plan, account.header.sender_role
    mine = counterpart(role, plan.dialect, plan.to)
    if plan.becomes.senders != ANY:
        return mine if mine in plan.becomes.senders else None
    is_signed_by_role = plan.to.addresses == "roles" and plan.wires["sender"].there is not None
    return mine or (None if is_signed_by_role else normalised(role))


def _receiver(account: "LossReport", role: str) -> str | None:
    """The recipient's role in the dialect, if that receives the type; the first that does where one has to be named."""
    plan = account.plan
    theirs, allowed = counterpart(role, plan.dialect, plan.to), plan.becomes.receivers
    if allowed == ANY:
        allowed = plan.to.roles if plan.to.addresses == "roles" else (theirs or normalised(role),)
    there = plan.wires["recipient"].there
    if theirs in allowed or (there is not None and not there.required):
        return theirs if theirs in allowed else None
    return allowed[0]


def _their_role(account: "LossReport") -> str | None:
    receivers = account.plan.type.receivers
    return account.header.recipient_role or (receivers[0] if receivers != ANY else None)


def _why_mine(account: "LossReport") -> str:
    said, mine = account.header.sender_role, account.roles[0]
    if account.plan.to.addresses == "names" or mine == normalised(said):
        return BY_THE_BUS if account.header.kept else "taken for its sender"
    return f"it is the counterpart of {normalised(said)} in {account.plan.to.name}"


def _why_theirs(account: "LossReport") -> str:
    header, plan, whom, theirs = account.header, account.plan, account.roles[1], _their_role(account)
    if plan.to.addresses == "names" and header.recipient:
        return header.known
    if theirs is None or (plan.spoken.intents[0] == "escalate" and account.roles[0] in plan.to.chain):
        return f"the next level of escalation in {plan.to.name}"
    known = header.recipient_role is not None
    if whom == normalised(theirs):
        return header.known if known else f"{plan.type.name} goes to {theirs}"
    counterpart = f"it is the counterpart of {normalised(theirs)} in {plan.to.name}"
    return counterpart if known else f"{plan.type.name} goes to {theirs}, and this is its counterpart"


def _name(
    account: "LossReport", what: str, value: str | None, why: "Callable[[LossReport], str]", *, unclear: bool = False
) -> None:
    slot, here, there, alone = account.plan.wires[what]
    said = here.get(account.tree) if here is not None else None
    unwanted = there is not None and not there.required and (said is None or unclear)
    if there is None or value is None or unwanted or not there.fits(value):
        if here is not None and said is not None and alone:
            account.lose(here.path, slot, said, "the bus has it, not the message")
        return
    account.write(there.path, there.steps, value)
    if here is None or said is None:
        account.invent(there.path, slot, value, why(account))
        return
    account.carried.append((here.path, there.path))
    account.wired.add(here.path)
    by_name = "names" in (account.plan.to.addresses, account.plan.dialect.addresses)
    is_restorable = isinstance(said, str) and (
        same_name(said, value) if by_name else counterpart(value, account.plan.to, account.plan.dialect) == said
    )
    if said != value and not is_restorable:
        to, is_name = account.plan.to, account.plan.dialect.addresses == "names" != account.plan.to.addresses
        reason = f"{to.name} writes the role, {value}" if is_name else f"{value} is what {to.name} calls it"
        account.narrow(here.path, slot, said, reason)


def envelope(account: "LossReport") -> None:
    """Write id, timestamp and reply_to."""
    for what in ("id", "timestamp", "reply_to"):
        slot, here, there, alone = account.plan.wires[what]
        said = here.get(account.tree) if here is not None else None
        if here is not None and said is not None:
            if there is not None and said != "" and there.fits(said):
                account.write(there.path, there.steps, said)
                account.carried.append((here.path, there.path))
                account.wired.add(here.path)
                continue
            if alone:
                account.lose(here.path, slot, said, account.plan.kept)
        if there is not None:
            header = account.header
            value = header.id if what == "id" else header.reply_to
            if what == "timestamp" or (value is not None and there.fits(value)):
                value = format_timestamp(header.at) if what == "timestamp" else value
                account.write(there.path, there.steps, value)
                account.invent(there.path, slot, value, header.known)


def correlate(account: "LossReport") -> None:
    """Write the correlation id, unless the task has the same value."""
    slot, here, there, alone = account.plan.wires["correlation"]
    said = here.get(account.tree) if here is not None else None
    if there is not None and there.path not in account.written:
        pairs = zip(account.plan.reads, account.told, strict=True)
        # One field is task and correlation id, and was copied as the task.
        is_task = here is not None and any(read.path == here.path and told for read, told in pairs)
        if is_task and not there.required and there.fits(said):
            account.write(there.path, there.steps, said)
            account.invent(there.path, slot, said, "its task is used as the conversation")
            account.thread = said
            return
        if isinstance(said, str) and said and there.fits(said):
            account.write(there.path, there.steps, said)
        else:
            _new_correlation(account, there, slot)
    account.thread = account.written.get(there.path) if there is not None else None
    if here is None or said is None:
        return
    if there is not None and account.thread == said:
        account.carried.append((here.path, there.path))
        account.wired.add(here.path)
        account.invented = [field_change for field_change in account.invented if field_change.path != there.path]
    elif alone:
        account.lose(here.path, slot, said, account.plan.kept)


def _new_correlation(account: "LossReport", there: "EnvelopeField", slot: str) -> None:
    """A correlation id that the original does not have: from the bus, the task, or the message's own id."""
    header = account.header
    known = ((header.correlation, header.known), (account.slot("task"), "its task is used as the conversation"))
    named = next(((one, why) for one, why in known if isinstance(one, str) and one and there.fits(one)), None)
    unnamed = (
        ("", "no conversation is named")
        if there.may_be_empty
        else (header.id, "its own id is used as the conversation")
    )
    value, why = named or unnamed
    if not there.fits(value):
        return  # a required one is filled in like any other field
    account.write(there.path, there.steps, value)
    account.invent(there.path, slot, value, why)

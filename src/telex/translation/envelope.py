"""Envelope of a translated message: sender, recipient, time, id, correlation, reply.

Values of the original are copied where the result has a field for them; the others come from the bus.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from telex.dialects.schema import ANY
from telex.dialects.timestamps import format_timestamp
from telex.translation.loss_report import LossReport
from telex.translation.mapping_plan import EnvelopeField
from telex.translation.result import BY_THE_BUS
from telex.translation.roles import ROLES_REMEMBERED_MAX as NAMES_REMEMBERED_MAX
from telex.translation.roles import counterpart
from telex.validation.authorization import EVERYONE, normalised, same_name


def address(account: LossReport) -> bool:
    """Who it is from and to, as the dialect calls them. False: the sender cannot be named, and has to be."""
    plan, header = account.plan, account.header
    mine = counterpart(header.sender_role, plan.dialect, plan.to, plan.becomes.senders)
    receivers, theirs = plan.type.receivers, _their_role(account)
    whom = counterpart(theirs, plan.dialect, plan.to, plan.becomes.receivers) if theirs is not None else None
    if plan.spoken.intents[0] == "escalate" and plan.wires["recipient"].there is not None:
        whom = plan.to.chain.get(mine, whom)
    account.roles = (mine, whom)
    names = plan.to.addresses == "names"
    _name(account, "sender", header.sender if names else mine, plan.type.senders, _why_mine)
    everyone = header.recipient == EVERYONE
    named = (header.recipient or whom) if names else whom
    _name(account, "recipient", named, receivers, _why_theirs, unclear=everyone and not names)
    if everyone and names and "everyone" in plan.places:
        slot = plan.places["everyone"]
        if slot.slot not in plan.by_slot:
            account.write(slot.path, slot.steps, True)
            account.invent(slot.path, "everyone", True, header.known)
    signed = plan.wires["sender"].there
    return signed is None or not signed.required or signed.path in account.written


def _their_role(account: LossReport) -> str | None:
    receivers = account.plan.type.receivers
    return account.header.recipient_role or (receivers[0] if receivers != ANY else None)


def _why_mine(account: LossReport) -> str:
    """Why the sender is called so, where the original does not say it."""
    said, mine = account.header.sender_role, account.roles[0]
    if account.plan.to.addresses == "names" or mine == normalised(said):
        return BY_THE_BUS if account.header.kept else "taken for its sender"
    return f"it stands for {normalised(said)} in {account.plan.to.name}"


def _why_theirs(account: LossReport) -> str:
    header, plan, whom, theirs = account.header, account.plan, account.roles[1], _their_role(account)
    if plan.to.addresses == "names" and header.recipient:
        return header.known
    if theirs is None or (plan.spoken.intents[0] == "escalate" and account.roles[0] in plan.to.chain):
        return f"to whom {plan.to.name} hands it up"
    known = header.recipient_role is not None
    if whom == normalised(theirs):
        return header.known if known else f"{plan.type.name} goes to {theirs}"
    stands = f"it stands for {normalised(theirs)} in {plan.to.name}"
    return stands if known else f"{plan.type.name} goes to {theirs}, for whom this stands"


def _name(
    account: LossReport,
    what: str,
    value: str | None,
    allowed: tuple[str, ...],
    why: Callable[[LossReport], str],
    *,
    unclear: bool = False,
) -> None:
    slot, here, there, alone = account.plan.wires[what]
    said = here.get(account.tree) if here is not None else None
    unwanted = there is not None and not there.required and (said is None or unclear)
    if there is None or value is None or unwanted or not there.fits(value):
        if here is not None and said is not None and alone:
            account.lose(here.path, slot, said, "who it is stands with the message, not in it")
        return
    account.write(there.path, there.steps, value)
    if here is None or said is None:
        account.invent(there.path, slot, value, why(account))
        return
    account.carried.append((here.path, there.path))
    account.wired.add(here.path)
    if said != value and not _told_back(account, said, value, allowed):
        account.narrow(here.path, slot, said, f"{value} is what {account.plan.to.name} calls it")


def _told_back(account: LossReport, said: Any, value: str, allowed: tuple[str, ...]) -> bool:
    if not isinstance(said, str):
        return False
    if account.plan.to.addresses == "names" or account.plan.dialect.addresses == "names":
        return _same_name(said, value)
    return counterpart(value, account.plan.to, account.plan.dialect, allowed) == said


@lru_cache(NAMES_REMEMBERED_MAX)
def _same_name(said: str, value: str) -> bool:
    return same_name(said, value)


def envelope(account: LossReport) -> None:
    """Its id, its time, and what it answers."""
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


def correlate(account: LossReport) -> None:
    """The conversation it belongs to: by its own field, or as good as told where the task has the same name."""
    slot, here, there, alone = account.plan.wires["correlation"]
    said = here.get(account.tree) if here is not None else None
    if there is not None and there.path not in account.written:
        if here is not None and _is_told_as_task(account, here, there) and there.fits(said):
            account.write(there.path, there.steps, said)
            account.invent(there.path, slot, said, "what it is about stands for the conversation")
            account.thread = said
            return
        if isinstance(said, str) and said and there.fits(said):
            account.write(there.path, there.steps, said)
        else:
            _call(account, there, slot)
    account.thread = account.written.get(there.path) if there is not None else None
    if here is None or said is None:
        return
    if there is not None and account.thread == said:
        account.carried.append((here.path, there.path))
        account.wired.add(here.path)
        account.invented = [field_change for field_change in account.invented if field_change.path != there.path]
    elif alone:
        account.lose(here.path, slot, said, account.plan.kept)


def _is_told_as_task(account: LossReport, here: EnvelopeField, there: EnvelopeField) -> bool:
    """One field says both, and has been told as what it is about: that it names a conversation is then made up."""
    if there.required:
        return False
    return any(read.path == here.path and told for read, told in zip(account.plan.reads, account.told, strict=True))


def _call(account: LossReport, there: EnvelopeField, slot: str) -> None:
    """A conversation that the original does not name: as the bus calls it, or by the task, or by the message itself."""
    header = account.header
    known = ((header.correlation, header.known), (account.slot("task"), "its task stands for the conversation"))
    named = next(((one, why) for one, why in known if isinstance(one, str) and one and there.fits(one)), None)
    unnamed = ("", "no conversation is named") if there.may_be_empty else (header.id, "the message stands for itself")
    value, why = named or unnamed
    if not there.fits(value):
        return  # where something has to stand there, it is filled in like any other field
    account.write(there.path, there.steps, value)
    account.invent(there.path, slot, value, why)

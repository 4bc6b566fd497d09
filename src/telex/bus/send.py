"""What happens to a message that is sent? Looked at, routed, kept; or refused with everything that is wrong with it.

Whatever the answer, the bytes are kept as they came: a refused message is part of the record too.
"""

import json
from typing import Any

from telex.bus.correlate import SendRequest, answered, placed, whole, with_what_it_decides
from telex.bus.directory import BusContext, CachedRoute
from telex.bus.duplicates import last_words, sent_before, state_now
from telex.bus.hints import answers_no_dispatch, reminder
from telex.bus.inbox_withdrawal import see_off
from telex.bus.new_message import entry_of
from telex.bus.work_cache import Known, look_for_evidence, said_by, weigh
from telex.delivery.routing import Route, normal_address, route
from telex.delivery.validator_cache import STATUS, CheckedMessage, Participants, TypeTraits
from telex.dialects.schema import Dialect
from telex.errors import OutcomeUnknown, StoreUnavailable
from telex.model.finding import Finding, refusals
from telex.model.json_path import ROOT
from telex.model.limits import Limits
from telex.model.message import NewMessage, WorkChange
from telex.model.roster import ONE_OF_ROLE, Member, Roster
from telex.ports.bus import Receipt
from telex.ports.store import AppendResult
from telex.validation.check import Checked
from telex.work.view import WorkMessage

Raw = bytes | str | dict[str, Any]
NOT_COMPARED = ("duplicate", "id-reused", "stopped")  # with the book: the store need not know if it is stale
STALE_MAX = 1_000  # times that others may be quicker
SHUT_DOWN, STOPPING = "sender-has-shut-down", ("stop", "stopped")


async def send(office: BusContext, asked: SendRequest) -> Receipt:
    await office.turns.wait(asked.sender)
    return await send_now(office, asked)


async def send_now(office: BusContext, asked: SendRequest) -> Receipt:
    """When its sender has nothing else under way."""
    raw, began = asked.raw, office.clock.now()
    whom = (asked.sender, asked.role, asked.to)
    way = office.known_way(whom, began) or await _way(office, asked, began)
    if isinstance(way, Finding):
        looked, before = office.lanes.look(raw, Participants()), None
        if way.code == SHUT_DOWN:
            address = normal_address(asked.to) if asked.to is not None else _addressed(looked, await office.roster())
            before = await last_words(office, asked, looked, address)
        return before or await _refuse(office, asked, _nobody(office, asked), looked, (way,), began)
    member, address, found, _, pair, _ = way
    looked = office.lanes.look(raw, pair)
    if found is None:
        roster = await office.roster()
        address = _addressed(looked, roster)
        found = route(address, member, roster) if address is not None else _NO_RECIPIENT
    wrong = _wrong_id(asked.id, looked.facts.id, office.limits) if asked.id is not None else ()
    if asked.reply_to is not None:
        wrong += _wrong_id(asked.reply_to, None, office.limits, "--reply-to")
    if asked.correlation is not None:
        wrong += _wrong_id(asked.correlation, looked.facts.correlation, office.limits, "--correlation")
    if isinstance(found, Finding):
        before = await sent_before(office, asked, member, looked, address) if not wrong else None
        return before or await _refuse(office, asked, member, looked, (*wrong, found), began, address)
    if wrong or (looked.checked is not None and not looked.checked.valid):
        return await _refuse(office, asked, member, looked, wrong, began, address)
    asked = await placed(office, asked, looked, member, found)
    if looked.kind is not None and looked.kind.deed is not None and not refusals(looked.findings):
        await office.turns.take(asked.sender)
        try:
            receipt = await _keep_booked(office, asked, member, looked, address or "", found, began)
        finally:
            office.turns.give_up(asked.sender)
        return receipt or await _send_anew(office, asked)
    reminded = await reminder(office, member, looked, found, asked.reply_to) if looked.kind is None else ()
    if looked.kind is not None and looked.kind.type.meaning is not None:
        from telex.bus.user_dialect_requests import answers_in_own_words  # few teams have a dialect of their own

        reminded = await answers_in_own_words(office, asked, member, looked, address or "", found)
        if office.desk.strict and refusals(reminded):
            return await _refuse(office, asked, member, looked, reminded, began, address)
    entry = await _entry(office, asked, member, looked, address or "", found, began, reminded)
    [appended] = await office.store.append((entry,))
    if appended.outcome == "stopped":
        return await _send_anew(office, asked)
    return await answer(office, asked, looked, entry, appended, began, reminded)


async def _keep_booked(
    office: BusContext,
    asked: SendRequest,
    member: Member,
    looked: CheckedMessage,
    address: str,
    inboxes: Route,
    began: float,
) -> Receipt | None:
    """Keep a message that means something to the work, if the book has nothing against it, and as often as the book has
    gone on meanwhile weigh it again. None: its sender has shut down meanwhile."""
    asked = asked._replace(id=whole(looked.facts.id or asked.id) or office.clock.new_id())
    said = said_by(asked, member, looked, address, inboxes, office.clock.now())
    seen = (*await look_for_evidence(office, said), *await answers_no_dispatch(office, said))
    for attempt in range(STALE_MAX):
        read_on: Known = {}
        found, part = await weigh(office, said, fresh=attempt > 0, before=read_on)
        found = (*seen, *found)
        if refusals(found):
            before = await sent_before(office, asked, member, looked, address)
            if before is not None or office.desk.strict:
                return before or await _refuse(office, asked, member, looked, found, began, address)
            part = None  # a lenient team lets it pass, and nothing follows from it
        asked = with_what_it_decides(asked, looked, part)
        entry = await _entry(office, asked, member, looked, address, inboxes, began, found, part, said)
        if part is not None:
            part = part.dated(entry.at)
            entry = entry._replace(part=part)
        [appended] = await office.store.append((entry,))
        if appended.outcome == "kept" and part is not None:
            office.books.have_gone_on(part, appended.seq)
        if read_on and appended.outcome in NOT_COMPARED:
            office.books.put_back(read_on)
            if appended.outcome == "duplicate":  # it is told what it was told at first
                found = (*seen, *(await weigh(office, said)).findings)
        if appended.outcome == "kept" and said.does in STOPPING:
            await see_off(office, part.members if part is not None else ())
        if appended.outcome == "stopped":
            return None
        if appended.outcome != "stale":
            return await answer(office, asked, looked, entry, appended, began, found)
    raise StoreUnavailable("too many others write about the same matter: try again.")


async def _send_anew(office: BusContext, asked: SendRequest) -> Receipt:
    """Its sender has shut down between the look at the roster and the writing: then it is told so, as anybody is."""
    office.forget_roster()
    return await send(office, asked)


async def answer(
    office: BusContext,
    asked: SendRequest,
    looked: CheckedMessage | None,
    entry: NewMessage,
    appended: AppendResult,
    began: float,
    found: tuple[Finding, ...] = (),
) -> Receipt:
    """What is said to the sender of this entry. `looked` is found out again where it is needed and not given."""
    findings = (*looked.findings, *found) if looked is not None else found
    receipt = Receipt(True, entry.id, "stored", entry.inboxes, entry.dialect, entry.type, findings)
    if appended.outcome == "kept":
        return receipt
    if appended.outcome == "duplicate":
        return receipt._replace(state=await state_now(office, appended.seq), duplicate=True)
    reason = _id_reused(entry) if appended.outcome == "id-reused" else _inbox_full(office.limits, appended.inbox)
    if looked is None:  # on the beaten track, by what is known of the two: to others it might be of another dialect
        way = office.known_way((asked.sender, asked.role, asked.to), began)
        looked = office.lanes.look(asked.raw, way.pair if way is not None else Participants())
    return await _refuse(office, asked, Member(entry.sender, entry.role), looked, (reason,), began, entry.to)


async def _way(office: BusContext, asked: SendRequest, now: float) -> CachedRoute | Finding:
    """Who comes or is seen again is written down, and its next message must not be kept meanwhile."""
    await office.turns.take(asked.sender)
    try:
        return await office.way(asked.sender, asked.role, asked.to, now)
    except OutcomeUnknown as error:  # whether a newcomer was written down is in doubt: its message was not kept
        raise OutcomeUnknown(error.say, error.id or asked.id) from error
    finally:
        office.turns.give_up(asked.sender)


def _nobody(office: BusContext, asked: SendRequest) -> Member:
    most = office.limits.id_characters_max
    return Member(whole(asked.sender[:most]) or "", whole((asked.role or "")[:most]) or "")


_NO_RECIPIENT = Finding(
    "recipient-missing", ROOT, "Say who is to receive it: --to NAME, role:ROLE, all:ROLE or * for everyone."
)


def as_bytes(raw: Raw) -> bytes:
    """A message in whichever form it was handed over."""
    if isinstance(raw, bytes):
        return raw
    if isinstance(raw, str):
        return raw.encode("utf-8", "surrogatepass")  # half a character is then found, not raised
    return json.dumps(raw, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _addressed(looked: CheckedMessage, roster: Roster) -> str | None:
    """The recipient that the message itself names: an agent, or whoever has that role."""
    if looked.facts.recipient is None:
        return None
    name = normal_address(looked.facts.recipient)
    by_role = looked.dialect is not None and looked.dialect.addresses == "roles"
    return ONE_OF_ROLE + name if by_role and roster.find(name) is None and roster.of_role(name) else name


def _wrong_id(given: str, own: str | None, limits: Limits, option: str = "--id") -> tuple[Finding, ...]:
    """What speaks against an id that the caller gave."""
    if own is not None and given != own:
        say = f"Leave out {option}: the message has one of its own, {own}."
        return (Finding("id-differs", ROOT, say, expected=own, found=given[: limits.found_characters_max]),)
    if not given or not given.isprintable() or len(given) > limits.id_characters_max:
        wanted = f"1 to {limits.id_characters_max} characters that can all be seen"
        say = f"Choose an id of {wanted}, or leave out {option}."
        return (Finding("id-not-allowed", ROOT, say, expected=wanted, found=given[: limits.found_characters_max]),)
    return ()


# --- kept ------------------------------------------------------------------------------------------------------------


async def _entry(
    office: BusContext,
    asked: SendRequest,
    member: Member,
    looked: CheckedMessage,
    address: str,
    inboxes: Route,
    began: float,
    found: tuple[Finding, ...] = (),
    part: WorkChange | None = None,
    said: WorkMessage | None = None,
) -> NewMessage:
    kind, facts = looked.kind, looked.facts
    return entry_of(
        office,
        asked.raw,
        whole(facts.id or asked.id),
        member,
        whole(address) or "",
        kind.dialect.name if kind is not None else _dialect_name(looked),
        kind.type.name if kind is not None else whole(_control_type(looked)),
        kind.rank if kind is not None else STATUS,
        whole(facts.correlation or asked.correlation),
        whole(facts.reply_to or asked.reply_to),
        inboxes,
        began,
        (*looked.findings, *found),
        _answer_within(office, asked, kind, said),
        await answered(office, asked, looked, member, inboxes, part) if inboxes else (),
        part,
    )


def _id_reused(entry: NewMessage) -> Finding:
    say = f"Give it an id of its own: {entry.id} was sent before, with other words."
    return Finding("id-reused", ROOT, say, expected="an id not used before", found=entry.id)


def _inbox_full(limits: Limits, inbox: str | None) -> Finding:
    limit = f"{limits.inbox_max:,} {'message' if limits.inbox_max == 1 else 'messages'}"
    say = f"Try again later, or send it to somebody else: {inbox} has {limit} waiting and takes no more."
    return Finding("inbox-full", ROOT, say, expected=f"fewer than {limit}", found=inbox)


def _dialect_name(looked: CheckedMessage) -> str | None:
    return looked.dialect.name if looked.dialect is not None else None


def _control_type(looked: CheckedMessage) -> str | None:
    """What is not one of our messages may still say what it is: a coding tool's own frame does."""
    return looked.checked.type if looked.checked is not None else None


def _answer_within(
    office: BusContext, asked: SendRequest, kind: TypeTraits | None, said: WorkMessage | None
) -> float | None:
    """A deadline is kept where an answer can be told from other messages: the dialect has ids, or the asker waits."""
    if asked.answer_within is not None:
        return asked.answer_within
    if said is not None and said.does == "escalate":
        from telex.delivery.escalation_chain import deadline_of

        return deadline_of(said.text("level"), said.inboxes, said.at, office.limits) - said.at
    if kind is None or not kind.asks:
        return None
    if kind.deed != "ask" or said is None:
        return office.limits.request_seconds
    from telex.bus.approve import seconds_left

    return seconds_left(said, office.clock.now()) or office.limits.request_seconds


# --- refused ---------------------------------------------------------------------------------------------------------


async def _refuse(
    office: BusContext,
    asked: SendRequest,
    member: Member,
    looked: CheckedMessage,
    wrong: tuple[Finding, ...],
    began: float,
    address: str | None = None,
) -> Receipt:
    from telex.delivery.system_messages import refusal_answer

    findings = (*looked.findings, *wrong)
    if any(one.code == "id-not-allowed" for one in wrong):
        asked = asked._replace(id=None, reply_to=None)  # it is kept under one that can be shown
    would_be = await _entry(office, asked, member, looked, address or asked.to or "", (), began, wrong)
    entry = would_be._replace(kind="refused", answer_by=None, same_since=None, inbox_max=None)
    await office.store.append([entry])
    mended, certain = _mended(looked.checked, looked.dialect)
    new_id = office.clock.new_id()  # the refused one's own may be what is wrong with it
    return Receipt(
        False,
        entry.id,
        "refused",
        (),
        entry.dialect,
        entry.type,
        findings,
        answer=refusal_answer(findings, entry.id, entry.correlation, member.name, looked.dialect, entry.at, new_id),
        mended=mended,
        certain=certain,
    )


def _mended(checked: Checked | None, dialect: Dialect | None) -> tuple[str | None, bool]:
    if checked is None or dialect is None:
        return None, False
    tree = checked.mended if checked.mended is not None else checked.skeleton
    if checked.valid or tree is None:
        return None, False
    from telex.dialects.blanks import OPENING
    from telex.dialects.write import write

    text, certain = write(dialect, tree, checked.body), checked.mended is not None
    if not certain and OPENING not in text:
        return None, False  # the findings say what to change, and nothing could be changed for the sender
    return text, certain

"""What happens to a message that is sent? Looked at, routed, kept; or refused with everything that is wrong with it.

Whatever the answer, the bytes are kept as they came: a refused message is part of the record too.
"""

import json
from typing import Any

from telex.bus.correlate import (
    SendRequest,
    infer_reply_to,
    replace_surrogates,
    requests_answered_by,
    with_decided_requests,
)
from telex.bus.directory import BusContext, CachedRoute
from telex.bus.duplicates import current_state, find_duplicate, last_findings
from telex.bus.hints import answers_no_dispatch, missing_answer_hint
from telex.bus.inbox_withdrawal import withdraw_inbox
from telex.bus.new_message import new_message
from telex.bus.work_cache import Known, check_evidence, check_work_rules, work_message_of_send
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
from telex.validation.check import CheckResult
from telex.work.view import WorkMessage

Raw = bytes | str | dict[str, Any]
NOT_COMPARED = ("duplicate", "id-reused", "stopped")  # with the book: the store need not know if it is stale
STALE_MAX = 1_000  # times that others may be quicker
SHUT_DOWN, STOPPING = "sender-has-shut-down", ("stop", "stopped")


async def send(context: BusContext, request: SendRequest) -> Receipt:
    await context.sender_lock.wait(request.sender)
    return await send_checked(context, request)


async def send_checked(context: BusContext, request: SendRequest) -> Receipt:
    """When its sender has nothing else under way."""
    raw, began = request.raw, context.clock.now()
    whom = (request.sender, request.role, request.to)
    way = context.find_cached_route(whom, began) or await _way(context, request, began)
    if isinstance(way, Finding):
        checked, before = context.validators.check(raw, Participants()), None
        if way.code == SHUT_DOWN:
            address = (
                normal_address(request.to) if request.to is not None else _addressed(checked, await context.roster())
            )
            before = await last_findings(context, request, checked, address)
        return before or await _refuse(context, request, _nobody(context, request), checked, (way,), began)
    member, address, found, _, participants, _ = way
    checked = context.validators.check(raw, participants)
    if found is None:
        roster = await context.roster()
        address = _addressed(checked, roster)
        found = route(address, member, roster) if address is not None else _NO_RECIPIENT
    findings = _wrong_id(request.id, checked.envelope.id, context.limits) if request.id is not None else ()
    if request.reply_to is not None:
        findings += _wrong_id(request.reply_to, None, context.limits, "--reply-to")
    if request.correlation is not None:
        findings += _wrong_id(request.correlation, checked.envelope.correlation, context.limits, "--correlation")
    if isinstance(found, Finding):
        before = await find_duplicate(context, request, member, checked, address) if not findings else None
        return before or await _refuse(context, request, member, checked, (*findings, found), began, address)
    if findings or (checked.checked is not None and not checked.checked.valid):
        return await _refuse(context, request, member, checked, findings, began, address)
    request = await infer_reply_to(context, request, checked, member, found)
    if checked.traits is not None and checked.traits.action is not None and not refusals(checked.findings):
        await context.sender_lock.acquire(request.sender)
        try:
            receipt = await _keep_booked(context, request, member, checked, address or "", found, began)
        finally:
            context.sender_lock.release(request.sender)
        return receipt or await _send_anew(context, request)
    reminded = (
        await missing_answer_hint(context, member, checked, found, request.reply_to) if checked.traits is None else ()
    )
    if checked.traits is not None and checked.traits.type.meaning is not None:
        # few teams have a dialect of their own
        from telex.bus.user_dialect_requests import answers_user_dialect_request

        reminded = await answers_user_dialect_request(context, request, member, checked, address or "", found)
        if context.policy.strict and refusals(reminded):
            return await _refuse(context, request, member, checked, reminded, began, address)
    new_message = await _entry(context, request, member, checked, address or "", found, began, reminded)
    [appended] = await context.store.append((new_message,))
    if appended.outcome == "stopped":
        return await _send_anew(context, request)
    return await answer(context, request, checked, new_message, appended, began, reminded)


async def _keep_booked(
    context: BusContext,
    request: SendRequest,
    member: Member,
    checked: CheckedMessage,
    address: str,
    inboxes: Route,
    began: float,
) -> Receipt | None:
    """Keep a message that means something to the work, if the book has nothing against it, and as often as the book has
    gone on meanwhile weigh it again. None: its sender has shut down meanwhile."""
    request = request._replace(id=replace_surrogates(checked.envelope.id or request.id) or context.clock.new_id())
    work_message = work_message_of_send(request, member, checked, address, inboxes, context.clock.now())
    seen = (*await check_evidence(context, work_message), *await answers_no_dispatch(context, work_message))
    for attempt in range(STALE_MAX):
        read_on: Known = {}
        findings, work_change = await check_work_rules(context, work_message, fresh=attempt > 0, before=read_on)
        findings = (*seen, *findings)
        if refusals(findings):
            before = await find_duplicate(context, request, member, checked, address)
            if before is not None or context.policy.strict:
                return before or await _refuse(context, request, member, checked, findings, began, address)
            work_change = None  # a lenient team lets it pass, and nothing follows from it
        request = with_decided_requests(request, checked, work_change)
        new_message = await _entry(
            context, request, member, checked, address, inboxes, began, findings, work_change, work_message
        )
        if work_change is not None:
            work_change = work_change.dated(new_message.at)
            new_message = new_message._replace(work_change=work_change)
        [appended] = await context.store.append((new_message,))
        if appended.outcome == "stored" and work_change is not None:
            context.work_cache.mark_stale(work_change, appended.seq)
        if read_on and appended.outcome in NOT_COMPARED:
            context.work_cache.put_back(read_on)
            if appended.outcome == "duplicate":  # it is told what it was told at first
                findings = (*seen, *(await check_work_rules(context, work_message)).findings)
        if appended.outcome == "stored" and work_message.action in STOPPING:
            await withdraw_inbox(context, work_change.members if work_change is not None else ())
        if appended.outcome == "stopped":
            return None
        if appended.outcome != "stale":
            return await answer(context, request, checked, new_message, appended, began, findings)
    raise StoreUnavailable("too many others write about the same matter: try again.")


async def _send_anew(context: BusContext, request: SendRequest) -> Receipt:
    """Its sender has shut down between the look at the roster and the writing: then it is told so, as anybody is."""
    context.forget_roster()
    return await send(context, request)


async def answer(
    context: BusContext,
    request: SendRequest,
    checked: CheckedMessage | None,
    new_message: NewMessage,
    appended: AppendResult,
    began: float,
    found: tuple[Finding, ...] = (),
) -> Receipt:
    """What is said to the sender of this entry. `looked` is found out again where it is needed and not given."""
    findings = (*checked.findings, *found) if checked is not None else found
    receipt = Receipt(
        True, new_message.id, "stored", new_message.inboxes, new_message.dialect, new_message.type, findings
    )
    if appended.outcome == "stored":
        return receipt
    if appended.outcome == "duplicate":
        return receipt._replace(state=await current_state(context, appended.seq), duplicate=True)
    reason = _id_reused(new_message) if appended.outcome == "id-reused" else _inbox_full(context.limits, appended.inbox)
    if checked is None:  # on the beaten track, by what is known of the two: to others it might be of another dialect
        cached_route = context.find_cached_route((request.sender, request.role, request.to), began)
        checked = context.validators.check(
            request.raw, cached_route.pair if cached_route is not None else Participants()
        )
    return await _refuse(
        context, request, Member(new_message.sender, new_message.role), checked, (reason,), began, new_message.to
    )


async def _way(context: BusContext, request: SendRequest, now: float) -> CachedRoute | Finding:
    """Who comes or is seen again is written down, and its next message must not be kept meanwhile."""
    await context.sender_lock.acquire(request.sender)
    try:
        return await context.route(request.sender, request.role, request.to, now)
    except OutcomeUnknown as error:  # whether a newcomer was written down is in doubt: its message was not kept
        raise OutcomeUnknown(error.say, error.id or request.id) from error
    finally:
        context.sender_lock.release(request.sender)


def _nobody(context: BusContext, request: SendRequest) -> Member:
    most = context.limits.id_characters_max
    return Member(
        replace_surrogates(request.sender[:most]) or "", replace_surrogates((request.role or "")[:most]) or ""
    )


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


def _addressed(checked: CheckedMessage, roster: Roster) -> str | None:
    """The recipient that the message itself names: an agent, or whoever has that role."""
    if checked.envelope.recipient is None:
        return None
    name = normal_address(checked.envelope.recipient)
    by_role = checked.dialect is not None and checked.dialect.addresses == "roles"
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
    context: BusContext,
    request: SendRequest,
    member: Member,
    checked: CheckedMessage,
    address: str,
    inboxes: Route,
    began: float,
    findings: tuple[Finding, ...] = (),
    work_change: WorkChange | None = None,
    work_message: WorkMessage | None = None,
) -> NewMessage:
    kind, facts = checked.traits, checked.envelope
    return new_message(
        context,
        request.raw,
        replace_surrogates(facts.id or request.id),
        member,
        replace_surrogates(address) or "",
        kind.dialect.name if kind is not None else _dialect_name(checked),
        kind.type.name if kind is not None else replace_surrogates(_control_type(checked)),
        kind.rank if kind is not None else STATUS,
        replace_surrogates(facts.correlation or request.correlation),
        replace_surrogates(facts.reply_to or request.reply_to),
        inboxes,
        began,
        (*checked.findings, *findings),
        _answer_within(context, request, kind, work_message),
        await requests_answered_by(context, request, checked, member, inboxes, work_change) if inboxes else (),
        work_change,
    )


def _id_reused(new_message: NewMessage) -> Finding:
    say = f"Give it an id of its own: {new_message.id} was sent before, with other words."
    return Finding("id-reused", ROOT, say, expected="an id not used before", found=new_message.id)


def _inbox_full(limits: Limits, inbox: str | None) -> Finding:
    limit = f"{limits.inbox_max:,} {'message' if limits.inbox_max == 1 else 'messages'}"
    say = f"Try again later, or send it to somebody else: {inbox} has {limit} waiting and takes no more."
    return Finding("inbox-full", ROOT, say, expected=f"fewer than {limit}", found=inbox)


def _dialect_name(checked: CheckedMessage) -> str | None:
    return checked.dialect.name if checked.dialect is not None else None


def _control_type(checked: CheckedMessage) -> str | None:
    """What is not one of our messages may still say what it is: a coding tool's own frame does."""
    return checked.checked.type if checked.checked is not None else None


def _answer_within(
    context: BusContext, request: SendRequest, kind: TypeTraits | None, work_message: WorkMessage | None
) -> float | None:
    """A deadline is kept where an answer can be told from other messages: the dialect has ids, or the asker waits."""
    if request.answer_within is not None:
        return request.answer_within
    if work_message is not None and work_message.action == "escalate":
        from telex.delivery.escalation_chain import deadline_of

        return (
            deadline_of(work_message.text("level"), work_message.inboxes, work_message.at, context.limits)
            - work_message.at
        )
    if kind is None or not kind.asks:
        return None
    if kind.action != "ask" or work_message is None:
        return context.limits.request_seconds
    from telex.bus.approve import seconds_left

    return seconds_left(work_message, context.clock.now()) or context.limits.request_seconds


# --- refused ---------------------------------------------------------------------------------------------------------


async def _refuse(
    context: BusContext,
    request: SendRequest,
    member: Member,
    checked: CheckedMessage,
    wrong: tuple[Finding, ...],
    began: float,
    address: str | None = None,
) -> Receipt:
    from telex.delivery.system_messages import refusal_answer

    findings = (*checked.findings, *wrong)
    if any(finding.code == "id-not-allowed" for finding in wrong):
        request = request._replace(id=None, reply_to=None)  # it is kept under one that can be shown
    would_be = await _entry(context, request, member, checked, address or request.to or "", (), began, wrong)
    new_message = would_be._replace(kind="refused", answer_by=None, dedup_since=None, inbox_max=None)
    await context.store.append([new_message])
    fixed, certain = _fixed(checked.checked, checked.dialect)
    new_id = context.clock.new_id()  # the refused one's own may be what is wrong with it
    return Receipt(
        False,
        new_message.id,
        "refused",
        (),
        new_message.dialect,
        new_message.type,
        findings,
        answer=refusal_answer(
            findings, new_message.id, new_message.correlation, member.name, checked.dialect, new_message.at, new_id
        ),
        fixed=fixed,
        certain=certain,
    )


def _fixed(checked: CheckResult | None, dialect: Dialect | None) -> tuple[str | None, bool]:
    if checked is None or dialect is None:
        return None, False
    tree = checked.fixed if checked.fixed is not None else checked.skeleton
    if checked.valid or tree is None:
        return None, False
    from telex.dialects.blanks import OPENING
    from telex.dialects.write import write

    text, certain = write(dialect, tree, checked.body), checked.fixed is not None
    if not certain and OPENING not in text:
        return None, False  # the findings say what to change, and nothing could be changed for the sender
    return text, certain

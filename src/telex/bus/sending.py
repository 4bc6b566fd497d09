"""What happens to a message that is sent? Looked at, routed, kept; or refused with everything that is wrong with it.

Whatever the answer, the bytes are kept as they came: a refused message is part of the record too.
"""

import json
from typing import Any, NamedTuple

from telex.bus.office import Office, Way
from telex.dialects.spec import Dialect
from telex.errors import OutcomeUnknown
from telex.flow.admission import Checked
from telex.flow.lanes import STATUS, Kind, Looked, Pair
from telex.flow.lifecycle import state_of
from telex.flow.routing import Route, normal_address, route
from telex.model.digest import digest_of
from telex.model.limits import Limits
from telex.model.message import Entry
from telex.model.paths import ROOT
from telex.model.refusal import Finding
from telex.model.roster import ONE_OF_ROLE, Member, Roster
from telex.ports.bus import Receipt
from telex.ports.store import Appended

Raw = bytes | str | dict[str, Any]


class Sending(NamedTuple):
    """What was asked for."""

    raw: bytes
    sender: str
    role: str | None = None
    to: str | None = None
    id: str | None = None
    reply_to: str | None = None
    answer_within: float | None = None  # seconds; None: as long as its type may take, if it asks at all


async def send(office: Office, asked: Sending) -> Receipt:
    raw, began = asked.raw, office.clock.now()
    whom = (asked.sender, asked.role, asked.to)
    way = office.known_way(whom, began) or await _way(office, asked, began)
    if isinstance(way, Finding):
        return await _refuse(office, asked, _nobody(office, asked), office.lanes.look(raw, Pair()), (way,), began)
    member, address, found, _, pair, _ = way
    looked = office.lanes.look(raw, pair)
    if found is None:
        roster = await office.roster()
        address = _addressed(looked, roster)
        found = route(address, member, roster) if address is not None else _NO_RECIPIENT
    wrong = _wrong_id(asked.id, looked.facts.id, office.limits) if asked.id is not None else ()
    if isinstance(found, Finding):
        before = await _sent_before(office, asked, member, looked, address) if not wrong else None
        return before or await _refuse(office, asked, member, looked, (*wrong, found), began, address)
    if wrong or (looked.checked is not None and not looked.checked.valid):
        return await _refuse(office, asked, member, looked, wrong, began, address)
    reply_to, kind, findings = looked.facts.reply_to or asked.reply_to, looked.kind, looked.findings
    is_reply = reply_to or (kind is not None and kind.answers)
    answers = await _answers(office, reply_to, looked, found) if is_reply else ()
    entry = _entry(office, asked, member, looked, address or "", began, findings, found, answers)
    [appended] = await office.store.append((entry,))
    return await answer(office, asked, looked, entry, appended, began)


async def answer(
    office: Office, asked: Sending, looked: Looked | None, entry: Entry, appended: Appended, began: float
) -> Receipt:
    """What is said to the sender of this entry. `looked` is found out again where it is needed and not given."""
    findings = looked.findings if looked is not None else ()
    receipt = Receipt(True, entry.id, "stored", entry.inboxes, entry.dialect, entry.type, findings)
    if appended.outcome == "kept":
        return receipt
    if appended.outcome == "duplicate":
        return receipt._replace(state=await _state(office, appended.seq), duplicate=True)
    reason = _id_reused(entry) if appended.outcome == "id-reused" else _inbox_full(office.limits, appended.inbox)
    looked = looked or office.lanes.look(asked.raw, Pair())
    return await _refuse(office, asked, Member(entry.sender, entry.role), looked, (reason,), began, entry.to)


async def _way(office: Office, asked: Sending, now: float) -> Way | Finding:
    try:
        return await office.way(asked.sender, asked.role, asked.to, now)
    except OutcomeUnknown as error:  # whether a newcomer was written down is in doubt: its message was not kept
        raise OutcomeUnknown(error.say, error.id or asked.id) from error


async def _state(office: Office, seq: int) -> str:
    return state_of(await office.store.deliveries(seq), await office.store.story(seq), refused=False)


async def _sent_before(
    office: Office, asked: Sending, member: Member, looked: Looked, address: str | None
) -> Receipt | None:
    """A message that was kept is not refused when it is repeated, though its recipient has left since."""
    id_, since = looked.facts.id or asked.id, office.clock.now() - office.limits.dedup_window_seconds
    if id_ is None:
        return None
    this = (member.name, digest_of(asked.raw), address)
    for message in reversed(await office.store.find(id_)):
        if not message.refused and message.at >= since and (message.sender, message.digest, message.to) == this:
            state, to = await _state(office, message.seq), await office.store.deliveries(message.seq)
            inboxes = tuple(delivery.inbox for delivery in to)
            return Receipt(True, id_, state, inboxes, message.dialect, message.type, looked.findings, duplicate=True)
    return None


def _nobody(office: Office, asked: Sending) -> Member:
    return Member(asked.sender[: office.limits.id_characters_max], asked.role or "")


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


def _addressed(looked: Looked, roster: Roster) -> str | None:
    """The recipient that the message itself names: an agent, or whoever has that role."""
    if looked.facts.recipient is None:
        return None
    name = normal_address(looked.facts.recipient)
    by_role = looked.dialect is not None and looked.dialect.addresses == "roles"
    return ONE_OF_ROLE + name if by_role and roster.find(name) is None and roster.of_role(name) else name


def _wrong_id(given: str, own: str | None, limits: Limits) -> tuple[Finding, ...]:
    """What speaks against the id that the caller gave."""
    if own is not None and given != own:
        say = f"Leave out --id: the message has an id of its own, {own}."
        return (Finding("id-differs", ROOT, say, expected=own, found=given[: limits.found_characters_max]),)
    if not given or not given.isprintable() or len(given) > limits.id_characters_max:
        wanted = f"1 to {limits.id_characters_max} characters that can all be seen"
        say = f"Choose an id of {wanted}, or leave out --id."
        return (Finding("id-not-allowed", ROOT, say, expected=wanted, found=given[: limits.found_characters_max]),)
    return ()


# --- kept ------------------------------------------------------------------------------------------------------------


def _entry(
    office: Office,
    asked: Sending,
    member: Member,
    looked: Looked,
    address: str,
    began: float,
    findings: tuple[Finding, ...],
    inboxes: Route,
    answers: tuple[int, ...],
) -> Entry:
    """Everything that is written when this message is kept. By place and not by name: it is done for every message."""
    now, limits, kind, facts, raw = office.clock.now(), office.limits, looked.kind, looked.facts, asked.raw
    return Entry(
        facts.id or asked.id or office.clock.new_id(),
        now,
        member.name,
        member.role,
        address,
        kind.dialect.name if kind is not None else _dialect_name(looked),
        kind.type.name if kind is not None else _control_type(looked),
        kind.rank if kind is not None else STATUS,
        facts.correlation,
        facts.reply_to or asked.reply_to,
        digest_of(raw),
        raw,
        inboxes,
        "accepted",
        _detail(began, now, findings),
        _answer_by(office, asked, kind, now),
        answers,
        now - limits.dedup_window_seconds,
        limits.inbox_max,
    )


def _id_reused(entry: Entry) -> Finding:
    say = f"Give it an id of its own: {entry.id} was sent before, with other words."
    return Finding("id-reused", ROOT, say, expected="an id not used before", found=entry.id)


def _inbox_full(limits: Limits, inbox: str | None) -> Finding:
    limit = f"{limits.inbox_max:,} {'message' if limits.inbox_max == 1 else 'messages'}"
    say = f"Try again later, or send it to somebody else: {inbox} has {limit} waiting and takes no more."
    return Finding("inbox-full", ROOT, say, expected=f"fewer than {limit}", found=inbox)


def _dialect_name(looked: Looked) -> str | None:
    return looked.dialect.name if looked.dialect is not None else None


def _control_type(looked: Looked) -> str | None:
    """What is not one of our messages may still say what it is: a coding tool's own frame does."""
    return looked.checked.type if looked.checked is not None else None


def _answer_by(office: Office, asked: Sending, kind: Kind | None, now: float) -> float | None:
    """A deadline is kept where an answer can be told from other messages: the dialect has ids, or the asker waits."""
    if asked.answer_within is not None:
        return now + asked.answer_within
    return now + office.limits.request_seconds if kind is not None and kind.asks else None


async def _answers(office: Office, reply_to: str | None, looked: Looked, inboxes: Route) -> tuple[int, ...]:
    """The requests that this message answers: the one it names, or those of its conversation that want this type."""
    if reply_to is not None:
        named = await office.store.asked(reply_to, None)
        # Two agents may have used one id, each for a request of its own: then the answer is to whom it goes to.
        own = [ask.message for ask, message in named if message.sender in inboxes]
        return tuple(own or [ask.message for ask, _ in named])
    if looked.kind is None or looked.facts.correlation is None:
        return ()
    found = await office.store.asked(None, looked.facts.correlation)
    return tuple(ask.message for ask, message in found if message.type in looked.kind.answers)


# --- refused ---------------------------------------------------------------------------------------------------------


async def _refuse(
    office: Office,
    asked: Sending,
    member: Member,
    looked: Looked,
    wrong: tuple[Finding, ...],
    began: float,
    address: str | None = None,
) -> Receipt:
    from telex.flow.reports import refusal_answer

    findings = (*looked.findings, *wrong)
    if any(one.code == "id-not-allowed" for one in wrong):
        asked = asked._replace(id=None)  # it is kept under one that can be shown
    would_be = _entry(office, asked, member, looked, address or asked.to or "", began, findings, (), ())
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
    from telex.dialects.writing import write

    text, certain = write(dialect, tree, checked.body), checked.mended is not None
    if not certain and OPENING not in text:
        return None, False  # the findings say what to change, and nothing could be changed for the sender
    return text, certain


def _detail(began: float, now: float, findings: tuple[Finding, ...]) -> str:
    took = f'"took": {(now - began) * 1000:.3f}'
    if not findings:
        return f"{{{took}}}"
    listed = [{name: value for name, value in one._asdict().items() if value is not None} for one in findings]
    return f'{{{took}, "findings": {json.dumps(listed, ensure_ascii=False)}}}'

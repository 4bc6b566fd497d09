"""What happens to a message that is sent? Looked at, routed, kept; or refused with everything that is wrong with it.

Whatever the answer, the bytes are kept as they came: a refused message is part of the record too.
"""

import json
from typing import Any, NamedTuple

from telex.bus.office import Office
from telex.dialects.spec import Dialect
from telex.flow.admission import Checked
from telex.flow.lanes import Looked, Pair
from telex.flow.lifecycle import state_of
from telex.flow.routing import Route, normal_address, role_at, route
from telex.model.digest import digest_of
from telex.model.message import Entry
from telex.model.paths import ROOT
from telex.model.refusal import Finding
from telex.model.roster import ONE_OF_ROLE, Member, Roster
from telex.ports.bus import Receipt

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
    began = office.clock.now()
    member = await office.member(asked.sender, asked.role)
    if not isinstance(member, Member):
        nobody = Member(asked.sender[: office.limits.id_characters_max], asked.role or "")
        looked = office.lanes.look(asked.raw, Pair())
        return await _refuse(office, asked, nobody, looked, (member,), began)
    roster = await office.roster()
    address = normal_address(asked.to) if asked.to is not None else None
    looked = office.lanes.look(asked.raw, _pair(member, address, roster))
    wrong = _id_differs(asked, looked)
    if address is None:
        address = _addressed(looked, roster)
    found: Route | Finding = route(address, member, roster) if address is not None else _NO_RECIPIENT
    if isinstance(found, Finding):
        wrong = (*wrong, found)
    if wrong or isinstance(found, Finding) or (looked.checked is not None and not looked.checked.valid):
        return await _refuse(office, asked, member, looked, wrong, began, address)
    return await _keep(office, asked, member, looked, address or "", found, began)


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


def _pair(member: Member, address: str | None, roster: Roster) -> Pair:
    if address is None:
        return Pair(member.role, None, member.name, None)
    by_name = address if roster.find(address) is not None else None
    return Pair(member.role, role_at(address, roster), member.name, by_name)


def _addressed(looked: Looked, roster: Roster) -> str | None:
    """The recipient that the message itself names: an agent, or whoever has that role."""
    if looked.facts.recipient is None:
        return None
    name = normal_address(looked.facts.recipient)
    by_role = looked.dialect is not None and looked.dialect.addresses == "roles"
    return ONE_OF_ROLE + name if by_role and roster.find(name) is None and roster.of_role(name) else name


def _id_differs(asked: Sending, looked: Looked) -> tuple[Finding, ...]:
    own = looked.facts.id
    if asked.id is None or own is None or asked.id == own:
        return ()
    say = f"Leave out --id, or write {asked.id} in the message: it has an id of its own."
    return (Finding("id-differs", ROOT, say, expected=own, found=asked.id),)


# --- kept ------------------------------------------------------------------------------------------------------------


async def _keep(
    office: Office, asked: Sending, member: Member, looked: Looked, address: str, inboxes: Route, began: float
) -> Receipt:
    findings = looked.checked.findings if looked.checked is not None else ()
    now = office.clock.now()
    entry = _entry(office, asked, member, looked, address, now)._replace(
        inboxes=inboxes,
        detail=_detail(began, now, findings),
        answer_by=_answer_by(office, asked, looked, now),
        answers=await _answers(office, asked, looked),
        same_since=now - office.limits.dedup_window_seconds,
        inbox_max=office.limits.inbox_max,
    )
    [appended] = await office.store.append([entry])
    receipt = Receipt(True, entry.id, "stored", inboxes, entry.dialect, entry.type, findings)
    match appended.outcome:
        case "kept":
            return receipt
        case "duplicate":
            deliveries = await office.store.deliveries(appended.seq)
            state = state_of(deliveries, await office.store.story(appended.seq), refused=False)
            return receipt._replace(state=state, duplicate=True)
        case "id-reused":
            say = f"Give it an id of its own: {entry.id} was another message's."
            wrong = Finding("id-reused", ROOT, say, expected="an id not used before", found=entry.id)
        case "inbox-full":
            limit = f"{office.limits.inbox_max:,} messages"
            say = f"Try again later: {appended.inbox} has {limit} waiting and takes no more."
            wrong = Finding("inbox-full", ROOT, say, expected=f"fewer than {limit}", found=appended.inbox)
    return await _refuse(office, asked, member, looked, (wrong,), began, address)


def _entry(office: Office, asked: Sending, member: Member, looked: Looked, address: str, now: float) -> Entry:
    facts = looked.facts
    return Entry(
        id=facts.id or asked.id or office.clock.new_id(),
        at=now,
        sender=member.name,
        role=member.role,
        to=address,
        dialect=looked.dialect.name if looked.dialect is not None else None,
        type=looked.type.name if looked.type is not None else None,
        rank=looked.rank,
        correlation=facts.correlation,
        reply_to=facts.reply_to or asked.reply_to,
        digest=digest_of(asked.raw),
        raw=asked.raw,
    )


def _answer_by(office: Office, asked: Sending, looked: Looked, now: float) -> float | None:
    """A deadline is kept where an answer can be told from other messages: the dialect has ids, or the asker waits."""
    if asked.answer_within is not None:
        return now + asked.answer_within
    if looked.type is None or looked.type.reply is None or looked.dialect is None or looked.dialect.wire.id is None:
        return None
    return now + office.limits.request_seconds


async def _answers(office: Office, asked: Sending, looked: Looked) -> tuple[int, ...]:
    """The requests that this message answers: the one it names, or those of its conversation that want this type."""
    named = looked.facts.reply_to or asked.reply_to
    if named is not None:
        return tuple(ask.message for ask, _ in await office.store.asked(named, None))
    if looked.type is None or looked.facts.correlation is None or not _is_a_reply(looked):
        return ()
    assert looked.dialect is not None
    wanted = {type_.name for type_ in looked.dialect.types.values() if type_.reply == looked.type.name}
    found = await office.store.asked(None, looked.facts.correlation)
    return tuple(ask.message for ask, message in found if message.type in wanted)


def _is_a_reply(looked: Looked) -> bool:
    return looked.dialect is not None and any(
        type_.reply == looked.type.name for type_ in looked.dialect.types.values() if looked.type is not None
    )


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

    findings = (*(looked.checked.findings if looked.checked is not None else ()), *wrong)
    now = office.clock.now()
    entry = _entry(office, asked, member, looked, address or asked.to or "", now)
    entry = entry._replace(kind="refused", detail=_detail(began, now, findings))
    await office.store.append([entry])
    mended, certain = _mended(looked.checked, looked.dialect)
    return Receipt(
        False,
        entry.id,
        "refused",
        (),
        entry.dialect,
        entry.type,
        findings,
        answer=refusal_answer(findings, entry.id, entry.correlation, member.name, looked.dialect, now),
        mended=mended,
        certain=certain,
    )


def _mended(checked: Checked | None, dialect: Dialect | None) -> tuple[str | None, bool]:
    if checked is None or dialect is None:
        return None, False
    tree = checked.mended if checked.mended is not None else checked.skeleton
    if checked.valid or tree is None:
        return None, False
    from telex.dialects.writing import write

    return write(dialect, tree, checked.body), checked.mended is not None


def _detail(began: float, now: float, findings: tuple[Finding, ...]) -> str:
    took = f'"took": {(now - began) * 1000:.3f}'
    if not findings:
        return f"{{{took}}}"
    listed = [{name: value for name, value in one._asdict().items() if value is not None} for one in findings]
    return f'{{{took}, "findings": {json.dumps(listed, ensure_ascii=False)}}}'

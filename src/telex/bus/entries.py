"""What is written when a message is kept? One place for it, whichever way the message came."""

import json

from telex.bus.office import Office
from telex.flow.book.said import UNWEIGHED
from telex.flow.routing import Route
from telex.model.digest import digest_of
from telex.model.message import Entry, Part
from telex.model.refusal import Finding
from telex.model.roster import Member


def entry_of(
    office: Office,
    raw: bytes,
    id_: str | None,
    member: Member,
    address: str,
    dialect: str | None,
    type_: str | None,
    rank: int,
    correlation: str | None,
    reply_to: str | None,
    inboxes: Route,
    began: float,
    findings: tuple[Finding, ...] = (),
    answer_within: float | None = None,
    answers: tuple[int, ...] = (),
    part: Part | None = None,
) -> Entry:
    """By place and not by name: it is done for every message."""
    now, limits = office.clock.now(), office.desk.limits
    where = inboxes if inboxes != (address,) or (part is not None and part.topics) else ()
    return Entry(
        id_ or office.clock.new_id(),
        now,
        member.name,
        member.role,
        address,
        dialect,
        type_,
        rank,
        correlation,
        reply_to,
        digest_of(raw),
        raw,
        inboxes,
        "accepted",
        _detail((now - began) * 1000, findings, where, office.desk.work, office.carried and office.carried()),
        None if answer_within is None else now + answer_within,
        answers,
        now - limits.dedup_window_seconds,
        limits.inbox_max,
        part,
    )


def _detail(
    took_milliseconds: float, findings: tuple[Finding, ...], inboxes: Route, weighed: bool, trace: str | None
) -> str:
    """For the event that brings it. Where it was put is told where the address does not say it, and of messages that
    the book is folded from: who was asked to shut down, for example. What a team without rules of the work lets pass
    never counts for the book."""
    took = f'"took": {took_milliseconds:.3f}'
    if not weighed:
        took += f', "{UNWEIGHED}": true'
    if inboxes:
        took += f', "inboxes": {json.dumps(inboxes, ensure_ascii=False)}'
    if trace is not None:
        took += f', "traceparent": "{trace}"'
    if not findings:
        return f"{{{took}}}"
    listed = [{name: value for name, value in one._asdict().items() if value is not None} for one in findings]
    return f'{{{took}, "findings": {json.dumps(listed, ensure_ascii=False)}}}'

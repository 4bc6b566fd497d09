"""What is written when a message is kept? One place for it, whichever way the message came."""

import json

from telex.bus.directory import BusContext
from telex.delivery.routing import Route
from telex.model.digest import digest_of
from telex.model.finding import Finding
from telex.model.message import NewMessage, WorkChange
from telex.model.roster import Member
from telex.work.view import UNWEIGHED

_NEW = tuple.__new__  # makes a NamedTuple in half the time


def new_message(
    context: BusContext,
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
    work_change: WorkChange | None = None,
) -> NewMessage:
    """By place and not by name: it is done for every message."""
    now, limits = context.clock.now(), context.policy.limits
    where = inboxes if inboxes != (address,) or (work_change is not None and work_change.topics) else ()
    trace = context.carried and context.carried()
    took = f'{{"took": {(now - began) * 1000:.3f}'
    if findings or where or trace is not None or not context.policy.work:
        took += _more(findings, where, context.policy.work, trace)
    made = (
        id_ or context.clock.new_id(),
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
        took + "}",
        None if answer_within is None else now + answer_within,
        answers,
        now - limits.dedup_window_seconds,
        limits.inbox_max,
        work_change,
    )
    return _NEW(NewMessage, made)


def _more(findings: tuple[Finding, ...], inboxes: Route, weighed: bool, trace: str | None) -> str:
    """What else is told by the event that brings it. Where it was put is told where the address does not say it, and of
    messages that the book is folded from: who was asked to shut down, for example. What a team without rules of the
    work lets pass never counts for the book."""
    more = "" if weighed else f', "{UNWEIGHED}": true'
    if inboxes:
        more += f', "inboxes": {json.dumps(inboxes, ensure_ascii=False)}'
    if trace is not None:
        more += f', "traceparent": "{trace}"'
    if findings:
        listed = [
            {name: value for name, value in finding._asdict().items() if value is not None} for finding in findings
        ]
        more += f', "findings": {json.dumps(listed, ensure_ascii=False)}'
    return more

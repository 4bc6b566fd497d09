"""Decisions of a person: `telex approvals`, `approve`, `reject`, `escalations` and `answer`."""

import sys
import time
from collections.abc import Callable
from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from telex.model.roster import HUMAN, TELEX
from telex.model.work import Escalation
from telex.ports.bus import MessageHistory
from telex.surfaces.cli.connection import opened_to_look, settings_here
from telex.surfaces.cli.files import STDIN, pieces
from telex.surfaces.cli.options import (
    BUS,
    Speaker,
    as_option,
    command,
    count_option,
    flag,
    grouped,
    id_argument,
    member_role_option,
    repeated_option,
    text_option,
)
from telex.surfaces.cli.output import Screen, finding_lines, print_json, refused_lines, shell_word, shown
from telex.surfaces.cli.render import ago, clock_time, fields, optional_stamp, print_list, stamp, stamped
from telex.surfaces.cli.send import print_receipt
from telex.surfaces.cli.usage import DONE, REFUSED, CommandError
from telex.work.approvals import Approval, answerers, answering

if TYPE_CHECKING:
    from telex.client import SyncBus


# --- approvals --------------------------------------------------------------------------------------------------------
@command("approvals", [flag("--all", "Include answered requests.", "everything"), *BUS])
def approvals_command(everything: bool, store: str | None, as_json: bool) -> int:
    """Show pending approval requests: the subject, the sender, and who may answer.

    telex approve ID and telex reject ID answer a request.
    """
    settings = settings_here()
    with opened_to_look(store, settings) as bus:
        approvals: list[Approval] = [
            approval for approval in bus.work_state("approval").values() if everything or approval.waits
        ]
        members = [presence.member for presence in bus.roster()]
    dialects = {dialect.name: dialect for dialect in settings.dialects()}
    seconds, now = settings.limits.request_seconds, time.time()

    def may_answer(approval: Approval) -> list[str]:
        return answerers(approval.request, answering(approval.request, dialects), members)

    columns: dict[str, Callable[[Approval], str | int]] = {
        "id": lambda approval: shell_word(approval.request.id),
        "decision": decision,
        "due": lambda approval: _due(_deadline(approval, seconds), now),
        "may answer": lambda approval: ", ".join(may_answer(approval)),
        "from": lambda approval: approval.request.by,
        "kind": lambda approval: approval.request.kind,
        "subject": lambda approval: approval.request.subject,
    }
    for name in ("due", "may answer") if everything else ("decision",):
        del columns[name]
    is_pending = any(approval.waits for approval in approvals)
    return print_list(
        sorted(approvals, key=lambda approval: approval.request.at),
        as_json,
        facts=lambda approval: _approval_facts(approval, _deadline(approval, seconds), now, may_answer(approval)),
        columns=columns,
        empty="no approval requests" if everything else "no pending approval requests",
        hint="answer with telex approve ID --reason WORDS or telex reject ID --reason WORDS" if is_pending else "",
    )


def _deadline(approval: Approval, seconds: float) -> float:
    """Deadline of the request, or the team's limit where it has none."""
    request = approval.request
    deadline = request.deadline or 0.0
    return deadline if deadline > request.at else request.at + seconds


def decision(approval: Approval) -> str:
    answer = approval.answer
    return "waits" if answer is None else f"{'overridden' if answer.override else answer.decision} by {answer.by}"


def _due(deadline: float, now: float) -> str:
    return f"in {ago(now, deadline)}" if deadline > now else f"overdue {ago(deadline, now)}"


def _approval_facts(approval: Approval, deadline: float, now: float, may_answer: list[str]) -> dict[str, Any]:
    request, answer = approval.request, approval.answer
    return {
        **fields(request, "id kind subject"),
        "from": request.by,
        "role": request.role,
        "may_answer": may_answer,
        "at": stamp(request.at),
        "deadline": stamp(deadline),
        "overdue": approval.waits and deadline <= now,
        **fields(request, "dialect type"),
        "task": request.task or None,
        "correlation": request.correlation,
        "paths": list(request.paths),
        "answer": None if answer is None else stamped(answer),
    }


# --- approve and reject -----------------------------------------------------------------------------------------------

reason_option = text_option("--reason", "WORDS", "Reason, included in the answer.")
condition_option = repeated_option("--condition", "conditions", "WORDS", "A condition")
modify_option = repeated_option("--modify", "modifications", "PATH", "A path to allow as well")
revision_option = count_option("--revision", "N", "Refuse it if the contract has another revision by now.")
WHO = (as_option(HUMAN), member_role_option, *BUS, grouped(who=Speaker))


@command("approve", [id_argument, reason_option, condition_option, modify_option, revision_option, *WHO])
def approve_command(**options: Any) -> int:
    """Approve a request. The answer goes to the agent that asked, in the dialect of the request."""
    return _decide(approved=True, **options)


@command("reject", [id_argument, reason_option, condition_option, revision_option, *WHO])
def reject_command(**options: Any) -> int:
    """Reject a request. The answer goes to the agent that asked, in the dialect of the request."""
    return _decide(approved=False, **options)


def _decide(
    *,
    id: str,
    who: Speaker,
    store: str | None,
    as_json: bool,
    approved: bool,
    reason: str | None,
    revision: int | None,
    **lists: Any,
) -> int:
    """`lists` are the options `conditions` and `modifications`."""
    verb = "approve" if approved else "reject"
    if reason is None or not reason.strip():
        raise CommandError(f"no reason: telex {verb} {shown(id)} --reason WORDS")
    if not all(words.strip() for words in (*chain.from_iterable(lists.values()), who.agent)):
        raise CommandError(f"telex {verb}: an option has an empty value")
    with opened_to_look(store) as bus:
        receipt = bus.approve(
            id, approved=approved, reason=reason, revision=revision, check=False, **who._asdict(), **lists
        )
    if as_json:
        facts = {"accepted": receipt.accepted, "request": id, "id": receipt.id, "to": list(receipt.to)}
        findings = [finding._asdict() for finding in receipt.findings]
        print_json(facts | fields(receipt, "dialect type") | {"findings": findings})
    if not receipt.accepted:
        screen = Screen(sys.stderr)
        screen.line(*refused_lines(receipt.findings, screen))
        return REFUSED
    if not as_json:
        screen, to = Screen(sys.stdout), ", ".join(map(shown, receipt.to))
        words = f"{'approved' if approved else 'rejected'} {shown(id)}; answered {to} with {shown(receipt.id)}"
        screen.line(words, *finding_lines(receipt.findings, screen))
    return DONE


# --- escalations ------------------------------------------------------------------------------------------------------
@command("escalations", [flag("--all", "Include answered ones.", "every"), *BUS])
def escalations_command(every: bool, store: str | None, as_json: bool) -> int:
    """List open escalations: who has each, and when it goes one step further up."""
    with opened_to_look(store) as bus:
        escalations = bus.escalations(answered=every)
    now, is_open = time.time(), any(escalation.is_open for escalation in escalations)
    return print_list(
        escalations,
        as_json,
        facts=_escalation_facts,
        columns={
            "id": lambda case: shell_word(case.id),
            "from": lambda case: case.by,
            "with": lambda case: case.now.to,
            "age": lambda case: ago(case.at, now),
            "climbs": lambda case: clock_time(case.now.due_at, now) if case.now.due_at is not None else "",
            "state": lambda case: "waits" if case.is_open else f"answered by {case.answered_by or '?'}",
            "about": lambda case: case.reason,
        },
        empty="no escalations" if every else "no open escalations",
        hint="telex answer ID TEXT answers one; telex why ID shows its history" if is_open else "",
    )


def _escalation_facts(case: Escalation) -> dict[str, Any]:
    return {
        "id": case.id,
        "from": case.by,
        "role": case.role,
        "with": case.now.to,
        "at": stamp(case.at),
        "climbs_at": optional_stamp(case.now.due_at),
        "open": case.is_open,
        "answered_by": case.answered_by,
        "answered_at": optional_stamp(case.answered_at),
        **fields(case, "dialect type"),
        "severity": case.severity or None,
        **fields(case, "reason correlation"),
        "steps": [fields(rung, "id to level") | {"at": stamp(rung.at)} for rung in case.rungs],
    }


@command(
    "answer",
    [
        id_argument,
        click.argument("text", metavar="TEXT|-"),
        as_option(HUMAN),
        member_role_option,
        text_option("--to", "ADDRESS", "Recipient; the agent that asked, if not given.", complete="agents"),
        *BUS,
        grouped(who=Speaker),
    ],
)
def answer_command(id: str, text: str, who: Speaker, to: str | None, store: str | None, as_json: bool) -> int:
    """Answer with plain text: an escalation goes back to the agent that raised it, any other message to its sender."""
    settings = settings_here()
    raw = text.encode("utf-8", "surrogatepass")
    if text == STDIN:
        [(_, raw, _)] = pieces(STDIN, settings.limits.message_bytes_max, lines=False)
    if not raw.strip():
        raise CommandError("give the text: telex answer ID TEXT")
    with opened_to_look(store, settings) as bus:
        history = bus.why(id)[-1]
        case = next((case for case in bus.escalations() if any(rung.id == id for rung in case.rungs)), None)
        recipient = to or _recipient(bus, history, case, who.agent)
        receipt = bus.send(raw, sender=who.agent, role=who.role, to=recipient, reply_to=id, check=False)
        is_open = case is not None and any(other.id == case.id for other in bus.escalations())
    # An answer such as 42 is text, though it is JSON too.
    hint = ("not-an-object", "warning")
    findings = [finding for finding in receipt.findings if (finding.code, finding.severity) != hint]
    receipt = receipt._replace(findings=tuple(findings))
    print_receipt(receipt, fix="telex fix -", as_json=as_json)
    if receipt.accepted and is_open and case is not None:
        able = "a role that had it, a role above, or a person"
        sys.stderr.write(f"{shown(case.id)} is still open: {able} must answer it\n")
    return DONE if receipt.accepted else REFUSED


def _recipient(bus: "SyncBus", history: MessageHistory, case: Escalation | None, agent: str) -> str:
    """The agent that waits for the answer: of an escalation by the bus itself, the last sender before it."""
    message = history.message
    if case is not None and case.by != TELEX:
        return case.by
    if message.sender != TELEX:
        return message.sender
    if message.correlation:
        earlier = [other.message for other in bus.trace(message.correlation) if other.message.seq < message.seq]
        senders = [other.sender for other in earlier if other.sender not in (TELEX, agent) and not other.refused]
        if senders:
            return senders[-1]
    raise CommandError(f"give the recipient: telex answer {shell_word(message.id)} TEXT --to NAME")

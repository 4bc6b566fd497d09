"""`telex approvals`: approval requests and who may answer them."""

import time
from collections.abc import Iterable
from typing import Any

import click

from telex.dialects.schema import Dialect
from telex.model.roster import Member
from telex.surfaces.cli.bus_connection import opened_to_look, settings_here
from telex.surfaces.cli.bus_options import lines_option, store_option
from telex.surfaces.cli.output import Screen, shell_word, shown
from telex.surfaces.cli.result_output import print_list
from telex.surfaces.cli.table import table_lines
from telex.surfaces.cli.time_text import ago, stamp
from telex.work.approvals import Approval, answerers, answering


@click.command("approvals")
@click.option("--all", "everything", is_flag=True, help="Include answered requests.")
@store_option
@lines_option
def command(everything: bool, store: str | None, as_json: bool) -> int:
    """Show pending approval requests: what is asked, by whom, and who may answer.

    telex approve ID and telex reject ID answer a request.
    """
    settings = settings_here()
    with opened_to_look(store, settings) as bus:
        approvals: list[Approval] = sorted(
            bus.work_state("approval").values(), key=lambda approval: approval.request.at
        )
        able = AnswererLookup(settings.dialects(), (presence.member for presence in bus.roster()))
    seconds = settings.limits.request_seconds
    asked = [(approval, deadline_of(approval, seconds)) for approval in approvals if everything or approval.waits]
    now, waits = time.time(), any(approval.waits for approval, _ in asked)
    return print_list(
        asked,
        as_json,
        facts=lambda pair: facts(*pair, now, able),
        lines=lambda screen: _table(asked, now, screen, able, everything),
        empty="no approval requests" if everything else "no pending approval requests",
        hint="answer with telex approve ID --reason WORDS or telex reject ID --reason WORDS" if waits else "",
    )


def deadline_of(approval: Approval, seconds: float) -> float:
    """Until when an answer is waited for before it is overdue: as the request says, or as long as any may take."""
    request = approval.request
    own = request.deadline
    return own if own is not None and own > request.at else request.at + seconds


class AnswererLookup:
    """Who may answer? An answer is written in the dialect of the request."""

    def __init__(self, dialects: Iterable[Dialect], members: Iterable[Member]) -> None:
        self._dialects, self._members = {dialect.name: dialect for dialect in dialects}, list(members)

    def to_answer(self, approval: Approval) -> list[str]:
        """By name or role."""
        return answerers(approval.request, answering(approval.request, self._dialects), self._members)


def _table(
    asked: list[tuple[Approval, float]], now: float, screen: Screen, able: AnswererLookup, everything: bool
) -> list[str]:
    """What waits, with who may answer; or all of it, with how it was decided."""
    headings = ("id", "decision") if everything else ("id", "due", "may answer")
    rows = [
        (
            shell_word(approval.request.id),
            *(
                (decision(approval),)
                if everything
                else (_due(deadline, now), shown(", ".join(able.to_answer(approval))))
            ),
            shown(approval.request.by),
            shown(approval.request.kind),
            shown(approval.request.subject),
        )
        for approval, deadline in asked
    ]
    return table_lines((*headings, "from", "kind", "subject"), rows, screen)


def decision(approval: Approval) -> str:
    answer = approval.answer
    if answer is None:
        return "waits"
    return f"{'overridden' if answer.override else answer.decision} by {shown(answer.by)}"


def _due(deadline: float, now: float) -> str:
    return f"in {ago(now, deadline)}" if deadline > now else f"overdue {ago(deadline, now)}"


def facts(approval: Approval, deadline: float, now: float, able: AnswererLookup) -> dict[str, Any]:
    request, answer = approval.request, approval.answer
    told = None
    if answer is not None:
        told = answer._asdict() | {"at": stamp(answer.at)}
    return {
        "id": request.id,
        "kind": request.kind,
        "subject": request.subject,
        "from": request.by,
        "role": request.role,
        "may_answer": able.to_answer(approval),
        "at": stamp(request.at),
        "deadline": stamp(deadline),
        "overdue": approval.waits and deadline <= now,
        "dialect": request.dialect,
        "type": request.type,
        "task": request.task or None,
        "correlation": request.correlation,
        "paths": list(request.paths),
        "answer": told,
    }

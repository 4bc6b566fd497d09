"""How is a replay told? Who would have been refused how often, why, and with which message first."""

import sys
from typing import Any

from telex.replay.report import RefusalReason, ReplayCounts, ReplayReport
from telex.surfaces.cli.check_output import json_line
from telex.surfaces.cli.output import Screen, shown, wrapped
from telex.surfaces.cli.table import Row, table_lines

REASONS_SHOWN_MAX = 50
RATE_FROM = 1_000  # messages; with fewer the rate says more about starting than about judging
NEXT_KEPT = "telex explain CODE explains a code, telex why ID and telex show ID show the message"
NEXT = "telex explain CODE explains a code, telex check FILE shows the findings of each message"


def report(account: ReplayReport, flaws: int, seconds: float, strict: bool, as_json: bool) -> None:
    total = account.total
    if as_json:
        for reason in account.reasons():
            sys.stdout.write(json_line(reason_facts(reason)) + "\n")
        sys.stdout.write(json_line(_summary_facts(account, total, flaws, strict)) + "\n")
        return
    screen = Screen(sys.stdout)
    lines = [*_by_agent(account, total, screen), ""] if total.messages else []
    reasons = account.reasons()
    if reasons:
        lines += [*_by_reason(reasons[:REASONS_SHOWN_MAX], screen), ""]
        if len(reasons) > REASONS_SHOWN_MAX:
            lines += [f"and {len(reasons) - REASONS_SHOWN_MAX:,} more; --json shows all", ""]
    rate = f"; {seconds:.1f} s, {total.messages / max(seconds, 1e-9):,.0f} messages a second"
    said = _summary(account, total, strict) + (rate if total.messages >= RATE_FROM else "")
    lines += [screen.paint(line, "bold") for line in wrapped(said, screen.width, 0)]
    screen.line("\n".join(lines))
    if reasons:
        errors = Screen(sys.stderr)
        then = NEXT_KEPT if account.kept else NEXT
        errors.line("\n".join(errors.paint(line, "dim") for line in wrapped(then, errors.width, 0)))


def _by_agent(account: ReplayReport, total: ReplayCounts, screen: Screen) -> list[str]:
    headings = ["agent", "messages", "pass", "warned", "refused"]
    if account.kept:
        headings.append("newly")
    rows = [_row(shown(agent), counts, account) for agent, counts in account.by_agent().items()]
    return table_lines(headings, rows, screen, total=_row("total", total, account))


def _row(name: str, counts: ReplayCounts, account: ReplayReport) -> Row:
    newly = (counts.newly,) if account.kept else ()
    return (name, counts.messages, counts.passed, counts.warned, counts.refused, *newly)


def _by_reason(reasons: list[RefusalReason], screen: Screen) -> list[str]:
    rows = [
        (
            shown(refusal_reason.agent),
            refusal_reason.type,
            refusal_reason.code,
            refusal_reason.times,
            shown(refusal_reason.first),
        )
        for refusal_reason in reasons
    ]
    return table_lines(("agent", "type", "code", "times", "first"), rows, screen)


def _summary(account: ReplayReport, total: ReplayCounts, strict: bool) -> str:
    """`120 messages: 118 would pass, 2 would be refused, 1 of them though accepted when sent`"""
    told = [f"{total.passed:,} would pass", f"{total.refused:,} would be refused"]
    if account.kept and total.refused:
        told.append(_newly(total))
    if total.pardoned:
        told.append(f"{total.pardoned:,} would pass that {_were(total.pardoned)} refused")
    if not strict and total.forgiven:
        told.append(f"{total.forgiven:,} only because the team is lenient")
    if account.repeated:
        told.append(f"{account.repeated:,} repeated and ignored")
    count = "1 message" if total.messages == 1 else f"{total.messages:,} messages"
    return f"{count}: {', '.join(told)}"


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def _newly(total: ReplayCounts) -> str:
    if not total.newly:
        return "as when sent"
    if total.newly == total.refused:
        return "though accepted when sent"
    return f"{total.newly:,} of them though accepted when sent"


def reason_facts(reason: RefusalReason) -> dict[str, Any]:
    return reason._asdict()


def _summary_facts(account: ReplayReport, total: ReplayCounts, flaws: int, strict: bool) -> dict[str, Any]:
    return {
        "messages": total.messages,
        "strict": strict,
        **{name: getattr(total, name) for name in ("passed", "warned", "refused", "newly", "pardoned", "forgiven")},
        "repeated": account.repeated,
        "own": account.own,
        "unread": flaws,
        "agents": {
            agent: {name: getattr(counts, name) for name in ("messages", "passed", "warned", "refused", "newly")}
            for agent, counts in account.by_agent().items()
        },
        "types": [
            {"agent": agent, "dialect": dialect, "type": type_, "passed": counts.passed, "refused": counts.refused}
            for (agent, dialect, type_), counts in account.by_type()
        ],
    }

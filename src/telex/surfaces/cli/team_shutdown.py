"""`telex team shutdown`: ask all agents to stop, and report who agreed, refused or did not answer."""

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from telex.model.work import MemberShutdown, ShutdownReport
from telex.surfaces.cli.bus_connection import opened_to_look, settings_here, stay_for_long
from telex.surfaces.cli.bus_options import agent_option, grouped, seconds_option, store_option, text_option
from telex.surfaces.cli.check_output import json_line
from telex.surfaces.cli.exit_codes import DONE, REFUSED, TIMED_OUT, CommandError
from telex.surfaces.cli.output import Screen, finding_lines, shown
from telex.surfaces.cli.table import table_lines

if TYPE_CHECKING:
    from telex.client import SyncBus

DEADLINE_SECONDS = 60.0
_MEANWHILE = {  # text for the agents in each state
    "approved": "agreed",
    "refused": "refused",
    "silent": "not answered",
    "not asked": "not asked",
    "forced": "forced",
    "left": "left",
}


class ShutdownOptions(NamedTuple):
    agent: str
    reason: str | None
    deadline: float | None
    team: str | None


@click.command("shutdown")
@agent_option
@text_option("--reason", "REASON", "Why: phase_complete, plan_complete or user_abort.")
@seconds_option("--deadline", f"Seconds to wait for the answers; {DEADLINE_SECONDS:g} if not given.")
@click.option(
    "--force", is_flag=True, help="Stop agents that refuse or do not answer, too; those asked before at once."
)
@click.option("--no-wait", is_flag=True, help="Ask and print the current state without waiting.")
@text_option("--team", "NAME", "Team name; as in telex.toml if not given.")
@store_option
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@grouped(request=ShutdownOptions)
def command(request: ShutdownOptions, force: bool, no_wait: bool, store: str | None, as_json: bool) -> int:
    """Ask all agents to shut down, wait for their answers, and dissolve the team when all have agreed.

    Running it again continues a shutdown. A stopped agent sends and receives nothing more.
    """
    if request.reason is None:
        raise CommandError("give the reason: telex team shutdown --reason phase_complete, plan_complete or user_abort")
    settings = settings_here()
    request = request._replace(
        team=request.team or settings.team_name,
        deadline=DEADLINE_SECONDS if request.deadline is None else request.deadline,
    )
    stay_for_long()
    with opened_to_look(store, settings) as bus:
        report = _run(bus, request._asdict(), force=force, wait=not no_wait)
    if as_json:
        sys.stdout.write(json_line(_facts(report)) + "\n")
    else:
        _show(report)
    return DONE if no_wait and not report.findings else _exit(report)


def _run(bus: "SyncBus", request: dict[str, Any], *, force: bool, wait: bool) -> ShutdownReport:
    """Ask first, print for whom it waits, then wait. With force only agents that were not asked before are waited for,
    which one call has to see."""
    if not wait or not request["deadline"] or force:
        return bus.shut_down(**request, force=force, wait=wait)
    report = bus.shut_down(**request, wait=False)
    if report.findings or report.dissolved:
        return report
    if silent := report.of("silent"):
        sys.stderr.write(f"waiting up to {request['deadline']:g} s for {_agents(len(silent))}\n")
    return bus.shut_down(**request)


def _exit(report: ShutdownReport) -> int:
    if report.findings:
        return REFUSED
    if report.dissolved:
        return DONE
    return REFUSED if not report.of("silent", "not asked") else TIMED_OUT


def _show(report: ShutdownReport) -> None:
    if report.findings:
        screen = Screen(sys.stderr)
        screen.line("\n".join([screen.paint("refused", "red"), *finding_lines(report.findings, screen)]))
        return
    screen = Screen(sys.stdout)
    screen.line(_outcome(report, screen))
    if report.agents:
        screen.line("\n".join(["", *_table(report, screen)]))
    if report.returned:
        rows = [
            (
                shown(returned_message.id),
                shown(returned_message.type or "text"),
                shown(returned_message.sender),
                shown(returned_message.inbox),
            )
            for returned_message in report.returned
        ]
        screen.line("\n".join(["", *table_lines(("returned", "type", "from", "was for"), rows, screen)]))
    if not report.dissolved:
        sys.stderr.write("run telex team shutdown again to ask them once more, or with --force to stop them\n")


def _outcome(report: ShutdownReport, screen: Screen) -> str:
    if not report.agents:
        return "the team has no other member"
    verdict = screen.paint("dissolved", "green") if report.dissolved else screen.paint("not dissolved", "yellow")
    return f"{verdict}: {told(report.agents)}"


def told(agents: Iterable[MemberShutdown]) -> str:
    """`42 agreed, 3 refused, 5 not answered`"""
    states = [member_shutdown.state for member_shutdown in agents]
    parts = [f"{states.count(state)} {words}" for state, words in _MEANWHILE.items() if state in states]
    return ", ".join(parts) or "no agent was asked"


def _agents(count: int) -> str:
    return f"{count} {'agent' if count == 1 else 'agents'}"


def _table(report: ShutdownReport, screen: Screen) -> list[str]:
    back = [returned_message.inbox for returned_message in report.returned]
    rows = [
        (
            shown(member_shutdown.member.name),
            shown(member_shutdown.member.role),
            member_shutdown.state,
            shown(member_shutdown.answer.status) if member_shutdown.answer is not None else "",
            back.count(member_shutdown.member.name),
            shown(member_shutdown.answer.pending) if member_shutdown.answer is not None else "",
        )
        for member_shutdown in report.agents
    ]
    return table_lines(("name", "role", "answer", "status", "returned", "pending work"), rows, screen)


def _facts(report: ShutdownReport) -> dict[str, Any]:
    return {
        "dissolved": report.dissolved,
        "by": report.by,
        "requests": list(report.requests),
        "agents": [_standing(member_shutdown) for member_shutdown in report.agents],
        "returned": [returned_message._asdict() for returned_message in report.returned],
        "findings": [finding._asdict() for finding in report.findings],
    }


def _standing(member_shutdown: MemberShutdown) -> dict[str, Any]:
    return {
        "name": member_shutdown.member.name,
        "role": member_shutdown.member.role,
        "state": member_shutdown.state,
        "request": member_shutdown.call.id if member_shutdown.call is not None else None,
        "status": member_shutdown.answer.status if member_shutdown.answer is not None else None,
        "pending_work": member_shutdown.answer.pending if member_shutdown.answer is not None else None,
    }

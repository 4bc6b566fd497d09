"""What the tests of a shutdown share: agents who are asked, and how they answer."""

from typing import Any

from telex.client import SyncBus
from telex.model.work import ShutdownReport
from telex.ports.bus import Receipt
from tests.bus.bus_team import Team, speech_of

PHASE = "phase_complete"


def joined(team: Team, *names: str, role: str = "dev") -> list[str]:
    """Agents of a role, who are here from now on."""
    for name in names:
        team.bus.join(name, role=role, by="human")
    return list(names)


def request(team: Team, id: str = "stop-1", sender: str = "lead", to: str = "*") -> str:
    """A shutdown_request sent by hand. Its id."""
    return team.say(speech_of("vbw-typed", "shutdown_request", id)._replace(sender=sender), to=to).id


def reply(
    bus: Team | SyncBus,
    agent: str,
    call: str,
    approve: bool = True,
    *,
    id: str | None = None,
    role: str = "dev",
    to: str = "lead",
    door: dict[str, Any] | None = None,
    **changes: Any,
) -> Receipt:
    """A shutdown_response, which may well be refused."""
    made = speech_of("vbw-typed", "shutdown_response", id or f"{agent}-to-{call}", author_role=role)
    payload = made.tree["payload"] | {"request_id": call, "approve": approve} | changes
    tree = made.tree | {"payload": {name: value for name, value in payload.items() if value is not None}}
    verbs = bus.bus if isinstance(bus, Team) else bus
    return verbs.send(tree, sender=agent, to=to, **(door or {}), check=False)


def agrees(bus: Team | SyncBus, agent: str, call: str, **more: Any) -> None:
    receipt = reply(bus, agent, call, **more)
    assert receipt.accepted, receipt.findings


def states(report: ShutdownReport) -> dict[str, str]:
    assert len({agent.member.name for agent in report.agents}) == len(report.agents)
    return {agent.member.name: agent.state for agent in report.agents}


def asked(team: Team) -> list[str]:
    """The ids of every request to shut down that was kept, oldest first."""
    return [call.id for book in team.bus.work_state("shutdown").values() for call in book.calls]

"""What the tests of work by signal share: agents that are small functions, and an orchestrator that can be killed.

Each agent takes what waits for its role and answers the way its script says. Nobody waits: a story goes round and round
until nobody has anything to do.
"""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from telex.bus import run_sync
from telex.bus.orchestrator import Orchestrator, OrchestratorRound
from telex.client import SyncBus
from telex.dialects.builtin.signal_md import SIGNAL_MD
from telex.dialects.write import write
from telex.model.message import StoredMessage
from telex.ports.bus import Receipt
from telex.work.pipeline import Work
from telex.work.view import parse_tree
from tests.bus.bus_team import Team

REQUEST = "Let people reset their password."
REPLIES = {
    "triage_request": "triage_result",
    "research_request": "research_result",
    "architecture_request": "plan_result",
    "task_assignment": "worker_submission",
    "revision_request": "worker_submission",
}
ROLES = ("architect", "researcher", "worker", "reviewer", "auditor")
Changes = Mapping[str, Any]
Script = Callable[[str, str], Changes | None]  # (id of the dispatch, type of the answer) → other fields; None: silence


def result(type_: str, **changes: Any) -> bytes:
    """The type's own example with some fields changed; `None` takes one out."""
    kind = SIGNAL_MD.types[type_]
    tree = {name: value for name, value in (kind.example | changes).items() if value is not None}
    return write(SIGNAL_MD, tree, kind.body_example).encode()


def smooth(id_: str, type_: str) -> Changes:
    """Everything goes well at once: two waves, the first of two steps."""
    said: dict[str, Changes] = {
        "triage_result": {"research_needed": False, "research_count": None},
        "plan_result": {"wave_count": 2, "step_count": 3, "plan_file": "plans/reset.md"},
        "review_verdict": {"signal": "pass", "critical_count": 0},
    }
    return said.get(type_, {})


class Crew:
    """The agents of a story, on a team's bus."""

    def __init__(self, team: Team, script: Script = smooth) -> None:
        self.team, self.script = team, script
        self.orchestrator = self.hired(team.bus)

    def hired(self, bus: SyncBus) -> Orchestrator:
        """An orchestrator as another process has it."""
        return Orchestrator(bus.awaitable)

    def start(self, work: str = "W", text: str = REQUEST) -> Receipt:
        receipt = run_sync(self.orchestrator.start(text, work))
        assert receipt.accepted, receipt.findings
        return receipt

    def turn(self) -> OrchestratorRound:
        return run_sync(self.orchestrator.step())

    def work(self, work: str = "W") -> Work:
        return run_sync(self.orchestrator.work(work))

    def agents(self) -> int:
        """Every agent does what waits for it. How much that was."""
        return sum(self.act(role) for role in ROLES)

    def act(self, role: str) -> int:
        bus, done = self.team.bus, 0
        for lease in bus.receive(role, limit=100):
            answer = self.answer(lease.message, role)
            if answer is not None:
                receipt = bus.send(answer, sender=role, to="orchestrator", reply_to=lease.message.id)
                assert receipt.accepted, receipt.findings
            bus.ack(lease.token, agent=role)
            done += 1
        return done

    def answer(self, message: StoredMessage, role: str) -> bytes | None:
        type_ = {"reviewer": "review_verdict", "auditor": "audit_verdict"}.get(role) or REPLIES.get(message.type or "")
        if type_ is None:
            return None
        changes = self.script(message.id, type_)
        return None if changes is None else result(type_, **changes)

    def play(self) -> None:
        """Until nobody has anything left to do."""
        while not self.turn().idle or self.agents():
            pass


def dispatches(team: Team, work: str = "W") -> list[str]:
    """The ids of everything that the orchestrator has sent, in order."""
    return [story.message.id for story in team.bus.trace(work) if story.message.role == "orchestrator"]


def but(script: Script, **exceptions: Changes) -> Script:
    """The script, except for the answers to these dispatches (dots as underscores: `W_w1_s1_i0_review`)."""
    named = {name.replace("_", "."): changes for name, changes in exceptions.items()}
    return lambda id_, type_: {**(script(id_, type_) or {}), **named.get(id_, {})}


def text_of(team: Team, id_: str) -> str:
    return team.story(id_).message.raw.decode()


def fields_of(team: Team, id_: str) -> Changes:
    message = team.story(id_).message
    return parse_tree(message.raw, SIGNAL_MD, SIGNAL_MD.types[message.type or ""])


@pytest.fixture
def crew(team: Team) -> Callable[..., Crew]:
    def hired(script: Script = smooth, **exceptions: Changes) -> Crew:
        crew = Crew(team, but(script, **exceptions))
        crew.start()
        return crew

    return hired

"""Agents of the demo: each action is a call of the bus, and its result a `StoryEvent`."""

from collections.abc import Iterable, Mapping
from typing import Any

from telex.client import SyncBus
from telex.demo.environment import DemoProject, StoryClock
from telex.demo.narration import Sign, StoryEvent, sign_of, worth_telling
from telex.dialects.scalars import format_timestamp
from telex.messages import vbw_typed
from telex.model.contracts import PathVerdict
from telex.model.finding import Finding
from telex.model.message import Message
from telex.ports.bus import Receipt

CAST: Mapping[str, str] = {  # name → role
    "lead": "lead",
    "architect": "architect",
    "senior": "senior",
    "dev": "dev",
    "dev-2": "dev",
    "qa": "qa",
    "docs": "docs",
    "human": "human",
}


class DemoTeam:
    def __init__(self, bus: SyncBus, clock: StoryClock, project: DemoProject) -> None:
        self.bus, self.clock, self.project = bus, clock, project
        self._told: set[str] = set()

    # --- send --------------------------------------------------------------------------------------------------------

    def typed(
        self, sender: str, to: str, id: str, type_: str, what: str, *, task: str = "1-1", **fields: Any
    ) -> StoryEvent:
        """A vbw-typed message, with its envelope."""
        envelope = {"id": id, "phase": 1, "task": task, "author_role": CAST[sender], "confidence": "high"}
        envelope["timestamp"] = format_timestamp(self.clock.now())
        made: dict[str, Any] = getattr(vbw_typed, type_)(**fields) | envelope
        return self.send(made, sender, to, what)

    def send(
        self, message: dict[str, Any] | str, sender: str, to: str, what: str, sign: Sign = "stored", **more: Any
    ) -> StoryEvent:
        receipt = self.bus.send(message, sender=sender, to=to, **more)
        return self.told(receipt, sender, to, what, sign)

    def told(self, receipt: Receipt, who: str, whom: str, what: str, sign: Sign = "stored") -> StoryEvent:
        whom = "all" if whom == "*" else whom
        why = self._news(worth_telling(receipt))
        return StoryEvent(self.clock.story, sign_of(receipt, sign), who, whom, what, why=why, id=receipt.id)

    def _news(self, findings: Iterable[Finding]) -> tuple[Finding, ...]:
        """Findings, with the text of repeated ones shortened and repeated notes left out."""
        news = []
        for finding in findings:
            if finding.say not in self._told:
                news.append(finding)
            elif finding.severity != "note":
                news.append(finding._replace(say="As before."))
        self._told |= {finding.say for finding in findings}
        return tuple(news)

    # --- receive -----------------------------------------------------------------------------------------------------

    def deal(self, *agents: str) -> list[Message]:
        """Receive and ack all messages of these agents."""
        dealt: list[Message] = []
        for agent in agents:
            for lease in self.bus.receive(agent, limit=100):
                self.bus.ack(lease.token, agent=agent)
                dealt.append(lease.message)
        return dealt

    def guard(self, agent: str, path: str) -> tuple[PathVerdict, StoryEvent]:
        [verdict] = self.bus.guard([path], agent=agent)
        if verdict.allowed:
            notes = tuple(
                Finding("approval-conditions", "$", f"{condition}.", "note") for condition in verdict.conditions
            )
            return verdict, self.look(agent, f"may I write {path}? Yes.", notes)
        why = Finding(verdict.code or "", "$", verdict.reason)
        return verdict, self.look(agent, f"may I write {path}? No.", (why,), sign="refused")

    def look(self, agent: str, what: str, why: Iterable[Finding] = (), sign: Sign = "looked") -> StoryEvent:
        return StoryEvent(self.clock.story, sign, agent, None, what, why=self._news(tuple(why)))

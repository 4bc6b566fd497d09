"""The verbs of the work: what was agreed, who may write what, what waits for an answer, who waits for whom.

Each is imported when it is first used: a send needs none of them.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from telex.bus.context import BusContext
from telex.bus.maintenance import run_maintenance
from telex.bus.notify import Notifier
from telex.bus.send import Sender
from telex.model.finding import Finding
from telex.model.roster import HUMAN
from telex.ports.bus import Receipt

if TYPE_CHECKING:
    from telex.model.contracts import PathVerdict
    from telex.model.escalation import Escalation
    from telex.model.shutdown import ShutdownReport
    from telex.model.stall import Stall


class WorkApi:
    """A part of the bus; see `telex.ports.bus.Bus` for what each verb does."""

    _context: BusContext
    _waiting: Notifier
    _sender: Sender

    async def work_state(self, kind: str) -> dict[str, Any]:
        from telex.work.reducer import copy_state

        states = await self._context.topics_of_kind(kind)
        return {topic: copy_state(topic, state) for topic, state in states.items()}

    async def guard(
        self,
        paths: Sequence[str],
        *,
        agent: str,
        role: str | None = None,
        plan: str | None = None,
        resolve: Callable[[str], str | None] | None = None,
    ) -> "list[PathVerdict]":
        from telex.bus.guard import WriteGuard, guard

        context = self._context
        gate = WriteGuard(context.store, context.clock, context.team, context.dialects, context.limits)
        return await guard(gate, paths, agent, role, plan, resolve)

    async def escalations(self, *, answered: bool = False) -> "list[Escalation]":
        from telex.bus.escalate import escalations

        await run_maintenance(self._context)
        return await escalations(self._context, answered=answered)

    async def stall(self) -> "Stall":
        from telex.bus.stall import stall

        await run_maintenance(self._context)
        return await stall(self._context)

    async def approve(
        self,
        id: str,
        *,
        approved: bool,
        reason: str,
        agent: str = HUMAN,
        role: str | None = None,
        conditions: Sequence[str] = (),
        modifications: Sequence[str] = (),
    ) -> Receipt:
        from telex.bus.approve import answer_to

        context = self._context
        request = await answer_to(
            context,
            id,
            agent,
            approved=approved,
            reason=reason,
            conditions=conditions,
            modifications=modifications,
            role=role,
        )
        if isinstance(request, Finding):
            return Receipt(False, id, "refused", findings=(request,))
        receipt = await self._sender.send(request)
        self._waiting.nudge()
        return receipt

    async def shut_down(
        self,
        *,
        agent: str,
        reason: str,
        deadline: float = 60.0,
        team: str | None = None,
        force: bool = False,
        wait: bool = True,
    ) -> "ShutdownReport":
        from telex.bus.shutdown import shut_down

        report = await shut_down(self._context, self._waiting, agent, reason, deadline, team, force, wait)
        self._waiting.nudge()
        return report

"""The same verbs for a program without an event loop.

A blocking store and clock never yield, so a coroutine over them runs to its end when it is pushed once; no loop, no
thread, and nothing to import. Each thread opens a bus of its own.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from telex.bus import iterate_sync
from telex.bus import run_sync as run_sync  # callers that run a bus by hand take it from here
from telex.bus.local import LocalBus
from telex.bus.send import Raw
from telex.model.finding import Finding
from telex.model.message import Delivery, Event, Lease, Message, NewMessage, Rendering
from telex.model.roster import HUMAN, Member
from telex.ports.bus import Bus, MessageHistory, MessageState, Presence, Receipt
from telex.ports.store import EVERYTHING, AppendResult, ConversationPage, Query

if TYPE_CHECKING:
    from telex.model.contracts import PathVerdict  # whoever only sends does without
    from telex.model.work import Escalation, ShutdownReport, Stall


class SyncBus:
    """See `telex.ports.bus.Bus` for what each verb does."""

    def __init__(self, bus: Bus) -> None:
        self._bus = cast(LocalBus, bus)  # or that of a hub: nothing is used here but the verbs

    @property
    def awaitable(self) -> Bus:
        """The same bus with verbs to be awaited, for what is written over them: `drive(…)` runs it."""
        return self._bus

    def send(
        self,
        raw: Raw,
        *,
        sender: str,
        role: str | None = None,
        to: str | None = None,
        id: str | None = None,
        reply_to: str | None = None,
        correlation: str | None = None,
    ) -> Receipt:
        sending = self._bus.send(
            raw, sender=sender, role=role, to=to, id=id, reply_to=reply_to, correlation=correlation
        )
        return run_sync(sending)

    def receive(
        self, agent: str, *, role: str | None = None, limit: int = 1, wait: float = 0.0, lease: float | None = None
    ) -> list[Lease]:
        return run_sync(self._bus.receive(agent, role=role, limit=limit, wait=wait, lease=lease))

    def ack(self, token: str, *, agent: str) -> bool:
        return run_sync(self._bus.ack(token, agent=agent))

    def nack(self, token: str, *, agent: str, reason: str, delay: float | None = None) -> Delivery:
        return run_sync(self._bus.nack(token, agent=agent, reason=reason, delay=delay))

    def extend(self, token: str, *, agent: str, seconds: float | None = None) -> float:
        return run_sync(self._bus.extend(token, agent=agent, seconds=seconds))

    def request(
        self,
        raw: Raw,
        *,
        sender: str,
        role: str | None = None,
        to: str | None = None,
        id: str | None = None,
        reply_to: str | None = None,
        correlation: str | None = None,
        timeout: float | None = None,
    ) -> Receipt | Lease:
        asking = self._bus.request(
            raw, sender=sender, role=role, to=to, id=id, reply_to=reply_to, correlation=correlation, timeout=timeout
        )
        return run_sync(asking)

    def read(self, id: str, *, agent: str) -> Message:
        return run_sync(self._bus.read(id, agent=agent))

    def inbox(self, agent: str, *, role: str | None = None, limit: int = 100) -> list[tuple[Delivery, Message]]:
        return run_sync(self._bus.inbox(agent, role=role, limit=limit))

    def rendering(self, message: Message, *, agent: str) -> Rendering | None:
        return run_sync(self._bus.rendering(message, agent=agent))

    def why(self, id: str) -> list[MessageHistory]:
        return run_sync(self._bus.why(id))

    def settled(self, id: str, *, sender: str, until: str, timeout: float) -> MessageHistory:
        return run_sync(self._bus.settled(id, sender=sender, until=until, timeout=timeout))

    def events(
        self, query: Query = EVERYTHING, *, follow: bool = False, wait: float | None = None
    ) -> Iterator[tuple[Event, Message | None]]:
        return iterate_sync(self._bus.events(query, follow=follow, wait=wait))

    def search(self, text: str, *, limit: int = 50) -> list[Message]:
        return run_sync(self._bus.search(text, limit=limit))

    def trace(self, correlation: str) -> list[MessageHistory]:
        return run_sync(self._bus.trace(correlation))

    def conversations(self, *, before: int | None = None, limit: int = 30) -> ConversationPage:
        return run_sync(self._bus.conversations(before=before, limit=limit))

    def states(self, messages: Sequence[int]) -> list[MessageState]:
        return run_sync(self._bus.states(messages))

    def work_state(self, kind: str) -> dict[str, Any]:
        return run_sync(self._bus.work_state(kind))

    def guard(
        self,
        paths: Sequence[str],
        *,
        agent: str,
        role: str | None = None,
        plan: str | None = None,
        resolve: Callable[[str], str | None] | None = None,
    ) -> "list[PathVerdict]":
        return run_sync(self._bus.guard(paths, agent=agent, role=role, plan=plan, resolve=resolve))

    def escalations(self, *, answered: bool = False) -> "list[Escalation]":
        return run_sync(self._bus.escalations(answered=answered))

    def stall(self) -> "Stall":
        return run_sync(self._bus.stall())

    def approve(
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
        return run_sync(
            self._bus.approve(
                id,
                approved=approved,
                reason=reason,
                agent=agent,
                role=role,
                conditions=conditions,
                modifications=modifications,
            )
        )

    def roster(self) -> list[Presence]:
        return run_sync(self._bus.roster())

    def join(
        self, name: str, *, role: str | None = None, dialects: Sequence[str] = (), by: str | None = None
    ) -> Member | Finding:
        return run_sync(self._bus.join(name, role=role, dialects=dialects, by=by))

    def leave(self, name: str) -> int:
        return run_sync(self._bus.leave(name))

    def shut_down(
        self,
        *,
        agent: str,
        reason: str,
        deadline: float = 60.0,
        team: str | None = None,
        force: bool = False,
        wait: bool = True,
    ) -> "ShutdownReport":
        verb = self._bus.shut_down(agent=agent, reason=reason, deadline=deadline, team=team, force=force, wait=wait)
        return run_sync(verb)

    def dead_letters(self, *, limit: int = 100) -> list[tuple[Delivery, Message]]:
        return run_sync(self._bus.dead_letters(limit=limit))

    def retry(self, id: str, *, agent: str = HUMAN) -> int:
        return run_sync(self._bus.retry(id, agent=agent))

    def drop(self, id: str, *, reason: str, agent: str = HUMAN) -> int:
        return run_sync(self._bus.drop(id, reason=reason, agent=agent))

    def import_messages(self, entries: Sequence[NewMessage]) -> list[AppendResult]:
        return run_sync(self._bus.import_messages(entries))

    def sweep(self) -> int:
        return run_sync(self._bus.sweep())

    def close(self) -> None:
        run_sync(self._bus.close())

# Made by `python -m telex.generate` from `telex.ports.bus.Bus`; a change here is lost.
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from telex.bus.local import LocalBus
from telex.model.contracts import PathVerdict
from telex.model.finding import Finding
from telex.model.message import Delivery, Event, LeasedMessage, NewMessage, Rendering, StoredMessage
from telex.model.roster import HUMAN, Member
from telex.model.work import Escalation, ShutdownReport, Stall
from telex.ports.bus import Bus, MessageHistory, MessageState, Presence, Raw, Receipt, Wake
from telex.ports.store import EVERYTHING, AppendResult, ConversationPage, Query

VERBS: dict[str, Any]

def add_verbs(kind: type, make: Callable[[str], Any]) -> None: ...

class SyncBus:
    _bus: LocalBus
    def __init__(self, bus: Bus) -> None: ...
    @property
    def awaitable(self) -> Bus: ...
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
        ack: str | None = None,
    ) -> Receipt: ...
    def receive(
        self, agent: str, *, role: str | None = None, limit: int = 1, wait: float = 0.0, lease: float | None = None
    ) -> list[LeasedMessage]: ...
    def ack(self, token: str, *, agent: str) -> bool: ...
    def nack(self, token: str, *, agent: str, reason: str, delay: float | None = None) -> Delivery: ...
    def extend(self, token: str, *, agent: str, seconds: float | None = None) -> float: ...
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
    ) -> Receipt | LeasedMessage: ...
    def read(self, id: str, *, agent: str) -> StoredMessage: ...
    def inbox(
        self, agent: str, *, role: str | None = None, limit: int = 100
    ) -> list[tuple[Delivery, StoredMessage]]: ...
    def rendering(self, message: StoredMessage, *, agent: str) -> Rendering | None: ...
    def why(self, id: str) -> list[MessageHistory]: ...
    def settled(self, id: str, *, sender: str, until: str, timeout: float) -> MessageHistory: ...
    def events(
        self, query: Query = EVERYTHING, *, follow: bool = False, wait: float | None = None
    ) -> Iterator[tuple[Event, StoredMessage | None]]: ...
    def search(self, text: str, *, limit: int = 50) -> list[StoredMessage]: ...
    def trace(self, correlation: str) -> list[MessageHistory]: ...
    def conversations(self, *, before: int | None = None, limit: int = 30) -> ConversationPage: ...
    def states(self, messages: Sequence[int]) -> list[MessageState]: ...
    def work_state(self, kind: str) -> dict[str, Any]: ...
    def guard(
        self,
        paths: Sequence[str],
        *,
        agent: str,
        role: str | None = None,
        plan: str | None = None,
        resolve: Callable[[str], str | None] | None = None,
    ) -> list[PathVerdict]: ...
    def escalations(self, *, answered: bool = False) -> list[Escalation]: ...
    def stall(self) -> Stall: ...
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
    ) -> Receipt: ...
    def roster(self) -> list[Presence]: ...
    def join(
        self, name: str, *, role: str | None = None, dialects: Sequence[str] = (), by: str | None = None
    ) -> Member | Finding: ...
    def leave(self, name: str) -> int: ...
    def wake(
        self,
        agent: str,
        *,
        by: str | None = None,
        told: int = 0,
        session: str | None = None,
        way: str | None = None,
        failed: str | None = None,
        force: bool = False,
    ) -> Wake: ...
    def shut_down(
        self,
        *,
        agent: str,
        reason: str,
        deadline: float = 60.0,
        team: str | None = None,
        force: bool = False,
        wait: bool = True,
    ) -> ShutdownReport: ...
    def dead_letters(self, *, limit: int = 100) -> list[tuple[Delivery, StoredMessage]]: ...
    def retry(self, id: str, *, agent: str = HUMAN) -> int: ...
    def drop(self, id: str, *, reason: str, agent: str = HUMAN) -> int: ...
    def import_messages(self, entries: Sequence[NewMessage]) -> list[AppendResult]: ...
    def sweep(self) -> int: ...
    def close(self) -> None: ...

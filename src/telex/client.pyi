# Made by `python -m telex.generate` from `telex.ports.bus.Bus` and `telex.agent`; a change here is lost.
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from telex.agent import Agent, Lease, Message
from telex.bus.local import LocalBus
from telex.dialects.schema import Dialect
from telex.model.contracts import PathVerdict
from telex.model.message import Delivery, Event, LeasedMessage, NewMessage, Rendering, StoredMessage
from telex.model.roster import HUMAN, Member
from telex.model.work import Escalation, ShutdownReport, Stall
from telex.ports.bus import Bus, MessageHistory, MessageState, Presence, Raw, Receipt, Wake
from telex.ports.store import EVERYTHING, AppendResult, ConversationPage, Query
from telex.validation.check import CheckPolicy

VERBS: dict[str, Any]

def methods_of(kind: type) -> dict[str, Any]: ...
def add_verbs(kind: type, make: Callable[[str], Any], verbs: Mapping[str, Any] = ...) -> None: ...
def blocking(name: str) -> Callable[..., Any]: ...

class SyncBus:
    _bus: LocalBus
    def __init__(self, bus: Bus) -> None: ...
    @property
    def awaitable(self) -> Bus: ...
    @property
    def policy(self) -> CheckPolicy: ...
    def agent(self, name: str, *, role: str | None = None) -> SyncAgent: ...
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
        check: bool = True,
    ) -> Receipt: ...
    def receive(
        self, agent: str, *, role: str | None = None, limit: int = 1, wait: float = 0.0, lease: float | None = None
    ) -> list[LeasedMessage]: ...
    def ack(self, token: str, *, agent: str) -> bool: ...
    def nack(
        self,
        token: str,
        *,
        agent: str,
        reason: str,
        delay: float | None = None,
        final: bool = False,
        counted: bool = True,
    ) -> Delivery: ...
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
    ) -> LeasedMessage: ...
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
        revision: int | None = None,
        check: bool = True,
    ) -> Receipt: ...
    def roster(self) -> list[Presence]: ...
    def join(
        self, name: str, *, role: str | None = None, dialects: Sequence[str] = (), by: str | None = None
    ) -> Member: ...
    def leave(self, name: str) -> int: ...
    def wake(
        self,
        agent: str,
        *,
        by: str | None = None,
        announced: int = 0,
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

class SyncLease:
    awaitable: Lease
    original: StoredMessage
    rendering: Rendering | None
    token: str
    attempt: int
    until: float
    is_open: bool
    def __init__(self, lease: Lease) -> None: ...
    @property
    def message(self) -> Message: ...
    def ack(self) -> bool: ...
    def nack(self, reason: str, delay: float | None = None) -> Delivery: ...
    def reject(self, reason: str) -> Delivery: ...
    def release(self, reason: str) -> Delivery: ...
    def extend(self, seconds: float | None = None) -> float: ...
    def reply(
        self,
        message: Raw,
        *,
        ack: bool = True,
        to: str | None = None,
        id: str | None = None,
        correlation: str | None = None,
        check: bool = True,
    ) -> Receipt: ...

class SyncAgent:
    awaitable: Agent
    name: str
    role: str | None
    def __init__(self, agent: Agent) -> None: ...
    @property
    def dialects(self) -> dict[str, Dialect]: ...
    def send(
        self,
        message: Raw,
        *,
        to: str | None = None,
        id: str | None = None,
        reply_to: str | None = None,
        correlation: str | None = None,
        ack: str | None = None,
        check: bool = True,
    ) -> Receipt: ...
    def request(
        self,
        message: Raw,
        *,
        to: str | None = None,
        timeout: float | None = None,
        id: str | None = None,
        reply_to: str | None = None,
        correlation: str | None = None,
    ) -> Message: ...
    def receive(self, limit: int = 1, wait: float = 0.0, lease: float | None = None) -> list[SyncLease]: ...
    def listen(self, *, limit: int = 1, lease: float | None = None) -> Iterator[SyncLease]: ...
    def inbox(self, limit: int = 100) -> list[Message]: ...
    def read(self, id: str) -> Message: ...
    def join(self, dialects: Sequence[str] = ()) -> Member: ...
    def leave(self) -> int: ...

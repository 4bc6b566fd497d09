"""Checks of a simulation: each result of the bus at once, and the log at the end.

`SendObserver` reports what one result reveals: an ack under an older lease, a message leased twice, one delivered after
its ack. `check` replays the log event by event, which gives the state of each delivery and reveals every invalid move
and every lease out of order, and compares it with the store and with what the agents received.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass

from telex.delivery.wakes import STAGES, WAKE_MOVES, WakeStage
from telex.model.limits import Limits
from telex.model.message import MOVES, Delivery, Event, LeasedMessage, State, StoredMessage
from telex.model.named_tuple import NamedTuple
from telex.model.roster import TELEX
from telex.ports.bus import Receipt, Wake
from telex.ports.store import Query, Store, deliveries_of, events_with_messages
from telex.testing import EPOCH

EVENTS_MAX = 1_000_000
BECOMES: dict[str, State] = {
    "leased": "leased",
    "extended": "leased",
    "acked": "acked",
    "nacked": "stored",
    "returned": "stored",
    "lease-expired": "stored",
    "dead": "dead",
    "expired": "expired",
    "withdrawn": "withdrawn",
    "dropped": "withdrawn",
    "retried": "stored",
}


class AcceptedSend(NamedTuple):
    sender: str
    id: str
    raw: bytes
    inboxes: tuple[str, ...]


class SendObserver:
    """Records each result of the bus and compares it with earlier ones."""

    def __init__(self) -> None:
        self.history: list[str] = []
        self.violations: list[str] = []
        self.accepted: list[AcceptedSend] = []
        self.acked: set[int] = set()  # deliveries whose ack succeeded
        self.picked: set[tuple[int, int]] = set()  # leases that skipped the queue: answers to a request
        self.complaints: list[tuple[int, str]] = []  # by delivery: a violation unless another event ended the lease
        self.delivered: list[tuple[int, bytes]] = []  # the bytes of each message that a reader got
        self._running: dict[int, tuple[int, float]] = {}  # by delivery: fence and expiry of the newest lease
        self._settled: set[tuple[int, int]] = set()  # leases that their reader has acked or nacked

    def note(self, at: float, text: str) -> None:
        self.history.append(f"{at - EPOCH:10.1f}  {text}")

    def wrong(self, text: str) -> None:
        """Record a violation."""
        self.violations.append(text)
        self.history.append(f"{'':10}  !! {text}")

    def sent(self, at: float, sender: str, to: str, raw: bytes, receipt: Receipt) -> None:
        if not receipt.accepted:
            codes = ", ".join(finding.code for finding in receipt.findings if finding.severity == "refusal")
            self.note(at, f"{sender} → {to}: refused {receipt.id} ({codes})")
            return
        again = "once more " if receipt.duplicate else ""
        self.note(at, f"{sender} → {to}: accepted {again}{receipt.id}, {receipt.type} for {', '.join(receipt.to)}")
        if not receipt.to:
            self.wrong(f"{receipt.id} of {sender} was accepted for no inbox")
        if not receipt.duplicate:
            self.accepted.append(AcceptedSend(sender, receipt.id, raw, receipt.to))
        elif (sender, receipt.id, raw) not in [accepted[:3] for accepted in self.accepted]:
            self.wrong(f"{receipt.id} of {sender} was called a duplicate, and nothing like it had been accepted")

    def offered(self, at: float, agent: str, lease: LeasedMessage, *, picked: bool = False) -> None:
        delivery, fence = lease.delivery, lease.fence
        self.delivered.append((lease.message.seq, lease.message.raw))
        self.note(at, f"{agent} ← {lease.message.id} from {lease.inbox}, attempt {lease.attempt}, {lease.token}")
        if delivery in self.acked:
            self.wrong(f"{lease.message.id} was offered again after its ack")
        before, until = self._running.get(delivery, (0, 0.0))
        if fence <= before:
            self.wrong(f"the fence of delivery {delivery} went from {before} to {fence}")
        if until > at:
            self.complaints.append((delivery, f"{lease.message.id} has two leases at once"))
        self._running[delivery] = (fence, lease.until)
        if picked:
            self.picked.add((delivery, fence))

    def woken(self, at: float, wake: Wake, way: str | None) -> None:
        self.note(at, f"wake of {wake.agent}: {wake.stage}, {wake.unread} unread{' by ' + way if way else ''}")
        if wake.claimed and (way is None or not wake.unread):
            self.wrong(f"a wake of {wake.agent} was delivered without {'a way' if way is None else 'anything unread'}")

    def settled(self, at: float, agent: str, lease: LeasedMessage, how: str, answer: object) -> None:
        """`answer` is the result of the bus; None if it raised LeaseLost."""
        # It holds if it is the newest lease and not settled. An expired lease cannot be extended.
        fence, until = self._running[lease.delivery]
        is_newest = fence == lease.fence and (lease.delivery, fence) not in self._settled
        holds = is_newest and (until > at or how != "extends")
        self.note(at, f"{agent} {how} {lease.message.id}, {lease.token}: {'lease lost' if answer is None else answer}")
        if how == "acks" and lease.delivery in self.acked:
            if answer is True:
                self.wrong(f"{lease.message.id} was acked twice")
            return
        if holds and answer in (None, False):
            self.complaints.append((lease.delivery, f"{agent} {how} {lease.message.id}, and the lease is lost"))
        if not holds and answer is not None:
            self.wrong(f"{agent} {how} {lease.message.id} without holding it, and the bus answers {answer}")
        if isinstance(answer, float):
            self._running[lease.delivery] = (lease.fence, answer)
        elif holds and how != "extends":
            self._running[lease.delivery] = (lease.fence, 0.0)
            self._settled.add((lease.delivery, lease.fence))
        if how == "acks" and answer is True:
            self.acked.add(lease.delivery)


# --- the log ---------------------------------------------------------------------------------------------------------


@dataclass
class ReplayedDelivery:
    """A delivery after its events."""

    inbox: str
    state: State = "stored"
    attempts: int = 0
    fence: int = 0
    holder: str | None = None  # the agent that may settle it


async def check(store: Store, witness: SendObserver, limits: Limits, readers: set[str], now: float) -> None:
    """Record all violations. `readers` are the inboxes that were read to the end."""
    events = await store.read(events_with_messages, Query(), EVENTS_MAX)
    messages = {message.seq: message for _, message in events if message is not None}
    deliveries = {seq: await store.read(deliveries_of, seq) for seq in messages}
    log = LogCheck(events, messages, deliveries, witness, limits)
    log.compare_deliveries(readers, now)
    log.check_complaints()
    log.check_wakes()
    log.check_losses()
    log.check_duplicates()
    log.check_reports()
    for seq, raw in witness.delivered:
        if seq in messages and messages[seq].raw != raw:
            witness.wrong(f"{messages[seq].id} was delivered with other bytes")


class LogCheck(NamedTuple):
    events: list[tuple[Event, StoredMessage | None]]
    messages: dict[int, StoredMessage]
    deliveries: dict[int, list[Delivery]]  # by message
    witness: SendObserver
    limits: Limits

    def _replay(self) -> dict[int, ReplayedDelivery]:
        replayed: dict[int, ReplayedDelivery] = {}
        fresh: dict[str, dict[int, tuple[int, int]]] = defaultdict(dict)  # by inbox: turns of deliveries never leased
        repeated = {event.delivery for event, _ in self.events if event.kind == "request-repeated"}
        for event, message in self.events:
            if message is None:
                continue
            turn = (message.rank, message.seq)
            for stored in self.deliveries[message.seq]:
                is_repeated = event.kind == "request-repeated" and stored.seq == event.delivery
                if is_repeated or (event.kind == "accepted" and stored.seq not in repeated):
                    replayed[stored.seq] = ReplayedDelivery(stored.inbox)
                    fresh[stored.inbox][stored.seq] = turn
            if event.delivery is None or event.kind not in BECOMES:
                continue
            delivery = replayed[event.delivery]
            self._move(event, delivery)
            if event.kind == "leased":
                first = min(fresh[delivery.inbox].values(), default=turn)
                if first < turn and (event.delivery, delivery.fence) not in self.witness.picked:
                    self.witness.wrong(f"message {turn[1]} was offered in {delivery.inbox} before message {first[1]}")
            fresh[delivery.inbox].pop(event.delivery, None)
        return replayed

    def _move(self, event: Event, delivery: ReplayedDelivery) -> None:
        becomes = BECOMES[event.kind]
        is_twice = event.kind == "leased" and delivery.state == "leased"
        is_foreign = event.kind in ("acked", "nacked", "extended") and event.agent != delivery.holder
        if becomes not in MOVES[delivery.state] or is_twice or is_foreign:
            self.witness.wrong(f"delivery {event.delivery} was {delivery.state}, then {event.kind} by {event.agent}")
        delivery.state = becomes
        if becomes == "stored" and event.kind != "lease-expired":
            delivery.holder = None
        if event.kind == "leased":
            delivery.holder = event.agent
            delivery.attempts += 1
            delivery.fence += 1
            if delivery.attempts > self.limits.attempts_max:
                self.witness.wrong(f"delivery {event.delivery} was offered {delivery.attempts} times")
        elif event.kind == "returned":
            delivery.attempts -= 1
        elif event.kind == "retried":
            delivery.attempts = 0

    def compare_deliveries(self, readers: set[str], now: float) -> None:
        replayed = self._replay()
        for seq, message in self.messages.items():
            for delivery in self.deliveries[seq]:
                self._compare(delivery, replayed.get(delivery.seq), message)
                if message.refused:
                    self.witness.wrong(f"{message.id} was refused and is in {delivery.inbox}")
                if delivery.state == "leased":
                    self.witness.wrong(
                        f"{message.id} is leased to {delivery.holder}, but its lease expired at {delivery.due_at}"
                    )
                if delivery.state == "stored" and delivery.inbox in readers:
                    self.witness.wrong(f"{message.id} is still in {delivery.inbox}, which was read to the end at {now}")

    def _compare(self, delivery: Delivery, replayed: ReplayedDelivery | None, message: StoredMessage) -> None:
        inbox, state = delivery.inbox, delivery.state
        stored = ReplayedDelivery(inbox, state, delivery.attempts, delivery.fence, delivery.holder)
        if replayed != stored:
            self.witness.wrong(f"{message.id}: the store has {stored}, its events give {replayed}")
        if (state == "acked") != (delivery.seq in self.witness.acked):
            self.witness.wrong(f"{message.id} in {inbox} is {state}, which is not what its reader was told")

    def check_wakes(self) -> None:
        """Wakes move only along WAKE_MOVES, so that never two of one agent are outstanding, and none is delivered for a
        message that was read or leased before."""
        stages: dict[str, WakeStage] = defaultdict(lambda: "none")
        states: dict[int, State] = {}  # of deliveries
        looked: set[tuple[str | None, int | None]] = set()
        for event, _ in self.events:
            if event.delivery is not None and event.kind in BECOMES:
                states[event.delivery] = BECOMES[event.kind]
            elif event.kind == "read":
                looked.add((event.agent, event.message))
            elif event.kind in STAGES:
                name, stage = event.inbox or "", STAGES[event.kind]
                if stage not in WAKE_MOVES[stages[name]]:
                    self.witness.wrong(f"the wake of {name} was {stages[name]}, then {stage}")
                stages[name] = stage
                deliveries = self.deliveries[event.message or 0] if stage == "delivered" else []
                is_waiting = any(states.get(delivery.seq, "stored") == "stored" for delivery in deliveries)
                if stage == "delivered" and (not is_waiting or (name, event.message) in looked):
                    self.witness.wrong(f"{name} was woken for message {event.message}, which was read before")

    def check_complaints(self) -> None:
        """A lease ends early only if the request expired, the recipient left, or the message was returned or dead."""
        kinds = ("expired", "withdrawn", "returned", "dead")
        ended = {event.delivery for event, _ in self.events if event.kind in kinds}
        for delivery, text in self.witness.complaints:
            if delivery not in ended:
                self.witness.wrong(text)

    def check_losses(self) -> None:
        stored: dict[tuple[str, str, bytes], list[set[str]]] = defaultdict(list)
        for seq, message in self.messages.items():
            if not message.refused:
                inboxes = {delivery.inbox for delivery in self.deliveries[seq]}
                stored[message.sender, message.id, message.raw].append(inboxes)
        for sent in self.witness.accepted:
            if not any(set(sent.inboxes) <= inboxes for inboxes in stored[sent.sender, sent.id, sent.raw]):
                self.witness.wrong(f"{sent.id} of {sent.sender} was accepted for {', '.join(sent.inboxes)} and is lost")
        accepted = {(sent.sender, sent.id) for sent in self.witness.accepted}
        for sender, id_, _ in stored:
            if sender != TELEX and (sender, id_) not in accepted:
                self.witness.wrong(f"{id_} of {sender} was stored, and its sender got no receipt")

    def check_duplicates(self) -> None:
        last_at: dict[tuple[str, str], float] = {}
        for message in self.messages.values():
            if message.refused:
                continue
            before = last_at.get((message.sender, message.id))
            if before is not None and message.at - before <= self.limits.dedup_window_seconds:
                self.witness.wrong(f"{message.id} of {message.sender} was stored twice")
            last_at[message.sender, message.id] = message.at

    def check_reports(self) -> None:
        """A sender that is a member gets a report each time that its message is dead, withdrawn or not answered."""
        reports: Counter[tuple[str, str | None]] = Counter()  # by sender and subject
        for seq, message in self.messages.items():
            if message.sender == TELEX:
                reports[message.to, message.reply_to] += 1
                if message.to not in [delivery.inbox for delivery in self.deliveries[seq]]:
                    self.witness.wrong(f"a report is not in the inbox of {message.to}")
        for (sender, id_), times in self._failures().items():
            if reports[sender, id_] < times:
                self.witness.wrong(f"{sender} got {reports[sender, id_]} of {times} reports about {id_}")

    def _failures(self) -> Counter[tuple[str, str]]:
        gone: set[str | None] = set()
        failures: Counter[tuple[str, str]] = Counter()
        for event, message in self.events:
            if event.kind == "left":
                gone.add(event.agent)
            elif event.kind == "joined":
                gone.discard(event.agent)
            failed = event.kind in ("dead", "withdrawn") or (event.kind == "expired" and event.delivery is None)
            if failed and message is not None and message.sender not in gone | {TELEX}:
                failures[message.sender, message.id] += 1
        return failures

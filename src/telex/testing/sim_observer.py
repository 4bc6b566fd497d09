"""Observer of a simulation: records each result of the bus and compares it with earlier ones.

What one result reveals is reported at once: an ack under an older lease, a message leased twice, one delivered after
its ack.
`sim_invariants` checks what only the log can show.
"""

from typing import NamedTuple

from telex.model.message import Lease
from telex.ports.bus import Receipt
from telex.testing.clock import EPOCH


class AcceptedSend(NamedTuple):
    sender: str
    id: str
    raw: bytes
    inboxes: tuple[str, ...]


class SendObserver:
    def __init__(self) -> None:
        self.history: list[str] = []
        self.violations: list[str] = []
        self.accepted: list[AcceptedSend] = []
        self.refused: list[tuple[str, str]] = []  # sender and id
        self.acked: set[int] = set()  # deliveries whose reader was told so
        self.picked: set[tuple[int, int]] = set()  # leases that skipped the queue: answers to a request
        self.complaints: list[tuple[int, str]] = []  # by delivery: wrong, unless somebody else had ended it
        self.offers = 0
        self.delivered: list[tuple[int, bytes]] = []  # by message: the bytes that a reader got
        self._running: dict[int, tuple[int, float]] = {}  # by delivery: the fence, and when that lease runs out
        self._settled: set[tuple[int, int]] = set()  # leases that their reader has acked or given back

    def note(self, at: float, text: str) -> None:
        self.history.append(f"{at - EPOCH:10.1f}  {text}")

    def wrong(self, text: str) -> None:
        """Something that must never happen."""
        self.violations.append(text)
        self.history.append(f"{'':10}  !! {text}")

    # --- answers ----------------------------------------------------------------------------------------------------

    def sent(self, at: float, sender: str, to: str, raw: bytes, receipt: Receipt) -> None:
        if not receipt.accepted:
            codes = ", ".join(finding.code for finding in receipt.findings if finding.severity == "refusal")
            self.note(at, f"{sender} → {to}: refused {receipt.id} ({codes})")
            self.refused.append((sender, receipt.id))
            return
        again = "once more " if receipt.duplicate else ""
        self.note(at, f"{sender} → {to}: accepted {again}{receipt.id}, {receipt.type} for {', '.join(receipt.to)}")
        if not receipt.to:
            self.wrong(f"{receipt.id} of {sender} was accepted for nobody")
        if not receipt.duplicate:
            self.accepted.append(AcceptedSend(sender, receipt.id, raw, receipt.to))
        elif not any(
            (accepted_send.sender, accepted_send.id, accepted_send.raw) == (sender, receipt.id, raw)
            for accepted_send in self.accepted
        ):
            self.wrong(f"{receipt.id} of {sender} was called a duplicate, and nothing like it had been accepted")

    def offered(self, at: float, agent: str, lease: Lease, *, picked: bool = False) -> None:
        self.offers += 1
        delivery, fence = lease.delivery, lease.fence
        self.delivered.append((lease.message.seq, lease.message.raw))
        self.note(at, f"{agent} ← {lease.message.id} from {lease.inbox}, attempt {lease.attempt}, {lease.token}")
        if delivery in self.acked:
            self.wrong(f"{lease.message.id} was offered again after its ack")
        before, until = self._running.get(delivery, (0, 0.0))
        if fence <= before:
            self.wrong(f"the fence of delivery {delivery} went from {before} to {fence}")
        if until > at:
            self.complaints.append((delivery, f"{lease.message.id} is in two hands at once"))
        self._running[delivery] = (fence, lease.until)
        if picked:
            self.picked.add((delivery, fence))

    def holds(self, lease: Lease, at: float, how: str) -> bool:
        """Is this lease the newest that was given, and not settled? It is extended only while it runs."""
        fence, until = self._running[lease.delivery]
        is_newest = fence == lease.fence and (lease.delivery, fence) not in self._settled
        return is_newest and (until > at or how != "extends")

    def settled(self, at: float, agent: str, lease: Lease, how: str, answer: object) -> None:
        """`answer` is what the bus said, None where it said that the lease is lost."""
        holds = self.holds(lease, at, how)
        self.note(at, f"{agent} {how} {lease.message.id}, {lease.token}: {'lease lost' if answer is None else answer}")
        if how == "acks" and lease.delivery in self.acked:
            if answer is True:
                self.wrong(f"{lease.message.id} was acked twice")
            return
        if holds and answer in (None, False):
            self.complaints.append((lease.delivery, f"{agent} {how} {lease.message.id}, and the lease is lost"))
        if not holds and answer is not None:
            self.wrong(f"{agent} {how} {lease.message.id} without holding it, and is told {answer}")
        if isinstance(answer, float):
            self._running[lease.delivery] = (lease.fence, answer)
        elif holds and how != "extends":
            self._running[lease.delivery] = (lease.fence, 0.0)
            self._settled.add((lease.delivery, lease.fence))
        if how == "acks" and answer is True:
            self.acked.add(lease.delivery)

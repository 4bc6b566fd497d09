"""What should a store have done? A model of one in lists, as simple as can be, which shares no code with any store."""

from dataclasses import dataclass, field

from telex.model.message import AT_ONCE, NewMessage
from telex.ports.store import Settlement


@dataclass
class Lying:
    """A message lying in an inbox, or that lay there."""

    message: int
    inbox: str
    rank: int
    due_at: float
    state: str = "stored"
    attempts: int = 0
    fence: int = 0
    holder: str | None = None
    seq: int = 0  # as the store told it


@dataclass
class Kept:
    seq: int
    entry: NewMessage
    told: list[str] = field(default_factory=list)  # kinds of its events, in order
    last_at: float = 0.0  # when the last of them happened
    pruned: bool = False


@dataclass
class Model:
    kept: list[Kept] = field(default_factory=list)
    lying: list[Lying] = field(default_factory=list)
    asks: dict[int, tuple[float, int]] = field(
        default_factory=dict
    )  # by message: when it is due, how often it was late

    def of(self, message: int) -> list[Lying]:
        return [lying for lying in self.lying if lying.message == message]

    def told(self, message: int) -> list[str]:
        return self.by_number(message).told

    def by_number(self, message: int) -> Kept:
        [kept] = [kept for kept in self.kept if kept.seq == message]
        return kept

    def tell(self, message: int, at: float, *kinds: str) -> None:
        kept = self.by_number(message)
        kept.told += kinds
        kept.last_at = at

    def turn(self, inboxes: tuple[str, ...], states: tuple[str, ...]) -> list[Lying]:
        """What is in these inboxes, in the order of offering: by priority, first in, first out."""
        found = [lying for lying in self.lying if lying.inbox in inboxes and lying.state in states]
        return sorted(found, key=lambda lying: (lying.rank, lying.message, lying.seq))

    def outcome(self, entry: NewMessage, dedup_since: float, inbox_max: int | None) -> str:
        """What an append should answer."""
        for kept in reversed(self.kept):
            same = (kept.entry.sender, kept.entry.id) == (entry.sender, entry.id) and kept.entry.kind == "accepted"
            if same and not kept.pruned and kept.entry.at >= dedup_since:
                alike = (kept.entry.raw, kept.entry.to) == (entry.raw, entry.to)
                if alike:
                    self.tell(kept.seq, entry.at, "duplicate")
                return "duplicate" if alike else "id-reused"
        for inbox in entry.inboxes:
            if inbox_max is not None and len(self.turn((inbox,), ("stored", "leased"))) >= inbox_max:
                return "inbox-full"
        return "stored"

    def keep(self, entry: NewMessage, seq: int) -> None:
        assert all(kept.seq < seq for kept in self.kept), "numbers go up"
        self.kept.append(Kept(seq, entry, [entry.kind], entry.at))
        self.lying += [Lying(seq, inbox, entry.rank, AT_ONCE) for inbox in entry.inboxes]
        if entry.answer_by is not None:
            self.asks[seq] = (entry.answer_by, 0)

    def lease(self, inboxes: tuple[str, ...], holder: str, now: float, until: float, limit: int) -> list[Lying]:
        due = [lying for lying in self.turn(inboxes, ("stored",)) if lying.due_at <= now][:limit]
        for lying in due:
            lying.state, lying.due_at, lying.holder = "leased", until, holder
            lying.attempts += 1
            lying.fence += 1
            self.tell(lying.message, now, "leased")
        return due

    def settle(self, settlement: Settlement) -> bool:
        [lying] = [lying for lying in self.lying if lying.seq == settlement.delivery]
        is_late = settlement.after_expiry and lying.state == "stored" and lying.holder is not None
        if lying.state != settlement.was and not is_late:
            return False
        if settlement.fence is not None and lying.fence != settlement.fence:
            return False
        if settlement.run_out_at is not None and lying.due_at > settlement.run_out_at:
            return False
        if settlement.running_at is not None and lying.due_at <= settlement.running_at:
            return False
        lying.state, lying.due_at = settlement.becomes, settlement.due_at
        if lying.state == "stored" and settlement.run_out_at is None:
            lying.holder = None  # whoever gave it back has no more to say about it
        lying.attempts = lying.attempts if settlement.attempts is None else settlement.attempts
        self.tell(lying.message, settlement.at, settlement.kind)
        if settlement.release:
            self.asks.pop(lying.message, None)
        return True

    def prune(self, before: float) -> None:
        for kept in self.kept:
            waits = any(lying.state in ("stored", "leased") for lying in self.of(kept.seq)) or kept.seq in self.asks
            if kept.last_at < before and not waits:
                kept.pruned = True
                self.lying = [lying for lying in self.lying if lying.message != kept.seq]

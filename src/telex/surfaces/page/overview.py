"""Overview of the log for the slider: messages by cell of the whole log, and spans of open escalations."""

from collections.abc import Iterable
from typing import Any

from telex.model.named_tuple import NamedTuple
from telex.model.work import Escalation

MINUTE_SECONDS = 60.0
SPANS_MAX = 200  # of open escalations

Facts = dict[str, Any]


class Span(NamedTuple):
    since: float
    until: float


class CellCounts:
    """Messages and refused messages by cell of a span."""

    def __init__(self, span: Span, cells: int) -> None:
        self._since, self._cells = span.since, cells
        self.step = max((span.until - span.since) / cells, 0.001)
        self.sent, self.refused = [0] * cells, [0] * cells

    def add(self, at: float, sent: int, refused: int) -> None:
        cell = min(self._cells - 1, int((at - self._since) / self.step))
        if cell >= 0:
            self.sent[cell] += sent
            self.refused[cell] += refused


class MinuteCounts:
    """Messages and refused messages by minute, updated with each message."""

    def __init__(self) -> None:
        self._minutes: dict[int, list[int]] = {}  # minute → accepted, refused
        self.first_at: float | None = None  # of the oldest message

    def add(self, at: float, *, is_refused: bool) -> None:
        counts = self._minutes.get(int(at // MINUTE_SECONDS))
        if counts is None:
            counts = self._minutes[int(at // MINUTE_SECONDS)] = [0, 0]
        counts[is_refused] += 1
        if self.first_at is None or at < self.first_at:
            self.first_at = at

    def count_into(self, cells: CellCounts) -> None:
        for minute, (sent, refused) in self._minutes.items():
            cells.add(minute * MINUTE_SECONDS, sent, refused)


def overview_facts(cells: CellCounts, span: Span, escalations: Iterable[Escalation]) -> Facts:
    return {
        "from": span.since,
        "to": span.until,
        "step": cells.step,
        "sent": cells.sent,
        "refused": cells.refused,
        "escalations": open_spans(escalations, span),
    }


def open_spans(escalations: Iterable[Escalation], span: Span) -> list[tuple[float, float | None]]:
    """When an escalation was open: merged where they overlap, the latest SPANS_MAX, the end None while it is open."""
    merged: list[tuple[float, float | None]] = []
    for begin, end in sorted(((one.at, one.answered_at) for one in escalations), key=lambda span: span[0]):
        if end is not None and end < span.since:
            continue
        if merged and (merged[-1][1] is None or begin <= merged[-1][1]):
            before = merged[-1][1]
            merged[-1] = (merged[-1][0], None if end is None or before is None else max(before, end))
        else:
            merged.append((begin, end))
    return merged[-SPANS_MAX:]

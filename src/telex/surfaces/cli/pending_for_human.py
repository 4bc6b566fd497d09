"""Items that wait for a human, each with the command that answers it: the head of a human's inbox."""

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from telex.model.roster import HUMAN
from telex.surfaces.cli.output import Screen, headed, shell_word, shown, typed
from telex.surfaces.cli.time_text import ago, stamp

if TYPE_CHECKING:
    from telex.client import SyncBus


class PendingItem(NamedTuple):
    kind: str  # escalation or approval
    id: str
    by: str
    at: float
    about: str
    command: tuple[str, ...]  # that answers it

    @property
    def line(self) -> str:
        return " ".join(self.command)


def pending_for_human(bus: "SyncBus", request_seconds: float) -> list[PendingItem]:
    """Escalations that have reached a human, approval requests to a human, and those that are overdue."""
    items, now = [], time.time()
    for case in bus.escalations():
        if HUMAN in case.now.inboxes:
            command = ("telex answer", shell_word(case.id), "TEXT")
            items.append(PendingItem("escalation", case.id, case.by, case.at, case.reason, command=command))
    for approval in bus.work_state("approval").values():
        request = approval.request
        late = now >= (request.deadline or request.at + request_seconds)
        if approval.answer is None and (late or HUMAN in request.inboxes):
            command = ("telex approve", shell_word(request.id), "--reason TEXT")
            items.append(PendingItem("approval", request.id, request.by, request.at, request.subject, command=command))
    return sorted(items, key=lambda item: (item.kind != "escalation", item.at))


def item_lines(items: list[PendingItem], now: float, screen: Screen) -> list[str]:
    lines: list[str] = []
    for item in items:
        words = f"{item.kind} from {shown(item.by)}, {ago(item.at, now)} ago: {shown(item.about)}"
        command = typed(" ", list(item.command), screen.width)
        lines += [*headed(shown(item.id), words, screen), *(screen.paint(line, "dim") for line in command), ""]
    return lines


def item_facts(item: PendingItem) -> dict[str, Any]:
    return {
        "matter": item.kind,
        "id": item.id,
        "from": item.by,
        "at": stamp(item.at),
        "about": item.about,
        "answer_with": item.line,
    }

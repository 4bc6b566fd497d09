"""What waits for a person, and with which command is each answered? The head of a person's inbox."""

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
    """Escalations that have come to a person, and approvals that were asked of one or that nobody gave in time."""
    items = [
        PendingItem(
            "escalation",
            escalation.id,
            escalation.by,
            escalation.at,
            escalation.reason,
            ("telex answer", shell_word(escalation.id), "TEXT"),
        )
        for escalation in bus.escalations()
        if HUMAN in escalation.now.inboxes
    ]
    now = time.time()
    for approval in bus.work_state("approval").values():
        request = approval.request
        late = now >= (request.deadline or request.at + request_seconds)
        if approval.answer is None and (late or HUMAN in request.inboxes):
            command = ("telex approve", shell_word(request.id), "--reason TEXT")
            items.append(PendingItem("approval", request.id, request.by, request.at, request.subject, command))
    return sorted(items, key=lambda item: (item.kind != "escalation", item.at))


def matter_lines(matters: list[PendingItem], now: float, screen: Screen) -> list[str]:
    lines: list[str] = []
    for item in matters:
        words = f"{item.kind} from {shown(item.by)}, {ago(item.at, now)} ago: {shown(item.about)}"
        command = typed(" ", list(item.command), screen.width)
        lines += [*headed(shown(item.id), words, screen), *(screen.paint(line, "dim") for line in command), ""]
    return lines


def matter_facts(matter: PendingItem) -> dict[str, Any]:
    return {
        "matter": matter.kind,
        "id": matter.id,
        "from": matter.by,
        "at": stamp(matter.at),
        "about": matter.about,
        "answer_with": matter.line,
    }

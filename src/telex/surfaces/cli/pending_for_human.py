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


def matters_for_a_person(bus: "SyncBus", request_seconds: float) -> list[PendingItem]:
    """Escalations that have come to a person, and approvals that were asked of one or that nobody gave in time."""
    found = [
        PendingItem("escalation", one.id, one.by, one.at, one.reason, ("telex answer", shell_word(one.id), "TEXT"))
        for one in bus.escalations()
        if HUMAN in one.now.inboxes
    ]
    now = time.time()
    for approval in bus.book("approval").values():
        request = approval.request
        late = now >= (request.deadline or request.at + request_seconds)
        if approval.answer is None and (late or HUMAN in request.inboxes):
            command = ("telex approve", shell_word(request.id), "--reason TEXT")
            found.append(PendingItem("approval", request.id, request.by, request.at, request.subject, command))
    return sorted(found, key=lambda one: (one.kind != "escalation", one.at))


def matter_lines(matters: list[PendingItem], now: float, screen: Screen) -> list[str]:
    lines: list[str] = []
    for one in matters:
        words = f"{one.kind} from {shown(one.by)}, {ago(one.at, now)} ago: {shown(one.about)}"
        command = typed(" ", list(one.command), screen.width)
        lines += [*headed(shown(one.id), words, screen), *(screen.paint(line, "dim") for line in command), ""]
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

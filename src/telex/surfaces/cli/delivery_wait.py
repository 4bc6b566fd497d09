"""`telex send --wait acked`: wait until a message has the requested state, or report why it does not."""

import sys
from typing import TYPE_CHECKING

from telex.model.message import OPEN
from telex.surfaces.cli.check_output import json_line
from telex.surfaces.cli.exit_codes import DONE, FAILED, TIMED_OUT
from telex.surfaces.cli.output import shown
from telex.surfaces.cli.receipts import inboxes
from telex.surfaces.cli.time_text import span

if TYPE_CHECKING:
    from telex.client import SyncBus
    from telex.ports.bus import MessageHistory, Receipt
    from telex.surfaces.cli.send import SendCommand


def wait_for(bus: "SyncBus", receipt: "Receipt", task: "SendCommand") -> int:
    """Wait, say how it ended, and return the exit code."""
    assert task.until is not None
    story = bus.settled(receipt.id, sender=task.sender, until=task.until, timeout=task.timeout)
    lacking = tuple(delivery.inbox for delivery in story.deliveries if not _reached(story, delivery.seq, task.until))
    came = bool(story.deliveries) and not lacking  # history was never on its way to anybody
    if task.as_json:
        sys.stdout.write(
            json_line({"id": receipt.id, "state": story.state, "reached": came, "lacking": lacking}) + "\n"
        )
    elif came and not task.quiet:
        took = story.events[-1].at - story.message.at if story.events else 0.0
        sys.stdout.write(
            f"{task.until} by {inboxes(tuple(delivery.inbox for delivery in story.deliveries))} after {span(took)}\n"
        )
    if came:
        return DONE
    open_still = any(delivery.state in OPEN for delivery in story.deliveries)
    why = f"telex why {shown(receipt.id)}"
    how = f"not {task.until} by {inboxes(lacking)}"
    end = f"within {span(task.timeout)}; it stays stored" if open_still else f"and will not be: it is {story.state}"
    sys.stderr.write(f"telex: {how} {end} (see {why})\n")
    return TIMED_OUT if open_still else FAILED


def _reached(story: "MessageHistory", delivery: int, until: str) -> bool:
    """Has this delivery come so far? One that was taken was looked at, and one that is acked was taken."""
    kinds = {event.kind for event in story.events if event.delivery == delivery}
    wanted = {"acked": {"acked"}, "leased": {"leased", "acked"}, "read": {"read", "leased", "acked"}}
    return bool(kinds & wanted[until])

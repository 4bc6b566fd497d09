"""Labels of steps and their tone (good, waiting, bad), the same in every output format."""

from typing import Literal

from telex.dialects.schema import PRIORITIES
from telex.trace.steps import Conversation, TraceMessage, TraceStep
from telex.trace.text import REASON_MOST, TYPE_MOST, brief, lasting

Tone = Literal["good", "wait", "bad", "plain"]
TONES: dict[str, Tone] = {
    "acked": "good",
    "nacked": "wait",
    "lease-expired": "wait",
    "reply-overdue": "wait",
    "request-repeated": "wait",
    "refused": "bad",
    "dead": "bad",
    "expired": "bad",
    "dropped": "bad",
    "withdrawn": "bad",
    "returned-to-sender": "bad",
}
SIGNS: dict[Tone, str] = {"good": "✓", "wait": "↻", "bad": "✗", "plain": "·"}
_PHRASES = {
    "duplicate": "sent again, ignored",
    "extended": "asked for more time",
    "reply-overdue": "no answer yet",
    "expired": "no answer came",
    "retried": "given another round",
    "conversation-idle": "conversation idle",
}


def tone(step: TraceStep) -> Tone:
    return TONES.get(step.kind, "plain")


def class_of(message: TraceMessage) -> str:
    return PRIORITIES[min(max(message.rank, 0), len(PRIORITIES) - 1)]


def label(step: TraceStep, whole: Conversation) -> str:
    """What stands at an arrow: `#3 task_result`."""
    again = " (repeated)" if step.kind == "request-repeated" else " (imported)" if step.kind == "imported" else ""
    return f"#{step.number} {brief(whole.about(step).type, TYPE_MOST)}{again}"


def phrase(step: TraceStep) -> str:
    """What stands at a mark: `#3 nacked: disk full`."""
    return f"#{step.number} {headline(step)}{because(step, ': ')}"


def headline(step: TraceStep) -> str:
    """What happened, without why."""
    said = _PHRASES.get(step.kind, brief(step.kind, TYPE_MOST))
    if step.kind == "leased":
        return f"offered {step.attempt}×"
    if step.kind == "translated":
        return f"read as {brief(step.reason, REASON_MOST)}"
    if step.kind in ("acked", "lease-expired") and step.held is not None:
        return f"{said} after {lasting(step.held)}"
    if step.kind == "dead" and step.attempt:
        return f"dead after {step.attempt} attempt{'s' * (step.attempt != 1)}"
    return said


def because(step: TraceStep, joint: str = "") -> str:
    return joint + brief(step.reason, REASON_MOST) if step.reason and step.kind != "translated" else ""

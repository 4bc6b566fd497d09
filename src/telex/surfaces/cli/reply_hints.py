"""Hints for a reader: whether a reply is expected or was given, and the command that gives it."""

from typing import TYPE_CHECKING, NamedTuple

from telex.model.escalation import waits_for_ever
from telex.model.message import Lease, Message
from telex.model.roster import TELEX
from telex.surfaces.cli.output import shell_word, shown, typed
from telex.surfaces.cli.time_text import clock_time
from telex.validation.authorization import has_no_words, may_send, normalised

if TYPE_CHECKING:
    from telex.client import SyncBus
    from telex.ports.bus import MessageHistory
    from telex.work.view import WorkMessage


class PendingReply(NamedTuple):
    by: float | None = None  # until when an answer is waited for, if one is
    answered_by: str | None = None  # who has given it; anybody else may only read what was asked
    is_decided: bool = False  # it wants approval, not words
    begun_with: tuple[str, ...] = ()  # the command that begins the answer, where nothing but a whole message is one


def awaited(bus: "SyncBus", message: Message, agent: str | None = None) -> PendingReply:
    """`agent`: whoever has it in hand, and is to answer it."""
    story: MessageHistory | None = next(
        (history for history in bus.why(message.id) if history.message.seq == message.seq), None
    )
    if story is None:
        return PendingReply()
    work_message = _heard(story)
    if work_message is not None and work_message.action == "stop" and agent is not None:
        return PendingReply(begun_with=_begin(bus, work_message, agent))
    given = [event.agent for event in story.events if event.kind == "answered"]
    if story.answer_by is None:
        return PendingReply(answered_by=given[-1] if given else None)
    decides = work_message is not None and work_message.action == "ask" and not _has_no_words(bus, work_message, agent)
    return PendingReply(story.answer_by, is_decided=decides)


def answer_lines(lease: Lease, waits: PendingReply, whose: list[str], width: int | None) -> list[str]:
    """How to answer what was taken, where that is still of use. `whose` says who, and in which store."""
    message = lease.message
    if waits.answered_by is not None:
        return [f"answered by {shown(waits.answered_by)}: no further answer is expected"]
    to = f"--to {shell_word(message.sender)}"
    if waits.begun_with:
        lines = typed("draft the answer (an ack does not answer it):", list(waits.begun_with), width)
        return [*lines, *typed("and send it:", ["telex send", *whose, to, "FILE"], width)]
    if waits.by is None:
        return []
    by = "" if waits_for_ever(waits.by) else f" by {clock_time(waits.by, lease.until)} UTC"
    id_ = shell_word(message.id)
    if waits.is_decided:
        lines = typed(f"decide it{by}:", [f"telex approve {id_}", *whose, "--reason WORDS"], width)
        return [*lines, *typed("or:", [f"telex reject {id_}", *whose, "--reason WORDS"], width)]
    if message.sender == TELEX:  # the bus handed it on; the answer goes to whoever raised it
        return typed(f"answer it{by}:", [f"telex answer {id_}", *whose, "-"], width)
    command = ["telex send", *whose, to, f"--reply-to {id_}", "-"]
    return typed(f"answer it{by}:", command, width)


def _heard(story: "MessageHistory") -> "WorkMessage | None":
    """What it has to do with the work, if the work state has it: plain text does not answer some requests."""
    from telex.dialects.registry import VERSIONS
    from telex.work.view import work_message_from_log

    message = story.message
    dialect = next((dialect for dialect in VERSIONS if dialect.name == message.dialect), None)
    brought = next((event for event in story.events if event.kind == "accepted"), None)
    return work_message_from_log(message, brought, dialect) if dialect is not None else None


def _has_no_words(bus: "SyncBus", work_message: "WorkMessage", agent: str | None) -> bool:
    """Was somebody asked for approval whose role gives none?"""
    answer = work_message.dialect.types[work_message.type.reply or ""]
    return agent is not None and has_no_words(_role_of(bus, agent), work_message.dialect, answer)


def _role_of(bus: "SyncBus", agent: str) -> str:
    return next((presence.member.role for presence in bus.roster() if presence.member.name == normalised(agent)), "")


def _begin(bus: "SyncBus", work_message: "WorkMessage", agent: str) -> tuple[str, ...]:
    answer = work_message.dialect.types[work_message.type.reply or ""]
    role = _role_of(bus, agent)
    signed = role if may_send(role, answer) else answer.senders[0]
    words = f"{answer.field_map['request']}={work_message.id}"
    return f"telex new {answer.name}", f"--as {shell_word(signed)}", shell_word(words)

"""Text of an event, the same in `why` and in `events`."""

from collections.abc import Sequence
from typing import Any

from telex.model.message import KINDS, Event, Message, detail_of, rendered_as
from telex.surfaces.cli.output import shown
from telex.surfaces.cli.time_text import clock_time


def event_text(event: Event, message: Message | None, offered: int = 0, inboxes: Sequence[str] = ()) -> tuple[str, str]:
    """What happened in a word, and the rest of the sentence.

    `offered` says how often the message has been by then, `inboxes` where it was put; an address may mean many.
    """
    return _sentence(event, message, offered, inboxes, tuple(f"“{one}”" for one in reasons(event)) + found(event))


def happening_apart(
    event: Event, message: Message | None, offered: int = 0, inboxes: Sequence[str] = ()
) -> tuple[str, str, tuple[str, ...]]:
    """The same, and by itself what others have written in it: reasons, and the fields of what they sent."""
    kind, words = _sentence(event, message, offered, inboxes, ())
    return kind, words, reasons(event) + found(event)


def _sentence(
    event: Event, message: Message | None, offered: int, inboxes: Sequence[str], said: tuple[str, ...]
) -> tuple[str, str]:
    detail = detail_of(event)
    by = f"by {shown(event.agent)}" if event.agent else ""
    words = [*_main(event, detail, by, inboxes or ([message.to] if message else [])), *said, *_rest(event, detail)]
    kind = f"offered {offered}×" if event.kind == "leased" and offered else event.kind
    return kind, "; ".join(word for word in words if word) or KINDS.get(event.kind, "")


def _main(event: Event, detail: dict[str, Any], by: str, inboxes: Sequence[str]) -> list[str]:
    inbox = shown(event.inbox) if event.inbox else ""
    until = f"until {_time(detail.get('until'), event)}" if "until" in detail else ""
    match event.kind:
        case "leased":
            shared = f" from {inbox}" if event.inbox and event.inbox != event.agent else ""
            return [f"to {shown(event.agent or inbox)}{shared} {until}".rstrip()]
        case "translated":
            return [f"for {shown(event.agent or inbox)} into {shown(rendered_as(detail))}"]
        case "extended":
            return [f"{by} {until}".strip()]
        case "accepted":
            return [f"from {shown(event.agent or '')}, stored for {', '.join(map(shown, inboxes))}"]
        case "joined":
            return [f"{shown(event.agent or '')} as {shown(str(detail.get('role', '?')))}"]
        case "left" | "stopped":
            return [shown(event.agent or "")]
        case "forced":
            return [f"{shown(event.agent or '')} by {shown(str(detail.get('by', '?')))}"]
        case "dissolved":
            return [f"{shown(str(detail.get('team', '?')))} {by}"]
        case "lease-expired":
            return [f"held by {shown(event.agent or inbox)}"]
        case "reply-overdue" if isinstance(detail.get("climbed_to"), str):
            return [f"no reply: escalated to {shown(detail['climbed_to'])}"]
        case "dead" | "expired" | "request-repeated" | "withdrawn" | "returned-to-sender":
            return [f"in the inbox of {inbox}" if inbox else ""]
        case _:
            return [by]


def reasons(event: Event) -> tuple[str, ...]:
    reason = detail_of(event).get("reason")
    return (shown(reason),) if isinstance(reason, str) else ()


def found(event: Event) -> tuple[str, ...]:
    findings = detail_of(event).get("findings")
    return tuple(
        f"{_word(finding, 'code')} at {_word(finding, 'path')}"
        for finding in (findings if isinstance(findings, list) else ())
        if isinstance(finding, dict)
    )


def _rest(event: Event, detail: dict[str, Any]) -> list[str]:
    """What is said of it beyond who, where and why: how long it took, what comes next."""
    rest = []
    if isinstance(detail.get("took"), (int, float)):
        rest.append(f"in {detail['took']:.1f} ms")
    if isinstance(detail.get("next"), (int, float)):
        comes = "next deadline" if event.kind == "reply-overdue" else "again at"
        rest.append(f"{comes} {_time(detail['next'], event)}")
    return rest


def _word(finding: dict[str, Any], key: str) -> str:
    return shown(str(finding.get(key, "?")))


def _time(at: object, event: Event) -> str:
    return clock_time(at, event.at) if isinstance(at, (int, float)) else "?"

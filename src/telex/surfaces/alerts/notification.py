"""Notification: content of one alert, and its forms as a CloudEvent, for ntfy and for a chat.

Titles are texts of agents, which may be hostile: a form has them on one line, without control and direction
characters, and without anything that its receiver reads as markup or as a mention.
"""

import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any
from unicodedata import category
from urllib.parse import quote

from telex.model.named_tuple import NamedTuple
from telex.surfaces.http.cloudevents import timestamp

LINES_MAX = 8  # items that a text lists
TEXT_CHARACTERS = 120
PATHS_MAX = 10
WAITING, SETTLED = "telex.needs.waiting", "telex.needs.settled"
KINDS: dict[str, tuple[str, str]] = {  # of an item: in the singular and the plural
    "approval": ("request for approval", "requests for approval"),
    "escalation": ("escalation", "escalations"),
    "dead": ("dead message", "dead messages"),
    "stall": ("stall", "stalls"),
    "wake": ("agent that cannot be woken", "agents that cannot be woken"),
}
_OTHER = ("item", "items")
_PRIORITIES = {"escalation": 5, "approval": 4}  # of ntfy; others 3
_TAGS = {
    "approval": "question",
    "escalation": "rotating_light",
    "dead": "envelope",
    "stall": "hourglass",
    "wake": "zzz",
}
_INVISIBLE = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


class Item(NamedTuple):
    """One thing that waits for a person, as the page lists it."""

    key: str
    kind: str
    title: str
    by: str | None = None  # the agent that waits
    since: float | None = None
    due: float | None = None
    conversation: str | None = None
    paths: tuple[str, ...] = ()  # that are asked for


class Notification(NamedTuple):
    """One delivery of one target."""

    batch: str
    at: float
    team: str | None
    hub: str  # address, without a slash at the end
    items: tuple[Item, ...]  # open
    settled: Mapping[str, str]  # titles by key
    answers: Mapping[str, str]  # addresses of answer links by key
    is_first: bool  # the receiver may not know the batch yet

    @property
    def id(self) -> str:
        """The same for every attempt to say the same."""
        if self.is_first and self.items:
            return self.batch
        said = sha256("\n".join((*sorted(item.key for item in self.items), "", *sorted(self.settled))).encode())
        return f"{self.batch}-{said.hexdigest()[:12]}"


def one_line(text: str, characters_max: int = TEXT_CHARACTERS) -> str:
    """The text on one line, without invisible characters."""
    visible = "".join(" " if char.isspace() else char for char in text[: 8 * characters_max] if _is_visible(char))
    line = " ".join(visible.split())
    return line if len(line) <= characters_max else line[: characters_max - 1] + "…"


def _is_visible(char: str) -> bool:
    return char.isspace() or category(char) not in _INVISIBLE


def page_url(hub: str, key: str | None = None) -> str:
    """Address of an item on the page, or of the list."""
    return f"{hub}/#/needs" + (f"?item={quote(key, safe='')}" if key is not None else "")


def item_url(note: Notification) -> str:
    return page_url(note.hub, note.items[0].key if len(note.items) == 1 else None)


# --- words ------------------------------------------------------------------------------------------------------------


def headline(note: Notification) -> str:
    """`dev asks: Touch src/mail/reset.txt`, or the numbers of each kind."""
    team = f" · {one_line(note.team, 40)}" if note.team else ""
    if not note.items:
        return f"Answered: {_settled_words(note)}{team}"
    if len(note.items) == 1:
        return f"{KINDS.get(note.items[0].kind, _OTHER)[0].capitalize()}{team}"
    counts: dict[str, int] = {}
    for item in note.items:
        counts[item.kind] = counts.get(item.kind, 0) + 1
    words = [f"{count} {KINDS.get(kind, _OTHER)[count > 1]}" for kind, count in counts.items()]
    return f"{', '.join(words)}{team}"


def _settled_words(note: Notification) -> str:
    titles = [one_line(title, 60) for title in note.settled.values() if title]
    more = len(note.settled) - 1
    first = titles[0] if titles else "nothing waits any more"
    return f"{first} and {more} more" if more > 0 else first


def lines(items: Sequence[Item]) -> list[str]:
    """A line for each item, and the number of those that are left out."""
    shown = [_line(item) for item in items[:LINES_MAX]]
    more = len(items) - len(shown)
    return [*shown, f"and {more} more"] if more > 0 else shown


def _line(item: Item) -> str:
    by = f"{one_line(item.by, 40)}: " if item.by else ""
    paths = ", ".join(one_line(path, 60) for path in item.paths[:3])
    more = f" and {len(item.paths) - 3} more" if len(item.paths) > 3 else ""
    return f"{by}{one_line(item.title) or item.kind}{f' ({paths}{more})' if paths else ''}"


# --- forms ------------------------------------------------------------------------------------------------------------


def cloud_event(note: Notification) -> dict[str, Any]:
    """For commands and webhooks."""
    return {
        "specversion": "1.0",
        "id": note.id,
        "source": quote(note.hub, safe="/:"),
        "type": WAITING if note.is_first and note.items else SETTLED,
        "time": timestamp(note.at),
        "subject": note.batch,
        "datacontenttype": "application/json",
        "data": {
            "team": note.team,
            "headline": headline(note),
            "url": item_url(note),
            "waiting": [_item_facts(note, item) for item in note.items],
            "settled": [{"key": key, "title": one_line(title)} for key, title in note.settled.items()],
        },
    }


def _item_facts(note: Notification, item: Item) -> dict[str, Any]:
    return {
        "key": item.key,
        "kind": item.kind,
        "title": one_line(item.title),
        "by": one_line(item.by) if item.by else None,
        "since": timestamp(item.since) if item.since is not None else None,
        "due": timestamp(item.due) if item.due is not None else None,
        "conversation": item.conversation,
        "paths": [one_line(path) for path in item.paths[:PATHS_MAX]],
        "url": page_url(note.hub, item.key),
        "answer_url": note.answers.get(item.key),
    }


def ntfy_message(note: Notification, topic: str) -> dict[str, Any]:
    """The body of a publication as JSON. The same `sequence_id` replaces the notification on the phone."""
    only = note.items[0] if len(note.items) == 1 else None
    actions = [{"action": "view", "label": "Open", "url": item_url(note), "clear": True}]
    if only is not None and only.key in note.answers:
        actions.insert(
            0, {"action": "view", "label": "Approve or reject", "url": note.answers[only.key], "clear": True}
        )
    return {
        "topic": topic,
        "sequence_id": note.batch,
        "title": headline(note),
        "message": "\n".join(lines(note.items)),
        "priority": max(_PRIORITIES.get(item.kind, 3) for item in note.items) if note.is_first else 2,
        "tags": list(dict.fromkeys(_TAGS.get(item.kind, "bell") for item in note.items))[:5],
        "click": item_url(note),
        "actions": actions,
    }


_CHAT_MARKUP = re.compile(r"@|\]\(|://|www\.|[*_~`]", re.IGNORECASE)


def chat_text(text: str) -> str:
    """Text of others in a chat: no mention, link, or formatting. Chats make a link of an address, too."""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _CHAT_MARKUP.sub(lambda match: f"{match[0][0]}\u200b{match[0][1:]}", escaped)


def slack_message(note: Notification) -> dict[str, Any]:
    """`text` is all that Slack and chats that are compatible with it have in common."""
    parts = [f"*{chat_text(headline(note))}*"] if note.items else [chat_text(headline(note))]
    parts += [f"• {chat_text(line)}{_answer_link(note, at)}" for at, line in enumerate(lines(note.items))]
    if note.items:
        parts.append(f"<{item_url(note)}|Open in Telex>")
    return {"text": "\n".join(parts)}


def _answer_link(note: Notification, at: int) -> str:
    url = note.answers.get(note.items[at].key) if at < min(LINES_MAX, len(note.items)) else None
    return f" <{url}|Approve or reject>" if url else ""

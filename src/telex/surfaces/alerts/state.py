"""State of alerts: a fold of the events `alerted`, and the decision of the next step. Values in, values out.

The log has the state, so hubs that share a store, or a replicated team, share it: an item is sent once to a target,
by one of the hubs, also after restarts. A batch is one notification. It is claimed for some seconds
before it is sent. If the hub is killed in between, it is claimed again later, under the same id, and the receiver may
see it twice.
"""

import json
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Literal

from telex.model.message import ALERTED, Event, detail_of
from telex.model.named_tuple import NamedTuple

Stage = Literal["claimed", "delivered", "failed", "given-up", "ended"]
STAGES: frozenset[str] = frozenset(("claimed", "delivered", "failed", "given-up", "ended"))
CLAIM_SECONDS = 60.0  # in which a hub delivers one notification
ATTEMPTS_MAX = 10  # of one notification or one change to it, over about half an hour
BACKOFF_SECONDS, BACKOFF_SECONDS_MAX = 5.0, 900.0
ITEMS_MAX = 200  # of one notification
LINKS_KEPT_SECONDS = 7 * 86_400.0  # an expired link is then unknown
TITLE_CHARACTERS = 120
ERROR_CHARACTERS = 200


class AlertBatch(NamedTuple):
    """One notification of a target."""

    id: str
    target: str
    items: Mapping[str, str]  # titles of the open items, by key
    shown: tuple[str, ...] = ()  # open keys of the last delivery
    stage: Stage = "claimed"
    attempt: int = 0  # of the current change; 0 after a delivery
    due_at: float = 0.0  # end of the claim, or next attempt
    titles: Mapping[str, str] = {}  # of everything that it has named, by key
    claimed: int = 0  # number of the event of its last claim


class Link(NamedTuple):
    """An answer link, by the hash of its token."""

    key: str  # request and revision
    actions: tuple[str, ...]
    expires_at: float
    made_at: float


class OpenItem(NamedTuple):
    title: str
    send_at: float  # until then it waits for others, to be sent with them


class Step(NamedTuple):
    """Notification to be sent now."""

    batch: str
    target: str
    open: Mapping[str, str]  # titles by key
    settled: Mapping[str, str]
    is_first: bool  # the receiver may not know the batch yet
    attempt: int  # from 1


class AlertState:
    """Batches that are not ended, and links. It is folded in place; a transaction folds a copy."""

    def __init__(self) -> None:
        self.position = 0  # number of the last event
        self.batches: dict[str, AlertBatch] = {}
        self.links: dict[str, Link] = {}
        self.errors: dict[str, str] = {}  # of the last attempt, by target

    def copy(self) -> "AlertState":
        copied = AlertState()
        copied.position = self.position
        copied.batches, copied.links, copied.errors = {**self.batches}, {**self.links}, {**self.errors}
        return copied

    def fold(self, events: Iterable[Event]) -> "AlertState":
        for event in events:
            self.position = event.seq
            detail = detail_of(event)
            if event.kind == ALERTED and detail.get("stage") in STAGES:
                self._fold(event, detail)
        return self

    def forget_links(self, now: float) -> None:
        self.links = {hash_: link for hash_, link in self.links.items() if link.expires_at > now - LINKS_KEPT_SECONDS}

    def _fold(self, event: Event, detail: dict[str, Any]) -> None:
        id_, target, stage = str(detail.get("batch")), str(detail.get("target")), detail["stage"]
        if stage == "claimed":
            items, before = _texts(detail.get("open")), self.batches.get(id_)
            batch = before or AlertBatch(id_, target, items)
            until = _number(detail.get("until"))
            titles = {**batch.titles, **items}
            self.batches[id_] = batch._replace(
                items=items, titles=titles, stage="claimed", due_at=until, claimed=event.seq
            )
            for hash_, link in _items(detail.get("links")):
                self.links[hash_] = _link(link, event.at)
            return
        if id_ not in self.batches:
            return
        batch = self.batches[id_]
        if stage == "ended":
            del self.batches[id_]
        elif stage == "delivered":
            self.batches[id_] = batch._replace(stage="delivered", shown=tuple(batch.items), attempt=0)
            self.errors.pop(target, None)
        else:
            due_at = _number(detail.get("retry_at"))
            self.batches[id_] = batch._replace(stage=stage, attempt=batch.attempt + 1, due_at=due_at)
            self.errors[target] = str(detail.get("error") or "?")

    # --- decisions ----------------------------------------------------------------------------------------------------

    def next_step(
        self, target: str, open_: Mapping[str, OpenItem], now: float, *, as_of: int, new_id: str
    ) -> Step | None:
        """The next notification of a target. `open_`: everything that waits for a person, by key, after the event
        `as_of`. What another hub has found since then is not in it, and not settled."""
        for batch in self.batches.values():
            is_known = batch.target == target and batch.claimed <= as_of
            if is_known and (step := _change(batch, open_, now)) is not None:
                return step
        covered = {key for batch in self.batches.values() if batch.target == target for key in batch.items}
        fresh = {key: item for key, item in open_.items() if key not in covered}
        if not any(item.send_at <= now for item in fresh.values()):
            return None
        titles = {key: item.title for key, item in islice(fresh.items(), ITEMS_MAX)}
        return Step(new_id, target, titles, {}, is_first=True, attempt=1)

    def pending(self, target: str) -> int:
        """Notifications that are not delivered as they should be."""
        return sum(batch.target == target and batch.stage in ("claimed", "failed") for batch in self.batches.values())


def _change(batch: AlertBatch, open_: Mapping[str, OpenItem], now: float) -> Step | None:
    """The delivery of a batch, its repetition, or what has changed since its delivery."""
    still_open = {key: title for key, title in batch.items.items() if key in open_}
    if batch.stage in ("claimed", "failed") and now < batch.due_at:
        return None
    if batch.stage in ("delivered", "given-up") and len(still_open) == len(batch.items):
        return None
    named = dict.fromkeys((*batch.shown, *batch.items))
    settled = {key: batch.titles.get(key, "") for key in named if key not in open_}
    return Step(batch.id, batch.target, still_open, settled, is_first=not batch.shown, attempt=batch.attempt + 1)


def retry_at(step: Step, now: float) -> float | None:
    """Time of the next attempt; None: there is none."""
    if step.attempt >= ATTEMPTS_MAX:
        return None
    return now + min(BACKOFF_SECONDS * 2.0 ** (step.attempt - 1), BACKOFF_SECONDS_MAX)


# --- events -----------------------------------------------------------------------------------------------------------


def claim(step: Step, links: Mapping[str, Link], now: float) -> Event:
    rows = {hash_: [link.key, list(link.actions), link.expires_at] for hash_, link in links.items()}
    return _event(step, "claimed", now, open=step.open, until=now + CLAIM_SECONDS, links=rows or None)


def delivered(step: Step, now: float) -> Event:
    return _event(step, "delivered" if step.open else "ended", now)


def failed(step: Step, error: str, now: float) -> Event:
    again = retry_at(step, now)
    stage = "failed" if again is not None else "given-up" if step.open else "ended"
    return _event(step, stage, now, error=error[:ERROR_CHARACTERS], retry_at=again)


def _event(step: Step, stage: str, now: float, **more: Any) -> Event:
    detail = {"target": step.target, "batch": step.batch, "stage": stage, **more}
    text = json.dumps({name: value for name, value in detail.items() if value is not None}, ensure_ascii=False)
    return Event(0, now, ALERTED, detail=text)


def _link(row: Any, at: float) -> Link:
    """An event of a foreign log may have anything here: such a link has expired."""
    try:
        key, actions, expires_at = row
        return Link(str(key), tuple(map(str, actions)), float(expires_at), at)
    except (TypeError, ValueError):
        return Link("", (), 0.0, at)


def _items(value: Any) -> Iterable[tuple[str, Any]]:
    return value.items() if isinstance(value, dict) else ()


def _texts(value: Any) -> dict[str, str]:
    return {key: str(title) for key, title in _items(value)}


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else 0.0

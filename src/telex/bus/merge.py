"""Merge of another store: its members, its log as history, and what still waits there.

A message is recognised by sender, id and digest, so merging twice is the same as merging once. The work state is not
merged: contracts, approvals and tasks count in the store that they were sent to.
"""

import json
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from telex.bus.local import LocalBus
from telex.model.delivery import OPEN
from telex.model.event import BRINGING, Event
from telex.model.finding import Finding
from telex.model.message import Message, NewMessage
from telex.ports.store import Query, Transaction, deliveries_of, find_messages, latest_at
from telex.work.view import UNWEIGHED

BATCH = 500  # messages of one transaction


class MergeReport(NamedTuple):
    messages: int  # that were not here yet
    waiting: int  # of these, stored for their recipients
    members: tuple[str, ...]  # added to the team
    refused: tuple[Finding, ...]  # members that may not join


async def merge(source: LocalBus, target: LocalBus, now: float) -> MergeReport:
    """Copy into `target` what `source` has. The source stays as it is."""
    now = max(now, await target.store.read(latest_at))
    here = {presence.member.name for presence in await target.roster()}
    newcomers = [
        presence.member
        for presence in await source.roster()
        if presence.member.is_here and presence.member.joined_at is not None and presence.member.name not in here
    ]
    joined = [await target.join(member.name, role=member.role, dialects=member.dialects) for member in newcomers]
    stored: list[NewMessage] = []
    batch: list[NewMessage] = []
    async for event, message in source.events(Query(kinds=BRINGING)):
        if message is not None:
            batch.append(await _copy(source, event, message, now))
        if len(batch) == BATCH:
            stored += await target.store.transaction(partial(_append_new, batch))
            batch = []
    stored += await target.store.transaction(partial(_append_new, batch))
    return MergeReport(
        messages=len(stored),
        waiting=sum(bool(message.inboxes) for message in stored),
        members=tuple(member.name for member in joined if not isinstance(member, Finding)),
        refused=tuple(finding for finding in joined if isinstance(finding, Finding)),
    )


async def _copy(source: LocalBus, event: Event, message: Message, now: float) -> NewMessage:
    """As history, or as sent now to those who have not acked it."""
    fields = {name: value for name, value in message._asdict().items() if name in NewMessage._fields}
    if event.kind == "refused":
        return NewMessage(**fields, kind="refused", detail=event.detail)
    deliveries = await source.store.read(deliveries_of, message.seq)
    inboxes = tuple(dict.fromkeys(delivery.inbox for delivery in deliveries if delivery.state in OPEN))
    if not inboxes:
        return NewMessage(**fields, kind="imported")
    detail = json.dumps({UNWEIGHED: True, "inboxes": inboxes}, ensure_ascii=False)
    return NewMessage(**fields | {"at": now}, inboxes=inboxes, detail=detail)


def _append_new(messages: Sequence[NewMessage], tx: Transaction) -> list[NewMessage]:
    """Store the messages that are not stored yet. All are looked up before the first is written."""
    new: dict[tuple[str, str, bytes], NewMessage] = {}
    for message in messages:
        same = (message.sender, message.digest)
        if not any((stored.sender, stored.digest) == same for stored in find_messages(tx, message.id)):
            new.setdefault((message.id, *same), message)
    for message in new.values():
        tx.append(message)
    return list(new.values())

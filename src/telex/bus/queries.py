"""Queries of the bus: histories of messages, inboxes, presence, conversations. Each reads the current store."""

import json
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from telex.bus.context import BusContext
from telex.delivery.lifecycle import state_of
from telex.errors import InvalidValue, NotFound, StoreFull
from telex.model.finding import Finding
from telex.model.message import BRINGING, OPEN, Event, Message, NewMessage
from telex.model.roster import ONE_OF_ROLE, Member, Roster
from telex.ports.bus import MessageHistory, MessageState, Presence, UnreadInbox
from telex.ports.store import Query, Reads, Transaction
from telex.validation.authorization import normalised
from telex.work.view import UNWEIGHED

if TYPE_CHECKING:
    from telex.bus.local import LocalBus

THREAD_MAX = 10_000  # messages of one conversation that are shown
CONVERSATIONS_MAX = 100  # on one page
STATES_MAX = 1_000  # messages in one question


async def message_history(context: BusContext, message: Message) -> MessageHistory:
    store = context.store
    deliveries = tuple(await store.deliveries(message.seq))
    events = tuple(await store.story(message.seq))
    pending = await context.read(lambda reads: reads.pending_requests(message.id, None))
    asks = [request for request, asked in pending if asked.seq == message.seq]
    state = state_of(deliveries, events, refused=message.refused)
    return MessageHistory(message, state, deliveries, events, asks[0].due_at if asks else None)


async def why(context: BusContext, id_: str) -> list[MessageHistory]:
    messages = await context.store.find(id_)
    if not messages:
        raise _no_message(id_)
    roster, histories = await context.roster(fresh=True), [await message_history(context, one) for one in messages]
    return [history._replace(unread=_unread(context, history, roster)) for history in histories]


def _unread(context: BusContext, history: MessageHistory, roster: Roster) -> tuple[UnreadInbox, ...]:
    """The inboxes in which the message waits and that no agent reads."""
    from telex.work.stall import idle_reason

    now, silent_seconds = context.clock.now(), context.limits.silent_seconds
    inboxes = dict.fromkeys(delivery.inbox for delivery in history.deliveries if delivery.state == "stored")
    reasons = {inbox: idle_reason(inbox, roster, now, silent_seconds) for inbox in inboxes}
    return tuple(UnreadInbox(inbox, reason[1]) for inbox, reason in reasons.items() if reason is not None)


async def trace(context: BusContext, correlation: str) -> list[MessageHistory]:
    """The whole conversation. The id of a message will do as well: then the one it belongs to."""
    thread = await context.store.thread(correlation, THREAD_MAX)
    if thread:  # what belonged to no conversation may have begun one under its own id
        thread = [
            *(message for message in await context.store.find(correlation) if message.correlation is None),
            *thread,
        ]
    else:
        thread = await context.store.find(correlation)
        belongs_to = thread[0].correlation if thread else None
        if belongs_to:
            thread = await context.store.thread(belongs_to, THREAD_MAX)
    if not thread:
        wrong = f"no conversation is called {correlation[:128]}, and no message has that id"
        raise NotFound(f"{wrong}: look for it with telex search.")
    return [await message_history(context, message) for message in thread]


async def states(context: BusContext, messages: Sequence[int]) -> list[MessageState]:
    if len(messages) > STATES_MAX:
        raise InvalidValue(f"give at most {STATES_MAX:,} messages, not {len(messages):,}.")
    return await context.read(lambda reads: [state for seq in messages if (state := _state(reads, seq)) is not None])


def _state(reads: Reads, seq: int) -> MessageState | None:
    if not 0 < seq <= reads.position:
        return None
    events, deliveries = reads.story(seq), reads.deliveries(seq)
    brought = next((event for event in events if event.kind in BRINGING and event.seq == seq), None)
    if brought is None:
        return None
    state = state_of(deliveries, events, refused=brought.kind == "refused")
    acked = sum(delivery.state == "acked" for delivery in deliveries)
    return MessageState(seq, state, len(deliveries), acked)


async def read(context: BusContext, id_: str, agent: str) -> Message:
    """The message, written down as looked at wherever it is for this agent and still waits."""
    messages = await context.store.find(id_)
    if not messages:
        raise _no_message(id_)
    name, now = normalised(agent), context.clock.now()
    member = (await context.roster()).find(name)
    inboxes = await context.inboxes(member) if member is not None else ()
    seen = [
        (
            message,
            Event(0, now, kind="read", agent=name, message=message.seq, delivery=delivery.seq, inbox=delivery.inbox),
        )
        for message in messages
        for delivery in await context.store.deliveries(message.seq)
        if delivery.inbox in inboxes and delivery.state == "stored"
    ]
    if seen:
        with suppress(StoreFull):
            await context.store.transaction(lambda tx: [tx.record(event) for _, event in seen])
    accepted = [message for message in messages if not message.refused]
    return seen[-1][0] if seen else (accepted or messages)[-1]


async def presence(context: BusContext) -> list[Presence]:
    """Everyone who was declared or ever came, whoever else has something waiting, and the inboxes that roles share."""
    roster, depths, now = await context.roster(fresh=True), await context.store.depths(), context.clock.now()
    shown = []
    for member in sorted(roster.members.values()):
        if member.stopped_at is not None:
            state = "shut down"
        elif member.left_at is not None:
            state = "left"
        elif member.seen_at is None:
            state = "not seen yet"
        else:
            state = "here" if now - member.seen_at <= context.limits.silent_seconds else "silent"
        waiting, leased, oldest = depths.pop(member.name, (0, 0, None))
        shown.append(Presence(member, state, waiting, leased, oldest))
    for inbox, (waiting, leased, oldest) in depths.items():
        default = roster.find(inbox)
        if default is not None:
            shown.append(Presence(default, "not seen yet", waiting, leased, oldest))
        elif inbox.startswith(ONE_OF_ROLE):
            shared = Member(inbox, inbox.removeprefix(ONE_OF_ROLE))
            shown.append(Presence(shared, "shared", waiting, leased, oldest))
    return shown


def _no_message(id_: str) -> NotFound:
    never = f"no message has the id {id_[:128]}: it was never sent here or is no longer stored"
    return NotFound(f"{never}; look for it with telex search.")


BATCH = 500  # messages of one transaction


class MergeReport(NamedTuple):
    messages: int  # that were not here yet
    waiting: int  # of these, stored for their recipients
    members: tuple[str, ...]  # added to the team
    refused: tuple[Finding, ...]  # members that may not join


async def merge(source: "LocalBus", target: "LocalBus", now: float) -> MergeReport:
    """Copy into `target` what `source` has. The source stays as it is."""
    now = max(now, await target.store.latest_at())
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


async def _copy(source: "LocalBus", event: Event, message: Message, now: float) -> NewMessage:
    """As history, or as sent now to those who have not acked it."""
    fields = {name: value for name, value in message._asdict().items() if name in NewMessage._fields}
    if event.kind == "refused":
        return NewMessage(**fields, kind="refused", detail=event.detail)
    deliveries = await source.store.deliveries(message.seq)
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
        if not any((stored.sender, stored.digest) == same for stored in tx.find(message.id)):
            new.setdefault((message.id, *same), message)
    for message in new.values():
        tx.append(message)
    return list(new.values())

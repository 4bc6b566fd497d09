"""Queries about messages, conversations and members; import and merge of other logs."""

import json
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from telex.bus.context import BusContext, seconds
from telex.bus.maintenance import run_maintenance
from telex.bus.notify import Notifier
from telex.delivery.lifecycle import state_of
from telex.errors import InvalidValue, NotAMember, NotFound, StoreFull
from telex.model.finding import Finding
from telex.model.message import BRINGING, OPEN, Event, NewMessage, StoredMessage
from telex.model.named_tuple import NamedTuple
from telex.model.roster import ONE_OF_ROLE, Member, Roster
from telex.model.text import ROOT
from telex.ports.bus import MessageHistory, MessageState, Presence, UnreadInbox
from telex.ports.store import (
    AppendResult,
    Query,
    Reads,
    RequestQuery,
    Transaction,
    deliveries_of,
    events_of,
    find_messages,
    find_thread,
    latest_at,
    next_deadline,
    settle,
)
from telex.validation.authorization import normalised
from telex.work.stall import idle_reason
from telex.work.view import RULES_OFF

if TYPE_CHECKING:
    from telex.bus.local import LocalBus

THREAD_MAX = 10_000  # messages of one conversation that are shown
CONVERSATIONS_MAX = 100  # on one page
STATES_MAX = 1_000  # messages in one query
FAR_AWAY = 1e12  # later than every event
NEVER_DELIVERED = frozenset({"refused", "recorded"})
_FINAL = frozenset({"acked", "dead", "expired", "withdrawn"}) | NEVER_DELIVERED


# --- messages --------------------------------------------------------------------------------------------------------


async def message_history(context: BusContext, message: StoredMessage) -> MessageHistory:
    return await context.store.read(_history, message)


async def _histories(
    context: BusContext, notifier: Notifier, messages: Sequence[StoredMessage]
) -> list[MessageHistory]:
    """One after another. There may be thousands, and a local store never waits: other calls have their turn between."""
    histories: list[MessageHistory] = []
    for message in messages:
        if histories:
            await notifier.yield_to_others()
        histories.append(await message_history(context, message))
    return histories


def _history(reads: Reads, message: StoredMessage) -> MessageHistory:
    deliveries, events = tuple(deliveries_of(reads, message.seq)), tuple(events_of(reads, message.seq))
    pending = reads.pending_requests(RequestQuery(id=message.id))
    due = [request.due_at for request, asked in pending if asked.seq == message.seq]
    state = state_of(deliveries, events, refused=message.refused)
    return MessageHistory(message, state, deliveries, events, due[0] if due else None)


async def why(context: BusContext, notifier: Notifier, id_: str) -> list[MessageHistory]:
    await run_maintenance(context)
    messages = await _find(context, id_)
    roster, histories = await context.roster(fresh=True), await _histories(context, notifier, messages)
    return [history._replace(unread=_unread(context, history, roster)) for history in histories]


async def _find(context: BusContext, id_: str) -> list[StoredMessage]:
    messages = await context.store.read(find_messages, id_)
    if not messages:
        raise NotFound(f"no message has the id {id_[:128]}, or it is no longer stored: look for it with telex search.")
    return messages


def _unread(context: BusContext, history: MessageHistory, roster: Roster) -> tuple[UnreadInbox, ...]:
    """The inboxes in which the message waits and that no agent reads."""
    now, silent_seconds = context.clock.now(), context.limits.silent_seconds
    inboxes = dict.fromkeys(delivery.inbox for delivery in history.deliveries if delivery.state == "stored")
    reasons = {inbox: idle_reason(inbox, roster, now, silent_seconds) for inbox in inboxes}
    return tuple(UnreadInbox(inbox, reason[1]) for inbox, reason in reasons.items() if reason is not None)


async def settled(
    context: BusContext, notifier: Notifier, id_: str, sender: str, *, until: str, timeout: float
) -> MessageHistory:
    """Wait until every delivery has come as far as `until`, or the timeout."""
    name, deadline = normalised(sender), context.clock.now() + seconds("timeout", timeout)
    subscription = notifier.subscribe()
    known: tuple[int, ...] = ()
    try:
        while True:
            await subscription.arm((), known)
            histories = await why(context, notifier, id_)
            own = [
                history
                for history in histories
                if history.message.sender == name and history.state not in NEVER_DELIVERED
            ]
            history = (own or histories)[-1]
            if _has_reached(history, until) or context.clock.now() >= deadline:
                await settle(context.store, ())  # what another process has just written may not be on disk yet
                return history
            if known != (known := tuple(history.message.seq for history in histories)):
                continue  # only now is it known which messages to wait for
            due_at = await context.store.read(next_deadline, ()) if subscription.alone else None
            await subscription.wait(min(deadline, FAR_AWAY if due_at is None else due_at))
    finally:
        subscription.close()


def _has_reached(history: MessageHistory, until: str) -> bool:
    """Whether every delivery has come that far, or never will. An acked message counts as read."""
    if history.state in _FINAL or until == "acked":
        return history.state in _FINAL
    kinds = ("leased",) if until == "leased" else ("leased", "read")
    reached = {event.delivery for event in history.events if event.kind in kinds}
    return all(delivery.seq in reached or delivery.state not in OPEN for delivery in history.deliveries)


async def trace(context: BusContext, notifier: Notifier, correlation: str) -> list[MessageHistory]:
    """The conversation of this correlation, or of the message with this id."""
    await run_maintenance(context)
    store = context.store
    named, thread = await store.read(find_messages, correlation), await store.read(find_thread, correlation, THREAD_MAX)
    if thread:  # a message without correlation may have started one under its own id
        thread = [*(message for message in named if message.correlation is None), *thread]
    elif named and named[0].correlation:
        thread = await store.read(find_thread, named[0].correlation, THREAD_MAX)
    if not thread and not named:
        raise NotFound(f"no conversation and no message is called {correlation[:128]}: look for it with telex search.")
    return await _histories(context, notifier, thread or named)


async def states(context: BusContext, messages: Sequence[int]) -> list[MessageState]:
    if len(messages) > STATES_MAX:
        raise InvalidValue(f"give at most {STATES_MAX:,} messages, not {len(messages):,}.")
    return await context.read(lambda reads: [state for seq in messages if (state := _state(reads, seq)) is not None])


def _state(reads: Reads, seq: int) -> MessageState | None:
    if not 0 < seq <= reads.position:
        return None
    events, deliveries = events_of(reads, seq), deliveries_of(reads, seq)
    stored = next((event for event in events if event.kind in BRINGING and event.seq == seq), None)
    if stored is None:
        return None
    acked = sum(delivery.state == "acked" for delivery in deliveries)
    return MessageState(seq, state_of(deliveries, events, refused=stored.kind == "refused"), len(deliveries), acked)


async def read(context: BusContext, id_: str, agent: str) -> StoredMessage:
    """The message; the event `read` is recorded where it waits for this agent."""
    messages = await _find(context, id_)
    name, now = normalised(agent), context.clock.now()
    member = (await context.roster()).find(name)
    inboxes = await context.inboxes(member) if member is not None else ()
    waiting = [
        (message, delivery)
        for message in messages
        for delivery in await context.store.read(deliveries_of, message.seq)
        if delivery.inbox in inboxes and delivery.state == "stored"
    ]
    events = [
        Event(0, now, kind="read", agent=name, message=message.seq, delivery=delivery.seq, inbox=delivery.inbox)
        for message, delivery in waiting
    ]
    if events:
        with suppress(StoreFull):
            await context.store.transaction(lambda tx: [tx.record(event) for event in events])
    accepted = [message for message in messages if not message.refused]
    return waiting[-1][0] if waiting else (accepted or messages)[-1]


# --- members ---------------------------------------------------------------------------------------------------------


async def presence(context: BusContext) -> list[Presence]:
    """All members, declared or joined, then other agents and roles whose inboxes have messages."""
    roster, depths = await context.roster(fresh=True), await context.store.read(lambda reads: reads.depths())
    now, silent_seconds = context.clock.now(), context.limits.silent_seconds
    members = []
    for member in sorted(roster.members.values()):
        waiting, leased, oldest = depths.pop(member.name, (0, 0, None))
        members.append(Presence(member, _presence_state(member, now, silent_seconds), waiting, leased, oldest))
    for inbox, (waiting, leased, oldest) in depths.items():
        default = roster.find(inbox)
        if default is not None:
            members.append(Presence(default, "not seen yet", waiting, leased, oldest))
        elif inbox.startswith(ONE_OF_ROLE):
            shared = Member(inbox, inbox.removeprefix(ONE_OF_ROLE))
            members.append(Presence(shared, "shared", waiting, leased, oldest))
    return members


def _presence_state(member: Member, now: float, silent_seconds: float) -> str:
    if member.stopped_at is not None:
        return "shut down"
    if member.left_at is not None:
        return "left"
    if member.seen_at is None:
        return "not seen yet"
    return "here" if now - member.seen_at <= silent_seconds else "silent"


# --- import ----------------------------------------------------------------------------------------------------------


async def import_messages(context: BusContext, messages: Sequence[NewMessage]) -> list[AppendResult]:
    return await context.store.transaction(partial(_import, messages)) if messages else []


def _import(messages: Sequence[NewMessage], tx: Transaction) -> list[AppendResult]:
    """Store the messages that are not stored yet, as history: without deliveries, requests and work changes. All are
    looked up before the first is written."""
    results: list[AppendResult | NewMessage] = []
    taken: set[tuple[str, str, bytes, float]] = set()
    for message in messages:
        same = (message.sender, message.digest, message.at)
        stored = [m.seq for m in find_messages(tx, message.id) if (m.sender, m.digest, m.at) == same]
        is_new = not stored and (message.id, *same) not in taken
        taken.add((message.id, *same))
        kind = "refused" if message.kind == "refused" else "imported"
        history = message._replace(kind=kind, inboxes=(), answer_by=None, answers_requests=(), work_change=None)
        results.append(history if is_new else AppendResult("duplicate", stored[0] if stored else 0))
    return [AppendResult("stored", tx.append(item)) if isinstance(item, NewMessage) else item for item in results]


# --- merge -----------------------------------------------------------------------------------------------------------

BATCH = 500  # messages of one transaction


class MergeReport(NamedTuple):
    messages: int  # that were not here yet
    waiting: int  # of these, stored for their recipients
    members: tuple[str, ...]  # added to the team
    refused: tuple[Finding, ...]  # members that may not join


async def merge(source: "LocalBus", target: "LocalBus", now: float) -> MergeReport:
    """Copy members, log and open deliveries of `source` into `target`. The source stays as it is.

    A message is recognised by sender, id and digest, so merging twice is the same as merging once. The work state is
    not merged: contracts, approvals and tasks count in the store that they were sent to.
    """
    now = max(now, await target.store.read(latest_at))
    here = {presence.member.name for presence in await target.roster()}
    members = [presence.member for presence in await source.roster()]
    newcomers = [member for member in members if member.is_here and member.joined_at and member.name not in here]
    joined = [await _join(target, member) for member in newcomers]
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


async def _join(bus: "LocalBus", member: Member) -> Member | Finding:
    try:
        return await bus.join(member.name, role=member.role, dialects=member.dialects)
    except NotAMember as error:
        return error.finding or Finding(error.code, ROOT, error.say)


async def _copy(source: "LocalBus", event: Event, message: StoredMessage, now: float) -> NewMessage:
    """The message as history, or as sent now to the recipients that have not acked it."""
    fields = {name: value for name, value in message._asdict().items() if name in NewMessage._fields}
    if event.kind == "refused":
        return NewMessage(**fields, kind="refused", detail=event.detail)
    deliveries = await source.store.read(deliveries_of, message.seq)
    inboxes = tuple(dict.fromkeys(delivery.inbox for delivery in deliveries if delivery.state in OPEN))
    if not inboxes:
        return NewMessage(**fields, kind="imported")
    detail = json.dumps({RULES_OFF: True, "inboxes": inboxes}, ensure_ascii=False)
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

"""Invariants that must hold after a simulation.

The log is replayed event by event, which gives the state of each delivery and reveals every invalid move and every
lease out of order. The result is compared with the store and with what the agents received.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass

from telex.model.limits import Limits
from telex.model.message import MOVES, Delivery, Event, Message, State
from telex.model.roster import TELEX
from telex.ports.store import Query, Store
from telex.testing.sim_observer import SendObserver

EVENTS_MAX = 1_000_000
BECOMES: dict[str, State] = {
    "leased": "leased",
    "extended": "leased",
    "acked": "acked",
    "nacked": "stored",
    "returned": "stored",
    "lease-expired": "stored",
    "dead": "dead",
    "expired": "expired",
    "withdrawn": "withdrawn",
    "dropped": "withdrawn",
    "retried": "stored",
}
ENDS_TOLD = ("dead", "withdrawn")  # what a sender is told of
Turn = tuple[int, int]  # the priority and the number of a message


@dataclass
class ReplayedDelivery:
    """A delivery as its events tell it."""

    inbox: str
    state: State = "stored"
    attempts: int = 0
    fence: int = 0
    holder: str | None = None  # who may settle it


async def check(store: Store, witness: SendObserver, limits: Limits, readers: set[str], now: float) -> None:
    """Write down everything that is wrong. `readers` are the inboxes that somebody has read to the end."""
    events = await store.events(Query(), EVENTS_MAX)
    messages = {message.seq: message for _, message in events if message is not None}
    deliveries = {seq: await store.deliveries(seq) for seq in messages}
    replayed = _replay(events, deliveries, witness, limits)
    for seq, message in messages.items():
        for delivery in deliveries[seq]:
            _compare(delivery, replayed, message, witness)
            _is_at_rest(delivery, message, witness, readers, now)
    _complaints_are_answered(events, witness)
    _nothing_is_lost(messages, deliveries, witness)
    for seq, raw in witness.delivered:
        if seq in messages and messages[seq].raw != raw:
            witness.wrong(f"{messages[seq].id} was delivered with other bytes")
    _no_id_is_kept_twice(messages, witness, limits)
    _senders_were_told(events, messages, deliveries, witness)


def _replay(
    events: list[tuple[Event, Message | None]],
    deliveries: dict[int, list[Delivery]],
    witness: SendObserver,
    limits: Limits,
) -> dict[int, ReplayedDelivery]:
    replayed: dict[int, ReplayedDelivery] = {}
    fresh: dict[str, dict[int, Turn]] = defaultdict(dict)  # by inbox: deliveries that nobody was offered yet
    asked_again = {event.delivery for event, _ in events if event.kind == "request-repeated"}
    for event, message in events:
        if message is None:
            continue
        turn = (message.rank, message.seq)
        begun = [event.delivery] if event.kind == "request-repeated" else []
        if event.kind == "accepted":
            begun = [delivery.seq for delivery in deliveries[message.seq] if delivery.seq not in asked_again]
        for one in deliveries[message.seq]:
            if one.seq in begun:
                replayed[one.seq] = ReplayedDelivery(one.inbox)
                fresh[one.inbox][one.seq] = turn
        if event.delivery is None or event.kind not in BECOMES:
            continue
        delivery = replayed[event.delivery]
        _move(event, delivery, witness, limits)
        if event.kind == "leased":
            first_in_turn = min(fresh[delivery.inbox].values(), default=turn)
            if first_in_turn < turn and (event.delivery, delivery.fence) not in witness.picked:
                witness.wrong(f"message {turn[1]} was offered in {delivery.inbox} before message {first_in_turn[1]}")
        fresh[delivery.inbox].pop(event.delivery, None)
    return replayed


def _move(event: Event, delivery: ReplayedDelivery, witness: SendObserver, limits: Limits) -> None:
    becomes = BECOMES[event.kind]
    is_twice = event.kind == "leased" and delivery.state == "leased"
    is_foreign = event.kind in ("acked", "nacked", "extended") and event.agent != delivery.holder
    if becomes not in MOVES[delivery.state] or is_twice or is_foreign:
        witness.wrong(f"delivery {event.delivery} was {delivery.state}, then {event.kind} by {event.agent}")
    delivery.state = becomes
    if becomes == "stored" and event.kind != "lease-expired":
        delivery.holder = None
    if event.kind == "leased":
        delivery.holder = event.agent
        delivery.attempts += 1
        delivery.fence += 1
        if delivery.attempts > limits.attempts_max:
            witness.wrong(f"delivery {event.delivery} was offered {delivery.attempts} times")
    elif event.kind == "returned":
        delivery.attempts -= 1
    elif event.kind == "retried":
        delivery.attempts = 0


def _compare(
    delivery: Delivery, replayed: dict[int, ReplayedDelivery], message: Message, witness: SendObserver
) -> None:
    replayed_delivery = replayed.get(delivery.seq)
    shown = ReplayedDelivery(delivery.inbox, delivery.state, delivery.attempts, delivery.fence, delivery.holder)
    if replayed_delivery != shown:
        witness.wrong(f"{message.id}: the store shows {shown}, its events tell {replayed_delivery}")
    if (delivery.state == "acked") != (delivery.seq in witness.acked):
        witness.wrong(f"{message.id} in {delivery.inbox} is {delivery.state}, which is not what its reader was told")


def _is_at_rest(delivery: Delivery, message: Message, witness: SendObserver, readers: set[str], now: float) -> None:
    if message.refused:
        witness.wrong(f"{message.id} was refused and is in {delivery.inbox}")
    if delivery.state == "leased":
        witness.wrong(f"{message.id} is leased to {delivery.holder} since its lease ran out at {delivery.due_at}")
    if delivery.state == "stored" and delivery.inbox in readers:
        witness.wrong(f"{message.id} still lies in {delivery.inbox}, which was read to the end at {now}")


def _complaints_are_answered(events: list[tuple[Event, Message | None]], witness: SendObserver) -> None:
    """A lease may end early: its question expired, its recipient left, or it was given up when the last one expired.
    Nothing else excuses it."""
    ended = {event.delivery for event, _ in events if event.kind in ("expired", "withdrawn", "returned", "dead")}
    for delivery, text in witness.complaints:
        if delivery not in ended:
            witness.wrong(text)


def _nothing_is_lost(
    messages: dict[int, Message], deliveries: dict[int, list[Delivery]], witness: SendObserver
) -> None:
    kept: dict[tuple[str, str, bytes], list[set[str]]] = defaultdict(list)
    for seq, message in messages.items():
        if not message.refused:
            inboxes = {delivery.inbox for delivery in deliveries[seq]}
            kept[message.sender, message.id, message.raw].append(inboxes)
    for one in witness.accepted:
        if not any(set(one.inboxes) <= found for found in kept[one.sender, one.id, one.raw]):
            witness.wrong(f"{one.id} of {one.sender} was accepted for {', '.join(one.inboxes)} and is lost")
    told = {(accepted_send.sender, accepted_send.id) for accepted_send in witness.accepted}
    for sender, id_, _ in kept:
        if sender != TELEX and (sender, id_) not in told:
            witness.wrong(f"{id_} of {sender} was stored, and its sender never told")


def _no_id_is_kept_twice(messages: dict[int, Message], witness: SendObserver, limits: Limits) -> None:
    last_at: dict[tuple[str, str], float] = {}
    for message in messages.values():
        if message.refused:
            continue
        before = last_at.get((message.sender, message.id))
        if before is not None and message.at - before <= limits.dedup_window_seconds:
            witness.wrong(f"{message.id} of {message.sender} was stored twice")
        last_at[message.sender, message.id] = message.at


def _senders_were_told(
    events: list[tuple[Event, Message | None]],
    messages: dict[int, Message],
    deliveries: dict[int, list[Delivery]],
    witness: SendObserver,
) -> None:
    reports: dict[tuple[str, str | None], int] = defaultdict(int)  # by sender and by what the report is about
    for seq, message in messages.items():
        if message.sender == TELEX:
            reports[message.to, message.reply_to] += 1
            if message.to not in [delivery.inbox for delivery in deliveries[seq]]:
                witness.wrong(f"a report is not in the inbox of {message.to}")
    for (sender, id_), times in _given_up(events).items():
        if reports[sender, id_] < times:
            witness.wrong(f"{sender} was told {reports[sender, id_]} of the {times} times that {id_} was given up")


def _given_up(events: list[tuple[Event, Message | None]]) -> Counter[tuple[str, str]]:
    """How often each message was given up while its sender was there to be told, by sender and id."""
    gone: set[str | None] = set()
    given_up: Counter[tuple[str, str]] = Counter()
    for event, message in events:
        if event.kind == "left":
            gone.add(event.agent)
        elif event.kind == "joined":
            gone.discard(event.agent)
        ended = event.kind in ENDS_TOLD or (event.kind == "expired" and event.delivery is None)
        if ended and message is not None and message.sender not in gone | {TELEX}:
            given_up[message.sender, message.id] += 1
    return given_up

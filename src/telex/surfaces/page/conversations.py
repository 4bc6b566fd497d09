"""Conversations: title, state, people, and the time of work and of waits.

A conversation waits while a question in it has no answer and is in no agent's hands. It is open while
a message of it is unread or in hand, or while a contract that was made in it is in force.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from telex.model.named_tuple import NamedTuple
from telex.model.roster import HUMAN, ONE_OF_ROLE, TELEX
from telex.surfaces.page.history import History, PageMessage
from telex.surfaces.page.rows import delivery_row, recipient_label, row
from telex.surfaces.page.search import folded
from telex.surfaces.page.timeline import role_rank

ConversationState = Literal["waiting", "open", "done"]
RANKS: dict[ConversationState, int] = {"waiting": 0, "open": 1, "done": 2}  # order of the list
PEOPLE_MAX = 50  # of one conversation
PEOPLE_LISTED_MAX = 6  # of one row of the list
WAITING_FOR_MAX = 5
DELIVERIES_MAX = 12  # of one message
TURN_MESSAGES = 500  # a few milliseconds of work; then other requests run

Facts = dict[str, Any]
Interval = tuple[float, float]


class ConversationFacts(NamedTuple):
    id: str
    title: str
    state: ConversationState
    waiting_for: tuple[str, ...]
    people: tuple[str, ...]  # who has spoken first, then the others
    since: float
    until: float  # of the last thing that happened
    messages: int
    refused: int
    dead: int
    last: int  # number of the last message
    words: str  # for the search, folded

    @property
    def key(self) -> tuple[int, int]:
        """Its place in the list."""
        return RANKS[self.state], -self.last


def conversation_facts(id: str, messages: Iterable[PageMessage], at: float) -> ConversationFacts | None:
    """The conversation at a moment; None before it began."""
    sent = [message for message in messages if message.at <= at]
    if not sent:
        return None
    accepted = [message for message in sent if not message.refused]
    title = _title(accepted or sent)
    waiting_for = _waiting_for(accepted, at)
    people = tuple(_people(sent, at))
    return ConversationFacts(
        id=id,
        title=title,
        state="waiting" if waiting_for else "open" if _is_open(accepted, at) else "done",
        waiting_for=waiting_for,
        people=people,
        since=min(message.at for message in sent),
        until=max(_last_change(message, at) for message in sent),
        messages=len(sent),
        refused=len(sent) - len(accepted),
        dead=sum(delivery.state_at(at) == "dead" for message in accepted for delivery in message.deliveries),
        last=sent[-1].seq,
        words=folded(f"{id} {title} {' '.join(people)}"),
    )


def _title(messages: Sequence[PageMessage]) -> str:
    """The objective of its contract, or what its first message is about."""
    return next((message for message in messages if message.action == "contract"), messages[0]).gist


def _waiting_for(messages: Sequence[PageMessage], at: float) -> tuple[str, ...]:
    """Who holds it up: a person, or the agents that the latest question is for."""
    asked = [message for message in messages if message.waits_at(at) and message.state_at(at) != "in-hand"]
    for_person = [message for message in asked if any(one.inbox == HUMAN for one in message.deliveries)]
    if not asked:
        return ()
    question = (for_person or asked)[-1]
    names = [recipient_label(one.agent) for one in question.deliveries if one.sent <= at]
    return tuple(dict.fromkeys(names))[:WAITING_FOR_MAX] or (recipient_label(question.to),)


def _is_open(messages: Sequence[PageMessage], at: float) -> bool:
    contract = False
    for message in messages:
        if message.action in ("contract", "close"):
            contract = message.action == "contract"
    return contract or any(
        delivery.sent <= at < delivery.ended and delivery.inbox != HUMAN and delivery.state_at(at) != "dead"
        for message in messages
        for delivery in message.deliveries
    )


def _people(messages: Sequence[PageMessage], at: float) -> dict[str, None]:
    """All agents that have sent, received or taken one of the messages."""
    people = dict.fromkeys(message.sender for message in messages)
    for message in messages:
        people |= dict.fromkeys(delivery.agent for delivery in message.deliveries if delivery.sent <= at)
    return {name: None for name in people if name != TELEX and not name.startswith(ONE_OF_ROLE)}


def _last_change(message: PageMessage, at: float) -> float:
    moments = [message.at]
    for delivery in message.deliveries:
        moments.append(delivery.ended)
        moments += (moment for attempt in delivery.attempts for moment in (attempt.taken, attempt.done))
    return max(moment for moment in moments if moment <= at)


# --- time -------------------------------------------------------------------------------------------------------------


def worked_and_waited(messages: Iterable[PageMessage], at: float) -> tuple[float, float]:
    """Seconds in which a message was in hand, and in which an answer was waited for and not worked on."""
    held, waited = list[Interval](), list[Interval]()
    for message in messages:
        own = [
            (attempt.taken, min(attempt.done, at))
            for delivery in message.deliveries
            for attempt in delivery.attempts
            if attempt.taken <= at
        ]
        held += own
        if message.asks and message.at <= at:
            waited += without([(message.at, min(message.answered, at))], union(own))
    return length(union(held)), length(union(waited))


def union(intervals: Iterable[Interval]) -> list[Interval]:
    """The same times as intervals that do not overlap, in their order."""
    merged: list[Interval] = []
    for begin, end in sorted(intervals):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        elif end > begin:
            merged.append((begin, end))
    return merged


def without(intervals: Sequence[Interval], holes: Sequence[Interval]) -> list[Interval]:
    """The intervals outside of the holes; both in order and without overlaps."""
    rest: list[Interval] = []
    place = 0
    for begin, end in intervals:
        while place < len(holes) and holes[place][1] <= begin:
            place += 1
        for hole in holes[place:]:
            if hole[0] >= end:
                break
            if hole[0] > begin:
                rest.append((begin, hole[0]))
            begin = max(begin, hole[1])
        if end > begin:
            rest.append((begin, end))
    return rest


def length(intervals: Iterable[Interval]) -> float:
    return sum(end - begin for begin, end in intervals)


# --- list -------------------------------------------------------------------------------------------------------------


class ConversationQuery(NamedTuple):
    state: str = ""
    agent: str = ""
    words: str = ""
    after: tuple[int, int] | None = None  # the place of the last one of the page before
    limit: int = 50

    def matches(self, facts: ConversationFacts) -> bool:
        """Whether it is one of those that are counted; each state is counted, also those that are not shown."""
        return (not self.agent or self.agent in facts.people) and all(
            word in facts.words for word in folded(self.words).split()
        )


class FoundConversations(NamedTuple):
    conversations: tuple[ConversationFacts, ...]
    counts: dict[str, int]  # by state
    ended: bool  # this history has no more


def conversation_page(facts: Iterable[ConversationFacts], query: ConversationQuery) -> FoundConversations:
    found = [one for one in facts if query.matches(one)]
    counts = Counter(one.state for one in found)
    listed = sorted((one for one in found if query.state in ("", one.state)), key=lambda one: one.key)
    rest = [one for one in listed if query.after is None or one.key > query.after]
    return FoundConversations(
        tuple(rest[: query.limit]), {state: counts[state] for state in RANKS}, ended=len(rest) <= query.limit
    )


class ConversationList:
    """Facts of all conversations of the hub's own history, kept up to date: only those that changed are made anew."""

    def __init__(self, history: History) -> None:
        self.history, self._lock = history, asyncio.Lock()
        self._facts: dict[str, ConversationFacts] = {}
        self._position = 0

    async def caught_up(self, now: float) -> list[ConversationFacts]:
        history = self.history
        async with self._lock:
            position, changed = history.position, history.changed_after(self._position)
            self._facts |= await facts_of(history, changed, max(now, history.now))
            self._position = position
            if len(self._facts) > len(history.conversations):
                self._facts = {one.id: one for one in self._facts.values() if one.id in history.conversations}
            return [*self._facts.values()]


async def facts_of(history: History, ids: Iterable[str], at: float) -> dict[str, ConversationFacts]:
    """Facts of these conversations, computed in turns, so that other requests are answered."""
    found: dict[str, ConversationFacts] = {}
    count = 0
    for name in ids:
        messages = history.conversation(name)
        facts = conversation_facts(name, messages, at)
        if facts is not None:
            found[name] = facts
        count += len(messages)
        if count >= TURN_MESSAGES:
            count = 0
            await asyncio.sleep(0)
    return found


# --- answers ----------------------------------------------------------------------------------------------------------


class ConversationWindow(NamedTuple):
    at: float
    before: int  # only messages with a lower number
    limit: int


def conversation_row(
    facts: ConversationFacts, messages: Sequence[PageMessage], roles: Mapping[str, str], at: float, *, people_max: int
) -> Facts:
    worked, waited = worked_and_waited(messages, at)
    known = {message.sender: message.role for message in messages} | dict(roles)
    people = sorted(
        ([name, known.get(name, "")] for name in facts.people[:people_max]),
        key=lambda one: (role_rank(one[1]), one[1], one[0]),
    )
    return {
        "id": facts.id,
        "title": facts.title,
        "state": facts.state,
        "waiting_for": facts.waiting_for,
        "people": people,
        "people_count": len(facts.people),
        "from": facts.since,
        "to": facts.until,
        "messages": facts.messages,
        "refused": facts.refused,
        "dead": facts.dead,
        "worked": worked,
        "waited": waited,
    }


def window_facts(messages: Sequence[PageMessage], window: ConversationWindow) -> Facts:
    """A page of messages with their deliveries, the newest ones unless `before` is given, and its neighbours."""
    at, limit = window.at, window.limit
    sent = [message for message in messages if message.at <= at]
    end = sum(message.seq < window.before for message in sent)
    begin = max(0, end - limit)
    by_id, speakers = {message.id: message for message in sent}, {message.sender for message in sent}
    rows = [
        row(message, at)
        | _deliveries(message, speakers, at)
        | {
            "answers": _answered_seq(message, by_id),
            "answered_by": message.answered_by or None if message.answered <= at else None,
            "climb": _climb(message, sent, by_id),
        }
        for message in sent[begin:end]
    ]
    return {
        "rows": rows,
        "earlier": begin,
        "later": len(sent) - end,
        "older": sent[begin].seq if begin else None,
        "newer": sent[end + limit].seq if end + limit < len(sent) else None,
    }


def _deliveries(message: PageMessage, speakers: set[str], at: float) -> Facts:
    """Of many recipients, those first who speak in the conversation."""
    sent = [delivery for delivery in message.deliveries if delivery.sent <= at]
    sent.sort(key=lambda one: one.agent not in speakers)
    return {
        "deliveries": [delivery_row(delivery, at) for delivery in sent[:DELIVERIES_MAX]],
        "deliveries_more": max(0, len(sent) - DELIVERIES_MAX),
    }


def _answered_seq(message: PageMessage, by_id: Mapping[str, PageMessage]) -> int | None:
    """The message that this one is a reply to. A step of an escalation is no reply."""
    question = by_id.get(message.reply_to or "")
    return question.seq if question is not None and not _is_climb(message, question) else None


def _is_climb(message: PageMessage, first: PageMessage | None) -> bool:
    return first is not None and message.sender == TELEX and message.action == "escalate" and first.action == "escalate"


def _climb(message: PageMessage, sent: Sequence[PageMessage], by_id: Mapping[str, PageMessage]) -> Facts | None:
    """A step of an escalation: the hub sends it on from a level that has not answered."""
    first = by_id.get(message.reply_to or "")
    if first is None or not _is_climb(message, first):
        return None
    steps = [one for one in sent if one is first or (one.reply_to == first.id and _is_climb(one, first))]
    place = steps.index(message)
    below = steps[place - 1]
    return {
        "of": first.seq,
        "by": first.sender,
        "step": place + 1,
        "from": next((delivery.agent for delivery in below.deliveries), below.to),
    }

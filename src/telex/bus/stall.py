"""Who waits for whom at the moment? Gathered from the book, the requests that wait, and the inboxes; nothing is read
that is over."""

from collections.abc import Iterator
from typing import Any

from telex.bus.directory import BusContext
from telex.bus.escalate import FAR_AWAY, escalations, is_escalation
from telex.bus.failure_notices import MAY_ANSWER
from telex.bus.queries import presence
from telex.delivery.routing import role_at
from telex.delivery.system_messages import moment
from telex.dialects.rule_evaluation import put
from telex.dialects.schema import ANY
from telex.dialects.write import write
from telex.model.escalation import Escalation
from telex.model.message import Message
from telex.model.roster import ALL_OF_ROLE, EVERYONE, HUMAN, ONE_OF_ROLE, TELEX, Roster
from telex.model.stall import Remedy, Stall, Wait, Why
from telex.ports.bus import Presence
from telex.validation.authorization import normalised
from telex.work.stall import IdleConversation, PendingApproval, quoted, single, stalls
from telex.work.view import tree_of

ASKS_MAX = 10_000
REMEDIES_MAX = 20  # of one plan: each is its whole contract once more
UNREAD_MAX = 100  # of one inbox; who wrote first is in there
HERE = "here"


async def stall(office: BusContext) -> Stall:
    roster, here = await office.roster(), await presence(office)
    book = {kind: await office.books.of_kind(kind) for kind in ("approval", "plan", "blocker", "shutdown")}
    approvals = list(_approvals(office, roster, here, book["approval"]))
    silent = await _silent(office, here)
    waits = [one.wait for one in approvals]
    waits += _handed_up(await escalations(office, answered=False), roster)
    waits += await _unanswered(office, roster, {one.wait.about for one in approvals})
    waits += _blocked(book["blocker"], roster)
    waits += await _dependent(office, book["plan"], roster)
    waits += _stopping(book["shutdown"], here)
    questions = {wait.id for wait in waits}  # of one that lies unread it has been told that it waits
    waits += [wait for one in silent for wait in one.waits if wait.id not in questions]
    return stalls(dict.fromkeys(waits), approvals, silent, office.clock.now())


# --- the book --------------------------------------------------------------------------------------------------------


def _approvals(
    office: BusContext, roster: Roster, here: list[Presence], topics: dict[str, Any]
) -> Iterator[PendingApproval]:
    for approval in topics.values():
        request = approval.request
        if approval.answer is not None:
            continue
        roles = _who_may_answer(office, request.dialect, request.type) or _roles_of(request.inboxes, roster)
        givers = [
            one.member.name
            for one in here
            if one.state == HERE and one.member.name != request.by and one.member.role in (*roles, HUMAN)
        ]
        whom = single(request.inboxes[0] if request.inboxes else request.to, roster)
        wait = Wait(request.by, whom, "approval", request.id, request.at, request.subject, request.id)
        yield PendingApproval(wait, tuple(givers), roles)


def _who_may_answer(office: BusContext, dialect: str, type_: str) -> tuple[str, ...]:
    """The roles that may send the answer; none in particular where the dialect leaves that open."""
    spoken = office.dialects.get(dialect)
    asked = spoken.types.get(type_) if spoken is not None else None
    reply = spoken.types.get(asked.reply or "") if spoken is not None and asked is not None else None
    return tuple(map(normalised, reply.senders)) if reply is not None and reply.senders != ANY else ()


def _roles_of(inboxes: tuple[str, ...], roster: Roster) -> tuple[str, ...]:
    found = [role_at(inbox, roster) for inbox in inboxes]
    return tuple(dict.fromkeys(role for role in found if role is not None))


def _handed_up(matters: list[Escalation], roster: Roster) -> Iterator[Wait]:
    for matter in matters:
        whom = single(matter.now.inboxes[0], roster)
        yield Wait(matter.by, whom, "escalation", matter.id, matter.at, matter.reason, matter.now.id)


def _blocked(topics: dict[str, Any], roster: Roster) -> Iterator[Wait]:
    for blocker in (one for one in topics.values() if one is not None):
        words = blocker.needs or blocker.what
        for inbox in blocker.inboxes:
            yield Wait(blocker.by, single(inbox, roster), "blocker", blocker.id, blocker.at, words, blocker.id)


async def _dependent(office: BusContext, topics: dict[str, Any], roster: Roster) -> list[Wait]:
    """Plans wait for plans, and those for whoever has them. An agent does not wait for its own plan: it may have
    another that it can do meanwhile, so a circle through it would be none."""
    plans, waits = {plan.id: plan for plan in topics.values()}, []
    for plan in plans.values():
        if plan.words is None or not plan.is_open:
            continue
        for number, needed in enumerate(dict.fromkeys(plan.words.depends_on)):
            before = plans.get(needed)
            if before is None or not before.is_complete:
                last = plan.revisions[-1]
                remedy = await _without(office, plan, needed) if number < REMEDIES_MAX else _without_it(plan, needed)
                words = f"{needed} before {plan.id}"
                waits.append(Wait(_node(plan.id), _node(needed), "dependency", needed, last.at, words, last.id, remedy))
                waits += _with_its_holders(before, roster) if before is not None else ()
    return waits


def _with_its_holders(plan: Any, roster: Roster) -> Iterator[Wait]:
    for address in plan.to:
        if address != EVERYONE and plan.is_open:
            whom = single(address.replace(ALL_OF_ROLE, ONE_OF_ROLE, 1), roster)
            last = plan.revisions[-1]
            yield Wait(_node(plan.id), whom, "dependency", plan.id, last.at, f"{plan.id} to be done", last.id)


def _node(plan: str) -> str:
    return f"plan:{plan}"


async def _without(office: BusContext, plan: Any, needed: str) -> Remedy | None:
    """The contract once more, for those it was sent to, without waiting for that other plan."""
    last = plan.revisions[-1]
    message, dialect = await office.store.message(last.seq), office.dialects.get(last.dialect)
    type_ = dialect.types.get(message.type or "") if message is not None and dialect is not None else None
    if message is None or dialect is None or type_ is None or type_.deed is None:
        return None
    tree = tree_of(message.raw, dialect, type_)
    others = [one for one in plan.words.depends_on if one != needed]
    put(tree, dialect.locate(type_, type_.deed.names["depends_on"]), others)
    if dialect.wire.id is not None:
        tree[dialect.wire.id] = office.clock.new_id()
    if dialect.wire.timestamp is not None:
        tree[dialect.wire.timestamp] = moment(office.clock.now())
    command = f"telex send --as {quoted(message.sender)} --to {quoted(message.to)} -"
    return Remedy(command, write(dialect, tree))


def _without_it(plan: Any, needed: str) -> Remedy:
    """The same as a word to whoever can send it."""
    words = f"Send the contract of {plan.id} once more, without waiting for {needed}.\n"
    return Remedy(f"telex send --as {HUMAN} --to {quoted(plan.revisions[-1].by)} -", words)


def _stopping(topics: dict[str, Any], here: list[Presence]) -> Iterator[Wait]:
    """The last call of a team that has not ended: who was asked, is still in the team, and has not answered."""
    present = {one.member.name for one in here if one.state not in ("left", "shut down")}
    for state in topics.values():
        for call in state.calls[-1:]:
            for name in call.asked:
                if name in present and name not in call.answers and name not in (call.by, HUMAN):
                    yield Wait(call.by, name, "shutdown", call.id, call.at, call.reason, call.id)


# --- requests and inboxes --------------------------------------------------------------------------------------------


async def _unanswered(office: BusContext, roster: Roster, known: set[str]) -> list[Wait]:
    waits: list[Wait] = []
    for _, message, deliveries in await office.store.overdue(FAR_AWAY, ASKS_MAX):
        if is_escalation(office, message) or message.id in known or message.sender == TELEX:
            continue
        asked = dict.fromkeys(single(one.inbox, roster) for one in deliveries if one.state in MAY_ANSWER)
        waits += [_wait(message, whom, "answer") for whom in asked]
    return waits


async def _silent(office: BusContext, here: list[Presence]) -> list[IdleConversation]:
    """Agents that came, did nothing for long, and have something in hand or waiting for them. A person may be away."""
    return [
        await _silence(office, one) for one in here if one.state == "silent" and one.member.name not in (HUMAN, TELEX)
    ]


async def _silence(office: BusContext, one: Presence) -> IdleConversation:
    """What came only now may still be read in a moment."""
    name, since = one.member.name, office.clock.now() - office.limits.silent_seconds
    held = tuple(message.id for message in await office.store.held(name))
    waiting = await office.store.waiting([name], UNREAD_MAX)
    unread = [message for delivery, message in waiting if delivery.state == "stored" and message.at <= since]
    first: dict[str, Message] = {}  # by sender: what it has waited for longest
    for message in sorted(unread, key=lambda message: message.seq):
        if message.sender != TELEX:
            first.setdefault(message.sender, message)
    waits = tuple(_wait(message, name, "unread") for message in first.values())
    return IdleConversation(name, one.member.seen_at, held, len(unread), waits)


def _wait(message: Message, whom: str, why: Why) -> Wait:
    words = f"{message.type or 'a message'} {message.id}"
    return Wait(message.sender, whom, why, message.id, message.at, words, message.id)

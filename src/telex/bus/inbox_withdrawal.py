"""What becomes of the messages of somebody who has left or shut down? They are taken back, and their senders told.

Somebody may send to an agent in the very moment in which it leaves, and whoever takes the messages back may be killed
half-way. So the sweep looks after those who are gone as well, and leaving twice is the same as leaving once.
"""

from collections.abc import Sequence

from telex.bus.directory import SHUTDOWN, BusContext
from telex.bus.failure_notices import death_reports, wait_for_others
from telex.delivery import lifecycle
from telex.model.delivery import Delivery
from telex.model.event import Event
from telex.model.message import Message
from telex.model.roster import ONE_OF_ROLE, Member
from telex.ports.store import Settlement

STEP = 200


async def take_back(office: BusContext, member: Member) -> int:
    """Withdraw what is open for a member that has left or shut down. How much."""
    inboxes = [member.name]
    if not (await office.roster()).of_role(member.role):
        inboxes.append(ONE_OF_ROLE + member.role)  # nobody is left who could take what waits for the role
    withdrawn = 0
    while open_ := await office.store.waiting(inboxes, STEP):
        settlements = [await _withdraw(office, one, message, member) for one, message in open_]
        withdrawn += sum(settled.done for settled in await office.store.settle(settlements))
    return withdrawn


async def hand_back(office: BusContext, member: Member) -> int:
    """All that a member that has shut down was to do: what it holds of its role's goes to the others at once."""
    now, reason = office.clock.now(), f"{member.name} has shut down"
    held = [one for message in await office.store.held(member.name) for one in await _held(office, message, member)]
    await office.store.settle([lifecycle.returned(one, now, reason) for one in held])
    return await take_back(office, member)


async def see_off(office: BusContext, stopped: Sequence[tuple[Member, Event]]) -> None:
    """Somebody was asked to shut down, or these just have. If nobody comes to this any more, the sweep sees to it."""
    office.forget_roster()
    for member, _ in stopped:
        await hand_back(office, member)


async def _held(office: BusContext, message: Message, member: Member) -> list[Delivery]:
    """Its deliveries that are in the member's hands, out of an inbox that it shares."""
    found = await office.store.deliveries(message.seq)
    return [one for one in found if (one.state, one.holder) == ("leased", member.name) and one.inbox != member.name]


async def sweep_left(office: BusContext) -> int:
    done = 0
    for member in (await office.roster()).members.values():
        if member.is_here:
            continue
        if member.stopped_at is not None and office.stops_seen.get(member.name) != member.stopped_at:
            done += await hand_back(office, member)  # whoever should have done it may have been killed
            office.stops_seen[member.name] = member.stopped_at
        else:
            done += await take_back(office, member)
    return done


async def _withdraw(office: BusContext, delivery: Delivery, message: Message, member: Member) -> Settlement:
    name, now = member.name, office.clock.now()
    if member.stopped_at is None:
        kind, reason = "withdrawn", f"{name} has left the team"
    else:
        kind, reason = "handed-back", f"{name} has shut down"
    if member.stopped_at is not None and office.deed_of(message) == "stop":
        # By stopping it has done what this asks for.
        if delivery.state == "leased" and delivery.holder == name and await _has_agreed(office, name, message):
            return lifecycle.finished(delivery, now)
        settlement = lifecycle.withdrawn(delivery, delivery.inbox, now, reason)
    else:
        reports = await death_reports(office, delivery, reason, message)
        settlement = lifecycle.withdrawn(delivery, delivery.inbox, now, reason, kind=kind, reports=reports)
    return await wait_for_others(office, settlement, delivery)


async def _has_agreed(office: BusContext, name: str, request: Message) -> bool:
    """Whoever was stopped by force has not said that it is done with anything."""
    known = (await office.books.of((SHUTDOWN,))).get(SHUTDOWN)
    answers = [call.answers[name] for call in known.calls if name in call.answers] if known is not None else []
    return any(answer.approved and answer.at >= request.at for answer in answers)

"""What becomes of the messages of somebody who has left? They are taken back, and their senders told.

Somebody may send to an agent in the very moment in which it leaves, and whoever takes the messages back may be killed
half-way. So the sweep looks after those who have left as well, and leaving twice is the same as leaving once.
"""

from telex.bus.office import Office
from telex.bus.reporting import death_reports, wait_for_others
from telex.flow import lifecycle
from telex.model.delivery import Delivery
from telex.model.message import Message
from telex.model.roster import ONE_OF_ROLE, Member
from telex.ports.store import Settlement

STEP = 200


async def take_back(office: Office, member: Member) -> int:
    """Withdraw what is open for a member that has left. How much."""
    inboxes = [member.name]
    if not (await office.roster()).of_role(member.role):
        inboxes.append(ONE_OF_ROLE + member.role)  # nobody is left who could take what waits for the role
    withdrawn = 0
    while open_ := await office.store.waiting(inboxes, STEP):
        settlements = [await _withdraw(office, one, message, member.name) for one, message in open_]
        withdrawn += sum(settled.done for settled in await office.store.settle(settlements))
    return withdrawn


async def sweep_left(office: Office) -> int:
    left = [member for member in (await office.roster()).members.values() if member.left_at is not None]
    return sum([await take_back(office, member) for member in left])


async def _withdraw(office: Office, delivery: Delivery, message: Message, name: str) -> Settlement:
    reason = f"{name} has left the team"
    reports = await death_reports(office, delivery, reason, message)
    settlement = lifecycle.withdrawn(delivery, delivery.inbox, office.clock.now(), reason, reports=reports)
    return await wait_for_others(office, settlement, delivery)

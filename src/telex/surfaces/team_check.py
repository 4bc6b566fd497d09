"""Check of a message for a team: the checks of a send, with the roles of sender and recipient. Nothing is stored."""

from telex.config import Settings
from telex.delivery.routing import normal_address, role_at
from telex.model.roster import AGENT, Roster, roster_of
from telex.ports.bus import Bus
from telex.validation.authorization import normalised
from telex.validation.check import CheckPolicy, CheckResult, check


async def checked_in_team(
    raw: str | bytes,
    bus: Bus,
    settings: Settings,
    *,
    sender: str | None,
    role: str | None = None,
    to: str | None = None,
    policy: CheckPolicy | None = None,
) -> CheckResult:
    """`role` is that of a sender that is not in the team yet."""
    roster = await _roster(bus, settings)
    name, address = normalised(sender) if sender else None, normal_address(to) if to else None
    member = roster.find(name) if name else None
    newcomer = role or (AGENT if name and not settings.members else None)
    return check(
        raw,
        policy or settings.policy(),
        as_role=member.role if member is not None else newcomer,
        to_role=role_at(address, roster) if address else None,
        as_name=name,
        to_name=address if address and roster.find(address) else None,
    )


async def _roster(bus: Bus, settings: Settings) -> Roster:
    """Members and default roles, which give the roles of sender and recipient."""
    members = [presence.member for presence in await bus.roster() if presence.state != "shared"]
    defaults = () if settings.members else tuple(role for dialect in settings.dialects() for role in dialect.roles)
    return roster_of(members, tuple(dict.fromkeys(map(normalised, defaults))))

"""Tokens of leases, as commands take them: the token itself, or the id of the leased message."""

import re
from typing import TYPE_CHECKING

from telex.errors import LeaseLost
from telex.model.message import OPEN
from telex.surfaces.cli.usage import CommandError
from telex.validation.authorization import normalised

if TYPE_CHECKING:
    from telex.client import SyncBus

TOKEN = re.compile(r"\d+\.\d+\Z", re.ASCII)


def lease_token(bus: "SyncBus", what: str, agent: str, *, acked_is_fine: bool = False) -> str:
    """The token, or that of the caller's own lease on the message of this id. `acked_is_fine`: also one that it acked.

    Raises:
        NotFound: there is no message of that id.
        LeaseLost: the caller holds no lease on it.
    """
    if TOKEN.match(what):
        return what
    histories, name = bus.why(what), normalised(agent)
    own = [delivery for history in histories for delivery in history.deliveries if delivery.holder == name]
    tokens = [f"{delivery.seq}.{delivery.fence}" for delivery in own if delivery.state in OPEN]  # or settled late
    if len(tokens) > 1:
        raise CommandError(f"you hold {len(tokens)} messages with that id: give the token of one: {', '.join(tokens)}")
    if tokens:
        return tokens[0]
    acked = [f"{delivery.seq}.{delivery.fence}" for delivery in own if delivery.state == "acked"]
    if acked_is_fine and acked:
        return acked[-1]
    state = histories[-1].state
    instead = f"; receive it first: telex receive --as {agent}" if state in ("stored", "read") else ""
    raise LeaseLost(f"{agent} holds no lease on {what}, which is {state}{instead}")

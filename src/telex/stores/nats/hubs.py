"""Hubs of a team as a client of NATS sees them: for commands that are no hub themselves."""

import asyncio
import time
from contextlib import suppress

import msgspec
from nats.aio.msg import Msg

from telex.model.named_tuple import NamedTuple
from telex.ports.replica import HubStatus
from telex.stores.nats.batch import MAC_HEADER, Signer
from telex.stores.nats.log import Log
from telex.stores.nats.store import Announcement

HEAR_SECONDS = 2.0  # a hub announces itself every second
_decode = msgspec.msgpack.Decoder(Announcement).decode


class HeardHub(NamedTuple):
    status: HubStatus
    digests: tuple[tuple[int, str], ...]  # by position of the checkpoint


async def hear_hubs(log: Log, signer: Signer, seconds: float = HEAR_SECONDS) -> list[HeardHub]:
    """The hubs that announce themselves within this time."""
    heard: dict[str, HeardHub] = {}

    async def hear(message: Msg) -> None:
        if not signer.is_valid(message.data, (message.headers or {}).get(MAC_HEADER, "")):
            return
        with suppress(msgspec.MsgspecError):
            hub = _decode(message.data)
            if hub.left:
                heard.pop(hub.node, None)
                return
            status = HubStatus(
                node=hub.node,
                name=hub.name,
                url=hub.url,
                version=hub.version,
                position=hub.position,
                clock_offset=hub.clock_offset,
                seen_at=time.time(),
            )
            heard[hub.node] = HeardHub(status, hub.digests)

    subscription = await log.listen(log.address.hubs, hear)
    await asyncio.sleep(seconds)
    await subscription.unsubscribe()
    return sorted(heard.values(), key=lambda hub: hub.status.node)

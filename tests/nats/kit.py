"""Hubs of the tests: stores on one team's log, each with its copy in a folder of its own, and what callers do."""

import asyncio
import itertools
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from telex import __version__
from telex.model.message import LeasedMessage, NewMessage
from telex.model.text import digest_of
from telex.ports.store import AppendResult, LeaseRequest, MessageQuery, Settlement, find_messages, last_event, settle
from telex.stores.nats.address import HubSecrets, parse_address
from telex.stores.nats.batch import Entry
from telex.stores.nats.log import InDoubt, Log, Outcome
from telex.stores.nats.replica_file import table_digest
from telex.stores.nats.store import FILE, ReplicaOptions, ReplicatedStore
from telex.testing.contract_base import append
from tests.nats.servers import Servers

SECRETS = HubSecrets((b"a key for the tests of a team",), None)
NOW = 1_000.0  # the time of callers that need none
LEASE_SECONDS = 60.0
REFRESH_SECONDS = 20.0
Publish = Callable[[bytes, str, int], Awaitable[Outcome]]
_teams = itertools.count()


def new_team() -> str:
    return f"t{os.getpid()}_{next(_teams)}"


async def open_hub(
    servers: Servers,
    team: str,
    folder: Path,
    *,
    replicas: int = 1,
    secrets: HubSecrets = SECRETS,
    log_bytes: int = -1,
    open_seconds: float = 30.0,
) -> ReplicatedStore:
    address = parse_address(servers.address(team))
    options = ReplicaOptions(
        replicas, log_bytes=log_bytes, version=__version__, open_seconds=open_seconds, accepts_weaker=True
    )
    return await ReplicatedStore.open_replica(address, str(folder), secrets, options)


class Team:
    """Hubs of one team, which are closed at the end of a test."""

    def __init__(self, servers: Servers, folder: Path, *, replicas: int = 1) -> None:
        self.servers, self.folder, self.replicas = servers, folder, replicas
        self.name = new_team()
        self.hubs: list[ReplicatedStore] = []
        self._copies = itertools.count()

    async def open(self, copy: str | None = None, **options: Any) -> ReplicatedStore:
        """Open a hub: on this copy, or on a new one."""
        folder = self.folder / (copy or f"hub{next(self._copies)}")
        hub = await open_hub(self.servers, self.name, folder, replicas=self.replicas, **options)
        self.hubs.append(hub)
        return hub

    async def close(self, hub: ReplicatedStore) -> str:
        """Close a hub. The path of its copy."""
        self.hubs.remove(hub)
        await hub.close()
        return hub.path

    async def digests(self) -> set[str]:
        """The digests of all hubs, and of one that is made from the log alone."""
        await self.open()
        for hub in self.hubs:
            assert await hub.refresh(REFRESH_SECONDS), hub.status()
        return {hub.digest() for hub in self.hubs}


@asynccontextmanager
async def hubs_of(servers: Servers, folder: Path, count: int = 0, *, replicas: int = 1) -> AsyncIterator[Team]:
    team = Team(servers, folder, replicas=replicas)
    try:
        for _ in range(count):
            await team.open()
        yield team
    finally:
        for hub in team.hubs:
            await hub.close()


async def rebuilt_digest(servers: Servers, team: str, folder: Path) -> str:
    """The digest of a copy that is made from the log alone."""
    hub = await open_hub(servers, team, folder)
    await hub.close()
    return table_digest(str(folder / FILE))


# --- callers ---------------------------------------------------------------------------------------------------------


def note(id: str, inbox: str = "lead", raw: bytes = b'{"type": "note"}') -> NewMessage:
    return NewMessage(
        id=id,
        at=NOW,
        sender="dev",
        role="dev",
        to=inbox,
        dialect=None,
        type="note",
        rank=3,
        correlation=None,
        reply_to=None,
        digest=digest_of(raw),
        raw=raw,
        inboxes=(inbox,),
    )


async def send(hub: ReplicatedStore, id: str, inbox: str = "lead", raw: bytes = b"{}") -> AppendResult:
    """Send as a bus does: an id that is known is not stored again."""
    [result] = await append(hub, [note(id, inbox, raw)], dedup_since=0.0)
    return result


async def receive(hub: ReplicatedStore, inbox: str = "lead", limit: int = 1) -> list[LeasedMessage]:
    return await hub.lease(LeaseRequest((inbox,), "lead", NOW, NOW + LEASE_SECONDS, limit))


async def ack(hub: ReplicatedStore, lease: LeasedMessage) -> bool:
    acked = Settlement(lease.delivery, "leased", "acked", NOW, "acked", agent="lead", fence=lease.fence)
    [result] = await settle(hub, [acked])
    return result.done


async def ids_in(hub: ReplicatedStore) -> list[str]:
    """The ids of all messages in a copy, in order."""
    query = MessageQuery(seqs=range(1, await hub.read(last_event) + 1))
    return [message.id for message in await hub.read(lambda reads: reads.messages(query))]


async def has(hub: ReplicatedStore, id: str) -> bool:
    return bool(await hub.read(find_messages, id))


# --- faults of the log -----------------------------------------------------------------------------------------------


def log_of(hub: ReplicatedStore) -> Log:
    return hub._log


class HeldPublish:
    """Publishing that waits until it is released."""

    def __init__(self, log: Log) -> None:
        self._publish = log.publish
        self.is_called, self.may_go_on = asyncio.Event(), asyncio.Event()

    async def __call__(self, data: bytes, mac: str, base: int) -> Outcome:
        self.is_called.set()
        await self.may_go_on.wait()
        return await self._publish(data, mac, base)


@asynccontextmanager
async def applied_together(hub: ReplicatedStore, count: int) -> AsyncIterator[None]:
    """The hub applies the next entries in one transaction."""
    hub._is_applying = True
    yield
    while sum(isinstance(item, Entry) for item in hub._inbox) < count:
        await asyncio.sleep(0.01)
    hub._is_applying = False
    hub._apply_soon()


def losing_acks(log: Log, times: int, *, stores: bool = True) -> Publish:
    """Publishing whose first acknowledgements are lost, after the batch was stored or before."""
    publish, left = log.publish, [times]

    async def lose(data: bytes, mac: str, base: int) -> Outcome:
        if not left[0]:
            return await publish(data, mac, base)
        left[0] -= 1
        if stores:
            await publish(data, mac, base)
        return InDoubt()

    return lose


async def publish_raw(hub: ReplicatedStore, data: bytes, mac: str | None = None) -> int:
    """Publish anything into the team's stream, without a condition. Its position."""
    headers = None if mac is None else {"Telex-Mac": mac}
    ack = await log_of(hub).stream.publish(log_of(hub).address.subject, data, headers=headers)
    return ack.seq


async def entry_at(hub: ReplicatedStore, position: int) -> tuple[bytes, str]:
    """The bytes and the signature of an entry."""
    message = await log_of(hub).stream.get_msg(log_of(hub).address.stream, seq=position)
    return message.data or b"", (message.headers or {}).get("Telex-Mac", "")

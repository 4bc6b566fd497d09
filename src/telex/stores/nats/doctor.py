"""Checks of `telex doctor nats://…`: servers, stream, snapshots, hubs and one copy of a replicated team.

They only read, but for the comparison, which writes a checkpoint.
"""

import asyncio
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing

import apsw
import nats.errors
from nats.js.api import DiscardPolicy, RetentionPolicy, StorageType, StreamConfig
from nats.js.errors import APIError

from telex.errors import StoreError
from telex.stores.doctor import DoctorCheck
from telex.stores.nats.address import HubSecrets, TeamAddress
from telex.stores.nats.batch import Signer
from telex.stores.nats.durability import SAFE_REPLICAS, ServerFacts, ask_servers, describe, is_durable, is_synced
from telex.stores.nats.hubs import HeardHub, hear_hubs
from telex.stores.nats.log import PAYLOAD_BYTES_MIN, Log, LogState
from telex.stores.nats.migration import open_copy
from telex.stores.nats.snapshot import SnapshotStore
from telex.stores.nats.store import FILE, RESERVED_SHARE, ReplicaOptions
from telex.stores.sqlite.schema import REPLICA_ID, VERSION

SERVER_MIN = (2, 15)
OFFSET_SECONDS_MAX = 0.5
LAG_ENTRIES_MAX = 1_000
DIGEST_SECONDS = 15.0


async def examine_team(
    address: TeamAddress,
    secrets: HubSecrets,
    options: ReplicaOptions,
    *,
    version: str,
    monitors: Sequence[str] = (),
    data: str | None = None,
    compares: bool = False,
) -> list[DoctorCheck]:
    """Run all checks. `version` is that of this Telex, `monitors` are monitoring addresses of the servers, and `data`
    is the folder of a hub's copy."""
    try:
        servers = await asyncio.to_thread(ask_servers, monitors)
    except StoreError as error:
        return [DoctorCheck("servers", False, error.say)]
    checks = list(_servers(servers))
    try:
        log = await Log.connect(address, secrets, seconds=options.open_seconds)
    except StoreError as error:
        return [*checks, DoctorCheck("connection", False, error.say)]
    try:
        checks.append(DoctorCheck("connection", True, str(address)))
        until = time.monotonic() + options.open_seconds
        state = await log.state(until)
        if state is None:
            say = "there is none: telex serve or telex migrate-store makes it; --new-log makes it from a hub's copy."
            return [*checks, DoctorCheck("log", False, say), *_copy(data, None)]
        checks += await _log(log, state, servers, until)
        checks += await _snapshots(log, state, until)
        hubs = await hear_hubs(log, Signer(secrets.keys, state.incarnation))
        checks += [*_hubs(hubs, state, version), *_copy(data, state)]
    except StoreError as error:
        return [*checks, DoctorCheck("log", False, error.say)]
    finally:
        await log.close()
    if compares:
        checks += await _compare(address, secrets, options, hubs)
    return checks


# --- servers and stream -----------------------------------------------------------------------------------------------


def _servers(servers: Sequence[ServerFacts]) -> Iterator[DoctorCheck]:
    if not servers:
        yield DoctorCheck("servers", None, "version and sync were not checked: give --nats-monitor http://HOST:8222")
    for server in servers:
        problems = []
        if _version(server.version) < SERVER_MIN:
            problems.append(f"use version {'.'.join(map(str, SERVER_MIN))} or later")
        if not server.synced:
            problems.append("set sync_interval: always, or a power cut may lose acknowledged messages")
        if server.payload_bytes_max < PAYLOAD_BYTES_MIN:
            problems.append("set max_payload: 8MB")
        payload = f"messages of up to {server.payload_bytes_max:,} bytes"
        sync = "every write is synced" if server.synced else "writes are synced later"
        say = "; ".join([f"NATS {server.version}, {sync}, {payload}", *problems])
        yield DoctorCheck(f"server {server.name}", not problems, say)


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.partition("-")[0].split(".") if part.isdecimal())


async def _log(log: Log, state: LogState, servers: Sequence[ServerFacts], until: float) -> list[DoctorCheck]:
    info = await log.repeat(lambda: log.stream.stream_info(log.address.stream), until)
    checks = [_options(info.config, log.address)]
    synced = is_synced(servers, state.replicas)
    durable = is_durable(state.replicas, synced)
    ok = durable or (None if state.replicas >= SAFE_REPLICAS and synced is None else False)
    lost = ": an acknowledged message may be lost with one machine" if ok is False else ""
    checks.append(DoctorCheck("durability", ok, describe(state.replicas, synced) + lost))
    entries = max(0, state.last - state.first + 1) if state.last else 0
    say = f"{entries:,} entries, the last is {state.last}; {state.bytes:,} bytes"
    if state.bytes_max < 0:
        return [*checks, DoctorCheck("size", None, f"{say}, without a limit: it ends with the servers' disk")]
    full = state.bytes > RESERVED_SHARE * state.bytes_max
    more = ": make room with a larger max_bytes (nats stream edit)" if full else ""
    return [*checks, DoctorCheck("size", not full, f"{say} of {state.bytes_max:,}{more}")]


def _options(config: StreamConfig, address: TeamAddress) -> DoctorCheck:
    """The options that `Log.create` gives the stream."""
    wrong = [
        say
        for is_right, say in (
            (
                config.discard == DiscardPolicy.NEW,
                "discard must be new: the oldest entries are deleted when it is full",
            ),
            (config.retention == RetentionPolicy.LIMITS, "retention must be limits"),
            (config.storage == StorageType.FILE, "storage must be file"),
            (bool(config.deny_delete), "deny_delete must be set"),
            (list(config.subjects or ()) == [address.subject], f"its only subject must be {address.subject}"),
            (not config.max_age, "max_age must not be set: entries are deleted by their age"),
            ((config.max_msgs or -1) < 0, "max_msgs must not be set"),
        )
        if not is_right
    ]
    return DoctorCheck("stream", not wrong, "; ".join(wrong) or f"{config.name}, with the options it was made with")


async def _snapshots(log: Log, state: LogState, until: float) -> list[DoctorCheck]:
    snapshots = SnapshotStore(log)
    positions = await log.repeat(snapshots.positions, until)
    if not positions:
        ok = None if state.first <= 1 else False
        say = "none yet: a new hub reads the whole log" if ok is None else "none, and the log does not begin at entry 1"
        return [DoctorCheck("snapshots", ok, say)]
    usable = [position for position in positions if position + 1 >= state.first]
    made_at = await log.repeat(lambda: snapshots.made_at(positions[-1]), until)
    age = f", {(time.time() - made_at) / 3600:,.1f} hours old" if made_at is not None else ""
    say = f"at entry {', '.join(map(str, positions))}{age}; {state.last - positions[-1]:,} entries since the newest"
    return [DoctorCheck("snapshots", bool(usable), say if usable else f"{say}: the log begins after them")]


# --- hubs and copies --------------------------------------------------------------------------------------------------


def _hubs(hubs: Sequence[HeardHub], state: LogState, version: str) -> Iterator[DoctorCheck]:
    if not hubs:
        yield DoctorCheck("hubs", None, "none has announced itself")
    for hub, _ in hubs:
        notes = []
        if abs(hub.clock_offset) > OFFSET_SECONDS_MAX:
            notes.append("set its clock")
        if hub.version != version:
            notes.append(f"this Telex is {version}")
        if (lag := state.last - hub.position) > LAG_ENTRIES_MAX:
            notes.append(f"it is {lag:,} entries behind")
        facts = (
            f"{hub.url or 'no address'}, Telex {hub.version}, entry {hub.position}, clock {-hub.clock_offset:+.3f} s"
        )
        say = "; ".join([facts, *notes])
        yield DoctorCheck(f"hub {hub.name}", None if notes else True, say)
    if len({hub.version for hub, _ in hubs}) > 1:
        yield DoctorCheck("versions", None, "hubs run different versions: upgrade all before telex upgrade-store")


def _copy(folder: str | None, state: LogState | None) -> Iterator[DoctorCheck]:
    if folder is None:
        return
    path = os.path.join(folder, FILE)
    if not os.path.exists(path):
        yield DoctorCheck("copy", None, f"none in {folder}: a hub that starts there makes it from a snapshot")
        return
    try:
        with closing(apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)) as file:
            [(application,)] = list(file.execute("PRAGMA application_id"))
            if application != REPLICA_ID:
                yield DoctorCheck("copy", False, f"{path} is no hub's copy of a replicated team")
                return
            [(schema,)] = list(file.execute("PRAGMA user_version"))
            [(position, incarnation)] = list(file.execute("SELECT position, incarnation FROM replica"))
    except apsw.Error as error:
        yield DoctorCheck("copy", False, f"{path} cannot be read: {error}")
        return
    facts = f"{path}: entry {position} of log {incarnation}, schema {schema} of {VERSION}"
    problem = _problem(int(str(position)), str(incarnation), state)
    yield DoctorCheck("copy", not problem, f"{facts}; {problem}" if problem else facts)


def _problem(position: int, incarnation: str, state: LogState | None) -> str:
    """Why a copy cannot follow the log; empty: it can."""
    if state is None:
        return "its log is gone: --new-log --yes makes a new one from it, when all hubs are stopped"
    if incarnation != state.incarnation:
        return "it belongs to another log, which was deleted: remove it, or make a new log from it with --new-log"
    if position > state.last:
        return (
            f"the log ends at {state.last}: it has lost entries. Stop all hubs, find the copy with the most entries, "
            "and make a new log from it with --new-log --yes"
        )
    if state.first > position + 1:
        return f"the log begins at {state.first}: remove the copy, and the hub starts from a snapshot"
    return ""


async def _compare(
    address: TeamAddress, secrets: HubSecrets, options: ReplicaOptions, hubs: Sequence[HeardHub]
) -> list[DoctorCheck]:
    """Digests of all hubs at one entry."""
    try:
        with tempfile.TemporaryDirectory(prefix="telex-") as folder:
            async with open_copy(address, folder, secrets, options) as store:
                position = await store.checkpoint()
                names = {hub.node: hub.url or hub.name for hub, _ in hubs}
                until = time.monotonic() + DIGEST_SECONDS
                while time.monotonic() < until:
                    digests = store.hub_digests(position)
                    if store.node in digests and names.keys() <= digests.keys():
                        break
                    await asyncio.sleep(0.05)
    except (StoreError, APIError, nats.errors.Error, TimeoutError) as error:
        return [DoctorCheck("compare", False, getattr(error, "say", str(error)))]
    own = digests.get(store.node)
    checks = []
    for node, name in names.items():
        if (digest := digests.get(node)) is None:
            checks.append(DoctorCheck("compare", None, f"{name} has not answered for entry {position}"))
        elif digest != own:
            say = f"{name} has other rows at entry {position} ({digest}, not {own}): remove its copy and restart it"
            checks.append(DoctorCheck("compare", False, say))
        else:
            checks.append(DoctorCheck("compare", True, f"{name} is equal at entry {position}"))
    return checks or [DoctorCheck("compare", None, f"no hub to compare; a new copy has {own} at entry {position}")]

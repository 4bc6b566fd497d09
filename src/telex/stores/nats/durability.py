"""Durability of the log: how many replicas its stream has, and whether the servers sync every write.

A server acknowledges a write before it is synced unless its configuration says `sync_interval: always`, and only its
monitoring address shows that. What was not seen is not assumed.
"""

import contextlib
import json
import os
import urllib.request
from collections.abc import Iterable

from telex.errors import StoreUnavailable
from telex.model.named_tuple import NamedTuple

ANSWER_SECONDS = 5.0
ANSWER_BYTES_MAX = 4 * 1_048_576
SAFE_REPLICAS = 3
SEEN_FILE = "servers.json"  # in the folder of a hub's data: what its servers said when they last answered


class ServerFacts(NamedTuple):
    """One server, as its monitoring address describes it."""

    name: str
    version: str
    synced: bool
    payload_bytes_max: int


def ask_servers(monitors: Iterable[str]) -> list[ServerFacts]:
    """Answers of the monitoring addresses (`http://HOST:8222`).

    Raises:
        StoreUnavailable: one of them does not answer, or is no NATS server.
    """
    return [_ask(address.rstrip("/")) for address in monitors]


def ask_known_servers(monitors: Iterable[str], folder: str) -> list[ServerFacts]:
    """The same for a hub with its data in `folder`: a server that does not answer counts as it was last seen.

    Raises:
        StoreUnavailable: a server does not answer that never did, or an address is not one of a NATS server.
    """
    path = os.path.join(folder, SEEN_FILE)
    seen: dict[str, ServerFacts] = {}
    with contextlib.suppress(OSError, ValueError, TypeError), open(path, encoding="utf-8") as file:
        seen = {address: ServerFacts(*facts) for address, facts in json.load(file).items()}
    facts = {}
    for address in monitors:
        try:
            facts[address] = _ask(address.rstrip("/"))
        except StoreUnavailable as error:
            if address not in seen or not isinstance(error.__cause__, OSError):
                raise
            facts[address] = seen[address]
    if facts and facts != seen:
        os.makedirs(folder, exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(facts, file)
    return list(facts.values())


def _ask(address: str) -> ServerFacts:
    if not address.startswith(("http://", "https://")):
        raise StoreUnavailable(f"give a monitoring address as http://HOST:8222, not {address}.")
    try:
        with urllib.request.urlopen(f"{address}/varz", timeout=ANSWER_SECONDS) as answer:
            facts = json.loads(answer.read(ANSWER_BYTES_MAX))
        config = facts["jetstream"].get("config") or {}
        name, version, payload = str(facts["server_name"]), str(facts["version"]), int(facts["max_payload"])
    except (OSError, ValueError, KeyError, AttributeError) as error:
        raise StoreUnavailable(f"{address} is not the monitoring address of a NATS server: {error}") from error
    return ServerFacts(name, version, bool(config.get("sync_always")), payload)


def is_synced(servers: Iterable[ServerFacts], replicas: int) -> bool | None:
    """Whether all servers that may have a replica sync every write. None: not all of them were asked."""
    facts = {server.name: server for server in servers}
    if any(not server.synced for server in facts.values()):
        return False
    return True if len(facts) >= replicas else None


def is_durable(replicas: int, synced: bool | None) -> bool:
    return replicas >= SAFE_REPLICAS and synced is True


def require_durability(replicas: int, servers: Iterable[ServerFacts], *, accepts_weaker: bool) -> None:
    """
    Raises:
        StoreUnavailable: an acknowledged message could be lost, and that is not accepted.
    """
    synced = is_synced(servers, replicas)
    if not accepts_weaker and not is_durable(replicas, synced):
        raise StoreUnavailable(
            f"an acknowledged message could be lost: {describe(replicas, synced)}. Three replicas and "
            "sync_interval: always keep it; --accept-weaker-durability starts the hub as it is."
        )


def describe(replicas: int, synced: bool | None) -> str:
    """Durability of an acknowledged message, in words."""
    copies = f"{replicas} replicas" if replicas > 1 else "1 replica"
    sync = {
        True: "every write is synced",
        False: "writes are not synced at once (set sync_interval: always)",
        None: "whether every write is synced was not checked (--nats-monitor)",
    }[synced]
    return f"{copies}, {sync}"

"""The permissions of the example configuration: what a hub needs, and what other users cannot do."""

import asyncio
import importlib.util
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nats
import pytest

from telex.stores.nats.address import HubSecrets, parse_address
from telex.stores.nats.store import ReplicaOptions, ReplicatedStore
from tests.nats.kit import REFRESH_SECONDS, SECRETS
from tests.nats.servers import free_ports
from tests.proofs import proves

EXAMPLE = Path(__file__).parents[2] / "docs/examples/cluster/run.py"


def _example() -> Any:
    spec = importlib.util.spec_from_file_location("cluster_example", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    ports, folder = free_ports(9), tmp_path_factory.mktemp("cluster")
    made = _example().Servers(folder, ports[:3], ports[3:6], ports[6:])
    made.start()
    yield made
    made.stop()


async def _open(servers: Any, user: str, folder: Path) -> ReplicatedStore:
    creds = folder.with_suffix(".creds")
    creds.write_text(f"{user}:{servers.passwords[user.upper()]}")
    options = ReplicaOptions(3, accepts_weaker=True)
    secrets = HubSecrets(SECRETS.keys, str(creds))
    return await ReplicatedStore.open_replica(parse_address(servers.store), str(folder), secrets, options)


@proves("nats/permissions/hub")
def test_hubs_write_take_turns_and_keep_snapshots_with_the_permissions_of_the_example(
    servers: Any, tmp_path: Path
) -> None:
    async def run() -> None:
        first = await _open(servers, "hub1", tmp_path / "first")
        second = await _open(servers, "hub2", tmp_path / "second")
        await first.transaction(lambda _: None)
        await second.transaction(lambda _: None)
        await first.transaction(lambda _: None)
        for _ in range(3):  # the third removes the first, and cuts the log
            await first.transaction(lambda _: None)
            position = await first.snapshot()
        assert await second.refresh(REFRESH_SECONDS)
        third = await _open(servers, "hub2", tmp_path / "third")  # starts from a snapshot
        assert third.position >= position
        assert first.digest() == second.digest() == third.digest()
        for store in (first, second, third):
            await store.close()

    asyncio.run(run())


async def _publish(servers: Any, user: str, subject: str) -> list[str]:
    """What the server answers to a message of this user."""
    errors: list[str] = []

    async def note(error: Exception) -> None:
        errors.append(str(error).lower())

    client = await nats.connect(
        f"nats://127.0.0.1:{servers.ports[0]}", user=user, password=servers.passwords[user.upper()], error_cb=note
    )
    await client.publish(subject, b"forged")
    await client.flush()
    await asyncio.sleep(0.1)
    await client.close()
    return errors


@proves("nats/permissions/others")
@pytest.mark.parametrize(
    "user, subject",
    [
        ("viewer", "telex.demo.log"),
        ("viewer", "telex.demo.hubs"),
        ("viewer", "$JS.API.STREAM.PURGE.TELEX_demo"),
        ("hub1", "telex.other.log"),
        ("hub1", "$JS.API.STREAM.DELETE.TELEX_demo"),
    ],
)
def test_a_user_without_the_permission_cannot_publish(servers: Any, user: str, subject: str) -> None:
    [error] = asyncio.run(_publish(servers, user, subject))
    assert "permissions violation" in error


@proves("nats/permissions/others")
def test_a_client_without_a_password_is_refused(servers: Any) -> None:
    with socket.create_connection(("127.0.0.1", servers.ports[0]), timeout=5) as client, client.makefile("rb") as lines:
        assert lines.readline().startswith(b"INFO")
        client.sendall(b"CONNECT {}\r\nPING\r\n")
        assert lines.readline().startswith(b"-ERR 'Authorization Violation'")

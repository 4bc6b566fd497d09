"""`telex doctor nats://…` and `telex upgrade-store`: what they find, and a new log from a hub's copy."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from telex import __version__
from telex.stores.nats.address import KEY, parse_address
from telex.stores.nats.doctor import examine_team
from telex.stores.nats.log import Log
from telex.stores.nats.migration import migrate_to_file
from telex.stores.nats.replica_file import table_digest
from telex.stores.nats.store import FILE, ReplicaOptions, ReplicatedStore
from telex.stores.nats.upgrade import upgrade_team
from telex.stores.sqlite.schema import MIGRATIONS, VERSION
from tests.cli.cli_bus_kit import Telex, telex
from tests.nats.kit import REFRESH_SECONDS, SECRETS, new_team, open_hub
from tests.nats.servers import Servers
from tests.proofs import proves

__all__ = ["telex"]
OPTIONS = ReplicaOptions(1, log_bytes=64 * 1_048_576, accepts_weaker=True)


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY, SECRETS.keys[0].decode())


def with_hubs(servers: Servers, team: str, folders: list[Path], work: Callable[..., Awaitable[Any]]) -> Any:
    async def main() -> Any:
        hubs = [await open_hub(servers, team, folder) for folder in folders]
        try:
            return await work(*hubs)
        finally:
            for hub in hubs:
                await hub.close()

    return asyncio.run(main())


async def write(hub: ReplicatedStore) -> str:
    await hub.checkpoint()
    await hub.checkpoint()
    return hub.digest()


@proves("replication-tools/doctor/team")
def test_doctor_checks_servers_stream_hubs_and_copy(telex: Telex, tmp_path: Path, one_server: Servers) -> None:
    address = one_server.address(team := new_team())
    assert telex("doctor", address, "--json").code == 1  # there is no log
    folder = tmp_path / "hub"

    async def examine(hub: ReplicatedStore) -> Any:
        await write(hub)
        await hub.snapshot()
        monitors = [f"http://127.0.0.1:{one_server.monitors[0]}"]
        return await examine_team(
            parse_address(address), SECRETS, OPTIONS, version=__version__, monitors=monitors, data=str(folder)
        )

    checks = {check.name.split()[0]: check for check in with_hubs(one_server, team, [folder], examine)}
    right = {"server", "connection", "stream", "snapshots", "hub", "copy"}
    assert {name for name, check in checks.items() if check.ok} == right
    assert checks["durability"].ok is False  # one replica
    ran = telex("doctor", address, "--json")
    assert ran.code == 1
    answers = {row["name"]: row for row in ran.answers}
    assert answers["servers"]["ok"] is None  # not checked
    assert answers["hubs"]["ok"] is None
    assert answers["stream"]["ok"] is True

    async def spoil() -> None:
        log = await Log.connect(parse_address(address), SECRETS)
        info = await log.stream.stream_info(log.address.stream)
        await log.stream.update_stream(info.config, max_age=3600)
        await log.close()

    asyncio.run(spoil())
    assert {row["name"]: row["ok"] for row in telex("doctor", address, "--json").answers}["stream"] is False


@pytest.mark.parametrize("is_changed", [False, True])
@proves("replication-tools/doctor/compare")
def test_compare_names_a_hub_with_other_rows(tmp_path: Path, one_server: Servers, is_changed: bool) -> None:
    address = one_server.address(team := new_team())

    async def compare(first: ReplicatedStore, second: ReplicatedStore) -> list[bool]:
        await write(first)
        assert await second.refresh(REFRESH_SECONDS)
        if is_changed:
            with closing(apsw.Connection(str(tmp_path / "two" / FILE))) as file:
                file.execute("INSERT INTO marks VALUES ('planted', 1)")
        checks = await examine_team(parse_address(address), SECRETS, OPTIONS, version=__version__, compares=True)
        return sorted(check.ok is True for check in checks if check.name == "compare")

    answers = with_hubs(one_server, team, [tmp_path / "one", tmp_path / "two"], compare)
    assert answers == [not is_changed, True]


@proves("replication-tools/doctor/new-log")
def test_a_new_log_is_made_from_a_copy(telex: Telex, tmp_path: Path, one_server: Servers) -> None:
    address = one_server.address(team := new_team())
    folder = tmp_path / "hub"
    again = ("doctor", address, "--new-log", "--data", str(folder), "--replicas", "1", "--json")

    async def refused(hub: ReplicatedStore) -> str:
        await write(hub)
        ran = await asyncio.to_thread(telex, *again, "--yes")
        assert ran.code == 1
        assert "stop all of them" in ran.err
        return hub.digest()

    digest = with_hubs(one_server, team, [folder], refused)

    async def lose() -> None:
        log = await Log.connect(parse_address(address), SECRETS)
        await log.stream.delete_stream(log.address.stream)
        await log.create(0.0, schema=VERSION, replicas=1, bytes_max=-1)
        await log.close()

    asyncio.run(lose())
    copies = {row["name"]: row["ok"] for row in telex("doctor", address, "--data", str(folder), "--json").answers}
    assert copies["copy"] is False
    assert telex(*again).code == 2  # without --yes
    assert (folder / FILE).exists()
    ran = telex(*again, "--yes")
    assert ran.code == 0, ran
    assert ran.answer["digest"] == digest == table_digest(ran.answer["aside"])

    async def after(hub: ReplicatedStore) -> tuple[str, int]:
        return hub.digest(), hub.position

    assert with_hubs(one_server, team, [folder], after) == (digest, 0)
    assert with_hubs(one_server, team, [tmp_path / "other"], write) == digest  # and it can be written


@proves("replication-tools/upgrade/schema")
def test_upgrade_store_migrates_an_older_log(
    telex: Telex, tmp_path: Path, one_server: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = one_server.address(team := new_team())

    async def nothing(hub: ReplicatedStore) -> None:
        pass

    with_hubs(one_server, team, [tmp_path / "hub"], nothing)
    ran = telex("upgrade-store", address)
    assert (ran.code, "nothing to do" in ran.out) == (0, True)

    later = "CREATE TABLE added (name TEXT PRIMARY KEY) STRICT"
    steps = (*MIGRATIONS, later)
    for module in ("nats.replica_file", "nats.store", "sqlite.connection"):
        monkeypatch.setattr(f"telex.stores.{module}.MIGRATIONS", steps)
    for module in ("nats.upgrade", "sqlite.connection"):
        monkeypatch.setattr(f"telex.stores.{module}.VERSION", VERSION + 1)

    async def upgrade(hub: ReplicatedStore) -> list[int]:
        arguments = parse_address(address), str(tmp_path / "temporary"), SECRETS, OPTIONS
        schemas = []
        for accepts_others in (False, True):
            report = await upgrade_team(*arguments, version="9.0.0", accepts_others=accepts_others)
            assert [other.node for other in report.others] == [hub.node]
            assert report.is_refused is not accepts_others
            assert await hub.refresh(REFRESH_SECONDS)
            schemas.append(hub.schema)
        return schemas

    assert with_hubs(one_server, team, [tmp_path / "hub"], upgrade) == [VERSION, VERSION + 1]
    summary = asyncio.run(migrate_to_file(parse_address(address), str(tmp_path / "back.db"), SECRETS, OPTIONS))
    assert summary.digest == table_digest(str(tmp_path / "back.db"))


def test_options_of_a_team_need_its_address(telex: Telex) -> None:
    assert telex("doctor", "--compare").code == 64
    assert telex("upgrade-store", "team.db").code == 64
    assert telex("doctor", "nats://127.0.0.1:1/team", "--new-log").code == 64

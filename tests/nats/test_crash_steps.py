"""A hub that crashes in the middle of a write, at each step of it: its copy goes on from there."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from telex.errors import StoreDamaged
from tests.nats.crashing_hub import EXIT_CODE, STEPS, WRITES
from tests.nats.kit import hubs_of, ids_in, send
from tests.nats.servers import Servers
from tests.proofs import proves

pytestmark = pytest.mark.slow
LAST = f"m{WRITES - 1}"
CRASH_SECONDS = 60.0


async def crash_and_reopen(servers: Servers, folder: Path, step: str, *options: str) -> None:
    async with hubs_of(servers, folder) as team:
        arguments = [servers.address(team.name), str(folder / "copy"), step, *options]
        process = await asyncio.to_thread(
            subprocess.run,
            [sys.executable, "-m", "tests.nats.crashing_hub", *arguments],
            capture_output=True,
            text=True,
            timeout=CRASH_SECONDS,
        )
        assert process.returncode == EXIT_CODE, process.stderr
        acknowledged = process.stdout.split()
        assert acknowledged == [f"m{number}" for number in range(WRITES - 1)]
        hub = await team.open("copy")
        stored = await ids_in(hub)
        assert stored == acknowledged + ([] if step == "decided" else [LAST])
        result = await send(hub, LAST)  # as its caller does, who got no answer
        assert result.outcome == ("stored" if step == "decided" else "duplicate")
        assert len(await team.digests()) == 1
        assert (await ids_in(team.hubs[-1])).count(LAST) == 1


@proves("replication/crash")
@pytest.mark.parametrize("step", STEPS)
def test_a_hub_that_crashes_in_a_write_goes_on_from_what_the_log_has(
    one_server: Servers, tmp_path: Path, step: str
) -> None:
    asyncio.run(crash_and_reopen(one_server, tmp_path, step))


def test_a_copy_that_is_ahead_of_the_log_is_found(one_server: Servers, tmp_path: Path) -> None:
    with pytest.raises(StoreDamaged):
        asyncio.run(crash_and_reopen(one_server, tmp_path, "decided", "--planted"))

"""Power cuts of three servers and of hubs. `make torture` makes many more of them."""

import asyncio
from pathlib import Path

import pytest

from tests.crash.syscalls import STRACE
from tests.nats.power import MACHINES, cut_cluster, cut_hubs, record_team
from tests.nats.servers import Servers
from tests.proofs import proves

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(STRACE is None, reason="NOT CHECKED: no power cut of servers was simulated; needs strace"),
]
SEED, MESSAGES, CUTS, HUB_CUTS = 20_262, 180, 3, 12


@proves("replication-power/servers")
def test_servers_that_sync_every_write_lose_nothing_acknowledged_in_a_power_cut(tmp_path: Path) -> None:
    recording = record_team(tmp_path, MACHINES, MESSAGES)
    results = asyncio.run(cut_cluster(recording, CUTS, SEED, tmp_path))
    assert sum(result.acknowledged for result in results) > CUTS
    assert [(result.lost, result.damage) for result in results] == [((), ())] * CUTS


def test_servers_that_sync_now_and_then_are_found_to_lose_messages(tmp_path: Path) -> None:
    recording = record_team(tmp_path, MACHINES, MESSAGES, "--default-sync")
    [worst] = asyncio.run(cut_cluster(recording, 1, SEED, tmp_path, had_rest=True))
    assert worst.lost
    assert "StoreDamaged" in worst.damage[0]  # the hub does not go on from a copy that the log has less than


@proves("replication-power/hub")
def test_a_copy_goes_on_from_the_log_after_a_power_cut_of_its_hub(one_server: Servers, tmp_path: Path) -> None:
    outcome = asyncio.run(cut_hubs(one_server, tmp_path, HUB_CUTS, SEED, messages=MESSAGES))
    assert outcome.broken == []
    assert outcome.lost == ()
    assert outcome.behind > 0
    assert outcome.checkpoints > 0


def test_a_copy_that_is_never_synced_is_found_damaged(one_server: Servers, tmp_path: Path) -> None:
    outcome = asyncio.run(cut_hubs(one_server, tmp_path, HUB_CUTS, SEED, messages=MESSAGES, plant=True))
    assert outcome.broken

"""Faults of servers and hubs under load: one incident of each kind here, two hundred in `make torture`."""

from pathlib import Path

import pytest

from tests.nats.fault_load import ACKED, SENT, UNREAD
from tests.nats.fault_verdict import Comparison, Record, compare
from tests.nats.faults import ALONE, INCIDENTS, Size, torture
from tests.proofs import proves

SEED, COUNT = 107, len(INCIDENTS)
SMALL = Size(senders=3, workers=2, readers=1)
KEPT = Comparison([], [], [], [], [], 0)
LEDGER = [[SENT, "m1"], [SENT, "m2"], [ACKED, "m1", "t1"]]
RECORD = Record(["m1", "m2"], ["m1"])


@pytest.fixture(autouse=True)
def _nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TELEX_STORE", "TELEX_TOKEN", "TELEX_CONFIG", "TELEX_HUB_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.slow
@pytest.mark.timeout(400)  # a minute, and several on a busy machine
@proves("replication/faults", "replication/own-writes")
def test_faults_of_hubs_and_servers_lose_nothing_and_repeat_nothing(tmp_path: Path) -> None:
    verdict = torture(tmp_path, COUNT, SEED, size=SMALL, say=print)
    print(verdict.stalls)
    assert verdict.failures == []
    assert verdict.comparison._replace(own_reads=0) == KEPT
    assert verdict.digests == 1
    assert verdict.incidents.keys() == INCIDENTS.keys()
    assert sum(verdict.incidents.values()) == COUNT
    assert verdict.comparison.own_reads, "no client has read its own message from another hub"
    assert verdict.acks, "no message was acked"


@pytest.mark.slow
def test_a_hub_that_acknowledges_before_the_log_has_a_batch_is_found(tmp_path: Path) -> None:
    size = Size(servers=1, hubs=1, senders=4, workers=1)
    verdict = torture(tmp_path, 1, SEED, size=size, kinds=tuple(ALONE), is_planted=True)
    assert verdict.comparison.lost
    assert not verdict.is_right


def test_a_ledger_that_agrees_with_the_log_is_right() -> None:
    assert compare(LEDGER, RECORD) == KEPT


@pytest.mark.parametrize(
    "lines, record, broken",
    [
        ([], Record(["m1"], ["m1"]), {"lost": ["m2"]}),
        ([], Record(["m1", "m2", "m2"], ["m1"]), {"twice": ["m2"]}),
        ([], Record(["m1", "m2"], []), {"acks_lost": ["m1"]}),
        ([], Record(["m1", "m2"], ["m1", "m1"]), {"acked_twice": ["m1"]}),
        ([[ACKED, "m1", "t1"]], RECORD, {"acked_twice": ["m1"]}),
        ([[ACKED, "m1", "t2"]], RECORD, {"acked_twice": ["m1"]}),
        ([[UNREAD, "m2", "404"]], RECORD, {"unread": ["m2"]}),
    ],
)
def test_a_ledger_that_disagrees_with_the_log_is_found(
    lines: list[list[str]], record: Record, broken: dict[str, list[str]]
) -> None:
    assert compare(LEDGER + lines, record) == KEPT._replace(**broken)  # type: ignore[arg-type]

"""What a hub shows of its replica: /readyz for load balancers, /metrics for Prometheus, /page/replica for the page."""

import time
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from telex.surfaces.http.openapi import document
from telex.surfaces.http.replica import BEHIND_SECONDS_MAX
from tests.http.http_kit import Door, complete_hub, hub_test, is_problem, played
from tests.http.replica_kit import HUBS, FakeReplica
from tests.proofs import proves

METRICS = {
    "telex_replica_position": 1_200.0,
    "telex_replica_lag": 34.0,
    "telex_replica_writer": 0.0,
    "telex_replica_halted": 0.0,
    "telex_replica_clock_offset_seconds": 0.125,
    "telex_replica_log_bytes": 4_096.0,
    "telex_hubs": 3.0,
}


def with_replica(replica: FakeReplica) -> Any:
    def wrapped(bus: Any) -> Any:
        bus.replica = replica
        return bus

    return wrapped


async def readyz(door: Door, **changes: Any) -> Any:
    door.bus.replica = FakeReplica(**changes)  # type: ignore[attr-defined]
    return await door.client.get("/readyz")


def replica_gauges(text: str) -> dict[str, float]:
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {sample.name: sample.value for sample in samples if sample.name.startswith(("telex_replica", "telex_hubs"))}


# --- /readyz ----------------------------------------------------------------------------------------------------------


@proves("http/ready/replica")
@hub_test()
async def test_a_ready_hub_shows_how_far_its_copy_is(door: Door) -> None:
    answer = await readyz(door)
    assert (answer.status_code, answer.json()["ready"]) == (200, True)
    assert answer.json()["replica"] == {
        "team": "build", "node": "node-a", "position": 1_200, "log_end": 1_234, "lag": 34, "writer": "node-b",
        "is_writer": False, "halted": None, "behind_since": None, "replicas": 3, "synced": True, "durable": True,
        "clock_offset": 0.125,
    }  # fmt: skip
    writes = (await readyz(door, writer="node-a", position=1_300)).json()["replica"]
    assert (writes["is_writer"], writes["lag"]) == (True, 0)


@proves("http/ready/replica")
@hub_test()
async def test_the_openapi_document_describes_the_replica(door: Door) -> None:
    described = document()["components"]["schemas"]["ReplicaHealth"]["properties"]
    assert set((await readyz(door)).json()["replica"]) == set(described)
    assert described["synced"] == {"type": ["boolean", "null"]}


@proves("http/ready/halted")
@hub_test()
async def test_a_halted_hub_is_alive_and_not_ready(door: Door) -> None:
    answer = await readyz(door, halted="entry 1201 cannot be applied")
    assert is_problem(answer, 503, "hub-halted")["replica"]["halted"] == "entry 1201 cannot be applied"
    assert (await door.client.get("/healthz")).json() == {"alive": True}


@proves("http/ready/behind")
@hub_test()
async def test_a_hub_that_is_behind_is_not_ready_after_five_seconds(door: Door) -> None:
    since = time.time() - BEHIND_SECONDS_MAX
    tree = is_problem(await readyz(door, behind_since=since - 1), 503, "hub-behind")
    assert tree["replica"]["behind_since"] == since - 1
    assert (await readyz(door, behind_since=since + 4)).status_code == 200


@proves("http/ready/public")
@pytest.mark.parametrize("server", ["nats://me:pw@nats-1.internal:4222", "nats-1.internal:4222", "10.1.2.3:4222"])
@hub_test()
async def test_readiness_names_no_server_and_no_other_hub(door: Door, server: str) -> None:
    for changes in ({"halted": f"lost {server} at entry 1201"}, {}):
        text = (await readyz(door, **changes)).text
        assert [hidden for hidden in (server, "internal", "10.", "beta", "gamma") if hidden in text] == []
        assert not changes or "at entry 1201" in text


@proves("http/ready/replica")
@hub_test()
async def test_a_hub_without_a_replica_says_nothing_of_one(door: Door) -> None:
    assert (await door.client.get("/readyz")).json() == {"ready": True}


# --- metrics ----------------------------------------------------------------------------------------------------------


@proves("metrics/replica")
@played
async def test_the_replica_is_measured_when_it_is_asked_for() -> None:
    replica = FakeReplica()
    async with complete_hub(wrapped=with_replica(replica)) as client:
        assert replica_gauges((await client.get("/metrics")).text) == METRICS
        replica.change(halted="full", writer="node-a", position=1_234, hubs=HUBS[:1])
        changed = {"telex_replica_position": 1_234.0, "telex_replica_lag": 0.0, "telex_hubs": 1.0}
        flags = {"telex_replica_writer": 1.0, "telex_replica_halted": 1.0}
        assert replica_gauges((await client.get("/metrics")).text) == METRICS | changed | flags


@proves("metrics/replica")
@played
async def test_a_hub_without_a_replica_has_no_metrics_of_one() -> None:
    async with complete_hub() as client:
        assert replica_gauges((await client.get("/metrics")).text) == {}


# --- page -------------------------------------------------------------------------------------------------------------


@proves("page/hubs/route")
@played
async def test_the_page_gets_every_hub_with_its_lag() -> None:
    replica = FakeReplica()
    async with complete_hub(wrapped=with_replica(replica)) as client:
        facts = (await client.get("/page/replica")).json()["replica"]
        assert (facts["problem"], facts["lag"], facts["durable"]) == (None, 34, True)
        hubs = [(hub["name"], hub["url"], hub["position"], hub["lag"], hub["version"]) for hub in facts["hubs"]]
        assert hubs == [
            ("alpha:101", "http://10.0.0.1:4477/", 1_200, 34, "0.3.0"),
            ("beta:202", "https://beta.example.org/", 1_234, 0, "0.3.0"),
            ("gamma:303", "", 734, 500, "0.2.0"),
        ]
        assert [hub["is_this"] for hub in facts["hubs"]] == [True, False, False]
        assert [hub["is_writer"] for hub in facts["hubs"]] == [False, True, False]
        replica.change(halted="the log is full at nats-1:4222")
        facts = (await client.get("/page/replica")).json()["replica"]
        assert (facts["problem"], facts["halted"]) == ("hub-halted", "the log is full at nats-1:4222")


@proves("page/hubs/route")
@played
async def test_the_page_of_a_hub_without_a_replica_gets_none() -> None:
    async with complete_hub() as client:
        assert (await client.get("/page/replica")).json() == {"replica": None}

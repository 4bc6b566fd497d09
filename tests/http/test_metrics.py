"""Can a person's tools see how the hub is doing, without knowing any agent or message by name?"""

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

import telex
from telex.model.message import Event, StoredMessage
from telex.surfaces.http.metrics import OTHER, VALUES_MAX, Metrics, RouteLabels
from tests.bus.bus_team import speech_of
from tests.proofs import proves
from tests.surfaces.surfaces_kit import SECONDS_MAX, Hub, Time, running_hub

NOTE = "The build is red."


class Numbers:
    """What /metrics says, by name and labels."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.samples = {
            (sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }

    def of(self, name: str, **labels: str) -> float:
        return self.samples.get((name, tuple(sorted(labels.items()))), 0.0)


class Watched:
    def __init__(self, hub: Hub, clock: Time) -> None:
        self.hub, self.clock = hub, clock

    def numbers(self) -> Numbers:
        answer = httpx2.get(f"{self.hub.url}/metrics", trust_env=False)
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/plain")
        return Numbers(answer.text)

    def once(self, seen: Callable[[Numbers], bool]) -> Numbers:
        """The numbers as soon as they say that. What happened is counted a moment after it is answered."""
        deadline = time.monotonic() + SECONDS_MAX
        while not seen(found := self.numbers()):
            assert time.monotonic() < deadline, found.text
            time.sleep(0.01)
        return found


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    monkeypatch.chdir(tmp_path)
    clock = Time()
    with running_hub(tmp_path / "hub.db", clock) as hub:
        yield Watched(hub, clock)


@proves("metrics/messages")
def test_messages_are_counted_by_what_became_of_them_and_refusals_by_code(watched: Watched) -> None:
    with telex.connect(watched.hub.url) as bus:
        for _ in range(2):
            bus.send(NOTE, sender="dev", to="lead", id="n-1")
        bus.send(NOTE, sender="dev", to="laed", check=False)
        spoken = speech_of("vbw-typed", "qa_verdict")
        bus.send(json.dumps(spoken.tree | {"confidence": "hihg"}), sender="qa", to="lead", check=False)
    refused = {"outcome": "refused", "dialect": "vbw-typed"}
    found = watched.once(lambda numbers: numbers.of("telex_messages_total", **refused) == 1)
    assert found.of("telex_messages_total", outcome="accepted", dialect="plain") == 1
    assert found.of("telex_messages_total", outcome="duplicate", dialect="plain") == 1
    assert found.of("telex_messages_total", outcome="refused", dialect="plain") == 1
    assert found.of("telex_refusals_total", code="recipient-unknown") == 1
    assert found.of("telex_refusals_total", code="not-one-of") == 1


@proves("metrics/deliveries")
def test_deliveries_are_counted_by_outcome_and_what_waits_is_measured(watched: Watched) -> None:
    with telex.connect(watched.hub.url) as bus:
        for id_ in ("n-1", "n-2", "n-3"):
            bus.send(NOTE + id_, sender="dev", to="lead", id=id_)
        first, second = bus.receive("lead", limit=2)
        bus.ack(first.token, agent="lead")
        bus.nack(second.token, agent="lead", reason="no table", delay=0.0)
        [leased] = bus.receive("lead", lease=10.0)
        found = watched.once(lambda numbers: numbers.of("telex_deliveries_total", outcome="nacked") == 1)
        assert found.of("telex_deliveries_total", outcome="acked") == 1
        assert found.of("telex_queue_depth", state="waiting") == 1
        assert found.of("telex_queue_depth", state="leased") == 1
        watched.clock.leap(100.0)
        bus.sweep()
        lapsed = watched.once(lambda numbers: numbers.of("telex_deliveries_total", outcome="lease-expired") == 1)
        assert lapsed.of("telex_queue_depth", state="leased") == 0
        assert leased.attempt >= 1


@proves("metrics/others")
def test_what_another_process_does_to_the_same_store_counts_too(watched: Watched, tmp_path: Path) -> None:
    with telex.connect(tmp_path / "hub.db") as bus:
        bus.send(NOTE, sender="dev", to="lead")
    accepted = {"outcome": "accepted", "dialect": "plain"}
    watched.once(lambda numbers: numbers.of("telex_messages_total", **accepted) == 1)


@proves("metrics/requests")
def test_requests_are_counted_by_route_and_kind_of_answer_and_sends_are_timed(watched: Watched) -> None:
    with telex.connect(watched.hub.url) as bus:
        bus.send(NOTE, sender="dev", to="lead", id="n-1")
        bus.send(NOTE, sender="dev", to="laed", id="n-2", check=False)
        bus.why("n-1")
        bus.why("n-2")
    httpx2.get(f"{watched.hub.url}/no/such/place", trust_env=False)
    found = watched.numbers()
    assert found.of("telex_http_requests_total", route="/send", status="2xx") == 1
    assert found.of("telex_http_requests_total", route="/send", status="4xx") == 1
    assert found.of("telex_http_requests_total", route="/messages/{id}", status="2xx") == 2
    assert found.of("telex_http_requests_total", route=OTHER, status="4xx") == 1
    assert found.of("telex_send_seconds_count") == 2
    assert found.of("telex_send_seconds_sum") > 0


@proves("metrics/here")
def test_who_waits_and_who_watches_is_counted_for_as_long_as_they_do(watched: Watched) -> None:
    with httpx2.Client(base_url=watched.hub.url, trust_env=False, timeout=SECONDS_MAX) as client:
        with client.stream("GET", "/events", headers={"accept": "text/event-stream"}):
            watched.once(lambda numbers: numbers.of("telex_viewers") == 1)
        watched.once(lambda numbers: numbers.of("telex_viewers") == 0)
        with telex.connect(watched.hub.url) as bus:
            bus.send("first\n", sender="dev", to="qa")
            following = bus.events(follow=True)
            next(following)
            watched.once(lambda numbers: numbers.of("telex_viewers") == 1)
            following.close()  # type: ignore[attr-defined]
            watched.once(lambda numbers: numbers.of("telex_viewers") == 0)
        asked = client.build_request("POST", "/receive", json={"agent": "lead", "wait": 30.0})
        waiting = threading.Thread(target=lambda: client.send(asked))
        waiting.start()
        watched.once(lambda numbers: numbers.of("telex_waiting_readers") == 1)
        with telex.connect(watched.hub.url) as bus:
            bus.send(NOTE, sender="dev", to="lead")
        waiting.join(SECONDS_MAX)
        watched.once(lambda numbers: numbers.of("telex_waiting_readers") == 0)


@proves("metrics/cardinality")
def test_no_agent_no_message_and_no_path_becomes_a_label(watched: Watched) -> None:
    with telex.connect(watched.hub.url) as bus:
        for number in range(20):
            bus.join(f"zaphod-{number}", role="dev")
            bus.send(NOTE, sender=f"zaphod-{number}", to="lead", id=f"heart-{number}", correlation=f"gold-{number}")
            httpx2.get(f"{watched.hub.url}/messages/heart-{number}", trust_env=False)
            httpx2.get(f"{watched.hub.url}/vogon-{number}", trust_env=False)
    accepted = {"outcome": "accepted", "dialect": "plain"}
    found = watched.once(lambda numbers: numbers.of("telex_messages_total", **accepted) == 20)
    assert [word for word in ("zaphod", "heart-", "gold", "vogon") if word in found.text] == []
    assert len(found.samples) < 150


def refusal(code: Any, dialect: str | None = None) -> tuple[Event, StoredMessage]:
    detail = json.dumps({"findings": [{"code": code}] if isinstance(code, str) else code})
    message = StoredMessage(1, "m", 1.0, "dev", "dev", "lead", dialect, None, 3, None, None, b"", b"", True)
    return Event(1, 1.0, "refused", "dev", 1, detail=detail), message


@proves("metrics/foreign")
def test_a_foreign_record_cannot_make_labels_without_end() -> None:
    metrics = Metrics()
    for number in range(VALUES_MAX + 50):
        metrics.count(*refusal(f"code-{number}", f"dialect-{number}"))
    for odd in (None, 7, [7], ["x"], [{"code": 7}], [{"severity": "note", "code": "only-a-note"}]):
        metrics.count(*refusal(odd))
    codes = {sample.labels["code"]: sample.value for sample in _samples(metrics, "telex_refusals_total")}
    assert len(codes) == VALUES_MAX + 1
    assert codes[OTHER] == 50
    assert "only-a-note" not in codes


def _samples(metrics: Metrics, name: str) -> list[Any]:
    return [sample for family in metrics.registry.collect() for sample in family.samples if sample.name == name]


@proves("metrics/own")
def test_two_hubs_in_one_process_have_numbers_of_their_own() -> None:
    one, other = Metrics(), Metrics()
    one.count(Event(1, 1.0, "acked", "lead", 1), None)
    assert [sample.value for sample in _samples(one, "telex_deliveries_total")] == [1.0]
    assert _samples(other, "telex_deliveries_total") == []


@pytest.mark.parametrize(
    "path, route",
    [
        ("/send", "/send"),
        ("/messages/a", "/messages/{id}"),
        ("/messages/a/settled", "/messages/{id}/settled"),
        ("/messages/a/b/c", OTHER),
        ("/messages", OTHER),
        ("/send/", OTHER),
        ("/static/a/b.js", "/static/{file:path}"),
        ("", OTHER),
    ],
)
def test_a_path_is_known_by_its_shape(path: str, route: str) -> None:
    routes = RouteLabels(("/send", "/messages/{id}", "/messages/{id}/settled", "/static/{file:path}"))
    assert routes.label(path) == route

"""Does a replay say what the bus said? Whatever a team does, in whatever order."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.bus import run_sync
from telex.dialects.registry import BUILT_IN
from telex.model.message import Event, StoredMessage, detail_of
from telex.ports.store import Store
from telex.record import exported
from telex.replay import time_travel as moment_room
from telex.replay.reader import line_reader
from telex.replay.simulate import Simulator
from telex.replay.time_travel import as_it_was
from telex.stores.memory import MemoryStore
from telex.stores.sqlite.store import SqliteStore
from telex.surfaces.cli.output import json_line
from telex.validation.check import CheckPolicy
from tests.bus.bus_team import speech_of
from tests.demo.story_settings import FEWER
from tests.proofs import proves
from tests.replay.replay_kit import simulated, simulated_events
from tests.replay.replay_story import STORIES, Story, told
from tests.work.test_work_state import DIALECTS, book_of


def holds_at_every_moment(story: Story) -> None:
    events = story.events()
    for seen in story.seen:
        was = as_it_was([event for event in events if event[0].seq <= seen.last], DIALECTS)
        assert told(was.deliveries()) == seen.deliveries
        assert was.members == seen.members
        assert was.topics == seen.book


@proves("replay/moment")
@given(STORIES)
def test_at_every_moment_it_was_as_the_bus_said(acts: list[Any]) -> None:
    holds_at_every_moment(Story(MemoryStore()).play(acts))


@proves("replay/moment")
@FEWER
@given(STORIES, st.booleans())
def test_on_disk_it_was_as_the_bus_said_too(acts: list[Any], strict: bool) -> None:
    with TemporaryDirectory(prefix="telex-replay-") as folder:
        store: Store = SqliteStore.open(str(Path(folder, "one.db")), durable=False)
        holds_at_every_moment(Story(store, strict=strict).play(acts))
        run_sync(store.close())


TAKEN: list[Any] = [("note", "dev"), ("receive", "dev")]
FAILED: list[Any] = [("receive", "dev"), ("settle", "dev", "nack"), ("later", 61.0)]
STOPPED: list[Any] = [("join", "dev-2", "dev"), ("join", "dev", "dev"), ("note", "role:dev"), ("receive", "dev-2")]
STOPPED += [
    {"raw": speech_of("vbw-typed", "shutdown_request", "stop-1").raw, "sender": "lead", "to": "dev-2"},
    {"raw": speech_of("vbw-typed", "shutdown_response", "yes").raw, "sender": "dev-2", "to": "lead"},
]
TOLD_BY: dict[str, list[Any]] = {
    "leased": TAKEN,
    "extended": [*TAKEN, ("settle", "dev", "extend")],
    "acked": [*TAKEN, ("settle", "dev", "ack")],
    "nacked": [*TAKEN, ("settle", "dev", "nack")],
    "lease-expired": [*TAKEN, ("later", 61.0)],
    "dead": [("note", "dev"), *FAILED, *FAILED, *FAILED],
    "retried": [("note", "dev"), *FAILED, *FAILED, *FAILED, ("dead", True)],
    "dropped": [("note", "dev"), *FAILED, *FAILED, *FAILED, ("dead", False)],
    "withdrawn": [("join", "dev", "dev"), ("note", "dev"), ("leave", "dev")],
    "returned-to-sender": [("join", "dev", "dev"), ("note", "dev"), ("shut down", True)],
    "returned": STOPPED,
}


@proves("replay/moment")
@pytest.mark.parametrize("kind", TOLD_BY)
def test_a_fold_that_forgets_a_kind_of_event_would_be_noticed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    story = Story(MemoryStore()).play(TOLD_BY[kind])
    assert kind in [event.kind for event, _ in story.events()]
    holds_at_every_moment(story)
    monkeypatch.delitem(moment_room.BECOMES, kind)
    with pytest.raises(AssertionError):
        holds_at_every_moment(story)


def codes(findings: Any) -> list[str]:
    return sorted(finding["code"] for finding in findings if finding.get("severity", "refusal") == "refusal")


def brought(events: list[tuple[Event, StoredMessage | None]]) -> list[tuple[Event, StoredMessage]]:
    return [(event, message) for event, message in events if message is not None and event.seq == message.seq]


@proves("replay/same-settings")
@given(STORIES, st.booleans())
def test_under_the_same_settings_everything_is_answered_as_it_was(acts: list[Any], strict: bool) -> None:
    story = Story(MemoryStore(), strict=strict).play(acts)
    events, simulator = story.events(), Simulator(CheckPolicy(strict=strict))
    verdicts = simulated_events(simulator, events)
    for (event, message), verdict in zip(brought(events), verdicts, strict=True):
        if verdict.verdict == "own":
            continue
        assert (verdict.verdict == "refused") == message.refused, (verdict, event)
        found = codes(detail_of(event).get("findings", []))
        assert codes(finding._asdict() for finding in verdict.findings) == found, event
    assert simulator.work_state == book_of(story.bus)


@proves("replay/export")
@FEWER
@given(STORIES)
def test_an_export_is_judged_like_its_store(acts: list[Any]) -> None:
    events = Story(MemoryStore()).play(acts).events()
    read = line_reader(BUILT_IN)
    lines = [read(number, json_line(exported(*one)).encode()) for number, one in enumerate(events, 1)]
    assert simulated(Simulator(), lines) == simulated_events(Simulator(), events)

"""Envelope fields that a user's dialect also has in the payload: replay reads them from where the bus does."""

import json
from itertools import product
from typing import Any

import pytest

from telex.delivery.routing import Participants
from telex.delivery.validator_cache import OPENED_AFTER, ValidatorCache
from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import Dialect
from telex.dialects.toml.loader import declare
from telex.model.message import Event
from telex.replay.reader import LogEntry, of_store
from telex.replay.simulate import Simulator
from telex.validation.check import CheckPolicy
from tests.bus_team import OpenTeam, open_team
from tests.proofs import proves

__all__ = ["open_team"]

FILE = """
name = "slips"
version = "1.0"
purpose = "Slips of paper that say some things twice."
roles = ["maker", "boss"]
payload = "slip"
addresses = "names"
[envelope]
id = "string"
from = "string"
to = "string?"
at = "datetime?"
thread = "string?"
[wire]
id = "id"
sender = "from"
recipient = "to"
timestamp = "at"
correlation = "thread"
[types.word]
purpose = "A word."
senders = ["maker", "boss"]
receivers = ["boss", "maker"]
[types.word.fields]
text = "string"
id = "KIND?"
to = "KIND?"
from = "KIND?"
at = "KIND?"
thread = "KIND?"
"""
INSIDE: dict[str, tuple[Any, ...]] = {  # what may stand in the payload, by the kind of its fields
    "string": ("in-1", "in-2", "boss", "max"),
    "integer": (1, 2),
    "any": ("in-1", 7, ["boss"], {"to": "boss"}),
    "datetime": ("2026-03-02T10:00:00Z", "2026-03-02T11:00:00.5+01:00"),
}


def slips(kind: str) -> Dialect:
    dialect = declare(FILE.replace("KIND", kind), "slips.toml").dialect
    assert dialect is not None
    return dialect


def word(number: int, kind: str, *, id: str = "out-1", **envelope: str) -> bytes:
    """One of many: in each something else stands twice."""
    names = [name for place, name in enumerate(("id", "to", "from", "at", "thread")) if number >> place & 1]
    inside = {name: INSIDE[kind][(number + place) % len(INSIDE[kind])] for place, name in enumerate(names)}
    around = {"type": "word", "id": id, "from": "max"} | envelope
    return json.dumps(around | {"slip": {"text": f"{number}", **inside}}).encode()


def words(kind: str) -> list[bytes]:
    whom: list[dict[str, str]] = [{}, {"to": "boss"}, {"to": "maker", "at": "2026-03-02T09:00:00Z", "thread": "t"}]
    return [word(number, kind, id=f"out-{number % 3}", **to) for number, to in product(range(32), whom)]


@proves("replay/two-places")
@pytest.mark.parametrize("kind", INSIDE)
def test_the_fast_lane_finds_what_the_patient_way_finds(kind: str) -> None:
    desk = CheckPolicy(dialects=(slips(kind), *BUILT_IN))
    lanes, passed = ValidatorCache(desk), 0
    for raw in [*words(kind)[:1] * OPENED_AFTER, *words(kind)]:
        looked, patient = lanes.check(raw, Participants()), ValidatorCache(desk).check(raw, Participants())
        assert (looked.envelope, looked.traits) == (patient.envelope, patient.traits)
        assert all(fact is None or isinstance(fact, str) for fact in looked.envelope)
        passed += looked.checked is None
    assert passed >= len(words(kind)) / 2


@proves("replay/two-places")
@pytest.mark.parametrize("kind", INSIDE)
@pytest.mark.parametrize("to", [None, "boss"])
def test_a_replay_knows_each_message_by_the_id_that_the_bus_has_given_it(
    open_team: OpenTeam, kind: str, to: str | None
) -> None:
    dialect = slips(kind)
    team = open_team(own_dialects=(dialect,), strict=False)
    team.bus.join("max", role="maker")
    team.bus.join("boss")
    for number in range(2 * OPENED_AFTER):  # once they know each other, what they say takes the fast lane
        team.bus.send(word(number % 4, kind, id=f"out-{number}", to="boss"), sender="max", to=to)
    events = list(team.bus.events())
    brought = [message for event, message in events if message is not None and event.seq == message.seq]
    assert len(brought) == 2 * OPENED_AFTER
    simulator, results = Simulator(CheckPolicy(dialects=(dialect, *BUILT_IN), strict=False)), []
    for line in [of_store(*event) for event in events]:
        if isinstance(line, LogEntry):
            results.append(simulator.send(line))
        elif isinstance(line, Event):
            simulator.apply(line)
    assert [(one.verdict == "refused", one.id) for one in results] == [(one.refused, one.id) for one in brought]

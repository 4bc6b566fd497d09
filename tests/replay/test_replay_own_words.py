"""Replay of messages in a user's own dialects."""

import json
from typing import Any

import pytest

from telex.delivery.validator_cache import OPENED_AFTER
from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import Dialect
from telex.dialects.toml.loader import declare
from telex.model.finding import Finding, refusals
from telex.replay.simulate import Simulator
from telex.validation.check import CheckPolicy
from telex.work.approvals import Approval
from tests.bus.bus_team import OpenTeam, Team, open_team, speech, speech_of
from tests.dialects.toml_dialects import KANBAN
from tests.proofs import proves
from tests.replay.replay_kit import simulated_events

__all__ = ["open_team"]

ASKED = "max-may_i"


@pytest.fixture
def team(open_team: OpenTeam) -> Team:
    team = open_team(own_dialects=(KANBAN,), strict=False)
    team.bus.join("lead", dialects=["vbw-typed"])
    team.bus.join("max", role="maker", dialects=["kanban"])
    return team


def ask(team: Team, id: str = ASKED) -> None:
    made = speech(KANBAN, KANBAN.types["may_i"], id, card="1-1-T3", question="May I drop the table?")
    assert team.bus.send(made.raw, sender="max", to="lead").accepted


def answer(team: Team, sender: str = "lead", asked: str = ASKED, id: str = "yes-1") -> Any:
    payload = {"request_id": asked, "approved": True, "reason": "Nobody needs it"}
    made = speech_of("vbw-typed", "approval_response", id, task="1-1-T3", payload=payload)
    return team.bus.send(made.raw, sender=sender, to="max")


def approvals(simulator: Simulator) -> dict[str, Approval]:
    states = simulator.work_state.values()
    return {state.request.id: state for state in states if isinstance(state, Approval)}


def replayed(team: Team) -> list[tuple[str, tuple[Finding, ...]]]:
    simulator = Simulator(CheckPolicy(dialects=(KANBAN, *BUILT_IN)))
    results = simulated_events(simulator, team.bus.events())
    decided = {id_: approval.answer and approval.answer.decision for id_, approval in approvals(simulator).items()}
    stored = team.bus.work_state("approval").values()
    assert decided == {approval.request.id: approval.answer and approval.answer.decision for approval in stored}
    return [(result.verdict, result.findings) for result in results]


@proves("replay/own-words")
def test_an_answer_to_what_was_asked_in_own_words_passes_as_it_did(team: Team) -> None:
    ask(team)
    assert refusals(answer(team).findings) == []
    assert [verdict for verdict, _ in replayed(team)] == ["passed", "passed"]


@proves("replay/own-words")
def test_whoever_may_not_answer_and_what_nobody_asked_are_refused_as_they_were(team: Team) -> None:
    ask(team)
    receipts = [answer(team, "max"), answer(team, asked="nobody-asked", id="yes-2")]
    _, *judged = replayed(team)
    assert [verdict for verdict, _ in judged] == ["refused", "refused"]
    assert [found for _, found in judged] == [receipt.findings for receipt in receipts]


@proves("replay/own-words")
def test_an_answer_in_own_words_is_judged_as_it_was(team: Team) -> None:
    for name in ("olga", "otto"):
        team.bus.join(name, role="owner", dialects=["kanban"])
    request = speech_of("vbw-typed", "approval_request", "ask-1", author_role="lead")
    team.bus.send(request.tree | {"task": ""}, sender="lead", to="olga")
    receipts = []
    for name in ("olga", "otto"):
        made = speech(KANBAN, KANBAN.types["ruling"], f"yes-{name}", card="1-1-T3", re="ask-1", ok=True)
        receipts.append(team.bus.send(made.raw, sender=name, to="lead"))
    _, *judged = replayed(team)
    assert [verdict for verdict, _ in judged] == ["passed", "refused"]
    assert [found for _, found in judged] == [receipt.findings for receipt in receipts]


# --- envelope fields that the payload has too: replay reads them from where the bus does ------------------------------

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
        team.bus.send(word(number % 4, kind, id=f"out-{number}", to="boss"), sender="max", to=to, check=False)
    events = list(team.bus.events())
    brought = [message for event, message in events if message is not None and event.seq == message.seq]
    assert len(brought) == 2 * OPENED_AFTER
    simulator = Simulator(CheckPolicy(dialects=(dialect, *BUILT_IN), strict=False))
    results = simulated_events(simulator, events)
    assert [(one.verdict == "refused", one.id) for one in results] == [(one.refused, one.id) for one in brought]

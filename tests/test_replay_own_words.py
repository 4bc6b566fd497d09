"""What was asked in a team's own words, and answered in others: is that replayed as it was sent?"""

from typing import Any

import pytest

from telex.dialects.registry import BUILT_IN
from telex.model.event import Event
from telex.model.finding import Finding, refusals
from telex.replay.reader import LogEntry, of_store
from telex.replay.simulate import Simulator
from telex.validation.check import CheckPolicy
from telex.work.approvals import Approval
from tests.bus_team import OpenTeam, Team, open_team, speech, speech_of
from tests.proofs import proves
from tests.toml_dialects import KANBAN

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
    simulator, found = Simulator(CheckPolicy(dialects=(KANBAN, *BUILT_IN))), list[tuple[str, tuple[Finding, ...]]]()
    for event, message in team.bus.events():
        line = of_store(event, message)
        if isinstance(line, Event):
            simulator.apply(line)
        elif isinstance(line, LogEntry):
            judged = simulator.send(line)
            found.append((judged.verdict, judged.findings))
    decided = {id_: approval.answer and approval.answer.decision for id_, approval in approvals(simulator).items()}
    stored = team.bus.work_state("approval").values()
    assert decided == {approval.request.id: approval.answer and approval.answer.decision for approval in stored}
    return found


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

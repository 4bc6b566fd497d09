"""May a request be answered by signals? By whoever was asked, and then it is decided; by nobody else."""

import pytest

from telex.ports.bus import Receipt
from tests.bus_team import Shell, Team, codes, open_team, shell, speech_of, team
from tests.contract_team import ask as asking
from tests.contract_team import contract, kept
from tests.proofs import proves
from tests.test_approvals import DEV, answer, approval, ask, question
from tests.test_approvals_waiting import waits

__all__ = ["open_team", "shell", "team"]


@pytest.fixture
def led(team: Team) -> Team:
    """Two who lead by signals: one will be asked, the other never is."""
    team.bus.join("orla", role="orchestrator", dialects=["signal-md"])
    team.bus.join("mal", role="orchestrator", dialects=["signal-md"])
    return team


def signal(team: Team, sender: str, signal: str, reply_to: str | None = "ask-1", to: str = "dev") -> Receipt:
    type_ = {"lgtm": "approval", "revise": "revision_request"}[signal]
    said = speech_of("signal-md", type_, signal=signal)
    return team.other().send(said.raw, sender=sender, to=to, reply_to=reply_to)


@proves("approvals/signals")
@pytest.mark.parametrize("word, decision", [("lgtm", "approved"), ("revise", "rejected")])
def test_whoever_was_asked_decides_with_a_signal(led: Team, shell: Shell, word: str, decision: str) -> None:
    ask(led, to="orla")
    assert signal(led, "orla", word).accepted
    given = approval(led, "ask-1").answer
    assert given is not None
    assert (given.decision, given.by, given.role) == (decision, "orla", "orchestrator")
    assert not waits(led, "ask-1")
    assert "answered" in led.kinds("ask-1")
    assert shell("approvals", "--all").out.count(decision) == 1


@proves("approvals/signals")
def test_a_request_of_another_dialect_is_decided_as_well(led: Team) -> None:
    question(led, "q-1", to="orla")
    assert signal(led, "orla", "lgtm", "q-1", to=DEV).accepted
    assert (approval(led, "q-1").waits, waits(led, "q-1")) == (False, False)
    again = signal(led, "orla", "revise", "q-1", to=DEV)
    assert (again.accepted, codes(again.findings)) == (False, ["approval-answered"])


@proves("approvals/signals/nobody-else")
def test_who_was_not_asked_decides_nothing_whatever_it_leads(led: Team) -> None:
    ask(led, to="orla")
    refused = signal(led, "mal", "lgtm")
    [why] = [finding for finding in refused.findings if finding.severity == "refusal"]
    assert (refused.accepted, why.code, why.path) == (False, "may-not-answer", "$")
    assert "mal" not in (why.expected or "")
    assert "orchestrator" not in (why.expected or "")
    assert (approval(led, "ask-1").waits, waits(led, "ask-1")) == (True, True)
    assert led.bus.inbox("dev") == []


@proves("approvals/signals")
def test_what_waits_for_a_signal_is_answered_in_other_words_as_well_but_once(led: Team) -> None:
    ask(led, to="orla")
    assert answer(led, "lead").accepted
    assert codes(signal(led, "orla", "lgtm").findings) == ["approval-answered"]


@proves("approvals/signals/in-hand")
def test_a_signal_that_names_nothing_answers_the_one_request_in_hand(led: Team) -> None:
    ask(led, to="orla")
    led.take("orla")
    assert signal(led, "orla", "lgtm", None).accepted
    assert approval(led, "ask-1").waits is False
    [story] = [one for one in led.bus.trace("ask-1") if one.message.sender == "orla"]
    assert story.message.reply_to == "ask-1"


@proves("approvals/signals/in-hand")
def test_a_signal_to_whoever_has_sent_several_things_answers_none_of_them(led: Team) -> None:
    ask(led, to="orla")
    ask(led, "ask-2", to="orla")
    led.take("orla")
    led.take("orla")
    assert signal(led, "orla", "lgtm", None).accepted
    assert (approval(led, "ask-1").waits, approval(led, "ask-2").waits) == (True, True)


@proves("approvals/signals")
def test_a_signal_widens_no_contract(led: Team) -> None:
    kept(led, contract())
    request = kept(led, asking(), to="orla")
    receipt = signal(led, "orla", "lgtm", request.id)
    assert receipt.accepted
    [warning] = [finding for finding in receipt.findings if finding.code == "approval-widens-nothing"]
    assert (warning.severity, warning.path) == ("warning", "$")
    assert led.bus.work_state("plan")["plan:P"].grants == ()


@proves("approvals/signals")
def test_a_dispatch_in_reply_to_anything_else_is_a_dispatch(led: Team) -> None:
    led.bus.send("Done, I think", sender="dev", to="orla", id="done-1")
    assert signal(led, "orla", "lgtm", "done-1").accepted
    assert led.bus.work_state("approval") == {}

"""A person answers what was asked: from the command line, in whatever dialect it was asked."""

import json

import pytest

from telex.errors import InvalidValue, NotFound
from telex.model.finding import Severity
from tests.bus_team import OpenTeam, Shell, Team, codes, open_team, shell, speech_of, team
from tests.proofs import proves
from tests.test_approvals import CTO, DEV, approval, ask, question, typed

__all__ = ["open_team", "shell", "team"]


@proves("approvals/human", "approvals/approve")
def test_a_person_approves_in_the_dialect_of_the_request(team: Team, shell: Shell) -> None:
    ask(team), question(team)
    words = ("--reason", "It cannot go without", "--condition", "Keep the API", "--condition", "Tell ops")
    assert shell("approve", "ask-1", *words, "--modify", "src/mail/").code == 0
    assert shell("approve", "q-1", *words).code == 0
    [typed_, flowing] = [approval(team, name).answer for name in ("ask-1", "q-1")]
    assert typed_ is not None
    assert flowing is not None
    for given in (typed_, flowing):
        assert (given.by, given.role, given.decision) == ("human", "human", "conditional")
        assert (given.reason, given.conditions) == ("It cannot go without", ("Keep the API", "Tell ops"))
    assert typed_.modifications == ("src/mail/",)
    [message] = [message for _, message in team.bus.inbox("dev")]
    assert (message.dialect, message.type, message.sender) == ("vbw-typed", "approval_response", "human")
    [message] = [message for _, message in team.bus.inbox(DEV)]
    assert (message.dialect, message.type, message.sender) == ("build-flow", "VALIDATION_RESPONSE", "human")
    assert (message.reply_to, message.correlation) == ("q-1", "TASK-001")
    for name in ("ask-1", "q-1"):
        assert team.story(name).answer_by is None  # nobody waits any longer
    assert shell("approvals").err == "no pending approval requests\n"


@proves("approvals/approve")
def test_a_rejection_says_why_and_its_request_is_over(team: Team, shell: Shell) -> None:
    ask(team), question(team)
    for name in ("ask-1", "q-1"):
        assert shell("reject", name).code == 64  # without a reason nobody learns anything
        ran = shell("reject", name, "--reason", "Another team's", "--json")
        assert json.loads(ran.out)["accepted"]
        given = approval(team, name).answer
        assert given is not None
        assert (given.decision, given.reason) == ("rejected", "Another team's")
        ran = shell("approve", name, "--reason", "After all")
        assert (ran.code, "approval-answered" in ran.err) == (2, True)


@proves("approvals/approve")
def test_an_agent_that_was_asked_may_use_the_same_command(team: Team, shell: Shell) -> None:
    ask(team), question(team)
    assert shell("approve", "ask-1", "--reason", "Fine", "--as", "architect").code == 0
    assert shell("approve", "q-1", "--reason", "Fine", "--as", CTO).code == 0
    assert [approval(team, name).answer for name in ("ask-1", "q-1")] != [None, None]
    ask(team, "ask-2")
    ran = shell("approve", "ask-2", "--reason", "Fine", "--as", "qa")
    assert (ran.code, "role-may-not-send" in ran.err) == (2, True)


@proves("approvals/approve/no-place")
def test_what_the_dialect_has_no_words_for_is_said(team: Team, shell: Shell) -> None:
    question(team)
    with pytest.raises(InvalidValue, match="VALIDATION_RESPONSE"):
        team.bus.approve("q-1", approved=True, reason="Fine", modifications=["src/"])
    assert shell("approve", "q-1", "--reason", "Fine", "--modify", "src/").code == 64
    assert approval(team, "q-1").waits


@proves("approvals/approve/not-found")
def test_approving_what_nobody_asked_for_is_not_found(team: Team, shell: Shell) -> None:
    ask(team, "reset-scope")
    ran = shell("approve", "reset_scope", "--reason", "Fine")
    assert (ran.code, "did you mean reset-scope?" in ran.err) == (3, True)
    with pytest.raises(NotFound):
        team.bus.approve("xyzzy", approved=False, reason="No")


@proves("approvals/human/signed")
@pytest.mark.parametrize(
    "to, signed", [("architect", "architect"), ("lead", "lead"), ("role:architect", "architect"), ("qa", "lead")]
)
def test_a_person_signs_with_a_role_that_was_asked_and_may_answer(team: Team, to: str, signed: str) -> None:
    ask(team, to=to)
    receipt = team.bus.approve("ask-1", approved=True, reason="Fine")
    assert receipt.accepted, receipt.findings
    message = team.bus.read(receipt.id, agent="human")
    assert json.loads(message.raw)["author_role"] == signed
    assert (message.sender, message.role) == ("human", "human")


@proves("approvals/human/answers-only")
def test_only_a_person_signs_for_another_and_only_an_answer(team: Team) -> None:
    ask(team)
    for sender in ("dev", "qa", "architect"):
        raw = typed("approval_response", f"an-{sender}", "lead", request_id="ask-1")
        assert "role-claim-differs" in codes(team.bus.send(raw, sender=sender, to="dev").findings)
    raw = typed("approval_response", "an-qa", "qa", request_id="ask-1")  # a role that may not answer either
    assert "role-may-not-send" in codes(team.bus.send(raw, sender="human", to="dev").findings)
    for type_ in ("plan_contract", "shutdown_request", "approval_request"):
        raw = speech_of("vbw-typed", type_, f"{type_}-1", author_role="lead").raw
        assert "role-claim-differs" in codes(team.bus.send(raw, sender="human", to="dev").findings)
    assert approval(team, "ask-1").waits


# --- looking ----------------------------------------------------------------------------------------------------------


@proves("approvals/list")
def test_the_list_shows_what_waits_or_all_of_it(team: Team, shell: Shell) -> None:
    assert shell("approvals", "--all").err == "no approval requests\n"
    ask(team), ask(team, "ask-2"), ask(team, "ask-3")
    team.bus.approve("ask-1", approved=True, reason="Fine")
    team.bus.approve("ask-2", approved=False, reason="No")
    assert [json.loads(line)["id"] for line in shell("approvals", "--json").out.splitlines()] == ["ask-3"]
    every = [json.loads(line) for line in shell("approvals", "--all", "--json").out.splitlines()]
    decided = [one["answer"] and (one["answer"]["decision"], one["answer"]["by"]) for one in every]
    assert decided == [("approved", "human"), ("rejected", "human"), None]
    shown = shell("approvals", "--all").out
    for words in ("approved by human", "rejected by human", "waits"):
        assert words in shown


@proves("approvals/override")
def test_a_gate_that_was_set_aside_is_told_as_that_for_ever(team: Team, shell: Shell) -> None:
    for name in ("gate-1", "gate-2"):
        ask(team, name, request_type="gate_override")
    ask(team)
    team.bus.approve("gate-1", approved=True, reason="The gate is wrong")
    team.bus.approve("gate-2", approved=False, reason="The gate is right")
    team.bus.approve("ask-1", approved=True, reason="Fine")
    team.later(40 * 86_400.0)  # longer than anything else is kept
    for _ in range(20):
        team.later(3600.0)
    found = {one.request.id: one.answer for one in team.other().work_state("approval").values()}
    assert {name: given.override for name, given in found.items()} == {"gate-1": True, "gate-2": False, "ask-1": False}
    assert "overridden by human" in shell("approvals", "--all").out


@proves("approvals/hostile")
def test_what_a_request_says_is_only_text(team: Team, shell: Shell) -> None:
    ask(team, subject="\x1b[2J\u202egone", request_type="scope_change")
    ask(team, "late-1", deadline="9999-12-31T23:59:59-12:00")  # a moment that no calendar here has
    for args in (("approvals",), ("approvals", "--all"), ("approvals", "--json")):
        shown = shell(*args).out
        assert "gone" in shown
        assert not {"\x1b", "\u202e"} & set(shown)


@proves("approvals/human/asked")
@pytest.mark.parametrize("misdelivery", ["warning", "refusal"])
def test_a_person_may_be_asked_in_every_dialect(open_team: OpenTeam, misdelivery: Severity) -> None:
    team = open_team(misdelivery=misdelivery)
    ask(team, to="human"), question(team, to="human")
    for name in ("ask-1", "q-1"):
        assert '"findings"' not in (team.story(name).events[0].detail or "")
        assert team.bus.approve(name, approved=True, reason="Fine").accepted

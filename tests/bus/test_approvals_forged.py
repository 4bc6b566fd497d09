"""Approvals: forged, by a person and by signals."""

import json
from typing import Any

import pytest

from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import Dialect
from telex.dialects.toml.loader import declare
from telex.errors import InvalidValue, NotFound, RequestTimedOut
from telex.model.finding import Severity
from telex.ports.bus import Receipt
from telex.work import reducer
from telex.work.view import work_message_from_log
from tests.bus.bus_team import QUICK, OpenTeam, Shell, Team, codes, speech_of
from tests.bus.test_approvals import CTO, DEV, answer, approval, ask, question, typed, waits
from tests.proofs import proves
from tests.work.contract_team import ask as asking
from tests.work.contract_team import contract, kept
from tests.work.pipeline_team import Crew

DESK_FILE = """
name = "policy"
version = "1.0"
purpose = "Whoever likes says yes."
roles = ["boss", "hand"]
[envelope]
ref = "string"
thread = "string?"
[wire]
id = "ref"
correlation = "thread"
[types.said]
purpose = "Yes or no."
senders = ["*"]
receivers = ["*"]
intent = INTENT
says = { decision = "word", request = "about" }
values = { decision = { yes = "ok", no = "nok", conditional = "nok" } }
[types.said.fields]
about = "string?"
word = { type = "enum", values = ["ok", "nok"] }
"""


def policy(intent: str) -> Dialect:
    dialect = declare(DESK_FILE.replace("INTENT", intent), "policy.toml").dialect
    assert dialect is not None
    return dialect


def asked(open_team: OpenTeam, *own: Dialect) -> Team:
    """dev has asked the lead for something, and mal has been asked for nothing."""
    team = open_team(own_dialects=own)
    team.bus.join("dev", dialects=["vbw-typed"])
    team.bus.join("mal", role="orchestrator", dialects=["signal-md"])
    ask(team)
    return team


def shown_to_dev(team: Team) -> str | None:
    """As what dev is given the next message; None is markdown."""
    leased = team.take("dev")
    assert leased.rendering is not None
    return leased.rendering.type


@proves("approvals/forged")
@pytest.mark.parametrize("intent", ['"answer"', '["release", "answer"]'])
@pytest.mark.parametrize(
    "how, code",
    [
        ({"about": "ask-1"}, "may-not-answer"),
        ({"thread": "1-1-T1"}, "approval-unknown"),
        ({}, "approval-unknown"),
    ],
)
def test_an_answer_in_a_users_dialect_is_refused_where_a_built_in_one_is(
    open_team: OpenTeam, how: dict[str, Any], code: str, intent: str
) -> None:
    team = asked(open_team, policy(intent))
    said = {"type": "said", "ref": "yes-1", "word": "ok", **how}
    receipt = team.bus.send(json.dumps(said), sender="mal", to="dev", check=False)
    assert codes(receipt.findings) == [code]
    assert approval(team, "ask-1").waits


@proves("approvals/forged")
@pytest.mark.parametrize("how", [{}, {"correlation": "1-1-T1"}])
def test_a_signal_that_answers_nothing_is_shown_as_markdown(open_team: OpenTeam, how: dict[str, Any]) -> None:
    team = asked(open_team)
    lgtm = speech_of("signal-md", "approval", signal="lgtm")
    assert team.bus.send(lgtm.raw, sender="mal", to="dev", **how).accepted
    assert shown_to_dev(team) is None


@proves("approvals/forged")
def test_an_answer_that_names_nothing_and_decides_by_its_task_is_told_with_what_it_answers(open_team: OpenTeam) -> None:
    team = asked(open_team)
    team.bus.join("cleo", role="cto", dialects=["build-flow"])
    ask(team, "ask-2", to="cleo")
    task = json.loads(team.story("ask-2").message.raw)["task"]
    team.say(speech_of("vbw-typed", "approval_response", "an-1", author_role="lead", payload={
        "request_id": "ask-1", "approved": False, "reason": "No"}), to="dev")  # fmt: skip
    said = speech_of("build-flow", "VALIDATION_RESPONSE", messageId="yes-1", **{"from": "cleo", "to": "dev"})
    tree = {name: value for name, value in said.tree.items() if name not in ("replyTo", "correlationId")}
    tree["payload"] = tree["payload"] | {"taskId": task}
    assert team.bus.send(tree | {"correlationId": task}, sender="cleo", to="dev").accepted
    assert team.story("yes-1").message.reply_to == "ask-2"
    assert not approval(team, "ask-2").waits


@proves("approvals/request")
def test_whoever_waits_for_an_approval_is_handed_what_decides_it_and_nothing_else(team: Team) -> None:
    team.bus.join("mal", role="orchestrator")

    def meanwhile() -> None:
        team.clock.meanwhile = None
        other = team.other()
        other.send("approved", sender="mal", to="dev", reply_to="ask-1", id="words-1")
        other.send(speech_of("signal-md", "task_assignment").raw, sender="mal", to="dev", reply_to="ask-1")
        raw = typed("approval_response", "an-1", "lead", request_id="ask-1", approved=True)
        assert other.send(raw, sender="lead", to="dev").accepted

    team.clock.meanwhile = meanwhile
    tree = json.loads(typed("approval_request", "ask-1", "dev"))
    tree["payload"].pop("deadline", None)
    answer = team.other().request(tree, sender="dev", to="lead", timeout=60.0)
    assert not isinstance(answer, Receipt)
    assert answer.message.id == "an-1"
    assert "words-1" in [message.id for _, message in team.bus.inbox("dev")], "what else was said waits there"


@proves("approvals/request")
def test_words_alone_let_whoever_waits_for_an_approval_wait_on(team: Team) -> None:
    def meanwhile() -> None:
        team.clock.meanwhile = None
        assert team.other().send("Sure", sender="lead", to="dev", reply_to="ask-1").accepted

    team.clock.meanwhile = meanwhile
    tree = json.loads(typed("approval_request", "ask-1", "dev"))
    tree["payload"].pop("deadline", None)
    with pytest.raises(RequestTimedOut):
        team.other().request(tree, sender="dev", to="lead", timeout=30.0)


@proves("approvals/signals/nobody-else")
@pytest.mark.parametrize("to", ["lead", "orchestrator"])
def test_a_work_approves_nothing_that_is_asked_under_the_id_of_a_result(team: Team, to: str) -> None:
    crew = Crew(team)
    team.bus.join("eve", role="dev")
    crew.start()
    result = None
    for _ in range(30):
        turn = crew.turn()
        assert turn.refused == ()
        checked = [one for one in crew.work().places.values() if one.state == "checking" and one.answer]
        if checked and result is None:
            result = checked[0].answer
            tree = json.loads(typed("approval_request", result, "dev", request_type="gate_override"))
            tree["payload"].pop("deadline", None)
            assert team.bus.send(tree, sender="eve", to=to).accepted
        if not crew.agents() and turn.idle:
            break
    assert result is not None
    assert approval(team, result).waits
    assert all(place.told for place in crew.work().places.values() if place.state == "approved")


@proves("approvals/signals/nobody-else")
def test_a_signal_of_an_old_record_from_who_was_not_asked_decides_nothing(team: Team) -> None:
    """Before signals decided anything they were taken from everybody."""
    team.bus.join("mal", role="orchestrator")
    ask(team)
    dialects = {one.name: one for one in BUILT_IN}
    book = reducer.written(team.bus.events(), dialects)
    lgtm = speech_of("signal-md", "approval", signal="lgtm")
    assert team.bus.send(lgtm.raw, sender="mal", to="dev", id="old-1").accepted
    message = team.story("old-1").message._replace(reply_to="ask-1")
    said = work_message_from_log(message, None, dialects["signal-md"])
    assert said is not None
    assert reducer.topics_changed(said, book) == ()
    assert reducer.topics_changed(said._replace(sender="lead", role="lead"), book) != ()


@proves("approvals/unread")
def test_a_request_in_a_dialect_that_the_team_has_no_more_is_nobodys_to_see(open_team: OpenTeam, shell: Shell) -> None:
    text = 'name = "typed-plus"\nversion = "1.0"\npurpose = "Ours."\nextends = "vbw-typed"\n'
    text += '[types.extra]\npurpose = "More."\nsenders = ["lead"]\nreceivers = ["dev"]\n'
    own = declare(text, "own.toml").dialect
    assert own is not None
    team = open_team(own_dialects=(own,), dialect="typed-plus")
    ask(team)
    assert list(team.bus.work_state("approval")) == ["approval:ask-1"]
    other = team.other(QUICK)
    assert other.work_state("approval") == {}
    receipt = other.send("Go ahead", sender="lead", to="dev", reply_to="ask-1")
    assert (receipt.accepted, codes(receipt.findings)) == (True, [])
    assert shell("approvals").code == 0


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
        assert "role-claim-differs" in codes(team.bus.send(raw, sender=sender, to="dev", check=False).findings)
    raw = typed("approval_response", "an-qa", "qa", request_id="ask-1")  # a role that may not answer either
    assert "role-may-not-send" in codes(team.bus.send(raw, sender="human", to="dev", check=False).findings)
    for type_ in ("plan_contract", "shutdown_request", "approval_request"):
        raw = speech_of("vbw-typed", type_, f"{type_}-1", author_role="lead").raw
        assert "role-claim-differs" in codes(team.bus.send(raw, sender="human", to="dev", check=False).findings)
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


@pytest.fixture
def led(team: Team) -> Team:
    """Two who lead by signals: one will be asked, the other never is."""
    team.bus.join("orla", role="orchestrator", dialects=["signal-md"])
    team.bus.join("mal", role="orchestrator", dialects=["signal-md"])
    return team


def signal(team: Team, sender: str, signal: str, reply_to: str | None = "ask-1", to: str = "dev") -> Receipt:
    type_ = {"lgtm": "approval", "revise": "revision_request"}[signal]
    said = speech_of("signal-md", type_, signal=signal)
    return team.other().send(said.raw, sender=sender, to=to, reply_to=reply_to, check=False)


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

"""Does an answer find its way back, when whoever gives it was shown the question in another dialect?"""

import json
from typing import Any

import pytest

from telex.model.message import Lease
from telex.ports.bus import Receipt
from tests.bus_team import Shell, Team, codes, flow, open_team, shell, speech_of, team
from tests.proofs import proves
from tests.shutdown_kit import agrees, reply, request

__all__ = ["open_team", "shell", "team"]


@pytest.fixture
def mixed(team: Team) -> Team:
    """A lead that reads vbw-typed, and a cto that reads build-flow."""
    team.bus.join("lead", dialects=["vbw-typed"])
    team.bus.join("cto", dialects=["build-flow"])
    return team


def ask(team: Team, id: str = "ask-1", task: str = "1-1-T3") -> dict[str, Any]:
    """A request for approval, and how the cto has it."""
    team.say(speech_of("vbw-typed", "approval_request", id, task=task, author_role="lead"), to="cto")
    return seen(team.take("cto"))


def seen(leased: Lease) -> dict[str, Any]:
    found = json.loads(leased.raw)
    assert isinstance(found, dict)
    return found


def answer(team: Team, question: dict[str, Any], id: str = "yes-1", **changes: Any) -> Receipt:
    """A VALIDATION_RESPONSE about what the question is about; it names nothing unless it is told to."""
    task = question["payload"]["taskId"]
    words = {"correlationId": question["correlationId"], "replyTo": None} | changes
    raw = json.loads(flow("VALIDATION_RESPONSE", id, "cto", "lead", task, **words))
    return team.bus.send({name: value for name, value in raw.items() if value is not None}, sender="cto")


def is_answered(team: Team, id: str = "ask-1") -> bool:
    [book] = [one for topic, one in team.bus.work_state("approval").items() if topic == f"approval:{id}"]
    story = team.story(id)
    told = [event.kind for event in story.events].count("answered")
    assert (book.answer is not None) == (told == 1) == (story.answer_by is None)
    return bool(told)


@proves("reader_form/reply/named")
def test_an_answer_that_names_what_it_was_shown_reaches_the_asker_in_its_own_dialect(mixed: Team) -> None:
    question = ask(mixed)
    assert (question["type"], question["messageId"]) == ("VALIDATION_REQUEST", "ask-1")
    assert not is_answered(mixed)
    assert answer(mixed, question, replyTo="ask-1").accepted
    assert is_answered(mixed)
    told = seen(mixed.take("lead"))
    assert (told["type"], told["payload"]["request_id"], told["payload"]["approved"]) == (
        "approval_response",
        "ask-1",
        True,
    )
    assert mixed.story("yes-1").message.reply_to == "ask-1"
    assert mixed.story("yes-1").message.correlation == mixed.story("ask-1").message.correlation == "1-1-T3"


@proves("reader_form/reply/held")
def test_an_answer_that_names_nothing_answers_what_its_sender_holds(mixed: Team) -> None:
    question = ask(mixed)
    assert answer(mixed, question, correlationId="").accepted
    assert is_answered(mixed)
    assert mixed.story("yes-1").message.reply_to == "ask-1"
    assert seen(mixed.take("lead"))["payload"]["request_id"] == "ask-1"


@proves("reader_form/reply/held")
def test_a_dialect_without_ids_answers_what_its_sender_was_shown(mixed: Team) -> None:
    mixed.bus.join("worker", dialects=["signal-md"])
    mixed.bus.send(flow("TASK_ASSIGNMENT", "do-1", "build-orchestrator", "worker"), sender="build-orchestrator")
    assert b"type: task_assignment" in mixed.take("worker").raw
    said = speech_of("signal-md", "worker_submission")._replace(sender="worker")
    mixed.say(said, to="build-orchestrator", id="done-1")
    answered = mixed.story("done-1").message
    assert (answered.reply_to, answered.correlation) == ("do-1", "TASK-001")


@proves("reader_form/reply/held")
def test_an_answer_about_something_else_is_not_taken_for_one_to_what_its_sender_holds(mixed: Team) -> None:
    ask(mixed)
    other = {"payload": {"taskId": "2-2-T1"}, "correlationId": "2-2-T1"}
    assert codes(answer(mixed, other).findings) == ["approval-unknown"]
    ask(mixed, "ask-2", task="2-2-T1")
    assert answer(mixed, other, id="yes-2").accepted
    assert (is_answered(mixed), is_answered(mixed, "ask-2")) == (False, True)


@proves("reader_form/reply/conversation")
@pytest.mark.parametrize("task", ["1-1-T3", ""])  # without a task it belongs to no conversation but its own
def test_an_answer_of_somebody_who_holds_nothing_answers_its_conversation(mixed: Team, task: str) -> None:
    mixed.say(speech_of("vbw-typed", "approval_request", "ask-1", task=task, author_role="lead"), to="cto")
    leased = mixed.take("cto")
    mixed.bus.ack(leased.token, agent="cto")
    assert answer(mixed, seen(leased)).accepted
    assert is_answered(mixed)
    assert mixed.story("yes-1").message.reply_to == "ask-1"


@proves("reader_form/reply/doubtful")
def test_an_answer_that_could_mean_either_of_two_answers_neither(mixed: Team) -> None:
    question = ask(mixed)
    ask(mixed, "ask-2")
    receipt = answer(mixed, question)
    assert codes(receipt.findings) == ["approval-unknown"]
    assert not is_answered(mixed)
    assert not is_answered(mixed, "ask-2")


@proves("reader_form/reply/request")
@pytest.mark.parametrize("named", [True, False])
def test_whoever_waits_for_the_answer_is_handed_it_in_its_own_dialect(mixed: Team, named: bool) -> None:
    def meanwhile() -> None:
        for leased in mixed.bus.receive("cto"):
            answer(mixed, seen(leased), **({"replyTo": leased.message.id} if named else {}))

    mixed.clock.meanwhile = meanwhile
    raw = speech_of("vbw-typed", "approval_request", "ask-1", author_role="lead").raw
    got = mixed.bus.request(raw, sender="lead", to="cto", timeout=30.0)
    assert isinstance(got, Lease)
    assert (seen(got)["type"], seen(got)["payload"]["request_id"]) == ("approval_response", "ask-1")
    assert mixed.kinds("yes-1") == ["accepted", "leased", "translated"]


@proves("reader_form/reply/trace")
def test_a_question_without_a_conversation_is_in_the_trace_that_its_answer_began(mixed: Team, shell: Shell) -> None:
    question = ask(mixed, task="")
    assert question["correlationId"] == "ask-1"
    answer(mixed, question, replyTo="ask-1")
    lines = shell("trace", "ask-1").out.splitlines()
    assert [line for line in lines if "approval_request" in line]
    assert [line for line in lines if "└─" in line and "VALIDATION_RESPONSE" in line]


@proves("reader_form/reply/approve")
@pytest.mark.parametrize("role", ["cto", "worker", "senior"])
@pytest.mark.parametrize("task", ["1-1-T3", ""])
def test_whoever_was_asked_can_approve_without_writing_a_message(team: Team, role: str, task: str) -> None:
    team.bus.join("lead", dialects=["vbw-typed"])
    team.bus.join("ada", role=role, dialects=["signal-md"])
    team.say(speech_of("vbw-typed", "approval_request", "ask-1", task=task, author_role="lead"), to="ada")
    receipt = team.bus.approve("ask-1", approved=True, reason="fine", agent="ada")
    assert (receipt.accepted, receipt.dialect) == (True, "build-flow"), receipt.findings
    assert is_answered(team)
    leased = team.take("lead")
    if role == "cto":
        payload = seen(leased)["payload"]
        assert (payload["request_id"], payload["reason"]) == ("ask-1", "fine")
    else:  # neither is a role that may approve in vbw-typed
        assert leased.raw.startswith(f"# VALIDATION_RESPONSE from ada ({role}) to lead\n".encode())
        assert b"fine" in leased.raw


@proves("reader_form/reply/approve")
def test_a_role_that_the_dialect_knows_and_does_not_let_answer_is_still_refused(team: Team) -> None:
    team.say(speech_of("vbw-typed", "approval_request", "ask-1", author_role="lead"), to="qa")
    receipt = team.bus.approve("ask-1", approved=True, reason="fine", agent="qa")
    assert (receipt.dialect, codes(receipt.findings)) == ("vbw-typed", ["role-may-not-send"])


# --- agreeing to stop -------------------------------------------------------------------------------------------------


@proves("reader_form/stop/outsider")
@pytest.mark.parametrize("role", ["worker", "cto", "senior"])
def test_a_role_that_vbw_typed_does_not_know_agrees_under_one_that_it_does(team: Team, role: str) -> None:
    team.bus.join("ada", role=role, dialects=["signal-md"])
    team.bus.join("bob", role=role)
    call = request(team)
    assert b"shutdown_response" in team.take("ada").raw
    agrees(team, "ada", call, role="dev")
    standing = {one.member.name: one.state for one in team.bus.roster()}
    assert (standing["ada"], standing["bob"]) == ("shut down", "here")
    assert team.story("ada-to-stop-1").message.role == role, "the record says who it was"


@proves("reader_form/stop/insider")
def test_a_role_that_vbw_typed_knows_agrees_under_no_other(team: Team) -> None:
    team.bus.join("ada", role="qa", dialects=["signal-md"])
    receipt = reply(team, "ada", request(team), role="dev")
    assert codes(receipt.findings) == ["role-claim-differs"]


@proves("reader_form/stop/outsider")
def test_under_another_role_nothing_else_is_said(team: Team) -> None:
    team.bus.join("ada", role="worker")
    for type_ in ("execution_update", "approval_response", "shutdown_request"):
        said = speech_of("vbw-typed", type_)
        receipt = team.bus.send(said.raw, sender="ada", to="lead")
        assert "role-claim-differs" in codes(receipt.findings)


@proves("reader_form/stop/outsider")
def test_text_in_its_place_is_told_how_to_sign(team: Team) -> None:
    team.bus.join("ada", role="worker")
    request(team)
    receipt = team.bus.send("Sure, I am done", sender="ada", to="lead")
    [finding] = receipt.findings
    begun = json.loads(finding.expected or "")
    assert finding.code == "shutdown-not-answered"
    assert begun["author_role"].startswith("<fill: ")

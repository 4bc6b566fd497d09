"""Translated messages: their events, the spelling of fields, and replies to them."""

import json
from typing import Any

import pytest

from telex.bus.render import rendering_for
from telex.dialects.builtin.vbw import VBW_HANDOFF
from telex.dialects.builtin.vbw_typed import VBW_TYPED
from telex.model.message import LeasedMessage
from telex.ports.bus import Receipt
from tests.bus.bus_team import Shell, Team, codes, flow, speech_of
from tests.bus.shutdown_kit import agrees, joined, reply, request
from tests.bus.test_reader_form import message_of, reader
from tests.proofs import proves

PROGRESS = speech_of("vbw-typed", "execution_update", "up-1")


def unmarked(out: str) -> str:
    return "".join(line.removeprefix("| ") for line in out.splitlines(keepends=True))


@pytest.fixture
def told(team: Team) -> Team:
    """ada reads build-flow and is sent an execution_update."""
    team.bus.join("ada", role="lead", dialects=["build-flow"])
    team.say(PROGRESS, to="ada")
    return team


# --- the record -------------------------------------------------------------------------------------------------------


@proves("reader_form/record/event")
def test_what_a_reader_was_given_is_told_with_its_turn(told: Team) -> None:
    leased = told.take("ada")
    found = leased.rendering
    assert found is not None
    [event] = [one for one in told.story("up-1").events if one.kind == "translated"]
    assert (event.agent, event.delivery, event.inbox) == ("ada", leased.delivery, "ada")
    counts = {name: len(getattr(found, name)) for name in ("lost", "invented", "narrowed")}
    detail = {"dialect": "build-flow", "type": "STATUS_UPDATE"} | {name: n for name, n in counts.items() if n}
    assert json.loads(event.detail or "") == detail
    assert counts["lost"], "an execution_update says more than a STATUS_UPDATE can"
    assert told.kinds("up-1") == ["accepted", "leased", "translated"]


@proves("reader_form/record/original")
def test_only_the_original_is_kept_and_each_turn_renders_it_anew(told: Team) -> None:
    first = told.take("ada")
    told.bus.nack(first.token, agent="ada", reason="not now")
    told.later(60.0)
    told.bus.join("ada", dialects=["vbw-handoff"])  # it has changed its mind meanwhile
    second = told.take("ada")
    assert [one.rendering and one.rendering.dialect for one in (first, second)] == ["build-flow", "vbw-handoff"]
    assert [one.message.raw for one in (first, second)] == [PROGRESS.raw] * 2
    assert told.story("up-1").message.raw == PROGRESS.raw
    assert [one["dialect"] for one in told.happened("translated")] == ["build-flow", "vbw-handoff"]


# --- spelling ---------------------------------------------------------------------------------------------------------


def answer_read_by_a_lead_of(team: Team, *reads: str, **words: object) -> LeasedMessage:
    """A shutdown_response in the hands of a lead that reads this."""
    team.bus.join("lead", dialects=reads)
    joined(team, "ada")
    call = request(team)
    assert reply(team, "ada", call, **words).accepted  # type: ignore[arg-type]
    return team.take("lead")


def payload(leased: LeasedMessage) -> dict[str, object]:
    found = json.loads(leased.raw)["payload"]
    assert isinstance(found, dict)
    return found


LATER = {"approve": None, "approved": True}  # as a later sender spells it


@proves("reader_form/spelling/written")
@pytest.mark.parametrize("reads", ["vbw-typed@2.0+approved", "vbw-typed+approved"])
def test_a_reader_that_asks_for_the_later_spelling_is_given_it(team: Team, reads: str) -> None:
    leased = answer_read_by_a_lead_of(team, reads)
    assert payload(leased)["approved"] is True
    assert "approve" not in payload(leased)
    assert json.loads(leased.raw) == {
        **json.loads(leased.message.raw),
        "payload": {
            ("approved" if k == "approve" else k): v for k, v in json.loads(leased.message.raw)["payload"].items()
        },
    }
    assert "translated" in team.kinds("ada-to-stop-1")
    team.say(speech_of("vbw-typed", "qa_verdict", "v-1"), to="lead")
    assert team.take("lead").rendering is None


@proves("reader_form/spelling/as-the-page")
@pytest.mark.parametrize("reads", ["vbw-typed@2.0", "vbw-typed"])
def test_any_other_reader_of_the_dialect_is_given_the_name_on_the_page(team: Team, reads: str) -> None:
    leased = answer_read_by_a_lead_of(team, reads, **LATER)
    assert payload(leased)["approve"] is True
    assert "approved" not in payload(leased)


@proves("reader_form/spelling/written", "reader_form/spelling/as-the-page")
@pytest.mark.parametrize("reads, words", [("vbw-typed@2.0+approved", LATER), ("vbw-typed@2.0", {}), (None, LATER)])
def test_what_is_spelt_as_its_reader_wants_it_is_handed_over_as_it_is(
    team: Team, reads: str | None, words: dict[str, object]
) -> None:
    leased = answer_read_by_a_lead_of(team, *([reads] if reads else []), **words)
    assert (leased.rendering, leased.raw) == (None, leased.message.raw)


@proves("reader_form/spelling/as-given")
@pytest.mark.parametrize("words", [{}, LATER])
@pytest.mark.parametrize(
    "reads, later",
    [
        ("vbw-typed@2.0+approved", "vbw-typed"),
        ("vbw-typed", "vbw-typed@2.0+approved"),
        ("vbw-typed+approved", "build-flow"),
        ("vbw-typed+approved", "plain"),
    ],
)
def test_what_a_reader_was_given_is_spelt_as_it_was_then(
    team: Team, reads: str, later: str, words: dict[str, object]
) -> None:
    leased = answer_read_by_a_lead_of(team, reads, **words)
    team.bus.join("lead", dialects=[later])
    told = team.bus.rendering(leased.message, agent="lead")
    assert told == leased.rendering
    shown = told.raw if told is not None else leased.message.raw
    assert shown == leased.raw


@proves("reader_form/spelling/written")
def test_what_is_translated_is_spelt_for_its_reader_as_well() -> None:
    update = VBW_TYPED.types["execution_update"]
    later = {**update.fields, "commit": update.fields["commit"]._replace(later_spelling="revision")}
    respelt = VBW_TYPED._replace(types={**VBW_TYPED.types, update.name: update._replace(fields=later)})
    message = message_of(VBW_HANDOFF, VBW_HANDOFF.types["dev_progress"])
    for reads, spelt in {"vbw-typed+revision": "revision", "vbw-typed": "commit"}.items():
        found = rendering_for(message, reader(reads), {VBW_HANDOFF.name: VBW_HANDOFF, respelt.name: respelt})
        assert found is not None
        assert {"revision", "commit"} & json.loads(found.raw)["payload"].keys() == {spelt}


# --- the command line -------------------------------------------------------------------------------------------------


@proves("reader_form/cli/receive")
def test_receive_prints_what_the_reader_reads_and_what_that_cost(told: Team, shell: Shell) -> None:
    ran = shell("receive", "--as", "ada")
    assert json.loads(unmarked(ran.out))["type"] == "STATUS_UPDATE"
    assert "build-flow STATUS_UPDATE from dev, translated from vbw-typed execution_update (" in ran.err
    assert "\nlost: $." in ran.err


@proves("reader_form/cli/receive")
def test_programs_are_told_where_something_was_lost(told: Team, shell: Shell) -> None:
    facts = json.loads(shell("receive", "--as", "ada", "--json").out)
    original = facts["translated_from"]
    assert (facts["dialect"], facts["type"]) == ("build-flow", "STATUS_UPDATE")
    assert facts["message"]["type"] == "STATUS_UPDATE"
    assert (original["dialect"], original["type"]) == ("vbw-typed", "execution_update")
    assert "$.payload.commit" in [*original["lost"], *original["narrowed"]]
    told.say(speech_of("build-flow", "STATUS_UPDATE", "s-1"), to="ada")
    assert "translated_from" not in json.loads(shell("receive", "--as", "ada", "--json").out)


@proves("reader_form/cli/inbox")
def test_the_inbox_lists_messages_as_their_reader_will_have_them(told: Team, shell: Shell) -> None:
    assert shell("inbox", "--as", "ada").out.splitlines()[1].split()[:4] == ["up-1", "STATUS", "STATUS_UPDATE", "dev"]
    full = shell("inbox", "--as", "ada", "--full").out
    assert '"taskId"' in full
    assert '"task_id"' not in full
    facts = json.loads(shell("inbox", "--as", "ada", "--full", "--json").out)
    assert (facts["type"], facts["translated_from"]["type"]) == ("STATUS_UPDATE", "execution_update")


@proves("reader_form/cli/show", "reader_form/record/original")
def test_show_prints_the_original_and_who_was_given_it_otherwise(told: Team, shell: Shell) -> None:
    told.take("ada")
    ran = shell("show", "up-1")
    assert json.loads(unmarked(ran.out)) == PROGRESS.tree
    assert "ada received build-flow STATUS_UPDATE, " in ran.err
    assert shell("show", "up-1", "--raw").out.encode() == PROGRESS.raw
    seen = shell("show", "up-1", "--as", "ada")
    assert json.loads(unmarked(seen.out))["type"] == "STATUS_UPDATE"
    assert json.loads(shell("show", "up-1", "--as", "ada", "--json").out)["translated_from"]["dialect"] == "vbw-typed"
    assert shell("show", "up-1", "--as", "dev").out == ran.out
    assert shell("show", "up-1", "--as", "nobody-of-that-name").code == 3


@proves("reader_form/cli/show")
def test_show_prints_what_was_given_though_its_reader_reads_something_else_by_now(told: Team, shell: Shell) -> None:
    assert "as ada would receive it now" in shell("show", "up-1", "--as", "ada").err
    given = told.take("ada").raw
    for reads in ("vbw-typed", "vbw-handoff", "plain", "build-flow"):
        told.bus.join("ada", dialects=[reads])
        ran = shell("show", "up-1", "--as", "Ada", "--raw")
        assert ran.out.encode() == given, reads
        assert "as ada received it" in shell("show", "up-1", "--as", "ada").err
    assert json.loads(shell("show", "up-1", "--as", "ada", "--json").out)["given"] is True


@proves("reader_form/cli/show")
def test_what_was_given_as_it_was_sent_is_shown_so(team: Team, shell: Shell) -> None:
    team.bus.join("ada", role="lead")
    team.say(PROGRESS, to="ada")
    team.take("ada")
    team.bus.join("ada", dialects=["build-flow"])
    assert shell("show", "up-1", "--as", "ada", "--raw").out.encode() == PROGRESS.raw


@proves("reader_form/cli/show")
def test_what_comes_once_more_is_shown_as_it_will_come(told: Team, shell: Shell) -> None:
    told.bus.nack(told.take("ada").token, agent="ada", reason="not now")
    told.bus.join("ada", dialects=["vbw-handoff"])
    ran = shell("show", "up-1", "--as", "ada")
    assert json.loads(unmarked(ran.out))["type"] == "dev_progress"
    assert "as ada would receive it now" in ran.err


@proves("reader_form/cli/why")
def test_every_story_tells_into_what_it_was_translated_and_for_whom(told: Team, shell: Shell) -> None:
    told.take("ada")
    lines = shell("why", "up-1").out.splitlines()
    [line] = [one for one in lines if "translated" in one]
    assert "for ada into build-flow STATUS_UPDATE, " in line
    assert "for ada into build-flow STATUS_UPDATE" in shell("events").out
    correlation = told.story("up-1").message.correlation
    for form in ("tree", "sequence", "mermaid", "svg"):
        drawn = shell("trace", str(correlation), "--format", form).out
        assert "execution_update" in drawn
        assert "build-flow STATUS_UPDATE" in drawn, form


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


def seen(leased: LeasedMessage) -> dict[str, Any]:
    found = json.loads(leased.raw)
    assert isinstance(found, dict)
    return found


def answer(team: Team, question: dict[str, Any], id: str = "yes-1", **changes: Any) -> Receipt:
    """A VALIDATION_RESPONSE about what the question is about; it names nothing unless it is told to."""
    task = question["payload"]["taskId"]
    words = {"correlationId": question["correlationId"], "replyTo": None} | changes
    raw = json.loads(flow("VALIDATION_RESPONSE", id, "cto", "lead", task, **words))
    return team.bus.send({name: value for name, value in raw.items() if value is not None}, sender="cto", check=False)


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
    assert isinstance(got, LeasedMessage)
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
    receipt = team.bus.approve("ask-1", approved=True, reason="fine", agent="qa", check=False)
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
        receipt = team.bus.send(said.raw, sender="ada", to="lead", check=False)
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

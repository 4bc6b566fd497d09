"""Is anybody ever shown an approval that nobody gave who may?"""

import json
from typing import Any

import pytest

from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import Dialect
from telex.dialects.toml.loader import declare
from telex.errors import RequestTimedOut
from telex.ports.bus import Receipt
from telex.work import reducer
from telex.work.view import work_message_from_log
from tests.bus_team import QUICK, OpenTeam, Shell, Team, codes, open_team, shell, speech_of, team
from tests.pipeline_team import Crew
from tests.proofs import proves
from tests.test_approvals import approval, ask, typed

__all__ = ["open_team", "shell", "team"]

DESK_FILE = """
name = "desk"
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


def desk(intent: str) -> Dialect:
    dialect = declare(DESK_FILE.replace("INTENT", intent), "desk.toml").dialect
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
    team = asked(open_team, desk(intent))
    said = {"type": "said", "ref": "yes-1", "word": "ok", **how}
    receipt = team.bus.send(json.dumps(said), sender="mal", to="dev")
    assert codes(receipt.findings) == [code]
    assert approval(team, "ask-1").waits


@proves("approvals/forged")
@pytest.mark.parametrize("how", [{}, {"correlation": "1-1-T1"}])
def test_a_signal_that_answers_nothing_is_shown_as_markdown(open_team: OpenTeam, how: dict[str, str]) -> None:
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

"""One member of a team speaks a dialect that the team has written itself, and everybody else one of ours."""

import json
from itertools import count
from typing import Any

import pytest

from telex.dialects.write import write
from telex.ports.bus import Receipt
from telex.validation.check import STRICT, check
from tests.bus.bus_team import OpenTeam, Team, codes, speech, speech_of
from tests.dialects.toml_dialects import KANBAN, declared
from tests.proofs import proves

TASK = "1-1-T3"


@pytest.fixture
def team(open_team: OpenTeam) -> Team:
    """A lead that reads vbw-typed, a worker that reads signal-md, and two that read the team's own kanban."""
    team = open_team(own_dialects=(KANBAN,))
    team.bus.join("lead", dialects=["vbw-typed"])
    team.bus.join("worker", dialects=["signal-md"])
    team.bus.join("max", role="maker", dialects=["kanban@1.0"])
    team.bus.join("olga", role="owner", dialects=["kanban"])
    return team


def card(team: Team, sender: str, type_: str, to: str = "lead", **words: Any) -> Receipt:
    """Something that max or olga says on a card."""
    made = speech(KANBAN, KANBAN.types[type_], f"{sender}-{type_}", card=TASK, **words)
    receipt = team.bus.send(made.raw, sender=sender, to=to)
    assert receipt.accepted, receipt.findings
    return receipt


def given(team: Team, agent: str) -> tuple[str | None, bytes]:
    """What the agent was given next, and as what."""
    leased = team.take(agent)
    assert team.bus.ack(leased.token, agent=agent)
    return (leased.rendering.type if leased.rendering else leased.message.type), leased.raw


def on_a_card(team: Team, agent: str) -> dict[str, Any]:
    """The same for somebody who reads kanban: nothing else is ever given to it, and its dialect accepts it."""
    type_, raw = given(team, agent)
    checked = check(raw, STRICT._replace(dialects=(KANBAN,), forced=KANBAN))
    assert checked.valid, checked.findings
    assert checked.type == type_
    return dict(checked.tree)


@proves("translation/own/team")
def test_whoever_reads_the_teams_own_dialect_is_given_everything_in_it(team: Team) -> None:
    team.say(speech_of("vbw-typed", "plan_contract", "plan-1", task=TASK), to="max")
    assert on_a_card(team, "max")["text"] == "Add password reset"
    team.say(speech_of("vbw-typed", "execution_update", "up-1", task=TASK), to="olga")
    assert on_a_card(team, "olga")["column"] == "done"
    team.bus.send(speech_of("signal-md", "worker_submission", signal="blocked").raw, sender="worker", to="olga")
    assert on_a_card(team, "olga")["lane"] == "normal"


@proves("reader_form/reader/dialect-gone")
def test_what_waits_in_a_dialect_that_was_taken_away_is_markdown(team: Team) -> None:
    card(team, "max", "moved", to="*", column="review", note="Nearly # there")
    after = team.other(team.settings._replace(own_dialects=()))
    for reader in ("lead", "worker"):
        [leased] = after.receive(reader)
        assert leased.rendering is not None
        assert (leased.rendering.dialect, leased.rendering.type) == ("plain", None)
        text = leased.raw.decode()
        assert text.startswith("# moved from max (maker) to ")
        assert "the dialect kanban" in text
        assert "- note: Nearly # there" in text
    [leased] = after.receive("olga")  # who reads it still does
    assert leased.rendering is None


@proves("translation/own/team")
def test_whatever_it_says_reaches_the_others_in_theirs(team: Team) -> None:
    card(team, "max", "moved", to="*", column="review", note="Nearly", commit="abc1234")
    type_, raw = given(team, "lead")
    assert (type_, json.loads(raw)["payload"]["status"]) == ("execution_update", "partial")
    assert (json.loads(raw)["author_role"], json.loads(raw)["payload"]["commit"]) == ("dev", "abc1234")
    assert given(team, "worker")[0] == "worker_submission"
    assert on_a_card(team, "olga")["column"] == "review", "who reads it has it as it was sent"
    card(team, "max", "stuck", why="The table is gone")
    assert given(team, "lead")[0] == "blocker_report"
    assert team.kinds("max-moved").count("translated") == 2


@proves("translation/own/answered")
def test_what_is_asked_in_own_words_is_answered_in_the_readers_and_threaded_back(team: Team) -> None:
    card(team, "max", "may_i", question="May I drop the table?")
    asked = json.loads(team.take("lead").raw)
    assert (asked["type"], asked["payload"]["subject"]) == ("approval_request", "May I drop the table?")
    payload = {"request_id": asked["id"], "approved": True, "reason": "Nobody needs it"}
    team.say(speech_of("vbw-typed", "approval_response", "yes-1", task=TASK, payload=payload), to="max")
    answer = on_a_card(team, "max")
    assert (answer["type"], answer["re"], answer["ok"], answer["card"]) == ("ruling", "max-may_i", True, TASK)
    assert team.story("yes-1").message.reply_to == "max-may_i"
    assert "answered" in team.kinds("max-may_i")
    [approval] = team.bus.work_state("approval").values()
    assert (approval.request.id, approval.answer.id, approval.answer.decision) == ("max-may_i", "yes-1", "approved")


@proves("translation/own/answered")
def test_an_answer_in_a_users_dialect_reaches_the_asker_and_decides_the_request(team: Team) -> None:
    team.bus.join("dev", dialects=["vbw-typed"])
    team.say(speech_of("vbw-typed", "approval_request", "ask-1", task=TASK, author_role="dev"), to="olga")
    assert on_a_card(team, "olga")["id"] == "ask-1"
    card(team, "olga", "ruling", to="dev", re="ask-1", ok=False, because="Not this week")
    type_, raw = given(team, "dev")
    told = json.loads(raw)["payload"]
    assert (type_, told["request_id"], told["approved"]) == ("approval_response", "ask-1", False)
    assert team.story("olga-ruling").message.reply_to == "ask-1"
    [approval] = team.bus.work_state("approval").values()
    assert (approval.answer.decision, approval.answer.reason) == ("rejected", "Not this week")


@proves("translation/own/answered")
def test_only_senders_of_its_type_may_answer_in_a_users_dialect(team: Team) -> None:
    team.bus.join("otto", role="checker", dialects=["kanban"])
    team.say(speech_of("vbw-typed", "approval_request", "ask-1", task=TASK, author_role="lead"), to="olga")
    made = speech(KANBAN, KANBAN.types["ruling"], "yes-1", card=TASK, re="ask-1", ok=True)
    receipt = team.bus.send(made.raw, sender="otto", to="lead", check=False)
    assert not receipt.accepted
    assert "role-may-not-send" in codes(receipt.findings)
    assert team.bus.inbox("lead") == []


@proves("translation/own/answered")
def test_an_answer_to_nothing_at_all_is_refused_as_ever(team: Team) -> None:
    card(team, "max", "moved", column="doing")
    for asked in ("nobody-asked", "max-moved"):
        answer = speech_of("vbw-typed", "approval_response", "yes-1", payload={
            "request_id": asked, "approved": True, "reason": "Why not"
        })  # fmt: skip
        receipt = team.bus.send(answer.raw, sender="lead", to="max", check=False)
        assert codes(receipt.findings) == ["approval-unknown"]


@proves("translation/own/asked")
def test_what_is_asked_in_own_words_is_answered_by_those_who_may_answer_anything(team: Team) -> None:
    team.bus.join("eve", role="dev", dialects=["build-flow"])
    team.bus.join("ada", role="cto", dialects=["build-flow"])
    card(team, "max", "may_i", to="ada", question="May I drop the table?")

    def answer(sender: str) -> Receipt:
        words = {"messageId": f"yes-{sender}", "from": sender, "to": "max", "replyTo": "max-may_i"}
        made = speech_of("build-flow", "VALIDATION_RESPONSE", **words)
        return team.bus.send(made.raw, sender=sender, to="max", check=False)

    for sender, why in (("eve", "you are eve"), ("max", "who asks does not answer")):
        [refused] = answer(sender).findings[-1:]
        assert (refused.code, why in refused.say, "ada" in refused.say) == ("may-not-answer", True, True)
    assert answer("ada").accepted
    assert on_a_card(team, "max")["type"] == "ruling"


@proves("translation/own/asked")
@pytest.mark.parametrize("agent, type_", [("lead", "approval_response"), ("olga", "ruling"), ("human", "ruling")])
def test_a_request_in_a_users_dialect_is_approved_by_its_id(team: Team, agent: str, type_: str) -> None:
    card(team, "max", "may_i", to="lead", question="May I drop the table?")
    receipt = team.bus.approve("max-may_i", agent=agent, approved=True, reason="Fine")
    assert (receipt.accepted, receipt.type) == (True, type_), receipt.findings
    [approval] = team.bus.work_state("approval").values()
    assert (approval.answer.decision, approval.answer.reason) == ("approved", "Fine")


@proves("translation/own/deeds")
def test_reports_in_a_users_dialect_change_the_work_state(team: Team) -> None:
    card(team, "olga", "put_up", to="max", title="Reset", text="Add a password reset")
    card(team, "max", "stuck", why="The table is gone", lane="normal")
    [blocker] = team.bus.work_state("blocker").values()
    assert (blocker.task, blocker.what) == (TASK, "The table is gone")
    card(team, "max", "moved", column="done")
    [blocker] = team.bus.work_state("blocker").values()
    [task] = team.bus.work_state("task").values()
    assert blocker is None
    assert (task.title, task.assigned_to, task.reported.status) == ("Reset", "max", "completed")
    team.bus.join("carl", role="checker")
    card(team, "carl", "checked", to="olga", result="holds")
    [task] = team.bus.work_state("task").values()
    assert task.passed == {"carl-checked": "carl"}


@proves("translation/own/asked")
def test_nobody_agrees_to_stop_in_answer_to_another_question(team: Team) -> None:
    team.bus.join("dev", dialects=["vbw-typed"])
    card(team, "max", "may_i", to="dev", question="May I drop the table?")
    words = {"request_id": "max-may_i", "approve": True, "final_status": "complete"}
    answer = speech_of("vbw-typed", "shutdown_response", "bye-1", task=TASK, author_role="dev", payload=words)
    receipt = team.bus.send(answer.raw, sender="dev", to="max", check=False)
    assert codes(receipt.findings) == ["shutdown-not-asked"]


SITE = declared("""
name = "site"
version = "1.0"
purpose = "Notes of a building site, with all that the work rules know."
form = "front-matter"
addresses = "names"
roles = ["chief", "mason", "owner"]
[chain]
mason = "chief"
chief = "owner"
owner = "human"
[envelope]
id = "string"
re = "string?"
[wire]
id = "id"
reply_to = "re"
[types.job]
purpose = "What is to be built."
senders = ["chief"]
receivers = ["mason"]
intent = "assign"
says = { task = "lot", tasks = "walls", allowed = "plots" }
body = "details"
[types.job.fields]
lot = "string"
walls = { type = "list", of = "string" }
plots = { type = "list", of = "string" }
[types.day]
purpose = "How far a wall has come."
senders = ["mason"]
receivers = ["chief"]
intent = "progress"
says = { plan = "lot", task = "wall", status = "is" }
values = { status = { done = "up", partly = "half", started = "half", failed = "down" } }
[types.day.fields]
lot = "string"
wall = "string"
is = { type = "enum", values = ["up", "half", "down"] }
[types.alarm]
purpose = "Somebody above has to decide."
senders = ["mason"]
receivers = ["chief"]
intent = "escalate"
says = { level = "goes_to" }
values = { level = { lead = "chief", senior = "owner", human = "human" } }
body = "reason"
[types.alarm.fields]
goes_to = { type = "enum", values = ["chief", "owner", "human"] }
[types.stop]
purpose = "Everybody goes home."
senders = ["chief"]
receivers = ["*"]
intent = "stop"
[types.gone]
purpose = "I go home."
senders = ["*"]
receivers = ["chief"]
intent = "stopped"
says = { approved = "yes" }
[types.gone.fields]
yes = "boolean"
""")


@proves("translation/own/deeds")
def test_contracts_escalations_and_shutdowns_work_in_a_users_dialect(open_team: OpenTeam) -> None:
    team = open_team(own_dialects=(SITE,))
    for name, role in (("carla", "chief"), ("max", "mason"), ("olga", "owner")):
        team.bus.join(name, role=role, dialects=["site"])

    numbers = count()

    def send(sender: str, to: str, type_: str, body: str = "", **fields: Any) -> Receipt:
        tree = {"type": type_, "id": f"{type_}-{next(numbers)}", **fields}
        return team.bus.send(write(SITE, tree, body), sender=sender, to=to, check=False)

    assert send("carla", "max", "job", "Two walls", lot="L1", walls=["north"], plots=["src/"]).accepted
    [plan] = team.bus.work_state("plan").values()
    assert (plan.words.objective, plan.words.tasks, plan.words.allowed) == ("Two walls", ("north",), ("src/",))
    assert codes(send("max", "carla", "day", lot="L1", wall="south", **{"is": "up"}).findings) == ["task-not-in-plan"]
    assert send("max", "carla", "day", lot="L1", wall="north", **{"is": "up"}).accepted
    assert team.bus.work_state("plan")["plan:L1"].is_complete

    alarm = send("max", "carla", "alarm", "The ground gives way", goes_to="chief")
    assert alarm.accepted, alarm.findings
    team.later(3_700)
    team.bus.sweep()
    [escalation] = team.bus.work_state("escalation").values()
    assert [rung.level for rung in escalation.rungs] == ["chief", "owner"]
    assert "The ground gives way" in team.take("olga").raw.decode()

    stop = send("carla", "max", "stop")
    assert codes(send("max", "carla", "gone", yes=True, re="nothing").findings) == ["shutdown-not-asked"]
    assert send("max", "carla", "gone", yes=True, re=stop.id).accepted
    assert next(presence.member for presence in team.bus.roster() if presence.member.name == "max").stopped_at

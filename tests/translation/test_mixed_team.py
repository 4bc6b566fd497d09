"""Five agents, each of which speaks one dialect and reads no other, do a piece of work together."""

import copy
import json
import re
from typing import Any

import pytest

from telex.dialects.registry import BUILT_IN
from telex.dialects.write import write
from telex.model.message import LeasedMessage
from telex.ports.bus import Receipt
from telex.validation.check import STRICT, check
from tests.bus.bus_team import Shell, Team
from tests.proofs import proves

DIALECTS = {dialect.name: dialect for dialect in BUILT_IN}
# Each under a role of its own dialect: what it reads.
READS = {
    "lead": "vbw-typed",
    "build-orchestrator": "build-flow",
    "dev": "vbw-handoff",
    "qa-lead": "vbw-company",
    "worker": "signal-md",
}
TASK = "1-1-T3"
MARKDOWN = "markdown"


class Five:
    """The team, and what each was given, in order."""

    def __init__(self, team: Team) -> None:
        self.team = team
        self.given: dict[str, list[LeasedMessage]] = {name: [] for name in READS}
        for name, reads in READS.items():
            team.bus.join(name, dialects=[reads])

    def say(self, sender: str, type_: str, words: dict[str, Any], to: str = "*") -> Receipt:
        """Something in the sender's own dialect: the type's example, with these words of its own in it."""
        dialect = DIALECTS[READS[sender]]
        tree = copy.deepcopy(dialect.types[type_].example)
        for name, value in ({dialect.wire.id: f"{sender}-{type_}"} | words).items():
            if name is not None:
                steps = dialect.locate(dialect.types[type_], name)
                place = tree[steps[0]] if len(steps) > 1 else tree
                place[steps[-1]] = value
        raw = write(dialect, tree, dialect.types[type_].body_example)
        receipt = self.team.bus.send(raw, sender=sender, to=to, **self._beside(dialect.wire.id, sender, type_, words))
        assert receipt.accepted, receipt.findings
        return receipt

    def _beside(self, wire_id: str | None, sender: str, type_: str, words: dict[str, Any]) -> dict[str, Any]:
        """What is said at the door where the dialect has no words for it. An answer belongs where its question does."""
        if wire_id is not None:
            return {}
        place = {} if TASK in words.values() or type_ == "worker_submission" else {"correlation": TASK}
        return {"id": f"{sender}-{type_}"} | place

    def read(self, *agents: str) -> dict[str, str]:
        """Everybody takes what waits for it. What each was given last, by its type, in its own dialect."""
        seen = {}
        for name in agents or READS:
            taken = self.team.bus.receive(name, limit=100)
            self.given[name] += taken
            for leased in taken:
                seen[name] = told(leased, READS[name])
        return seen

    def ack(self) -> None:
        for name, leases in self.given.items():
            for leased in leases:
                self.team.bus.ack(leased.token, agent=name)


def told(leased: LeasedMessage, reads: str) -> str:
    """As what the agent was given it; nothing but its own dialect, or markdown, is ever given to anybody."""
    dialect, type_ = leased.message.dialect, leased.message.type
    if leased.rendering is not None:
        dialect, type_ = leased.rendering.dialect, leased.rendering.type
    if dialect == "plain":
        assert leased.raw.startswith((b"# ", b"**"))
        return MARKDOWN
    checked = check(leased.raw, STRICT._replace(forced=DIALECTS[reads]))
    assert (dialect, checked.dialect, checked.type) == (reads, DIALECTS[reads], type_)
    assert checked.valid, checked.findings
    return str(type_)


@pytest.fixture
def five(team: Team) -> Five:
    return Five(team)


def work(five: Five) -> list[dict[str, str]]:
    """The task from its assignment to its verdict. As what each step was read, by reader."""
    steps = []
    everyone = {"from": "build-orchestrator", "to": "*", "broadcast": True}
    five.say("build-orchestrator", "TASK_ASSIGNMENT", {"correlationId": TASK, "taskId": TASK} | everyone)
    steps.append(five.read())
    five.say("dev", "dev_progress", {"task": TASK, "plan_id": "1-1"})
    steps.append(five.read())
    five.say("worker", "worker_submission", {"signal": "blocked"})
    steps.append(five.read())
    five.say("lead", "approval_request", {"id": "ask-1", "task": TASK, "author_role": "lead"}, to="build-orchestrator")
    steps.append(five.read())
    question = json.loads(five.given["build-orchestrator"][-1].raw)
    about = {"correlationId": question["correlationId"], "taskId": question["payload"]["taskId"]}
    back = {"from": "build-orchestrator", "to": "lead", "replyTo": question["messageId"]}
    five.say("build-orchestrator", "VALIDATION_RESPONSE", about | back, to="lead")
    steps.append(five.read())
    five.say("qa-lead", "qa_result", {})
    steps.append(five.read())
    return steps


def stop(five: Five) -> dict[str, str]:
    """Everybody is asked to stop, and agrees as it was told to: in the form that the markdown has begun."""
    five.ack()
    five.team.bus.shut_down(agent="lead", reason="phase_complete", wait=False)
    seen = five.read()
    for name in set(READS) - {"lead"}:
        [begun] = re.findall(rb"^```json\n(.*?)^```", five.given[name][-1].raw, re.DOTALL | re.MULTILINE)
        answer = json.loads(begun)
        answer |= {
            "id": f"{name}-stops",
            "timestamp": "2026-01-01T00:00:00Z",
            "phase": 1,
            "task": "",
            "confidence": "high",
        }
        answer["author_role"] = name if name == "dev" else "qa"
        answer["payload"] |= {"approve": True, "final_status": "complete"}
        receipt = five.team.bus.send(answer, sender=name, to="lead")
        assert receipt.accepted, receipt.findings
    return seen


@proves("reader_form/mixed/whole-task")
def test_a_team_of_five_dialects_runs_a_whole_task(five: Five) -> None:
    assigned, progress, blocked, asked, answered, verdict = work(five)
    assert assigned == {"lead": "plan_contract", "dev": MARKDOWN, "qa-lead": MARKDOWN, "worker": "task_assignment"}
    assert progress == {
        "lead": "execution_update", "build-orchestrator": "STATUS_UPDATE", "qa-lead": "dev_progress",
        "worker": "worker_submission",
    }  # fmt: skip
    assert blocked == {
        "lead": "blocker_report", "build-orchestrator": "STATUS_UPDATE", "dev": "dev_blocker", "qa-lead": "dev_blocker",
    }  # fmt: skip
    assert asked == {"build-orchestrator": "VALIDATION_REQUEST"}
    assert answered == {"lead": "approval_response"}
    assert verdict == {
        "lead": "qa_verdict",
        "build-orchestrator": "QUALITY_REPORT",
        "dev": "qa_result",
        "worker": "review_verdict",
    }


@proves("reader_form/mixed/whole-task")
def test_what_is_said_in_any_dialect_means_the_same_to_the_work(five: Five) -> None:
    work(five)
    team = five.team
    assert team.story("worker-worker_submission").message.reply_to == "build-orchestrator-TASK_ASSIGNMENT"
    assert team.story("worker-worker_submission").message.correlation == TASK
    [approval] = [one for topic, one in team.bus.work_state("approval").items() if topic == "approval:ask-1"]
    assert (approval.request.by, approval.answer.by, approval.answer.decision) == (
        "lead",
        "build-orchestrator",
        "approved",
    )
    got = json.loads(
        next(one.raw for one in five.given["lead"] if one.message.id == "build-orchestrator-VALIDATION_RESPONSE")
    )
    assert (got["payload"]["request_id"], got["payload"]["approved"]) == ("ask-1", True)
    assert team.story("ask-1").answer_by is None


@proves("reader_form/mixed/whole-task")
def test_and_it_ends(five: Five) -> None:
    work(five)
    assert stop(five) == dict.fromkeys(set(READS) - {"lead"}, MARKDOWN)
    report = five.team.bus.shut_down(agent="lead", reason="phase_complete", deadline=0.0)
    assert report.dissolved
    assert {agent.member.name: agent.state for agent in report.agents} == dict.fromkeys(
        set(READS) - {"lead"}, "approved"
    )
    assert five.read("lead") == {"lead": MARKDOWN}, "the report is text"
    assert [one.message.type for one in five.given["lead"]].count("shutdown_response") == 4


@proves("reader_form/mixed/trace")
@pytest.mark.parametrize("form", ["tree", "sequence", "mermaid", "svg"])
def test_the_trace_shows_originals_and_renderings(five: Five, shell: Shell, form: str) -> None:
    work(five)
    drawn = shell("trace", TASK, "--format", form).out
    for _, message in [(lease.inbox, lease.message) for leases in five.given.values() for lease in leases]:
        assert str(message.type) in drawn
    for name, leases in five.given.items():
        for leased in leases:
            if leased.rendering is not None and leased.rendering.type is not None:
                assert f"{READS[name]} {leased.rendering.type}" in drawn


@proves("reader_form/mixed/trace")
def test_programs_read_both_in_the_trace(five: Five, shell: Shell) -> None:
    work(five)
    found = [json.loads(line) for line in shell("trace", TASK, "--json").out.splitlines()]
    [progress] = [one for one in found if one["id"] == "dev-dev_progress"]
    read_as = {event["agent"]: event["detail"]["type"] for event in progress["events"] if event["kind"] == "translated"}
    assert progress["type"] == "dev_progress"
    assert read_as["lead"] == "execution_update"
    assert read_as["build-orchestrator"] == "STATUS_UPDATE"

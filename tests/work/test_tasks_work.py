"""What a commit rests on, what is asked of the documentation, a team's own states, and how tasks are shown."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from telex.config.loader import read
from telex.errors import SettingsError
from telex.generate.tables import task_diagram as diagram
from telex.model.work import TASK_STATES, TaskState, ends_reached
from telex.ports.bus import Receipt
from telex.validation.check import check
from tests.bus.bus_team import OpenTeam, Shell, Team, codes, flow
from tests.proofs import proves
from tests.work.test_tasks import CTO, DEV, HEAD, WAY, escalations, fail, go, move, refused, tell

# --- commits ----------------------------------------------------------------------------------------------------------


def question(team: Team, id_: str, task: str = "TASK-001") -> None:
    assert team.bus.send(flow("VALIDATION_REQUEST", id_, DEV, CTO, task), sender=DEV).accepted


def decide(team: Team, request: str, id_: str, decision: str, task: str = "TASK-001") -> None:
    tree = json.loads(flow("VALIDATION_RESPONSE", id_, CTO, DEV, task, replyTo=request))
    tree["payload"] |= {"decision": decision, "conditions": ["Keep it small"]}
    receipt = team.bus.send(tree, sender=CTO)
    assert receipt.accepted, receipt.findings


def commit(team: Team, ref: str, **payload: Any) -> Receipt:
    return tell(team, "COMMIT_REQUEST", sender=DEV, to=HEAD, approvalRef=ref, **payload)


@proves("tasks/commit/passes")
@pytest.mark.parametrize("decision", ["APPROVED", "CONDITIONAL"])
def test_a_commit_names_the_approval_or_the_request_that_got_it(team: Team, decision: str) -> None:
    question(team, "q-1")
    decide(team, "q-1", "a-1", decision)
    assert commit(team, "a-1").accepted
    assert commit(team, "q-1").accepted


@proves("tasks/commit/refused")
def test_a_commit_without_an_approval_of_its_task_is_refused(team: Team) -> None:
    assert [one.code for one in refused(commit(team, "a-1"))] == ["approval-not-found"]
    question(team, "q-1")
    assert codes(commit(team, "q-1").findings) == ["approval-not-found"]  # it was asked, and nobody has answered
    decide(team, "q-1", "a-1", "REJECTED")
    assert codes(commit(team, "a-1").findings) == ["approval-not-found"]
    question(team, "q-2", "TASK-002")
    decide(team, "q-2", "a-2", "APPROVED", "TASK-002")
    assert codes(commit(team, "a-2").findings) == ["approval-not-found"]
    question(team, "q-3")
    decide(team, "q-3", "approval-3", "APPROVED")
    [finding] = refused(commit(team, "aproval-3"))
    assert (finding.path, finding.expected) == ("$.payload.approvalRef", "one of approval-3")
    assert finding.nearest == "approval-3"


@proves("tasks/commit/passes", "tasks/commit/refused")
def test_a_commit_names_a_passed_quality_report_by_another_agent(team: Team) -> None:
    passed: dict[str, Any] = {"status": "PASSED", "gates": [], "failureCount": 0, "actions": []}
    failed = passed | {"status": "FAILED"}
    good = tell(team, "QUALITY_REPORT", sender=CTO, to=HEAD, **passed).id
    others = [
        tell(team, "QUALITY_REPORT", sender=DEV, to=HEAD, **passed).id,  # of the agent that commits
        tell(team, "QUALITY_REPORT", sender=CTO, to=HEAD, **failed).id,
        tell(team, "QUALITY_REPORT", "TASK-002", sender=CTO, to=HEAD, **passed).id,
    ]
    assert commit(team, good).accepted
    for ref in others:
        [finding] = refused(commit(team, ref))
        assert (finding.code, finding.expected) == ("approval-not-found", f"one of {good}")


@proves("tasks/commit/gates")
def test_a_commit_with_failed_gates_is_refused_though_it_was_approved(team: Team) -> None:
    question(team, "q-1")
    decide(team, "q-1", "a-1", "APPROVED")
    metadata = {"qualityGatesPassed": False, "approvedBy": CTO, "timestamp": "2026-01-01T00:00:00Z"}
    assert codes(commit(team, "a-1", metadata=metadata).findings) == ["gates-not-passed"]


@proves("tasks/docs")
@pytest.mark.parametrize("names", [True, False], ids=["by what it names", "by its conversation"])
def test_a_doc_response_ends_the_waiting_of_its_query(team: Team, names: bool) -> None:
    assert team.bus.send(flow("DOC_QUERY", "d-1", DEV, "plan-manager"), sender=DEV).accepted
    assert team.bus.send(flow("DOC_QUERY", "d-2", DEV, "plan-manager", "TASK-002"), sender=DEV).accepted
    tree = json.loads(flow("DOC_RESPONSE", "d-3", "plan-manager", DEV, replyTo="d-1"))
    if not names:
        del tree["replyTo"]
    assert team.bus.send(tree, sender="plan-manager").accepted
    assert team.story("d-1").answer_by is None
    assert team.story("d-2").answer_by is not None


# --- a team's own states ----------------------------------------------------------------------------------------------

OWN = """
[task_states]
first = "To Do"
assigned = "doing"
working = "doing"
[task_states.states."to do"]
goes_to = ["doing"]
[task_states.states.doing]
goes_to = ["done"]
escalates_to = "stuck"
escalates_after = 1
[task_states.states.done]
[task_states.states.stuck]
"""


@proves("tasks/own")
def test_a_team_is_held_to_its_own_states(open_team: OpenTeam) -> None:
    team = open_team(task_states=read("telex.toml", OWN).task_states)
    assert tell(team, "TASK_ASSIGNMENT").accepted
    assert refused(move(team, "doing", "testing"))[0].expected == "one of done"
    assert refused(move(team, "doing", "stuck"))
    fail(team, 1)
    assert len(escalations(team, "human")) == 1  # nobody stands between: stuck is an end
    go(team, "doing", "stuck")
    go(team, "to do", "doing", "done", task="TASK-002")


@proves("tasks/own")
def test_a_team_is_shown_its_own_states(shell: Shell, team: Team) -> None:
    (team.path.parent / "telex.toml").write_text(OWN, encoding="utf-8")
    shown = shell("task", "--machine").out
    assert "stuck     after 1 failure" in shown
    assert "cto_intervention" not in shown
    assert "doing --> stuck: after 1 failure" in shell("task", "--machine", "--mermaid").out
    assert tell(team, "TASK_ASSIGNMENT").accepted
    assert json.loads(shell("task", "show", "TASK-001", "--json").out)["state"] == "doing"


@proves("tasks/own/wrong")
@pytest.mark.parametrize(
    "before, after, line",
    [
        ('first = "To Do"\n', "", "telex.toml:2: task_states.first: is missing: one of the states"),
        ('goes_to = ["done"]', 'goes_to = ["doen"]', "did you mean done?"),
        ("escalates_after = 1", "escalates_after = 0", "a number from 1 to 1,000"),
        ('assigned = "doing"', 'assigned = "done"', "there is no such transition"),
        ('escalates_to = "stuck"\n', "", "not reachable"),
        ("[task_states.states.done]", '[task_states.states.done]\ngoes_to = ["done"]', "no final state is reachable"),
        ("[task_states.states.done]", "[task_states.states.Doing]\n[task_states.states.done]", "declared twice"),
        ("goes_to", "goes_too", "did you mean goes_to?"),
        ("[task_states.states.stuck]", "[task_states.states]\nstuck = 1", "telex.toml"),
    ],
)
def test_a_table_that_cannot_work_is_said_with_its_line(before: str, after: str, line: str) -> None:
    assert before in OWN
    with pytest.raises(SettingsError) as wrong:
        read("telex.toml", OWN.replace(before, after))
    assert line in wrong.value.say
    assert all(one.startswith("telex.toml") for one in wrong.value.say.split("\n"))


@proves("tasks/own")
def test_the_table_on_the_page_is_one_that_works() -> None:
    page = (Path(__file__).parents[2] / "docs/task-states.md").read_text(encoding="utf-8")
    [text] = re.findall(r"^```toml\n(.*?)^```$", page, flags=re.DOTALL | re.MULTILINE)
    machine = read("telex.toml", text).task_states
    assert machine is not None
    assert machine.states["review"] == TaskState(("done",), ("doing",), "stuck", 2)


# --- showing ----------------------------------------------------------------------------------------------------------


@proves("tasks/machine")
def test_the_command_shows_every_state_and_every_move(shell: Shell) -> None:
    shown = [json.loads(line) for line in shell("task", "--machine", "--json").out.splitlines()]
    assert [one["state"] for one in shown] == list(TASK_STATES.states)
    assert [one["state"] for one in shown if one["end"]] == ["completed", "human_escalation"]
    drawn = shell("task", "--machine", "--mermaid").out
    assert drawn == diagram(TASK_STATES) + "\n"
    for name, state in TASK_STATES.states.items():
        assert all(f"    {name} --> {other}" in drawn for other in state.leads_to)
    table = shell("task", "--machine").out
    for state in TASK_STATES.states.values():
        assert all(other in table for other in state.leads_to)
    assert table.count("after 3 failures") == 4
    assert table.count("after 2 attempts") == 1


@proves("tasks/machine/ends")
def test_every_state_reaches_an_end() -> None:
    for name in TASK_STATES.states:
        assert ends_reached(TASK_STATES, name) & {"completed", "human_escalation"}, name
    for name in WAY:
        assert "completed" in ends_reached(TASK_STATES, name), name


@proves("tasks/show")
def test_a_task_is_shown_with_its_story_and_the_moves_there_are(team: Team, shell: Shell) -> None:
    assert shell("task").err == "no tasks\n"
    tell(team, "TASK_ASSIGNMENT")
    go(team, "assigned", "planning", "planning")
    question(team, "q-1")
    question(team, "q-2")
    decide(team, "q-1", "a-1", "APPROVED")
    [listed] = [json.loads(line) for line in shell("task", "list", "--json").out.splitlines()]
    assert (listed["task"], listed["state"], listed["assigned_to"]) == ("TASK-001", "planning", DEV)
    assert (listed["failures"], listed["moves"]) == ({"planning": 1}, ["validated", "planning"])
    assert [(one["id"], one["decision"]) for one in listed["asks"]] == [("q-1", "approved"), ("q-2", None)]
    assert [one["does"] for one in listed["steps"]] == ["assign", "move", "move"]
    shown = shell("task", "show", "TASK-001").out
    for words in ("assigned → planning", "1 failed in planning", "answer to q-2", "may go to validated, planning"):
        assert words in shown
    assert "TASK-001  planning" in shell("task").out
    missing = shell("task", "show", "TASK-01")
    assert (missing.code, "did you mean TASK-001?" in missing.err) == (3, True)
    assert shell("task", "--mermaid").code == 64


@proves("tasks/reported")
def test_the_last_reported_status_is_shown_beside_the_state(team: Team, shell: Shell) -> None:
    tell(team, "TASK_ASSIGNMENT")
    for status, percent in (("STARTED", 0), ("PROGRESS", 50), ("COMPLETED", 100)):
        assert tell(team, "STATUS_UPDATE", sender=DEV, to=HEAD, status=status, progress=percent).accepted
    assert tell(team, "STATUS_UPDATE", "TASK-002", DEV, HEAD, status="STARTED").accepted
    rows = [line.split()[:3] for line in shell("task").out.splitlines()[1:]]
    assert rows == [["TASK-001", "assigned", "completed"], ["TASK-002", "pending", "started"]]
    assert f"reported completed by {DEV}" in shell("task", "show", "TASK-001").out
    first, _ = [json.loads(line) for line in shell("task", "--json").out.splitlines()]
    assert (first["reported"]["status"], first["reported"]["by"], first["state"]) == ("completed", DEV, "assigned")
    assert move(team, "assigned", "planning").accepted  # the states are as before
    assert move(team, "pending", "assigned", "TASK-002").accepted


@proves("tasks/same-id")
@pytest.mark.parametrize("other", ["task-001", "TASK-001 ", " TASK-001"])
def test_a_task_whose_id_differs_by_case_or_blanks_is_warned_about(team: Team, other: str) -> None:
    assert tell(team, "TASK_ASSIGNMENT").findings == ()
    receipt = tell(team, "STATUS_UPDATE", other, DEV, HEAD, status="STARTED")
    [warning] = [one for one in receipt.findings if one.code == "id-nearly-known"]
    assert (receipt.accepted, warning.severity, warning.path) == (True, "warning", "$.payload.taskId")
    assert warning.nearest == "TASK-001"


@proves("tasks/show/hostile")
def test_what_is_said_of_a_task_is_only_text(team: Team, shell: Shell) -> None:
    name = "T\x1b[2J\u202e1"
    assert tell(team, "TASK_ASSIGNMENT", name, title="\x1b]0;gone\x07").accepted
    assert move(team, "assigned", "planning", name, reason="\x1b[31mred").accepted
    for args in (("task",), ("task", "show", name), ("task", "list", "--json"), ("task", "show", name + "x")):
        ran = shell(*args)
        assert not {"\x1b", "\u202e", "\x07"} & set(ran.out + ran.err)


@proves("tasks/escalation")
def test_an_escalation_of_the_bus_says_nothing_that_a_check_would_find(team: Team) -> None:
    tell(team, "TASK_ASSIGNMENT")
    go(team, *WAY[1:3], "planning", "planning", "planning")
    [escalation] = escalations(team, CTO)
    assert check(json.dumps(escalation)).findings == ()
    assert escalation["payload"]["failureHistory"] == [
        {"agent": DEV, "attempts": 3, "lastError": "The plan was approved"}
    ]

"""Codes about the states of tasks, and what a commit rests on. Shown by plays, like the bus's."""

from telex.dialects.builtin.build_flow import BUILD_FLOW
from telex.generate.codes_approvals import file, play
from telex.generate.codes_bus import BusExplanation
from telex.generate.codes_examples import sent

_DEV, _CTO, _HEAD = "fullstack-developer", "cto", "build-orchestrator"
_TASK = file("task.json", sent(BUILD_FLOW, "TASK_ASSIGNMENT"))
_COMMIT = sent(BUILD_FLOW, "COMMIT_REQUEST", {"messageId": "commit-1", "from": _DEV, "to": _HEAD})


def _move(came_from: str, goes_to: str) -> str:
    change = {"messageId": f"to-{goes_to}", "fromState": came_from, "toState": goes_to}
    return file("move.json", sent(BUILD_FLOW, "STATE_TRANSITION", change))


TASKS = (
    BusExplanation(
        "transition-not-allowed",
        "A move that the task cannot make",
        "The task is in another state than `fromState` says, or its states have no such move. Some moves are there only"
        " after failures: to the CTO after three in one state, to a person after two interventions.",
        "Take one of the moves that are named, from the state that the task is in. `telex task show TASK` tells both,"
        " `telex task --machine` shows all states. A team may declare its own.",
        before=play(
            _TASK,
            f"$ telex send --as {_HEAD} task.json",
            _move("assigned", "in_progress"),
            f"$ telex send --as {_HEAD} move.json",
        ),
        say="Move it to planning: a task in assigned cannot become in_progress.",
        after=play(_move("assigned", "planning"), f"$ telex send --as {_HEAD} move.json"),
    ),
    BusExplanation(
        "approval-not-found",
        "A commit without its approval",
        "What is committed must have been approved. The `approvalRef` of a commit is the id of an earlier approval of"
        " that task, or of the request that got it; a rejection is none, and neither is an approval of another task.",
        "Ask for approval with a VALIDATION_REQUEST, wait for the answer, and name it. `telex task show TASK` lists the"
        " approvals there are.",
        before=play(
            file("question.json", sent(BUILD_FLOW, "VALIDATION_REQUEST", {"from": _DEV, "to": _CTO})),
            f"$ telex send --as {_DEV} question.json",
            file("commit.json", _COMMIT),
            f"$ telex send --as {_DEV} commit.json",
        ),
        say="Ask again once msg-1 has its answer: nobody has approved anything in TASK-001 yet.",
        after=play(
            "$ telex approve msg-1 --reason 'Looks right'",
            file("commit.json", _COMMIT.replace("msg-7", "msg-1")),
            f"$ telex send --as {_DEV} commit.json",
        ),
    ),
)

"""What does each type of build-flow mean to others?"""

from telex.translation.row import Borrowed, Held, Least, Length, Row
from telex.translation.rows_vbw_typed import ITS_TASK

BUILD_FLOW_ROWS = (
    Row(
        "TASK_ASSIGNMENT",
        ("assign",),
        least={
            "task": ITS_TASK,
            "title": Least(Borrowed(("objective", "task", "$correlation"), "unknown"), "the task has no title"),
            "details": Least(Borrowed(("title", "task", "$correlation"), "unknown"), "nothing more is said of it"),
        },
    ),
    Row(
        "STATUS_UPDATE",
        ("progress",),
        when={"status": ("STARTED", "PROGRESS", "COMPLETED", "FAILED")},
        values={"status": {"done": "COMPLETED", "partly": "PROGRESS", "failed": "FAILED", "started": "STARTED"}},
        least={"task": ITS_TASK, "status": Least("PROGRESS", "it is not said to be complete")},
    ),
    Row(
        "STATUS_UPDATE",
        ("blocked",),
        when={"status": ("BLOCKED",)},
        names={"blocker": "blockers", "needs": "details"},
        least={"task": ITS_TASK},
    ),
    Row("STATE_TRANSITION", ("move",)),
    Row(
        "VALIDATION_REQUEST",
        ("ask", "escalate"),
        names={"evidence": "approach", "reason": "subject"},
        values={
            "kind": {
                "plan": "DESIGN",
                "quality": "QUALITY",
                "security": "SECURITY",
                "code": "CODEBASE_REVIEW",
                "scope": "DESIGN",
                "gate": "QUALITY",
            }
        },
        least={"task": ITS_TASK, "kind": Least("DESIGN", "the original does not say of which kind")},
    ),
    Row(
        "VALIDATION_RESPONSE",
        ("answer",),
        names={"modifications": "suggestions"},
        values={"decision": {"yes": "APPROVED", "no": "REJECTED", "conditional": "CONDITIONAL"}},
        least={"task": ITS_TASK},
    ),
    Row(
        "QUALITY_REPORT",
        ("verdict",),
        names={"result": "status", "failures": "gates"},
        unread=("failures",),  # the gates that were passed are listed too
        values={"result": {"pass": "PASSED", "fail": "FAILED", "partly": "FAILED", "notes": "PASSED"}},
        least={"task": ITS_TASK, "gates/status": Least("FAILED", "it is listed as a failure")},
    ),
    Row(
        "ERROR_REPORT",
        ("diagnosis",),
        least={
            "severity": Least("ERROR", "nothing is said of how bad it is"),
            "count": Least(Length("evidence"), "all that are listed"),
        },
    ),
    Row(
        "ESCALATION_REQUEST",
        ("escalate", "blocked"),
        names={"blocker": "reason", "evidence": "history", "attempted": "history"},
        values={"level": {"cto": "CTO", "human": "HUMAN", "lead": "CTO", "senior": "CTO"}},
        least={
            "task": ITS_TASK,
            "level": Least("CTO", "it goes one step up"),
            "reason": Least(Borrowed(("task", "$correlation"), "unknown"), "nothing else is said of it"),
            "history/agent": Least(Borrowed(("$sender",), "unknown"), "whoever sent it"),
        },
    ),
    Row("COMMIT_REQUEST", ("release",)),
    Row("DOC_QUERY", ("question",), least={"query": Least("SEARCH", "it is a question")}),
    Row(
        "DOC_RESPONSE",
        ("findings",),
        parts={"documents/text": "topics"},  # no other field of it takes words
        least={
            "found": Least(Held("documents"), "whether documents are listed"),
            "recommendation": Least("USE_EXISTING", "nothing is proposed, and this asks nobody for work"),
        },
    ),
    Row(
        "CODEBASE_REVIEW_REPORT",
        ("survey", "verdict"),
        names={"result": "ready"},
        values={"result": {"pass": True, "fail": False, "notes": True, "partly": False}},
    ),
    Row("MESSAGE_ERROR", ("unread",)),
)

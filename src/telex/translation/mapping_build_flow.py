"""Mappings of build-flow."""

from telex.translation.mapping import FromSlot, HasItems, ItemCount, MinimumValue, TypeMapping
from telex.translation.mapping_vbw_typed import ITS_TASK

BUILD_FLOW_ROWS = (
    TypeMapping(
        "TASK_ASSIGNMENT",
        ("assign",),
        least={
            "task": ITS_TASK,
            "title": MinimumValue(FromSlot(("objective", "task", "$correlation"), "unknown"), "the task has no title"),
            "details": MinimumValue(
                FromSlot(("title", "task", "$correlation"), "unknown"), "nothing more is said of it"
            ),
        },
    ),
    TypeMapping(
        "STATUS_UPDATE",
        ("progress",),
        when={"status": ("STARTED", "PROGRESS", "COMPLETED", "FAILED")},
        values={"status": {"done": "COMPLETED", "partly": "PROGRESS", "failed": "FAILED", "started": "STARTED"}},
        least={"task": ITS_TASK, "status": MinimumValue("PROGRESS", "it is not said to be complete")},
    ),
    TypeMapping(
        "STATUS_UPDATE",
        ("blocked",),
        when={"status": ("BLOCKED",)},
        names={"blocker": "blockers", "needs": "details"},
        least={"task": ITS_TASK},
    ),
    TypeMapping("STATE_TRANSITION", ("move",)),
    TypeMapping(
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
        least={"task": ITS_TASK, "kind": MinimumValue("DESIGN", "the original does not say of which kind")},
    ),
    TypeMapping(
        "VALIDATION_RESPONSE",
        ("answer",),
        names={"modifications": "suggestions"},
        values={"decision": {"yes": "APPROVED", "no": "REJECTED", "conditional": "CONDITIONAL"}},
        least={"task": ITS_TASK},
    ),
    TypeMapping(
        "QUALITY_REPORT",
        ("verdict",),
        names={"result": "status", "failures": "gates"},
        unread=("failures",),  # the gates that were passed are listed too
        values={"result": {"pass": "PASSED", "fail": "FAILED", "partly": "FAILED", "notes": "PASSED"}},
        least={"task": ITS_TASK, "gates/status": MinimumValue("FAILED", "it is listed as a failure")},
    ),
    TypeMapping(
        "ERROR_REPORT",
        ("diagnosis",),
        least={
            "severity": MinimumValue("ERROR", "nothing is said of how bad it is"),
            "count": MinimumValue(ItemCount("evidence"), "all that are listed"),
        },
    ),
    TypeMapping(
        "ESCALATION_REQUEST",
        ("escalate", "blocked"),
        names={"blocker": "reason", "evidence": "history", "attempted": "history"},
        values={"level": {"cto": "CTO", "human": "HUMAN", "lead": "CTO", "senior": "CTO"}},
        least={
            "task": ITS_TASK,
            "level": MinimumValue("CTO", "it goes one step up"),
            "reason": MinimumValue(FromSlot(("task", "$correlation"), "unknown"), "nothing else is said of it"),
            "history/agent": MinimumValue(FromSlot(("$sender",), "unknown"), "whoever sent it"),
        },
    ),
    TypeMapping("COMMIT_REQUEST", ("release",)),
    TypeMapping("DOC_QUERY", ("question",), least={"query": MinimumValue("SEARCH", "it is a question")}),
    TypeMapping(
        "DOC_RESPONSE",
        ("findings",),
        parts={"documents/text": "topics"},  # no other field of it takes words
        least={
            "found": MinimumValue(HasItems("documents"), "whether documents are listed"),
            "recommendation": MinimumValue("USE_EXISTING", "nothing is proposed, and this asks nobody for work"),
        },
    ),
    TypeMapping(
        "CODEBASE_REVIEW_REPORT",
        ("survey", "verdict"),
        names={"result": "ready"},
        values={"result": {"pass": True, "fail": False, "notes": True, "partly": False}},
    ),
    TypeMapping("MESSAGE_ERROR", ("unread",)),
)

"""What does each type of vbw-handoff and vbw-company mean to others? The two share most of their words."""

from telex.translation.row import Borrowed, Counted, Least, Row
from telex.translation.rows_vbw_typed import ITS_TASK, NO_PLAN, RESULT, STATUS

_PROGRESS = Row(
    "dev_progress",
    ("progress",),
    values={"status": STATUS},
    least={
        "plan": NO_PLAN,
        "task": ITS_TASK,
        "status": Least("partial", "it is not said to be complete"),
        "commit": Least("", "no commit is named"),
    },
)
_BLOCKER = Row("dev_blocker", ("blocked",), least={"plan": NO_PLAN, "task": ITS_TASK})
_QA = Row(
    "qa_result",
    ("verdict",),
    values={"result": RESULT},
    least={
        "tier": Least("standard", "no depth is named"),
        "total": Least(Counted(("passed", "failed", "skipped")), "all that were counted"),
    },
)
_UNSURE = Least("medium", "no confidence is stated")
_FAULT = Row(
    "debugger_report",
    ("diagnosis",),
    least={
        "confidence": Least("low", "no confidence is stated"),
        "hypothesis": Least("unknown", "nothing is said of the cause"),
    },
)

VBW_HANDOFF_ROWS = (
    Row(
        "scout_findings",
        ("findings",),
        names={"topic": "domain"},
        least={"domain": Least("tech-stack", "no domain is named"), "confidence": _UNSURE},
    ),
    _PROGRESS,
    _BLOCKER,
    _QA,
    _FAULT,
)

_NOT_COUNTED = Least(Counted(("critical", "high", "moderate", "medium", "minor", "low")), "all that were counted")

VBW_COMPANY_ROWS = (
    Row("architecture_design", ("design",)),
    Row("senior_spec", ("spec",)),
    _PROGRESS,
    _BLOCKER,
    Row(
        "code_review_result",
        ("review", "verdict"),
        values={
            "result": {
                "pass": "approve",
                "fail": "changes_requested",
                "notes": "approve",
                "partly": "changes_requested",
            }
        },
        least={"plan": NO_PLAN, "findings": _NOT_COUNTED},
    ),
    _QA,
    Row("qa_code_result", ("code", "audit", "verdict"), values={"result": RESULT}),
    Row(
        "security_audit",
        ("audit", "verdict"),
        values={"result": {"pass": "PASS", "fail": "FAIL", "notes": "WARN", "partly": "FAIL"}},
        least={"findings": _NOT_COUNTED},
    ),
    Row(
        "scout_findings",
        ("findings",),
        names={"topic": "domain"},
        least={
            "domain": Least("tech-stack", "no domain is named"),
            "documents/confidence": _UNSURE,
            "documents/name": Least(Borrowed(("topic",), "unknown"), "it is not named"),
        },
    ),
    _FAULT,
    Row(
        "escalation",
        ("escalate", "blocked"),
        names={"blocker": "reason", "needs": "advice", "attempted": "evidence"},
        values={
            "severity": {"high": "blocking", "medium": "major", "low": "minor"},
            "level": {"cto": "architect", "human": "human", "lead": "lead", "senior": "senior"},
        },
        least={
            "reason": Least(Borrowed(("task",), "unknown"), "nothing else is said of it"),
            "advice": Least("Please decide.", "nothing is proposed"),
            "severity": Least("major", "nothing is said of how bad it is"),
        },
    ),
)

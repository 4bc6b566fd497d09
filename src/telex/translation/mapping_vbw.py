"""Mappings of vbw-handoff and vbw-company, which share most of them."""

from telex.translation.mapping import FromSlot, MinimumValue, Sum, TypeMapping
from telex.translation.mapping_vbw_typed import ITS_TASK, NO_PLAN, RESULT, STATUS

_PROGRESS = TypeMapping(
    "dev_progress",
    ("progress",),
    values={"status": STATUS},
    least={
        "plan": NO_PLAN,
        "task": ITS_TASK,
        "status": MinimumValue("partial", "it is not said to be complete"),
        "commit": MinimumValue("", "no commit is named"),
    },
    remedies={"complete-without-commit": {"commit": "unknown"}},
)
_BLOCKER = TypeMapping("dev_blocker", ("blocked",), least={"plan": NO_PLAN, "task": ITS_TASK})
_QA = TypeMapping(
    "qa_result",
    ("verdict",),
    values={"result": RESULT},
    least={
        "tier": MinimumValue("standard", "no depth is named"),
        "total": MinimumValue(Sum(("passed", "failed", "skipped")), "all that were counted"),
    },
)
_UNSURE = MinimumValue("medium", "no confidence is stated")
_FAULT = TypeMapping(
    "debugger_report",
    ("diagnosis",),
    least={
        "confidence": MinimumValue("low", "no confidence is stated"),
        "hypothesis": MinimumValue("unknown", "nothing is said of the cause"),
    },
)

VBW_HANDOFF_ROWS = (
    TypeMapping(
        "scout_findings",
        ("findings",),
        names={"topic": "domain"},
        least={"domain": MinimumValue("tech-stack", "no domain is named"), "confidence": _UNSURE},
    ),
    _PROGRESS,
    _BLOCKER,
    _QA,
    _FAULT,
)

_NOT_COUNTED = MinimumValue(Sum(("critical", "high", "moderate", "medium", "minor", "low")), "all that were counted")

VBW_COMPANY_ROWS = (
    TypeMapping("architecture_design", ("design",)),
    TypeMapping("senior_spec", ("spec",)),
    _PROGRESS,
    _BLOCKER,
    TypeMapping(
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
    TypeMapping("qa_code_result", ("code", "audit", "verdict"), values={"result": RESULT}),
    TypeMapping(
        "security_audit",
        ("audit", "verdict"),
        values={"result": {"pass": "PASS", "fail": "FAIL", "notes": "WARN", "partly": "FAIL"}},
        least={"findings": _NOT_COUNTED},
    ),
    TypeMapping(
        "scout_findings",
        ("findings",),
        names={"topic": "domain"},
        least={
            "domain": MinimumValue("tech-stack", "no domain is named"),
            "documents/confidence": _UNSURE,
            "documents/name": MinimumValue(FromSlot(("topic",), "unknown"), "it is not named"),
        },
    ),
    _FAULT,
    TypeMapping(
        "escalation",
        ("escalate", "blocked"),
        names={"blocker": "reason", "needs": "advice", "attempted": "evidence"},
        values={
            "severity": {"high": "blocking", "medium": "major", "low": "minor"},
            "level": {"cto": "architect", "human": "human", "lead": "lead", "senior": "senior"},
        },
        least={
            "reason": MinimumValue(FromSlot(("task",), "unknown"), "nothing else is said of it"),
            "advice": MinimumValue("Please decide.", "nothing is proposed"),
            "severity": MinimumValue("major", "nothing is said of how bad it is"),
        },
    ),
)

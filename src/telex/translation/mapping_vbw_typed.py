"""Mappings of vbw-typed."""

from collections.abc import Mapping
from typing import Any

from telex.translation.mapping import AsList, FromSlot, MinimumValue, Sum, TypeMapping

SEVERITY = {"high": "blocking", "medium": "degraded", "low": "informational"}
STATUS = {"done": "complete", "partly": "partial", "failed": "failed", "started": "partial"}
RESULT = {"pass": "PASS", "fail": "FAIL", "partly": "PARTIAL", "notes": "PASS"}
NO_PLAN = MinimumValue("unknown", "no plan is named")
ITS_TASK = MinimumValue(FromSlot(("task", "$correlation"), "unknown"), "the conversation stands for its task")
_UNSURE: Mapping[str, MinimumValue] = {"confidence": MinimumValue("medium", "no confidence is stated")}


def _row(type_: str, *intents: str, least: Mapping[str, MinimumValue] = _UNSURE, **rest: Any) -> TypeMapping:
    return TypeMapping(type_, intents, least={**_UNSURE, **least}, **rest)


VBW_TYPED_ROWS = (
    _row(
        "scout_findings",
        "findings",
        names={"topic": "domain"},
        least={
            "domain": MinimumValue("tech-stack", "no domain is named"),
            "documents": MinimumValue([], "there are none"),
        },
    ),
    _row(
        "plan_contract",
        "assign",
        names={"task": "plan", "details": "objective", "title": "objective", "constraints": "must_haves"},
        least={
            "plan": ITS_TASK,
            "objective": MinimumValue(FromSlot(("task", "$correlation"), "unknown"), "nothing more is said of it"),
            "tasks": MinimumValue(AsList("task"), "the one task that is given"),
            # Never more than the original grants: whoever sends this on would have a contract that holds.
            "allowed": MinimumValue([], "no path is named, so that it opens none"),
        },
    ),
    _row("contract_close", "close", least={"plan": NO_PLAN}),
    _row(
        "execution_update",
        "progress",
        names={"details": "evidence"},
        values={"status": STATUS},
        least={
            "plan": NO_PLAN,
            "task": ITS_TASK,
            "status": MinimumValue("partial", "it is not said to be complete"),
            "commit": MinimumValue("", "no commit is named"),
        },
        remedies={"complete-without-commit": {"commit": "unknown"}},
    ),
    _row("blocker_report", "blocked", values={"severity": SEVERITY}, least={"plan": NO_PLAN, "task": ITS_TASK}),
    _row(
        "qa_verdict",
        "verdict",
        values={"result": RESULT},
        least={
            "tier": MinimumValue("standard", "no depth is named"),
            "total": MinimumValue(Sum(("passed", "failed", "skipped")), "all that were counted"),
        },
        remedies={"checks-exceed-total": {"total": Sum(("passed", "failed"))}},
    ),
    _row(
        "approval_request",
        "ask",
        "escalate",
        names={"reason": "subject", "advice": "options"},
        values={
            "kind": {
                "plan": "plan_approval",
                "gate": "gate_override",
                "scope": "scope_change",
                "quality": "gate_override",
                "security": "gate_override",
                "code": "gate_override",
            }
        },
        least={"kind": MinimumValue("plan_approval", "the original does not say of which kind")},
    ),
    _row(
        "approval_response",
        "answer",
        names={"decision": "approved", "reasons": "reason"},
        values={"decision": {"yes": True, "no": False, "conditional": True}},
        least={
            "request": MinimumValue(FromSlot(("$reply_to", "$correlation"), "unknown"), "the request is not named"),
            "reason": MinimumValue("none given", "no reason is given"),
        },
    ),
    # Types of 2.1.
    TypeMapping(
        "debugger_report",
        ("diagnosis",),
        least={
            "confidence": MinimumValue("low", "no confidence is stated"),
            "hypothesis": MinimumValue("unknown", "nothing is said of the cause"),
            "observation": MinimumValue("inconclusive", "nothing is said of it"),
            "$.confidence": MinimumValue(FromSlot(("confidence",), "medium"), "the report's own confidence"),
        },
    ),
    _row("tests_ready", "progress", serves=("none",), means={"status": ("partly",)}),
    _row("shutdown_request", "stop"),
    _row("shutdown_response", "stopped"),
)

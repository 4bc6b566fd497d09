"""signal-md 1.0 as its page has it."""

from typing import Any

from tests.tables.notation import Row, Table, row
from tests.tables.rules import ABSENT, Rule

MAKERS = "worker debugger documenter"
AGENTS = f"{MAKERS} reviewer auditor architect researcher"
VERDICT = "pass|pass_with_notes|fail|blocked|escalate"

# Who says a signal to the orchestrator, and to whom the orchestrator says one.
SAID_BY = {
    "rfr": MAKERS,
    "pass": "reviewer auditor",
    "pass_with_notes": "reviewer auditor",
    "fail": "reviewer auditor",
    "triage_complete": "architect",
    "plan_complete": "architect",
    "research_complete": "researcher",
    "blocked": AGENTS,
    "escalate": AGENTS,
}
SAID_TO = {
    "execute": f"{MAKERS} architect",
    "revise": MAKERS,
    "lgtm": MAKERS,
    "research": "researcher",
    "plan": "architect",
}

SIGNAL_MD = Table(
    name="signal-md",
    version="1.0",
    known_by={"task": "task"},
    roles=f"{AGENTS} orchestrator",
    rows=(
        row(
            f"worker_submission | {MAKERS} | orchestrator | STATUS",
            {
                "signal": "rfr|blocked|escalate",
                "files_changed": ["text"],
                "qa_check": "pass|fail",
                "ac_coverage?": {"*": "pass|fail|partial|na"},
            },
        ),
        row(
            "review_verdict | reviewer | orchestrator | VALIDATION",
            {
                "signal": VERDICT,
                "critical_count": "0..",
                "moderate_count": "0..",
                "minor_count": "0..",
                "ac_coverage": {"*": "pass|fail"},
            },
        ),
        row(
            "audit_verdict | auditor | orchestrator | VALIDATION",
            {
                "signal": VERDICT,
                "security_findings": {"critical": "0..", "high": "0..", "medium": "0..", "low": "0.."},
                "build_status": "pass|fail|skipped",
                "test_status": "pass|fail|partial|skipped",
                "typecheck_status?": "pass|fail|skipped",
            },
        ),
        row(
            "triage_result | architect | orchestrator | STATUS",
            {
                "signal": "triage_complete|blocked|escalate",
                "tier": "0..3",
                "research_needed": "bool",
                "research_count?": "0..",
            },
            sample={"research_count": 2},
            bare={"research_needed": False},
        ),
        row(
            "plan_result | architect | orchestrator | STATUS",
            {
                "signal": "plan_complete|blocked|escalate",
                "plan_file": "text",
                "wave_count": "0..",
                "risk_tags": ["text"],
                "has_blockers": "bool",
                "step_count?": "0..",
            },
        ),
        row(
            "research_result | researcher | orchestrator | STATUS",
            {
                "signal": "research_complete|blocked|escalate",
                "topic": "text",
                "verified": "bool",
                "has_gotchas?": "bool",
            },
        ),
        row(
            f"task_assignment | orchestrator | {MAKERS} | STATUS",
            {"signal": "=execute", "task?": "text", "plan_file?": "text", "wave?": "0..", "step?": "0.."},
            reply="worker_submission",
        ),
        row(
            f"revision_request | orchestrator | {MAKERS} | VALIDATION",
            {
                "signal": "=revise",
                "iteration": "1..",
                "max_iterations?": "1..",
                "fix_severity?": "critical|critical+moderate|all",
            },
            reply="worker_submission",
            sample={"fix_severity": "all"},
        ),
        Row("approval", "orchestrator", MAKERS, "VALIDATION", {"signal": "=lgtm"}),
        Row("triage_request", "orchestrator", "architect", "STATUS", {"signal": "=execute"}, reply="triage_result"),
        Row("architecture_request", "orchestrator", "architect", "STATUS", {"signal": "=plan"}, reply="plan_result"),
        row(
            "research_request | orchestrator | researcher | STATUS",
            {"signal": "=research", "topic": "text"},
            reply="research_result",
        ),
    ),
)


PASSES = ("pass", "pass_with_notes")
GRAVE: list[dict[str, Any]] = [{"security_findings.critical": 1}, {"build_status": "fail"}, {"test_status": "fail"}]

RULES = [
    Rule("review_verdict", "critical-means-fail", "$.signal", "refusal",
        broken=[{"signal": signal, "critical_count": 1} for signal in PASSES],
        kept=[{"signal": "fail", "critical_count": 1},
            *({"signal": signal, "critical_count": 0} for signal in PASSES)]),
    Rule("audit_verdict", "audit-means-fail", "$.signal", "refusal",
        broken=[{"signal": signal, **grave} for signal in PASSES for grave in GRAVE],
        kept=[{"signal": "fail", **grave} for grave in GRAVE] + [{"signal": "pass_with_notes",
            "security_findings.high": 9}, {"signal": "pass", "build_status": "skipped", "test_status": "partial",
            "typecheck_status": "fail"}]),
    Rule("audit_verdict", "high-needs-notes", "$.signal", "warning",
        broken=[{"signal": "pass", "security_findings.high": 1}],
        kept=[{"signal": "pass", "security_findings.high": 0, "security_findings.medium": 3},
            {"signal": "pass_with_notes", "security_findings.high": 1},
            {"signal": "fail", "security_findings.high": 1}]),
    Rule("triage_result", "research-count-mismatch", "$.research_count", "refusal",
        broken=[{"research_needed": True, "research_count": ABSENT}, {"research_needed": True, "research_count": 0},
            {"research_needed": False, "research_count": 3}],
        kept=[{"research_needed": True, "research_count": 1}, {"research_needed": True, "research_count": 3},
            {"research_needed": False, "research_count": ABSENT}]),
    Rule("revision_request", "iteration-beyond-max", "$.iteration", "refusal",
        broken=[{"iteration": 6, "max_iterations": ABSENT}, {"iteration": 3, "max_iterations": 2}],
        kept=[{"iteration": 5, "max_iterations": ABSENT}, {"iteration": 2, "max_iterations": 2},
            {"iteration": 6, "max_iterations": 7}]),
    Rule("revision_request", "fix-severity-differs", "$.fix_severity", "warning",
        broken=[{"iteration": at, "max_iterations": 5, "fix_severity": said} for at, wrong in ((1, "critical"),
            (3, "critical"), (4, "all"), (5, "all")) for said in (wrong, "critical+moderate")],
        kept=[{"iteration": at, "max_iterations": 5, "fix_severity": said} for at, right in ((1, "all"), (2, "all"),
            (3, "all"), (4, "critical"), (5, "critical")) for said in (right, ABSENT)]),
]  # fmt: skip

"""vbw-company 1.0 as its page has it."""

from tests.tables.notation import Notation, Table, row, texts
from tests.tables.rules import Rule, complete_without_commit, more_checks_than_there_are, pass_with_failures

REPORT: dict[str, Notation] = {"artifact?": "text", "committed?": "bool"}

# Who escalates to whom: exactly one step up.
CHAIN = {
    "dev": "senior",
    "senior": "lead",
    "lead": "architect",
    "architect": "human",
    "qa-lead": "lead",
    "qa-code": "lead",
    "security": "lead",
    "scout": "lead",
    "debugger": "lead",
}

VBW_COMPANY = Table(
    name="vbw-company",
    version="1.0",
    known_by={"correlation": "task", "sender": "from", "recipient": "to", "task": "task"},
    roles="architect lead senior dev qa-lead qa-code security scout debugger",
    sender="from",
    rows=(
        row(
            "architecture_design | architect | lead | STATUS",
            {
                "phase": "text",
                "artifact": "text",
                "decisions": [{"decision": "text", "rationale": "text", "alternatives?": ["text"]}],
                "risks": [{"risk": "text", "impact": "text", "mitigation": "text"}],
                "committed?": "bool",
            },
        ),
        row(
            "senior_spec | senior | lead | STATUS",
            {"plan_id": "text", "tasks_enriched": "0..", "concerns?": ["text"], "committed?": "bool"},
        ),
        row(
            "dev_progress | dev | senior | STATUS",
            {
                **texts("task plan_id commit"),
                "status": "complete|partial|failed",
                "concerns?": ["text"],
            },
        ),
        row(
            "dev_blocker | dev | senior | ERROR",
            {"task": "text", "plan_id": "text", "blocker": "text", "needs": "text", "attempted?": ["text"]},
        ),
        row(
            "code_review_result | senior | lead | VALIDATION",
            {
                "plan_id": "text",
                "result": "approve|changes_requested",
                "cycle": "1..",
                "findings_count": "0..",
                "critical": "0..",
                **REPORT,
            },
        ),
        row(
            "qa_result | qa-lead | lead | VALIDATION",
            {
                "tier": "quick|standard|deep",
                "result": "PASS|FAIL|PARTIAL",
                "checks": {"passed": "0..", "failed": "0..", "total": "0.."},
                "failures?": [{"check": "text", "expected": "text", "actual": "text", "evidence": "text"}],
                **REPORT,
            },
            sample={"result": "FAIL"},
        ),
        row(
            "qa_code_result | qa-code | lead | VALIDATION",
            {
                "result": "PASS|FAIL|PARTIAL",
                "tests": {"passed": "0..", "failed": "0..", "skipped": "0.."},
                "lint": {"errors": "0..", "warnings": "0.."},
                "findings_count": "0..",
                "critical": "0..",
                **REPORT,
            },
        ),
        row(
            "security_audit | security | lead | VALIDATION",
            {
                "result": "PASS|FAIL|WARN",
                "findings": "0..",
                "critical": "0..",
                "categories": ["secrets|owasp|deps|config"],
                **REPORT,
            },
        ),
        row(
            "scout_findings | scout | lead | STATUS",
            {
                "domain": "tech-stack|architecture|quality|concerns",
                "findings": [{"query": "text", "finding": "text", "confidence": "high|medium|low"}],
                **REPORT,
            },
        ),
        row(
            "debugger_report | debugger | lead | STATUS",
            {
                "hypothesis": "text",
                "evidence_for": ["text"],
                "evidence_against": ["text"],
                "confidence": "high|medium|low",
                "recommended_fix": "text",
                "artifact?": "text",
            },
        ),
        row(
            "escalation | dev architect lead senior qa-lead qa-code security scout debugger"
            " | senior lead architect human | ESCALATION",
            {
                "from": "dev|architect|lead|senior|qa-lead|qa-code|security|scout|debugger",
                "to": "senior|lead|architect|human|dev|qa-lead|qa-code|security|scout|debugger",
                "issue": "text",
                "evidence": ["text"],
                "recommendation": "text",
                "severity": "blocking|major|minor",
            },
        ),
    ),
)


def critical_within(type_: str, count: str) -> Rule:
    return Rule(
        type_,
        "critical-exceeds-findings",
        "$.critical",
        "refusal",
        broken=[{count: 2, "critical": 3}, {count: 0, "critical": 1}],
        kept=[{count: 2, "critical": 2}, {count: 2, "critical": 0}],
    )


def critical_but_passed(type_: str, count: str, passing: str, failing: str) -> Rule:
    return Rule(
        type_,
        "critical-but-passed",
        "$.result",
        "warning",
        broken=[{count: 2, "critical": 1, "result": result} for result in passing.split()],
        kept=[{count: 2, "critical": 1, "result": result} for result in failing.split()]
        + [{count: 2, "critical": 0, "result": result} for result in passing.split()],
    )


RULES = [
    complete_without_commit("dev_progress", "$.commit"),
    Rule("escalation", "escalation-skips-a-step", "$.to", "refusal",
        broken=[{"from": role, "to": to} for role, above in CHAIN.items() for to in (*CHAIN, "human") if to != above],
        kept=[{"from": role, "to": above} for role, above in CHAIN.items()]),
    critical_within("code_review_result", "findings_count"),
    critical_within("qa_code_result", "findings_count"),
    critical_within("security_audit", "findings"),
    critical_but_passed("code_review_result", "findings_count", "approve", "changes_requested"),
    critical_but_passed("qa_code_result", "findings_count", "PASS", "FAIL PARTIAL"),
    critical_but_passed("security_audit", "findings", "PASS WARN", "FAIL"),
    pass_with_failures("qa_result", "$.result"),
    more_checks_than_there_are("qa_result", "$.checks.total", "warning"),
    Rule("qa_code_result", "pass-with-failed-tests", "$.result", "refusal",
        broken=[{"result": "PASS", "tests.failed": 1}],
        kept=[{"result": "PASS", "tests.failed": 0}, {"result": "FAIL", "tests.failed": 1},
            {"result": "PARTIAL", "tests.failed": 1}]),
]  # fmt: skip

"""The examples of the vbw-company page."""

from typing import Any

from tests.pages import Example


def example(type_: str, chosen: dict[str, Any], **fields: Any) -> Example:
    return Example("vbw-company", type_, {"type": type_, **fields}, chosen)


PHASE = "phases/01-company-hierarchy"

EXAMPLES = [
    example(
        "architecture_design",
        {},
        phase="01",
        artifact=f"{PHASE}/architecture.toon",
        decisions=[
            {
                "decision": "One queue for each team",
                "rationale": "A slow team holds up no other",
                "alternatives": ["One queue"],
            }
        ],
        risks=[{"risk": "A queue that nobody reads fills the disk", "impact": "high", "mitigation": "Keep a week"}],
        committed=True,
    ),
    example(
        "senior_spec", {}, plan_id="01-01", tasks_enriched=3, concerns=["T2 is larger than the others"], committed=True
    ),
    example(
        "dev_progress",
        {"status": "complete"},
        task="01-01/T3",
        plan_id="01-01",
        commit="abc1234",
        status="complete | partial | failed",
        concerns=["The reader now takes bytes where the plan says text"],
    ),
    example(
        "dev_blocker",
        {},
        task="01-02/T1",
        plan_id="01-02",
        blocker="The parser that this builds on is still being written",
        needs="The parser, from 01-01",
        attempted=["Looked through every branch for it"],
    ),
    example(
        "code_review_result",
        {"result": "changes_requested"},
        plan_id="01-01",
        result="approve | changes_requested",
        cycle=1,
        findings_count=3,
        critical=0,
        artifact=f"{PHASE}/code-review.jsonl",
        committed=True,
    ),
    example(
        "qa_result",
        {"tier": "quick", "result": "PARTIAL"},
        tier="quick | standard | deep",
        result="PASS | FAIL | PARTIAL",
        checks={"passed": 18, "failed": 2, "total": 20},
        failures=[
            {
                "check": "Every agent file names its model",
                "expected": "A line for the model in each",
                "actual": "One has none",
                "evidence": "Counted the lines",
            }
        ],
        artifact=f"{PHASE}/verification.jsonl",
        committed=True,
    ),
    example(
        "qa_code_result",
        {"result": "PASS"},
        result="PASS | FAIL | PARTIAL",
        tests={"passed": 42, "failed": 0, "skipped": 3},
        lint={"errors": 0, "warnings": 2},
        findings_count=5,
        critical=0,
        artifact=f"{PHASE}/qa-code.jsonl",
        committed=True,
    ),
    example(
        "security_audit",
        {"result": "WARN"},
        result="PASS | FAIL | WARN",
        findings=2,
        critical=0,
        categories=["secrets", "owasp", "deps", "config"],
        artifact=f"{PHASE}/security-audit.jsonl",
        committed=True,
    ),
    example(
        "scout_findings",
        {"domain": "concerns"},
        domain="tech-stack | architecture | quality | concerns",
        findings=[{"query": "How long a lease should be", "finding": "Twice the slowest task", "confidence": "high"}],
        artifact=f"{PHASE}/research.jsonl",
        committed=True,
    ),
    example(
        "debugger_report",
        {"confidence": "low"},
        hypothesis="Two workers renew the same lease at once",
        evidence_for=["Nothing is locked between read and write"],
        evidence_against=["It was also seen with a single worker"],
        confidence="high | medium | low",
        recommended_fix="Renew a lease in one step that fails when it has changed",
        artifact=f"{PHASE}/debug-report.jsonl",
    ),
    example(
        "escalation",
        {"from": "senior", "to": "lead", "severity": "major"},
        **{"from": "dev | senior | lead", "to": "senior | lead | architect"},
        issue="The design counts on messages in order, and they are not",
        evidence=["The third reply overtook the second"],
        recommendation="Number the replies",
        severity="blocking | major | minor",
    ),
]

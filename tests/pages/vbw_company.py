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
        decisions=[{"decision": "JWT RS256", "rationale": "Key rotation support", "alternatives": ["HS256"]}],
        risks=[{"risk": "Token theft via XSS", "impact": "high", "mitigation": "HttpOnly cookies"}],
        committed=True,
    ),
    example(
        "senior_spec", {}, plan_id="01-01", tasks_enriched=3, concerns=["May need checkpoint at T2"], committed=True
    ),
    example(
        "dev_progress",
        {"status": "complete"},
        task="01-01/T3",
        plan_id="01-01",
        commit="abc1234",
        status="complete | partial | failed",
        concerns=["Interface changed — …"],
    ),
    example(
        "dev_blocker",
        {},
        task="01-02/T1",
        plan_id="01-02",
        blocker="Dependency module not yet committed",
        needs="01-01 to complete first",
        attempted=["Checked git log — none found"],
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
                "check": "vbw-senior.md has Opus model",
                "expected": "model: opus in frontmatter",
                "actual": "model: inherit found",
                "evidence": "grep output",
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
        findings=[{"query": "JWT RS256 best practices", "finding": "...", "confidence": "high"}],
        artifact=f"{PHASE}/research.jsonl",
        committed=True,
    ),
    example(
        "debugger_report",
        {"confidence": "low"},
        hypothesis="Race condition in session middleware",
        evidence_for=["Mutex not held during token refresh"],
        evidence_against=["Token TTL is 30min"],
        confidence="high | medium | low",
        recommended_fix="Add mutex lock around token refresh",
        artifact=f"{PHASE}/debug-report.jsonl",
    ),
    example(
        "escalation",
        {"from": "senior", "to": "lead", "severity": "major"},
        **{"from": "dev | senior | lead", "to": "senior | lead | architect"},
        issue="Design assumption invalid — …",
        evidence=["Token refresh requires server-side session"],
        recommendation="Re-evaluate stateless design decision",
        severity="blocking | major | minor",
    ),
]

"""The examples of the vbw-handoff page."""

from typing import Any

from tests.pages import Example


def example(type_: str, chosen: dict[str, Any], **fields: Any) -> Example:
    return Example("vbw-handoff", type_, {"type": type_, **fields}, chosen)


EXAMPLES = [
    example(
        "scout_findings",
        {"domain": "quality", "cross_cutting.0.relevance": "low", "confidence": "high"},
        domain="tech-stack | architecture | quality | concerns",
        documents=[{"name": "STACK.md", "content": "## Tech Stack\n..."}],
        cross_cutting=[
            {"target_domain": "architecture", "finding": "Monorepo workspace", "relevance": "high | medium | low"}
        ],
        confidence="high | medium | low",
        confidence_rationale="Brief justification for confidence level",
    ),
    example(
        "dev_progress",
        {"status": "partial"},
        task="03-01/task-3",
        plan_id="03-01",
        commit="abc1234",
        status="complete | partial | failed",
        concerns=["Interface changed from plan — …"],
    ),
    example(
        "dev_blocker",
        {},
        task="03-02/task-1",
        plan_id="03-02",
        blocker="Dependency module not yet committed",
        needs="03-01 to complete first",
        attempted=["Checked git log — none found"],
    ),
    example(
        "qa_result",
        {"tier": "deep", "result": "FAIL"},
        tier="quick | standard | deep",
        result="PASS | FAIL | PARTIAL",
        checks={"passed": 18, "failed": 2, "total": 20},
        failures=[
            {
                "check": "CONVENTIONS.md link integrity",
                "expected": "All cross-references resolve",
                "actual": "references/missing-file.md not found",
                "evidence": "broken link at line 42",
            }
        ],
        body="## Must-Have Checks\n| # | Truth | Status | Evidence |\n...",
    ),
    example(
        "debugger_report",
        {"confidence": "medium"},
        hypothesis="Race condition in session middleware",
        evidence_for=["Mutex not held during token refresh (src/middleware/auth.ts:45)"],
        evidence_against=["Token TTL is 30min — …"],
        confidence="high | medium | low",
        recommended_fix="Add mutex lock, or 'Insufficient evidence' if confidence is low",
    ),
]

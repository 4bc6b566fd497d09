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
        documents=[{"name": "STACK.md", "content": "## Languages\nPython"}],
        cross_cutting=[
            {
                "target_domain": "architecture",
                "finding": "Four services share one folder of helpers",
                "relevance": "high | medium | low",
            }
        ],
        confidence="high | medium | low",
        confidence_rationale="Read in the lock file, not only in the README",
    ),
    example(
        "dev_progress",
        {"status": "partial"},
        task="03-01/task-3",
        plan_id="03-01",
        commit="abc1234",
        status="complete | partial | failed",
        concerns=["The reader now takes bytes where the plan says text"],
    ),
    example(
        "dev_blocker",
        {},
        task="03-02/task-1",
        plan_id="03-02",
        blocker="The parser that this builds on is still being written",
        needs="The parser, from 03-01",
        attempted=["Looked through every branch for it"],
    ),
    example(
        "qa_result",
        {"tier": "deep", "result": "FAIL"},
        tier="quick | standard | deep",
        result="PASS | FAIL | PARTIAL",
        checks={"passed": 18, "failed": 2, "total": 20},
        failures=[
            {
                "check": "Links in CONVENTIONS.md",
                "expected": "Each leads to a file",
                "actual": "One leads to references/missing-file.md",
                "evidence": "CONVENTIONS.md:42",
            }
        ],
        body="## Checks\n| # | What | Result |\n|---|---|---|\n| 1 | Links | FAIL |",
    ),
    example(
        "debugger_report",
        {"confidence": "medium"},
        hypothesis="Two workers renew the same lease at once",
        evidence_for=["Nothing is locked between read and write (src/middleware/auth.ts:45)"],
        evidence_against=["It was also seen with a single worker"],
        confidence="high | medium | low",
        recommended_fix="Renew a lease in one step that fails when it has changed",
    ),
]

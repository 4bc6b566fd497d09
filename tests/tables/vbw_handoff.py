"""vbw-handoff 1.0 as its page has it."""

from tests.tables.notation import Table, row, texts
from tests.tables.rules import Rule, complete_without_commit, more_checks_than_there_are, pass_with_failures

LEVELS = "high|medium|low"

VBW_HANDOFF = Table(
    name="vbw-handoff",
    version="1.0",
    known_by={"correlation": "task", "task": "task"},
    roles="lead dev qa scout debugger",
    rows=(
        row(
            "scout_findings | scout | lead | STATUS",
            {
                "domain": "tech-stack|architecture|quality|concerns",
                "documents": [{"name": "text", "content": "text"}],
                "confidence": LEVELS,
                "confidence_rationale": "text",
                "cross_cutting?": [{"target_domain": "text", "finding": "text", "relevance": LEVELS}],
            },
        ),
        row(
            "dev_progress | dev | lead | STATUS",
            {
                **texts("task plan_id commit"),
                "status": "complete|partial|failed",
                "concerns?": ["text"],
            },
        ),
        row(
            "dev_blocker | dev | lead | ERROR",
            {"task": "text", "plan_id": "text", "blocker": "text", "needs": "text", "attempted?": ["text"]},
        ),
        row(
            "qa_result | qa | lead | VALIDATION",
            {
                "tier": "quick|standard|deep",
                "result": "PASS|FAIL|PARTIAL",
                "checks": {"passed": "0..", "failed": "0..", "total": "0.."},
                "body": "text",
                "failures?": [{"check": "text", "expected": "text", "actual": "text", "evidence": "text"}],
            },
            sample={"result": "FAIL"},
        ),
        row(
            "debugger_report | debugger | lead | STATUS",
            {
                "hypothesis": "text",
                "evidence_for": ["text"],
                "evidence_against": ["text"],
                "confidence": LEVELS,
                "recommended_fix": "text",
            },
        ),
    ),
)


RULES = [
    complete_without_commit("dev_progress", "$.commit"),
    Rule("debugger_report", "fix-without-evidence", "$.recommended_fix", "warning",
        broken=[{"confidence": "low", "recommended_fix": "Hold a lock"}],
        kept=[{"confidence": "low", "recommended_fix": "Insufficient evidence"},
            {"confidence": "low", "recommended_fix": "insufficient evidence."},
            {"confidence": "medium", "recommended_fix": "Hold a lock"},
            {"confidence": "high", "recommended_fix": "Hold a lock"}]),
    pass_with_failures("qa_result", "$.result"),
    more_checks_than_there_are("qa_result", "$.checks.total", "warning"),
]  # fmt: skip

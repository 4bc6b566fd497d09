"""The examples of the vbw-typed page."""

from typing import Any

from tests.pages import Example

TYPES = (
    "scout_findings|plan_contract|execution_update|blocker_report|qa_verdict|approval_request|approval_response"
    "|shutdown_request|shutdown_response"
)


def example(
    type_: str,
    id_: str,
    role: str,
    payload: dict[str, Any],
    task: str = "1-1-T1",
    confidence: str = "high",
    **chosen: Any,
) -> Example:
    """One of the page's messages; `chosen` are placeholders in its payload."""
    shown = {
        "id": id_,
        "type": type_,
        "phase": 1,
        "task": task,
        "author_role": role,
        "timestamp": "2026-02-12T10:00:00Z",
        "schema_version": "2.0",
        "confidence": confidence,
        "payload": payload,
    }
    return Example("vbw-typed", type_, shown, {f"payload.{name}": value for name, value in chosen.items()})


ENVELOPE = Example(
    "vbw-typed",
    "shutdown_request",
    {
        "id": "uuid-v4",
        "type": TYPES,
        "phase": 1,
        "task": "1-1-T3",
        "author_role": "lead|dev|qa|scout|debugger|architect|docs",
        "timestamp": "2026-02-12T10:00:00Z",
        "schema_version": "2.0",
        "payload": {},
        "confidence": "high|medium|low",
    },
    {
        "id": "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
        "type": "shutdown_request",
        "author_role": "lead",
        "confidence": "high",
        "payload": {"reason": "user_abort", "team_name": "vbw-phase-01"},
    },
)

SCOUT_FINDINGS = example(
    "scout_findings",
    "abc-123",
    "scout",
    {
        "domain": "tech-stack|architecture|quality|concerns",
        "documents": [{"name": "STACK.md", "content": "## Languages\nPython"}],
        "cross_cutting": [
            {
                "target_domain": "architecture",
                "finding": "Four services share one folder of helpers",
                "relevance": "high|medium|low",
            }
        ],
        "confidence_rationale": "Read in the lock file, not only in the README",
    },
    domain="tech-stack",
)

EXAMPLES = [
    ENVELOPE,
    SCOUT_FINDINGS._replace(chosen=SCOUT_FINDINGS.chosen | {"payload.cross_cutting.0.relevance": "medium"}),
    example(
        "plan_contract",
        "contract-456",
        "lead",
        {
            "plan_id": "phase-1-plan-1",
            "phase_id": "phase-1",
            "objective": "Let readers follow a topic",
            "tasks": ["1-1-T1", "1-1-T2"],
            "allowed_paths": ["src/feature.js", "tests/feature.test.js"],
            "must_haves": ["A reader can follow and unfollow", "Old links still work"],
            "forbidden_paths": [".env", "secrets/"],
            "depends_on": [],
            "verification_checks": ["npm test"],
            "token_budget": 50000,
        },
    ),
    example(
        "execution_update",
        "update-789",
        "dev",
        {
            "plan_id": "1-1",
            "task_id": "1-1-T3",
            "status": "complete|partial|failed",
            "commit": "abc1234",
            "files_modified": ["src/feature.js"],
            "concerns": ["The reader now takes bytes where the plan says text"],
            "evidence": "212 of 212 tests, run twice",
        },
        task="1-1-T3",
        status="complete",
    ),
    example(
        "blocker_report",
        "block-012",
        "dev",
        {
            "plan_id": "1-2",
            "task_id": "1-2-T1",
            "blocker": "The parser that this builds on is still being written",
            "needs": "The parser, from plan 1-1",
            "attempted": ["Looked through every branch for it"],
            "severity": "blocking|degraded|informational",
        },
        task="1-2-T1",
        confidence="medium",
        severity="blocking",
    ),
    example(
        "qa_verdict",
        "qa-345",
        "qa",
        {
            "tier": "quick|standard|deep",
            "result": "PASS|FAIL|PARTIAL",
            "checks": {"passed": 18, "failed": 2, "total": 20},
            "failures": [
                {
                    "check": "Links",
                    "expected": "Each leads to a file",
                    "actual": "One does not",
                    "evidence": "README.md:42",
                }
            ],
            "body": "## Checks\nLinks: FAIL",
            "recommendations": ["Look for links to files that were renamed"],
        },
        tier="standard",
        result="FAIL",
    ),
    example(
        "approval_request",
        "approve-678",
        "dev",
        {
            "subject": "May Task 3 touch the session store?",
            "request_type": "scope_change|plan_approval|gate_override",
            "evidence": "Following a topic needs a field there, and allowed_paths leaves it out",
            "options": ["Allow the one file", "Leave the field to a later plan"],
            "deadline": "2026-02-12T12:00:00Z",
        },
        confidence="medium",
        request_type="scope_change",
    ),
    example(
        "approval_response",
        "response-901",
        "lead",
        {
            "request_id": "approve-678",
            "approved": True,
            "reason": "One field is less work than a second plan",
            "conditions": ["Sessions that are open now stay open"],
            "modifications": [],
        },
    ),
    example(
        "shutdown_request",
        "shut-001",
        "lead",
        {"reason": "phase_complete|plan_complete|user_abort", "team_name": "vbw-phase-01"},
        task="",
        reason="phase_complete",
    ),
    example(
        "shutdown_response",
        "shut-resp-001",
        "dev",
        {"request_id": "shut-001", "approve": True, "final_status": "complete|idle|in_progress", "pending_work": ""},
        task="",
        final_status="idle",
    ),
]

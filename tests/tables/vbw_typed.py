"""vbw-typed 2.0 as its page has it."""

from tests.tables.notation import Table, lists, row, texts
from tests.tables.rules import ABSENT, Rule, complete_without_commit, more_checks_than_there_are, pass_with_failures

ROLES = "lead|dev|qa|scout|debugger|architect|docs"

VBW_TYPED = Table(
    name="vbw-typed",
    version="2.0",
    known_by={
        "id": "id",
        "correlation": "task",
        "sender": "author_role",
        "recipient": "target_role",
        "timestamp": "timestamp",
        "version": "schema_version",
        "reply_to": "request_id",
        "task": "task_id",
    },
    roles="lead dev qa scout debugger architect docs",
    payload="payload",
    sender="author_role",
    envelope={
        "id": "id",
        "phase": "0..",
        "task": "text",
        "author_role": ROLES,
        "timestamp": "time",
        "schema_version": "=2.0",
        "confidence": "high|medium|low",
        "target_role?": ROLES,
    },
    rows=(
        row(
            "scout_findings | scout | lead architect | STATUS",
            {
                "domain": "tech-stack|architecture|quality|concerns",
                "documents": [{"name": "text", "content": "text"}],
                "cross_cutting?": [{"target_domain": "text", "finding": "text", "relevance": "high|medium|low"}],
                "confidence_rationale?": "text",
            },
        ),
        row(
            "plan_contract | lead architect | dev qa scout debugger docs | STATUS",
            {
                **texts("plan_id phase_id objective"),
                **lists("tasks allowed_paths must_haves forbidden_paths? depends_on? verification_checks?"),
                "token_budget?": "1..",
            },
        ),
        # our own: the page has no message that ends a contract
        row(
            "contract_close | lead architect | lead architect dev qa scout debugger docs | STATUS",
            {"plan_id": "text", "reason?": "text"},
        ),
        row(
            "execution_update | dev docs | lead | STATUS",
            {
                "plan_id": "text",
                "task_id": "text",
                "status": "complete|partial|failed",
                "commit": "text",
                "files_modified?": ["text"],
                "concerns?": ["text"],
                "evidence?": "text",
            },
        ),
        row(
            "blocker_report | dev debugger docs | lead | ERROR",
            {
                **texts("plan_id task_id blocker needs"),
                "attempted?": ["text"],
                "severity?": "blocking|degraded|informational",
            },
        ),
        row(
            "qa_verdict | qa | lead | VALIDATION",
            {
                "tier": "quick|standard|deep",
                "result": "PASS|FAIL|PARTIAL",
                "checks": {"passed": "0..", "failed": "0..", "total": "0.."},
                "failures?": [{"check": "text", "expected": "text", "actual": "text", "evidence": "text"}],
                "body?": "text",
                "recommendations?": ["text"],
            },
            sample={"result": "FAIL"},
        ),
        row(
            "approval_request | dev lead | lead architect | VALIDATION",
            {
                "subject": "text",
                "request_type": "scope_change|plan_approval|gate_override",
                "evidence": "text",
                "options?": ["text"],
                "deadline?": "time",
            },
            reply="approval_response",
        ),
        row(
            "approval_response | lead architect | dev lead docs | VALIDATION",
            {
                "request_id": "text",
                "approved": "bool",
                "reason": "text",
                "conditions?": ["text"],
                "modifications?": ["text"],
            },
        ),
        row(
            "shutdown_request | lead | dev qa scout lead debugger docs | ESCALATION",
            {"reason": "phase_complete|plan_complete|user_abort", "team_name": "text"},
            reply="shutdown_response",
        ),
        row(
            "shutdown_response | dev qa scout lead debugger docs | lead | VALIDATION",
            {
                "request_id": "text",
                "approve": "bool",
                "final_status": "complete|idle|in_progress",
                "pending_work?": "text",
            },
        ),
    ),
)


RULES = [
    more_checks_than_there_are("qa_verdict", "$.payload.checks.total", "refusal"),
    pass_with_failures("qa_verdict", "$.payload.result"),
    complete_without_commit("execution_update", "$.payload.commit"),
    Rule("plan_contract", "path-allowed-and-forbidden", "$.payload.forbidden_paths", "warning",
        broken=[{"allowed_paths": ["a", "b"], "forbidden_paths": ["c", "b"]}],
        kept=[{"allowed_paths": ["a", "b"], "forbidden_paths": ["c"]}, {"allowed_paths": ["a"], "forbidden_paths": []},
            {"allowed_paths": [], "forbidden_paths": ABSENT}]),
    Rule("approval_request", "deadline-in-past", "$.payload.deadline", "warning",
        broken=[{"timestamp": "2026-02-12T10:00:00Z", "deadline": "2026-02-12T09:59:59Z"},
            {"timestamp": "2026-02-12T10:00:00Z", "deadline": "2026-02-12T11:00:00+02:00"}],
        kept=[{"timestamp": "2026-02-12T10:00:00Z", "deadline": "2026-02-12T10:00:00Z"},
            {"timestamp": "2026-02-12T10:00:00Z", "deadline": "2026-02-12T09:00:00-02:00"}, {"deadline": ABSENT}]),
]  # fmt: skip

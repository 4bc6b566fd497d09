"""build-flow 1.0 as its page has it."""

from tests.tables.notation import Notation, Row, Table, lists, texts
from tests.tables.rules import ABSENT, Rule


def _row(type_: str, priority: str, fields: dict[str, Notation], reply: str | None = None, **sample: object) -> Row:
    """The page names agents and not roles, so every type is open to all."""
    return Row(type_, "*", "*", priority, fields, reply, sample)


BUILD_FLOW = Table(
    name="build-flow",
    version="1.0",
    known_by={
        "id": "messageId",
        "correlation": "correlationId",
        "sender": "from",
        "recipient": "to",
        "timestamp": "timestamp",
        "version": "version",
        "reply_to": "replyTo",
        "task": "taskId",
    },
    roles="build-orchestrator cto fullstack-developer plan-manager",
    payload="payload",
    sender="from",
    envelope={
        "messageId": "id",
        "correlationId": "text",
        "timestamp": "time",
        "from": "text",
        "to": "text",
        "version": "=1.0",
        "replyTo?": "text",
        "event?": "bool",
    },
    rows=(
        _row(
            "TASK_ASSIGNMENT",
            "STATUS",
            {
                **texts("taskId title description"),
                "phase": "number",
                "dependencies": ["text"],
                "context": {
                    "approvedDesign?": "text",
                    "existingDocs?": ["text"],
                    "constraints?": ["text"],
                    "planFile?": "text",
                },
            },
        ),
        _row(
            "STATUS_UPDATE",
            "STATUS",
            {
                "taskId": "text",
                "status": "STARTED|PROGRESS|BLOCKED|COMPLETED|FAILED",
                "progress?": "number 0..100",
                "details?": "text",
                "blockers?": ["text"],
            },
        ),
        _row(
            "STATE_TRANSITION",
            "STATUS",
            {"taskId": "text", "fromState": "text", "toState": "text", "reason": "text", "metadata?": "object"},
        ),
        _row(
            "VALIDATION_REQUEST",
            "VALIDATION",
            {
                "taskId": "text",
                "validationType": "DESIGN|QUALITY|SECURITY|CODEBASE_REVIEW",
                "subject": "text",
                "details": {"approach?": "text", "files?": ["text"], "changes?": "text", "planFile?": "text"},
            },
            reply="VALIDATION_RESPONSE",
        ),
        _row(
            "VALIDATION_RESPONSE",
            "VALIDATION",
            {
                "taskId": "text",
                "decision": "APPROVED|REJECTED|CONDITIONAL",
                **lists("reasons conditions? suggestions?"),
            },
        ),
        _row(
            "QUALITY_REPORT",
            "VALIDATION",
            {
                "taskId": "text",
                "status": "PASSED|FAILED",
                "gates": [{"name": "text", "status": "PASSED|FAILED|SKIPPED", "details?": "text"}],
                "failureCount": "0..",
                "actions": ["text"],
            },
        ),
        _row(
            "ERROR_REPORT",
            "ERROR",
            {
                "severity": "CRITICAL|ERROR|WARNING",
                "count": "0..",
                "errors": [{"timestamp": "time", "message": "text", "source?": "text", "stackTrace?": "text"}],
                "taskId?": "text",
                "pattern?": "text",
            },
            count=1,
        )._replace(bare={"count": 1}),
        _row(
            "ESCALATION_REQUEST",
            "ESCALATION",
            {
                "taskId": "text",
                "escalationType": "CTO|HUMAN",
                "reason": "text",
                "failureHistory": [{"agent": "text", "attempts": "0..", "lastError": "text"}],
                "context": "object",
            },
        ),
        _row(
            "COMMIT_REQUEST",
            "VALIDATION",
            {
                "taskId": "text",
                "approvalRef": "text",
                "files": ["text"],
                "commitMessage": "text",
                "metadata": {"qualityGatesPassed": "bool", "approvedBy": "text", "timestamp": "time"},
            },
        ),
        _row(
            "DOC_QUERY",
            "STATUS",
            {"queryType": "SEARCH|VERIFY|REGISTER", "topic": "text", "keywords": ["text"], "context?": "text"},
            reply="DOC_RESPONSE",
        ),
        _row(
            "DOC_RESPONSE",
            "STATUS",
            {
                "found": "bool",
                "documents": [
                    {"path": "text", "relevance": "number 0..100", "topics": ["text"], "lastUpdated": "text"}
                ],
                "recommendation": "USE_EXISTING|UPDATE_EXISTING|CREATE_NEW",
            },
        ),
        _row(
            "CODEBASE_REVIEW_REPORT",
            "VALIDATION",
            {
                "reviewType": "INITIAL_ASSESSMENT|PRE_IMPLEMENTATION",
                "findings": {
                    "architecture": {
                        "status": "GOOD|NEEDS_ATTENTION|CRITICAL",
                        "issues": ["text"],
                        "recommendations": ["text"],
                    },
                    "documentation": {
                        **lists("gaps conflicts outdated updated"),
                    },
                    "codeQuality?": {"technicalDebt": ["text"], "patterns": ["text"], "dependencies": ["text"]},
                },
                "blockers": ["text"],
                "readyForImplementation": "bool",
                "taskId?": "text",
            },
        ),
        _row(
            "MESSAGE_ERROR",
            "ERROR",
            {"originalMessageId": "text", "errorType": "INVALID_FORMAT|UNKNOWN_TYPE|MISSING_FIELD", "details": "text"},
        ),
    ),
)


GATES = [{"name": "lint", "status": "PASSED"}, {"name": "tests", "status": "FAILED"}]
ERROR = {"timestamp": "2026-02-12T10:00:00Z", "message": "timed out"}

RULES = [
    Rule("QUALITY_REPORT", "passed-with-failed-gate", "$.payload.status", "refusal",
        broken=[{"status": "PASSED", "gates": GATES, "failureCount": 0},
            {"status": "PASSED", "gates": GATES[:1], "failureCount": 1}],
        kept=[{"status": "PASSED", "gates": [*GATES[:1], {"name": "e2e", "status": "SKIPPED"}], "failureCount": 0},
            {"status": "PASSED", "gates": [], "failureCount": 0}, {"status": "FAILED", "gates": GATES,
            "failureCount": 1}]),
    Rule("STATUS_UPDATE", "broadcast-to-one", "$.to", "refusal", broken=[{"broadcast": True, "to": "cto"}],
        kept=[{"broadcast": True, "to": "*"}, {"broadcast": False, "to": "cto"}, {"to": "cto"}]),
    Rule("ERROR_REPORT", "count-below-errors", "$.payload.count", "refusal",
        broken=[{"count": 1, "errors": [ERROR, ERROR]}, {"count": 0, "errors": [ERROR]}],
        kept=[{"count": 2, "errors": [ERROR, ERROR]}, {"count": 9, "errors": [ERROR]}, {"count": 0, "errors": []}]),
    Rule("COMMIT_REQUEST", "gates-not-passed", "$.payload.metadata.qualityGatesPassed", "refusal",
        broken=[{"metadata.qualityGatesPassed": False}], kept=[{"metadata.qualityGatesPassed": True}]),
    Rule("VALIDATION_RESPONSE", "conditional-without-conditions", "$.payload.conditions", "warning",
        broken=[{"decision": "CONDITIONAL", "conditions": ABSENT}, {"decision": "CONDITIONAL", "conditions": []}],
        kept=[{"decision": "CONDITIONAL", "conditions": ["a test"]}, {"decision": "APPROVED", "conditions": ABSENT}]),
    Rule("STATUS_UPDATE", "blocked-without-blockers", "$.payload.blockers", "warning",
        broken=[{"status": "BLOCKED", "blockers": ABSENT}, {"status": "BLOCKED", "blockers": []}],
        kept=[{"status": "BLOCKED", "blockers": ["no key"]}, {"status": "FAILED", "blockers": ABSENT}]),
    Rule("STATUS_UPDATE", "star-without-broadcast", "$.broadcast", "warning",
        broken=[{"to": "*"}, {"to": "*", "broadcast": False}], kept=[{"to": "*", "broadcast": True}, {"to": "cto"}]),
        *(Rule(type_, "response-without-reply-to", "$.replyTo", "warning", broken=[{"replyTo": ABSENT}],
            kept=[{"replyTo": "msg-1"}]) for type_ in ("VALIDATION_RESPONSE", "DOC_RESPONSE")),
        *(Rule(row.type, "correlation-differs", "$.correlationId", "warning", broken=[{"correlationId": "t-1",
            "taskId": "t-2"}], kept=[{"correlationId": "t-1", "taskId": "t-1"}, {"correlationId": "t-1",
            "taskId": "T-1"}]) for row in BUILD_FLOW.rows if "taskId" in row.fields or "taskId?" in row.fields),
]  # fmt: skip

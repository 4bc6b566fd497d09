"""The examples of the build-flow page, and a message for each interface that it declares without one.

Where an interface lists the values of a field, the message holds that list, as an agent that copies it would send it.
"""

from typing import Any

from tests.pages import Example


def example(type_: str, payload: dict[str, Any], /, *chosen: dict[str, Any], **base: Any) -> Example:
    shown = {
        "messageId": "msg-123",
        "correlationId": "task-001",
        "timestamp": "2024-01-01T12:00:00Z",
        "from": "build orchestrator",
        "to": "@agent-fullstack-developer",
        "type": type_,
        "version": "1.0",
        **base,
        "payload": payload,
    }
    return Example(
        "build-flow", type_, shown, {f"payload.{name}": value for one in chosen for name, value in one.items()}
    )


ARCHITECTURE = {
    "status": "NEEDS_ATTENTION",
    "issues": ["Two routers are in use", "The upload worker has no timeout"],
    "recommendations": ["Keep the newer router", "Give up on an upload after a minute"],
}
DOCUMENTATION = {
    "gaps": ["Nothing tells how to restore a backup"],
    "conflicts": ["README.md and package.json name different ports"],
    "outdated": ["docs/setup.md still begins with a script that is gone"],
    "updated": ["docs/setup.md", "README.md"],
}

TASK_ASSIGNMENT = example(
    "TASK_ASSIGNMENT",
    {
        "taskId": "TASK-001",
        "title": "Let people sign in",
        "description": "A visitor can sign in with an account from elsewhere and out again",
        "phase": 2,
        "dependencies": [],
        "context": {
            "approvedDesign": "Sessions on the server, one provider to begin with",
            "existingDocs": ["docs/auth/oauth-guide.md"],
        },
    },
)
CTO_REVIEW = example(
    "CODEBASE_REVIEW_REPORT",
    {
        "reviewType": "INITIAL_ASSESSMENT",
        "findings": {"architecture": ARCHITECTURE, "documentation": DOCUMENTATION},
        "blockers": [],
        "readyForImplementation": True,
    },
    **{"messageId": "msg-456", "correlationId": "project-review", "from": "@agent-cto", "to": "build orchestrator"},
)

PATTERNS = [
    example(
        "VALIDATION_REQUEST",
        {"taskId": "task-001", "validationType": "DESIGN", "subject": "Login", "details": {}},
        messageId="req-123",
    ),
    example(
        "VALIDATION_RESPONSE",
        {"taskId": "task-001", "decision": "APPROVED", "reasons": ["Sound"]},
        messageId="res-456",
        replyTo="req-123",
    ),
    example(
        "STATUS_UPDATE",
        {"taskId": "task-001", "status": "STARTED"},
        **{"messageId": "broadcast-789", "from": "build-orchestrator", "to": "*", "broadcast": True},
    ),
    example(
        "STATE_TRANSITION",
        {"taskId": "task-001", "fromState": "planning", "toState": "validated", "reason": "Approved"},
        **{"messageId": "event-321", "from": "plan-manager", "to": "build-orchestrator", "event": True},
    ),
]

INTERFACES = [
    example(
        "STATUS_UPDATE",
        {
            "taskId": "task-001",
            "status": "STARTED | PROGRESS | BLOCKED | COMPLETED | FAILED",
            "progress": 50,
            "details": "Half way",
            "blockers": ["No key yet"],
        },
        {"status": "BLOCKED"},
    ),
    example(
        "STATE_TRANSITION",
        {"taskId": "task-001", "fromState": "a", "toState": "b", "reason": "c", "metadata": {"any": [1, None]}},
    ),
    example(
        "VALIDATION_REQUEST",
        {
            "taskId": "task-001",
            "validationType": "DESIGN | QUALITY | SECURITY | CODEBASE_REVIEW",
            "subject": "Login",
            "details": {"approach": "OAuth2", "files": ["a.ts"], "changes": "one", "planFile": "plan.md"},
        },
        {"validationType": "CODEBASE_REVIEW"},
    ),
    example(
        "VALIDATION_RESPONSE",
        {
            "taskId": "task-001",
            "decision": "APPROVED | REJECTED | CONDITIONAL",
            "reasons": ["Sound"],
            "conditions": ["Add a test"],
            "suggestions": [],
        },
        {"decision": "CONDITIONAL"},
        replyTo="req-123",
    ),
    example(
        "QUALITY_REPORT",
        {
            "taskId": "task-001",
            "status": "PASSED | FAILED",
            "gates": [{"name": "lint", "status": "PASSED | FAILED | SKIPPED", "details": "2 errors"}],
            "failureCount": 1,
            "actions": ["Fix them"],
        },
        {"status": "FAILED", "gates.0.status": "FAILED"},
    ),
    example(
        "ERROR_REPORT",
        {
            "taskId": "task-001",
            "severity": "CRITICAL | ERROR | WARNING",
            "count": 1,
            "errors": [
                {
                    "timestamp": "2024-01-01T12:00:00Z",
                    "message": "Timed out",
                    "source": "api",
                    "stackTrace": "at a.ts:1",
                }
            ],
            "pattern": "Every tenth call",
        },
        {"severity": "CRITICAL"},
    ),
    example(
        "ESCALATION_REQUEST",
        {
            "taskId": "task-001",
            "escalationType": "CTO | HUMAN",
            "reason": "Three failures",
            "failureHistory": [{"agent": "fullstack-developer", "attempts": 3, "lastError": "Tests fail"}],
            "context": {"any": "thing"},
        },
        {"escalationType": "CTO"},
    ),
    example(
        "COMMIT_REQUEST",
        {
            "taskId": "task-001",
            "approvalRef": "res-456",
            "files": ["a.ts"],
            "commitMessage": "feat: login",
            "metadata": {"qualityGatesPassed": True, "approvedBy": "cto", "timestamp": "2024-01-01T12:00:00Z"},
        },
    ),
    example(
        "DOC_QUERY",
        {"queryType": "SEARCH | VERIFY | REGISTER", "topic": "Login", "keywords": ["oauth"], "context": "Task 1"},
        {"queryType": "VERIFY"},
    ),
    example(
        "DOC_RESPONSE",
        {
            "found": True,
            "documents": [{"path": "a.md", "relevance": 100, "topics": ["oauth"], "lastUpdated": "2024-01-01"}],
            "recommendation": "USE_EXISTING | UPDATE_EXISTING | CREATE_NEW",
        },
        {"recommendation": "CREATE_NEW"},
        replyTo="req-123",
    ),
    example(
        "CODEBASE_REVIEW_REPORT",
        {
            "taskId": "task-001",
            "reviewType": "INITIAL_ASSESSMENT | PRE_IMPLEMENTATION",
            "findings": {
                "architecture": {**ARCHITECTURE, "status": "GOOD | NEEDS_ATTENTION | CRITICAL"},
                "documentation": DOCUMENTATION,
                "codeQuality": {"technicalDebt": ["Old router"], "patterns": ["Hooks"], "dependencies": []},
            },
            "blockers": [],
            "readyForImplementation": False,
        },
        {"reviewType": "PRE_IMPLEMENTATION", "findings.architecture.status": "CRITICAL"},
    ),
    example(
        "MESSAGE_ERROR",
        {
            "originalMessageId": "msg-123",
            "errorType": "INVALID_FORMAT | UNKNOWN_TYPE | MISSING_FIELD",
            "details": "taskId is missing",
        },
        {"errorType": "MISSING_FIELD"},
    ),
]

EXAMPLES = [TASK_ASSIGNMENT, CTO_REVIEW, *PATTERNS, *INTERFACES]

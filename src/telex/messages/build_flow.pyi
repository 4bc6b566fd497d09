# Made by `python -m telex.generate` from the dialect; a change here is lost.
# ruff: noqa: N803
from typing import Any, Literal

def task_assignment(
    *,
    taskId: str = ...,
    title: str = ...,
    description: str = ...,
    phase: float = ...,
    dependencies: list[str] = ...,
    context: dict[str, Any] = ...,
    messageId: str = ...,
    correlationId: str = ...,
    timestamp: str = ...,
    from_: str = ...,
    to: str = ...,
    version: Literal["1.0"] = ...,
    replyTo: str = ...,
    broadcast: bool = ...,
    event: bool = ...,
) -> dict[str, Any]:
    """A task given to an agent, with what it builds on."""

def status_update(
    *,
    taskId: str = ...,
    status: Literal["STARTED", "PROGRESS", "BLOCKED", "COMPLETED", "FAILED"] = ...,
    progress: float = ...,
    details: str = ...,
    blockers: list[str] = ...,
    messageId: str = ...,
    correlationId: str = ...,
    timestamp: str = ...,
    from_: str = ...,
    to: str = ...,
    version: Literal["1.0"] = ...,
    replyTo: str = ...,
    broadcast: bool = ...,
    event: bool = ...,
) -> dict[str, Any]:
    """How far a task has come."""

def state_transition(
    *,
    taskId: str = ...,
    fromState: str = ...,
    toState: str = ...,
    reason: str = ...,
    metadata: dict[str, Any] = ...,
    messageId: str = ...,
    correlationId: str = ...,
    timestamp: str = ...,
    from_: str = ...,
    to: str = ...,
    version: Literal["1.0"] = ...,
    replyTo: str = ...,
    broadcast: bool = ...,
    event: bool = ...,
) -> dict[str, Any]:
    """A task moved from one state to another."""

def validation_request(
    *,
    taskId: str = ...,
    validationType: Literal["DESIGN", "QUALITY", "SECURITY", "CODEBASE_REVIEW"] = ...,
    subject: str = ...,
    details: dict[str, Any] = ...,
    messageId: str = ...,
    correlationId: str = ...,
    timestamp: str = ...,
    from_: str = ...,
    to: str = ...,
    version: Literal["1.0"] = ...,
    replyTo: str = ...,
    broadcast: bool = ...,
    event: bool = ...,
) -> dict[str, Any]:
    """A question whether a design, its quality, security or the codebase is good enough to go on."""

def validation_response(
    *,
    taskId: str = ...,
    decision: Literal["APPROVED", "REJECTED", "CONDITIONAL"] = ...,
    reasons: list[str] = ...,
    conditions: list[str] = ...,
    suggestions: list[str] = ...,
    messageId: str = ...,
    correlationId: str = ...,
    timestamp: str = ...,
    from_: str = ...,
    to: str = ...,
    version: Literal["1.0"] = ...,
    replyTo: str = ...,
    broadcast: bool = ...,
    event: bool = ...,
) -> dict[str, Any]:
    """The answer to a VALIDATION_REQUEST, with its reasons."""

def quality_report(
    *,
    taskId: str = ...,
    status: Literal["PASSED", "FAILED"] = ...,
    gates: list[dict[str, Any]] = ...,
    failureCount: int = ...,
    actions: list[str] = ...,
    messageId: str = ...,
    correlationId: str = ...,
    timestamp: str = ...,
    from_: str = ...,
    to: str = ...,
    version: Literal["1.0"] = ...,
    replyTo: str = ...,
    broadcast: bool = ...,
    event: bool = ...,
) -> dict[str, Any]:
    """Which quality gates a task passed."""

def error_report(
    *,
    severity: Literal["CRITICAL", "ERROR", "WARNING"] = ...,
    count: int = ...,
    errors: list[dict[str, Any]] = ...,
    taskId: str = ...,
    pattern: str = ...,
    messageId: str = ...,
    correlationId: str = ...,
    timestamp: str = ...,
    from_: str = ...,
    to: str = ...,
    version: Literal["1.0"] = ...,
    replyTo: str = ...,
    broadcast: bool = ...,
    event: bool = ...,
) -> dict[str, Any]:
    """Errors that were seen, and whether they form a pattern."""

def escalation_request(
    *,
    taskId: str = ...,
    escalationType: Literal["CTO", "HUMAN"] = ...,
    reason: str = ...,
    failureHistory: list[dict[str, Any]] = ...,
    context: dict[str, Any] = ...,
    messageId: str = ...,
    correlationId: str = ...,
    timestamp: str = ...,
    from_: str = ...,
    to: str = ...,
    version: Literal["1.0"] = ...,
    replyTo: str = ...,
    broadcast: bool = ...,
    event: bool = ...,
) -> dict[str, Any]:
    """A task that keeps failing, handed to the CTO or a human."""

def commit_request(
    *,
    taskId: str = ...,
    approvalRef: str = ...,
    files: list[str] = ...,
    commitMessage: str = ...,
    metadata: dict[str, Any] = ...,
    messageId: str = ...,
    correlationId: str = ...,
    timestamp: str = ...,
    from_: str = ...,
    to: str = ...,
    version: Literal["1.0"] = ...,
    replyTo: str = ...,
    broadcast: bool = ...,
    event: bool = ...,
) -> dict[str, Any]:
    """Approved files, to be committed."""

def doc_query(
    *,
    queryType: Literal["SEARCH", "VERIFY", "REGISTER"] = ...,
    topic: str = ...,
    keywords: list[str] = ...,
    context: str = ...,
    messageId: str = ...,
    correlationId: str = ...,
    timestamp: str = ...,
    from_: str = ...,
    to: str = ...,
    version: Literal["1.0"] = ...,
    replyTo: str = ...,
    broadcast: bool = ...,
    event: bool = ...,
) -> dict[str, Any]:
    """A question to the documentation."""

def doc_response(
    *,
    found: bool = ...,
    documents: list[dict[str, Any]] = ...,
    recommendation: Literal["USE_EXISTING", "UPDATE_EXISTING", "CREATE_NEW"] = ...,
    messageId: str = ...,
    correlationId: str = ...,
    timestamp: str = ...,
    from_: str = ...,
    to: str = ...,
    version: Literal["1.0"] = ...,
    replyTo: str = ...,
    broadcast: bool = ...,
    event: bool = ...,
) -> dict[str, Any]:
    """The documents there are, and whether to use, update or write one."""

def codebase_review_report(
    *,
    reviewType: Literal["INITIAL_ASSESSMENT", "PRE_IMPLEMENTATION"] = ...,
    findings: dict[str, Any] = ...,
    blockers: list[str] = ...,
    readyForImplementation: bool = ...,
    taskId: str = ...,
    messageId: str = ...,
    correlationId: str = ...,
    timestamp: str = ...,
    from_: str = ...,
    to: str = ...,
    version: Literal["1.0"] = ...,
    replyTo: str = ...,
    broadcast: bool = ...,
    event: bool = ...,
) -> dict[str, Any]:
    """The state of a codebase before work on it begins."""

def message_error(
    *,
    originalMessageId: str = ...,
    errorType: Literal["INVALID_FORMAT", "UNKNOWN_TYPE", "MISSING_FIELD"] = ...,
    details: str = ...,
    messageId: str = ...,
    correlationId: str = ...,
    timestamp: str = ...,
    from_: str = ...,
    to: str = ...,
    version: Literal["1.0"] = ...,
    replyTo: str = ...,
    broadcast: bool = ...,
    event: bool = ...,
) -> dict[str, Any]:
    """The answer to a message that was refused."""

# Made by `python -m telex.generate` from the dialect; a change here is lost.
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from telex.messages import Section, TypedMessage

class TaskAssignment(TypedMessage):
    """A task given to an agent, with what it builds on."""

    TYPE: ClassVar[str] = "TASK_ASSIGNMENT"
    DIALECT: ClassVar[str] = "build-flow"

    class Context(Section):
        @property
        def approved_design(self) -> str | None: ...
        @property
        def existing_docs(self) -> list[str] | None: ...
        @property
        def constraints(self) -> list[str] | None: ...
        @property
        def plan_file(self) -> str | None: ...
        def __init__(
            self,
            *,
            approved_design: str | None = None,
            existing_docs: Sequence[str] | None = None,
            constraints: Sequence[str] | None = None,
            plan_file: str | None = None,
        ) -> None: ...

    class Payload(Section):
        @property
        def task_id(self) -> str: ...
        @property
        def title(self) -> str: ...
        @property
        def description(self) -> str: ...
        @property
        def phase(self) -> float: ...
        @property
        def dependencies(self) -> list[str]: ...
        @property
        def context(self) -> TaskAssignment.Context: ...
        def __init__(
            self,
            *,
            task_id: str,
            title: str,
            description: str,
            phase: float,
            dependencies: Sequence[str],
            context: TaskAssignment.Context | Mapping[str, Any],
        ) -> None: ...

    @property
    def message_id(self) -> str | None: ...
    @property
    def correlation_id(self) -> str | None: ...
    @property
    def timestamp(self) -> str | None: ...
    @property
    def from_(self) -> str | None: ...
    @property
    def to(self) -> str | None: ...
    @property
    def version(self) -> Literal["1.0"]: ...
    @property
    def reply_to(self) -> str | None: ...
    @property
    def broadcast(self) -> bool | None: ...
    @property
    def event(self) -> bool | None: ...
    @property
    def payload(self) -> TaskAssignment.Payload: ...
    def __init__(
        self,
        *,
        task_id: str,
        title: str,
        description: str,
        phase: float,
        dependencies: Sequence[str],
        context: TaskAssignment.Context | Mapping[str, Any],
        message_id: str | None = None,
        correlation_id: str | None = None,
        timestamp: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        version: Literal["1.0"] | None = None,
        reply_to: str | None = None,
        broadcast: bool | None = None,
        event: bool | None = None,
    ) -> None: ...

class StatusUpdate(TypedMessage):
    """How far a task has come."""

    TYPE: ClassVar[str] = "STATUS_UPDATE"
    DIALECT: ClassVar[str] = "build-flow"

    class Payload(Section):
        @property
        def task_id(self) -> str: ...
        @property
        def status(self) -> Literal["STARTED", "PROGRESS", "BLOCKED", "COMPLETED", "FAILED"]: ...
        @property
        def progress(self) -> float | None: ...
        @property
        def details(self) -> str | None: ...
        @property
        def blockers(self) -> list[str] | None: ...
        def __init__(
            self,
            *,
            task_id: str,
            status: Literal["STARTED", "PROGRESS", "BLOCKED", "COMPLETED", "FAILED"],
            progress: float | None = None,
            details: str | None = None,
            blockers: Sequence[str] | None = None,
        ) -> None: ...

    @property
    def message_id(self) -> str | None: ...
    @property
    def correlation_id(self) -> str | None: ...
    @property
    def timestamp(self) -> str | None: ...
    @property
    def from_(self) -> str | None: ...
    @property
    def to(self) -> str | None: ...
    @property
    def version(self) -> Literal["1.0"]: ...
    @property
    def reply_to(self) -> str | None: ...
    @property
    def broadcast(self) -> bool | None: ...
    @property
    def event(self) -> bool | None: ...
    @property
    def payload(self) -> StatusUpdate.Payload: ...
    def __init__(
        self,
        *,
        task_id: str,
        status: Literal["STARTED", "PROGRESS", "BLOCKED", "COMPLETED", "FAILED"],
        progress: float | None = None,
        details: str | None = None,
        blockers: Sequence[str] | None = None,
        message_id: str | None = None,
        correlation_id: str | None = None,
        timestamp: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        version: Literal["1.0"] | None = None,
        reply_to: str | None = None,
        broadcast: bool | None = None,
        event: bool | None = None,
    ) -> None: ...

class StateTransition(TypedMessage):
    """A task moved from one state to another."""

    TYPE: ClassVar[str] = "STATE_TRANSITION"
    DIALECT: ClassVar[str] = "build-flow"

    class Payload(Section):
        @property
        def task_id(self) -> str: ...
        @property
        def from_state(self) -> str: ...
        @property
        def to_state(self) -> str: ...
        @property
        def reason(self) -> str: ...
        @property
        def metadata(self) -> dict[str, Any] | None: ...
        def __init__(
            self,
            *,
            task_id: str,
            from_state: str,
            to_state: str,
            reason: str,
            metadata: Mapping[str, Any] | None = None,
        ) -> None: ...

    @property
    def message_id(self) -> str | None: ...
    @property
    def correlation_id(self) -> str | None: ...
    @property
    def timestamp(self) -> str | None: ...
    @property
    def from_(self) -> str | None: ...
    @property
    def to(self) -> str | None: ...
    @property
    def version(self) -> Literal["1.0"]: ...
    @property
    def reply_to(self) -> str | None: ...
    @property
    def broadcast(self) -> bool | None: ...
    @property
    def event(self) -> bool | None: ...
    @property
    def payload(self) -> StateTransition.Payload: ...
    def __init__(
        self,
        *,
        task_id: str,
        from_state: str,
        to_state: str,
        reason: str,
        metadata: Mapping[str, Any] | None = None,
        message_id: str | None = None,
        correlation_id: str | None = None,
        timestamp: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        version: Literal["1.0"] | None = None,
        reply_to: str | None = None,
        broadcast: bool | None = None,
        event: bool | None = None,
    ) -> None: ...

class ValidationRequest(TypedMessage):
    """A question whether a design, its quality, security or the codebase is good enough to go on."""

    TYPE: ClassVar[str] = "VALIDATION_REQUEST"
    DIALECT: ClassVar[str] = "build-flow"

    class Details(Section):
        @property
        def approach(self) -> str | None: ...
        @property
        def files(self) -> list[str] | None: ...
        @property
        def changes(self) -> str | None: ...
        @property
        def plan_file(self) -> str | None: ...
        def __init__(
            self,
            *,
            approach: str | None = None,
            files: Sequence[str] | None = None,
            changes: str | None = None,
            plan_file: str | None = None,
        ) -> None: ...

    class Payload(Section):
        @property
        def task_id(self) -> str: ...
        @property
        def validation_type(self) -> Literal["DESIGN", "QUALITY", "SECURITY", "CODEBASE_REVIEW"]: ...
        @property
        def subject(self) -> str: ...
        @property
        def details(self) -> ValidationRequest.Details: ...
        def __init__(
            self,
            *,
            task_id: str,
            validation_type: Literal["DESIGN", "QUALITY", "SECURITY", "CODEBASE_REVIEW"],
            subject: str,
            details: ValidationRequest.Details | Mapping[str, Any],
        ) -> None: ...

    @property
    def message_id(self) -> str | None: ...
    @property
    def correlation_id(self) -> str | None: ...
    @property
    def timestamp(self) -> str | None: ...
    @property
    def from_(self) -> str | None: ...
    @property
    def to(self) -> str | None: ...
    @property
    def version(self) -> Literal["1.0"]: ...
    @property
    def reply_to(self) -> str | None: ...
    @property
    def broadcast(self) -> bool | None: ...
    @property
    def event(self) -> bool | None: ...
    @property
    def payload(self) -> ValidationRequest.Payload: ...
    def __init__(
        self,
        *,
        task_id: str,
        validation_type: Literal["DESIGN", "QUALITY", "SECURITY", "CODEBASE_REVIEW"],
        subject: str,
        details: ValidationRequest.Details | Mapping[str, Any],
        message_id: str | None = None,
        correlation_id: str | None = None,
        timestamp: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        version: Literal["1.0"] | None = None,
        reply_to: str | None = None,
        broadcast: bool | None = None,
        event: bool | None = None,
    ) -> None: ...

class ValidationResponse(TypedMessage):
    """The answer to a VALIDATION_REQUEST, with its reasons."""

    TYPE: ClassVar[str] = "VALIDATION_RESPONSE"
    DIALECT: ClassVar[str] = "build-flow"

    class Payload(Section):
        @property
        def task_id(self) -> str: ...
        @property
        def decision(self) -> Literal["APPROVED", "REJECTED", "CONDITIONAL"]: ...
        @property
        def reasons(self) -> list[str]: ...
        @property
        def conditions(self) -> list[str] | None: ...
        @property
        def suggestions(self) -> list[str] | None: ...
        def __init__(
            self,
            *,
            task_id: str,
            decision: Literal["APPROVED", "REJECTED", "CONDITIONAL"],
            reasons: Sequence[str],
            conditions: Sequence[str] | None = None,
            suggestions: Sequence[str] | None = None,
        ) -> None: ...

    @property
    def message_id(self) -> str | None: ...
    @property
    def correlation_id(self) -> str | None: ...
    @property
    def timestamp(self) -> str | None: ...
    @property
    def from_(self) -> str | None: ...
    @property
    def to(self) -> str | None: ...
    @property
    def version(self) -> Literal["1.0"]: ...
    @property
    def reply_to(self) -> str | None: ...
    @property
    def broadcast(self) -> bool | None: ...
    @property
    def event(self) -> bool | None: ...
    @property
    def payload(self) -> ValidationResponse.Payload: ...
    def __init__(
        self,
        *,
        task_id: str,
        decision: Literal["APPROVED", "REJECTED", "CONDITIONAL"],
        reasons: Sequence[str],
        conditions: Sequence[str] | None = None,
        suggestions: Sequence[str] | None = None,
        message_id: str | None = None,
        correlation_id: str | None = None,
        timestamp: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        version: Literal["1.0"] | None = None,
        reply_to: str | None = None,
        broadcast: bool | None = None,
        event: bool | None = None,
    ) -> None: ...

class QualityReport(TypedMessage):
    """Which quality gates a task passed."""

    TYPE: ClassVar[str] = "QUALITY_REPORT"
    DIALECT: ClassVar[str] = "build-flow"

    class GatesItem(Section):
        @property
        def name(self) -> str: ...
        @property
        def status(self) -> Literal["PASSED", "FAILED", "SKIPPED"]: ...
        @property
        def details(self) -> str | None: ...
        def __init__(
            self,
            *,
            name: str,
            status: Literal["PASSED", "FAILED", "SKIPPED"],
            details: str | None = None,
        ) -> None: ...

    class Payload(Section):
        @property
        def task_id(self) -> str: ...
        @property
        def status(self) -> Literal["PASSED", "FAILED"]: ...
        @property
        def gates(self) -> list[QualityReport.GatesItem]: ...
        @property
        def failure_count(self) -> int: ...
        @property
        def actions(self) -> list[str]: ...
        def __init__(
            self,
            *,
            task_id: str,
            status: Literal["PASSED", "FAILED"],
            gates: Sequence[QualityReport.GatesItem | Mapping[str, Any]],
            failure_count: int,
            actions: Sequence[str],
        ) -> None: ...

    @property
    def message_id(self) -> str | None: ...
    @property
    def correlation_id(self) -> str | None: ...
    @property
    def timestamp(self) -> str | None: ...
    @property
    def from_(self) -> str | None: ...
    @property
    def to(self) -> str | None: ...
    @property
    def version(self) -> Literal["1.0"]: ...
    @property
    def reply_to(self) -> str | None: ...
    @property
    def broadcast(self) -> bool | None: ...
    @property
    def event(self) -> bool | None: ...
    @property
    def payload(self) -> QualityReport.Payload: ...
    def __init__(
        self,
        *,
        task_id: str,
        status: Literal["PASSED", "FAILED"],
        gates: Sequence[QualityReport.GatesItem | Mapping[str, Any]],
        failure_count: int,
        actions: Sequence[str],
        message_id: str | None = None,
        correlation_id: str | None = None,
        timestamp: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        version: Literal["1.0"] | None = None,
        reply_to: str | None = None,
        broadcast: bool | None = None,
        event: bool | None = None,
    ) -> None: ...

class ErrorReport(TypedMessage):
    """Errors that were seen, and whether they form a pattern."""

    TYPE: ClassVar[str] = "ERROR_REPORT"
    DIALECT: ClassVar[str] = "build-flow"

    class ErrorsItem(Section):
        @property
        def timestamp(self) -> str: ...
        @property
        def message(self) -> str: ...
        @property
        def source(self) -> str | None: ...
        @property
        def stack_trace(self) -> str | None: ...
        def __init__(
            self,
            *,
            timestamp: str,
            message: str,
            source: str | None = None,
            stack_trace: str | None = None,
        ) -> None: ...

    class Payload(Section):
        @property
        def severity(self) -> Literal["CRITICAL", "ERROR", "WARNING"]: ...
        @property
        def count(self) -> int: ...
        @property
        def errors(self) -> list[ErrorReport.ErrorsItem]: ...
        @property
        def task_id(self) -> str | None: ...
        @property
        def pattern(self) -> str | None: ...
        def __init__(
            self,
            *,
            severity: Literal["CRITICAL", "ERROR", "WARNING"],
            count: int,
            errors: Sequence[ErrorReport.ErrorsItem | Mapping[str, Any]],
            task_id: str | None = None,
            pattern: str | None = None,
        ) -> None: ...

    @property
    def message_id(self) -> str | None: ...
    @property
    def correlation_id(self) -> str | None: ...
    @property
    def timestamp(self) -> str | None: ...
    @property
    def from_(self) -> str | None: ...
    @property
    def to(self) -> str | None: ...
    @property
    def version(self) -> Literal["1.0"]: ...
    @property
    def reply_to(self) -> str | None: ...
    @property
    def broadcast(self) -> bool | None: ...
    @property
    def event(self) -> bool | None: ...
    @property
    def payload(self) -> ErrorReport.Payload: ...
    def __init__(
        self,
        *,
        severity: Literal["CRITICAL", "ERROR", "WARNING"],
        count: int,
        errors: Sequence[ErrorReport.ErrorsItem | Mapping[str, Any]],
        task_id: str | None = None,
        pattern: str | None = None,
        message_id: str | None = None,
        correlation_id: str | None = None,
        timestamp: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        version: Literal["1.0"] | None = None,
        reply_to: str | None = None,
        broadcast: bool | None = None,
        event: bool | None = None,
    ) -> None: ...

class EscalationRequest(TypedMessage):
    """A task that keeps failing, handed to the CTO or a human."""

    TYPE: ClassVar[str] = "ESCALATION_REQUEST"
    DIALECT: ClassVar[str] = "build-flow"

    class FailureHistoryItem(Section):
        @property
        def agent(self) -> str: ...
        @property
        def attempts(self) -> int: ...
        @property
        def last_error(self) -> str: ...
        def __init__(
            self,
            *,
            agent: str,
            attempts: int,
            last_error: str,
        ) -> None: ...

    class Payload(Section):
        @property
        def task_id(self) -> str: ...
        @property
        def escalation_type(self) -> Literal["CTO", "HUMAN"]: ...
        @property
        def reason(self) -> str: ...
        @property
        def failure_history(self) -> list[EscalationRequest.FailureHistoryItem]: ...
        @property
        def context(self) -> dict[str, Any]: ...
        def __init__(
            self,
            *,
            task_id: str,
            escalation_type: Literal["CTO", "HUMAN"],
            reason: str,
            failure_history: Sequence[EscalationRequest.FailureHistoryItem | Mapping[str, Any]],
            context: Mapping[str, Any],
        ) -> None: ...

    @property
    def message_id(self) -> str | None: ...
    @property
    def correlation_id(self) -> str | None: ...
    @property
    def timestamp(self) -> str | None: ...
    @property
    def from_(self) -> str | None: ...
    @property
    def to(self) -> str | None: ...
    @property
    def version(self) -> Literal["1.0"]: ...
    @property
    def reply_to(self) -> str | None: ...
    @property
    def broadcast(self) -> bool | None: ...
    @property
    def event(self) -> bool | None: ...
    @property
    def payload(self) -> EscalationRequest.Payload: ...
    def __init__(
        self,
        *,
        task_id: str,
        escalation_type: Literal["CTO", "HUMAN"],
        reason: str,
        failure_history: Sequence[EscalationRequest.FailureHistoryItem | Mapping[str, Any]],
        context: Mapping[str, Any],
        message_id: str | None = None,
        correlation_id: str | None = None,
        timestamp: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        version: Literal["1.0"] | None = None,
        reply_to: str | None = None,
        broadcast: bool | None = None,
        event: bool | None = None,
    ) -> None: ...

class CommitRequest(TypedMessage):
    """Approved files, to be committed."""

    TYPE: ClassVar[str] = "COMMIT_REQUEST"
    DIALECT: ClassVar[str] = "build-flow"

    class Metadata(Section):
        @property
        def quality_gates_passed(self) -> bool: ...
        @property
        def approved_by(self) -> str: ...
        @property
        def timestamp(self) -> str: ...
        def __init__(
            self,
            *,
            quality_gates_passed: bool,
            approved_by: str,
            timestamp: str,
        ) -> None: ...

    class Payload(Section):
        @property
        def task_id(self) -> str: ...
        @property
        def approval_ref(self) -> str: ...
        @property
        def files(self) -> list[str]: ...
        @property
        def commit_message(self) -> str: ...
        @property
        def metadata(self) -> CommitRequest.Metadata: ...
        def __init__(
            self,
            *,
            task_id: str,
            approval_ref: str,
            files: Sequence[str],
            commit_message: str,
            metadata: CommitRequest.Metadata | Mapping[str, Any],
        ) -> None: ...

    @property
    def message_id(self) -> str | None: ...
    @property
    def correlation_id(self) -> str | None: ...
    @property
    def timestamp(self) -> str | None: ...
    @property
    def from_(self) -> str | None: ...
    @property
    def to(self) -> str | None: ...
    @property
    def version(self) -> Literal["1.0"]: ...
    @property
    def reply_to(self) -> str | None: ...
    @property
    def broadcast(self) -> bool | None: ...
    @property
    def event(self) -> bool | None: ...
    @property
    def payload(self) -> CommitRequest.Payload: ...
    def __init__(
        self,
        *,
        task_id: str,
        approval_ref: str,
        files: Sequence[str],
        commit_message: str,
        metadata: CommitRequest.Metadata | Mapping[str, Any],
        message_id: str | None = None,
        correlation_id: str | None = None,
        timestamp: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        version: Literal["1.0"] | None = None,
        reply_to: str | None = None,
        broadcast: bool | None = None,
        event: bool | None = None,
    ) -> None: ...

class DocQuery(TypedMessage):
    """A question to the documentation."""

    TYPE: ClassVar[str] = "DOC_QUERY"
    DIALECT: ClassVar[str] = "build-flow"

    class Payload(Section):
        @property
        def query_type(self) -> Literal["SEARCH", "VERIFY", "REGISTER"]: ...
        @property
        def topic(self) -> str: ...
        @property
        def keywords(self) -> list[str]: ...
        @property
        def context(self) -> str | None: ...
        def __init__(
            self,
            *,
            query_type: Literal["SEARCH", "VERIFY", "REGISTER"],
            topic: str,
            keywords: Sequence[str],
            context: str | None = None,
        ) -> None: ...

    @property
    def message_id(self) -> str | None: ...
    @property
    def correlation_id(self) -> str | None: ...
    @property
    def timestamp(self) -> str | None: ...
    @property
    def from_(self) -> str | None: ...
    @property
    def to(self) -> str | None: ...
    @property
    def version(self) -> Literal["1.0"]: ...
    @property
    def reply_to(self) -> str | None: ...
    @property
    def broadcast(self) -> bool | None: ...
    @property
    def event(self) -> bool | None: ...
    @property
    def payload(self) -> DocQuery.Payload: ...
    def __init__(
        self,
        *,
        query_type: Literal["SEARCH", "VERIFY", "REGISTER"],
        topic: str,
        keywords: Sequence[str],
        context: str | None = None,
        message_id: str | None = None,
        correlation_id: str | None = None,
        timestamp: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        version: Literal["1.0"] | None = None,
        reply_to: str | None = None,
        broadcast: bool | None = None,
        event: bool | None = None,
    ) -> None: ...

class DocResponse(TypedMessage):
    """The documents there are, and whether to use, update or write one."""

    TYPE: ClassVar[str] = "DOC_RESPONSE"
    DIALECT: ClassVar[str] = "build-flow"

    class DocumentsItem(Section):
        @property
        def path(self) -> str: ...
        @property
        def relevance(self) -> float: ...
        @property
        def topics(self) -> list[str]: ...
        @property
        def last_updated(self) -> str: ...
        def __init__(
            self,
            *,
            path: str,
            relevance: float,
            topics: Sequence[str],
            last_updated: str,
        ) -> None: ...

    class Payload(Section):
        @property
        def found(self) -> bool: ...
        @property
        def documents(self) -> list[DocResponse.DocumentsItem]: ...
        @property
        def recommendation(self) -> Literal["USE_EXISTING", "UPDATE_EXISTING", "CREATE_NEW"]: ...
        def __init__(
            self,
            *,
            found: bool,
            documents: Sequence[DocResponse.DocumentsItem | Mapping[str, Any]],
            recommendation: Literal["USE_EXISTING", "UPDATE_EXISTING", "CREATE_NEW"],
        ) -> None: ...

    @property
    def message_id(self) -> str | None: ...
    @property
    def correlation_id(self) -> str | None: ...
    @property
    def timestamp(self) -> str | None: ...
    @property
    def from_(self) -> str | None: ...
    @property
    def to(self) -> str | None: ...
    @property
    def version(self) -> Literal["1.0"]: ...
    @property
    def reply_to(self) -> str | None: ...
    @property
    def broadcast(self) -> bool | None: ...
    @property
    def event(self) -> bool | None: ...
    @property
    def payload(self) -> DocResponse.Payload: ...
    def __init__(
        self,
        *,
        found: bool,
        documents: Sequence[DocResponse.DocumentsItem | Mapping[str, Any]],
        recommendation: Literal["USE_EXISTING", "UPDATE_EXISTING", "CREATE_NEW"],
        message_id: str | None = None,
        correlation_id: str | None = None,
        timestamp: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        version: Literal["1.0"] | None = None,
        reply_to: str | None = None,
        broadcast: bool | None = None,
        event: bool | None = None,
    ) -> None: ...

class CodebaseReviewReport(TypedMessage):
    """The state of a codebase before work on it begins."""

    TYPE: ClassVar[str] = "CODEBASE_REVIEW_REPORT"
    DIALECT: ClassVar[str] = "build-flow"

    class FindingsArchitecture(Section):
        @property
        def status(self) -> Literal["GOOD", "NEEDS_ATTENTION", "CRITICAL"]: ...
        @property
        def issues(self) -> list[str]: ...
        @property
        def recommendations(self) -> list[str]: ...
        def __init__(
            self,
            *,
            status: Literal["GOOD", "NEEDS_ATTENTION", "CRITICAL"],
            issues: Sequence[str],
            recommendations: Sequence[str],
        ) -> None: ...

    class FindingsDocumentation(Section):
        @property
        def gaps(self) -> list[str]: ...
        @property
        def conflicts(self) -> list[str]: ...
        @property
        def outdated(self) -> list[str]: ...
        @property
        def updated(self) -> list[str]: ...
        def __init__(
            self,
            *,
            gaps: Sequence[str],
            conflicts: Sequence[str],
            outdated: Sequence[str],
            updated: Sequence[str],
        ) -> None: ...

    class FindingsCodeQuality(Section):
        @property
        def technical_debt(self) -> list[str]: ...
        @property
        def patterns(self) -> list[str]: ...
        @property
        def dependencies(self) -> list[str]: ...
        def __init__(
            self,
            *,
            technical_debt: Sequence[str],
            patterns: Sequence[str],
            dependencies: Sequence[str],
        ) -> None: ...

    class Findings(Section):
        @property
        def architecture(self) -> CodebaseReviewReport.FindingsArchitecture: ...
        @property
        def documentation(self) -> CodebaseReviewReport.FindingsDocumentation: ...
        @property
        def code_quality(self) -> CodebaseReviewReport.FindingsCodeQuality | None: ...
        def __init__(
            self,
            *,
            architecture: CodebaseReviewReport.FindingsArchitecture | Mapping[str, Any],
            documentation: CodebaseReviewReport.FindingsDocumentation | Mapping[str, Any],
            code_quality: CodebaseReviewReport.FindingsCodeQuality | Mapping[str, Any] | None = None,
        ) -> None: ...

    class Payload(Section):
        @property
        def review_type(self) -> Literal["INITIAL_ASSESSMENT", "PRE_IMPLEMENTATION"]: ...
        @property
        def findings(self) -> CodebaseReviewReport.Findings: ...
        @property
        def blockers(self) -> list[str]: ...
        @property
        def ready_for_implementation(self) -> bool: ...
        @property
        def task_id(self) -> str | None: ...
        def __init__(
            self,
            *,
            review_type: Literal["INITIAL_ASSESSMENT", "PRE_IMPLEMENTATION"],
            findings: CodebaseReviewReport.Findings | Mapping[str, Any],
            blockers: Sequence[str],
            ready_for_implementation: bool,
            task_id: str | None = None,
        ) -> None: ...

    @property
    def message_id(self) -> str | None: ...
    @property
    def correlation_id(self) -> str | None: ...
    @property
    def timestamp(self) -> str | None: ...
    @property
    def from_(self) -> str | None: ...
    @property
    def to(self) -> str | None: ...
    @property
    def version(self) -> Literal["1.0"]: ...
    @property
    def reply_to(self) -> str | None: ...
    @property
    def broadcast(self) -> bool | None: ...
    @property
    def event(self) -> bool | None: ...
    @property
    def payload(self) -> CodebaseReviewReport.Payload: ...
    def __init__(
        self,
        *,
        review_type: Literal["INITIAL_ASSESSMENT", "PRE_IMPLEMENTATION"],
        findings: CodebaseReviewReport.Findings | Mapping[str, Any],
        blockers: Sequence[str],
        ready_for_implementation: bool,
        task_id: str | None = None,
        message_id: str | None = None,
        correlation_id: str | None = None,
        timestamp: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        version: Literal["1.0"] | None = None,
        reply_to: str | None = None,
        broadcast: bool | None = None,
        event: bool | None = None,
    ) -> None: ...

class MessageError(TypedMessage):
    """The answer to a message that was refused."""

    TYPE: ClassVar[str] = "MESSAGE_ERROR"
    DIALECT: ClassVar[str] = "build-flow"

    class Payload(Section):
        @property
        def original_message_id(self) -> str: ...
        @property
        def error_type(self) -> Literal["INVALID_FORMAT", "UNKNOWN_TYPE", "MISSING_FIELD"]: ...
        @property
        def details(self) -> str: ...
        def __init__(
            self,
            *,
            original_message_id: str,
            error_type: Literal["INVALID_FORMAT", "UNKNOWN_TYPE", "MISSING_FIELD"],
            details: str,
        ) -> None: ...

    @property
    def message_id(self) -> str | None: ...
    @property
    def correlation_id(self) -> str | None: ...
    @property
    def timestamp(self) -> str | None: ...
    @property
    def from_(self) -> str | None: ...
    @property
    def to(self) -> str | None: ...
    @property
    def version(self) -> Literal["1.0"]: ...
    @property
    def reply_to(self) -> str | None: ...
    @property
    def broadcast(self) -> bool | None: ...
    @property
    def event(self) -> bool | None: ...
    @property
    def payload(self) -> MessageError.Payload: ...
    def __init__(
        self,
        *,
        original_message_id: str,
        error_type: Literal["INVALID_FORMAT", "UNKNOWN_TYPE", "MISSING_FIELD"],
        details: str,
        message_id: str | None = None,
        correlation_id: str | None = None,
        timestamp: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        version: Literal["1.0"] | None = None,
        reply_to: str | None = None,
        broadcast: bool | None = None,
        event: bool | None = None,
    ) -> None: ...

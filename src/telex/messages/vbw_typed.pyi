# Made by `python -m telex.generate` from the dialect; a change here is lost.
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from telex.messages import Section, TypedMessage

class ScoutFindings(TypedMessage):
    """What a scout learned about one domain of the project."""

    TYPE: ClassVar[str] = "scout_findings"
    DIALECT: ClassVar[str] = "vbw-typed"

    class DocumentsItem(Section):
        @property
        def name(self) -> str: ...
        @property
        def content(self) -> str: ...
        def __init__(
            self,
            *,
            name: str,
            content: str,
        ) -> None: ...

    class CrossCuttingItem(Section):
        @property
        def target_domain(self) -> str: ...
        @property
        def finding(self) -> str: ...
        @property
        def relevance(self) -> Literal["high", "medium", "low"]: ...
        def __init__(
            self,
            *,
            target_domain: str,
            finding: str,
            relevance: Literal["high", "medium", "low"],
        ) -> None: ...

    class Payload(Section):
        @property
        def domain(self) -> Literal["tech-stack", "architecture", "quality", "concerns"]: ...
        @property
        def documents(self) -> list[ScoutFindings.DocumentsItem]: ...
        @property
        def cross_cutting(self) -> list[ScoutFindings.CrossCuttingItem] | None: ...
        @property
        def confidence_rationale(self) -> str | None: ...
        def __init__(
            self,
            *,
            domain: Literal["tech-stack", "architecture", "quality", "concerns"],
            documents: Sequence[ScoutFindings.DocumentsItem | Mapping[str, Any]],
            cross_cutting: Sequence[ScoutFindings.CrossCuttingItem | Mapping[str, Any]] | None = None,
            confidence_rationale: str | None = None,
        ) -> None: ...

    @property
    def id(self) -> str | None: ...
    @property
    def phase(self) -> int: ...
    @property
    def task(self) -> str | None: ...
    @property
    def author_role(self) -> Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs"] | None: ...
    @property
    def timestamp(self) -> str | None: ...
    @property
    def schema_version(self) -> Literal["2.0"]: ...
    @property
    def confidence(self) -> Literal["high", "medium", "low"]: ...
    @property
    def target_role(self) -> Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs"] | None: ...
    @property
    def payload(self) -> ScoutFindings.Payload: ...
    def __init__(
        self,
        *,
        domain: Literal["tech-stack", "architecture", "quality", "concerns"],
        documents: Sequence[ScoutFindings.DocumentsItem | Mapping[str, Any]],
        phase: int,
        confidence: Literal["high", "medium", "low"],
        cross_cutting: Sequence[ScoutFindings.CrossCuttingItem | Mapping[str, Any]] | None = None,
        confidence_rationale: str | None = None,
        id: str | None = None,
        task: str | None = None,
        author_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs"] | None = None,
        timestamp: str | None = None,
        schema_version: Literal["2.0"] | None = None,
        target_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs"] | None = None,
    ) -> None: ...

class PlanContract(TypedMessage):
    """The scope of a plan: its tasks, the paths it may touch, and what must hold at the end."""

    TYPE: ClassVar[str] = "plan_contract"
    DIALECT: ClassVar[str] = "vbw-typed"

    class Payload(Section):
        @property
        def plan_id(self) -> str: ...
        @property
        def phase_id(self) -> str: ...
        @property
        def objective(self) -> str: ...
        @property
        def tasks(self) -> list[str]: ...
        @property
        def allowed_paths(self) -> list[str]: ...
        @property
        def must_haves(self) -> list[str]: ...
        @property
        def forbidden_paths(self) -> list[str] | None: ...
        @property
        def depends_on(self) -> list[str] | None: ...
        @property
        def verification_checks(self) -> list[str] | None: ...
        @property
        def token_budget(self) -> int | None: ...
        def __init__(
            self,
            *,
            plan_id: str,
            phase_id: str,
            objective: str,
            tasks: Sequence[str],
            allowed_paths: Sequence[str],
            must_haves: Sequence[str],
            forbidden_paths: Sequence[str] | None = None,
            depends_on: Sequence[str] | None = None,
            verification_checks: Sequence[str] | None = None,
            token_budget: int | None = None,
        ) -> None: ...

    @property
    def id(self) -> str | None: ...
    @property
    def phase(self) -> int: ...
    @property
    def task(self) -> str | None: ...
    @property
    def author_role(self) -> Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs"] | None: ...
    @property
    def timestamp(self) -> str | None: ...
    @property
    def schema_version(self) -> Literal["2.0"]: ...
    @property
    def confidence(self) -> Literal["high", "medium", "low"]: ...
    @property
    def target_role(self) -> Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs"] | None: ...
    @property
    def payload(self) -> PlanContract.Payload: ...
    def __init__(
        self,
        *,
        plan_id: str,
        phase_id: str,
        objective: str,
        tasks: Sequence[str],
        allowed_paths: Sequence[str],
        must_haves: Sequence[str],
        phase: int,
        confidence: Literal["high", "medium", "low"],
        forbidden_paths: Sequence[str] | None = None,
        depends_on: Sequence[str] | None = None,
        verification_checks: Sequence[str] | None = None,
        token_budget: int | None = None,
        id: str | None = None,
        task: str | None = None,
        author_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs"] | None = None,
        timestamp: str | None = None,
        schema_version: Literal["2.0"] | None = None,
        target_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs"] | None = None,
    ) -> None: ...

class ContractClose(TypedMessage):
    """The end of a plan's contract: from then on it allows and forbids nothing."""

    TYPE: ClassVar[str] = "contract_close"
    DIALECT: ClassVar[str] = "vbw-typed"

    class Payload(Section):
        @property
        def plan_id(self) -> str: ...
        @property
        def reason(self) -> str | None: ...
        def __init__(
            self,
            *,
            plan_id: str,
            reason: str | None = None,
        ) -> None: ...

    @property
    def id(self) -> str | None: ...
    @property
    def phase(self) -> int: ...
    @property
    def task(self) -> str | None: ...
    @property
    def author_role(self) -> Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs"] | None: ...
    @property
    def timestamp(self) -> str | None: ...
    @property
    def schema_version(self) -> Literal["2.0"]: ...
    @property
    def confidence(self) -> Literal["high", "medium", "low"]: ...
    @property
    def target_role(self) -> Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs"] | None: ...
    @property
    def payload(self) -> ContractClose.Payload: ...
    def __init__(
        self,
        *,
        plan_id: str,
        phase: int,
        confidence: Literal["high", "medium", "low"],
        reason: str | None = None,
        id: str | None = None,
        task: str | None = None,
        author_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs"] | None = None,
        timestamp: str | None = None,
        schema_version: Literal["2.0"] | None = None,
        target_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs"] | None = None,
    ) -> None: ...

class ExecutionUpdate(TypedMessage):
    """How far a task has come, and the commit that shows it."""

    TYPE: ClassVar[str] = "execution_update"
    DIALECT: ClassVar[str] = "vbw-typed"

    class Payload(Section):
        @property
        def plan_id(self) -> str: ...
        @property
        def task_id(self) -> str: ...
        @property
        def status(self) -> Literal["complete", "partial", "failed"]: ...
        @property
        def commit(self) -> str: ...
        @property
        def files_modified(self) -> list[str] | None: ...
        @property
        def concerns(self) -> list[str] | None: ...
        @property
        def evidence(self) -> str | None: ...
        @property
        def tokens_used(self) -> int | None: ...
        def __init__(
            self,
            *,
            plan_id: str,
            task_id: str,
            status: Literal["complete", "partial", "failed"],
            commit: str,
            files_modified: Sequence[str] | None = None,
            concerns: Sequence[str] | None = None,
            evidence: str | None = None,
            tokens_used: int | None = None,
        ) -> None: ...

    @property
    def id(self) -> str | None: ...
    @property
    def phase(self) -> int: ...
    @property
    def task(self) -> str | None: ...
    @property
    def author_role(self) -> Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs"] | None: ...
    @property
    def timestamp(self) -> str | None: ...
    @property
    def schema_version(self) -> Literal["2.0"]: ...
    @property
    def confidence(self) -> Literal["high", "medium", "low"]: ...
    @property
    def target_role(self) -> Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs"] | None: ...
    @property
    def payload(self) -> ExecutionUpdate.Payload: ...
    def __init__(
        self,
        *,
        plan_id: str,
        task_id: str,
        status: Literal["complete", "partial", "failed"],
        commit: str,
        phase: int,
        confidence: Literal["high", "medium", "low"],
        files_modified: Sequence[str] | None = None,
        concerns: Sequence[str] | None = None,
        evidence: str | None = None,
        tokens_used: int | None = None,
        id: str | None = None,
        task: str | None = None,
        author_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs"] | None = None,
        timestamp: str | None = None,
        schema_version: Literal["2.0"] | None = None,
        target_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs"] | None = None,
    ) -> None: ...

class BlockerReport(TypedMessage):
    """What keeps an agent from going on, and what would free it."""

    TYPE: ClassVar[str] = "blocker_report"
    DIALECT: ClassVar[str] = "vbw-typed"

    class Payload(Section):
        @property
        def plan_id(self) -> str: ...
        @property
        def task_id(self) -> str: ...
        @property
        def blocker(self) -> str: ...
        @property
        def needs(self) -> str: ...
        @property
        def attempted(self) -> list[str] | None: ...
        @property
        def severity(self) -> Literal["blocking", "degraded", "informational"] | None: ...
        def __init__(
            self,
            *,
            plan_id: str,
            task_id: str,
            blocker: str,
            needs: str,
            attempted: Sequence[str] | None = None,
            severity: Literal["blocking", "degraded", "informational"] | None = None,
        ) -> None: ...

    @property
    def id(self) -> str | None: ...
    @property
    def phase(self) -> int: ...
    @property
    def task(self) -> str | None: ...
    @property
    def author_role(self) -> Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs"] | None: ...
    @property
    def timestamp(self) -> str | None: ...
    @property
    def schema_version(self) -> Literal["2.0"]: ...
    @property
    def confidence(self) -> Literal["high", "medium", "low"]: ...
    @property
    def target_role(self) -> Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs"] | None: ...
    @property
    def payload(self) -> BlockerReport.Payload: ...
    def __init__(
        self,
        *,
        plan_id: str,
        task_id: str,
        blocker: str,
        needs: str,
        phase: int,
        confidence: Literal["high", "medium", "low"],
        attempted: Sequence[str] | None = None,
        severity: Literal["blocking", "degraded", "informational"] | None = None,
        id: str | None = None,
        task: str | None = None,
        author_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs"] | None = None,
        timestamp: str | None = None,
        schema_version: Literal["2.0"] | None = None,
        target_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs"] | None = None,
    ) -> None: ...

class QaVerdict(TypedMessage):
    """Whether the work holds, with the checks that say so."""

    TYPE: ClassVar[str] = "qa_verdict"
    DIALECT: ClassVar[str] = "vbw-typed"

    class Checks(Section):
        @property
        def passed(self) -> int: ...
        @property
        def failed(self) -> int: ...
        @property
        def total(self) -> int: ...
        def __init__(
            self,
            *,
            passed: int,
            failed: int,
            total: int,
        ) -> None: ...

    class FailuresItem(Section):
        @property
        def check(self) -> str: ...
        @property
        def expected(self) -> str: ...
        @property
        def actual(self) -> str: ...
        @property
        def evidence(self) -> str: ...
        def __init__(
            self,
            *,
            check: str,
            expected: str,
            actual: str,
            evidence: str,
        ) -> None: ...

    class Payload(Section):
        @property
        def tier(self) -> Literal["quick", "standard", "deep"]: ...
        @property
        def result(self) -> Literal["PASS", "FAIL", "PARTIAL"]: ...
        @property
        def checks(self) -> QaVerdict.Checks: ...
        @property
        def failures(self) -> list[QaVerdict.FailuresItem] | None: ...
        @property
        def body(self) -> str | None: ...
        @property
        def recommendations(self) -> list[str] | None: ...
        def __init__(
            self,
            *,
            tier: Literal["quick", "standard", "deep"],
            result: Literal["PASS", "FAIL", "PARTIAL"],
            checks: QaVerdict.Checks | Mapping[str, Any],
            failures: Sequence[QaVerdict.FailuresItem | Mapping[str, Any]] | None = None,
            body: str | None = None,
            recommendations: Sequence[str] | None = None,
        ) -> None: ...

    @property
    def id(self) -> str | None: ...
    @property
    def phase(self) -> int: ...
    @property
    def task(self) -> str | None: ...
    @property
    def author_role(self) -> Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs"] | None: ...
    @property
    def timestamp(self) -> str | None: ...
    @property
    def schema_version(self) -> Literal["2.0"]: ...
    @property
    def confidence(self) -> Literal["high", "medium", "low"]: ...
    @property
    def target_role(self) -> Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs"] | None: ...
    @property
    def payload(self) -> QaVerdict.Payload: ...
    def __init__(
        self,
        *,
        tier: Literal["quick", "standard", "deep"],
        result: Literal["PASS", "FAIL", "PARTIAL"],
        checks: QaVerdict.Checks | Mapping[str, Any],
        phase: int,
        confidence: Literal["high", "medium", "low"],
        failures: Sequence[QaVerdict.FailuresItem | Mapping[str, Any]] | None = None,
        body: str | None = None,
        recommendations: Sequence[str] | None = None,
        id: str | None = None,
        task: str | None = None,
        author_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs"] | None = None,
        timestamp: str | None = None,
        schema_version: Literal["2.0"] | None = None,
        target_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs"] | None = None,
    ) -> None: ...

class ApprovalRequest(TypedMessage):
    """A question only a lead or architect may answer: more scope, a plan, a gate set aside."""

    TYPE: ClassVar[str] = "approval_request"
    DIALECT: ClassVar[str] = "vbw-typed"

    class Payload(Section):
        @property
        def subject(self) -> str: ...
        @property
        def request_type(self) -> Literal["scope_change", "plan_approval", "gate_override"]: ...
        @property
        def evidence(self) -> str: ...
        @property
        def options(self) -> list[str] | None: ...
        @property
        def deadline(self) -> str | None: ...
        def __init__(
            self,
            *,
            subject: str,
            request_type: Literal["scope_change", "plan_approval", "gate_override"],
            evidence: str,
            options: Sequence[str] | None = None,
            deadline: str | None = None,
        ) -> None: ...

    @property
    def id(self) -> str | None: ...
    @property
    def phase(self) -> int: ...
    @property
    def task(self) -> str | None: ...
    @property
    def author_role(self) -> Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs"] | None: ...
    @property
    def timestamp(self) -> str | None: ...
    @property
    def schema_version(self) -> Literal["2.0"]: ...
    @property
    def confidence(self) -> Literal["high", "medium", "low"]: ...
    @property
    def target_role(self) -> Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs"] | None: ...
    @property
    def payload(self) -> ApprovalRequest.Payload: ...
    def __init__(
        self,
        *,
        subject: str,
        request_type: Literal["scope_change", "plan_approval", "gate_override"],
        evidence: str,
        phase: int,
        confidence: Literal["high", "medium", "low"],
        options: Sequence[str] | None = None,
        deadline: str | None = None,
        id: str | None = None,
        task: str | None = None,
        author_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs"] | None = None,
        timestamp: str | None = None,
        schema_version: Literal["2.0"] | None = None,
        target_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs"] | None = None,
    ) -> None: ...

class ApprovalResponse(TypedMessage):
    """The answer to an approval_request, with its reason and conditions."""

    TYPE: ClassVar[str] = "approval_response"
    DIALECT: ClassVar[str] = "vbw-typed"

    class Payload(Section):
        @property
        def request_id(self) -> str | None: ...
        @property
        def approved(self) -> bool: ...
        @property
        def reason(self) -> str: ...
        @property
        def conditions(self) -> list[str] | None: ...
        @property
        def modifications(self) -> list[str] | None: ...
        def __init__(
            self,
            *,
            request_id: str | None = None,
            approved: bool,
            reason: str,
            conditions: Sequence[str] | None = None,
            modifications: Sequence[str] | None = None,
        ) -> None: ...

    @property
    def id(self) -> str | None: ...
    @property
    def phase(self) -> int: ...
    @property
    def task(self) -> str | None: ...
    @property
    def author_role(self) -> Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs"] | None: ...
    @property
    def timestamp(self) -> str | None: ...
    @property
    def schema_version(self) -> Literal["2.0"]: ...
    @property
    def confidence(self) -> Literal["high", "medium", "low"]: ...
    @property
    def target_role(self) -> Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs"] | None: ...
    @property
    def payload(self) -> ApprovalResponse.Payload: ...
    def __init__(
        self,
        *,
        approved: bool,
        reason: str,
        phase: int,
        confidence: Literal["high", "medium", "low"],
        request_id: str | None = None,
        conditions: Sequence[str] | None = None,
        modifications: Sequence[str] | None = None,
        id: str | None = None,
        task: str | None = None,
        author_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs"] | None = None,
        timestamp: str | None = None,
        schema_version: Literal["2.0"] | None = None,
        target_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs"] | None = None,
    ) -> None: ...

class ShutdownRequest(TypedMessage):
    """Asks every teammate to finish, answer and stop."""

    TYPE: ClassVar[str] = "shutdown_request"
    DIALECT: ClassVar[str] = "vbw-typed"

    class Payload(Section):
        @property
        def reason(self) -> Literal["phase_complete", "plan_complete", "user_abort"]: ...
        @property
        def team_name(self) -> str: ...
        def __init__(
            self,
            *,
            reason: Literal["phase_complete", "plan_complete", "user_abort"],
            team_name: str,
        ) -> None: ...

    @property
    def id(self) -> str | None: ...
    @property
    def phase(self) -> int: ...
    @property
    def task(self) -> str | None: ...
    @property
    def author_role(self) -> Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs"] | None: ...
    @property
    def timestamp(self) -> str | None: ...
    @property
    def schema_version(self) -> Literal["2.0"]: ...
    @property
    def confidence(self) -> Literal["high", "medium", "low"]: ...
    @property
    def target_role(self) -> Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs"] | None: ...
    @property
    def payload(self) -> ShutdownRequest.Payload: ...
    def __init__(
        self,
        *,
        reason: Literal["phase_complete", "plan_complete", "user_abort"],
        team_name: str,
        phase: int,
        confidence: Literal["high", "medium", "low"],
        id: str | None = None,
        task: str | None = None,
        author_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs"] | None = None,
        timestamp: str | None = None,
        schema_version: Literal["2.0"] | None = None,
        target_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs"] | None = None,
    ) -> None: ...

class ShutdownResponse(TypedMessage):
    """A teammate's last message: it will stop, or why it cannot yet."""

    TYPE: ClassVar[str] = "shutdown_response"
    DIALECT: ClassVar[str] = "vbw-typed"

    class Payload(Section):
        @property
        def request_id(self) -> str | None: ...
        @property
        def approve(self) -> bool: ...
        @property
        def final_status(self) -> Literal["complete", "idle", "in_progress"]: ...
        @property
        def pending_work(self) -> str | None: ...
        def __init__(
            self,
            *,
            request_id: str | None = None,
            approve: bool,
            final_status: Literal["complete", "idle", "in_progress"],
            pending_work: str | None = None,
        ) -> None: ...

    @property
    def id(self) -> str | None: ...
    @property
    def phase(self) -> int: ...
    @property
    def task(self) -> str | None: ...
    @property
    def author_role(self) -> Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs"] | None: ...
    @property
    def timestamp(self) -> str | None: ...
    @property
    def schema_version(self) -> Literal["2.0"]: ...
    @property
    def confidence(self) -> Literal["high", "medium", "low"]: ...
    @property
    def target_role(self) -> Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs"] | None: ...
    @property
    def payload(self) -> ShutdownResponse.Payload: ...
    def __init__(
        self,
        *,
        approve: bool,
        final_status: Literal["complete", "idle", "in_progress"],
        phase: int,
        confidence: Literal["high", "medium", "low"],
        request_id: str | None = None,
        pending_work: str | None = None,
        id: str | None = None,
        task: str | None = None,
        author_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs"] | None = None,
        timestamp: str | None = None,
        schema_version: Literal["2.0"] | None = None,
        target_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs"] | None = None,
    ) -> None: ...

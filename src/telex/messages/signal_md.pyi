# Made by `python -m telex.generate` from the dialect; a change here is lost.
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from telex.messages import Section, TypedMessage

class WorkerSubmission(TypedMessage):
    """Work handed in for review, or the word that it cannot go on."""

    TYPE: ClassVar[str] = "worker_submission"
    DIALECT: ClassVar[str] = "signal-md"

    @property
    def signal(self) -> Literal["rfr", "blocked", "escalate"]: ...
    @property
    def files_changed(self) -> list[str]: ...
    @property
    def qa_check(self) -> Literal["pass", "fail"]: ...
    @property
    def ac_coverage(self) -> dict[str, Literal["pass", "fail", "partial", "na"]] | None: ...
    @property
    def body(self) -> str: ...
    def __init__(
        self,
        *,
        signal: Literal["rfr", "blocked", "escalate"],
        files_changed: Sequence[str],
        qa_check: Literal["pass", "fail"],
        ac_coverage: Mapping[str, Literal["pass", "fail", "partial", "na"]] | None = None,
        body: str | None = None,
    ) -> None: ...

class ReviewVerdict(TypedMessage):
    """A reviewer's verdict: did it pass, and how much was found."""

    TYPE: ClassVar[str] = "review_verdict"
    DIALECT: ClassVar[str] = "signal-md"

    @property
    def signal(self) -> Literal["pass", "pass_with_notes", "fail", "blocked", "escalate"]: ...
    @property
    def critical_count(self) -> int: ...
    @property
    def moderate_count(self) -> int: ...
    @property
    def minor_count(self) -> int: ...
    @property
    def ac_coverage(self) -> dict[str, Literal["pass", "fail"]]: ...
    @property
    def body(self) -> str: ...
    def __init__(
        self,
        *,
        signal: Literal["pass", "pass_with_notes", "fail", "blocked", "escalate"],
        critical_count: int,
        moderate_count: int,
        minor_count: int,
        ac_coverage: Mapping[str, Literal["pass", "fail"]],
        body: str | None = None,
    ) -> None: ...

class AuditVerdict(TypedMessage):
    """An auditor's verdict: security, build and tests."""

    TYPE: ClassVar[str] = "audit_verdict"
    DIALECT: ClassVar[str] = "signal-md"

    class SecurityFindings(Section):
        @property
        def critical(self) -> int: ...
        @property
        def high(self) -> int: ...
        @property
        def medium(self) -> int: ...
        @property
        def low(self) -> int: ...
        def __init__(
            self,
            *,
            critical: int,
            high: int,
            medium: int,
            low: int,
        ) -> None: ...

    @property
    def signal(self) -> Literal["pass", "pass_with_notes", "fail", "blocked", "escalate"]: ...
    @property
    def security_findings(self) -> AuditVerdict.SecurityFindings: ...
    @property
    def build_status(self) -> Literal["pass", "fail", "skipped"]: ...
    @property
    def test_status(self) -> Literal["pass", "fail", "partial", "skipped"]: ...
    @property
    def typecheck_status(self) -> Literal["pass", "fail", "skipped"] | None: ...
    @property
    def body(self) -> str: ...
    def __init__(
        self,
        *,
        signal: Literal["pass", "pass_with_notes", "fail", "blocked", "escalate"],
        security_findings: AuditVerdict.SecurityFindings | Mapping[str, Any],
        build_status: Literal["pass", "fail", "skipped"],
        test_status: Literal["pass", "fail", "partial", "skipped"],
        typecheck_status: Literal["pass", "fail", "skipped"] | None = None,
        body: str | None = None,
    ) -> None: ...

class TriageResult(TypedMessage):
    """How large a request is, and whether it needs research first."""

    TYPE: ClassVar[str] = "triage_result"
    DIALECT: ClassVar[str] = "signal-md"

    @property
    def signal(self) -> Literal["triage_complete", "blocked", "escalate"]: ...
    @property
    def tier(self) -> int: ...
    @property
    def research_needed(self) -> bool: ...
    @property
    def research_count(self) -> int | None: ...
    @property
    def body(self) -> str: ...
    def __init__(
        self,
        *,
        signal: Literal["triage_complete", "blocked", "escalate"],
        tier: int,
        research_needed: bool,
        research_count: int | None = None,
        body: str | None = None,
    ) -> None: ...

class PlanResult(TypedMessage):
    """A plan written to a file, cut into waves."""

    TYPE: ClassVar[str] = "plan_result"
    DIALECT: ClassVar[str] = "signal-md"

    @property
    def signal(self) -> Literal["plan_complete", "blocked", "escalate"]: ...
    @property
    def plan_file(self) -> str: ...
    @property
    def wave_count(self) -> int: ...
    @property
    def risk_tags(self) -> list[str]: ...
    @property
    def has_blockers(self) -> bool: ...
    @property
    def step_count(self) -> int | None: ...
    @property
    def body(self) -> str: ...
    def __init__(
        self,
        *,
        signal: Literal["plan_complete", "blocked", "escalate"],
        plan_file: str,
        wave_count: int,
        risk_tags: Sequence[str],
        has_blockers: bool,
        step_count: int | None = None,
        body: str | None = None,
    ) -> None: ...

class ResearchResult(TypedMessage):
    """The answer to one research question."""

    TYPE: ClassVar[str] = "research_result"
    DIALECT: ClassVar[str] = "signal-md"

    @property
    def signal(self) -> Literal["research_complete", "blocked", "escalate"]: ...
    @property
    def topic(self) -> str: ...
    @property
    def verified(self) -> bool: ...
    @property
    def has_gotchas(self) -> bool | None: ...
    @property
    def body(self) -> str: ...
    def __init__(
        self,
        *,
        signal: Literal["research_complete", "blocked", "escalate"],
        topic: str,
        verified: bool,
        has_gotchas: bool | None = None,
        body: str | None = None,
    ) -> None: ...

class TaskAssignment(TypedMessage):
    """One step of a plan, to be done now."""

    TYPE: ClassVar[str] = "task_assignment"
    DIALECT: ClassVar[str] = "signal-md"

    @property
    def signal(self) -> Literal["execute"]: ...
    @property
    def task(self) -> str | None: ...
    @property
    def plan_file(self) -> str | None: ...
    @property
    def wave(self) -> int | None: ...
    @property
    def step(self) -> int | None: ...
    @property
    def body(self) -> str: ...
    def __init__(
        self,
        *,
        signal: Literal["execute"] | None = None,
        task: str | None = None,
        plan_file: str | None = None,
        wave: int | None = None,
        step: int | None = None,
        body: str | None = None,
    ) -> None: ...

class RevisionRequest(TypedMessage):
    """What to fix, and how severe a finding must be to be fixed this time."""

    TYPE: ClassVar[str] = "revision_request"
    DIALECT: ClassVar[str] = "signal-md"

    @property
    def signal(self) -> Literal["revise"]: ...
    @property
    def iteration(self) -> int: ...
    @property
    def max_iterations(self) -> int | None: ...
    @property
    def fix_severity(self) -> Literal["critical", "critical+moderate", "all"] | None: ...
    @property
    def body(self) -> str: ...
    def __init__(
        self,
        *,
        iteration: int,
        signal: Literal["revise"] | None = None,
        max_iterations: int | None = None,
        fix_severity: Literal["critical", "critical+moderate", "all"] | None = None,
        body: str | None = None,
    ) -> None: ...

class Approval(TypedMessage):
    """The work is approved: commit it."""

    TYPE: ClassVar[str] = "approval"
    DIALECT: ClassVar[str] = "signal-md"

    @property
    def signal(self) -> Literal["lgtm"]: ...
    @property
    def body(self) -> str: ...
    def __init__(
        self,
        *,
        signal: Literal["lgtm"] | None = None,
        body: str | None = None,
    ) -> None: ...

class TriageRequest(TypedMessage):
    """A user's request, to be sized up."""

    TYPE: ClassVar[str] = "triage_request"
    DIALECT: ClassVar[str] = "signal-md"

    @property
    def signal(self) -> Literal["execute"]: ...
    @property
    def body(self) -> str: ...
    def __init__(
        self,
        *,
        signal: Literal["execute"] | None = None,
        body: str | None = None,
    ) -> None: ...

class ArchitectureRequest(TypedMessage):
    """Research is in: make the plan and cut it into waves."""

    TYPE: ClassVar[str] = "architecture_request"
    DIALECT: ClassVar[str] = "signal-md"

    @property
    def signal(self) -> Literal["plan"]: ...
    @property
    def body(self) -> str: ...
    def __init__(
        self,
        *,
        signal: Literal["plan"] | None = None,
        body: str | None = None,
    ) -> None: ...

class ResearchRequest(TypedMessage):
    """One question to be answered before planning."""

    TYPE: ClassVar[str] = "research_request"
    DIALECT: ClassVar[str] = "signal-md"

    @property
    def signal(self) -> Literal["research"]: ...
    @property
    def topic(self) -> str: ...
    @property
    def body(self) -> str: ...
    def __init__(
        self,
        *,
        topic: str,
        signal: Literal["research"] | None = None,
        body: str | None = None,
    ) -> None: ...

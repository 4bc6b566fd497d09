# Made by `python -m telex.generate` from the dialect; a change here is lost.
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from telex.messages import Section, TypedMessage

class ArchitectureDesign(TypedMessage):
    """The decisions and risks of a phase's design."""

    TYPE: ClassVar[str] = "architecture_design"
    DIALECT: ClassVar[str] = "vbw-company"

    class DecisionsItem(Section):
        @property
        def decision(self) -> str: ...
        @property
        def rationale(self) -> str: ...
        @property
        def alternatives(self) -> list[str] | None: ...
        def __init__(
            self,
            *,
            decision: str,
            rationale: str,
            alternatives: Sequence[str] | None = None,
        ) -> None: ...

    class RisksItem(Section):
        @property
        def risk(self) -> str: ...
        @property
        def impact(self) -> str: ...
        @property
        def mitigation(self) -> str: ...
        def __init__(
            self,
            *,
            risk: str,
            impact: str,
            mitigation: str,
        ) -> None: ...

    @property
    def phase(self) -> str: ...
    @property
    def artifact(self) -> str: ...
    @property
    def decisions(self) -> list[ArchitectureDesign.DecisionsItem]: ...
    @property
    def risks(self) -> list[ArchitectureDesign.RisksItem]: ...
    @property
    def committed(self) -> bool | None: ...
    def __init__(
        self,
        *,
        phase: str,
        artifact: str,
        decisions: Sequence[ArchitectureDesign.DecisionsItem | Mapping[str, Any]],
        risks: Sequence[ArchitectureDesign.RisksItem | Mapping[str, Any]],
        committed: bool | None = None,
    ) -> None: ...

class SeniorSpec(TypedMessage):
    """A plan's tasks now say enough to be built."""

    TYPE: ClassVar[str] = "senior_spec"
    DIALECT: ClassVar[str] = "vbw-company"

    @property
    def plan_id(self) -> str: ...
    @property
    def tasks_enriched(self) -> int: ...
    @property
    def concerns(self) -> list[str] | None: ...
    @property
    def committed(self) -> bool | None: ...
    def __init__(
        self,
        *,
        plan_id: str,
        tasks_enriched: int,
        concerns: Sequence[str] | None = None,
        committed: bool | None = None,
    ) -> None: ...

class DevProgress(TypedMessage):
    """A task done, half done or failed, with its commit."""

    TYPE: ClassVar[str] = "dev_progress"
    DIALECT: ClassVar[str] = "vbw-company"

    @property
    def task(self) -> str: ...
    @property
    def plan_id(self) -> str: ...
    @property
    def commit(self) -> str: ...
    @property
    def status(self) -> Literal["complete", "partial", "failed"]: ...
    @property
    def concerns(self) -> list[str] | None: ...
    def __init__(
        self,
        *,
        task: str,
        plan_id: str,
        commit: str,
        status: Literal["complete", "partial", "failed"],
        concerns: Sequence[str] | None = None,
    ) -> None: ...

class DevBlocker(TypedMessage):
    """What keeps a dev from going on, and what would free it."""

    TYPE: ClassVar[str] = "dev_blocker"
    DIALECT: ClassVar[str] = "vbw-company"

    @property
    def task(self) -> str: ...
    @property
    def plan_id(self) -> str: ...
    @property
    def blocker(self) -> str: ...
    @property
    def needs(self) -> str: ...
    @property
    def attempted(self) -> list[str] | None: ...
    def __init__(
        self,
        *,
        task: str,
        plan_id: str,
        blocker: str,
        needs: str,
        attempted: Sequence[str] | None = None,
    ) -> None: ...

class CodeReviewResult(TypedMessage):
    """A senior's verdict on a dev's work, one review cycle at a time."""

    TYPE: ClassVar[str] = "code_review_result"
    DIALECT: ClassVar[str] = "vbw-company"

    @property
    def plan_id(self) -> str: ...
    @property
    def result(self) -> Literal["approve", "changes_requested"]: ...
    @property
    def cycle(self) -> int: ...
    @property
    def findings_count(self) -> int: ...
    @property
    def critical(self) -> int: ...
    @property
    def artifact(self) -> str | None: ...
    @property
    def committed(self) -> bool | None: ...
    def __init__(
        self,
        *,
        plan_id: str,
        result: Literal["approve", "changes_requested"],
        cycle: int,
        findings_count: int,
        critical: int,
        artifact: str | None = None,
        committed: bool | None = None,
    ) -> None: ...

class QaResult(TypedMessage):
    """Whether a plan's work holds, with the checks that say so."""

    TYPE: ClassVar[str] = "qa_result"
    DIALECT: ClassVar[str] = "vbw-company"

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

    @property
    def tier(self) -> Literal["quick", "standard", "deep"]: ...
    @property
    def result(self) -> Literal["PASS", "FAIL", "PARTIAL"]: ...
    @property
    def checks(self) -> QaResult.Checks: ...
    @property
    def failures(self) -> list[QaResult.FailuresItem] | None: ...
    @property
    def artifact(self) -> str | None: ...
    @property
    def committed(self) -> bool | None: ...
    def __init__(
        self,
        *,
        tier: Literal["quick", "standard", "deep"],
        result: Literal["PASS", "FAIL", "PARTIAL"],
        checks: QaResult.Checks | Mapping[str, Any],
        failures: Sequence[QaResult.FailuresItem | Mapping[str, Any]] | None = None,
        artifact: str | None = None,
        committed: bool | None = None,
    ) -> None: ...

class QaCodeResult(TypedMessage):
    """What tests and linters say of the code."""

    TYPE: ClassVar[str] = "qa_code_result"
    DIALECT: ClassVar[str] = "vbw-company"

    class Tests(Section):
        @property
        def passed(self) -> int: ...
        @property
        def failed(self) -> int: ...
        @property
        def skipped(self) -> int: ...
        def __init__(
            self,
            *,
            passed: int,
            failed: int,
            skipped: int,
        ) -> None: ...

    class Lint(Section):
        @property
        def errors(self) -> int: ...
        @property
        def warnings(self) -> int: ...
        def __init__(
            self,
            *,
            errors: int,
            warnings: int,
        ) -> None: ...

    @property
    def result(self) -> Literal["PASS", "FAIL", "PARTIAL"]: ...
    @property
    def tests(self) -> QaCodeResult.Tests: ...
    @property
    def lint(self) -> QaCodeResult.Lint: ...
    @property
    def findings_count(self) -> int: ...
    @property
    def critical(self) -> int: ...
    @property
    def artifact(self) -> str | None: ...
    @property
    def committed(self) -> bool | None: ...
    def __init__(
        self,
        *,
        result: Literal["PASS", "FAIL", "PARTIAL"],
        tests: QaCodeResult.Tests | Mapping[str, Any],
        lint: QaCodeResult.Lint | Mapping[str, Any],
        findings_count: int,
        critical: int,
        artifact: str | None = None,
        committed: bool | None = None,
    ) -> None: ...

class SecurityAudit(TypedMessage):
    """What a security audit found, by category."""

    TYPE: ClassVar[str] = "security_audit"
    DIALECT: ClassVar[str] = "vbw-company"

    @property
    def result(self) -> Literal["PASS", "FAIL", "WARN"]: ...
    @property
    def findings(self) -> int: ...
    @property
    def critical(self) -> int: ...
    @property
    def categories(self) -> list[Literal["secrets", "owasp", "deps", "config"]]: ...
    @property
    def artifact(self) -> str | None: ...
    @property
    def committed(self) -> bool | None: ...
    def __init__(
        self,
        *,
        result: Literal["PASS", "FAIL", "WARN"],
        findings: int,
        critical: int,
        categories: Sequence[Literal["secrets", "owasp", "deps", "config"]],
        artifact: str | None = None,
        committed: bool | None = None,
    ) -> None: ...

class ScoutFindings(TypedMessage):
    """Answers to the questions a scout was sent to look into."""

    TYPE: ClassVar[str] = "scout_findings"
    DIALECT: ClassVar[str] = "vbw-company"

    class FindingsItem(Section):
        @property
        def query(self) -> str: ...
        @property
        def finding(self) -> str: ...
        @property
        def confidence(self) -> Literal["high", "medium", "low"]: ...
        def __init__(
            self,
            *,
            query: str,
            finding: str,
            confidence: Literal["high", "medium", "low"],
        ) -> None: ...

    @property
    def domain(self) -> Literal["tech-stack", "architecture", "quality", "concerns"]: ...
    @property
    def findings(self) -> list[ScoutFindings.FindingsItem]: ...
    @property
    def artifact(self) -> str | None: ...
    @property
    def committed(self) -> bool | None: ...
    def __init__(
        self,
        *,
        domain: Literal["tech-stack", "architecture", "quality", "concerns"],
        findings: Sequence[ScoutFindings.FindingsItem | Mapping[str, Any]],
        artifact: str | None = None,
        committed: bool | None = None,
    ) -> None: ...

class DebuggerReport(TypedMessage):
    """One hypothesis about a fault, with what speaks for and against it."""

    TYPE: ClassVar[str] = "debugger_report"
    DIALECT: ClassVar[str] = "vbw-company"

    @property
    def hypothesis(self) -> str: ...
    @property
    def evidence_for(self) -> list[str]: ...
    @property
    def evidence_against(self) -> list[str]: ...
    @property
    def confidence(self) -> Literal["high", "medium", "low"]: ...
    @property
    def recommended_fix(self) -> str: ...
    @property
    def artifact(self) -> str | None: ...
    def __init__(
        self,
        *,
        hypothesis: str,
        evidence_for: Sequence[str],
        evidence_against: Sequence[str],
        confidence: Literal["high", "medium", "low"],
        recommended_fix: str,
        artifact: str | None = None,
    ) -> None: ...

class Escalation(TypedMessage):
    """What an agent may not settle itself, handed one step up."""

    TYPE: ClassVar[str] = "escalation"
    DIALECT: ClassVar[str] = "vbw-company"

    @property
    def from_(self) -> Literal["architect", "lead", "senior", "dev", "qa-lead", "qa-code", "security", "scout", "debugger"] | None: ...
    @property
    def to(self) -> Literal["architect", "lead", "senior", "dev", "qa-lead", "qa-code", "security", "scout", "debugger", "human"] | None: ...
    @property
    def issue(self) -> str: ...
    @property
    def evidence(self) -> list[str]: ...
    @property
    def recommendation(self) -> str: ...
    @property
    def severity(self) -> Literal["blocking", "major", "minor"]: ...
    def __init__(
        self,
        *,
        issue: str,
        evidence: Sequence[str],
        recommendation: str,
        severity: Literal["blocking", "major", "minor"],
        from_: Literal["architect", "lead", "senior", "dev", "qa-lead", "qa-code", "security", "scout", "debugger"] | None = None,
        to: Literal["architect", "lead", "senior", "dev", "qa-lead", "qa-code", "security", "scout", "debugger", "human"] | None = None,
    ) -> None: ...

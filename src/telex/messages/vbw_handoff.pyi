# Made by `python -m telex.generate` from the dialect; a change here is lost.
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

from telex.messages import Section, TypedMessage

class ScoutFindings(TypedMessage):
    """What a scout learned about the domain it was given."""

    TYPE: ClassVar[str] = "scout_findings"
    DIALECT: ClassVar[str] = "vbw-handoff"

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

    @property
    def domain(self) -> Literal["tech-stack", "architecture", "quality", "concerns"]: ...
    @property
    def documents(self) -> list[ScoutFindings.DocumentsItem]: ...
    @property
    def confidence(self) -> Literal["high", "medium", "low"]: ...
    @property
    def confidence_rationale(self) -> str: ...
    @property
    def cross_cutting(self) -> list[ScoutFindings.CrossCuttingItem] | None: ...
    def __init__(
        self,
        *,
        domain: Literal["tech-stack", "architecture", "quality", "concerns"],
        documents: Sequence[ScoutFindings.DocumentsItem | Mapping[str, Any]],
        confidence: Literal["high", "medium", "low"],
        confidence_rationale: str,
        cross_cutting: Sequence[ScoutFindings.CrossCuttingItem | Mapping[str, Any]] | None = None,
    ) -> None: ...

class DevProgress(TypedMessage):
    """A task done, half done or failed, with its commit."""

    TYPE: ClassVar[str] = "dev_progress"
    DIALECT: ClassVar[str] = "vbw-handoff"

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
    DIALECT: ClassVar[str] = "vbw-handoff"

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

class QaResult(TypedMessage):
    """Whether the work holds, with the checks that say so and the whole report."""

    TYPE: ClassVar[str] = "qa_result"
    DIALECT: ClassVar[str] = "vbw-handoff"

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
    def body(self) -> str: ...
    @property
    def failures(self) -> list[QaResult.FailuresItem] | None: ...
    def __init__(
        self,
        *,
        tier: Literal["quick", "standard", "deep"],
        result: Literal["PASS", "FAIL", "PARTIAL"],
        checks: QaResult.Checks | Mapping[str, Any],
        body: str,
        failures: Sequence[QaResult.FailuresItem | Mapping[str, Any]] | None = None,
    ) -> None: ...

class DebuggerReport(TypedMessage):
    """One hypothesis about a fault, with what speaks for and against it."""

    TYPE: ClassVar[str] = "debugger_report"
    DIALECT: ClassVar[str] = "vbw-handoff"

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
    def __init__(
        self,
        *,
        hypothesis: str,
        evidence_for: Sequence[str],
        evidence_against: Sequence[str],
        confidence: Literal["high", "medium", "low"],
        recommended_fix: str,
    ) -> None: ...

# Made by `python -m telex.generate` from the dialect; a change here is lost.
from typing import Any, Literal

def architecture_design(
    *,
    phase: str = ...,
    artifact: str = ...,
    decisions: list[dict[str, Any]] = ...,
    risks: list[dict[str, Any]] = ...,
    committed: bool = ...,
) -> dict[str, Any]:
    """The decisions and risks of a phase's design."""

def senior_spec(
    *,
    plan_id: str = ...,
    tasks_enriched: int = ...,
    concerns: list[str] = ...,
    committed: bool = ...,
) -> dict[str, Any]:
    """A plan's tasks now say enough to be built."""

def dev_progress(
    *,
    task: str = ...,
    plan_id: str = ...,
    commit: str = ...,
    status: Literal["complete", "partial", "failed"] = ...,
    concerns: list[str] = ...,
) -> dict[str, Any]:
    """A task done, half done or failed, with its commit."""

def dev_blocker(
    *,
    task: str = ...,
    plan_id: str = ...,
    blocker: str = ...,
    needs: str = ...,
    attempted: list[str] = ...,
) -> dict[str, Any]:
    """What keeps a dev from going on, and what would free it."""

def code_review_result(
    *,
    plan_id: str = ...,
    result: Literal["approve", "changes_requested"] = ...,
    cycle: int = ...,
    findings_count: int = ...,
    critical: int = ...,
    artifact: str = ...,
    committed: bool = ...,
) -> dict[str, Any]:
    """A senior's verdict on a dev's work, one review cycle at a time."""

def qa_result(
    *,
    tier: Literal["quick", "standard", "deep"] = ...,
    result: Literal["PASS", "FAIL", "PARTIAL"] = ...,
    checks: dict[str, Any] = ...,
    failures: list[dict[str, Any]] = ...,
    artifact: str = ...,
    committed: bool = ...,
) -> dict[str, Any]:
    """Whether a plan's work holds, with the checks that say so."""

def qa_code_result(
    *,
    result: Literal["PASS", "FAIL", "PARTIAL"] = ...,
    tests: dict[str, Any] = ...,
    lint: dict[str, Any] = ...,
    findings_count: int = ...,
    critical: int = ...,
    artifact: str = ...,
    committed: bool = ...,
) -> dict[str, Any]:
    """What tests and linters say of the code."""

def security_audit(
    *,
    result: Literal["PASS", "FAIL", "WARN"] = ...,
    findings: int = ...,
    critical: int = ...,
    categories: list[Literal["secrets", "owasp", "deps", "config"]] = ...,
    artifact: str = ...,
    committed: bool = ...,
) -> dict[str, Any]:
    """What a security audit found, by category."""

def scout_findings(
    *,
    domain: Literal["tech-stack", "architecture", "quality", "concerns"] = ...,
    findings: list[dict[str, Any]] = ...,
    artifact: str = ...,
    committed: bool = ...,
) -> dict[str, Any]:
    """Answers to the questions a scout was sent to look into."""

def debugger_report(
    *,
    hypothesis: str = ...,
    evidence_for: list[str] = ...,
    evidence_against: list[str] = ...,
    confidence: Literal["high", "medium", "low"] = ...,
    recommended_fix: str = ...,
    artifact: str = ...,
) -> dict[str, Any]:
    """One hypothesis about a fault, with what speaks for and against it."""

def escalation(
    *,
    from_: Literal["architect", "lead", "senior", "dev", "qa-lead", "qa-code", "security", "scout", "debugger"] = ...,
    to: Literal["architect", "lead", "senior", "dev", "qa-lead", "qa-code", "security", "scout", "debugger", "human"] = ...,
    issue: str = ...,
    evidence: list[str] = ...,
    recommendation: str = ...,
    severity: Literal["blocking", "major", "minor"] = ...,
) -> dict[str, Any]:
    """What an agent may not settle itself, handed one step up."""

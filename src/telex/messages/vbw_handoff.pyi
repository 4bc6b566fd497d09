# Made by `python -m telex.generate` from the dialect; a change here is lost.
from typing import Any, Literal

def scout_findings(
    *,
    domain: Literal["tech-stack", "architecture", "quality", "concerns"] = ...,
    documents: list[dict[str, Any]] = ...,
    confidence: Literal["high", "medium", "low"] = ...,
    confidence_rationale: str = ...,
    cross_cutting: list[dict[str, Any]] = ...,
) -> dict[str, Any]:
    """What a scout learned about the domain it was given."""

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

def qa_result(
    *,
    tier: Literal["quick", "standard", "deep"] = ...,
    result: Literal["PASS", "FAIL", "PARTIAL"] = ...,
    checks: dict[str, Any] = ...,
    body: str = ...,
    failures: list[dict[str, Any]] = ...,
) -> dict[str, Any]:
    """Whether the work holds, with the checks that say so and the whole report."""

def debugger_report(
    *,
    hypothesis: str = ...,
    evidence_for: list[str] = ...,
    evidence_against: list[str] = ...,
    confidence: Literal["high", "medium", "low"] = ...,
    recommended_fix: str = ...,
) -> dict[str, Any]:
    """One hypothesis about a fault, with what speaks for and against it."""

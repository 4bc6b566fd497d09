# Made by `python -m telex.generate` from the dialect; a change here is lost.
from typing import Any, Literal

def worker_submission(
    *,
    signal: Literal["rfr", "blocked", "escalate"] = ...,
    files_changed: list[str] = ...,
    qa_check: Literal["pass", "fail"] = ...,
    ac_coverage: dict[str, Literal["pass", "fail", "partial", "na"]] = ...,
) -> dict[str, Any]:
    """Work handed in for review, or the word that it cannot go on."""

def review_verdict(
    *,
    signal: Literal["pass", "pass_with_notes", "fail", "blocked", "escalate"] = ...,
    critical_count: int = ...,
    moderate_count: int = ...,
    minor_count: int = ...,
    ac_coverage: dict[str, Literal["pass", "fail"]] = ...,
) -> dict[str, Any]:
    """A reviewer's verdict: did it pass, and how much was found."""

def audit_verdict(
    *,
    signal: Literal["pass", "pass_with_notes", "fail", "blocked", "escalate"] = ...,
    security_findings: dict[str, Any] = ...,
    build_status: Literal["pass", "fail", "skipped"] = ...,
    test_status: Literal["pass", "fail", "partial", "skipped"] = ...,
    typecheck_status: Literal["pass", "fail", "skipped"] = ...,
) -> dict[str, Any]:
    """An auditor's verdict: security, build and tests."""

def triage_result(
    *,
    signal: Literal["triage_complete", "blocked", "escalate"] = ...,
    tier: int = ...,
    research_needed: bool = ...,
    research_count: int = ...,
) -> dict[str, Any]:
    """How large a request is, and whether it needs research first."""

def plan_result(
    *,
    signal: Literal["plan_complete", "blocked", "escalate"] = ...,
    plan_file: str = ...,
    wave_count: int = ...,
    risk_tags: list[str] = ...,
    has_blockers: bool = ...,
    step_count: int = ...,
) -> dict[str, Any]:
    """A plan written to a file, cut into waves."""

def research_result(
    *,
    signal: Literal["research_complete", "blocked", "escalate"] = ...,
    topic: str = ...,
    verified: bool = ...,
    has_gotchas: bool = ...,
) -> dict[str, Any]:
    """The answer to one research question."""

def task_assignment(
    *,
    signal: Literal["execute"] = ...,
    task: str = ...,
    plan_file: str = ...,
    wave: int = ...,
    step: int = ...,
) -> dict[str, Any]:
    """One step of a plan, to be done now."""

def revision_request(
    *,
    signal: Literal["revise"] = ...,
    iteration: int = ...,
    max_iterations: int = ...,
    fix_severity: Literal["critical", "critical+moderate", "all"] = ...,
) -> dict[str, Any]:
    """What to fix, and how severe a finding must be to be fixed this time."""

def approval(
    *,
    signal: Literal["lgtm"] = ...,
) -> dict[str, Any]:
    """The work is approved: commit it."""

def triage_request(
    *,
    signal: Literal["execute"] = ...,
) -> dict[str, Any]:
    """A user's request, to be sized up."""

def architecture_request(
    *,
    signal: Literal["plan"] = ...,
) -> dict[str, Any]:
    """Research is in: make the plan and cut it into waves."""

def research_request(
    *,
    signal: Literal["research"] = ...,
    topic: str = ...,
) -> dict[str, Any]:
    """One question to be answered before planning."""

# Made by `python -m telex.generate` from the dialect; a change here is lost.
from typing import Any, Literal

def scout_findings(
    *,
    domain: Literal["tech-stack", "architecture", "quality", "concerns"] = ...,
    documents: list[dict[str, Any]] = ...,
    cross_cutting: list[dict[str, Any]] = ...,
    confidence_rationale: str = ...,
    id: str = ...,
    phase: int = ...,
    task: str = ...,
    author_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs", "qa-author"] = ...,
    timestamp: str = ...,
    schema_version: Literal["2.0"] = ...,
    confidence: Literal["high", "medium", "low"] = ...,
    target_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs", "qa-author"] = ...,
) -> dict[str, Any]:
    """What a scout learned about one domain of the project."""

def plan_contract(
    *,
    plan_id: str = ...,
    phase_id: str = ...,
    objective: str = ...,
    tasks: list[str] = ...,
    allowed_paths: list[str] = ...,
    must_haves: list[str] = ...,
    forbidden_paths: list[str] = ...,
    depends_on: list[str] = ...,
    verification_checks: list[str] = ...,
    token_budget: int = ...,
    id: str = ...,
    phase: int = ...,
    task: str = ...,
    author_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs", "qa-author"] = ...,
    timestamp: str = ...,
    schema_version: Literal["2.0"] = ...,
    confidence: Literal["high", "medium", "low"] = ...,
    target_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs", "qa-author"] = ...,
) -> dict[str, Any]:
    """The scope of a plan: its tasks, the paths it may touch, and what must hold at the end."""

def contract_close(
    *,
    plan_id: str = ...,
    reason: str = ...,
    id: str = ...,
    phase: int = ...,
    task: str = ...,
    author_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs", "qa-author"] = ...,
    timestamp: str = ...,
    schema_version: Literal["2.0"] = ...,
    confidence: Literal["high", "medium", "low"] = ...,
    target_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs", "qa-author"] = ...,
) -> dict[str, Any]:
    """The end of a plan's contract: from then on it allows and forbids nothing."""

def execution_update(
    *,
    plan_id: str = ...,
    task_id: str = ...,
    status: Literal["complete", "partial", "failed"] = ...,
    commit: str = ...,
    files_modified: list[str] = ...,
    concerns: list[str] = ...,
    evidence: str = ...,
    tokens_used: int = ...,
    pre_existing_issues: list[dict[str, Any]] = ...,
    id: str = ...,
    phase: int = ...,
    task: str = ...,
    author_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs", "qa-author"] = ...,
    timestamp: str = ...,
    schema_version: Literal["2.0"] = ...,
    confidence: Literal["high", "medium", "low"] = ...,
    target_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs", "qa-author"] = ...,
) -> dict[str, Any]:
    """How far a task has come, and the commit that shows it."""

def blocker_report(
    *,
    plan_id: str = ...,
    task_id: str = ...,
    blocker: str = ...,
    needs: str = ...,
    attempted: list[str] = ...,
    severity: Literal["blocking", "degraded", "informational"] = ...,
    pre_existing_issues: list[dict[str, Any]] = ...,
    id: str = ...,
    phase: int = ...,
    task: str = ...,
    author_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs", "qa-author"] = ...,
    timestamp: str = ...,
    schema_version: Literal["2.0"] = ...,
    confidence: Literal["high", "medium", "low"] = ...,
    target_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs", "qa-author"] = ...,
) -> dict[str, Any]:
    """What keeps an agent from going on, and what would free it."""

def qa_verdict(
    *,
    tier: Literal["quick", "standard", "deep"] = ...,
    result: Literal["PASS", "FAIL", "PARTIAL"] = ...,
    checks: dict[str, Any] = ...,
    failures: list[dict[str, Any]] = ...,
    body: str = ...,
    recommendations: list[str] = ...,
    pre_existing_issues: list[dict[str, Any]] = ...,
    plans_verified: list[str] = ...,
    checks_detail: list[dict[str, Any]] = ...,
    id: str = ...,
    phase: int = ...,
    task: str = ...,
    author_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs", "qa-author"] = ...,
    timestamp: str = ...,
    schema_version: Literal["2.0"] = ...,
    confidence: Literal["high", "medium", "low"] = ...,
    target_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs", "qa-author"] = ...,
) -> dict[str, Any]:
    """Whether the work holds, with the checks that say so."""

def approval_request(
    *,
    subject: str = ...,
    request_type: Literal["scope_change", "plan_approval", "gate_override"] = ...,
    evidence: str = ...,
    options: list[str] = ...,
    deadline: str = ...,
    id: str = ...,
    phase: int = ...,
    task: str = ...,
    author_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs", "qa-author"] = ...,
    timestamp: str = ...,
    schema_version: Literal["2.0"] = ...,
    confidence: Literal["high", "medium", "low"] = ...,
    target_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs", "qa-author"] = ...,
) -> dict[str, Any]:
    """A question only a lead or architect may answer: more scope, a plan, a gate set aside."""

def approval_response(
    *,
    request_id: str = ...,
    approved: bool = ...,
    reason: str = ...,
    conditions: list[str] = ...,
    modifications: list[str] = ...,
    id: str = ...,
    phase: int = ...,
    task: str = ...,
    author_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs", "qa-author"] = ...,
    timestamp: str = ...,
    schema_version: Literal["2.0"] = ...,
    confidence: Literal["high", "medium", "low"] = ...,
    target_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs", "qa-author"] = ...,
) -> dict[str, Any]:
    """The answer to an approval_request, with its reason and conditions."""

def shutdown_request(
    *,
    reason: Literal["phase_complete", "plan_complete", "user_abort"] = ...,
    team_name: str = ...,
    id: str = ...,
    phase: int = ...,
    task: str = ...,
    author_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs", "qa-author"] = ...,
    timestamp: str = ...,
    schema_version: Literal["2.0"] = ...,
    confidence: Literal["high", "medium", "low"] = ...,
    target_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs", "qa-author"] = ...,
) -> dict[str, Any]:
    """Asks every teammate to finish, answer and stop."""

def shutdown_response(
    *,
    request_id: str = ...,
    approved: bool = ...,
    final_status: Literal["complete", "idle", "in_progress"] = ...,
    pending_work: str = ...,
    id: str = ...,
    phase: int = ...,
    task: str = ...,
    author_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs", "qa-author"] = ...,
    timestamp: str = ...,
    schema_version: Literal["2.0"] = ...,
    confidence: Literal["high", "medium", "low"] = ...,
    target_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs", "qa-author"] = ...,
) -> dict[str, Any]:
    """A teammate's last message: it will stop, or why it cannot yet."""

def debugger_report(
    *,
    hypothesis: str = ...,
    evidence_for: list[str] = ...,
    evidence_against: list[str] = ...,
    confidence: Literal["high", "medium", "low"] = ...,
    resolution_observation: Literal["already_fixed", "needs_change", "inconclusive"] = ...,
    recommended_fix: str = ...,
    pre_existing_issues: list[dict[str, Any]] = ...,
    id: str = ...,
    phase: int = ...,
    task: str = ...,
    author_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs", "qa-author"] = ...,
    timestamp: str = ...,
    schema_version: Literal["2.0"] = ...,
    target_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs", "qa-author"] = ...,
) -> dict[str, Any]:
    """One hypothesis about a fault, the evidence, and whether a change is needed."""

def tests_ready(
    *,
    plan_id: str = ...,
    test_files: list[str] = ...,
    failing_test_count: int = ...,
    test_command: str = ...,
    id: str = ...,
    phase: int = ...,
    task: str = ...,
    author_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs", "qa-author"] = ...,
    timestamp: str = ...,
    schema_version: Literal["2.0"] = ...,
    confidence: Literal["high", "medium", "low"] = ...,
    target_role: Literal["lead", "dev", "qa", "scout", "debugger", "architect", "docs", "qa-author"] = ...,
) -> dict[str, Any]:
    """Tests written before the code: which files, how many fail, and how to run them."""

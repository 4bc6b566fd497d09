"""The examples of the signal-md page. `fields` is the front matter as it stands there, but for the words in quotes."""

from typing import Any

from tests.pages import Example

# What the page says of each body, as a sender would write it: the page itself shows front matter only.
BODIES = {
    "worker_submission": "## Result\nThe invoices are sorted.\n\n## Self-Assessment\nAC1 is met. Known limits: none.\n",
    "review_verdict": "MODERATE\n- No test for an empty list\n\nAC Coverage\n- AC1 is met\n\nGood with two notes.\n",
    "audit_verdict": "Security: CLEAN\n\n## Runtime\n31 tested, 30 passed, 1 failed\n",
    "triage_result": "## Triage\nTier: 2\nProblem: invoices out of order\n\n## Research Questions\n1. Which order?\n",
    "plan_result": "The plan sorts invoices by date, in three waves.\n",
    "research_result": "Answer: by date.\n\nVerified Facts:\n- docs/invoices.md says so\n\nGotchas: none.\n",
    "task_assignment": "Sort them.\n\nAcceptance Criteria:\n- AC1\n\nContext: the API stays.\n\nFiles: a.py\n",
    "revision_request": "Reviewer:\n- Add a test for an empty list\n",
    "triage_request": "Sort the invoices, please.\n",
    "architecture_request": "No research needed — proceed.\n",
    "research_request": "Which entry goes first? Why it matters: the cache is full. Where to look: cache.py\n",
}


def example(type_: str, fields: str, **chosen: Any) -> Example:
    return Example("signal-md", type_, f"---\ntype: {type_}\n{fields}---\n{BODIES.get(type_, '')}", chosen)


EXAMPLES = [
    Example(
        "signal-md",
        "approval",
        "---\ntype:\nsignal:\n# ... type-specific fields\n---\n[markdown body]\n",
        {"type": "approval", "signal": "lgtm"},
    ),
    example(
        "worker_submission",
        "signal: rfr | blocked | escalate\n"
        "files_changed:\n  - path/to/file1\n  - path/to/file2\n"
        "ac_coverage:\n  AC1: pass | fail | partial | na\n  AC2: pass | fail | partial | na\n"
        "qa_check: pass | fail\n",
        **{"signal": "rfr", "ac_coverage.AC1": "pass", "ac_coverage.AC2": "na", "qa_check": "pass"},
    ),
    example(
        "review_verdict",
        "signal: pass | pass_with_notes | fail\ncritical_count: 0\nmoderate_count: 2\nminor_count: 1\n"
        "ac_coverage:\n  AC1: pass | fail\n  AC2: pass | fail\n",
        **{"signal": "pass_with_notes", "ac_coverage.AC1": "pass", "ac_coverage.AC2": "fail"},
    ),
    example(
        "audit_verdict",
        "signal: pass | pass_with_notes | fail\n"
        "security_findings:\n  critical: 0\n  high: 0\n  medium: 0\n  low: 0\n"
        "build_status: pass | fail | skipped\n"
        "test_status: pass | fail | partial | skipped\n"
        "typecheck_status: pass | fail | skipped\n",
        signal="fail",
        build_status="pass",
        test_status="fail",
        typecheck_status="skipped",
    ),
    example(
        "triage_result",
        "signal: triage_complete\ntier: 0 | 1 | 2 | 3\nresearch_needed: true | false\nresearch_count: 3\n",
        tier="2",
        research_needed="true",
    ),
    example(
        "plan_result",
        "signal: plan_complete | blocked\nplan_file: .claude/plans/kebab-case-title.md\nwave_count: 3\nstep_count: 7\n"
        "risk_tags:\n  - security\n  - data-mutation\nhas_blockers: false\n",
        signal="plan_complete",
    ),
    example(
        "research_result",
        'signal: research_complete\ntopic: "cache eviction"\nverified: true | false\nhas_gotchas: true | false\n',
        verified="true",
        has_gotchas="false",
    ),
    example(
        "task_assignment",
        'signal: execute\ntask: "Sort the invoices"\nplan_file: .claude/plans/kebab-case-title.md\nwave: 1\nstep: 2\n',
    ),
    example(
        "revision_request",
        "signal: revise\niteration: 2\nmax_iterations: 5\nfix_severity: critical | critical+moderate | all\n",
        fix_severity="all",
    ),
    example("approval", "signal: lgtm\n"),
    example("triage_request", "signal: execute\n"),
    example("architecture_request", "signal: plan\n"),
    example("research_request", 'signal: research\ntopic: "cache eviction"\n'),
]

"""vbw-handoff 1.0: flat JSON with a `type`; other text is plain markdown."""

from telex.dialects.schema import (
    COMPLETE_WITHOUT_COMMIT,
    COUNT,
    NOTE,
    TEXT,
    TEXTS,
    Dialect,
    EnvelopeFields,
    HardRule,
    ListOf,
    MessageType,
    action,
    fields,
    group,
    one_of,
    types_by_name,
)

LEVELS = one_of("high", "medium", "low")
DOMAINS = one_of("tech-stack", "architecture", "quality", "concerns")
TIERS = one_of("quick", "standard", "deep")
VERDICTS = one_of("PASS", "FAIL", "PARTIAL")
CHECKS = group({"passed": COUNT, "failed": COUNT, "total": COUNT})
FAILURES = ListOf(group({"check": TEXT, "expected": NOTE, "actual": NOTE, "evidence": NOTE}))
CROSS_CUTTING = ListOf(group({"target_domain": TEXT, "finding": TEXT, "relevance": LEVELS}))
PASS_WITH_FAILURES = HardRule(
    code="pass-with-failures", broken_when="result == 'PASS' and (checks.failed > 0 or len(failures) > 0)",
    path="result", say="Say FAIL or PARTIAL: something failed.", expected="FAIL or PARTIAL when anything failed",
)  # fmt: skip
CHECKS_EXCEED_TOTAL = HardRule(
    code="checks-exceed-total", broken_when="checks.passed + checks.failed > checks.total", path="checks.total",
    say="Count again: passed and failed together come to more than total.", severity="warning",
    expected="total of at least passed + failed",
)  # fmt: skip
NO_EVIDENCE = "Insufficient evidence"

SCOUT_FINDINGS = MessageType(
    name="scout_findings", purpose="What a scout learned about the domain it was given.",
    senders=("scout",), receivers=("lead",), priority="STATUS",
    fields=fields(
        {"domain": DOMAINS,
         "documents": ListOf(group({"name": TEXT, "content": NOTE})), "confidence": LEVELS,
         "confidence_rationale": TEXT},
        {"cross_cutting": CROSS_CUTTING},
    ),
    example={"type": "scout_findings", "domain": "architecture",
             "documents": [{"name": "ARCHITECTURE.md", "content": "## Layers\nThree, top to bottom."}],
             "cross_cutting": [{"target_domain": "quality", "finding": "The core has no seam for a fake clock",
                                "relevance": "medium"}],
             "confidence": "high", "confidence_rationale": "Every import was followed"},
    semantics=action(
        "findings",
        "domain documents documents/name=documents[].name documents/text=documents[].content elsewhere=cross_cutting "
        "confidence rationale=confidence_rationale",
    ),
)  # fmt: skip

DEV_PROGRESS = MessageType(
    name="dev_progress", purpose="A task done, half done or failed, with its commit.",
    senders=("dev",), receivers=("lead",), priority="STATUS",
    fields=fields(
        {"task": TEXT, "plan_id": TEXT, "commit": NOTE, "status": one_of("complete", "partial", "failed")},
        {"concerns": TEXTS},
    ),
    rules=(COMPLETE_WITHOUT_COMMIT,),
    example={"type": "dev_progress", "task": "03-01/reset-link", "plan_id": "03-01", "commit": "abc1234",
             "status": "complete", "concerns": ["The mail template is still the old one"]},
    semantics=action("progress", "plan=plan_id task status commit concerns"),
)  # fmt: skip

DEV_BLOCKER = MessageType(
    name="dev_blocker", purpose="What keeps a dev from going on, and what would free it.",
    senders=("dev",), receivers=("lead",), priority="ERROR",
    fields=fields({"task": TEXT, "plan_id": TEXT, "blocker": TEXT, "needs": TEXT}, {"attempted": TEXTS}),
    example={"type": "dev_blocker", "task": "03-02/sessions", "plan_id": "03-02",
             "blocker": "The session table is not there yet", "needs": "Plan 03-01 committed",
             "attempted": ["Looked for the migration on main"]},
    semantics=action("blocker", "plan=plan_id task blocker needs attempted attempted/text=attempted[]"),
)  # fmt: skip

QA_RESULT = MessageType(
    name="qa_result", purpose="Whether the work holds, with the checks that say so and the whole report.",
    senders=("qa",), receivers=("lead",), priority="VALIDATION",
    fields=fields(
        {"tier": TIERS, "result": VERDICTS,
         "checks": CHECKS, "body": NOTE},
        {"failures": FAILURES},
    ),
    rules=(PASS_WITH_FAILURES, CHECKS_EXCEED_TOTAL),
    example={"type": "qa_result", "tier": "standard", "result": "PARTIAL",
             "checks": {"passed": 18, "failed": 2, "total": 20},
             "failures": [{"check": "Links", "expected": "All resolve", "actual": "One is broken",
                           "evidence": "docs/a.md line 42"}],
             "body": "## Checks\nTwo of twenty failed."},
    semantics=action(
        "verdict",
        "result tier passed=checks.passed failed=checks.failed total=checks.total failures "
        "failures/text=failures[].check body",
    ),
)  # fmt: skip

DEBUGGER_REPORT = MessageType(
    name="debugger_report", purpose="One hypothesis about a fault, with what speaks for and against it.",
    senders=("debugger",), receivers=("lead",), priority="STATUS",
    fields=fields({"hypothesis": TEXT, "evidence_for": TEXTS, "evidence_against": TEXTS, "confidence": LEVELS,
                   "recommended_fix": TEXT}),
    rules=(HardRule(
        code="fix-without-evidence",
        broken_when="confidence == 'low' and 'insufficient evidence' not in lower(recommended_fix)",
        path="recommended_fix", say=f"Write {NO_EVIDENCE!r}: a fix needs more than low confidence.",
        severity="warning", expected=NO_EVIDENCE,
    ),),
    example={"type": "debugger_report", "hypothesis": "Two refreshes of one token race each other",
             "evidence_for": ["Only concurrent requests fail"], "evidence_against": ["A token lives for half an hour"],
             "confidence": "medium", "recommended_fix": "Hold a lock while a token is refreshed"},
    semantics=action(
        "diagnosis",
        "hypothesis evidence=evidence_for evidence/text=evidence_for[] against=evidence_against confidence "
        "fix=recommended_fix",
    ),
)  # fmt: skip

VBW_HANDOFF = Dialect(
    name="vbw-handoff", version="1.0",
    purpose="Flat JSON hand-offs told apart by type, with plain markdown as the way out.", form="json",
    roles=("lead", "dev", "qa", "scout", "debugger"), wire=EnvelopeFields(correlation="task", task="task"),
    types=types_by_name([SCOUT_FINDINGS, DEV_PROGRESS, DEV_BLOCKER, QA_RESULT, DEBUGGER_REPORT]),
)  # fmt: skip

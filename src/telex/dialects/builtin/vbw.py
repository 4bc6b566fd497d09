"""vbw-handoff 1.0 and vbw-company 1.0: flat JSON with a `type`.

vbw-company is for a company of agents, with artifacts, review cycles and escalation up the chain. Its page lists no
required fields. The fields of its examples are required, except concerns, attempted, failures, alternatives, committed,
and the artifact of a report.
"""

from telex.dialects.schema import (
    BOOLEAN,
    COMPLETE_WITHOUT_COMMIT,
    COUNT,
    NOTE,
    TEXT,
    TEXTS,
    Dialect,
    EnvelopeFields,
    HardRule,
    Integer,
    Kind,
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
    purpose="Flat JSON hand-offs with a type, and plain markdown where no type fits.", form="json",
    roles=("lead", "dev", "qa", "scout", "debugger"), wire=EnvelopeFields(correlation="task", task="task"),
    trades={"lead": "leads", "dev": "makes", "qa": "tests", "scout": "looks", "debugger": "fixes"},
    types=types_by_name([SCOUT_FINDINGS, DEV_PROGRESS, DEV_BLOCKER, QA_RESULT, DEBUGGER_REPORT]),
)  # fmt: skip

# --- vbw-company ------------------------------------------------------------------------------------------------------

ROLES = ("architect", "lead", "senior", "dev", "qa-lead", "qa-code", "security", "scout", "debugger")
CHAIN = {"dev": "senior", "senior": "lead", "lead": "architect", "architect": "human", "qa-lead": "lead",
         "qa-code": "lead", "security": "lead", "scout": "lead", "debugger": "lead"}  # fmt: skip
REPORT: dict[str, Kind] = {"artifact": TEXT, "committed": BOOLEAN}
REPORTED = {"artifact": "artifact", "committed": "committed"}


def _critical_within(total: str) -> HardRule:
    return HardRule(
        code="critical-exceeds-findings", broken_when=f"critical > {total}", path="critical",
        say=f"Count again: every critical finding is also one of {total}.", expected=f"at most {total}",
    )  # fmt: skip


def _critical_but(*results: str) -> HardRule:
    passed = " or ".join(results)
    return HardRule(
        code="critical-but-passed", broken_when=f"critical > 0 and result in {list(results)}", path="result",
        say=f"Look again: {passed} with a critical finding is rarely meant.", severity="warning",
        expected=f"no {passed} while critical is above 0",
    )  # fmt: skip


def _one_step(role: str, above: str) -> HardRule:
    return HardRule(
        code="escalation-skips-a-step", broken_when=f"from == '{role}' and to != '{above}'", path="to",
        say=f"Send it to {above}: an escalation from {role} goes exactly one step up.", expected=above,
    )  # fmt: skip


ARCHITECTURE_DESIGN = MessageType(
    name="architecture_design", purpose="The decisions and risks of a phase's design.",
    senders=("architect",), receivers=("lead",), priority="STATUS",
    fields=fields(
        {"phase": TEXT, "artifact": TEXT,
         "decisions": ListOf(group({"decision": TEXT, "rationale": TEXT}, {"alternatives": TEXTS})),
         "risks": ListOf(group({"risk": TEXT, "impact": TEXT, "mitigation": TEXT}))},
        {"committed": BOOLEAN},
    ),
    example={"type": "architecture_design", "phase": "01", "artifact": "phases/01/architecture.md",
             "decisions": [{"decision": "Sign tokens with RS256", "rationale": "Keys can be rotated",
                            "alternatives": ["HS256"]}],
             "risks": [{"risk": "A token is stolen by a script", "impact": "high", "mitigation": "HttpOnly cookies"}],
             "committed": True},
    semantics=action("design", "phase decisions risks risks/text=risks[].risk", REPORTED),
)  # fmt: skip

SENIOR_SPEC = MessageType(
    name="senior_spec", purpose="A plan's tasks now say enough to be built.",
    senders=("senior",), receivers=("lead",), priority="STATUS",
    fields=fields({"plan_id": TEXT, "tasks_enriched": COUNT}, {"concerns": TEXTS, "committed": BOOLEAN}),
    example={"type": "senior_spec", "plan_id": "01-01", "tasks_enriched": 3,
             "concerns": ["The second task may need a checkpoint"], "committed": True},
    semantics=action("spec", "plan=plan_id enriched=tasks_enriched concerns committed"),
)  # fmt: skip

_DEV_PROGRESS = DEV_PROGRESS._replace(
    receivers=("senior",),
    example={"type": "dev_progress", "task": "01-01/T3", "plan_id": "01-01", "commit": "abc1234", "status": "partial",
             "concerns": ["The token's shape differs from the plan"]},
)  # fmt: skip

_DEV_BLOCKER = DEV_BLOCKER._replace(
    receivers=("senior",),
    example={"type": "dev_blocker", "task": "01-02/T1", "plan_id": "01-02",
             "blocker": "The session table is not there yet", "needs": "Plan 01-01 committed",
             "attempted": ["Looked for the migration on main"]},
)  # fmt: skip

CODE_REVIEW_RESULT = MessageType(
    name="code_review_result", purpose="A senior's verdict on a dev's work, one review cycle at a time.",
    senders=("senior",), receivers=("lead",), priority="VALIDATION",
    fields=fields(
        {"plan_id": TEXT, "result": one_of("approve", "changes_requested"), "cycle": Integer(at_least=1),
         "findings_count": COUNT, "critical": COUNT},
        REPORT,
    ),
    rules=(_critical_within("findings_count"), _critical_but("approve")),
    example={"type": "code_review_result", "plan_id": "01-01", "result": "changes_requested", "cycle": 1,
             "findings_count": 3, "critical": 1, "artifact": "phases/01/code-review.jsonl", "committed": True},
    semantics=action("review", "plan=plan_id result cycle findings=findings_count critical", REPORTED),
)  # fmt: skip

COMPANY_QA_RESULT = MessageType(
    name="qa_result", purpose="Whether a plan's work holds, with the checks that say so.", senders=("qa-lead",),
    receivers=("lead",), priority="VALIDATION",
    fields=fields({"tier": TIERS, "result": VERDICTS, "checks": CHECKS}, {"failures": FAILURES, **REPORT}),
    rules=(PASS_WITH_FAILURES, CHECKS_EXCEED_TOTAL),
    example={
        "type": "qa_result", "tier": "deep", "result": "FAIL", "checks": {"passed": 18, "failed": 2, "total": 20},
        "failures": [{"check": "Model", "expected": "Set in the front matter", "actual": "Inherited",
                      "evidence": "senior.md:3"}],
        "artifact": "phases/01/verification.jsonl", "committed": True,
    },
    semantics=action(
        "verdict",
        "result tier passed=checks.passed failed=checks.failed total=checks.total failures "
        "failures/text=failures[].check",
        REPORTED,
    ),
)  # fmt: skip

QA_CODE_RESULT = MessageType(
    name="qa_code_result", purpose="What tests and linters say of the code.",
    senders=("qa-code",), receivers=("lead",), priority="VALIDATION",
    fields=fields(
        {"result": VERDICTS, "tests": group({"passed": COUNT, "failed": COUNT, "skipped": COUNT}),
         "lint": group({"errors": COUNT, "warnings": COUNT}), "findings_count": COUNT, "critical": COUNT},
        REPORT,
    ),
    rules=(
        _critical_within("findings_count"),
        HardRule(
            code="pass-with-failed-tests", broken_when="result == 'PASS' and tests.failed > 0", path="result",
            say="Say FAIL or PARTIAL while a test fails.", expected="FAIL or PARTIAL when a test failed",
        ),
        _critical_but("PASS"),
    ),
    example={"type": "qa_code_result", "result": "PASS", "tests": {"passed": 42, "failed": 0, "skipped": 3},
             "lint": {"errors": 0, "warnings": 2}, "findings_count": 5, "critical": 0,
             "artifact": "phases/01/qa-code.jsonl", "committed": True},
    semantics=action(
        "verdict",
        "result passed=tests.passed failed=tests.failed skipped=tests.skipped lint_errors=lint.errors "
        "lint_warnings=lint.warnings findings=findings_count critical",
        REPORTED,
    ),
)  # fmt: skip

SECURITY_AUDIT = MessageType(
    name="security_audit", purpose="What a security audit found, by category.",
    senders=("security",), receivers=("lead",), priority="VALIDATION",
    fields=fields(
        {"result": one_of("PASS", "FAIL", "WARN"), "findings": COUNT, "critical": COUNT,
         "categories": ListOf(one_of("secrets", "owasp", "deps", "config"))},
        REPORT,
    ),
    rules=(_critical_within("findings"), _critical_but("PASS", "WARN")),
    example={"type": "security_audit", "result": "WARN", "findings": 2, "critical": 0,
             "categories": ["secrets", "deps"], "artifact": "phases/01/security-audit.jsonl", "committed": True},
    semantics=action("verdict", "result findings critical categories", REPORTED),
)  # fmt: skip

COMPANY_SCOUT_FINDINGS = MessageType(
    name="scout_findings", purpose="Answers to the questions a scout was sent to look into.",
    senders=("scout",), receivers=("lead",), priority="STATUS",
    fields=fields(
        {"domain": DOMAINS,
         "findings": ListOf(group({"query": TEXT, "finding": TEXT, "confidence": LEVELS}))},
        REPORT,
    ),
    example={"type": "scout_findings", "domain": "tech-stack",
             "findings": [{"query": "How to rotate RS256 keys", "finding": "Publish a key set", "confidence": "high"}],
             "artifact": "phases/01/research.jsonl", "committed": True},
    semantics=action(
        "findings",
        "domain documents=findings documents/name=findings[].query documents/text=findings[].finding "
        "documents/confidence=findings[].confidence",
        REPORTED,
    ),
)  # fmt: skip

COMPANY_DEBUGGER_REPORT = MessageType(
    name="debugger_report", purpose="One hypothesis about a fault, with what speaks for and against it.",
    senders=("debugger",), receivers=("lead",), priority="STATUS",
    fields=fields(
        {"hypothesis": TEXT, "evidence_for": TEXTS, "evidence_against": TEXTS, "confidence": LEVELS,
         "recommended_fix": TEXT},
        {"artifact": TEXT},
    ),
    example={"type": "debugger_report", "hypothesis": "Two refreshes of one token race each other",
             "evidence_for": ["Only concurrent requests fail"], "evidence_against": ["A token lives for half an hour"],
             "confidence": "low", "recommended_fix": "Hold a lock while a token is refreshed",
             "artifact": "phases/01/debug-report.jsonl"},
    semantics=action(
        "diagnosis",
        "hypothesis evidence=evidence_for evidence/text=evidence_for[] against=evidence_against confidence "
        "fix=recommended_fix artifact",
    ),
)  # fmt: skip

ESCALATION = MessageType(
    name="escalation", purpose="What an agent may not settle itself, handed one step up.", senders=ROLES,
    receivers=("senior", "lead", "architect", "human"), priority="ESCALATION",
    fields=fields(
        {"from": one_of(*ROLES), "to": one_of(*ROLES, "human"), "issue": TEXT, "evidence": TEXTS,
         "recommendation": TEXT, "severity": one_of("blocking", "major", "minor")},
    ),
    rules=tuple((_one_step(role, above) for role, above in CHAIN.items())),
    example={
        "type": "escalation", "from": "dev", "to": "senior", "issue": "The design assumes no server-side state",
        "evidence": ["A refresh needs a session"], "recommendation": "Look at the stateless design again",
        "severity": "blocking",
    },
    semantics=action(
        "escalate", "level=to by=from reason=issue evidence evidence/text=evidence[] advice=recommendation severity",
    ),
)  # fmt: skip

VBW_COMPANY = Dialect(
    name="vbw-company", version="1.0",
    purpose="A company of agents: artifacts, review cycles, escalation up the chain.", form="json", roles=ROLES,
    trades={"lead": "leads", "dev": "makes", "senior": "reviews", "architect": "designs", "qa-lead": "tests",
            "qa-code": "runs", "security": "audits", "scout": "looks", "debugger": "fixes"},
    wire=EnvelopeFields(correlation="task", sender="from", recipient="to", task="task"), chain=CHAIN,
    types=types_by_name(
        [ARCHITECTURE_DESIGN, SENIOR_SPEC, _DEV_PROGRESS, _DEV_BLOCKER, CODE_REVIEW_RESULT, COMPANY_QA_RESULT,
        QA_CODE_RESULT, SECURITY_AUDIT, COMPANY_SCOUT_FINDINGS, COMPANY_DEBUGGER_REPORT, ESCALATION],
    ),
)  # fmt: skip

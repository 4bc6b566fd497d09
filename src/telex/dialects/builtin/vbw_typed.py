"""vbw-typed 2.0: a mandatory envelope around a typed payload, a role matrix, contracts, approvals and shutdown."""

from telex.dialects.builtin.vbw import (
    CHECKS,
    CROSS_CUTTING,
    DOMAINS,
    FAILURES,
    LEVELS,
    PASS_WITH_FAILURES,
    TIERS,
    VERDICTS,
)
from telex.dialects.schema import (
    BOOLEAN,
    COMPLETE_WITHOUT_COMMIT,
    COUNT,
    MOMENT,
    NOTE,
    TEXT,
    TEXTS,
    Dialect,
    EnvelopeFields,
    Field,
    Fields,
    FlatForm,
    Group,
    HardRule,
    Integer,
    Kind,
    ListOf,
    MessageType,
    Text,
    Tree,
    action,
    fields,
    group,
    one_of,
    types_by_name,
)

ROLES = ("lead", "dev", "qa", "scout", "debugger", "architect", "docs")
TEAMMATES = ("dev", "qa", "scout", "lead", "debugger", "docs")

# The ids in the page's examples are not UUIDs, so an id is any short text.
ENVELOPE: Fields = fields(
    {"id": Text(characters_max=128, printable=True), "phase": COUNT, "task": NOTE, "author_role": one_of(*ROLES),
     "timestamp": MOMENT, "schema_version": one_of("2.0"), "confidence": LEVELS},
    {"target_role": one_of(*ROLES)},
)  # fmt: skip
# Work values that the envelope of every type has.
ABOUT = {"phase_number": "phase", "confidence": "confidence"}


def message_example(
    type_: str, id_: str, role: str, payload: Tree, task: str = "1-1-T1", confidence: str = "high"
) -> Tree:
    return {
        "id": id_,
        "type": type_,
        "phase": 1,
        "task": task,
        "author_role": role,
        "timestamp": "2026-02-12T10:00:00Z",
        "schema_version": "2.0",
        "confidence": confidence,
        "payload": payload,
    }


SCOUT_FINDINGS = MessageType(
    name="scout_findings", purpose="What a scout learned about one domain of the project.",
    senders=("scout",), receivers=("lead", "architect"), priority="STATUS",
    fields=fields(
        {"domain": DOMAINS,
         "documents": ListOf(group({"name": TEXT, "content": NOTE}))},
        {"cross_cutting": CROSS_CUTTING,
         "confidence_rationale": TEXT},
    ),
    example=message_example(
        "scout_findings", "findings-1", "scout",
        {"domain": "tech-stack", "documents": [{"name": "STACK.md", "content": "## Stack\nPython 3.11, SQLite"}],
         "cross_cutting": [{"target_domain": "quality", "finding": "No test covers the retry loop",
                            "relevance": "high"}],
         "confidence_rationale": "Read from the lock file"},
    ),
    semantics=action(
        "findings",
        "domain documents documents/name=documents[].name documents/text=documents[].content elsewhere=cross_cutting "
        "rationale=confidence_rationale",
        ABOUT,
    ),
)  # fmt: skip

PLAN_CONTRACT = MessageType(
    name="plan_contract",
    purpose="The scope of a plan: its tasks, the paths it may touch, and what must hold at the end.",
    senders=("lead", "architect"), receivers=("dev", "qa", "scout", "debugger", "docs"), priority="STATUS",
    fields=fields(
        {"plan_id": TEXT, "phase_id": TEXT, "objective": TEXT, "tasks": TEXTS, "allowed_paths": TEXTS,
         "must_haves": TEXTS},
        {"forbidden_paths": TEXTS, "depends_on": TEXTS, "verification_checks": TEXTS,
         "token_budget": Integer(at_least=1)},
    ),
    rules=(HardRule(
        code="path-allowed-and-forbidden", broken_when="overlap(allowed_paths, forbidden_paths)",
        path="forbidden_paths", say="Take the path out of one of the two lists; until then it is forbidden.",
        severity="warning", expected="no path in both allowed_paths and forbidden_paths",
    ),),
    example=message_example(
        "plan_contract", "contract-1", "lead",
        {"plan_id": "1-1", "phase_id": "phase-1", "objective": "Add password reset", "tasks": ["1-1-T1", "1-1-T2"],
         "allowed_paths": ["src/auth/", "tests/test_reset.py"], "must_haves": ["A reset link works once"],
         "forbidden_paths": [".env"], "depends_on": [], "verification_checks": ["make test"], "token_budget": 50000},
    ),
    semantics=action(
        "contract",
        "plan=plan_id phase=phase_id objective tasks allowed=allowed_paths forbidden=forbidden_paths depends_on "
        "must_haves checks=verification_checks budget=token_budget",
        ABOUT,
    ),
)  # fmt: skip

# Not on the page, which has no message that ends a contract.
CONTRACT_CLOSE = MessageType(
    name="contract_close", purpose="The end of a plan's contract: from then on it allows and forbids nothing.",
    senders=("lead", "architect"), receivers=("lead", "architect", "dev", "qa", "scout", "debugger", "docs"),
    priority="STATUS", fields=fields({"plan_id": TEXT}, {"reason": NOTE}),
    example=message_example("contract_close", "close-1", "lead", {"plan_id": "1-1", "reason": "Merged"}, task=""),
    semantics=action("close", "plan=plan_id reason", ABOUT),
)  # fmt: skip

# tokens_used is not on the page, which has a token budget and no message that reports its use.
EXECUTION_UPDATE = MessageType(
    name="execution_update", purpose="How far a task has come, and the commit that shows it.", senders=("dev", "docs"),
    receivers=("lead",), priority="STATUS",
    fields=fields(
        {"plan_id": TEXT, "task_id": TEXT, "status": one_of("complete", "partial", "failed"), "commit": NOTE},
        {"files_modified": TEXTS, "concerns": TEXTS, "evidence": NOTE, "tokens_used": COUNT},
    ),
    rules=(COMPLETE_WITHOUT_COMMIT,),
    example=message_example(
        "execution_update", "update-1", "dev",
        {"plan_id": "1-1", "task_id": "1-1-T1", "status": "complete", "commit": "abc1234",
         "files_modified": ["src/auth/reset.py"], "concerns": ["The mail template is still the old one"],
         "evidence": "14 tests pass"},
    ),
    semantics=action(
        "progress", "plan=plan_id task=task_id status commit files=files_modified tokens=tokens_used concerns evidence",
        ABOUT,
    ),
)  # fmt: skip

BLOCKER_REPORT = MessageType(
    name="blocker_report", purpose="What keeps an agent from going on, and what would free it.",
    senders=("dev", "debugger", "docs"), receivers=("lead",), priority="ERROR",
    fields=fields(
        {"plan_id": TEXT, "task_id": TEXT, "blocker": TEXT, "needs": TEXT},
        {"attempted": TEXTS, "severity": one_of("blocking", "degraded", "informational")},
    ),
    example=message_example(
        "blocker_report", "blocker-1", "dev",
        {"plan_id": "1-2", "task_id": "1-2-T1", "blocker": "The session table is not there yet",
         "needs": "Plan 1-1 committed", "attempted": ["Looked for the migration on main"], "severity": "blocking"},
        task="1-2-T1", confidence="medium",
    ),
    semantics=action(
        "blocker", "plan=plan_id task=task_id blocker needs severity attempted attempted/text=attempted[]", ABOUT,
    ),
)  # fmt: skip

QA_VERDICT = MessageType(
    name="qa_verdict", purpose="Whether the work holds, with the checks that say so.",
    senders=("qa",), receivers=("lead",), priority="VALIDATION",
    fields=fields(
        {"tier": TIERS, "result": VERDICTS,
         "checks": CHECKS},
        {"failures": FAILURES,
         "body": NOTE, "recommendations": TEXTS},
    ),
    rules=(
        HardRule(
            code="checks-exceed-total", broken_when="checks.passed + checks.failed > checks.total", path="checks.total",
            say="Count again: passed and failed together may not be more than total.",
            expected="total of at least passed + failed",
        ),
        PASS_WITH_FAILURES,
    ),
    example=message_example(
        "qa_verdict", "verdict-1", "qa",
        {"tier": "standard", "result": "FAIL", "checks": {"passed": 18, "failed": 2, "total": 20},
         "failures": [{"check": "Links", "expected": "All resolve", "actual": "One is broken",
                       "evidence": "docs/a.md line 42"}],
         "body": "## Checks\nTwo of twenty failed.", "recommendations": ["Fix the link in docs/a.md"]},
    ),
    semantics=action(
        "verdict",
        "result task tier passed=checks.passed failed=checks.failed total=checks.total failures "
        "failures/text=failures[].check body advice=recommendations",
        ABOUT,
    ),
)  # fmt: skip

APPROVAL_REQUEST = MessageType(
    name="approval_request",
    purpose="A question only a lead or architect may answer: more scope, a plan, a gate set aside.",
    senders=("dev", "lead"), receivers=("lead", "architect"), priority="VALIDATION", reply="approval_response",
    fields=fields(
        {"subject": TEXT, "request_type": one_of("scope_change", "plan_approval", "gate_override"), "evidence": TEXT},
        {"options": TEXTS, "deadline": MOMENT},
    ),
    rules=(HardRule(
        code="deadline-in-past", broken_when="deadline < timestamp", path="deadline",
        say="Give a deadline that is still to come, or leave it out.", severity="warning",
        expected="a time after the message's own timestamp",
    ),),
    example=message_example(
        "approval_request", "ask-1", "dev",
        {"subject": "The reset link needs the mail module", "request_type": "scope_change",
         "evidence": "src/mail/ is not in allowed_paths",
         "options": ["Widen the contract", "Make it a task of its own"], "deadline": "2026-02-12T12:00:00Z"},
        confidence="medium",
    ),
    semantics=action("ask", "subject kind=request_type evidence options deadline task", ABOUT),
)  # fmt: skip

APPROVAL_RESPONSE = MessageType(
    name="approval_response", purpose="The answer to an approval_request, with its reason and conditions.",
    senders=("lead", "architect"), receivers=("dev", "lead", "docs"), priority="VALIDATION",
    fields=fields(
        {"request_id": TEXT, "approved": BOOLEAN, "reason": TEXT}, {"conditions": TEXTS, "modifications": TEXTS},
    ),
    example=message_example(
        "approval_response", "answer-1", "lead",
        {"request_id": "ask-1", "approved": True, "reason": "The link cannot be sent without it",
         "conditions": ["The public API stays as it is"], "modifications": ["src/mail/"]},
    ),
    semantics=action("answer", "request=request_id approved reason conditions modifications task", ABOUT),
)  # fmt: skip

SHUTDOWN_REQUEST = MessageType(
    name="shutdown_request", purpose="Asks every teammate to finish, answer and stop.",
    senders=("lead",), receivers=TEAMMATES, priority="ESCALATION", reply="shutdown_response",
    fields=fields({"reason": one_of("phase_complete", "plan_complete", "user_abort"), "team_name": TEXT}),
    example=message_example(
        "shutdown_request", "stop-1", "lead", {"reason": "phase_complete", "team_name": "phase-01"}, task="",
    ),
    semantics=action("stop", "reason team=team_name", ABOUT),
)  # fmt: skip

SHUTDOWN_RESPONSE = MessageType(
    name="shutdown_response", purpose="A teammate's last message: it will stop, or why it cannot yet.",
    senders=TEAMMATES, receivers=("lead",), priority="VALIDATION",
    fields={"request_id": Field(TEXT), "approve": Field(BOOLEAN, later_spelling="approved"),
            "final_status": Field(one_of("complete", "idle", "in_progress")),
            "pending_work": Field(NOTE, required=False)},
    example=message_example(
        "shutdown_response", "stopped-1", "dev",
        {"request_id": "stop-1", "approve": True, "final_status": "complete", "pending_work": ""}, task="",
    ),
    semantics=action("stopped", "request=request_id approved=approve status=final_status pending=pending_work", ABOUT),
)  # fmt: skip

VBW_TYPED = Dialect(
    name="vbw-typed", version="2.0", purpose="A typed envelope with a role matrix, contracts, approvals and shutdown.",
    form="json", roles=ROLES, envelope=ENVELOPE, payload="payload",
    trades={"lead": "leads", "dev": "makes", "qa": "tests", "scout": "looks", "debugger": "fixes",
            "architect": "designs", "docs": "documents"},
    wire=EnvelopeFields(
        id="id", correlation="task", sender="author_role", recipient="target_role", timestamp="timestamp",
        version="schema_version", reply_to="request_id", task="task_id",
    ),
    types=types_by_name(
        [SCOUT_FINDINGS, PLAN_CONTRACT, CONTRACT_CLOSE, EXECUTION_UPDATE, BLOCKER_REPORT, QA_VERDICT, APPROVAL_REQUEST,
        APPROVAL_RESPONSE, SHUTDOWN_REQUEST, SHUTDOWN_RESPONSE],
    ),
)  # fmt: skip


QA_AUTHOR = "qa-author"
_ROLES = (*ROLES, QA_AUTHOR)
_TEAMMATES = (*TEAMMATES, QA_AUTHOR)
_ENVELOPE: Fields = {
    **ENVELOPE,
    "author_role": Field(one_of(*_ROLES)),
    "target_role": Field(one_of(*_ROLES), required=False),
}
_ISSUES: dict[str, Kind] = {"pre_existing_issues": ListOf(group({"test": TEXT, "file": NOTE, "error": NOTE}))}
_ISSUE = {"test": "test_login", "file": "tests/test_login.py", "error": "It fails on main too"}
CATEGORIES = ("must_have", "artifact", "key_link", "anti_pattern", "convention", "requirement", "skill_augmented")
_DETAIL = Group(
    fields(
        {"id": Text(characters_max=128, printable=True), "status": one_of("PASS", "FAIL", "WARN")},
        {"category": one_of(*CATEGORIES), "description": NOTE, "evidence": NOTE, "exists": BOOLEAN, "contains": NOTE,
         "from": NOTE, "to": NOTE, "via": NOTE, "file": NOTE, "detail": NOTE, "plan_ref": NOTE},
    )
)  # fmt: skip


def _extended(type_: MessageType, optional: dict[str, Kind], **example: object) -> MessageType:
    """The type of 2.0 with more optional fields, and an example that has them."""
    payload = {**type_.example["payload"], **example}
    return type_._replace(
        fields={**type_.fields, **fields(optional=optional)}, example={**type_.example, "payload": payload}
    )


def _counted(counter: str, rows: str, words: str) -> HardRule:
    return HardRule(
        code="checks-contradict-detail", broken_when=f"len(checks_detail) > 0 and checks.{counter} != {rows}",
        path=f"checks.{counter}", say=f"Count again: checks.{counter} is the number of {words} in checks_detail.",
        expected=f"the number of {words} in checks_detail",
    )  # fmt: skip


_BLOCKER = _extended(BLOCKER_REPORT, _ISSUES, pre_existing_issues=[_ISSUE])
_VERDICT = _extended(
    QA_VERDICT, {**_ISSUES, "plans_verified": TEXTS, "checks_detail": ListOf(_DETAIL)},
    checks={"passed": 1, "failed": 1, "total": 2},
    checks_detail=[
        {"id": "MH-1", "category": "must_have", "status": "PASS", "evidence": "A link works once"},
        {"id": "KL-1", "category": "key_link", "status": "FAIL", "from": "a.md", "to": "b.md", "via": "a link"},
    ],
    plans_verified=["1-1"], pre_existing_issues=[_ISSUE],
)  # fmt: skip

DEBUGGER_REPORT = MessageType(
    name="debugger_report", purpose="One hypothesis about a fault, the evidence, and whether a change is needed.",
    senders=("debugger",), receivers=("lead",), priority="STATUS",
    fields=fields(
        {"hypothesis": TEXT, "evidence_for": TEXTS, "evidence_against": TEXTS, "confidence": LEVELS,
         "resolution_observation": one_of("already_fixed", "needs_change", "inconclusive"), "recommended_fix": TEXT},
        _ISSUES,
    ),
    example=message_example(
        "debugger_report", "report-1", "debugger",
        {"hypothesis": "Two refreshes of one token race each other", "evidence_for": ["Only concurrent requests fail"],
         "evidence_against": ["A token lives for half an hour"], "confidence": "high",
         "resolution_observation": "needs_change", "recommended_fix": "Hold a lock while a token is refreshed"},
    ),
    semantics=action(
        "diagnosis",
        "hypothesis evidence=evidence_for evidence/text=evidence_for[] against=evidence_against confidence "
        "observation=resolution_observation fix=recommended_fix phase_number=phase",
    ),
)  # fmt: skip

TESTS_READY = MessageType(
    name="tests_ready", purpose="Tests written before the code: which files, how many fail, and how to run them.",
    senders=(QA_AUTHOR,), receivers=("lead", "dev"), priority="STATUS",
    fields=fields({"plan_id": TEXT, "test_files": TEXTS, "failing_test_count": COUNT, "test_command": TEXT}),
    example=message_example(
        "tests_ready", "tests-1", QA_AUTHOR,
        {"plan_id": "1-1", "test_files": ["tests/test_reset.py"], "failing_test_count": 4, "test_command": "make test"},
    ),
    semantics=action("tests", "plan=plan_id files=test_files failing=failing_test_count details=test_command", ABOUT),
)  # fmt: skip

_APPROVED = {
    "request_id": Field(TEXT),
    "approved": Field(BOOLEAN, later_spelling="approve"),
    "final_status": SHUTDOWN_RESPONSE.fields["final_status"],
    "pending_work": SHUTDOWN_RESPONSE.fields["pending_work"],
}
_STOP = SHUTDOWN_REQUEST._replace(receivers=_TEAMMATES)
_STOPPED = SHUTDOWN_RESPONSE._replace(
    senders=_TEAMMATES, fields=_APPROVED,
    example=message_example(
        "shutdown_response", "stopped-1", QA_AUTHOR,
        {"request_id": "stop-1", "approved": True, "final_status": "complete", "pending_work": ""}, task="",
    ),
    semantics=action("stopped", "request=request_id approved status=final_status pending=pending_work", ABOUT),
)  # fmt: skip

_BLOCKER_BY_DEBUGGER = HardRule(
    code="debugger-sends-blocker", broken_when="author_role == 'debugger'", path="author_role", severity="warning",
    say="Send a debugger_report: a blocker is reported by dev or docs.", expected="dev or docs",
)  # fmt: skip
_TYPES = {**VBW_TYPED.types} | {
    type_.name: type_
    for type_ in (
        PLAN_CONTRACT._replace(receivers=(*PLAN_CONTRACT.receivers, QA_AUTHOR)),
        CONTRACT_CLOSE._replace(receivers=(*CONTRACT_CLOSE.receivers, QA_AUTHOR)),
        _extended(EXECUTION_UPDATE, _ISSUES, pre_existing_issues=[_ISSUE]),
        _BLOCKER._replace(rules=(_BLOCKER_BY_DEBUGGER,)),
        _VERDICT._replace(
            rules=(
                *QA_VERDICT.rules,
                _counted("failed", "count(checks_detail[].status, 'FAIL')", "rows with FAIL"),
                _counted("passed", "count(checks_detail[].status, 'PASS')", "rows with PASS"),
                _counted("total", "len(checks_detail)", "rows"),
            )
        ),
        DEBUGGER_REPORT,
        TESTS_READY,
        _STOP,
        _STOPPED,
    )
}

VBW_TYPED_2_1: Dialect = VBW_TYPED._replace(
    name="vbw-typed@2.1", version="2.1", purpose="2.0 as newer teams send it: diagnoses, tests, detailed checks.",
    extends=VBW_TYPED.name, roles=_ROLES, envelope=_ENVELOPE, types=_TYPES,
)  # fmt: skip

# A shutdown as a coding tool's mailbox delivers it: no payload, and of the envelope only what it has.
FLAT_SHUTDOWN = FlatForm(
    dialect=VBW_TYPED_2_1._replace(
        envelope={name: field._replace(required=False) for name, field in _ENVELOPE.items()},
        types={_STOP.name: _STOP._replace(fields={**_STOP.fields, "team_name": Field(TEXT, required=False)}),
               _STOPPED.name: _STOPPED},
    ),
    renamed={_STOP.name: {"requestId": "id", "from": "author_role"},
             _STOPPED.name: {"requestId": "request_id", "from": "author_role"}},
    told_by={_STOP.name: ("id", "author_role"), _STOPPED.name: ("request_id", "author_role")},
)  # fmt: skip
VBW_TYPED_2_1 = VBW_TYPED_2_1._replace(flat=FLAT_SHUTDOWN)

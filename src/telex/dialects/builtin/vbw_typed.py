"""vbw-typed 2.0: a mandatory envelope around a typed payload, a role matrix, contracts, approvals and shutdown."""

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
    Group,
    HardRule,
    Integer,
    ListOf,
    MessageType,
    Text,
    Tree,
    action,
    fields,
    one_of,
    types_by_name,
)

ROLES = ("lead", "dev", "qa", "scout", "debugger", "architect", "docs")
TEAMMATES = ("dev", "qa", "scout", "lead", "debugger", "docs")
LEVELS = one_of("high", "medium", "low")

ENVELOPE: Fields = fields(
    {
        "id": Text(characters_max=128, printable=True),  # the page's own ids are not UUIDs, so any short name will do
        "phase": COUNT,
        "task": NOTE,
        "author_role": one_of(*ROLES),
        "timestamp": MOMENT,
        "schema_version": one_of("2.0"),
        "confidence": LEVELS,
    },
    {"target_role": one_of(*ROLES)},
)
# What the envelope says in every type, beside what the bus itself looks at.
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
        {"domain": one_of("tech-stack", "architecture", "quality", "concerns"),
         "documents": ListOf(Group(fields({"name": TEXT, "content": NOTE})))},
        {"cross_cutting": ListOf(Group(fields({"target_domain": TEXT, "finding": TEXT, "relevance": LEVELS}))),
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

# Our own: the page has no message that ends a contract.
CONTRACT_CLOSE = MessageType(
    name="contract_close", purpose="The end of a plan's contract: from then on it allows and forbids nothing.",
    senders=("lead", "architect"), receivers=("lead", "architect", "dev", "qa", "scout", "debugger", "docs"),
    priority="STATUS", fields=fields({"plan_id": TEXT}, {"reason": NOTE}),
    example=message_example("contract_close", "close-1", "lead", {"plan_id": "1-1", "reason": "Merged"}, task=""),
    semantics=action("close", "plan=plan_id reason", ABOUT),
)  # fmt: skip

EXECUTION_UPDATE = MessageType(
    name="execution_update",
    purpose="How far a task has come, and the commit that shows it.",
    senders=("dev", "docs"),
    receivers=("lead",),
    priority="STATUS",
    fields=fields(
        {"plan_id": TEXT, "task_id": TEXT, "status": one_of("complete", "partial", "failed"), "commit": NOTE},
        # tokens_used is our own: the page gives a plan a token budget and no message in which to say what was spent.
        {"files_modified": TEXTS, "concerns": TEXTS, "evidence": NOTE, "tokens_used": COUNT},
    ),
    rules=(COMPLETE_WITHOUT_COMMIT,),
    example=message_example(
        "execution_update",
        "update-1",
        "dev",
        {
            "plan_id": "1-1",
            "task_id": "1-1-T1",
            "status": "complete",
            "commit": "abc1234",
            "files_modified": ["src/auth/reset.py"],
            "concerns": ["The mail template is still the old one"],
            "evidence": "14 tests pass",
        },
    ),
    semantics=action(
        "progress",
        "plan=plan_id task=task_id status commit files=files_modified tokens=tokens_used concerns evidence",
        ABOUT,
    ),
)

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
        {"tier": one_of("quick", "standard", "deep"), "result": one_of("PASS", "FAIL", "PARTIAL"),
         "checks": Group(fields({"passed": COUNT, "failed": COUNT, "total": COUNT}))},
        {"failures": ListOf(Group(fields({"check": TEXT, "expected": NOTE, "actual": NOTE, "evidence": NOTE}))),
         "body": NOTE, "recommendations": TEXTS},
    ),
    rules=(
        HardRule(
            code="checks-exceed-total", broken_when="checks.passed + checks.failed > checks.total", path="checks.total",
            say="Count again: passed and failed together may not be more than total.",
            expected="total of at least passed + failed",
        ),
        HardRule(
            code="pass-with-failures", broken_when="result == 'PASS' and (checks.failed > 0 or len(failures) > 0)",
            path="result", say="Say FAIL or PARTIAL: something failed.",
            expected="FAIL or PARTIAL when anything failed",
        ),
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
    wire=EnvelopeFields(
        id="id", correlation="task", sender="author_role", recipient="target_role", timestamp="timestamp",
        version="schema_version", reply_to="request_id", task="task_id",
    ),
    types=types_by_name(
        SCOUT_FINDINGS, PLAN_CONTRACT, CONTRACT_CLOSE, EXECUTION_UPDATE, BLOCKER_REPORT, QA_VERDICT, APPROVAL_REQUEST,
        APPROVAL_RESPONSE, SHUTDOWN_REQUEST, SHUTDOWN_RESPONSE,
    ),
)  # fmt: skip

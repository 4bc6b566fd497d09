"""build-flow 1.0: camelCase envelopes with from and to, correlation, broadcast and events."""

from telex.dialects.schema import (
    ANY,
    BOOLEAN,
    COUNT,
    MOMENT,
    NOTE,
    OPEN,
    TEXT,
    TEXTS,
    Dialect,
    EnvelopeFields,
    Fields,
    Group,
    HardRule,
    ListOf,
    MessageType,
    Number,
    Text,
    action,
    fields,
    group,
    one_of,
    types_by_name,
)

ENVELOPE: Fields = fields(
    {
        "messageId": Text(characters_max=128, printable=True), "correlationId": TEXT, "timestamp": MOMENT, "from": TEXT,
        "to": TEXT, "version": one_of("1.0"),
    },
    {"replyTo": TEXT, "broadcast": BOOLEAN, "event": BOOLEAN},
)  # fmt: skip
# Work values that the envelope of every type has.
ABOUT = {"everyone": "broadcast", "happened": "event"}
PERCENT = Number(at_least=0, at_most=100)

CORRELATION_DIFFERS = HardRule(
    code="correlation-differs", broken_when="lower(correlationId) != lower(taskId)", path="correlationId",
    say="Use the taskId as correlationId, so that all messages of the task are found together.", severity="warning",
    expected="the payload's taskId",
)  # fmt: skip
RESPONSE_WITHOUT_REPLY_TO = HardRule(
    code="response-without-reply-to", broken_when="not has(replyTo)", path="replyTo",
    say="Name the request's messageId in replyTo; without it the answer is matched by correlation only.",
    severity="warning", expected="the messageId of the request",
)  # fmt: skip


def _in_envelope(type_: MessageType, **envelope: object) -> MessageType:
    """The type with its example in an envelope; one that is about a task has the rule on correlation."""
    example = {
        "messageId": "msg-1",
        "correlationId": type_.example.get("taskId", "project-review"),
        "timestamp": "2026-02-12T10:00:00Z",
        "from": "build-orchestrator",
        "to": "@agent-fullstack-developer",
        "type": type_.name,
        "version": "1.0",
        **envelope,
        "payload": type_.example,
    }
    rules = type_.rules
    if "taskId" in type_.fields:
        rules = (*rules, CORRELATION_DIFFERS)
    if type_.name.endswith("_RESPONSE"):
        rules = (*rules, RESPONSE_WITHOUT_REPLY_TO)
    return type_._replace(example=example, rules=rules)


TASK_ASSIGNMENT = _in_envelope(MessageType(
    "TASK_ASSIGNMENT", "A task given to an agent, with what it builds on.", ANY, ANY, "STATUS",
    fields({"taskId": TEXT, "title": TEXT, "description": TEXT, "phase": Number(), "dependencies": TEXTS,
            "context": group(optional={
                "approvedDesign": TEXT, "existingDocs": TEXTS, "constraints": TEXTS, "planFile": TEXT,
            })}),
    {"taskId": "TASK-001", "title": "Password reset", "description": "Let people reset their password by mail",
     "phase": 2, "dependencies": [],
     "context": {"approvedDesign": "A link that works once", "existingDocs": ["docs/auth.md"]}},
    semantics=action(
        "assign",
        "task=taskId title depends_on=dependencies details=description phase_number=phase "
        "design=context.approvedDesign docs=context.existingDocs constraints=context.constraints "
        "plan_file=context.planFile",
        ABOUT,
    ),
))  # fmt: skip

STATUS_UPDATE = _in_envelope(MessageType(
    "STATUS_UPDATE", "How far a task has come.", ANY, ANY, "STATUS",
    fields(
        {"taskId": TEXT, "status": one_of("STARTED", "PROGRESS", "BLOCKED", "COMPLETED", "FAILED")},
        {"progress": PERCENT, "details": NOTE, "blockers": TEXTS},
    ),
    {"taskId": "TASK-001", "status": "PROGRESS", "progress": 40, "details": "The link is sent"},
    rules=(HardRule(
        code="blocked-without-blockers", broken_when="status == 'BLOCKED' and len(blockers) == 0", path="blockers",
        say="Say what blocks the task.", severity="warning", expected="at least one blocker",
    ),),
    semantics=action("status", "task=taskId status details blockers percent=progress", ABOUT),
))  # fmt: skip

STATE_TRANSITION = _in_envelope(MessageType(
    "STATE_TRANSITION", "A task moved from one state to another.", ANY, ANY, "STATUS",
    fields({"taskId": TEXT, "fromState": TEXT, "toState": TEXT, "reason": TEXT}, {"metadata": OPEN}),
    {"taskId": "TASK-001", "fromState": "planning", "toState": "validated", "reason": "The plan was approved"},
    semantics=action("move", "task=taskId came_from=fromState goes_to=toState reason", ABOUT),
), event=True)  # fmt: skip

VALIDATION_REQUEST = _in_envelope(MessageType(
    "VALIDATION_REQUEST", "A question whether a design, its quality, security or the codebase is good enough to go on.",
    ANY, ANY, "VALIDATION",
    fields({"taskId": TEXT, "validationType": one_of("DESIGN", "QUALITY", "SECURITY", "CODEBASE_REVIEW"),
            "subject": TEXT,
            "details": group(optional={"approach": TEXT, "files": TEXTS, "changes": TEXT, "planFile": TEXT})}),
    {"taskId": "TASK-001", "validationType": "DESIGN", "subject": "Reset links",
     "details": {"approach": "A signed token in the link", "files": ["src/auth/reset.py"]}},
    reply="VALIDATION_RESPONSE",
    semantics=action(
        "ask",
        "task=taskId kind=validationType subject files=details.files approach=details.approach "
        "changes=details.changes plan_file=details.planFile",
        ABOUT,
    ),
))  # fmt: skip

VALIDATION_RESPONSE = _in_envelope(MessageType(
    "VALIDATION_RESPONSE", "The answer to a VALIDATION_REQUEST, with its reasons.", ANY, ANY, "VALIDATION",
    fields(
        {"taskId": TEXT, "decision": one_of("APPROVED", "REJECTED", "CONDITIONAL"), "reasons": TEXTS},
        {"conditions": TEXTS, "suggestions": TEXTS},
    ),
    {"taskId": "TASK-001", "decision": "APPROVED", "reasons": ["The token expires"]},
    rules=(HardRule(
        code="conditional-without-conditions", broken_when="decision == 'CONDITIONAL' and len(conditions) == 0",
        path="conditions", say="List the conditions, or say APPROVED.", severity="warning",
        expected="at least one condition",
    ),),
    semantics=action("answer", "task=taskId decision reasons conditions suggestions", ABOUT),
), replyTo="msg-1")  # fmt: skip

QUALITY_REPORT = _in_envelope(MessageType(
    "QUALITY_REPORT", "Which quality gates a task passed.", ANY, ANY, "VALIDATION",
    fields({"taskId": TEXT, "status": one_of("PASSED", "FAILED"),
            "gates": ListOf(group(
                {"name": TEXT, "status": one_of("PASSED", "FAILED", "SKIPPED")}, {"details": NOTE},
            )),
            "failureCount": COUNT, "actions": TEXTS}),
    {"taskId": "TASK-001", "status": "FAILED",
     "gates": [{"name": "lint", "status": "PASSED"}, {"name": "tests", "status": "FAILED", "details": "2 of 40"}],
     "failureCount": 1, "actions": ["Fix the two tests"]},
    rules=(HardRule(
        code="passed-with-failed-gate",
        broken_when="status == 'PASSED' and ('FAILED' in gates[].status or failureCount > 0)", path="status",
        say="Say FAILED while a gate fails or failureCount is above 0.", expected="FAILED",
    ),),
    semantics=action(
        "quality",
        "task=taskId status gates gates/text=gates[].name gates/status=gates[].status failed=failureCount "
        "advice=actions",
        ABOUT,
    ),
))  # fmt: skip

ERROR_REPORT = _in_envelope(MessageType(
    "ERROR_REPORT", "Errors that were seen, and whether they form a pattern.", ANY, ANY, "ERROR",
    fields(
        {"severity": one_of("CRITICAL", "ERROR", "WARNING"), "count": COUNT,
         "errors": ListOf(group(
             {"timestamp": MOMENT, "message": TEXT}, {"source": TEXT, "stackTrace": NOTE},
         ))},
        {"taskId": TEXT, "pattern": TEXT},
    ),
    {"taskId": "TASK-001", "severity": "ERROR", "count": 2,
     "errors": [{"timestamp": "2026-02-12T09:58:00Z", "message": "Mail service timed out", "source": "mail"}],
     "pattern": "Every tenth mail"},
    rules=(HardRule(
        code="count-below-errors", broken_when="count < len(errors)", path="count",
        say="Count again: more errors are listed than counted.", expected="at least the number of errors listed",
    ),),
    semantics=action(
        "diagnosis", "task=taskId severity count evidence=errors evidence/text=errors[].message hypothesis=pattern",
        ABOUT,
    ),
))  # fmt: skip

ESCALATION_REQUEST = _in_envelope(MessageType(
    "ESCALATION_REQUEST", "A task that keeps failing, handed to the CTO or a human.", ANY, ANY, "ESCALATION",
    fields({"taskId": TEXT, "escalationType": one_of("CTO", "HUMAN"), "reason": TEXT,
            "failureHistory": ListOf(group({"agent": TEXT, "attempts": COUNT, "lastError": NOTE})),
            "context": OPEN}),
    {"taskId": "TASK-001", "escalationType": "CTO", "reason": "Three failures in review",
     "failureHistory": [{"agent": "fullstack-developer", "attempts": 3, "lastError": "2 of 40 tests fail"}],
     "context": {"state": "quality_review"}},
    semantics=action(
        "escalate",
        "task=taskId level=escalationType reason history=failureHistory history_agent=failureHistory[].agent "
        "history_attempts=failureHistory[].attempts history_error=failureHistory[].lastError "
        "history/text=failureHistory[].lastError history/agent=failureHistory[].agent context",
        ABOUT,
    ),
))  # fmt: skip

COMMIT_REQUEST = _in_envelope(MessageType(
    "COMMIT_REQUEST", "Approved files, to be committed.", ANY, ANY, "VALIDATION",
    fields({"taskId": TEXT, "approvalRef": TEXT, "files": TEXTS, "commitMessage": TEXT,
            "metadata": group({"qualityGatesPassed": BOOLEAN, "approvedBy": TEXT, "timestamp": MOMENT})}),
    {"taskId": "TASK-001", "approvalRef": "msg-7", "files": ["src/auth/reset.py"],
     "commitMessage": "auth: reset a password by mail",
     "metadata": {"qualityGatesPassed": True, "approvedBy": "cto", "timestamp": "2026-02-12T09:59:00Z"}},
    rules=(HardRule(
        code="gates-not-passed", broken_when="not metadata.qualityGatesPassed", path="metadata.qualityGatesPassed",
        say="Ask for the commit once every quality gate has passed.", expected="true",
    ),),
    semantics=action(
        "commit",
        "task=taskId approval=approvalRef files gates=metadata.qualityGatesPassed message=commitMessage "
        "approver=metadata.approvedBy",
        ABOUT,
    ),
))  # fmt: skip

DOC_QUERY = _in_envelope(MessageType(
    "DOC_QUERY", "A question to the documentation.", ANY, ANY, "STATUS",
    fields({"queryType": one_of("SEARCH", "VERIFY", "REGISTER"), "topic": TEXT, "keywords": TEXTS}, {"context": NOTE}),
    {"queryType": "SEARCH", "topic": "Password reset", "keywords": ["auth", "mail"]}, reply="DOC_RESPONSE",
    semantics=action("question", "query=queryType topic keywords context", ABOUT),
))  # fmt: skip

DOC_RESPONSE = _in_envelope(MessageType(
    "DOC_RESPONSE", "The documents there are, and whether to use, update or write one.", ANY, ANY, "STATUS",
    fields({"found": BOOLEAN,
            "documents": ListOf(group({
                "path": TEXT, "relevance": PERCENT, "topics": TEXTS, "lastUpdated": TEXT,
            })),
            "recommendation": one_of("USE_EXISTING", "UPDATE_EXISTING", "CREATE_NEW")}),
    {"found": True,
     "documents": [{"path": "docs/auth.md", "relevance": 80, "topics": ["auth"], "lastUpdated": "2026-01-30"}],
     "recommendation": "UPDATE_EXISTING"},
    semantics=action("findings", "found documents documents/name=documents[].path recommendation", ABOUT),
), replyTo="msg-1")  # fmt: skip

# The page declares codeQuality and leaves it out of its own example, so it is optional.
CODEBASE_REVIEW_REPORT = _in_envelope(MessageType(
    "CODEBASE_REVIEW_REPORT", "The state of a codebase before work on it begins.", ANY, ANY, "VALIDATION",
    fields(
        {"reviewType": one_of("INITIAL_ASSESSMENT", "PRE_IMPLEMENTATION"),
         "findings": Group(
             fields(
                 {"architecture": Group(
                      fields(
                          {"status": one_of("GOOD", "NEEDS_ATTENTION", "CRITICAL"), "issues": TEXTS,
                           "recommendations": TEXTS},
                      ),
                  ),
                  "documentation": Group(
                      fields({"gaps": TEXTS, "conflicts": TEXTS, "outdated": TEXTS, "updated": TEXTS}),
                  )},
                 {"codeQuality": group({"technicalDebt": TEXTS, "patterns": TEXTS, "dependencies": TEXTS})},
             ),
         ),
         "blockers": TEXTS, "readyForImplementation": BOOLEAN},
        {"taskId": TEXT},
    ),
    {"taskId": "TASK-001", "reviewType": "PRE_IMPLEMENTATION",
     "findings": {
         "architecture": {"status": "GOOD", "issues": [], "recommendations": ["Keep mail behind one port"]},
         "documentation": {"gaps": ["No page on mail"], "conflicts": [], "outdated": [], "updated": []},
         "codeQuality": {"technicalDebt": [], "patterns": ["ports"], "dependencies": []},
     },
     "blockers": [], "readyForImplementation": True},
    semantics=action(
        "survey", "task=taskId ready=readyForImplementation advice=findings.architecture.recommendations blockers",
        ABOUT,
    ),
))  # fmt: skip

MESSAGE_ERROR = _in_envelope(MessageType(
    "MESSAGE_ERROR", "The answer to a message that was refused.", ANY, ANY, "ERROR",
    fields({"originalMessageId": TEXT, "errorType": one_of("INVALID_FORMAT", "UNKNOWN_TYPE", "MISSING_FIELD"),
            "details": TEXT}),
    {"originalMessageId": "msg-1", "errorType": "MISSING_FIELD", "details": "$.payload.taskId is missing"},
    semantics=action("unread", "original=originalMessageId error=errorType details", ABOUT),
))  # fmt: skip

# The page names agents, not roles: `roles` are the agents that it names.
BUILD_FLOW = Dialect(
    name="build-flow", version="1.0", purpose="A build workflow: correlation, priorities, broadcast, retries, a log.",
    form="json", roles=("build-orchestrator", "cto", "fullstack-developer", "plan-manager"), envelope=ENVELOPE,
    trades={"build-orchestrator": "leads", "fullstack-developer": "makes", "cto": "designs",
            "plan-manager": "documents"},
    payload="payload",
    wire=EnvelopeFields(
        id="messageId", correlation="correlationId", sender="from", recipient="to", timestamp="timestamp",
        version="version", reply_to="replyTo", task="taskId",
    ),
    addresses="names",
    rules=(HardRule(
               code="broadcast-to-one", broken_when="broadcast == true and to != '*'", path="to",
               say="Address a broadcast to '*', or set broadcast to false.", expected="*",
           ),
           HardRule(
               code="star-without-broadcast", broken_when="to == '*' and not broadcast", path="broadcast",
               say="Set broadcast to true: the message goes to every agent of the team.", severity="warning",
               expected="true",
           )),
    types=types_by_name(
        [TASK_ASSIGNMENT, STATUS_UPDATE, STATE_TRANSITION, VALIDATION_REQUEST, VALIDATION_RESPONSE, QUALITY_REPORT,
        ERROR_REPORT, ESCALATION_REQUEST, COMMIT_REQUEST, DOC_QUERY, DOC_RESPONSE, CODEBASE_REVIEW_REPORT,
        MESSAGE_ERROR],
    ),
)  # fmt: skip

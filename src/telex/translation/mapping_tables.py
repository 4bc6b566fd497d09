"""Mappings of vbw-typed."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from telex.dialects.intents import INTENTS
from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import Dialect, MessageType, Semantics, kind_at
from telex.model.json_path import path_of
from telex.translation.mapping import (
    UNSAID,
    AsList,
    Body,
    ByValue,
    FromSlot,
    HasItems,
    ItemCount,
    MinimumValue,
    Overstatement,
    Section,
    Sum,
    TypeMapping,
    Worth,
    default,
)

SEVERITY = {"high": "blocking", "medium": "degraded", "low": "informational"}
STATUS = {"done": "complete", "partly": "partial", "failed": "failed", "started": "partial"}
RESULT = {"pass": "PASS", "fail": "FAIL", "partly": "PARTIAL", "notes": "PASS"}
NO_PLAN = MinimumValue("unknown", "no plan is named")
ITS_TASK = MinimumValue(FromSlot(("task", "$correlation"), "unknown"), "the conversation stands for its task")
_UNSURE: Mapping[str, MinimumValue] = {"confidence": MinimumValue("medium", "no confidence is stated")}


def _row(type_: str, *intents: str, least: Mapping[str, MinimumValue] = _UNSURE, **rest: Any) -> TypeMapping:
    return TypeMapping(type_, intents, least={**_UNSURE, **least}, **rest)


VBW_TYPED_ROWS = (
    _row(
        "scout_findings",
        "findings",
        names={"topic": "domain"},
        least={
            "domain": MinimumValue("tech-stack", "no domain is named"),
            "documents": MinimumValue([], "there are none"),
        },
    ),
    _row(
        "plan_contract",
        "assign",
        names={"task": "plan", "details": "objective", "title": "objective", "constraints": "must_haves"},
        least={
            "plan": ITS_TASK,
            "objective": MinimumValue(FromSlot(("task", "$correlation"), "unknown"), "nothing more is said of it"),
            "tasks": MinimumValue(AsList("task"), "the one task that is given"),
            # Never more than the original grants: whoever sends this on would have a contract that holds.
            "allowed": MinimumValue([], "no path is named, so that it opens none"),
        },
    ),
    _row("contract_close", "close", least={"plan": NO_PLAN}),
    _row(
        "execution_update",
        "progress",
        names={"details": "evidence"},
        values={"status": STATUS},
        least={
            "plan": NO_PLAN,
            "task": ITS_TASK,
            "status": MinimumValue("partial", "it is not said to be complete"),
            "commit": MinimumValue("", "no commit is named"),
        },
        remedies={"complete-without-commit": {"commit": "unknown"}},
    ),
    _row("blocker_report", "blocked", values={"severity": SEVERITY}, least={"plan": NO_PLAN, "task": ITS_TASK}),
    _row(
        "qa_verdict",
        "verdict",
        values={"result": RESULT},
        least={
            "tier": MinimumValue("standard", "no depth is named"),
            "total": MinimumValue(Sum(("passed", "failed", "skipped")), "all that were counted"),
        },
        remedies={"checks-exceed-total": {"total": Sum(("passed", "failed"))}},
    ),
    _row(
        "approval_request",
        "ask",
        "escalate",
        names={"reason": "subject", "advice": "options"},
        values={
            "kind": {
                "plan": "plan_approval",
                "gate": "gate_override",
                "scope": "scope_change",
                "quality": "gate_override",
                "security": "gate_override",
                "code": "gate_override",
            }
        },
        least={"kind": MinimumValue("plan_approval", "the original does not say of which kind")},
    ),
    _row(
        "approval_response",
        "answer",
        names={"decision": "approved", "reasons": "reason"},
        values={"decision": {"yes": True, "no": False, "conditional": True}},
        least={
            "request": MinimumValue(FromSlot(("$reply_to", "$correlation"), "unknown"), "the request is not named"),
            "reason": MinimumValue("none given", "no reason is given"),
        },
    ),
    # Types of 2.1.
    TypeMapping(
        "debugger_report",
        ("diagnosis",),
        least={
            "confidence": MinimumValue("low", "no confidence is stated"),
            "hypothesis": MinimumValue("unknown", "nothing is said of the cause"),
            "observation": MinimumValue("inconclusive", "nothing is said of it"),
            "$.confidence": MinimumValue(FromSlot(("confidence",), "medium"), "the report's own confidence"),
        },
    ),
    _row("tests_ready", "progress", serves=("none",), means={"status": ("partly",)}),
    _row("shutdown_request", "stop"),
    _row("shutdown_response", "stopped"),
)


_PROGRESS = TypeMapping(
    "dev_progress",
    ("progress",),
    values={"status": STATUS},
    least={
        "plan": NO_PLAN,
        "task": ITS_TASK,
        "status": MinimumValue("partial", "it is not said to be complete"),
        "commit": MinimumValue("", "no commit is named"),
    },
    remedies={"complete-without-commit": {"commit": "unknown"}},
)
_BLOCKER = TypeMapping("dev_blocker", ("blocked",), least={"plan": NO_PLAN, "task": ITS_TASK})
_QA = TypeMapping(
    "qa_result",
    ("verdict",),
    values={"result": RESULT},
    least={
        "tier": MinimumValue("standard", "no depth is named"),
        "total": MinimumValue(Sum(("passed", "failed", "skipped")), "all that were counted"),
    },
)
_UNSURE_mapping_vbw = MinimumValue("medium", "no confidence is stated")
_FAULT = TypeMapping(
    "debugger_report",
    ("diagnosis",),
    least={
        "confidence": MinimumValue("low", "no confidence is stated"),
        "hypothesis": MinimumValue("unknown", "nothing is said of the cause"),
    },
)

VBW_HANDOFF_ROWS = (
    TypeMapping(
        "scout_findings",
        ("findings",),
        names={"topic": "domain"},
        least={"domain": MinimumValue("tech-stack", "no domain is named"), "confidence": _UNSURE_mapping_vbw},
    ),
    _PROGRESS,
    _BLOCKER,
    _QA,
    _FAULT,
)

_NOT_COUNTED = MinimumValue(Sum(("critical", "high", "moderate", "medium", "minor", "low")), "all that were counted")

VBW_COMPANY_ROWS = (
    TypeMapping("architecture_design", ("design",)),
    TypeMapping("senior_spec", ("spec",)),
    _PROGRESS,
    _BLOCKER,
    TypeMapping(
        "code_review_result",
        ("review", "verdict"),
        values={
            "result": {
                "pass": "approve",
                "fail": "changes_requested",
                "notes": "approve",
                "partly": "changes_requested",
            }
        },
        least={"plan": NO_PLAN, "findings": _NOT_COUNTED},
    ),
    _QA,
    TypeMapping("qa_code_result", ("code", "audit", "verdict"), values={"result": RESULT}),
    TypeMapping(
        "security_audit",
        ("audit", "verdict"),
        values={"result": {"pass": "PASS", "fail": "FAIL", "notes": "WARN", "partly": "FAIL"}},
        least={"findings": _NOT_COUNTED},
    ),
    TypeMapping(
        "scout_findings",
        ("findings",),
        names={"topic": "domain"},
        least={
            "domain": MinimumValue("tech-stack", "no domain is named"),
            "documents/confidence": _UNSURE_mapping_vbw,
            "documents/name": MinimumValue(FromSlot(("topic",), "unknown"), "it is not named"),
        },
    ),
    _FAULT,
    TypeMapping(
        "escalation",
        ("escalate", "blocked"),
        names={"blocker": "reason", "needs": "advice", "attempted": "evidence"},
        values={
            "severity": {"high": "blocking", "medium": "major", "low": "minor"},
            "level": {"cto": "architect", "human": "human", "lead": "lead", "senior": "senior"},
        },
        least={
            "reason": MinimumValue(FromSlot(("task",), "unknown"), "nothing else is said of it"),
            "advice": MinimumValue("Please decide.", "nothing is proposed"),
            "severity": MinimumValue("major", "nothing is said of how bad it is"),
        },
    ),
)


BUILD_FLOW_ROWS = (
    TypeMapping(
        "TASK_ASSIGNMENT",
        ("assign",),
        least={
            "task": ITS_TASK,
            "title": MinimumValue(FromSlot(("objective", "task", "$correlation"), "unknown"), "the task has no title"),
            "details": MinimumValue(
                FromSlot(("title", "task", "$correlation"), "unknown"), "nothing more is said of it"
            ),
        },
    ),
    TypeMapping(
        "STATUS_UPDATE",
        ("progress",),
        when={"status": ("STARTED", "PROGRESS", "COMPLETED", "FAILED")},
        values={"status": {"done": "COMPLETED", "partly": "PROGRESS", "failed": "FAILED", "started": "STARTED"}},
        least={"task": ITS_TASK, "status": MinimumValue("PROGRESS", "it is not said to be complete")},
    ),
    TypeMapping(
        "STATUS_UPDATE",
        ("blocked",),
        when={"status": ("BLOCKED",)},
        names={"blocker": "blockers", "needs": "details"},
        least={"task": ITS_TASK},
    ),
    TypeMapping("STATE_TRANSITION", ("move",)),
    TypeMapping(
        "VALIDATION_REQUEST",
        ("ask", "escalate"),
        names={"evidence": "approach", "reason": "subject"},
        values={
            "kind": {
                "plan": "DESIGN",
                "quality": "QUALITY",
                "security": "SECURITY",
                "code": "CODEBASE_REVIEW",
                "scope": "DESIGN",
                "gate": "QUALITY",
            }
        },
        least={"task": ITS_TASK, "kind": MinimumValue("DESIGN", "the original does not say of which kind")},
    ),
    TypeMapping(
        "VALIDATION_RESPONSE",
        ("answer",),
        names={"modifications": "suggestions"},
        values={"decision": {"yes": "APPROVED", "no": "REJECTED", "conditional": "CONDITIONAL"}},
        least={"task": ITS_TASK},
    ),
    TypeMapping(
        "QUALITY_REPORT",
        ("verdict",),
        names={"result": "status", "failures": "gates"},
        unread=("failures",),  # the gates that were passed are listed too
        values={"result": {"pass": "PASSED", "fail": "FAILED", "partly": "FAILED", "notes": "PASSED"}},
        least={"task": ITS_TASK, "gates/status": MinimumValue("FAILED", "it is listed as a failure")},
    ),
    TypeMapping(
        "ERROR_REPORT",
        ("diagnosis",),
        least={
            "severity": MinimumValue("ERROR", "nothing is said of how bad it is"),
            "count": MinimumValue(ItemCount("evidence"), "all that are listed"),
        },
    ),
    TypeMapping(
        "ESCALATION_REQUEST",
        ("escalate", "blocked"),
        names={"blocker": "reason", "evidence": "history", "attempted": "history"},
        values={"level": {"cto": "CTO", "human": "HUMAN", "lead": "CTO", "senior": "CTO"}},
        least={
            "task": ITS_TASK,
            "level": MinimumValue("CTO", "it goes one step up"),
            "reason": MinimumValue(FromSlot(("task", "$correlation"), "unknown"), "nothing else is said of it"),
            "history/agent": MinimumValue(FromSlot(("$sender",), "unknown"), "whoever sent it"),
        },
    ),
    TypeMapping("COMMIT_REQUEST", ("release",)),
    TypeMapping("DOC_QUERY", ("question",), least={"query": MinimumValue("SEARCH", "it is a question")}),
    TypeMapping(
        "DOC_RESPONSE",
        ("findings",),
        parts={"documents/text": "topics"},  # no other field of it takes words
        least={
            "found": MinimumValue(HasItems("documents"), "whether documents are listed"),
            "recommendation": MinimumValue("USE_EXISTING", "nothing is proposed, and this asks nobody for work"),
        },
    ),
    TypeMapping(
        "CODEBASE_REVIEW_REPORT",
        ("survey", "verdict"),
        names={"result": "ready"},
        values={"result": {"pass": True, "fail": False, "notes": True, "partly": False}},
    ),
    TypeMapping("MESSAGE_ERROR", ("unread",)),
)


_TASK, _PLAN, _COMMIT = Section("Task", "task"), Section("Plan", "plan"), Section("Commit", "commit")
_SEVERITY = Section("Severity", "severity")
_STOPPED = MinimumValue("fail", "the work cannot go on")
_BLOCKED = Body(
    "blocker",
    "Result",
    (_TASK, _PLAN, Section("Needs", "needs"), Section("Tried", "attempted", listed=True), _SEVERITY),
)
_ESCALATED = Body(
    "reason",
    "Result",
    (_TASK, Section("Evidence", "evidence", listed=True), Section("Recommendation", "advice"), _SEVERITY),
)
_ALSO_BLOCKED = {"blocker": "reason", "needs": "advice", "attempted": "evidence"}
_VERDICTS = ("pass", "pass_with_notes", "fail")
_RESULT = {"pass": "pass", "notes": "pass_with_notes", "fail": "fail", "partly": "fail"}
_VERDICT_SECTIONS = (
    _TASK,
    _PLAN,
    Section("Tier", "tier"),
    Section("Artifact", "artifact"),
    Section("Failures", "failures", listed=True),
    Section("Recommendations", "advice", listed=True),
)
_ANSWER_SECTIONS = (
    _TASK,
    Section("Conditions", "conditions", listed=True),
    Section("Modifications", "modifications", listed=True),
)


def _stopped(type_: str) -> tuple[TypeMapping, TypeMapping]:
    """Any agent may say that it is blocked, or escalate, in whatever type it would have sent."""
    blocked = TypeMapping(type_, ("blocked",), serves=("none",), when={"signal": ("blocked",)}, body=_BLOCKED)
    escalated = TypeMapping(
        type_,
        ("escalate", "blocked"),
        serves=("none",),
        when={"signal": ("escalate",)},
        names=_ALSO_BLOCKED,
        body=_ESCALATED,
    )
    return blocked, escalated


SIGNAL_MD_ROWS = (
    TypeMapping(
        "worker_submission",
        ("progress",),
        when={"signal": ("rfr",)},
        names={"status": "qa"},
        values={"status": {"done": "pass", "partly": "fail"}},
        # That work is complete does not say that it was checked, so its status stands in the body, in so many words.
        unwritten=("status",),
        overstates={
            "signal": Overstatement("status", ("done",), "it is not said to be ready; no other progress is known")
        },
        least={"qa": MinimumValue(ByValue("status", {"done": "pass"}, "fail"), "nobody says that a check was made")},
        body=Body(
            "details",
            "Result",
            (_TASK, _PLAN, _COMMIT, Section("Status", "status"), Section("Self-Assessment", "concerns", listed=True)),
        ),
    ),
    TypeMapping(
        "worker_submission", ("blocked",), when={"signal": ("blocked",)}, least={"qa": _STOPPED}, body=_BLOCKED
    ),
    TypeMapping(
        "worker_submission",
        ("escalate", "blocked"),
        when={"signal": ("escalate",)},
        names=_ALSO_BLOCKED,
        least={"qa": _STOPPED},
        body=_ESCALATED,
    ),
    TypeMapping(
        "review_verdict",
        ("review", "verdict"),
        serves=("review", "verdict"),
        when={"signal": _VERDICTS},
        names={"result": "signal"},
        values={"result": _RESULT},
        remedies={"critical-means-fail": {"signal": "fail"}},
        body=Body("body", "Findings", _VERDICT_SECTIONS),
    ),
    *_stopped("review_verdict"),
    TypeMapping(
        "audit_verdict",
        ("audit", "code", "verdict"),
        serves=("audit", "code"),
        when={"signal": _VERDICTS},
        names={"result": "signal"},
        values={"result": _RESULT},
        least={
            "build": MinimumValue("skipped", "nothing is said of a build"),
            "tests": MinimumValue("skipped", "nothing is said of tests"),
        },
        remedies={"audit-means-fail": {"signal": "fail"}},
        body=Body("body", "Runtime", _VERDICT_SECTIONS),
    ),
    *_stopped("audit_verdict"),
    TypeMapping("triage_result", ("triage",), when={"signal": ("triage_complete",)}),
    *_stopped("triage_result"),
    TypeMapping(
        "plan_result",
        ("design",),
        when={"signal": ("plan_complete",)},
        names={"artifact": "plan_file"},
        least={"has_blockers": MinimumValue(False, "none are named")},
        body=Body("body", "Summary", (Section("Phase", "phase"),)),
    ),
    *_stopped("plan_result"),
    TypeMapping(
        "research_result",
        ("findings",),
        when={"signal": ("research_complete",)},
        least={"verified": MinimumValue(False, "nothing is said of how it was verified")},
        body=Body(
            "documents",
            "Documents",
            (Section("Confidence", "confidence"), Section("Why", "rationale"), Section("Artifact", "artifact")),
            pages=True,
        ),
    ),
    *_stopped("research_result"),
    TypeMapping(
        "task_assignment",
        ("assign",),
        when={"signal": ("execute",)},
        body=Body(
            "details",
            "Details",
            (
                Section("Title", "title"),
                Section("Depends on", "depends_on", listed=True),
                Section("Constraints", "constraints", listed=True),
                Section("Allowed paths", "allowed", listed=True),
                Section("Forbidden paths", "forbidden", listed=True),
                Section("Checks", "checks", listed=True),
                Section("Design", "design"),
                Section("Documents", "docs", listed=True),
            ),
        ),
    ),
    TypeMapping(
        "revision_request",
        ("answer",),
        when={"signal": ("revise",)},
        means={"decision": ("no",)},
        body=Body("reasons", "Reasons", _ANSWER_SECTIONS),
    ),
    TypeMapping(
        "approval",
        ("answer", "release"),
        serves=("answer", "release"),
        when={"signal": ("lgtm",)},
        overstates={
            "signal": Overstatement("$intent", ("release",), "it is no leave to commit; no other yes is known")
        },
        means={"decision": ("yes", "conditional")},
        body=Body("reasons", "Reasons", (*_ANSWER_SECTIONS, Section("Files", "files", listed=True))),
    ),
    TypeMapping("triage_request", ("size-up",), when={"signal": ("execute",)}),
    TypeMapping("architecture_request", ("plan",), when={"signal": ("plan",)}),
    TypeMapping(
        "research_request",
        ("question",),
        when={"signal": ("research",)},
        least={"topic": MinimumValue(FromSlot(("$correlation",), "unknown"), "no topic is named")},
        body=Body("context", "Context", (Section("Keywords", "keywords", listed=True),)),
    ),
)


ROWS: Mapping[str, tuple[TypeMapping, ...]] = {
    "vbw-typed": VBW_TYPED_ROWS,
    "vbw-handoff": VBW_HANDOFF_ROWS,
    "vbw-company": VBW_COMPANY_ROWS,
    "signal-md": SIGNAL_MD_ROWS,
    "build-flow": BUILD_FLOW_ROWS,
}


class MappingRoute(NamedTuple):
    """One mapping of a type and its candidates in another dialect; the message's values choose one."""

    row: TypeMapping
    becomes: tuple[TypeMapping, ...]


def rows_of(dialect: Dialect) -> tuple[TypeMapping, ...]:
    """Mappings of a built-in dialect; or those of a user's file, before those of the dialect that it extends."""
    own = tuple(row_of(dialect, type_) for type_ in dialect.types.values() if type_.semantics.intents)
    # A type that replaces an inherited one has intents of its own or none: its inherited mapping does not apply.
    inherited = {name for name, type_ in dialect.types.items() if type_.action and not type_.semantics.intents}
    return own + tuple(row for row in ROWS.get(dialect.extends or dialect.name, ()) if row.type in inherited)


def routes(dialect: Dialect, type_: str, to: Dialect) -> tuple[MappingRoute, ...]:
    """A route for each meaning of the type; without a counterpart it has no candidates."""
    others = rows_of(to)
    return tuple(MappingRoute(row, _becomes(row, others)) for row in rows_of(dialect) if row.type == type_)


def _becomes(row: TypeMapping, others: tuple[TypeMapping, ...]) -> tuple[TypeMapping, ...]:
    for intent in row.intents:
        mappings = [other for other in others if intent in other.targets]
        if mappings:
            # Candidates that imply values are chosen by those; of the others the first is the default.
            return (
                *(mapping for mapping in mappings if mapping.means),
                *[mapping for mapping in mappings if not mapping.means][:1],
            )
    return ()


def home_of(row: TypeMapping, dialect: Dialect) -> tuple[TypeMapping, ...]:
    """Mappings that the translation back may lead to."""
    return _becomes(row, rows_of(dialect))


def counterparts(dialect: Dialect, type_: str, to: Dialect) -> tuple[str, ...]:
    """Types of that dialect that this one may become, the default first."""
    found = [other.type for route in routes(dialect, type_, to) for other in route.becomes]
    return tuple(dict.fromkeys(found))


def why_not(dialect: Dialect, type_: str, to: Dialect) -> str:
    """Sentence that says why it has none, for the matrix and for error messages."""
    acts = [route.row.intents[0] for route in routes(dialect, type_, to) if not route.becomes]
    if not acts:
        return f"{dialect.name} declares no intent for {type_}."
    return f"{to.name} has no message that {' or '.join(dict.fromkeys(INTENTS[act].does for act in acts))}."


def pairs(dialects: tuple[Dialect, ...] = BUILT_IN) -> Iterator[tuple[Dialect, str, Dialect, str]]:
    """Every translation of a type into another."""
    for dialect in dialects:
        for type_ in dialect.types:
            for to in dialects:
                if to.name != dialect.name:
                    yield from ((dialect, type_, to, other) for other in counterparts(dialect, type_, to))


# --- user's own dialects ----------------------------------------------------------------------------------------------


BY_ITS_FILE = "its dialect's file has it so"
HEADING = "Text"  # heading of the body, unless the type has its own
# Slots that a required field is filled from before the default.
_STANDS_FOR: Mapping[str, tuple[Worth, str]] = {
    "task": (("task", "$correlation"), "the conversation stands for its task"),
    "title": (("objective", "details", "task", "$correlation"), "it has no title"),
    "details": (("title", "task", "$correlation"), "nothing more is said of it"),
    "subject": (("task", "$correlation"), "nothing more is said of it"),
    "reason": (("task", "$correlation"), "nothing else is said of it"),
    "request": (("$reply_to", "$correlation"), "the request is not named"),
}
_COUNTS = {"total": ("passed", "failed", "skipped")}


def row_of(dialect: Dialect, type_: MessageType) -> TypeMapping:
    meaning = type_.semantics
    return TypeMapping(
        type_.name,
        meaning.intents,
        means=meaning.means,
        values=meaning.words,
        least=_least(dialect, type_, meaning),
        body=Body(meaning.body, type_.sections[0] if type_.sections else HEADING) if meaning.body else None,
    )


def _least(dialect: Dialect, type_: MessageType, meaning: Semantics) -> dict[str, MinimumValue]:
    """Default values by path: a field may have the name of another field's term."""
    whole = dialect.fields_of(type_)
    found: dict[str, MinimumValue] = {}
    for term, name in meaning.terms.items():
        steps = dialect.locate(type_, name)
        field = kind_at(whole, steps)
        if "[]" in name or field is None or (plain := default(field.kind, "")) is UNSAID or plain.value is None:
            continue
        if term in _STANDS_FOR:
            slots, reason = _STANDS_FOR[term]
            found.setdefault(path_of(*steps), MinimumValue(FromSlot(slots, plain.value), reason))
        elif term in _COUNTS and plain.value == 0:
            found.setdefault(path_of(*steps), MinimumValue(Sum(_COUNTS[term]), "all that were counted"))
    return found | {path: MinimumValue(value, BY_ITS_FILE) for path, value in meaning.defaults.items()}

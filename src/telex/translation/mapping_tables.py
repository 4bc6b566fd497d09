"""Mapping tables of the built-in dialects, one row per type and intent; rows of users' types; lookup of routes."""

from collections.abc import Iterator, Mapping
from typing import Any

from telex.dialects.intents import INTENTS
from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import Dialect, MessageType, Semantics, kind_at
from telex.model.named_tuple import NamedTuple
from telex.model.text import path_of
from telex.translation.mapping import (
    UNSAID,
    Body,
    ByValue,
    FromSlot,
    MinimumValue,
    OfList,
    Overstatement,
    SectionMapping,
    Sum,
    TypeMapping,
    Worth,
    default,
)

Minimum = Mapping[str, tuple[Worth, str]]  # by name: value and reason
NO_MINIMUM: Minimum = {}


def _pairs(text: str) -> dict[str, str]:
    """`topic=domain tier` as a dict: without = both are the same."""
    return {name: value or name for name, _, value in (pair.partition("=") for pair in text.split())}


def _least(names: str, more: Minimum = NO_MINIMUM) -> Minimum:
    return {**{name: _COMMON[name] for name in names.split()}, **more}


def _row(type_: str, intents: str, least: str | Minimum = "", **rest: Any) -> TypeMapping:
    """A mapping in short notation: `names` and words as pairs, `when` as slot=value|value."""
    minimum = _least(least) if isinstance(least, str) else least
    words = {slot: _pairs(pairs) if isinstance(pairs, str) else pairs for slot, pairs in rest.pop("values", {}).items()}
    return TypeMapping(
        type_,
        tuple(intents.split()),
        least={name: MinimumValue(*minimum[name]) for name in minimum},
        serves=tuple(rest.pop("serves", "").split()),
        when={slot: tuple(value.split("|")) for slot, value in _pairs(rest.pop("when", "")).items()},
        names=_pairs(rest.pop("names", "")),
        values=words,
        **rest,
    )


def _typed(type_: str, intents: str, least: str | Minimum = "", **rest: Any) -> TypeMapping:
    """A mapping of vbw-typed, whose envelope has a confidence."""
    minimum = _least(least) if isinstance(least, str) else least
    return _row(type_, intents, _least("confidence", minimum), **rest)


def _first(*slots: str) -> FromSlot:
    return FromSlot(slots, "unknown")


def _sections(headings: str) -> tuple[SectionMapping, ...]:
    """`Task=task, Failures=failures[]`: headings and their slots, [] for lists."""
    pairs = [heading.strip().split("=") for heading in headings.split(",")]
    return tuple(SectionMapping(heading, slot.removesuffix("[]"), slot.endswith("[]")) for heading, slot in pairs)


SEVERITY = "high=blocking medium=degraded low=informational"
STATUS = "done=complete partly=partial failed started=partial"
RESULT = "pass=PASS fail=FAIL partly=PARTIAL notes=PASS"
_COMMON: Minimum = {
    "plan": ("unknown", "no plan is named"),
    "task": (_first("task", "$correlation"), "its conversation is used as its task"),
    "status": ("partial", "it is not said to be complete"),
    "commit": ("", "no commit is named"),
    "tier": ("standard", "no depth is named"),
    "total": (Sum(("passed", "failed", "skipped")), "all that were counted"),
    "findings": (Sum(("critical", "high", "moderate", "medium", "minor", "low")), "all that were counted"),
    "domain": ("tech-stack", "no domain is named"),
    "confidence": ("medium", "no confidence is stated"),
    "hypothesis": ("unknown", "nothing is said of the cause"),
    "qa": ("fail", "the work cannot go on"),
    "build": ("skipped", "nothing is said of a build"),
    "tests": ("skipped", "nothing is said of tests"),
}

VBW_TYPED_ROWS = (
    _typed("scout_findings", "findings", names="topic=domain",
        least=_least("domain", {"documents": ([], "there are none")})),
    # Never more than the original grants: the result may be sent on as a contract.
    _typed("plan_contract", "assign", names="task=plan details=objective title=objective constraints=must_haves",
        least={"plan": _COMMON["task"], "objective": (_first("task", "$correlation"), "nothing more is said of it"),
            "tasks": (OfList("task", lambda task: [task] if isinstance(task, str) else []),
                "the one task that is given"),
            "allowed": ([], "no path is named, so that it opens none")}),
    _typed("contract_close", "close", least="plan"),
    _typed("execution_update", "progress", names="details=evidence", values={"status": STATUS},
        least="commit plan status task", remedies={"complete-without-commit": {"commit": "unknown"}}),
    _typed("blocker_report", "blocked", values={"severity": SEVERITY}, least="plan task"),
    _typed("qa_verdict", "verdict", values={"result": RESULT}, least="tier total",
        remedies={"checks-exceed-total": {"total": Sum(("passed", "failed"))}}),
    _typed("approval_request", "ask escalate", names="reason=subject advice=options",
        values={"kind": "plan=plan_approval gate=gate_override scope=scope_change quality=gate_override "
            "security=gate_override code=gate_override"},
        least={"kind": ("plan_approval", "the original does not say of which kind")}),
    _typed("approval_response", "answer", names="decision=approved reasons=reason",
        values={"decision": {"yes": True, "no": False, "conditional": True}},
        least={"request": (_first("$reply_to", "$correlation"), "the request is not named"),
            "reason": ("none given", "no reason is given")}),
    # Types of 2.1.
    _row("debugger_report", "diagnosis",
        least=_least("hypothesis", {"confidence": ("low", "no confidence is stated"),
            "observation": ("inconclusive", "nothing is said of it"),
            "$.confidence": (FromSlot(("confidence",), "medium"), "the report's own confidence")})),
    _typed("tests_ready", "progress", serves="none", means={"status": ("partly",)}),
    _typed("shutdown_request", "stop"),
    _typed("shutdown_response", "stopped"),
)  # fmt: skip


_PROGRESS = _row(
    "dev_progress", "progress", values={"status": STATUS}, least="commit plan status task",
    remedies={"complete-without-commit": {"commit": "unknown"}},
)  # fmt: skip
_BLOCKER = _row("dev_blocker", "blocked", least="plan task")
_QA = _row("qa_result", "verdict", values={"result": RESULT}, least="tier total")
_FAULT = _row(
    "debugger_report", "diagnosis", least=_least("hypothesis", {"confidence": ("low", "no confidence is stated")})
)

VBW_HANDOFF_ROWS = (
    _row("scout_findings", "findings", names="topic=domain", least="confidence domain"),
    _PROGRESS, _BLOCKER, _QA, _FAULT,
)  # fmt: skip

VBW_COMPANY_ROWS = (
    _row("architecture_design", "design"), _row("senior_spec", "spec"), _PROGRESS, _BLOCKER, _QA,
    _row("code_review_result", "review verdict",
        values={"result": "pass=approve fail=changes_requested notes=approve partly=changes_requested"},
        least="findings plan"),
    _row("qa_code_result", "code audit verdict", values={"result": RESULT}),
    _row("security_audit", "audit verdict", values={"result": "pass=PASS fail=FAIL notes=WARN partly=FAIL"},
        least="findings"),
    _row("scout_findings", "findings", names="topic=domain",
        least=_least("domain",
            {"documents/confidence": _COMMON["confidence"], "documents/name": (_first("topic"), "it is not named")})),
    _FAULT,
    _row("escalation", "escalate blocked", names="blocker=reason needs=advice attempted=evidence",
        values={"severity": "high=blocking medium=major low=minor", "level": "cto=architect human lead senior"},
        least={"reason": (_first("task"), "nothing else is said of it"),
            "advice": ("Please decide.", "nothing is proposed"),
            "severity": ("major", "nothing is said of how bad it is")}),
)  # fmt: skip


BUILD_FLOW_ROWS = (
    _row("TASK_ASSIGNMENT", "assign",
        least=_least("task", {"title": (_first("objective", "task", "$correlation"), "the task has no title"),
            "details": (_first("title", "task", "$correlation"), "nothing more is said of it")})),
    _row("STATUS_UPDATE", "progress", when="status=STARTED|PROGRESS|COMPLETED|FAILED",
        values={"status": "done=COMPLETED partly=PROGRESS failed=FAILED started=STARTED"},
        least=_least("task", {"status": ("PROGRESS", "it is not said to be complete")})),
    _row("STATUS_UPDATE", "blocked", when="status=BLOCKED", names="blocker=blockers needs=details", least="task"),
    _row("STATE_TRANSITION", "move"),
    _row("VALIDATION_REQUEST", "ask escalate", names="evidence=approach reason=subject",
        values={"kind": "plan=DESIGN quality=QUALITY security=SECURITY code=CODEBASE_REVIEW scope=DESIGN gate=QUALITY"},
        least=_least("task", {"kind": ("DESIGN", "the original does not say of which kind")})),
    _row("VALIDATION_RESPONSE", "answer", names="modifications=suggestions",
        values={"decision": "yes=APPROVED no=REJECTED conditional=CONDITIONAL"}, least="task"),
    # the gates that were passed are listed too
    _row("QUALITY_REPORT", "verdict", names="result=status failures=gates", unread=("failures",),
        values={"result": "pass=PASSED fail=FAILED partly=FAILED notes=PASSED"},
        least=_least("task", {"gates/status": ("FAILED", "it is listed as a failure")})),
    _row("ERROR_REPORT", "diagnosis",
        least={"severity": ("ERROR", "nothing is said of how bad it is"),
            "count": (OfList("evidence", lambda items: len(items) if isinstance(items, list) else 0),
                "all that are listed")}),
    _row("ESCALATION_REQUEST", "escalate blocked", names="blocker=reason evidence=history attempted=history",
        values={"level": "cto=CTO human=HUMAN lead=CTO senior=CTO"},
        least=_least("task", {"level": ("CTO", "it goes one step up"),
            "reason": (_first("task", "$correlation"), "nothing else is said of it"),
            "history/agent": (_first("$sender"), "its sender")})),
    _row("COMMIT_REQUEST", "release"),
    _row("DOC_QUERY", "question", least={"query": ("SEARCH", "it is a question")}),
    # no other field of it takes words
    _row("DOC_RESPONSE", "findings", parts={"documents/text": "topics"},
        least={"found": (OfList("documents", bool), "whether documents are listed"),
            "recommendation": ("USE_EXISTING", "nothing is proposed, and this requests no work")}),
    _row("CODEBASE_REVIEW_REPORT", "survey verdict", names="result=ready",
        values={"result": {"pass": True, "fail": False, "notes": True, "partly": False}}),
    _row("MESSAGE_ERROR", "unread"),
)  # fmt: skip


_BLOCKED = Body(
    "blocker", "Result", _sections("Task=task, Plan=plan, Needs=needs, Tried=attempted[], Severity=severity")
)
_ESCALATED = Body(
    "reason", "Result", _sections("Task=task, Evidence=evidence[], Recommendation=advice, Severity=severity")
)
_ALSO_BLOCKED = "blocker=reason needs=advice attempted=evidence"
_VERDICTS = "signal=pass|pass_with_notes|fail"
_RESULT = "pass notes=pass_with_notes fail partly=fail"
_VERDICT_SECTIONS = _sections(
    "Task=task, Plan=plan, Tier=tier, Artifact=artifact, Failures=failures[], Recommendations=advice[]"
)
_ANSWER_SECTIONS = _sections("Task=task, Conditions=conditions[], Modifications=modifications[]")


def _stopped(type_: str) -> tuple[TypeMapping, TypeMapping]:
    """Each type of a worker may also report a blocker or escalate."""
    blocked = _row(type_, "blocked", serves="none", when="signal=blocked", body=_BLOCKED)
    escalated = _row(
        type_, "escalate blocked", serves="none", when="signal=escalate", names=_ALSO_BLOCKED, body=_ESCALATED
    )
    return blocked, escalated


SIGNAL_MD_ROWS = (
    # Complete work need not be checked, so its status is a section of the body.
    _row("worker_submission", "progress", when="signal=rfr", names="status=qa",
        values={"status": "done=pass partly=fail"}, unwritten=("status",),
        overstates={"signal": Overstatement("status", ("done",),
            "it is not said to be ready; no other progress is known")},
        least={"qa": (ByValue("status", {"done": "pass"}, "fail"), "no check is reported")},
        body=Body("details", "Result",
            _sections("Task=task, Plan=plan, Commit=commit, Status=status, Self-Assessment=concerns[]"))),
    _row("worker_submission", "blocked", when="signal=blocked", least="qa", body=_BLOCKED),
    _row("worker_submission", "escalate blocked", when="signal=escalate", names=_ALSO_BLOCKED, least="qa",
        body=_ESCALATED),
    _row("review_verdict", "review verdict", serves="review verdict", when=_VERDICTS, names="result=signal",
        values={"result": _RESULT}, remedies={"critical-means-fail": {"signal": "fail"}},
        body=Body("body", "Findings", _VERDICT_SECTIONS)),
    *_stopped("review_verdict"),
    _row("audit_verdict", "audit code verdict", serves="audit code", when=_VERDICTS, names="result=signal",
        values={"result": _RESULT}, least="build tests", remedies={"audit-means-fail": {"signal": "fail"}},
        body=Body("body", "Runtime", _VERDICT_SECTIONS)),
    *_stopped("audit_verdict"),
    _row("triage_result", "triage", when="signal=triage_complete"),
    *_stopped("triage_result"),
    _row("plan_result", "design", when="signal=plan_complete", names="artifact=plan_file",
        least={"has_blockers": (False, "none are named")}, body=Body("body", "Summary", _sections("Phase=phase"))),
    *_stopped("plan_result"),
    _row("research_result", "findings", when="signal=research_complete",
        least={"verified": (False, "nothing is said of how it was verified")},
        body=Body("documents", "Documents", _sections("Confidence=confidence, Why=rationale, Artifact=artifact"),
            pages=True)),
    *_stopped("research_result"),
    _row("task_assignment", "assign", when="signal=execute",
        body=Body("details", "Details",
            _sections("Title=title, Depends on=depends_on[], Constraints=constraints[], "
            "Allowed paths=allowed[], Forbidden paths=forbidden[], Checks=checks[], Design=design, Documents=docs[]"))),
    _row("revision_request", "answer", when="signal=revise", means={"decision": ("no",)},
        body=Body("reasons", "Reasons", _ANSWER_SECTIONS)),
    _row("approval", "answer release", serves="answer release", when="signal=lgtm",
        overstates={"signal": Overstatement("$intent", ("release",),
            "it is no leave to commit; no other yes is known")}, means={"decision": ("yes", "conditional")},
        body=Body("reasons", "Reasons", (*_ANSWER_SECTIONS, *_sections("Files=files[]")))),
    _row("triage_request", "size-up", when="signal=execute"),
    _row("architecture_request", "plan", when="signal=plan"),
    _row("research_request", "question", when="signal=research",
        least={"topic": (_first("$correlation"), "no topic is named")},
        body=Body("context", "Context", _sections("Keywords=keywords[]"))),
)  # fmt: skip


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
    """Reason for a missing counterpart, for the matrix and for error messages."""
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
    "task": (("task", "$correlation"), "its conversation is used as its task"),
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
        least=_minimum_values(dialect, type_, meaning),
        body=Body(meaning.body, type_.sections[0] if type_.sections else HEADING) if meaning.body else None,
    )


def _minimum_values(dialect: Dialect, type_: MessageType, meaning: Semantics) -> dict[str, MinimumValue]:
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

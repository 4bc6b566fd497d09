"""Mappings of signal-md: most values are sections of the markdown body."""

from telex.translation.mapping import Body, ByValue, FromSlot, MinimumValue, Overstatement, Section, TypeMapping

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

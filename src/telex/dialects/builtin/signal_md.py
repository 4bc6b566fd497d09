"""signal-md 1.0: YAML front matter over a markdown body; the `signal` routes the work."""

import re
from typing import Literal

from telex.dialects.schema import (
    BOOLEAN,
    COUNT,
    TEXT,
    TEXTS,
    Dialect,
    EnvelopeFields,
    FieldDefault,
    HardRule,
    Integer,
    MapOf,
    MessageType,
    SectionRule,
    action,
    fields,
    group,
    one_of,
    types_by_name,
)

MAKERS = ("worker", "debugger", "documenter")
ORCHESTRATOR = ("orchestrator",)
ROLES = (*MAKERS, "reviewer", "auditor", "architect", "researcher", *ORCHESTRATOR)
ITERATIONS_MAX = 5

# The page's table of signals opens these two to any agent, so every type that goes to the orchestrator takes them.
OPEN_TO_ALL = ("blocked", "escalate")
VERDICT = one_of("pass", "pass_with_notes", "fail", *OPEN_TO_ALL)
JUDGED = "signal in ['pass', 'pass_with_notes', 'fail']"

WORKER_SUBMISSION = MessageType(
    name="worker_submission", purpose="Work handed in for review, or the word that it cannot go on.",
    senders=MAKERS, receivers=ORCHESTRATOR, priority="STATUS",
    fields=fields(
        {"signal": one_of("rfr", *OPEN_TO_ALL), "files_changed": TEXTS, "qa_check": one_of("pass", "fail")},
        {"ac_coverage": MapOf(one_of("pass", "fail", "partial", "na"))},
    ),
    sections=("Result", "Self-Assessment"),
    body_purpose="what was done, then each criterion and what is known to be missing",
    example={"type": "worker_submission", "signal": "rfr",
             "files_changed": ["src/auth/reset.py", "tests/test_reset.py"],
             "ac_coverage": {"AC1": "pass", "AC2": "partial"}, "qa_check": "pass"},
    body_example="## Result\nA reset link works once.\n\n## Self-Assessment\nAC2 waits for the mail template.\n",
    semantics=action("signal", "signal files=files_changed qa=qa_check coverage=ac_coverage"),
)  # fmt: skip

REVIEW_VERDICT = MessageType(
    name="review_verdict", purpose="A reviewer's verdict: did it pass, and how much was found.",
    senders=("reviewer",), receivers=ORCHESTRATOR, priority="VALIDATION",
    fields=fields({"signal": VERDICT, "critical_count": COUNT, "moderate_count": COUNT, "minor_count": COUNT,
                   "ac_coverage": MapOf(one_of("pass", "fail"))}),
    rules=(HardRule(
        code="critical-means-fail", broken_when="critical_count > 0 and signal != 'fail'", path="signal",
        say="Say signal 'fail': a critical finding never passes.", expected="fail",
    ),),
    example={"type": "review_verdict", "signal": "pass_with_notes", "critical_count": 0, "moderate_count": 2,
             "minor_count": 1, "ac_coverage": {"AC1": "pass", "AC2": "pass"}},
    sections=("Findings", "AC Coverage"),
    section_rules={
        "Findings": SectionRule(
            ("CRITICAL", "MODERATE", "MINOR"), f"{JUDGED} and critical_count + moderate_count + minor_count > 0"
        ),
        "AC Coverage": SectionRule(("AC",), f"{JUDGED} and len(ac_coverage) > 0"),
    },
    body_purpose="the findings by severity, the acceptance criteria covered, and a summary in one line",
    body_example="## Findings\nMODERATE: two names say too little.\n\n## AC Coverage\nBoth are met.\n\nGood to go.\n",
    semantics=action(
        "signal", "signal critical=critical_count moderate=moderate_count minor=minor_count coverage=ac_coverage",
    ),
)  # fmt: skip

AUDIT_VERDICT = MessageType(
    name="audit_verdict", purpose="An auditor's verdict: security, build and tests.",
    senders=("auditor",), receivers=ORCHESTRATOR, priority="VALIDATION",
    fields=fields(
        {"signal": VERDICT,
         "security_findings": group({"critical": COUNT, "high": COUNT, "medium": COUNT, "low": COUNT}),
         "build_status": one_of("pass", "fail", "skipped"),
         "test_status": one_of("pass", "fail", "partial", "skipped")},
        {"typecheck_status": one_of("pass", "fail", "skipped")},
    ),
    rules=(
        HardRule(
            code="audit-means-fail",
            broken_when="signal != 'fail' and"
            " (security_findings.critical > 0 or build_status == 'fail' or test_status == 'fail')",
            path="signal", say="Say signal 'fail': a critical finding, a broken build or a failing test never passes.",
            expected="fail",
        ),
        HardRule(
            code="high-needs-notes", broken_when="signal == 'pass' and security_findings.high > 0", path="signal",
            say="Say 'pass_with_notes': a plain pass hides the high-severity findings.", severity="warning",
            expected="pass_with_notes",
        ),
    ),
    sections=("Runtime",),
    body_purpose="the security findings by severity or CLEAN, then what was run and how it went",
    example={"type": "audit_verdict", "signal": "pass",
             "security_findings": {"critical": 0, "high": 0, "medium": 1, "low": 0}, "build_status": "pass",
             "test_status": "pass", "typecheck_status": "skipped"},
    body_example="## Security\nOne medium finding.\n\n## Runtime\n31 tests, all passed.\n",
    semantics=action(
        "signal",
        "signal critical=security_findings.critical high=security_findings.high medium=security_findings.medium "
        "low=security_findings.low build=build_status tests=test_status typecheck=typecheck_status",
    ),
)  # fmt: skip

TRIAGE_RESULT = MessageType(
    name="triage_result", purpose="How large a request is, and whether it needs research first.",
    senders=("architect",), receivers=ORCHESTRATOR, priority="STATUS",
    fields=fields(
        {"signal": one_of("triage_complete", *OPEN_TO_ALL), "tier": Integer(at_least=0, at_most=3),
         "research_needed": BOOLEAN},
        {"research_count": COUNT},
    ),
    rules=(
        HardRule(
            code="research-count-mismatch",
            broken_when="research_needed and (not has(research_count) or research_count == 0)",
            path="research_count", say="Say how many research questions there are, or set research_needed to false.",
            expected="a count of at least 1, since research is needed",
        ),
        HardRule(
            code="research-count-mismatch", broken_when="not research_needed and has(research_count)",
            path="research_count", say="Leave research_count out, or set research_needed to true.",
            expected="no count, since no research is needed",
        ),
    ),
    sections=("Triage", "Research Questions"),
    section_rules={"Research Questions": SectionRule(("Research", "Questions"), "research_needed == true")},
    body_purpose="tier, problem, constraints, criteria of success, what is out of scope, and the research questions",
    example={"type": "triage_result", "signal": "triage_complete", "tier": 2, "research_needed": True,
             "research_count": 3},
    body_example="## Triage\nTier 2: one module, one new table.\n\n## Research Questions\n1. Which mail service?\n",
    semantics=action("signal", "signal tier research=research_needed questions=research_count"),
)  # fmt: skip

PLAN_RESULT = MessageType(
    name="plan_result", purpose="A plan written to a file, cut into waves.",
    senders=("architect",), receivers=ORCHESTRATOR, priority="STATUS",
    fields=fields(
        {"signal": one_of("plan_complete", *OPEN_TO_ALL), "plan_file": TEXT, "wave_count": COUNT, "risk_tags": TEXTS,
         "has_blockers": BOOLEAN},
        {"step_count": COUNT},
    ),
    example={"type": "plan_result", "signal": "plan_complete", "plan_file": "plans/password-reset.md", "wave_count": 3,
             "step_count": 7, "risk_tags": ["security", "data-mutation"], "has_blockers": False},
    body_purpose="one paragraph on what the plan covers",
    body_example="Adds password reset in three waves.\n",
    semantics=action(
        "signal",
        "signal plan_file waves=wave_count steps=step_count has_blockers risks=risk_tags risks/text=risk_tags[]",
    ),
)  # fmt: skip

RESEARCH_RESULT = MessageType(
    name="research_result", purpose="The answer to one research question.",
    senders=("researcher",), receivers=ORCHESTRATOR, priority="STATUS",
    fields=fields(
        {"signal": one_of("research_complete", *OPEN_TO_ALL), "topic": TEXT, "verified": BOOLEAN},
        {"has_gotchas": BOOLEAN},
    ),
    example={"type": "research_result", "signal": "research_complete", "topic": "mail services", "verified": True,
             "has_gotchas": False},
    sections=("Answer", "Verified Facts"),
    section_rules={
        "Answer": SectionRule(when="signal == 'research_complete'"),
        "Verified Facts": SectionRule(
            ("Verified", "Facts", "Sources"), "signal == 'research_complete' and verified == true"
        ),
    },
    body_purpose="the answer, verified facts with their sources, versions, pitfalls, and what is not verified",
    body_example="## Answer\nThe one in use can send templates.\n\n## Verified Facts\n- It says so in docs/mail.md.\n",
    semantics=action("signal", "signal topic verified gotchas=has_gotchas"),
)  # fmt: skip

TASK_ASSIGNMENT = MessageType(
    name="task_assignment", purpose="One step of a plan, to be done now.",
    senders=ORCHESTRATOR, receivers=MAKERS, priority="STATUS", reply="worker_submission",
    fields=fields({"signal": one_of("execute")}, {"task": TEXT, "plan_file": TEXT, "wave": COUNT, "step": COUNT}),
    example={"type": "task_assignment", "signal": "execute", "task": "Reset link",
             "plan_file": "plans/password-reset.md", "wave": 1, "step": 2},
    sections=("Acceptance Criteria", "Context", "Files"),
    section_rules={
        "Acceptance Criteria": SectionRule(("Acceptance", "Criteria")), "Context": SectionRule(),
        "Files": SectionRule(),
    },
    body_purpose="what is to be done, the acceptance criteria, the context, and the files to modify or read",
    body_example="Write the reset link.\n\n## Acceptance Criteria\n- AC1: a link works once\n\n"
    "## Context\nThe mail template stays.\n\n## Files\n- src/auth/reset.py\n",
    semantics=action("dispatch", "signal task plan_file wave step"),
)  # fmt: skip

REVISION_REQUEST = MessageType(
    name="revision_request", purpose="What to fix, and how severe a finding must be to be fixed this time.",
    senders=ORCHESTRATOR, receivers=MAKERS, priority="VALIDATION", reply="worker_submission",
    fields=fields(
        {"signal": one_of("revise"), "iteration": Integer(at_least=1)},
        {"max_iterations": Integer(at_least=1), "fix_severity": one_of("critical", "critical+moderate", "all")},
    ),
    fillings=(
        FieldDefault("max_iterations", "not has(max_iterations)", ITERATIONS_MAX),
        FieldDefault("fix_severity", "not has(fix_severity) and iteration <= 3", "all"),
        FieldDefault("fix_severity", "not has(fix_severity) and iteration > 3", "critical"),
    ),
    rules=(
        HardRule(
            code="iteration-beyond-max", broken_when="iteration > max_iterations", path="iteration",
            say="Escalate instead: the work has had all its revisions.",
            expected="at most max_iterations (5 when not given)",
        ),
        HardRule(
            code="fix-severity-differs", broken_when="iteration <= 3 and has(fix_severity) and fix_severity != 'all'",
            path="fix_severity", say="The first three iterations fix everything: say 'all', or leave it out.",
            severity="warning", expected="all",
        ),
        HardRule(
            code="fix-severity-differs",
            broken_when="iteration > 3 and has(fix_severity) and fix_severity != 'critical'", path="fix_severity",
            say="From the fourth iteration on only critical findings are fixed: say 'critical', or leave it out.",
            severity="warning", expected="critical",
        ),
    ),
    example={"type": "revision_request", "signal": "revise", "iteration": 2, "max_iterations": 5,
             "fix_severity": "all"},
    sections=("From the reviewer",),
    section_rules={"From the reviewer": SectionRule(("From", "Review", "Audit"))},
    body_purpose="the issues to fix, grouped by source: reviewer, auditor",
    body_example="## From the reviewer\nTwo names say too little.\n",
    semantics=action(
        "dispatch", "signal decision=signal iteration iterations_max=max_iterations severity=fix_severity"
    ),
)  # fmt: skip

APPROVAL = MessageType(
    name="approval", purpose="The work is approved: commit it.",
    senders=ORCHESTRATOR, receivers=MAKERS, priority="VALIDATION",
    fields=fields({"signal": one_of("lgtm")}),
    example={"type": "approval", "signal": "lgtm"},
    semantics=action("dispatch", "signal decision=signal"),
)  # fmt: skip

TRIAGE_REQUEST = MessageType(
    name="triage_request", purpose="A user's request, to be sized up.",
    senders=ORCHESTRATOR, receivers=("architect",), priority="STATUS", reply="triage_result",
    fields=fields({"signal": one_of("execute")}),
    example={"type": "triage_request", "signal": "execute"},
    body_purpose="the user's request, and what the architect needs to know of the project",
    body_example="Let people reset their password.\n",
    semantics=action("dispatch", "signal"),
)  # fmt: skip

ARCHITECTURE_REQUEST = MessageType(
    name="architecture_request", purpose="Research is in: make the plan and cut it into waves.",
    senders=ORCHESTRATOR, receivers=("architect",), priority="STATUS", reply="plan_result",
    fields=fields({"signal": one_of("plan")}),
    example={"type": "architecture_request", "signal": "plan"},
    sections=("Research Context",),
    section_rules={"Research Context": SectionRule(("No research needed",))},
    body_purpose="what the researchers found, or 'No research needed'",
    body_example="## Research Context\nThe mail service in use can send templates.\n",
    semantics=action("dispatch", "signal"),
)  # fmt: skip

RESEARCH_REQUEST = MessageType(
    name="research_request", purpose="One question to be answered before planning.",
    senders=ORCHESTRATOR, receivers=("researcher",), priority="STATUS", reply="research_result",
    fields=fields({"signal": one_of("research"), "topic": TEXT}),
    example={"type": "research_request", "signal": "research", "topic": "mail services"},
    sections=("Why it matters", "Where to look"),
    section_rules={
        "Why it matters": SectionRule(("Why", "Decision", "It decides", "This decides", "It gates", "This gates")),
        "Where to look": SectionRule(("Where", "Look", "See", "Sources", "Start")),
    },
    body_purpose="the question, the decision that it gates, and where to look",
    body_example="Which mail service can send templates?\n\n## Why it matters\nThe second wave depends on it.\n\n"
    "## Where to look\ndocs/mail.md\n",
    semantics=action("dispatch", "signal topic"),
)  # fmt: skip

SIGNAL_MD = Dialect(
    name="signal-md", version="1.0", purpose="YAML front matter over markdown; signals route the work.",
    form="front-matter", roles=ROLES, wire=EnvelopeFields(task="task"),
    trades={"orchestrator": "leads", "worker": "makes", "reviewer": "reviews", "auditor": "audits",
            "architect": "designs", "researcher": "looks", "debugger": "fixes", "documenter": "documents"},
    types=types_by_name(
        [WORKER_SUBMISSION, REVIEW_VERDICT, AUDIT_VERDICT, TRIAGE_RESULT, PLAN_RESULT, RESEARCH_RESULT, TASK_ASSIGNMENT,
        REVISION_REQUEST, APPROVAL, TRIAGE_REQUEST, ARCHITECTURE_REQUEST, RESEARCH_REQUEST],
    ),
)  # fmt: skip


_MAKERS = (*MAKERS, "grunt", "senior")
ROUTE = "Route"
# A line of the body, such as `Route: senior`. The router of `telex work` follows it.
Route = Literal["", "worker", "senior", "orchestrator", "plan", "user"]
ROUTES: dict[str, Route] = {
    "worker": "worker", "senior": "senior", "orchestrator": "orchestrator", "orchestrator (re-decompose)": "plan",
    "orchestrator (user decision required)": "user",
}  # fmt: skip
_LINE = r"(?mi)^[ \t>*_-]*Route[*_]*:[ \t*_`]*(.+?)[ \t.*_`]*$"
_ROUTED = SectionRule(when=f"signal in {list(OPEN_TO_ALL)}")


def route_in(body: str) -> Route:
    """The route that a body names; nothing if it names none, or several."""
    found = {ROUTES.get(" ".join(line.lower().split()), "") for line in re.findall(_LINE, body)}
    return found.pop() if len(found) == 1 else ""


def _routed(type_: MessageType) -> MessageType:
    """A message of an agent to the orchestrator names a route when it stops."""
    if type_.receivers != ORCHESTRATOR:
        return type_
    return type_._replace(sections=(*type_.sections, ROUTE), section_rules={**type_.section_rules, ROUTE: _ROUTED})


_AUDIT_RULES = (
    HardRule(
        code="audit-means-fail",
        broken_when="signal != 'fail' and (security_findings.critical > 0 or security_findings.high > 0"
        " or build_status == 'fail' or test_status == 'fail')",
        path="signal",
        say="Say signal 'fail': a critical or high finding, a broken build or a failing test never passes.",
        expected="fail",
    ),
)
_OPTIONAL_COVERAGE = {"ac_coverage": REVIEW_VERDICT.fields["ac_coverage"]._replace(required=False)}
_CHANGED = (
    WORKER_SUBMISSION._replace(senders=_MAKERS),
    REVIEW_VERDICT._replace(fields={**REVIEW_VERDICT.fields, **_OPTIONAL_COVERAGE}),
    AUDIT_VERDICT._replace(rules=_AUDIT_RULES),
    *(type_._replace(receivers=_MAKERS) for type_ in (TASK_ASSIGNMENT, REVISION_REQUEST, APPROVAL)),
)
_TYPES = {**SIGNAL_MD.types} | {type_.name: type_ for type_ in _CHANGED}

SIGNAL_MD_1_1: Dialect = SIGNAL_MD._replace(
    name="signal-md@1.1", version="1.1", purpose="1.0 with grunt, worker and senior, and routes for what is blocked.",
    extends=SIGNAL_MD.name, roles=(*ROLES, "grunt", "senior"),
    types={name: _routed(type_) for name, type_ in _TYPES.items()},
    trades={**SIGNAL_MD.trades, "grunt": "makes", "senior": "makes"},
)  # fmt: skip

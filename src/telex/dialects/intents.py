"""Intents that dialects share, with their terms and their work actions.

A term is the meaning of a field, independent of its name in a dialect; its words are the common names of its values.
The mappings of the built-in dialects and the semantics of users' dialects use these terms. A type without a counterpart
has an intent of its own, so that there is always a reason for a missing translation.
"""

from collections.abc import Mapping
from typing import Any

from telex.model.named_tuple import NamedTuple

NO_WORDS: tuple[str, ...] = ()
LEVELS = ("high", "medium", "low")
RESULTS = ("pass", "notes", "partly", "fail")


class Term(NamedTuple):
    """Meaning of a field, common to all dialects."""

    means: str
    words: tuple[str, ...] = NO_WORDS  # common names of its values; () where values are copied
    apart: tuple[str, ...] = NO_WORDS  # the good and the bad one of them, which must stay distinct


TASK = Term("the task it is about")
PLAN = Term("the plan that the task belongs to")
PHASE = Term("the number of the phase")
SURE = Term("how sure the sender is", LEVELS)
ARTIFACT = Term("the file that has it")
SEVERITY = Term("how bad it is", LEVELS)
ADVICE = Term("what should be done now")
ATTEMPTED = Term("a list of what was tried")
ATTEMPT = Term("one thing that was tried, where each has parts")
REASON = Term("why")
FILES = Term("a list of the files it is about")
BLOCKER = Term("what is in the way")
NEEDS = Term("what would free it")
CHECKED = {
    "result": Term("how it came out", RESULTS, ("pass", "fail")),
    "task": TASK,
    "plan": PLAN,
    "tier": Term("how thorough the check was", ("quick", "standard", "deep")),
    "failures": Term("a list of what does not hold"),
    "failures/text": Term("one thing that does not hold, where each has parts"),
    "advice": ADVICE,
    "body": Term("the report itself"),
    "artifact": ARTIFACT,
    "passed": Term("how many checks passed"),
    "failed": Term("how many checks failed"),
    "total": Term("how many checks there were"),
    "critical": Term("how many findings are critical"),
    "findings": Term("how many findings there are"),
    "confidence": SURE,
    "phase_number": PHASE,
}
RESULT = ("result",)


class Intent(NamedTuple):
    does: str  # after "a message that"
    terms: Mapping[str, Term] = {}
    turns_on: tuple[str, ...] = ()  # terms without which a bad one would look like a good one

    @property
    def choices(self) -> dict[str, tuple[str, ...]]:
        """Term → its words."""
        return {name: term.words for name, term in self.terms.items() if term.words}


INTENTS: Mapping[str, Intent] = {
    "assign": Intent("assigns a task",
        {"task": TASK, "title": Term("what it is called"), "details": Term("what is to be done"),
            "depends_on": Term("a list of tasks that come first"), "constraints": Term("a list of what has to hold"),
            "allowed": Term("a list of paths that may be touched"), "forbidden": Term("a list of paths that may not"),
            "checks": Term("a list of what will be checked"), "tasks": Term("a list of its parts"),
            "design": Term("how it is to be done"), "docs": Term("a list of documents to read"),
            "plan_file": Term("the file with the plan"), "phase": Term("the name of the phase"),
            "phase_number": PHASE, "budget": Term("how many tokens it may cost"), "confidence": SURE}),
    "progress": Intent("reports how far a task has come",
        {"task": TASK, "plan": PLAN,
            "status": Term("how far it has come", ("done", "partly", "failed", "started"), ("done", "failed")),
            "details": Term("what there is to say of it"), "commit": Term("the commit that shows it"),
            "files": Term("a list of the files that were changed"), "concerns": Term("a list of doubts"),
            "percent": Term("how much of it is done, from 0 to 100"), "tokens": Term("how many tokens it cost"),
            "confidence": SURE, "phase_number": PHASE}, ("status",)),
    "blocked": Intent("reports what blocks a task",
        {"task": TASK, "plan": PLAN, "blocker": BLOCKER, "needs": NEEDS, "severity": SEVERITY, "attempted": ATTEMPTED,
            "attempted/text": ATTEMPT, "confidence": SURE, "phase_number": PHASE}),
    "findings": Intent("reports the results of research",
        {"topic": Term("what was researched"),
            "domain": Term("the field it lies in", ("tech-stack", "architecture", "quality", "concerns")),
            "documents": Term("a list of what was found"), "documents/name": Term("what one of them is called"),
            "documents/text": Term("the text of one of them"), "rationale": Term("why it can be relied on"),
            "confidence": SURE, "artifact": ARTIFACT, "phase_number": PHASE}),
    "question": Intent("asks for research",
        {"topic": Term("what is to be researched"), "keywords": Term("a list of words to search for"),
            "context": Term("what it is for")}),
    "diagnosis": Intent("explains a fault",
        {"task": TASK, "hypothesis": Term("what the cause seems to be"),
            "evidence": Term("a list of what speaks for it"),
            "evidence/text": Term("one thing that speaks for it, where each has parts"),
            "against": Term("a list of what speaks against it"), "fix": Term("what would fix it"),
            "count": Term("how many errors were seen"), "confidence": SURE, "artifact": ARTIFACT}),
    "verdict": Intent("reports whether work passes", CHECKED, RESULT),
    "review": Intent("gives a reviewer's verdict", CHECKED, RESULT),
    "audit": Intent("gives a security verdict", CHECKED, RESULT),
    "code": Intent("reports results of tests and linters", CHECKED, RESULT),
    "survey": Intent("reports the state of a codebase", CHECKED, RESULT),
    "ask": Intent("asks for an approval",
        {"task": TASK, "subject": Term("what is to be approved"),
            "kind": Term("what sort of approval", ("scope", "plan", "gate", "quality", "security", "code")),
            "evidence": Term("what speaks for it"), "options": Term("a list of possible answers"),
            "deadline": Term("when an answer is needed"), "files": FILES, "changes": Term("what would be changed"),
            "plan_file": Term("the file with the plan"), "confidence": SURE, "phase_number": PHASE}),
    "answer": Intent("approves or rejects what was asked for",
        {"task": TASK, "request": Term("the id of what is answered"),
            "decision": Term("whether it is approved", ("yes", "no", "conditional"), ("yes", "no")),
            "reasons": Term("why"), "conditions": Term("a list of what has to hold for it"),
            "modifications": Term("a list of what is to be changed"), "confidence": SURE, "phase_number": PHASE},
        ("decision",)),
    "release": Intent("has approved work committed",
        {"task": TASK, "files": FILES, "message": Term("the commit message"),
            "approval": Term("the approval it rests on"), "approver": Term("who approved it")}),
    "escalate": Intent("passes a question to a higher role",
        {"task": TASK, "reason": REASON, "severity": SEVERITY,
            "level": Term("the level it goes to", ("senior", "lead", "cto", "human")),
            "evidence": Term("a list of what shows it"),
            "evidence/text": Term("one thing that shows it, where each has parts"), "advice": ADVICE}),
    "design": Intent("hands in a plan",
        {"phase": Term("the name of the phase"), "artifact": ARTIFACT, "risks": Term("a list of what may go wrong"),
            "risks/text": Term("one thing that may go wrong, where each has parts"), "body": Term("the plan itself")}),
    "spec": Intent("reports that a plan's tasks can be built",
        {"plan": PLAN, "concerns": Term("a list of doubts"), "enriched": Term("how many tasks were worked out")}),
    "triage": Intent("reports the size of a request",
        {"tier": Term("its size, as a number"), "questions": Term("how many questions are open")}),
    "size-up": Intent("asks how large a request is"),
    "plan": Intent("asks for a plan"),
    "move": Intent("moves a task from state to state",
        {"task": TASK, "came_from": Term("the state it was in"), "goes_to": Term("the state it is in now"),
            "reason": REASON}),
    "close": Intent("ends the contract of a plan",
        {"plan": PLAN, "reason": REASON, "confidence": SURE, "phase_number": PHASE}),
    "stop": Intent("asks a team to stop", {"reason": REASON, "team": Term("which team"), "phase_number": PHASE}),
    "stopped": Intent("answers a request to stop",
        {"request": Term("the id of what is answered"), "approved": Term("whether it stops"),
            "pending": Term("what is left undone"), "phase_number": PHASE}, ("approved",)),
    "unread": Intent("reports that a message could not be read",
        {"original": Term("the id of that message"), "details": Term("what was wrong with it")}),
}  # fmt: skip


class WorkAction(NamedTuple):
    """Action of a type with this intent on the work state."""

    action: str  # a key of work/view.RULES
    names: str  # of the rules: `name=term`, or `name` where the term has the same name; [] only if a list has it
    needs: tuple[str, ...] = ()  # terms that the type must have
    words: Mapping[str, Mapping[str, Any]] = {}  # name → word of its term → value as the rules have it


# Work actions of an intent. The first whose terms the type has applies; without one, the type has no work rules.
WORK: Mapping[str, tuple[WorkAction, ...]] = {
    "assign": (
        WorkAction(
            "contract",
            "plan=task phase objective=details tasks allowed forbidden depends_on must_haves=constraints checks budget",
            ("task", "tasks", "allowed"),
        ),
        WorkAction("assign", "task title details depends_on", ("task",)),
    ),
    "progress": (
        WorkAction(
            "progress",
            "plan task status commit files tokens concerns",
            ("plan", "task"),
            {"status": {"done": "complete", "partly": "partial", "started": "partial", "failed": "failed"}},
        ),
        WorkAction(
            "status",
            "task status details percent",
            ("task",),
            {"status": {"done": "completed", "partly": "progress", "started": "started", "failed": "failed"}},
        ),
    ),
    "blocked": (
        WorkAction(
            "blocker",
            "plan task blocker blockers[]=blocker needs severity",
            ("task",),
            {"severity": {"high": "blocking", "medium": "degraded", "low": "informational"}},
        ),
    ),
    "verdict": (
        WorkAction(
            "quality",
            "task status=result",
            ("task",),
            {"status": {"pass": "passed", "notes": "passed", "partly": "failed", "fail": "failed"}},
        ),
    ),
    "ask": (
        WorkAction(
            "ask",
            "task subject kind evidence options deadline files changes plan_file",
            words={"kind": {"scope": "scope_change", "plan": "plan_approval", "gate": "gate_override"}},
        ),
    ),
    "answer": (
        WorkAction(
            "answer",
            "request task approved=decision decision reason=reasons reasons[] conditions modifications",
            words={
                "decision": {"yes": "approved", "no": "rejected", "conditional": "conditional"},
                "approved": {"yes": True, "no": False, "conditional": True},
            },
        ),
    ),
    "release": (WorkAction("commit", "task approval files message approver", ("task", "approval")),),
    "escalate": (WorkAction("escalate", "task level reason severity evidence advice", ("level",)),),
    "move": (WorkAction("move", "task came_from goes_to reason", ("task", "came_from", "goes_to")),),
    "close": (WorkAction("close", "plan reason", ("plan",)),),
    "stop": (WorkAction("stop", "reason team"),),
    "stopped": (WorkAction("stopped", "request approved pending", ("request", "approved")),),
}

# Functions of roles, by which counterparts in other dialects are found.
TRADES: Mapping[str, str] = {
    "leads": "hands out work and decides",
    "makes": "builds",
    "tests": "reports whether work passes",
    "reviews": "reads what others built",
    "audits": "looks for holes",
    "runs": "runs tests and linters",
    "designs": "plans how to build",
    "looks": "looks things up",
    "fixes": "finds faults",
    "documents": "writes things down",
}

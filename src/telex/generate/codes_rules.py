"""Codes of hard rules: what relates two fields of one message.

What is wrong is shown by a small change to the example of every type that has the rule; what is right is the example.
The dialects say the rest: where the rule holds, when it is broken, how grave that is and what to do.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import Dialect, HardRule, MessageType
from telex.generate.codes_examples import CodeExample, ExampleOptions, Explanation, sent

Change = Mapping[str, Any]


def holders(code: str) -> Iterator[tuple[Dialect, MessageType, tuple[HardRule, ...]]]:
    """Every type that has the rule, with the rule in all its forms."""
    for dialect in BUILT_IN:
        for type_ in dialect.types.values():
            rules = tuple(rule for rule in (*dialect.rules, *type_.rules) if rule.code == code)
            if rules:
                yield dialect, type_, rules


def _rule(code: str, title: str, why: str, change: Change, *, mend: str = "", **by_type: Change) -> Explanation:
    """An explanation whose mend is what the rule itself says, unless there are too many forms of it to read."""
    held = list(holders(code))
    assert held, f"no dialect has {code}"
    says = dict.fromkeys(rule.say for _, _, rules in held for rule in rules)
    cases = (_case(dialect, type_, by_type.get(type_.name, change)) for dialect, type_, _ in held)
    return Explanation(code, title, why, mend or " ".join(says), tuple(cases))


def _case(dialect: Dialect, type_: MessageType, change: Change) -> CodeExample:
    before, after = sent(dialect, type_.name, change), sent(dialect, type_.name)
    return CodeExample(before, after, ExampleOptions(dialect=dialect.name), where=f"in {dialect.name}")


RULES: tuple[Explanation, ...] = (
    # --- verdicts that say two things at once -----------------------------------------------------------------------
    _rule(
        "pass-with-failures",
        "PASS, and yet failures",
        "The result says PASS while failures are counted or listed. A reader who looks only at the result would ship"
        " what does not work.",
        {"result": "PASS"},
    ),
    _rule(
        "checks-exceed-total",
        "More checks than there are",
        "Passed and failed checks together come to more than the total. Skipped checks may make the sum smaller, never"
        " larger.",
        {"checks.total": 19},
        mend="Count again: the total is at least passed and failed together.",
    ),
    _rule(
        "pass-with-failed-tests",
        "PASS, and yet a failed test",
        "The result says PASS while a test failed. A test that may fail belongs among the skipped ones.",
        {"tests.failed": 1},
    ),
    _rule(
        "critical-exceeds-findings",
        "More critical findings than findings",
        "Critical findings are counted among all findings, so there cannot be more of them.",
        {"critical": 9},
    ),
    _rule(
        "critical-but-passed",
        "Passed with a critical finding",
        "The result lets the work through although a critical finding is open. The page does not forbid it, but it is"
        " rarely meant.",
        {"critical": 1},
        mend="Say that it failed, or say in the report why the finding may stand.",
        code_review_result={"result": "approve"},
    ),
    _rule(
        "critical-means-fail",
        "Passed with a critical finding",
        "A review that found something critical says `fail`, whatever else it found. The signal alone routes the work.",
        {"critical_count": 1},
    ),
    _rule(
        "audit-means-fail",
        "Passed with a broken build, test or a critical finding",
        "An audit with a critical security finding, a failed build or failed tests says `fail`. The signal alone"
        " routes the work.",
        {"build_status": "fail"},
    ),
    _rule(
        "high-needs-notes",
        "A plain pass with high findings",
        "High findings do not stop the work, but `pass` says that there is nothing to know.",
        {"security_findings.high": 1},
    ),
    _rule(
        "passed-with-failed-gate",
        "PASSED, and yet a failed gate",
        "The report says PASSED while a gate failed or failures are counted.",
        {"status": "PASSED"},
    ),
    _rule(
        "gates-not-passed",
        "A commit before the gates passed",
        "The request asks for a commit and says itself that the quality gates have not passed.",
        {"metadata.qualityGatesPassed": False},
    ),
    # --- reports that leave out the point ---------------------------------------------------------------------------
    _rule(
        "complete-without-commit",
        "Complete, but no commit",
        "The task is called complete and no commit shows it.",
        {"commit": ""},
    ),
    _rule(
        "blocked-without-blockers",
        "Blocked, but by what?",
        "The status says BLOCKED and nothing is listed that blocks. Nobody can help.",
        {"status": "BLOCKED"},
    ),
    _rule(
        "conditional-without-conditions",
        "Conditional on nothing",
        "The decision depends on conditions and none is listed.",
        {"decision": "CONDITIONAL"},
    ),
    _rule(
        "count-below-errors",
        "Fewer errors counted than listed",
        "The count is of all errors seen, of which some may be listed, so it cannot be smaller than the list.",
        {"count": 0},
    ),
    _rule(
        "research-count-mismatch",
        "Research needed, or not?",
        "`research_count` is there exactly when `research_needed` is true: it says how many questions to wait for.",
        {"research_count": None},
    ),
    # --- plans, deadlines and revisions -----------------------------------------------------------------------------
    _rule(
        "path-allowed-and-forbidden",
        "A path both allowed and forbidden",
        "The same path stands in both lists. The agent may not touch it, which is perhaps not what was meant.",
        {"forbidden_paths": ["src/auth/"]},
    ),
    _rule(
        "deadline-in-past",
        "A deadline that is over",
        "The deadline is before the time of the message itself, so nobody can keep it.",
        {"deadline": "2026-02-11T12:00:00Z"},
    ),
    _rule(
        "iteration-beyond-max",
        "One revision too many",
        "The work has been sent back as often as was agreed. Another round would go on for ever.",
        {"iteration": 6},
    ),
    _rule(
        "fix-severity-differs",
        "Another severity than the iteration's",
        "How much is mended depends on the iteration, so that work converges. The page allows other values without"
        " saying when.",
        {"fix_severity": "critical"},
    ),
    # --- addresses and correlation ----------------------------------------------------------------------------------
    _rule(
        "escalation-skips-a-step",
        "An escalation past its next step",
        "An escalation goes exactly one step up the chain. Whoever is skipped would never hear of it.",
        {"to": "architect"},
        mend="Send it to the role above yours: the finding names it.",
    ),
    _rule(
        "broadcast-to-one",
        "A broadcast to one agent",
        "The message says that it is a broadcast and names one recipient.",
        {"broadcast": True},
    ),
    _rule(
        "star-without-broadcast",
        "To all, but not as a broadcast",
        "The recipient is `*`, which is every agent of the team, and `broadcast` does not say so.",
        {"to": "*"},
    ),
    _rule(
        "response-without-reply-to",
        "A response to what?",
        "A response names the message that it answers. Without that, two requests about one task cannot be told apart.",
        {"replyTo": None},
    ),
    _rule(
        "correlation-differs",
        "Correlated with another task",
        "All messages about a task share its id as `correlationId`, and this one has another.",
        {"correlationId": "TASK-002"},
    ),
)

"""How a hard rule is written down: what breaks it, what keeps it, and what is then said where."""

from typing import Any, NamedTuple

ABSENT: Any = ...  # stands for a field that is taken out


class Rule(NamedTuple):
    """One hard rule of one type. Changes are by dotted name, of the type's own fields or else of the envelope."""

    type: str
    code: str
    path: str
    severity: str
    broken: list[dict[str, Any]]
    kept: list[dict[str, Any]]


def checks(passed: int, failed: int, total: int) -> dict[str, int]:
    return {"passed": passed, "failed": failed, "total": total}


FAILURE = {"check": "links", "expected": "all resolve", "actual": "one is broken", "evidence": "line 42"}


def pass_with_failures(type_: str, path: str) -> Rule:
    return Rule(
        type_,
        "pass-with-failures",
        path,
        "refusal",
        broken=[
            {"result": "PASS", "checks": checks(18, 1, 20), "failures": []},
            {"result": "PASS", "checks": checks(18, 1, 20), "failures": ABSENT},
            {"result": "PASS", "checks": checks(20, 0, 20), "failures": [FAILURE]},
        ],
        kept=[
            {"result": "PASS", "checks": checks(20, 0, 20), "failures": []},
            {"result": "PASS", "checks": checks(20, 0, 20), "failures": ABSENT},
            {"result": "FAIL", "checks": checks(18, 2, 20), "failures": [FAILURE]},
            {"result": "PARTIAL", "checks": checks(18, 2, 20), "failures": [FAILURE]},
        ],
    )


def complete_without_commit(type_: str, path: str) -> Rule:
    return Rule(
        type_,
        "complete-without-commit",
        path,
        "refusal",
        broken=[{"status": "complete", "commit": ""}],
        kept=[
            {"status": "complete", "commit": "a"},
            {"status": "partial", "commit": ""},
            {"status": "failed", "commit": ""},
        ],
    )


def more_checks_than_there_are(type_: str, path: str, severity: str) -> Rule:
    return Rule(
        type_,
        "checks-exceed-total",
        path,
        severity,
        broken=[{"checks": checks(18, 2, 19)}, {"checks": checks(1, 0, 0)}],
        kept=[{"checks": checks(18, 2, 20)}, {"checks": checks(18, 2, 30)}, {"checks": checks(0, 0, 0)}],
    )

"""vbw-typed 2.1: 2.0 with the types, fields and the role that newer vbw teams use.

Their messages say schema_version 2.0 all the same; the number 2.1 is Telex's own. Everything that is not here is as in
2.0.
"""

from telex.dialects.builtin.vbw_typed import (
    ABOUT,
    BLOCKER_REPORT,
    CONTRACT_CLOSE,
    ENVELOPE,
    EXECUTION_UPDATE,
    LEVELS,
    PLAN_CONTRACT,
    QA_VERDICT,
    ROLES,
    SHUTDOWN_REQUEST,
    SHUTDOWN_RESPONSE,
    TEAMMATES,
    VBW_TYPED,
    message_example,
)
from telex.dialects.schema import (
    BOOLEAN,
    COUNT,
    NOTE,
    TEXT,
    TEXTS,
    Dialect,
    Field,
    Fields,
    FlatForm,
    Group,
    HardRule,
    Kind,
    ListOf,
    MessageType,
    Text,
    action,
    fields,
    one_of,
)

QA_AUTHOR = "qa-author"
_ROLES = (*ROLES, QA_AUTHOR)
_TEAMMATES = (*TEAMMATES, QA_AUTHOR)
_ENVELOPE: Fields = {
    **ENVELOPE,
    "author_role": Field(one_of(*_ROLES)),
    "target_role": Field(one_of(*_ROLES), required=False),
}
_ISSUES: dict[str, Kind] = {"pre_existing_issues": ListOf(Group(fields({"test": TEXT, "file": NOTE, "error": NOTE})))}
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

_TYPES = {**VBW_TYPED.types} | {
    type_.name: type_
    for type_ in (
        PLAN_CONTRACT._replace(receivers=(*PLAN_CONTRACT.receivers, QA_AUTHOR)),
        CONTRACT_CLOSE._replace(receivers=(*CONTRACT_CLOSE.receivers, QA_AUTHOR)),
        _extended(EXECUTION_UPDATE, _ISSUES, pre_existing_issues=[_ISSUE]),
        _BLOCKER._replace(
            rules=(
                HardRule(
                    code="debugger-sends-blocker",
                    broken_when="author_role == 'debugger'",
                    path="author_role",
                    say="Send a debugger_report: a blocker is reported by dev or docs.",
                    severity="warning",
                    expected="dev or docs",
                ),
            )
        ),
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
        types={
            _STOP.name: _STOP._replace(fields={**_STOP.fields, "team_name": Field(TEXT, required=False)}),
            _STOPPED.name: _STOPPED,
        },
    ),
    renamed={
        _STOP.name: {"requestId": "id", "from": "author_role"},
        _STOPPED.name: {"requestId": "request_id", "from": "author_role"},
    },
    told_by={_STOP.name: ("id", "author_role"), _STOPPED.name: ("request_id", "author_role")},
)
VBW_TYPED_2_1 = VBW_TYPED_2_1._replace(flat=FLAT_SHUTDOWN)

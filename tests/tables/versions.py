"""Later versions of two dialects as they are found in use: what differs from the tables of the pages."""

from typing import Any

from tests.tables.notation import Notation, Row, Table, row, texts
from tests.tables.rules import ABSENT, Rule, checks
from tests.tables.signal_md import GRAVE, MAKERS, PASSES, SIGNAL_MD
from tests.tables.vbw_typed import VBW_TYPED

TEAMMATES = "dev qa scout lead debugger docs qa-author"
ROLES = "lead|dev|qa|scout|debugger|architect|docs|qa-author"
ISSUES: dict[str, Notation] = {"pre_existing_issues?": [{"test": "text", "file": "text", "error": "text"}]}
DETAIL: dict[str, Notation] = {
    "id": "id",
    "status": "PASS|FAIL|WARN",
    "category?": "must_have|artifact|key_link|anti_pattern|convention|requirement|skill_augmented",
    "description?": "text",
    "evidence?": "text",
    "exists?": "bool",
    **texts("contains? from? to? via? file? detail? plan_ref?"),
}


def changed(table: Table, *rows: Row) -> tuple[Row, ...]:
    """The rows of the table, with these in the place of those of their name, or after them."""
    new = {row.type: row for row in rows}
    return (*(new.pop(row.type, row) for row in table.rows), *new.values())


def with_fields(table: Table, type_: str, fields: dict[str, Notation], sample: dict[str, Any] | None = None) -> Row:
    row = table.row(type_)
    return row._replace(fields={**row.fields, **fields}, sample=row.sample if sample is None else sample)


VBW_TYPED_2_1 = VBW_TYPED._replace(
    name="vbw-typed@2.1",
    version="2.1",
    before=VBW_TYPED,
    roles=f"{VBW_TYPED.roles} qa-author",
    envelope={**VBW_TYPED.envelope, "author_role": ROLES, "target_role?": ROLES},
    rows=changed(
        VBW_TYPED,
        VBW_TYPED.row("plan_contract")._replace(receivers="dev qa scout debugger docs qa-author"),
        VBW_TYPED.row("contract_close")._replace(receivers="lead architect dev qa scout debugger docs qa-author"),
        with_fields(VBW_TYPED, "execution_update", ISSUES),
        with_fields(VBW_TYPED, "blocker_report", ISSUES),
        with_fields(
            VBW_TYPED,
            "qa_verdict",
            {**ISSUES, "plans_verified?": ["text"], "checks_detail?": [DETAIL]},
            sample={"result": "FAIL", "checks": checks(1, 0, 1)},
        ),
        row(
            "debugger_report | debugger | lead | STATUS",
            {
                "hypothesis": "text",
                "evidence_for": ["text"],
                "evidence_against": ["text"],
                "confidence": "high|medium|low",
                "resolution_observation": "already_fixed|needs_change|inconclusive",
                "recommended_fix": "text",
                **ISSUES,
            },
        ),
        row(
            "tests_ready | qa-author | lead dev | STATUS",
            {"plan_id": "text", "test_files": ["text"], "failing_test_count": "0..", "test_command": "text"},
        ),
        VBW_TYPED.row("shutdown_request")._replace(receivers=TEAMMATES),
        row(
            f"shutdown_response | {TEAMMATES} | lead | VALIDATION",
            {
                "request_id": "text",
                "approved": "bool",
                "final_status": "complete|idle|in_progress",
                "pending_work?": "text",
            },
        ),
    ),
)
ROWS = [{"id": "a", "status": "PASS"}, {"id": "b", "status": "FAIL"}, {"id": "c", "status": "WARN"}]
VBW_TYPED_2_1_RULES = [
    Rule(
        "qa_verdict",
        "checks-contradict-detail",
        f"$.payload.checks.{counter}",
        "refusal",
        broken=[{"result": "FAIL", "checks": wrong, "checks_detail": ROWS}],
        kept=[
            {"result": "FAIL", "checks": checks(1, 1, 3), "checks_detail": ROWS},
            {"result": "FAIL", "checks": wrong, "checks_detail": []},
            {"result": "FAIL", "checks": wrong, "checks_detail": ABSENT},
        ],
    )
    for counter, wrong in (("passed", checks(0, 1, 3)), ("failed", checks(1, 0, 3)), ("total", checks(1, 1, 4)))
] + [
    Rule(
        "blocker_report",
        "debugger-sends-blocker",
        "$.author_role",
        "warning",
        broken=[{"author_role": "debugger"}],
        kept=[{"author_role": "dev"}, {"author_role": "docs"}],
    )
]

THREE_TIERS = f"{MAKERS} grunt senior"
SIGNAL_MD_1_1 = SIGNAL_MD._replace(
    name="signal-md@1.1",
    version="1.1",
    before=SIGNAL_MD,
    roles=f"{SIGNAL_MD.roles} grunt senior",
    rows=changed(
        SIGNAL_MD,
        SIGNAL_MD.row("worker_submission")._replace(senders=THREE_TIERS),
        SIGNAL_MD.row("review_verdict")._replace(
            fields={
                "signal": "pass|pass_with_notes|fail|blocked|escalate",
                "critical_count": "0..",
                "moderate_count": "0..",
                "minor_count": "0..",
                "ac_coverage?": {"*": "pass|fail"},
            }
        ),
        *(
            SIGNAL_MD.row(type_)._replace(receivers=THREE_TIERS)
            for type_ in ("task_assignment", "revision_request", "approval")
        ),
    ),
)
HIGH = {"security_findings.high": 1}
SIGNAL_MD_1_1_RULES = [
    Rule("audit_verdict", "audit-means-fail", "$.signal", "refusal",
        broken=[{"signal": signal, **grave} for signal in PASSES for grave in (*GRAVE, HIGH)],
        kept=[{"signal": "fail", **grave} for grave in (*GRAVE, HIGH)] + [{"signal": "pass",
            "security_findings.medium": 3}]),
]  # fmt: skip

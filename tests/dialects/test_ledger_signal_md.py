"""What the signal-md page promises beside its types and hard rules: its form, its YAML, its signals, its defaults."""

from itertools import product
from typing import Any

import pytest

from telex.model.finding import refusals
from telex.validation.check import CheckResult, check
from tests.proofs import proves
from tests.tables import SIGNAL_MD
from tests.tables.notation import Row, message, without
from tests.tables.signal_md import AGENTS, SAID_BY, SAID_TO

REQUEST = "type: research_request\nsignal: research\ntopic: mail"


def read(front: str, body: str = "") -> CheckResult:
    return check(f"---\n{front}\n---\n{body}".encode())


def refused(checked: CheckResult) -> list[tuple[str, str]]:
    return [(finding.code, finding.path) for finding in refusals(checked.findings)]


# --- form and YAML ------------------------------------------------------------------------------------------------


@proves("signal-md/form", "common/ladder/front-matter")
def test_front_matter_and_a_body_are_read_as_fields_and_markdown() -> None:
    body = "Which service?\n\nWhy: one is used.\n\nWhere: docs.\n\n- one\n"
    checked = read(REQUEST, body)
    assert (checked.dialect, checked.type, checked.findings) == (SIGNAL_MD.dialect, "research_request", ())
    assert checked.tree == {"type": "research_request", "signal": "research", "topic": "mail"}
    assert checked.body == body


@proves("signal-md/form/dashes-in-the-body")
def test_dashes_in_the_body_belong_to_the_body() -> None:
    body = "One\n\n---\n\ntype: approval\n---\nTwo\n"
    assert read(REQUEST, body).body == body


@proves("signal-md/form/never-closed")
def test_front_matter_that_is_never_closed_is_told_as_such() -> None:
    assert refused(check(f"---\n{REQUEST}\n\nWhich service?\n".encode())) == [("front-matter-not-closed", "$")]


@pytest.mark.parametrize(
    "front, code, path", [
        pytest.param(f"{REQUEST} \nx: !!python/object:os.system y", "yaml-tag", "$.x",
            marks=proves("signal-md/yaml/no-tags")),
        pytest.param(f"{REQUEST}\nx: !!str y", "yaml-tag", "$.x", marks=proves("signal-md/yaml/no-tags")),
        pytest.param(f"{REQUEST}\nx: &a y", "yaml-anchor", "$.x", marks=proves("signal-md/yaml/no-anchors")),
        pytest.param(f"{REQUEST}\nx: *a", "yaml-alias", "$.x", marks=proves("signal-md/yaml/no-aliases")),
        pytest.param(f"{REQUEST}\ntopic: again", "duplicate-key", "$.topic",
            marks=proves("signal-md/yaml/no-duplicate-keys")),
        pytest.param(f"{REQUEST}\nx:\n  y: 1\n  y: 2", "duplicate-key", "$.x.y",
            marks=proves("signal-md/yaml/no-duplicate-keys")),
    ],
)  # fmt: skip
def test_what_front_matter_may_not_hold_is_refused_where_it_stands(front: str, code: str, path: str) -> None:
    checked = read(front)
    assert not checked.valid
    assert (code, path) in refused(checked)


@proves("signal-md/yaml/no-aliases")
def test_a_bomb_of_aliases_does_not_grow() -> None:
    bomb = "\n".join(f"x{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 9) if n else 'lol'}]" for n in range(12))
    checked = read(f"{REQUEST}\n{bomb}")
    assert {"yaml-alias", "yaml-anchor"} <= {code for code, _ in refused(checked)}
    assert len(repr(checked.tree)) < 10_000


@proves("signal-md/yaml/text-stays-text")
@pytest.mark.parametrize("written", ["no", "on", "1_000", "12:30", "010", "0x1F", "2026-01-01", "nullable", "1e3"])
def test_a_text_field_holds_what_was_written_in_it(written: str) -> None:
    checked = read(f"type: research_request\nsignal: research\ntopic: {written}")
    assert (checked.tree["topic"], refused(checked)) == (written, [])


@pytest.mark.parametrize("written", ["010", "0x10", "1_000", "12:30", "no", "3.5", "'3'", "3.0", "three", "[3]"])
@proves("signal-md/type/triage_result")
def test_a_number_is_never_guessed(written: str) -> None:
    checked = read(f"type: triage_result\nsignal: triage_complete\ntier: {written}\nresearch_needed: false")
    assert refused(checked) in ([("scalar-ambiguous", "$.tier")], [("wrong-type", "$.tier")])


@pytest.mark.parametrize("written", ["no", "on", "yes", "1", "'true'", "perhaps"])
@proves("signal-md/type/research_result")
def test_a_truth_value_is_true_or_false_and_nothing_like_it(written: str) -> None:
    checked = read(f"type: research_result\nsignal: research_complete\ntopic: mail\nverified: {written}")
    assert refused(checked) == [("wrong-type", "$.verified")]


# --- signals ------------------------------------------------------------------------------------------------------

TO_ORCHESTRATOR = [row for row in SIGNAL_MD.rows if row.receivers == "orchestrator"]


def says(type_: str, signal: str, as_role: str | None = None, to_role: str | None = None) -> CheckResult:
    tree = message(SIGNAL_MD, SIGNAL_MD.row(type_)) | {"signal": signal}
    return check(SIGNAL_MD.wire(tree), as_role=as_role, to_role=to_role)


@pytest.mark.parametrize(
    "signal, roles", [pytest.param(*pair, marks=proves(f"signal-md/signal/{pair[0]}")) for pair in SAID_BY.items()]
)
def test_a_signal_is_said_by_these_roles_and_by_no_other(signal: str, roles: str) -> None:
    speakers = {
        role
        for role, row in product([*AGENTS.split(), "orchestrator"], SIGNAL_MD.rows)
        if says(row.type, signal, as_role=role).valid
    }
    assert speakers == set(roles.split())


@pytest.mark.parametrize(
    "signal", [pytest.param(name, marks=proves(f"signal-md/signal/{name}")) for name in ("blocked", "escalate")]
)
def test_an_agent_may_be_stuck_on_every_type_that_goes_to_the_orchestrator(signal: str) -> None:
    for row in SIGNAL_MD.rows:
        assert says(row.type, signal).valid is (row in TO_ORCHESTRATOR), row.type


@pytest.mark.parametrize(
    "signal, roles", [pytest.param(*pair, marks=proves(f"signal-md/signal/{pair[0]}")) for pair in SAID_TO.items()]
)
def test_the_orchestrator_says_a_signal_to_these_roles_and_to_no_other(signal: str, roles: str) -> None:
    listeners = {
        role
        for role, row in product([*AGENTS.split(), "orchestrator"], SIGNAL_MD.rows)
        if not says(row.type, signal, as_role="orchestrator", to_role=role).findings
    }
    assert listeners == set(roles.split())


@proves("signal-md/signal/of-its-type")
@pytest.mark.parametrize("row", SIGNAL_MD.rows, ids=lambda row: row.type)
def test_a_signal_of_another_type_is_refused_and_those_there_are_are_named(row: Row) -> None:
    own = str(row.fields["signal"]).removeprefix("=").split("|")
    for signal in {*SAID_BY, *SAID_TO} - set(own):
        checked = says(row.type, signal)
        found = [finding for finding in refusals(checked.findings) if finding.path == "$.signal"]
        assert [finding.code for finding in found] == ["not-one-of"]
        assert all(name in str(found[0].expected) for name in own)


# --- defaults, spelling, sections -----------------------------------------------------------------------------------


@proves("signal-md/rule/default-filled")
@pytest.mark.parametrize("iteration, severity", [(1, "all"), (3, "all"), (4, "critical"), (5, "critical")])
def test_what_a_revision_leaves_out_is_filled_in_by_its_iteration(iteration: int, severity: str) -> None:
    checked = read(f"type: revision_request\nsignal: revise\niteration: {iteration}", "## From the reviewer\n")
    filled = {"max_iterations": 5, "fix_severity": severity}
    assert checked.valid
    assert [(f.code, f.path, f.severity) for f in checked.findings] == [
        ("default-filled", f"$.{name}", "note") for name in filled
    ]
    assert filled.items() <= checked.tree.items()


@proves("signal-md/rule/exact-spelling")
@pytest.mark.parametrize("written", ["PASS", "Pass", "pass ", "Pass_With_Notes"])
def test_an_enum_in_another_case_is_refused_and_fixed(written: str) -> None:
    counts = "critical_count: 0\nmoderate_count: 0\nminor_count: 0\nac_coverage: {}"
    checked = read(f"type: review_verdict\nsignal: '{written}'\n{counts}")
    assert refused(checked) == [("not-one-of", "$.signal")]
    assert checked.fixed is not None
    assert checked.fixed["signal"] == checked.findings[0].nearest == written.strip().lower()


# What each type's body is asked to contain, and a body that follows the page without a heading that it does not name.
BODIES = {
    "worker_submission": (["## Result", "## Self-Assessment"], "## Result\nDone.\n\n## Self-Assessment\nAC1 is met.\n"),
    "review_verdict": (["## Findings", "## AC Coverage"],
        "MODERATE\n- Two names say too little.\n\nAC1: met.\n\nFine.\n"),
    "audit_verdict": (["## Runtime"], "CLEAN\n\n## Runtime\n31 tested, 31 passed.\n"),
    "triage_result": (["## Triage", "## Research Questions"],
        "## Triage\nTier 2.\n\nResearch questions:\n1. Which one?\n"),
    "plan_result": ([], "Three waves.\n"),
    "research_result": (["## Answer", "## Verified Facts"],
        "**Answer:** the second.\n\n**Verified facts:** docs/mail.md\n"),
    "task_assignment": (["## Acceptance Criteria", "## Context", "## Files"],
        "Add it.\n\nAcceptance criteria:\n- AC1\n\nContext: none.\n\nFiles to modify: src/a.py\n"),
    "revision_request": (["## From the reviewer"], "### Auditor\n- A token is logged.\n"),
    "approval": ([], ""),
    "triage_request": ([], "Let people reset their password.\n"),
    "architecture_request": (["## Research Context"], "No research needed — proceed.\n"),
    "research_request": (["## Why it matters", "## Where to look"],
        "Which service can send templates? It gates the second wave. See docs/mail.md.\n"),
}  # fmt: skip
COUNTED = {"moderate_count": 2}  # so that there are findings to list


def sections_missed(row: Row, body: str, **changes: Any) -> list[str | None]:
    checked = check(SIGNAL_MD.wire(message(SIGNAL_MD, row) | changes, body))
    assert checked.valid
    found = [finding for finding in checked.findings if finding.path == "$.body"]
    assert {(finding.code, finding.severity) for finding in found} <= {("section-missing", "warning")}
    return [finding.expected for finding in found]


@proves("signal-md/rule/section-missing")
@pytest.mark.parametrize("row", SIGNAL_MD.rows, ids=lambda row: row.type)
def test_a_body_that_the_page_describes_is_missed_but_never_refused(row: Row) -> None:
    sections, good = BODIES[row.type]
    changes = COUNTED if row.type == "review_verdict" else {}
    assert sections_missed(row, good, **changes) == []
    assert sections_missed(row, "\n\nDone.\n\n".join(sections) or good, **changes) == []
    assert sections_missed(row, " \n", **changes) == sections or (good and len(sections_missed(row, "")) == 1)
    if sections:
        assert sections_missed(row, "\n\n".join([*sections[1:], "Well."]), **changes) == sections[:1]
        assert sections_missed(row, "Well. " + " ".join(sections).replace("#", "of"), **changes) == sections


@proves("signal-md/rule/section-missing")
def test_a_section_is_asked_for_only_where_there_is_something_to_say() -> None:
    review, triage = SIGNAL_MD.row("review_verdict"), SIGNAL_MD.row("triage_result")
    assert sections_missed(review, "Nothing found.", ac_coverage={}) == []
    assert sections_missed(review, "The branch is gone.", signal="blocked", **COUNTED) == []
    nothing_to_ask = without(message(SIGNAL_MD, triage, research_needed=False), ("research_count",))
    assert check(SIGNAL_MD.wire(nothing_to_ask, "## Triage\nTier 0.")).findings == ()

"""Is a message with one thing wrong refused at that very place, and is what is offered instead really acceptable?"""

import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from telex.dialects.builtin.vbw import VBW_COMPANY, VBW_HANDOFF
from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import Dialect
from telex.dialects.write import write
from telex.model.finding import refusals
from telex.validation.check import CheckPolicy, CheckResult, check
from tests.dialects.damage import Damaged, blanks, damage, filled

EVERY_DIALECT = pytest.mark.parametrize("dialect", BUILT_IN, ids=lambda dialect: dialect.name)


ANY_DAMAGE = {dialect.name: damage(dialect) for dialect in BUILT_IN}
LEFT_OUT = {dialect.name: damage(dialect, "removed") for dialect in BUILT_IN}
MISSPELT = {dialect.name: damage(dialect, "misspelt") for dialect in BUILT_IN}
MISFIT = {dialect.name: damage(dialect, "retyped", "too far") for dialect in BUILT_IN}


def read(damaged: Damaged) -> CheckResult:
    return check(damaged.raw, CheckPolicy(forced=damaged.dialect))


def told(checked: CheckResult) -> set[tuple[str, str]]:
    return {(finding.code, finding.path) for finding in refusals(checked.findings)}


def rules_of(dialect: Dialect) -> set[str]:
    return {rule.code for type_ in dialect.types.values() for rule in (*dialect.rules, *type_.rules)}


@EVERY_DIALECT
@given(data=st.data())
def test_a_field_left_out_is_refused_at_its_place_unless_it_may_be(dialect: Dialect, data: st.DataObject) -> None:
    case = data.draw(LEFT_OUT[dialect.name])
    checked = read(case)
    if case.place.field.required:
        assert not checked.valid
        assert {code for code, path in told(checked) if path == case.path} <= {"field-missing", "type-missing"}
        assert case.path in {path for _, path in told(checked)}
    else:
        assert {code for code, _ in told(checked)} <= rules_of(dialect)


@EVERY_DIALECT
@given(data=st.data())
def test_a_field_misspelt_is_refused_at_its_place_or_noted_when_it_is_optional(
    dialect: Dialect, data: st.DataObject
) -> None:
    case = data.draw(MISSPELT[dialect.name])
    checked = read(case)
    if case.place.field.required:
        assert not checked.valid
        assert case.path in {path for _, path in told(checked)}
    else:
        assert ("field-unknown", case.path, "note") in {(f.code, f.path, f.severity) for f in checked.findings}


@EVERY_DIALECT
@given(data=st.data())
def test_a_value_of_another_kind_or_out_of_range_is_refused_at_its_place(dialect: Dialect, data: st.DataObject) -> None:
    case = data.draw(MISFIT[dialect.name])
    checked = read(case)
    assert not checked.valid
    assert case.path in {path for _, path in told(checked)}


@EVERY_DIALECT
@given(data=st.data())
def test_a_fixed_message_passes_its_own_check_and_needs_no_second_fixing(dialect: Dialect, data: st.DataObject) -> None:
    case = data.draw(ANY_DAMAGE[dialect.name])
    role = data.draw(st.none() | st.sampled_from(dialect.roles))
    fixes_for_good(case.raw, CheckPolicy(forced=dialect), role)


def fixes_for_good(raw: bytes, policy: CheckPolicy, role: str | None) -> None:
    checked = check(raw, policy, as_role=role)
    if checked.fixed is None:
        return
    assert checked.dialect is not None
    again = check(write(checked.dialect, checked.fixed, checked.body).encode(), policy, as_role=role)
    assert refusals(again.findings) == []
    assert (again.type, again.tree) == (checked.type, checked.fixed)
    assert again.fixed in (None, checked.fixed)


ESCALATION = VBW_COMPANY.types["escalation"].example
SCOUT = VBW_HANDOFF.types["scout_findings"].example
REVIEW = VBW_COMPANY.types["code_review_result"].example


@pytest.mark.parametrize(
    "tree, role",
    [
        (SCOUT | {"documents": {"a": "b"}}, None),  # an object where a list of others belongs
        (REVIEW | {"cycle": "9" * 20}, None),  # a number in disguise, and too large for any reader
        (REVIEW | {"cycle": 1e19}, None),
        (ESCALATION | {"from": "lead", "to": "architect"}, "senior"),  # signed anew, it would skip a step
        (ESCALATION | {"from": "lead", "to": "architect"}, "lead"),
    ],
)
def test_a_fix_that_was_once_wrong_is_right(tree: dict, role: str | None) -> None:
    fixes_for_good(json.dumps(tree).encode(), CheckPolicy(), role)


@EVERY_DIALECT
@given(data=st.data())
def test_a_skeleton_is_refused_for_its_blanks_and_for_nothing_new(dialect: Dialect, data: st.DataObject) -> None:
    case = data.draw(ANY_DAMAGE[dialect.name])
    checked = read(case)
    if checked.skeleton is None:
        return
    assert checked.fixed is None
    again = check(write(dialect, checked.skeleton, checked.body).encode(), CheckPolicy(forced=dialect))
    new = told(again) - told(checked)
    assert {code for code, _ in new} <= {"blank-left"}
    assert {path for code, path in told(again) if code == "blank-left"} == set(blanks(checked.skeleton))


@EVERY_DIALECT
@given(data=st.data())
def test_a_skeleton_passes_once_its_blanks_are_filled(dialect: Dialect, data: st.DataObject) -> None:
    case = data.draw(ANY_DAMAGE[dialect.name])
    checked = read(case)
    if checked.skeleton is None:
        return
    tree = filled(checked.skeleton, case.whole)
    assume(not blanks(tree))  # one is left when a value was fixed to another than was meant, and that needs more
    again = check(write(dialect, tree, checked.body).encode(), CheckPolicy(forced=dialect))
    left = rules_of(dialect) | {"role-may-not-send", "role-may-not-receive"}  # only the sender can say what is meant
    assert told(again) <= {(code, path) for code, path in told(checked) if code in left}


@EVERY_DIALECT
@given(data=st.data())
def test_strict_and_lenient_find_the_same(dialect: Dialect, data: st.DataObject) -> None:
    case = data.draw(ANY_DAMAGE[dialect.name])
    strict, lenient = (check(case.raw, CheckPolicy(strict=strict)) for strict in (True, False))
    assert strict.findings == lenient.findings
    assert (strict.fixed, strict.skeleton) == (lenient.fixed, lenient.skeleton)
    assert strict.valid is (not refusals(strict.findings))
    assert lenient.valid

"""Whatever arrives, is there an answer: no exception, places that can be found, and offers that keep their word?"""

import json
from typing import get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from telex.dialects.registry import BUILT_IN, PLAIN
from telex.dialects.schema import Dialect
from telex.dialects.write import write
from telex.model.finding import Severity, refusals
from telex.model.limits import LIMITS
from telex.validation.check import NEVER_PASSED, CheckPolicy, CheckResult, check
from tests.dialects.arbitrary import ANY_BYTES, ANY_JSON, FRONT_MATTER, NEARLY_MESSAGES, SOUP, ascii_json

DESKS = [
    CheckPolicy(),
    CheckPolicy(preferred="vbw-company"),
    *(CheckPolicy(forced=dialect) for dialect in (*BUILT_IN, PLAIN)),
]
ANY_DESK = st.sampled_from(DESKS)
ANY_ROLE = st.none() | st.sampled_from(["lead", "dev", "worker", "cto", "human", "", "no such role"])


def is_an_answer(checked: CheckResult) -> None:
    assert isinstance(checked, CheckResult)
    assert len(checked.findings) <= LIMITS.findings_max
    for finding in checked.findings:
        assert finding.path.startswith("$")
        assert finding.severity in get_args(Severity)
        assert finding.say
        assert len(finding.found or "") <= LIMITS.found_characters_max
    assert checked.valid is not bool(refusals(checked.findings))
    assert checked.fixed is None or checked.skeleton is None


@given(ANY_BYTES, ANY_DESK, ANY_ROLE, ANY_ROLE)
@example(b'{"type": ["x"]}', CheckPolicy(), None, None)
@example(b'{"type": {}}', CheckPolicy(), None, None)
@example(b'{"type": "approval", "type": "approval"}', CheckPolicy(), None, None)
def test_any_bytes_get_an_answer(raw: bytes, policy: CheckPolicy, speaker: str | None, listener: str | None) -> None:
    is_an_answer(check(raw, policy, as_role=speaker, to_role=listener))


@given(ANY_JSON, ANY_DESK)
def test_any_json_gets_an_answer(raw: bytes, policy: CheckPolicy) -> None:
    is_an_answer(check(raw, policy))


@given(SOUP | FRONT_MATTER, ANY_DESK)
def test_any_text_with_fences_braces_and_dashes_gets_an_answer(raw: bytes, policy: CheckPolicy) -> None:
    is_an_answer(check(raw, policy))


@given(st.text(max_size=40))
def test_text_as_it_is_in_python_is_taken_too(text: str) -> None:
    assert check(text) == check(text.encode())


@given(ANY_BYTES, ANY_DESK)
def test_strict_and_lenient_find_the_same_in_anything(raw: bytes, policy: CheckPolicy) -> None:
    strict, lenient = check(raw, policy), check(raw, policy._replace(strict=False))
    assert (strict.findings, strict.fixed, strict.skeleton) == (lenient.findings, lenient.fixed, lenient.skeleton)
    assert lenient.valid is not any(finding.code in NEVER_PASSED for finding in refusals(lenient.findings))


@pytest.mark.parametrize("dialect", BUILT_IN, ids=lambda dialect: dialect.name)
@given(data=st.data())
def test_what_is_offered_for_anything_can_be_sent_and_keeps_its_word(dialect: Dialect, data: st.DataObject) -> None:
    raw = data.draw(FRONT_MATTER if dialect.form == "front-matter" else NEARLY_MESSAGES.map(ascii_json))
    policy = CheckPolicy(forced=dialect)
    checked = check(raw, policy)
    offered = checked.fixed if checked.fixed is not None else checked.skeleton
    if offered is None:
        return
    again = check(write(dialect, offered, checked.body).encode(), policy)
    known = {(finding.code, finding.path) for finding in refusals(checked.findings)}
    new = {(finding.code, finding.path) for finding in refusals(again.findings)} - known
    if checked.fixed is not None:
        assert refusals(again.findings) == []
    assert {code for code, _ in new} <= {"blank-left"} | rules_of(dialect)


def rules_of(dialect: Dialect) -> set[str]:
    """A rule says nothing while a field it looks at is in doubt, so fixing that field may wake it."""
    return {rule.code for type_ in dialect.types.values() for rule in (*dialect.rules, *type_.rules)}


@given(NEARLY_MESSAGES)
def test_an_answer_can_be_written_as_json(tree: dict) -> None:
    checked = check(ascii_json(tree))
    json.dumps([finding._asdict() for finding in checked.findings]).encode()
    json.dumps([checked.fixed, checked.skeleton], allow_nan=True).encode()

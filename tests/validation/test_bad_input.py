"""Whatever arrives: does each kind of bad input get its finding, quickly, and never a traceback, a hang or a guess?"""

import json
from typing import Any

import pytest

from telex.dialects.builtin.vbw import VBW_HANDOFF
from telex.model.finding import refusals
from telex.model.limits import LIMITS
from telex.validation import fields as field_walker
from telex.validation.check import NEVER_PASSED, CheckPolicy, check
from tests.proofs import proves
from tests.tables import VBW_TYPED
from tests.tables.notation import message

UPDATE = message(VBW_TYPED, VBW_TYPED.row("execution_update"), bare=True)
HANG_SECONDS = 60  # each takes a millisecond, or some for a megabyte: this stops what hangs, and no busy machine


def bad(line: str, raw: bytes, code: str, path: str = "$") -> Any:
    return pytest.param(raw, code, path, marks=proves(f"common/bad-input/{line}"), id=f"{line} {code} {path}")


def with_json(field: str, value: str) -> bytes:
    """The message with a piece of JSON in one field, as it was written."""
    return json.dumps(UPDATE | {field: "@"}).replace('"@"', value).encode()


def front_matter(fields: str, type_: str = "triage_result\nsignal: triage_complete\nresearch_needed: false") -> bytes:
    return f"---\ntype: {type_}\n{fields}\n---\n".encode()


NESTED = 100_000
ASSIGNMENT = "task_assignment\nsignal: execute"
CASES = [
    bad("not-utf8", b'{"type": "caf\xe9"}', "not-utf8"),
    bad("not-utf8", '{"type": "approval"}'.encode("utf-16"), "not-utf8"),
    bad("not-utf8", b"\xed\xa0\x80", "not-utf8"),
    bad("lone-surrogate", with_json("task", '"\\ud800"'), "lone-surrogate", "$.task"),
    bad("lone-surrogate", with_json("mood", '{"a\\udfff": 1}'), "lone-surrogate", '$.mood["a\\udfff"]'),
    bad("nul", b"a\x00b", "nul-byte"),
    bad("nul", with_json("task", '"a\\u0000b"'), "nul-byte", "$.task"),
    bad("not-finite", with_json("phase", "NaN"), "number-not-finite", "$.phase"),
    bad("not-finite", with_json("mood", "[-Infinity]"), "number-not-finite", "$.mood[0]"),
    bad("not-finite", with_json("mood", "1e999"), "number-not-finite", "$.mood"),
    bad("integer-beyond-64-bits", with_json("phase", str(2**63)), "integer-too-large", "$.phase"),
    bad("integer-beyond-64-bits", with_json("mood", "9" * 5_000), "integer-too-large", "$.mood"),
    bad("integer-beyond-64-bits", front_matter(f"wave: {2**63}", ASSIGNMENT), "integer-too-large", "$.wave"),
    bad("integer-beyond-64-bits", front_matter(f"wave: {2**80}", ASSIGNMENT), "integer-too-large", "$.wave"),
    bad("float-for-integer", with_json("phase", "1.5"), "wrong-type", "$.phase"),
    bad("float-for-integer", with_json("phase", "1.0"), "wrong-type", "$.phase"),
    bad("float-for-integer", with_json("phase", "1e0"), "wrong-type", "$.phase"),
    bad("duplicate-key", with_json("task", '"a", "task": "b"'), "duplicate-key", "$.task"),
    bad("duplicate-key", with_json("payload", '{"x": [{"y": 1, "y": 1}]}'), "duplicate-key", "$.payload.x[0].y"),
    bad("too-deep", b'{"type": ' + b"[" * NESTED, "too-deep"),
    bad("too-deep", b"[" * NESTED + b"]" * NESTED, "too-deep"),
    bad("too-deep", b'{"a":' * NESTED + b"1" + b"}" * NESTED, "too-deep"),
    bad("too-deep", with_json("mood", "[" * 100 + "]" * 100), "too-deep", "$.mood" + "[0]" * 63),
    bad("too-deep", front_matter("tier: 1\nx: " + "[" * 10_000 + "]" * 10_000), "too-deep", "$.x" + "[0]" * 63),
    bad("too-large", json.dumps(UPDATE | {"task": "x" * 10_000_000}).encode(), "too-large"),
    bad("empty", b"", "empty-message"),
    bad("empty", b" \n\t\r\n", "empty-message"),
    bad("empty", b"\xef\xbb\xbf", "empty-message"),
    bad("not-an-object", b'[{"type": "approval"}]', "not-an-object"),
    bad("cut-short", json.dumps(UPDATE)[:-40].encode(), "not-json"),
    bad("cut-short", b'{"type": "approval"', "not-json"),
    bad("yaml-number", front_matter("tier: 010"), "scalar-ambiguous", "$.tier"),
    bad("yaml-number", front_matter("tier: 1_0"), "scalar-ambiguous", "$.tier"),
    bad("yaml-number", front_matter("tier: 0:3"), "scalar-ambiguous", "$.tier"),
    bad("yaml-tab", front_matter("tier:\n\t2"), "yaml-tab", "$.tier"),
    bad("never-closed", b"---\ntype: approval\nsignal: lgtm\n", "front-matter-not-closed"),
]


@pytest.mark.timeout(HANG_SECONDS)
@pytest.mark.parametrize("raw, code, path", CASES)
def test_bad_input_gets_its_finding_at_once(raw: bytes, code: str, path: str) -> None:
    checked = check(raw)
    assert (code, path) in [(finding.code, finding.path) for finding in refusals(checked.findings)]
    assert not checked.valid


@proves("common/bad-input/too-large")
def test_the_limit_is_told_and_can_be_changed() -> None:
    raw = VBW_TYPED.wire(UPDATE)
    assert check(raw.ljust(LIMITS.message_bytes_max)).valid
    [finding] = check(raw.ljust(LIMITS.message_bytes_max + 1)).findings
    assert (finding.code, finding.expected) == ("too-large", "1,048,576 bytes")
    assert check(raw, CheckPolicy(limits=LIMITS._replace(message_bytes_max=len(raw)))).valid
    assert not check(raw, CheckPolicy(limits=LIMITS._replace(message_bytes_max=len(raw) - 1))).valid


@proves("common/bad-input/never-passed")
@pytest.mark.parametrize(
    "raw", [b"", b"\xff", b"a\x00", b"x" * 2_000_000], ids=["empty", "not utf-8", "nul", "too large"]
)
def test_what_is_no_text_at_all_passes_no_desk_however_lenient(raw: bytes) -> None:
    checked = check(raw, CheckPolicy(strict=False))
    assert not checked.valid
    assert {finding.code for finding in checked.findings} <= NEVER_PASSED


@proves("common/bad-input/many-findings")
def test_a_message_with_a_million_flaws_gets_an_answer_of_modest_size() -> None:
    payload = {"plan_id": "p", "task_id": "t", "status": "x", "commit": "c", "concerns": [1] * 100_000}
    checked = check(json.dumps(UPDATE | {"payload": payload}).encode())
    assert len(checked.findings) <= LIMITS.findings_max
    assert sum(len(finding.say) + len(finding.found or "") for finding in checked.findings) < 100_000


@proves("common/bad-input/refusal-not-hidden")
def test_a_refusal_is_not_hidden_by_notes() -> None:
    notes = {f"extra{number}": 1 for number in range(LIMITS.findings_max + 1)}
    progress = VBW_HANDOFF.types["dev_progress"].example | {"status": "complete", "commit": ""}
    documents = [{"name": "a", "content": "b", **notes}, {"name": 5, "content": "b"}]
    findings = VBW_HANDOFF.types["scout_findings"].example | {"documents": documents}
    for tree, code in ((progress | notes, "complete-without-commit"), (findings, "wrong-type")):
        checked = check(json.dumps(tree))
        assert not checked.valid
        assert (checked.findings[0].code, len(checked.findings)) == (code, LIMITS.findings_max)


@proves("common/bad-input/unknown-fields")
def test_unknown_fields_are_compared_only_as_long_as_they_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []
    monkeypatch.setattr(field_walker, "nearest", lambda name, choices: compared.extend([name, *choices]))
    fields = {f"extra{number}": 1 for number in range(10_000)}
    assert check(json.dumps(VBW_HANDOFF.types["dev_progress"].example | fields)).valid
    assert len(compared) <= 2 * LIMITS.findings_max


@proves("common/bad-input/several-messages")
@pytest.mark.parametrize("glue", ["\n", "\n\n", ""])
def test_two_messages_in_one_are_refused_and_neither_is_guessed(glue: str) -> None:
    text = json.dumps(UPDATE)
    checked = check(f"{text}{glue}{text}".encode())
    assert [(finding.code, finding.path) for finding in refusals(checked.findings)] == [("several-messages", "$")]
    assert checked.fixed is None

"""What careless, unlucky and hostile senders write: is each answered, at once, with a finding and never with a guess?

`test_bad_input` has what is refused for what it is; here are the ways in which it arrives, and a mebibyte of anything.
"""

import json

import pytest

from telex.dialects.builtin.build_flow import BUILD_FLOW
from telex.dialects.builtin.signal_md import SIGNAL_MD
from telex.dialects.builtin.vbw import VBW_COMPANY, VBW_HANDOFF
from telex.dialects.builtin.vbw_typed import VBW_TYPED
from telex.dialects.registry import by_name
from telex.dialects.write import write
from telex.generate.codes import check_explanations, example_text
from telex.model.finding import refusals
from telex.model.limits import LIMITS
from telex.validation.check import CheckPolicy, CheckResult, check
from tests.generate.test_codes import speaks_badly

PROGRESS = json.dumps(VBW_HANDOFF.types["dev_progress"].example)
APPROVAL = example_text(SIGNAL_MD, "approval")
SUBMISSION = example_text(SIGNAL_MD, "worker_submission")
TRIAGE = example_text(SIGNAL_MD, "triage_result")
RESEARCH = example_text(SIGNAL_MD, "research_request")
MEBIBYTE = LIMITS.message_bytes_max


def codes(checked: CheckResult) -> list[str]:
    return [finding.code for finding in checked.findings]


# --- values that are nearly right -----------------------------------------------------------------------------------


def with_value(field: str, value: object) -> str:
    return example_text(VBW_TYPED, "execution_update", {field: value})


@pytest.mark.parametrize(
    "field, value, code",
    [
        ("status", "COMPLETE", "not-one-of"), ("status", "Complete", "not-one-of"),
        ("status", " complete", "not-one-of"), ("status", "compelte", "not-one-of"),
        ("status", "done", "not-one-of"), ("status", "", "not-one-of"),
        ("status", "complete|partial|failed", "placeholder-left"),
        ("status", "complete | partial", "placeholder-left"),
        ("status", "<complete|partial|failed>", "placeholder-left"),
        ("type", "dev_progress|dev_blocker", "placeholder-left"), ("type", "Execution-Update", "type-unknown"),
        ("type", "", "type-missing"), ("type", 7, "wrong-type"), ("type", True, "wrong-type"),
        ("type", [], "wrong-type"), ("type", {}, "wrong-type"), ("commit", "<fill: text>", "blank-left"),
        ("timestamp", "2026-02-12T10:00:00", "timestamp-without-zone"),
        ("timestamp", "2026-02-12", "timestamp-without-time"),
        ("timestamp", "2026-02-30T10:00:00Z", "timestamp-impossible"),
        ("timestamp", "2026-13-01T10:00:00Z", "timestamp-impossible"),
        ("timestamp", "2026-02-12T25:00:00Z", "timestamp-impossible"),
        ("timestamp", "2026-02-12T10:00:00+25:00", "timestamp-impossible"),
        ("timestamp", "yesterday", "timestamp-malformed"), ("timestamp", "12/02/2026", "timestamp-malformed"),
        ("timestamp", "٢٠٢٦-02-12T10:00:00Z", "timestamp-malformed"), ("timestamp", 1770890400, "wrong-type"),
        ("id", "a\u202eb", "not-printable"), ("id", "", "out-of-range"), ("id", "x" * 129, "out-of-range"),
        ("phase", "one", "wrong-type"), ("phase", -1, "out-of-range"), ("files_modified", "src/a.py", "wrong-type"),
        ("plan_id", "", "text-empty"),
    ],
)  # fmt: skip
def test_a_value_that_is_nearly_right_gets_its_one_finding(field: str, value: object, code: str) -> None:
    assert codes(check(with_value(field, value))) == [code]


# --- front matter ---------------------------------------------------------------------------------------------------


# YAML 1.1, which many readers still follow, makes something else of each of these.
@pytest.mark.parametrize(
    "written", ["no", "on", "yes", "off", "true", "12:30", "010", "0x10", "1_000", "1e3", "2026-01-01", "-1"]
)
def test_text_in_front_matter_is_never_made_into_something_else(written: str) -> None:
    checked = check(RESEARCH.replace("topic: mail services", f"topic: {written}"))
    assert (checked.valid, checked.tree["topic"], checked.findings) == (True, written, ())


@pytest.mark.parametrize(
    "found, instead, code",
    [
        ("tier: 2", "tier: 010", "scalar-ambiguous"), ("tier: 2", "tier: 12:30", "scalar-ambiguous"),
        ("tier: 2", "tier: two", "wrong-type"), ("tier: 2", 'tier: "2"', "wrong-type"),
        ("tier: 2", "tier: 2.0", "wrong-type"), ("tier: 2", "tier: 4", "out-of-range"),
        ("tier: 2", "tier:", "field-missing"), ("tier: 2", "tier: 2\ntier: 2", "duplicate-key"),
        ("tier: 2", "tier: !!int 2", "yaml-tag"),
        ("tier: 2", "tier: !!python/object/apply:os.system [ls]", "yaml-tag"),
        ("tier: 2", "tier: &two 2", "yaml-anchor"), ("tier: 2", "tier: *two", "yaml-alias"),
        ("research_needed: true", "research_needed: yes", "wrong-type"),
        ("research_needed: true", "research_needed: on", "wrong-type"),
        ("signal: triage_complete", "signal: TRIAGE_COMPLETE", "not-one-of"),
        ("signal: triage_complete", "signal: triage_complete|blocked", "placeholder-left"),
    ],
)  # fmt: skip
def test_front_matter_that_two_readers_may_read_differently_is_refused(found: str, instead: str, code: str) -> None:
    assert found in TRIAGE
    refused = refusals(check(TRIAGE.replace(found, instead)).findings)
    assert [finding.code for finding in refused] == [code]


def test_an_alias_bomb_is_named_and_unfolds_nothing() -> None:
    levels = [f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True)]
    bomb = TRIAGE.replace("tier: 2", "\n".join(["tier: 2", "a: &a [boom]", *levels]))
    checked = check(bomb)
    assert {"yaml-anchor", "yaml-alias"} <= set(codes(checked))
    assert len(json.dumps(checked.tree)) < 10_000


@pytest.mark.parametrize("body", ["above\n\n---\n\nbelow\n", "---\n", "---\ntype: approval\n", "\n---\n---\n"])
def test_a_line_of_dashes_in_the_body_is_body(body: str) -> None:
    checked = check(APPROVAL + body)
    assert (checked.valid, checked.type, checked.body, checked.findings) == (True, "approval", body, ())


@pytest.mark.parametrize("end", ["", "...\n", "----\n", " ---\n", "***\n", "--- end\n"])
def test_front_matter_that_never_ends_is_told_so(end: str) -> None:
    assert codes(check(APPROVAL.removesuffix("---\n") + end)) == ["front-matter-not-closed"]


# --- what is around a message ---------------------------------------------------------------------------------------

TAG = '<teammate-message teammate_id="dev" color="blue">'


@pytest.mark.parametrize(
    "text, expected",
    [
        (f"```json\n{PROGRESS}\n```", ["fence-removed"]),
        (f"````\n{PROGRESS}\n````\n", ["fence-removed"]),
        (f"```json\r\n{PROGRESS}\r\n```\r\n", ["carriage-returns", "fence-removed"]),
        (f"{TAG}\n```json\n{PROGRESS}\n```\n</teammate-message>", ["wrapper-removed", "fence-removed"]),
        (f'<teammate-message summary="2 > 1">{PROGRESS}</teammate-message>', ["wrapper-removed"]),
        (f"I set {{x}} and [y].\n{PROGRESS}", ["prose-removed"]),
        (f"[x] written\n[ ] reviewed\n{PROGRESS}\nBye {{now}}", ["prose-removed"]),
        (f"{{x}} is set.\n{PROGRESS}", ["prose-removed"]),
        (json.dumps(PROGRESS), ["wrapper-removed"]),
    ],
    ids=["fence", "long fence", "crlf", "fence in a tag", "> in a tag", "braces", "lists", "brace first", "string"],
)
def test_a_message_is_found_in_what_was_put_around_it(text: str, expected: list[str]) -> None:
    checked = check(text)
    assert (checked.valid, checked.type, codes(checked)) == (True, "dev_progress", expected)
    assert checked.fixed == json.loads(PROGRESS)


@pytest.mark.parametrize(
    "text",
    [
        PROGRESS + PROGRESS, f"{PROGRESS}\n{PROGRESS}", f"{PROGRESS}\nand another:\n{PROGRESS}",
        f"First:\n{PROGRESS}\nsecond:\n{PROGRESS}", f"```json\n{PROGRESS}\n```\n\n```json\n{PROGRESS}\n```",
        f"{PROGRESS}\n```json\n{PROGRESS}\n```",
        f"{TAG}{PROGRESS}</teammate-message>\n{TAG}{PROGRESS}</teammate-message>",
    ],
    ids=["glued", "lines", "prose between", "prose before each", "fences", "one in a fence", "tags"],
)  # fmt: skip
def test_a_second_message_is_never_dropped_in_silence(text: str) -> None:
    checked = check(text)
    assert not checked.valid
    assert "several-messages" in codes(checked)
    assert checked.fixed is None


@pytest.mark.parametrize(
    "text",
    [
        "<teammate-message></teammate-message>", "<teammate-message> \n </teammate-message>", "<teammate-message/>",
        "<teammate-message>", "```\n```", "```json\n\n```", "---", "---\n", "---\n---\n",
        "---\n# only a comment\n---\n", "{", "}", "[", '"', "\\", "{}", "[]", "[{}]", '{"type": null}',
        '{"type": []}', '{"type": {}}', '{"": ""}', '{"type": "shutdown_request", "request_id": []}',
        '[{"type": []}]', 'Look:\n```json\n{"type": []}\n```', 'Look:\n{"type": {}}', "---\ntype: [a]\n---\n",
        "---\ntype: {a: b}\n---\n", "---\ntype:\n---\n", "---\n? type\n---\n", "\ufeff\ufeff{}", "\u2028",
        "\x1b[31mred\x1b[0m", '{"type": "\\ud800"}', '{"\\ud800": "\\udfff"}', '{"type": 1e999}', '{"type": -0}',
        "1e999", "NaN", "-Infinity", "9" * 5_000, '{"type": "dev_progress", "x": ' + "[" * 500 + "]" * 500 + "}",
        '{"type": "dev_progress", "concerns": ' + "[" * 900 + "]" * 900 + "}",
        "[" * 900 + '{"type": "x"}' + "]" * 900, "x" * 100_000 + "{" * 1_000, "---\na: " + "[" * 5_000 + "\n---\n",
    ],
)  # fmt: skip
@pytest.mark.parametrize("forced", [None, "vbw-typed", "signal-md", "plain"])
def test_nothing_that_arrives_makes_the_check_stumble(text: str, forced: str | None) -> None:
    for strict in (True, False):
        checked = check(text, CheckPolicy(forced=by_name(forced) if forced else None, strict=strict), as_role="dev")
        assert set(codes(checked)) <= set(check_explanations())
        assert checked.valid or refusals(checked.findings)
        assert [finding.say for finding in checked.findings if speaks_badly(finding)] == []


# --- what an answer promises ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, policy, as_role",
    [
        (example_text(VBW_COMPANY, "escalation"), CheckPolicy(), "qa-code"),  # who goes up another way
        (example_text(VBW_HANDOFF, "dev_progress", {"mood": "cheerful"}), CheckPolicy(unknown_fields="refusal"), None),
        (APPROVAL.replace("signal: lgtm", "<<: {signal: lgtm}\nsignal: lgtm"), CheckPolicy(), None),
        (SUBMISSION.replace("src/auth/reset.py", "src/auth/\x07reset.py"), CheckPolicy(), None),
    ],
    ids=["another sender", "unknown fields", "merge key", "control character"],
)
def test_what_is_offered_as_fixed_would_pass_and_holds_all_that_was_sent(
    text: str, policy: CheckPolicy, as_role: str | None
) -> None:
    checked = check(text, policy, as_role=as_role)
    assert not checked.valid
    if checked.fixed is not None:
        assert checked.dialect is not None
        again = write(checked.dialect, checked.fixed, checked.body)
        assert not refusals(check(again, policy, as_role=as_role).findings)
        assert "\ufffd" not in again


def test_nobody_signs_as_another_by_dressing_up_as_a_blank() -> None:
    status = example_text(BUILD_FLOW, "STATUS_UPDATE", {"from": "<cto>"})
    assert "role-claim-differs" in codes(check(status, as_role="dev"))


def test_a_missing_type_is_told_by_what_the_signal_can_be() -> None:
    checked = check(APPROVAL.replace("type: approval\n", ""))
    assert [(f.code, f.nearest) for f in checked.findings] in ([("type-missing", "approval")], [("type-missing", None)])


def test_a_name_as_long_as_a_book_is_not_repeated_in_full() -> None:
    for text in (f'{{"type": "dev_progress", "{"k" * 50_000}": 1}}', f'{{"type": "{"x" * 50_000}"}}'):
        checked = check(text)
        said = [part for finding in checked.findings for part in finding if part is not None]
        assert max(map(len, said)) < 1_000


# --- a mebibyte of anything -----------------------------------------------------------------------------------------


def mebibyte_of(piece: str, before: str = "", after: str = "") -> str:
    room = MEBIBYTE - len(before) - len(after)
    return before + piece * (room // len(piece)) + after


PILES = {
    "braces": mebibyte_of("{"),
    "brackets": mebibyte_of("["),
    "objects opened": mebibyte_of('{"a":'),
    "quotes": mebibyte_of('"'),
    "backslashes": mebibyte_of("\\", '"'),
    "digits": mebibyte_of("1"),
    "digits in a field": mebibyte_of("1", '{"type": "dev_progress", "task": ', "}"),
    "blanks before a word": mebibyte_of(" ", after="x"),
    "lines of dashes": mebibyte_of("---\n"),
    "lines of dashes in front matter": mebibyte_of("---x\n", "---\ntype: approval\n"),
    "lines of fences": mebibyte_of("```\n"),
    "lines of tildes": mebibyte_of("~~~\n"),
    "fences with objects": mebibyte_of("```json\n{}\n```\n"),
    "fences with messages": mebibyte_of(f"```json\n{PROGRESS}\n```\n"),
    "fences that grow": "".join("`" * length + "\n" for length in range(3, 1_400)),
    "lines of braces": mebibyte_of("{\n"),
    "lines of objects": mebibyte_of("{}\n"),
    "lines of messages begun": mebibyte_of('{"type": "dev_progress"\n', "x\n"),
    "messages in a line": mebibyte_of('text {"type": "dev_progress"} '),
    "tags opened": mebibyte_of("<teammate-message>"),
    "tags opened, with blanks": mebibyte_of("<teammate-message>" + " " * 40),
    "tags": mebibyte_of("<teammate-message></teammate-message>"),
    "a tag never closed": mebibyte_of(" a", "<teammate-message"),
    "blanks before a tag": mebibyte_of(" ", after="<teammate-message"),
    "commas": mebibyte_of(",", "[", "]"),
    "commas too many": mebibyte_of('"b": [1,], ', '{"a": 1, ', "}"),
    "fields": "{" + ", ".join(f'"k{number}": 1' for number in range(60_000)) + "}",
    "fields of one name": mebibyte_of('"a": 1, ', "{", '"a": 1}'),
    "items of the wrong kind": mebibyte_of("1, ", '{"type": "dev_progress", "concerns": [', "1]}"),
    "items without fields": mebibyte_of("{}, ", '{"type": "scout_findings", "documents": [', "{}]}"),
    "empty objects": mebibyte_of("{}, ", "[", "{}]"),
    "half characters": mebibyte_of("\\ud800", '{"type": "dev_progress", "task": "', '"}'),
    "choices": mebibyte_of("complete|", '{"type": "dev_progress", "status": "', '"}'),
    "a long name": mebibyte_of("k", '{"type": "dev_progress", "', '": 1}'),
    "a long type": mebibyte_of("t", '{"type": "', '"}'),
    "a long line": mebibyte_of("x"),
    "headings": mebibyte_of("# x\n", SUBMISSION),
}


@pytest.mark.slow
@pytest.mark.timeout(30)  # each takes well under a second; what is caught here takes hours
@pytest.mark.parametrize("pile", PILES)
def test_a_mebibyte_of_anything_is_answered(pile: str) -> None:
    checked = check(PILES[pile])
    assert len(checked.findings) <= LIMITS.findings_max
    assert checked.valid or refusals(checked.findings)


FRONT = {
    "brackets": "a: " + "[" * 60_000, "braces": "a: " + "{" * 60_000, "questions": "? " * 30_000,
    "dashes": "a:\n  " + "- " * 30_000, "tabs": "\t" * 60_000, "quotes": 'a: "' + '\\"' * 30_000,
    "colons": "a: " + ": " * 30_000, "control characters": "a: " + "\x01" * 60_000,
    "anchors": "\n".join(f"k{number}: &a{number} v" for number in range(4_000)), "one field": "a: 1\n" * 12_000,
    "stairs": "\n".join(" " * step + "a:" for step in range(340)), "commas": "a: [" + "a," * 30_000 + "a]",
}  # fmt: skip


@pytest.mark.timeout(30)
@pytest.mark.parametrize("front", FRONT)
def test_front_matter_full_of_anything_is_answered(front: str) -> None:
    checked = check(f"---\ntype: approval\n{FRONT[front]}\n---\n")
    assert len(checked.findings) <= LIMITS.findings_max
    assert refusals(checked.findings)

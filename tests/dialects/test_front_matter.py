"""Does front matter say exactly what its author wrote, and is everything else in it named?"""

import subprocess
import sys
from collections.abc import Iterator

import pytest
import yaml

from telex.dialects.parse import front_matter
from telex.dialects.parse.front_matter import (
    FrontMatter,
    Value,
    looks_like_front_matter,
    read_front_matter,
    read_simple,
)
from telex.dialects.scalars import PlainScalar
from telex.model.limits import LIMITS


@pytest.fixture(params=["CSafeLoader", "SafeLoader"])
def either_parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyYAML comes with a parser in C on most machines, and with one in Python on all."""
    if not hasattr(yaml, request.param):
        pytest.skip(f"NOT CHECKED: this PyYAML has no {request.param}")
    monkeypatch.setattr(front_matter, "_LOADER", request.param)


def read(front: str) -> FrontMatter:
    return read_front_matter(f"---\n{front}\n---\nbody\n")


def findings(front: str) -> list[tuple[str, str]]:
    return [(finding.code, finding.path) for finding in read(front).findings]


def test_fields_and_body_come_apart() -> None:
    text = (
        "---\ntype: submission\nfiles_changed:\n  - src/a.py\n  - src/b.py\nac_coverage:\n  AC1: pass\n---\n## Result\n"
    )
    fields: dict[str, Value] = {
        "type": "submission",
        "files_changed": ["src/a.py", "src/b.py"],
        "ac_coverage": {"AC1": "pass"},
    }
    assert read_front_matter(text) == FrontMatter(fields, "## Result\n")


NOT_WHAT_THEY_SEEM = [
    "no", "on", "off", "y", "true", "null", "~", "12:30", "010", "0x1F", "1_000", "1e3", ".inf", "-1", "=",
]  # fmt: skip


@pytest.mark.parametrize("written", [*NOT_WHAT_THEY_SEEM, "2026-01-01", "2026-01-01T10:00:00Z"])
def test_a_value_without_quotes_stays_the_text_it_was_written_as(written: str) -> None:
    for front in (f"topic: {written}", f"topic: {written}\nother: |\n  read by the other reader"):
        topic = read(front).fields["topic"]
        assert (topic, type(topic)) == (written, PlainScalar)


@pytest.mark.parametrize(
    "written", ['"no"', "'no'", "|-\n  no", ">-\n  no"], ids=["double", "single", "literal", "folded"]
)
def test_a_value_in_quotes_or_in_a_block_is_known_to_be_text(written: str) -> None:
    topic = read(f"topic: {written}").fields["topic"]
    assert (topic, type(topic)) == ("no", str)


def test_a_key_without_a_value_is_empty_and_not_null() -> None:
    assert read("risk_tags:\ntopic: x") == FrontMatter(
        {"risk_tags": PlainScalar(""), "topic": PlainScalar("x")}, "body\n"
    )


def test_front_matter_without_fields_is_empty() -> None:
    for text in ("---\n---\nbody", "---\n\n---\nbody", "---\n# to be filled in\n---\nbody", "---\n---  \nbody"):
        assert read_front_matter(text) == FrontMatter({}, "body")


def test_a_fence_inside_the_body_is_body() -> None:
    body = "above\n\n---\n\ntype: not_a_field\n---\n"
    assert read_front_matter(f"---\ntype: approval\n---\n{body}") == FrontMatter({"type": "approval"}, body)


def test_only_a_line_of_dashes_alone_closes() -> None:
    text = "---\na: --- x\nb: '\n  ---\n  '\nc: |\n  ---\n--- \t\nbody"
    assert read_front_matter(text) == FrontMatter({"a": "--- x", "b": " --- ", "c": "---"}, "body")


@pytest.mark.parametrize(
    "text", ["---", "---\n", "---\ntype: approval\nsignal: lgtm\n\n## Result\n", "---\na: 1\n----\n"]
)
def test_front_matter_never_closed_is_told_so(text: str) -> None:
    read = read_front_matter(text)
    assert [(f.code, f.path) for f in read.findings] == [("front-matter-not-closed", "$")]
    assert (read.fields, read.body) == ({}, text[4:])


def test_a_text_without_front_matter_is_told_so() -> None:
    read = read_front_matter("type: approval\n---\n")
    assert [f.code for f in read.findings] == ["front-matter-missing"]
    assert read.body == "type: approval\n---\n"


@pytest.mark.usefixtures("either_parser")
@pytest.mark.parametrize(
    "front, expected",
    [
        ("a: !!python/object:os.system x", [("yaml-tag", "$.a")]),
        ("a: !secret x\nb: ! y", [("yaml-tag", "$.a"), ("yaml-tag", "$.b")]), ("a: !e!x y", [("yaml-tag", "$.a")]),
        ("a: &x 1\nb: *x", [("yaml-anchor", "$.a"), ("yaml-alias", "$.b")]),
        ("b: *never_defined", [("yaml-alias", "$.b")]), ("b: **bold**", [("yaml-alias", "$.b")]),
        ("b: & c", [("yaml-anchor", "$.b")]), ("a:\n  <<: {b: 1}\n  '<<': 2", [("yaml-merge-key", "$.a")]),
        ("a: 1\nb: 2\na: 3", [("duplicate-key", "$.a")]), ("a: 1\n'a': 2", [("duplicate-key", "$.a")]),
        ("a:\n  - b:\n      c: 1\n      c: 2", [("duplicate-key", "$.a[0].b.c")]),
        ("'odd key': {a: 1, a: 2}", [("duplicate-key", '$["odd key"].a')]),
        ("? [a, b]\n: c\nd: e", [("yaml-key-not-text", "$")]),
        ("topic: {{topic}}", [("yaml-key-not-text", "$.topic")]), ("a:\n\tb: 1", [("yaml-tab", "$.a")]),
        ("\ta: 1", [("yaml-tab", "$")]), ("a: Fix: the login", [("yaml-malformed", "$.a")]),
        ("a: 1\nprose\nb: 2", [("yaml-malformed", "$")]), ("a: @dev", [("yaml-malformed", "$.a")]),
        ("a: `code`", [("yaml-malformed", "$.a")]), ("a: [x\nb: y", [("yaml-malformed", "$.a")]),
        ("a: {x: y\nb: z", [("yaml-malformed", "$.a")]), ("a: 'never closed", [("yaml-malformed", "$.a")]),
        ('a: "C:\\path"', [("yaml-malformed", "$.a")]), ('a: "\\ud800"', [("yaml-malformed", "$.a")]),
        ('a: "\\UFFFFFFFF"', [("yaml-malformed", "$.a")]), ("a: - x", [("yaml-malformed", "$.a")]),
        ('a: "x" y', [("yaml-malformed", "$.a")]), ("a: 1\n  b: 2", [("yaml-malformed", "$")]),
        ("a: 1\n...\nb: 2", [("yaml-malformed", "$")]), ("a: 1\n--- b\n", [("yaml-many-documents", "$")]),
        ("- a\n- b", [("front-matter-not-mapping", "$")]), ("only text", [("front-matter-not-mapping", "$")]),
        ("a:1\nb:2", [("front-matter-not-mapping", "$")]), ("''", [("front-matter-not-mapping", "$")]),
        ("a: b\x00c\nd: \x1b", [("control-character", "$")]), ("a: \ud800", [("control-character", "$")]),
    ],
)  # fmt: skip
def test_what_front_matter_may_not_hold_is_named_where_it_stands(front: str, expected: list[tuple[str, str]]) -> None:
    assert read_simple(front) is None
    assert findings(front) == expected
    assert all(finding.say.startswith("Line ") for finding in read(front).findings)


@pytest.mark.usefixtures("either_parser")
def test_one_answer_names_everything_that_is_wrong() -> None:
    expected = [("yaml-anchor", "$.a"), ("duplicate-key", "$.a"), ("yaml-tag", "$.a"), ("yaml-malformed", "$.b")]
    assert findings("a: &x 1\na: !t 2\nb: 'open") == expected


@pytest.mark.usefixtures("either_parser")
def test_an_alias_bomb_expands_to_nothing() -> None:
    levels = [
        f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]" for a, b in zip("abcdefghijklmnop", "bcdefghijklmnopq", strict=True)
    ]
    bomb = read("\n".join(["a: &a [lol]", *levels]))
    assert {finding.code for finding in bomb.findings} == {"yaml-anchor", "yaml-alias"}
    assert bomb.fields["q"] == ["*p"] * 9


@pytest.mark.usefixtures("either_parser")
@pytest.mark.parametrize(
    "front, place",
    [
        ("a: 1\na: 2", "Line 3: given on line 2 already"), ("a: Fix: b", "Line 2, column 7: "),
        ("a:\n\tb: 1", "Line 3, column 1: "), ("a: b\nc: 'open\nd: e", "Line 3, column 4: "),
        ("a: b\nc: d\x07", "Line 3: remove the control character U+0007"),
    ],
)  # fmt: skip
def test_a_finding_gives_the_line_in_the_message(front: str, place: str) -> None:
    [finding] = read(front).findings
    assert finding.say.startswith(place)


def test_what_could_be_read_is_there_beside_the_findings() -> None:
    assert read("type: approval\ntopic: &x a\nsignal: @lgtm").fields == {"type": "approval", "topic": "a"}


def nested(depth: int) -> Iterator[str]:
    """As many levels, each way to write them. The fields themselves are one."""
    yield "\n".join("  " * level + "a:" for level in range(depth - 1)) + " {}"
    yield "a: " + "[" * (depth - 1) + "]" * (depth - 1)
    yield "a:\n  " + "- " * (depth - 1) + "x"


@pytest.mark.usefixtures("either_parser")
def test_nesting_is_read_to_the_limit_and_named_beyond() -> None:
    for front in nested(LIMITS.depth_max):
        assert findings(front) == []
    for front in (*nested(LIMITS.depth_max + 1), *nested(200), "a: " + "[" * 60_000, "- " * 30_000):
        assert findings(front)[-1][0] == "too-deep"


def test_front_matter_beyond_its_size_is_told_so_and_the_body_kept() -> None:
    fits = f"a: {'x' * (LIMITS.front_matter_bytes_max - 3)}"
    assert read(fits).findings == ()
    for front in (fits + "x", "a: " + "€" * (LIMITS.front_matter_bytes_max // 3), "a: [" * 250_000):
        assert findings(front) == [("front-matter-too-large", "$")]
        assert read(front).body == "body\n"


def test_a_hostile_message_gets_no_endless_answer() -> None:
    assert len(read("a: 1\n" * 10_000).findings) == LIMITS.findings_max
    [finding, *_] = read(f"? {'k' * 30_000}\n: &x 1").findings
    assert len(finding.path) < 200


@pytest.mark.parametrize(
    "text",
    [
        "---\ntype: approval\n---\n", "--- \t\ntype:\n", "---\n# a comment\ntype: approval",
        "---\nstray line\n\ttype: approval\n", '---\n"type": "approval"\n---\n', "---\n{type: approval}\n---\n",
        "---\n\ntype: approval\n---\n",
    ],
)  # fmt: skip
def test_front_matter_is_told_by_its_first_lines(text: str) -> None:
    assert looks_like_front_matter(text)


@pytest.mark.parametrize(
    "text",
    [
        "", "---", "---\n---\ntype: approval\n", "---\n\nThe work is done.\n\n---\n",
        "---\n\nSummary: all is well.\n", "---\nHere is what I found: nothing\n",
        "---\n## Result\nhttps://example.org\n", "----\ntype: approval\n---\n", "\n---\ntype: approval\n---\n",
        "type: approval\n---\n",
    ],
)  # fmt: skip
def test_a_horizontal_rule_is_no_front_matter(text: str) -> None:
    assert not looks_like_front_matter(text)


ORDINARY = """
type: task_assignment
task: "short: \\"title\\""
plan_file: .claude/plans/a-b.md
signal: pass | fail

risk_tags:
- security
- data-mutation # both
security_findings: {critical: 0, high: 2}
files: [a.py, 'b c.py', "d"]
steps:
  - name: one
    needs:
      - nothing
  - name: https://example.org/#top at 12:30
# by criterion
'AC 1': pass
AC 2: fail
3.1: na
last:
"""


def test_the_ordinary_is_read_without_loading_a_yaml_library() -> None:
    assert read_simple(ORDINARY) is not None
    script = (
        "import sys, telex.dialects.parse.front_matter as f; "
        "f.read_front_matter(sys.argv[1]); print('yaml' in sys.modules)"
    )
    command = [sys.executable, "-c", script, f"---{ORDINARY}---"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "False\n"

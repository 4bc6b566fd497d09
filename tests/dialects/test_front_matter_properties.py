"""Do the two readers of front matter agree, whatever comes, and is what was written what is read?

The simple reader is trusted because of the tests here: whatever it accepts, the reader of all YAML and PyYAML's own
loaders, in C and in Python, have to read the same way.
"""

import math
from collections.abc import Mapping
from textwrap import indent
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from telex.dialects.parse.front_matter import looks_like_front_matter, read_events, read_front_matter, read_simple
from telex.dialects.scalars import PlainScalar
from telex.dialects.write import write_front_matter
from telex.model.limits import LIMITS

LOADERS = [loader for name in ("CBaseLoader", "BaseLoader") if (loader := getattr(yaml, name, None))]
SAFE_LOADERS = [loader for name in ("CSafeLoader", "SafeLoader") if (loader := getattr(yaml, name, None))]


def one_of(values: str) -> st.SearchStrategy[str]:
    return st.sampled_from([value for line in values.strip().splitlines() for value in line.split(" ¦ ")])


# Front matter as agents write it, laid out in every way the simple reader knows.
TIDY_KEYS = st.sampled_from(["a", "b", "key", "AC 1", "x-y", "1.2", "é", "'q'", '"r s"', "no"])
TIDY_VALUES = one_of(r"""
plain ¦ two words ¦ 12:30 ¦ no ¦ -1 ¦ a#b ¦ a ? b ¦ a :b ¦ https://x/#y ¦ --- x ¦ :a ¦ é, [b] {c} ¦ pass | fail
"q" ¦ 'q' ¦ 'it''s' ¦ "a\"b" ¦ "\n\t\\" ¦ "a: b #c" ¦ '' ¦ [] ¦ {} ¦ [a, 'b', "c d"] ¦ [ a ,b ] ¦ {a: b, 'c': d}
""")
GAPS = st.sampled_from([" ", " ", "  "])
ENDINGS = st.sampled_from(["", "", "", "  ", "\n", "\n  # comment: here", "\n\n# and 'here"])


@st.composite
def tidy(draw: st.DrawFn, values: st.SearchStrategy[str], depth: int = 3) -> str:
    """The lines of a mapping."""
    lines = []
    for key in draw(st.lists(TIDY_KEYS, unique=True, min_size=1, max_size=4)):
        inner = draw(st.sampled_from(["", "", "list", "mapping"])) if depth else ""
        if inner:
            lines.append(f"{key}:{draw(ENDINGS)}")
            pads = ["  ", " ", "    "] if inner == "mapping" else ["  ", " ", ""]
            block = draw(tidy(values, depth - 1) if inner == "mapping" else tidy_list(values, depth - 1))
            lines.append(indent(block, draw(st.sampled_from(pads))))
        else:
            lines.append(f"{key}:{draw(GAPS)}{draw(values)}{draw(ENDINGS)}")
    return "\n".join(lines)


@st.composite
def tidy_list(draw: st.DrawFn, values: st.SearchStrategy[str], depth: int) -> str:
    lines = []
    for _ in range(draw(st.integers(1, 3))):
        dash = f"-{draw(GAPS)}"
        item = draw(tidy(values, depth - 1) if depth > 0 and draw(st.booleans()) else values)
        lines.append(dash + indent(item, " " * len(dash))[len(dash) :] + draw(ENDINGS))
    return "\n".join(lines)


# Pieces of front matter, plain and odd, put together without regard to sense.
INDENTS = st.sampled_from(["", "", "", " ", "  ", "  ", "    ", "\t"])
DASHES = st.sampled_from(["", "", "", "- ", "-   ", "- - ", "-", "? "])
COLONS = st.sampled_from([": ", ": ", ": ", ":", ":  ", " : ", ":\t", ""])
KEYS = TIDY_KEYS | st.sampled_from(["a:b", "'it''s'", "<<", "-", "a ", "{a", "&k", "*k", "# c", "~", ""])
ODD_TEXT = st.text(alphabet="ab1 :#-'\"\\,[]{}&*!|>%@`?=~.\t\n\u00a0\u0085\u2028\ufeff\u00e9n", max_size=8)
ODD_VALUES = one_of(r"""
a #c ¦ a: b ¦ a: ¦ ... ¦ ? a ¦ {a: b, a: c} ¦ [a, ] ¦ [a: b] ¦ {a} ¦ {a:b} ¦ [[a]] ¦ [-1] ¦ [a]b ¦ [a] #c ¦ {a: }
{"a":b} ¦ [a#b] ¦ [a:b] ¦ {a: b:c} ¦ ["a, b"] ¦ [?] ¦ {a: [b]} ¦ [a ¦ "\x41" ¦ 'a' #c ¦ "a" b ¦ ' ¦ " ¦ ""
| ¦ >- ¦ *x ¦ &x ¦ !t y
""")
VALUES = TIDY_VALUES | ODD_VALUES | ODD_TEXT | st.just("")
LINES = st.builds("".join, st.tuples(INDENTS, DASHES, KEYS, COLONS, VALUES)) | st.builds(
    "".join, st.tuples(INDENTS, st.sampled_from(["- ", "-  ", "", "# "]), VALUES)
)
SOUP = st.lists(LINES, max_size=7).map("\n".join)

# Fields as an agent may give them.
NAMES = st.from_regex(r"[a-z_][a-z0-9_-]{0,8}", fullmatch=True)
AMBIGUOUS = st.sampled_from(["yes", "0x1f", "1e3", "2026-01-01", "1:2:3", "+.inf", "0o7", "1_000", "<<", "="])
TEXTS = st.text(max_size=12) | VALUES | AMBIGUOUS
SCALARS = TEXTS | st.integers() | st.booleans()
FIELDS = st.dictionaries(
    NAMES | TEXTS,
    st.recursive(
        SCALARS,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | TEXTS, inner, max_size=3),
        max_leaves=8,
    ),
    max_size=5,
)


@st.composite
def mutated(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> str:
    """A text with a few characters taken out, put in or written twice."""
    text = draw(texts)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 4)))
        text = text[:start] + draw(ODD_TEXT | st.just(text[start:end] * 2)) + text[end:]
    return text


WRITTEN = st.builds(lambda fields: write_front_matter(fields, "").removeprefix("---\n").removesuffix("---\n"), FIELDS)
ANY_FRONT = tidy(TIDY_VALUES | VALUES) | mutated(tidy(TIDY_VALUES)) | mutated(SOUP) | mutated(WRITTEN)


def marked(value: Any) -> Any:
    """The same, with scalars beside the way they were written, since Plain text equals other text."""
    if isinstance(value, dict):
        return {key: marked(item) for key, item in value.items()}
    if isinstance(value, list):
        return [marked(item) for item in value]
    return type(value).__name__, value


@given(tidy(TIDY_VALUES))
def test_the_ordinary_is_read_by_the_simple_reader(front: str) -> None:
    assert read_simple(front) is not None


@given(ANY_FRONT)
@example("a: x\n  - b")
@example("a:\n- b\n  c: d")
def test_whatever_the_simple_reader_accepts_all_readers_read_alike(front: str) -> None:
    fields = read_simple(front)
    if fields is None:
        return
    read, findings = read_events(front, LIMITS)
    assert (marked(fields), ()) == (marked(read), findings)
    for loader in LOADERS:
        assert (yaml.load(front, Loader=loader) or {}) == fields


@given(ANY_FRONT)
def test_front_matter_without_findings_is_what_yaml_says(front: str) -> None:
    fields, findings = read_events(front, LIMITS)
    if not findings:
        assert (yaml.load(f"---\n{front}", Loader=LOADERS[0]) or {}) == fields


@given(st.text() | SOUP | st.text(alphabet="-\n ab:{}[]'\"&*!|>\t\x00\ud800"))
def test_no_text_raises_and_none_is_lost(text: str) -> None:
    looks_like_front_matter(text)
    read_front_matter(text)
    read = read_front_matter(f"---\n{text}\n---\nbody")
    assert read.body.endswith("body")
    assert all(finding.path.startswith("$") for finding in read.findings)
    assert {finding.code for finding in read.findings if finding.severity != "refusal"} <= {"duplicate-key"}


def as_text(value: object) -> Any:
    """What a field is in front matter, where every scalar is text."""
    if isinstance(value, Mapping):
        return {key: as_text(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_text(item) for item in value]
    return value if isinstance(value, str) else str(value).lower()


def test_front_matter_is_written_as_an_agent_would_write_it() -> None:
    fields = {
        "type": "plan_result",
        "has_blockers": False,
        "wave_count": 3,
        "topic": "no",
        "at": "12:30",
        "title": "Fix: the #1 bug",
        "path": ".claude/plans/a.md",
        "risk_tags": ["security", "data-mutation"],
        "steps": [{"name": "one", "needs": []}, {"name": "two\nlines", "needs": ["one"]}],
        "ac_coverage": {"AC1": "pass", "AC 2": "fail"},
        "left_out": None,
        "as_read": PlainScalar("010"),
    }
    assert write_front_matter(fields, "body\n") == (
        "---\ntype: plan_result\nhas_blockers: false\nwave_count: 3\n"
        'topic: "no"\nat: "12:30"\ntitle: "Fix: the #1 bug"\npath: .claude/plans/a.md\n'
        "risk_tags:\n  - security\n  - data-mutation\n"
        'steps:\n  - name: one\n    needs: []\n  - name: "two\\nlines"\n    needs:\n      - one\n'
        "ac_coverage:\n  AC1: pass\n  AC 2: fail\nleft_out: null\nas_read: 010\n---\nbody\n"
    )


@given(FIELDS, st.text())
def test_what_is_written_reads_back_the_same(fields: dict[str, Any], body: str) -> None:
    read = read_front_matter(write_front_matter(fields, body))
    assert (read.fields, read.body, read.findings) == (as_text(fields), body, ())


@given(FIELDS)
def test_other_readers_of_yaml_take_no_string_for_anything_else(fields: dict[str, Any]) -> None:
    front = write_front_matter(fields, "").removesuffix("---\n")
    for loader in SAFE_LOADERS:
        assert (yaml.load(front, Loader=loader) or {}) == fields


@given(ANY_FRONT)
def test_what_was_read_can_be_written_and_read_again(front: str) -> None:
    fields, findings = read_events(front, LIMITS)
    if not findings:
        read = read_front_matter(write_front_matter(fields, ""))
        assert (read.fields, read.findings) == (fields, ())


@given(st.floats())
def test_numbers_with_a_point_are_numbers_to_other_readers(number: float) -> None:
    text = write_front_matter({"a": number}, "").removesuffix("---\n")
    read = yaml.safe_load(text)["a"]
    assert read == number or (math.isnan(read) and math.isnan(number))


@pytest.mark.parametrize(
    "names", [["k" * 5000], ["--- x", "... y", "---", "..."], ["", "=", "y", "<<", "1", "#", "? a"]]
)
def test_a_key_may_be_any_text(names: list[str]) -> None:
    fields = {name: [{name: PlainScalar("x")}] for name in names}
    text = write_front_matter(fields, "")
    assert read_front_matter(text).fields == fields == yaml.safe_load(text.removesuffix("---\n"))

"""Lines of the keys of a TOML text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.dialects.toml.document import NESTING_MAX, line_of, scan

PAGE = '''# [no.header]
a."b.c" = 1
text = """
[no.header]
x = 1
""" # [x]
'q' = [ # ]
  { in = "]" },
]
[ t . u ]
"\\u00e9" = { x = 1 }
[[list]]
k = """a"""
[[list]]
[list.inner]
k = "\\"] # ["
last = 1'''


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_every_pair_and_table_is_found_on_its_line(end: str) -> None:
    assert scan(PAGE.replace("\n", end)).lines == {
        (): 1,
        ("a",): 2,
        ("a", "b.c"): 2,
        ("text",): 3,
        ("q",): 7,
        ("q", 0): 8,
        ("t",): 10,
        ("t", "u"): 10,
        ("t", "u", "é"): 11,
        ("list",): 12,
        ("list", 0): 12,
        ("list", 0, "k"): 13,
        ("list", 1): 14,
        ("list", 1, "inner"): 15,
        ("list", 1, "inner", "k"): 16,
        ("list", 1, "inner", "last"): 17,
    }


@given(st.text() | st.text("""a1 .,="'[]{}#\\\n"""))
def test_any_text_at_all_is_scanned_without_a_crash(text: str) -> None:
    scan(text)


def test_a_table_that_comes_after_one_inside_it_is_on_its_own_line() -> None:
    lines = scan("[a.b]\n\n[a]\nc = 1\n").lines
    assert lines == {(): 1, ("a",): 3, ("a", "b"): 1, ("a", "c"): 4}


def test_a_table_within_a_list_of_tables_belongs_to_the_last_one() -> None:
    lines = scan("[[a]]\n[[a]]\n[a.b]\nc = 1\n").lines
    assert lines[("a", 1, "b", "c")] == 4


def test_a_key_that_is_missing_is_on_the_line_of_the_table_it_should_be_in() -> None:
    lines = scan("x = 1\n[a]\nb = 2\n").lines
    assert (line_of(lines, ("a", "c", "d")), line_of(lines, ("z",))) == (2, 1)


@pytest.mark.parametrize(
    "text",
    ["a." * 100_000 + "a = 1", "a = " + "[" * 100_000, "a = " + "{a=" * 100_000, "[" + "a." * 100_000 + "a]"],
    ids=["dotted key", "lists", "inline tables", "header"],
)
def test_nesting_that_would_choke_a_reader_is_told_with_its_line(text: str) -> None:
    assert scan("\n\n" + text).too_deep == 3
    assert NESTING_MAX < 100

"""Does anything in a message reach a terminal as more than text?"""

import io
import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.surfaces.cli.output import Screen, json_line, shell_word, shown, shown_block, visible_json, wrapped
from telex.surfaces.cli.render import table_lines
from tests.cli.cli_kit import PROGRESS, process, put

TRICKS = {
    "escape sequence": "\x1b[2J\x1b]0;pwned\x07",
    "C1 control": "\x9b31m",
    "line end": "a\nrefused\r\n",
    "direction override": "\u202egnp.exe",
    "isolate": "\u2066x\u2069",
    "zero width": "pay\u200bload\u200d\ufeff",
    "line separator": "a\u2028b\u2029c\x85d",
    "tag": "\U000e0041\U000e0042",
    "NUL and backspace": "a\x00b\x08c\x7f",
    "lone surrogate": "\ud800",
}


@pytest.mark.parametrize("text", TRICKS.values(), ids=TRICKS)
def test_tricks_are_shown_escaped(text: str) -> None:
    assert shown(text).isprintable()
    assert shown(text) != text


@given(st.text())
def test_shown_text_is_one_printable_line_and_plain_text_stays(text: str) -> None:
    assert shown(text).isprintable()
    if text.isprintable():
        assert shown(text) == text


@given(st.characters(categories=["Cc", "Cf", "Cs", "Co", "Zl", "Zp"]))
def test_no_character_that_acts_or_hides_is_shown(letter: str) -> None:
    assert letter not in shown(f"a{letter}b"), unicodedata.category(letter)


@given(st.text())
def test_a_block_keeps_its_lines(text: str) -> None:
    assert shown_block(text).count("\n") == text.count("\n")
    assert shown_block(text).replace("\n", "").isprintable()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(JSON)
def test_json_is_printable_and_means_the_same(value: object) -> None:
    assert json_line(value).isprintable()
    assert json.loads(json_line(value)) == value
    assert json.loads(visible_json(json.dumps(value, indent=2, ensure_ascii=False))) == value


def test_json_has_no_numbers_that_json_does_not_have() -> None:
    assert json.loads(json_line({"x": [float("inf"), float("nan"), 1.5]})) == {"x": ["inf", "nan", 1.5]}


@pytest.mark.parametrize("trick", TRICKS.values(), ids=TRICKS)
@pytest.mark.parametrize(
    "options",
    [(), pytest.param(("--json",), marks=pytest.mark.slow), pytest.param(("--format", "vbw"), marks=pytest.mark.slow)],
    ids=["words", "json", "vbw"],
)
def test_no_trick_in_a_message_gets_through_check(tmp_path: Path, trick: str, options: tuple[str, ...]) -> None:
    sent = PROGRESS | {"status": trick, f"key {trick}": trick, "concerns": [{trick: trick}]}
    ran = process("check", *options, put(tmp_path, "progress.json", sent))
    assert ran.code == 2
    assert (ran.out + ran.err).replace("\n", "").isprintable()


def test_no_trick_in_a_type_or_a_body_gets_through() -> None:
    trick = "\x1b[2J"
    typed = process("check", "-", stdin=json.dumps({"type": trick}).encode())
    body = process("check", "-", stdin=f"---\ntype: approval\nsignal: LGTM\n---\n{trick}\n".encode())
    assert (typed.code, body.code) == (2, 2)
    assert "\x1b" not in typed.out + typed.err + body.out + body.err
    assert "\\x1b[2J" in body.err


def test_no_trick_in_a_file_name_or_an_option_gets_through(tmp_path: Path) -> None:
    folder = tmp_path / "a\x1b[2J\nb"
    put(folder, "x\u202e.json", {"type": "nothing"})
    for args in ([str(folder)], [str(folder / "y.json")], ["--\x1b[2J", "-"], ["--dialect", "\x1b[2J", "-"]):
        ran = process("check", *args)
        assert ran.code in (2, 3, 64)
        assert (ran.out + ran.err).replace("\n", "").isprintable()


def test_names_that_are_no_unicode_are_shown_too(tmp_path: Path) -> None:
    import os

    folder = os.fsencode(tmp_path)
    with open(folder + b"/\xff.json", "wb") as file:
        file.write(b"{")
    with open(folder + b"/ok.json", "wb") as file:
        file.write(json.dumps(PROGRESS).encode())
    ran = process("check", str(tmp_path))
    assert ran.code == 2
    assert "\\udcff.json" in ran.err


@given(st.text(alphabet="ab c'\"\\$\n", min_size=1), st.integers(5, 40))
def test_wrapping_loses_no_word(text: str, width: int) -> None:
    assert " ".join(wrapped(text, width, 2)).split() == text.split()


@given(st.text(alphabet="ab/._- '$`\"\\", min_size=1))
def test_a_word_for_the_shell_is_read_back_by_a_shell(word: str) -> None:
    import shlex

    assert shlex.split(shell_word(word)) == [word]


def test_no_line_of_a_table_is_wider_than_the_terminal() -> None:
    screen = Screen(io.StringIO())
    screen.width = 40
    path = "samples/broken/a-name-that-is-far-too-long-for-this.json"
    *_, row = table_lines(("code", "first seen"), [("field-missing", path)], screen)
    assert len(row) == 40
    assert row.startswith("field-missing  …")
    assert row.endswith("-long-for-this.json")

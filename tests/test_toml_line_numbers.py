"""Does every key of a TOML text get the line it stands on? The standard reader is the judge of which keys there are."""

import json
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.dialects.toml.document import NESTING_MAX, Path, line_of, scan

TRICKY = st.text("""ab '"\\#[]{}=,.\n""", max_size=12)
SINGLES = ["1", "-2.5", "true", "1979-05-27 07:32:00Z", "[]", "{}", "0xff", "'#'", '"\\"]"', '""', "''"]


class Page:
    """Writes TOML by chance and remembers the line of every key."""

    def __init__(self, draw: Any) -> None:
        self.draw, self.text, self.names = draw, "", 0
        self.lines: dict[Path, int] = {}

    def choose(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def write(self, text: str) -> None:
        self.text += text

    def mark(self, path: Path, *, again: bool = False) -> None:
        if again or path not in self.lines:
            self.lines[path] = self.text.count("\n") + 1

    def key(self) -> tuple[str, str]:
        """A name nobody had before, and one of the ways to write it."""
        self.names += 1
        odd = self.choose("k", "a b", "é", "a.b", '"', "\\", "#", "[x]", "=")
        name = f"{odd}{self.names}"
        written = [json.dumps(name), json.dumps(name, ensure_ascii=False), f"'{name}'"]
        return name, self.choose(*written, *([name] if odd == "k" else []))

    def pair(self, table: Path) -> None:
        keys = [self.key() for _ in range(self.choose(1, 1, 2, 3))]
        for depth in range(1, len(keys) + 1):
            self.mark((*table, *(name for name, _ in keys[:depth])))
        self.write(self.choose(".", " . ").join(written for _, written in keys) + self.choose("=", " =\t"))
        self.value((*table, *(name for name, _ in keys)), depth=0)

    def value(self, path: Path, depth: int) -> None:
        kind = self.choose("single", "string") if depth > 2 else self.choose("single", "string", "list", "table")
        if kind == "single":
            self.write(self.choose(*SINGLES))
        elif kind == "string":
            self.string()
        elif kind == "list":
            self.list(path, depth)
        else:
            self.write("{ ")
            for index in range(self.choose(0, 1, 2)):
                self.write(", " if index else "")
                name, written = self.key()
                self.mark((*path, name))
                self.write(f"{written} = ")
                self.value((*path, name), depth + 1)
            self.write(" }")

    def string(self) -> None:
        text, start = self.draw(TRICKY), self.choose("", "\n")
        basic = text.replace("\\", "\\\\").replace('"""', '""\\"')
        literal = text.replace("'''", "''x")
        self.write(self.choose(json.dumps(text), f'"""{start}{basic}"""', f"'''{start}{literal}'''"))

    def list(self, path: Path, depth: int) -> None:
        count = self.choose(0, 1, 2, 3)
        self.write("[")
        for index in range(count):
            self.write(self.choose("", "\n", " # ] \" '''\n\n  "))
            self.mark((*path, index))
            self.value((*path, index), depth + 1)
            self.write(self.choose(",", "\n,", " # }\n ,") if index < count - 1 else self.choose("", ",", "\n"))
        self.write("]")

    def rest(self, table: Path) -> None:
        for _ in range(self.choose(0, 1, 2)):
            self.write(self.choose("", "\n", '# [a] """\n', "  "))
            self.pair(table)
            self.write(self.choose("\n", " # '''\n"))

    def section(self, outer: tuple[str, Path] | None) -> tuple[str, Path]:
        """A table or a list of tables, perhaps within the one before; gives what a header inside it begins with."""
        name, written = self.key()
        before, path = outer or ("", ())
        header, path = before + written, (*path, name)
        if self.choose(True, False):
            self.mark(path)
            self.write(f"[ {header} ]\n")
            self.rest(path)
            return header + ".", path
        for index in range(self.choose(1, 2)):
            self.mark(path)
            self.mark((*path, index))
            self.write(f"[[{header}]] # [[\n")
            self.rest((*path, index))
        return header + ".", (*path, index)


@st.composite
def pages(draw: Any) -> Page:
    page = Page(draw)
    page.rest(())
    outer: tuple[str, Path] | None = None
    for _ in range(page.choose(0, 1, 3)):
        outer = page.section(page.choose(outer, None))
    page.text = page.choose(page.text, page.text.replace("\n", "\r\n"))
    return page


def paths(value: Any, path: Path = ()) -> list[Path]:
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(inner for key, child in children for inner in paths(child, (*path, key)))]


@given(pages())
def test_every_key_of_a_toml_text_is_found_on_its_line(page: Page) -> None:
    found = scan(page.text)
    assert found.too_deep is None
    assert set(found.lines) == set(paths(tomllib.loads(page.text)))
    assert found.lines == {(): 1, **page.lines}


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

"""Do our patterns mean what they mean in a .gitignore? Ours against pathspec, which git's own users compare with."""

import re
import time

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from telex.validation.patterns import Name, PatternSet, allowing, compiled, covers, flaw, forbidding, name_fits
from tests.proofs import proves

LETTERS = "ab.-"
TOKENS = st.sampled_from(
    ["a", "b", "ab", ".", "-", "*", "**", "?", "[ab]", "[a-c]", "[!b]", "[]a]", "\\*", "!", "#", "a*b"]
)
NAMES = st.lists(TOKENS, min_size=1, max_size=4).map("".join)
PATTERNS = st.builds(
    lambda root, names, folder: root + "/".join(names) + folder,
    st.sampled_from(["", "", "/", "**/"]),
    st.lists(NAMES | st.just("**"), min_size=1, max_size=4),
    st.sampled_from(["", "", "/", "/**", "/*"]),
)
PATHS = st.builds(
    lambda names, folder: "/".join(names) + folder,
    st.lists(st.text(LETTERS + "*!#]", min_size=1, max_size=4), min_size=1, max_size=5),
    st.sampled_from(["", "", "", "/"]),
)


def by_pathspec(pattern: str, path: str) -> bool:
    written = "\\" + pattern if pattern[:1] in "!#" else pattern  # neither comments nor exceptions here
    regex, include = GitIgnoreSpecPattern.pattern_to_regex(written)
    assert include is not False
    # In git a letter out of [...] is never a /; pathspec forgets that for [!...].
    return regex is not None and re.search(regex.replace("[^b]", "[^b/]"), path) is not None


def is_ordinary(path: str) -> bool:
    return not {"", ".", ".."} & set(path.rstrip("/").split("/"))


@proves("contracts/patterns/gitignore")
@given(PATTERNS, PATHS)
@example("**/a/**/b", "a/b")
@example("a/**/b/", "a/x/y/b/c")
@example("a**b", "a/b")
@example("**", "a")
@example("**/", "a")
@example("*/", "a/b")
@example("/**/a", "a")
@example("a/**/**/b", "a/b")
@example("\\*\\*", "**")
def test_a_pattern_covers_what_it_covers_in_a_gitignore(pattern: str, path: str) -> None:
    assume(is_ordinary(path) and is_ordinary(pattern.lstrip("/")) and flaw(pattern) is None)
    assume("***" not in pattern)  # which pathspec takes for no name at all, other than `*`
    ours = compiled(pattern)
    assert ours is not None
    assert covers(ours, path) is by_pathspec(pattern, path), (pattern, path, ours)


@given(st.lists(PATTERNS, max_size=8), st.lists(PATHS, min_size=1, max_size=8))
def test_many_patterns_cover_what_one_of_them_covers(patterns: list[str], paths: list[str]) -> None:
    made = [one for pattern in patterns if (one := compiled(pattern)) is not None]
    together = PatternSet(made)
    for path in filter(is_ordinary, paths):
        found = together.cover(path)
        assert (found is not None) is any(covers(one, path) for one in made)
        assert found is None or covers(found, path)


@proves("contracts/patterns/forbidden-wider")
@given(PATTERNS, PATHS)
def test_whatever_a_pattern_allows_it_forbids_too(pattern: str, path: str) -> None:
    assume(is_ordinary(path))
    if allowing((pattern,)).cover(path) is not None:
        assert forbidding((pattern,)).cover(path) is not None
        assert forbidding((pattern,)).cover(path.upper()) is not None or "[" in pattern


@proves("contracts/patterns/plain-from-root")
@pytest.mark.parametrize(
    "pattern, path, allows, forbids",
    [
        ("src/", "src/a.py", True, True), ("src/", "lib/src/a.py", False, True), ("src", "src", True, True),
        ("src/", "src", False, True), (".env", "a/.env", False, True), ("*.md", "a/b.md", True, True),
        ("/src", "a/src", False, False), ("a/b", "x/a/b", False, False), ("!a", "!a", True, True),
        ("#a", "#a", True, True), ("src/*.py", "src/a/b.py", False, False), ("src/**", "src/a/b.py", True, True),
        ("./src//a/", "src/a/b", True, True), ("src/  ", "src/a", True, True),
    ],
)  # fmt: skip
def test_a_plain_name_is_allowed_at_the_root_and_forbidden_everywhere(
    pattern: str, path: str, allows: bool, forbids: bool
) -> None:
    assert (allowing((pattern,)).cover(path) is not None) is allows
    assert (forbidding((pattern,)).cover(path) is not None) is forbids


@pytest.mark.parametrize(
    "pattern", ["", "  ", "/", "../x", "a/../b", "~/x", "C:\\x", "C:/x", "a\\b\\", "[a", "a\nb", "\\"]
)
def test_what_cannot_be_in_the_project_covers_nothing_and_is_told(pattern: str) -> None:
    assert flaw(pattern) is not None
    assert compiled(pattern) is None
    assert allowing((pattern,)).cover("a/b") is None


@proves("contracts/patterns/bounded")
@pytest.mark.parametrize("pattern", ["a*" * 60 + "b", "**/a/" * 40 + "b", "[ab]*" * 60 + "c", "?*" * 80 + "b"])
def test_no_pattern_takes_long(pattern: str) -> None:
    made = compiled(pattern)
    assert made is not None
    started = time.process_time()
    assert not covers(made, "a" * 255)
    assert not covers(made, "/".join(["a"] * 200))
    assert time.process_time() - started < 5.0  # a regular expression would take longer than the universe has


@proves("contracts/patterns/bounded")
@pytest.mark.parametrize("form", ["*a{}*b", "src/*a{}*b", "src/**/*a{}*b/c*", "[a-c]?{}x*"])
def test_of_thousands_of_patterns_few_are_looked_at_closely(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[str] = []

    def counted(name: Name, given: str) -> bool:
        looks.append(given)
        return name_fits(name, given)

    monkeypatch.setattr("telex.validation.patterns.name_fits", counted)
    many = allowing(tuple(form.format(number) for number in range(5_000)))
    paths = [f"src/d{number % 10}/f{number}.py" for number in range(100)]
    assert [many.cover(path) for path in paths] == [None] * len(paths)
    assert len(looks) < 10_000  # and not five thousand for each

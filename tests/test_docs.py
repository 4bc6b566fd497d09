"""Every command and every piece of Python in the documentation is run, and prints what the page says.

A page is typed from top to bottom in one folder, like a fresh clone's, so that a story may go on from one block to the
next. What no two runs have in common is compared by its form: times, durations, and ids that Telex gives.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from telex.testing.faulty_stores import BUGS
from tests.console_examples import plain, type_here

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINKED = [*PAGES, *(ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"))]
SLOW = ("docs/testing-your-store.md",)
IN_PROCESSES = os.environ.get("TELEX_PROFILE") == "long"  # a process for each command, not only where a shell is needed
NEXT_DAY = re.compile(r"(?<=until )\d{4}-\d\d-\d\d (?=\d\d:)")  # said where a lease ends after midnight
DAY = re.compile(r"\d{4}-\d\d-\d\d UTC")
NOT_RUN = ("pip install", "make ", "git ")  # they need the network or an hour; the tests run in what they make
_BLOCK = re.compile(r"^```(?P<kind>console|python)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
_VARYING = {
    "moment": re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"),
    "date": re.compile(r"\b\d{4}-\d\d-\d\d\b"),
    "time": re.compile(r"\b\d\d:\d\d:\d\d(\.\d+)?\b"),
    "coded time": re.compile(r"\b\d\d#58;\d\d#58;\d\d\b"),  # as Mermaid has to be told it
    "duration": re.compile(r"\b\d+(\.\d+)? (ms|s|min|h|d)( \d+ (s|min|h))?\b"),
    "took": re.compile(r'(?<="processingTime": )\d+(\.\d+)?'),
    "id": re.compile(r"\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b"),  # a ULID
}


class Block(NamedTuple):
    number: int
    kind: str
    text: str


def blocks(page: Path) -> list[Block]:
    found = _BLOCK.finditer(page.read_text(encoding="utf-8"))
    return [Block(number, block["kind"], block["text"]) for number, block in enumerate(found, 1)]


def commands(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each command of a console block with the output shown under it."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, *shown = part.rstrip("\n").split("\n")
        yield command, shown


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder like a fresh clone's, to run in and write to."""
    for name in ("samples", "docs"):
        shutil.copytree(ROOT / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path / "docs/examples")
    for name in ("TELEX_STORE", "TELEX_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def run(command: str, folder: Path) -> str:
    """What a person sees in a terminal: both streams, in one order."""
    if not IN_PROCESSES and (piped := plain(command)) is not None:
        return type_here(piped, folder)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "NO_COLOR": "1", "COLUMNS": "120"}
    done = subprocess.run(
        command, shell=True, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60
    )
    return done.stdout.decode()


def form(line: str) -> str:
    """The line with a word in place of whatever varies, and of the blanks around it: columns are as wide as need be."""
    varied = NEXT_DAY.sub("", line.rstrip())
    for name, pattern in _VARYING.items():
        varied = pattern.sub(f"<{name}>", varied)
    return " ".join(varied.split()) if varied != line.rstrip() else varied


def fits(printed: list[str], shown: list[str]) -> bool:
    """Does the output match, line by line, where `...` stands for any lines?"""
    if not shown:
        return not printed
    if shown[0] == "...":
        return any(fits(printed[skip:], shown[1:]) for skip in range(len(printed) + 1))
    return bool(printed) and form(printed[0]) == form(shown[0]) and fits(printed[1:], shown[1:])


def within_a_day(printed: list[str]) -> list[str]:
    """What is shown of a log was all on one day, and what is played here may go on past midnight."""
    days = [number for number, line in enumerate(printed) if DAY.fullmatch(line)]
    return [line for number, line in enumerate(printed) if number not in days[1:]]


def type_in(block: Block, folder: Path) -> None:
    for command, shown in commands(block.text):
        if command.startswith(NOT_RUN):
            continue
        printed = within_a_day(run(command, folder).splitlines())
        assert fits(printed, shown), f"block {block.number}\n$ {command}\n" + "\n".join(printed)


def played() -> Iterator[Any]:
    """Every page with something to type. One of them starts a whole run of tests."""
    for page in filter(blocks, PAGES):
        name = str(page.relative_to(ROOT))
        yield pytest.param(page, id=name, marks=[pytest.mark.slow] if name in SLOW else [])


@pytest.mark.parametrize("page", list(played()))
def test_what_is_shown_on_a_page_is_what_happens(page: Path, project: Path) -> None:
    for block in blocks(page):
        if block.kind == "console":
            type_in(block, project)
        else:
            exec(compile(block.text, f"{page.name}, block {block.number}", "exec"), {"__name__": "docs"})


def test_the_first_commands_of_the_readme_need_nothing_but_telex(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TELEX_STORE", "TELEX_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setitem(globals(), "IN_PROCESSES", True)
    type_in(blocks(ROOT / "README.md")[0], tmp_path)


@pytest.mark.parametrize("page", LINKED, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_on_a_page_leads_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for link, heading in re.findall(r"\]\(([^)#\s]*)(?:#([^)\s]+))?\)", text):
        if "://" in link:
            continue
        target = (page.parent / link).resolve() if link else page
        assert target.exists(), link
        assert not heading or heading in headings(target), f"{link}#{heading}"


def headings(page: Path) -> set[str]:
    """The anchors of a page, as GitHub makes them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    found = re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


def test_the_picture_in_the_docs_is_the_one_that_would_be_drawn_now(tmp_path: Path) -> None:
    script, drawn = ROOT / "docs/examples/conversation.py", tmp_path / "trace.svg"
    subprocess.run([sys.executable, str(script), "--picture", str(drawn)], check=True, cwd=tmp_path)
    again = "run `python docs/examples/conversation.py --picture docs/pictures/trace.svg`"
    assert (ROOT / "docs/pictures/trace.svg").read_text(encoding="utf-8") == drawn.read_text(encoding="utf-8"), again


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs/README.md").read_text(encoding="utf-8")
    folders = (ROOT / "docs", ROOT / "docs/reference")
    pages = {str(page.relative_to(ROOT / "docs")) for folder in folders for page in folder.glob("*.md")} - {"README.md"}
    assert {page for page in pages if f"]({page})" not in index} == set()


def test_every_planted_bug_is_told_of() -> None:
    page = (ROOT / "docs/testing-your-store.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `([a-z-]+)` \|", page, flags=re.MULTILINE) == list(BUGS)


def test_a_page_that_shows_another_output_is_found_out() -> None:
    assert fits(["a", "b", "c"], ["a", "...", "c"])
    assert not fits(["a", "b"], ["a", "c"])
    assert not fits(["a", "b"], ["a"])


def test_times_and_given_ids_may_differ_and_nothing_else() -> None:
    kept = "stored 01M7HP6J3ZVY4395A6MTEGX2SH for lead"
    assert fits([kept], ["stored 01KK9Q0ZV8M5B7RZ2C4D6E8F0G for lead"])
    assert not fits([kept], ["stored 01KK9Q0ZV8M5B7RZ2C4D6E8F0G for dev"])
    assert not fits([kept], ["stored blocker-1 for lead"])
    offered = "2026-11-16 08:04:56.463  offered 1×  to lead until 08:05:56; in 12.3 ms"
    assert fits([offered], ["2026-03-02 10:00:00.001  offered 1×  to lead until 10:01:00; in 0.4 ms"])
    assert not fits([offered], ["2026-03-02 10:00:00.001  offered 2×  to lead until 10:01:00; in 0.4 ms"])
    assert not fits([offered], ["2026-03-02 10:00:00.001  offered 1×  to lead; in 0.4 ms"])

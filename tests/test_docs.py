"""Every command and every piece of Python in the documentation is run, and prints what the page says."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NOT_RUN = ("pip install",)  # needs the network; the tests run in what it makes
_BLOCK = re.compile(r"^```(?P<kind>console|python)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(kind: str) -> Iterator[Any]:
    for page in PAGES:
        for number, block in enumerate(_BLOCK.finditer(page.read_text(encoding="utf-8")), 1):
            if block["kind"] == kind:
                yield pytest.param(block["text"], id=f"{page.relative_to(ROOT)} block {number}")


def commands(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each command of a console block with the output shown under it."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, *shown = part.rstrip("\n").split("\n")
        yield command, shown


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder like a fresh clone's, to run in and write to."""
    for name in ("samples", "docs"):
        shutil.copytree(ROOT / name, tmp_path / name)
    return tmp_path


def run(command: str, folder: Path) -> str:
    """What a person sees in a terminal: both streams, in one order."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "NO_COLOR": "1", "COLUMNS": "120"}
    done = subprocess.run(
        command, shell=True, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60
    )
    return done.stdout.decode()


def fits(printed: list[str], shown: list[str]) -> bool:
    """Does the output match, line by line, where `...` stands for any lines?"""
    if not shown:
        return not printed
    if shown[0] == "...":
        return any(fits(printed[skip:], shown[1:]) for skip in range(len(printed) + 1))
    return bool(printed) and printed[0].rstrip() == shown[0].rstrip() and fits(printed[1:], shown[1:])


@pytest.mark.parametrize("text", list(blocks("console")))
def test_a_command_in_the_docs_prints_what_the_page_shows(text: str, desk: Path) -> None:
    for command, shown in commands(text):
        if command.startswith(NOT_RUN):
            continue
        printed = run(command, desk).splitlines()
        assert fits(printed, shown), f"$ {command}\n" + "\n".join(printed)


@pytest.mark.parametrize("text", list(blocks("python")))
def test_python_in_the_docs_runs(text: str, desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(desk)
    exec(compile(text, "docs", "exec"), {"__name__": "docs"})


def test_a_page_that_shows_another_output_is_found_out(desk: Path) -> None:
    assert fits(["a", "b", "c"], ["a", "...", "c"])
    assert not fits(["a", "b"], ["a", "c"])
    assert not fits(["a", "b"], ["a"])

"""The comparison page shows the workers of examples/comparison as they are."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "comparison.md"
WORKERS = {"Telex": "telex_worker.py", "huey": "huey_worker.py", "FastStream": "faststream_worker.py"}


def code_of(name: str) -> str:
    """The program without its docstring."""
    text = (ROOT / "examples" / "comparison" / name).read_text(encoding="utf-8")
    end = ast.parse(text).body[0].end_lineno or 0
    return "".join(text.splitlines(keepends=True)[end:]).strip()


def shown() -> list[str]:
    return [
        block.strip() for block in re.findall(r"^```py\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    ]


@pytest.mark.parametrize("name", WORKERS.values())
def test_the_code_on_the_page_is_the_code_that_runs(name: str) -> None:
    assert code_of(name) in shown()


def test_the_lines_of_code_on_the_page_are_counted() -> None:
    counts = [sum(bool(line.strip()) for line in code_of(name).splitlines()) for name in WORKERS.values()]
    row = " | ".join(map(str, counts))
    assert f"| lines of code | {row} |" in PAGE.read_text("utf-8")

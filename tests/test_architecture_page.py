"""ARCHITECTURE.md, CONTRIBUTING.md and the decisions name files and functions that exist."""

import re
from pathlib import Path

import pytest

from tests.proofs import proves

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
DECISIONS = sorted((ROOT / "docs/decisions").glob("*.md"))
PATHS = sorted(set(re.findall(r"`((?:src|tests|docs)/[\w./-]+)`", PAGE)))
BLOCKS = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
CALLED = sorted({name for block in BLOCKS[1:] for name in re.findall(r"(\w+)\(", block)})


@proves("common/architecture")
def test_every_file_on_the_architecture_page_exists() -> None:
    assert len(PATHS) > 20
    assert [path for path in PATHS if not (ROOT / path).exists()] == []


@proves("common/architecture")
@pytest.mark.parametrize("page", ["CONTRIBUTING.md", *(f"docs/decisions/{each.name}" for each in DECISIONS)])
def test_every_module_on_a_page_for_contributors_exists(page: str) -> None:
    named = re.findall(r"`([\w/]+/[\w/]+\.py)`", (ROOT / page).read_text(encoding="utf-8"))
    assert [name for name in named if not any((base / name).exists() for base in (ROOT, ROOT / "src/telex"))] == []


@proves("common/architecture")
def test_every_function_on_the_architecture_page_exists() -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    defined = set(re.findall(r"def (\w+)\(", source))
    assert len(CALLED) > 10
    assert [name for name in CALLED if name not in defined] == []

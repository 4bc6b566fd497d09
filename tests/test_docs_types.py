"""Python on the pages is clean under mypy --strict, and a misspelt public name is an error of the type checker."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.proofs import proves
from tests.test_docs import PAGES, ROOT, blocks

MISSPELT = "import telex\n\ntelex.conect()\nfrom telex.messages.build_flow import StatusUpdat\n"

STUB = [
    "schema",
    "--dialect",
    "docs/examples/release-train.toml",
    "--format",
    "python",
]  # of a module that a page imports

pytestmark = pytest.mark.slow


def snippets(folder: Path) -> None:
    """A file for each piece of Python, named after its page."""
    for page in PAGES:
        name = re.sub(r"\W", "_", str(page.relative_to(ROOT)))
        for block in blocks(page):
            if block.kind == "python":
                (folder / f"{name}_{block.number}.py").write_text(block.text, encoding="utf-8")


@proves("docs/types")
def test_python_on_the_pages_is_strictly_typed_and_a_misspelt_name_is_found(tmp_path: Path) -> None:
    snippets(tmp_path)
    stub = subprocess.run([sys.executable, "-m", "telex", *STUB], cwd=ROOT, capture_output=True, check=True)
    (tmp_path / "release_train.pyi").write_bytes(stub.stdout)
    (tmp_path / "misspelt.py").write_text(MISSPELT, encoding="utf-8")
    files = sorted(str(file) for file in tmp_path.glob("*.py"))
    assert len(files) > 8
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--scripts-are-modules", *files]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    planted = [line for line in errors if Path(line.partition(":")[0]).name == "misspelt.py"]
    assert [line for line in errors if line not in planted] == []
    assert [line.split(":")[1] for line in planted] == ["3", "4"]

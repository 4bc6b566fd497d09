"""Copies of the Python blocks in README.md and docs/, one file each, for pyright.

python snippets.py FOLDER
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def write(folder: Path) -> int:
    """Write the blocks into an empty folder; how many. A file is named after its page and the number of the block."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    blocks = [
        (re.sub(r"\W", "_", str(page.relative_to(ROOT).with_suffix(""))), block)
        for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
        for block in _BLOCK.findall(page.read_text(encoding="utf-8"))
    ]
    own = "docs/examples/release-train.toml"  # its classes are on the page of own dialects
    stub = subprocess.run(
        [sys.executable, "-m", "telex", "schema", "--dialect", own, "--format", "python"],
        cwd=ROOT,
        check=True,
        stdout=subprocess.PIPE,
    ).stdout
    (folder / "release_train.pyi").write_bytes(stub)
    for number, (page_name, block) in enumerate(blocks, 1):
        (folder / f"{page_name}_{number}.py").write_text(block, encoding="utf-8")
    return len(blocks)


if __name__ == "__main__":
    print(f"{write(Path(sys.argv[1]))} blocks of Python in the documentation")

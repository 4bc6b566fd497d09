"""Command `python -m telex.generate`, run from the repository root: writes all generated files and parts of pages.

No other module of this package writes to the disk.
"""

import sys
from pathlib import Path

from telex.generate.files import files
from telex.generate.page_parts import filled, parts


def write_files(root: Path) -> list[str]:
    """Write the files that differ, and return their paths."""
    wanted = files() | _pages(root)
    changed = [path for path, text in wanted.items() if _read(root / path) != text]
    for path in changed:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(wanted[path], encoding="utf-8")
    return changed


def _pages(root: Path) -> dict[str, str]:
    """Handwritten pages with their generated parts."""
    pages = {path: _read(root / path) for path in parts()}
    return {path: filled(page, parts()[path]) for path, page in pages.items() if page is not None}


def _read(file: Path) -> str | None:
    return file.read_text(encoding="utf-8") if file.exists() else None


if __name__ == "__main__":
    for path in write_files(Path.cwd()):
        sys.stdout.write(f"wrote {path}\n")

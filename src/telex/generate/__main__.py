"""Write what is made from tables, files and parts of pages: `python -m telex.generate`, from the repository's root.

This is the only file of the room that touches the disk.
"""

import sys
from pathlib import Path

from telex.generate.files import files
from telex.generate.page_parts import filled, parts


def write_files(root: Path) -> list[str]:
    """Write what differs, and say which files those were."""
    wanted = files() | _pages(root)
    changed = [path for path, text in wanted.items() if _read(root / path) != text]
    for path in changed:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(wanted[path], encoding="utf-8")
    return changed


def _pages(root: Path) -> dict[str, str]:
    """Pages that people write, with the parts that are made."""
    pages = {path: _read(root / path) for path in parts()}
    return {path: filled(page, parts()[path]) for path, page in pages.items() if page is not None}


def _read(file: Path) -> str | None:
    return file.read_text(encoding="utf-8") if file.exists() else None


if __name__ == "__main__":
    for path in write_files(Path.cwd()):
        sys.stdout.write(f"wrote {path}\n")

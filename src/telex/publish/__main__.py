"""Write the files that are made from the dialects: `python -m telex.publish`, from the repository's root.

This is the only file of the room that touches the disk.
"""

import sys
from pathlib import Path

from telex.publish.files import files


def write_files(root: Path) -> list[str]:
    """Write what differs, and say which files those were."""
    changed = [path for path, text in files().items() if _read(root / path) != text]
    for path in changed:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(files()[path], encoding="utf-8")
    return changed


def _read(file: Path) -> str | None:
    return file.read_text(encoding="utf-8") if file.exists() else None


if __name__ == "__main__":
    for path in write_files(Path.cwd()):
        sys.stdout.write(f"wrote {path}\n")

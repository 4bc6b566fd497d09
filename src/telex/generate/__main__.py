"""Command `python -m telex.generate`, run from the repository root: writes all generated files and parts of pages.

A part is the text between the marks `<!-- made: NAME -->` and `<!-- made until here -->` of a handwritten page. No
other module of this package writes to the disk.
"""

import re
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from telex import reference
from telex.dialects.python_names import module_name
from telex.dialects.registry import PLAIN, VERSIONS
from telex.generate.codes import refusals_page
from telex.generate.pages import dialect_page, overview_page
from telex.generate.tables import (
    delivery_parts,
    intent_parts,
    matrix_parts,
    migration_parts,
    pipeline_parts,
    task_parts,
)
from telex.generate.typings import classes_stub, client_stub

END = "<!-- made until here -->"
_PART = re.compile(rf"(<!-- made: (\S+) -->\n).*?({re.escape(END)})", re.DOTALL)


def files() -> dict[str, str]:
    """The text of each generated file, by its path from the repository root."""
    dialects = (*VERSIONS, PLAIN)
    texts = {"docs/refusals.md": refusals_page(), "docs/dialects/README.md": overview_page(dialects)}
    texts |= {f"docs/dialects/{dialect.slug}.md": dialect_page(dialect) for dialect in dialects}
    stubs = {module_name(dialect): classes_stub(dialect) for dialect in VERSIONS}
    texts["src/telex/client.pyi"] = client_stub()
    return texts | reference.pages() | {f"src/telex/messages/{name}.pyi": stub for name, stub in stubs.items()}


@cache
def parts() -> dict[str, dict[str, str]]:
    """The text of each generated part, by page and by name."""
    return {
        "docs/delivery.md": delivery_parts(),
        "docs/task-states.md": task_parts(),
        "docs/work.md": pipeline_parts(),
        "docs/translation.md": matrix_parts(),
        "docs/migration-vbw-2.0.md": migration_parts(),
        "docs/own-dialects.md": intent_parts(),
        **reference.parts(),
    }


def filled(page: str, texts: Mapping[str, str]) -> str:
    """The page with its parts replaced. Every part must occur exactly once, so that a page cannot lose one."""
    names = sorted(match[2] for match in _PART.finditer(page))
    assert names == sorted(texts), f"the page needs marks for {sorted(texts)}, it has {names}"
    return _PART.sub(lambda match: f"{match[1]}\n{texts[match[2]]}\n\n{match[3]}", page)


def write_files(root: Path) -> list[str]:
    """Write the files that differ, and return their paths."""
    pages = {path: page for path in parts() if (page := _read(root / path)) is not None}
    texts = files() | {path: filled(page, parts()[path]) for path, page in pages.items()}
    changed = [path for path, text in texts.items() if _read(root / path) != text]
    for path in changed:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(texts[path], encoding="utf-8")
    return changed


def _read(file: Path) -> str | None:
    return file.read_text(encoding="utf-8") if file.exists() else None


if __name__ == "__main__":
    for path in write_files(Path.cwd()):
        sys.stdout.write(f"wrote {path}\n")

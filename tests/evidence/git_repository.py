"""A small git repository for tests: fixed author and dates, so that its hashes are the same everywhere."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Ada"), ("EMAIL", "ada@example.org"), ("DATE", "2026-03-02T10:00:00Z"))
}


class Repository:
    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.git("init", "--quiet", "--initial-branch=main", *options)

    def git(self, *words: str, given: str | None = None) -> str:
        return git(self.folder, *words, given=given)

    def write(self, files: Mapping[str, str | None]) -> None:
        """Files by their path; None removes one."""
        for name, text in files.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                path.unlink()
            else:
                path.write_text(text, encoding="utf-8")

    def commit(self, files: Mapping[str, str | None] = MappingProxyType({}), message: str = "work") -> str:
        """Everything that there is, with these. The hash."""
        self.write(files)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")


def git(folder: Path, *words: str, given: str | None = None) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    clean = kept | IDENTITY | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "HOME": str(folder)}
    asked = subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *words],
        cwd=folder, env=clean, input=given, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return asked.stdout.strip()

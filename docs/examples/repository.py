"""A repository to try things in: two commits, whose hashes are the same wherever and whenever they are made."""

import os
import subprocess
import sys
from pathlib import Path

AUTHOR = {"NAME": "Ada", "EMAIL": "ada@example.org", "DATE": "2026-03-02T10:00:00Z"}
COMMITS = {
    "Begin": {"src/auth/login.py": "users = {}\n", ".gitignore": ".telex/\n"},
    "Let users reset their password": {"src/auth/reset.py": "def reset(user): ...\n"},
}


def make(folder: Path) -> str:
    """The hash of the last commit."""
    _git(folder, "init", "--quiet")
    for message, files in COMMITS.items():
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        _git(folder, "add", "--", *files)
        _git(folder, "commit", "--quiet", "-m", message)
    return _git(folder, "rev-parse", "HEAD")


def _git(folder: Path, *words: str) -> str:
    identity = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in AUTHOR.items()}
    own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"} | identity
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(["git", *words], cwd=folder, env=kept | own, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()


if __name__ == "__main__":
    where = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    where.mkdir(parents=True, exist_ok=True)
    print(f"the last commit is {make(where)}")

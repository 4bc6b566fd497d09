"""Verification of one claim: a commit and the files that it changed, or files to be committed."""

import os
import posixpath
import unicodedata
from collections.abc import Iterable
from contextlib import suppress

from telex.evidence.git import GitCommand, GitUnavailable
from telex.ports.environment import EvidenceResult

STORE_FOLDER = ".telex"  # lies in the folder of the project


def look(top: str, folder: str, commit: str | None, files: tuple[str, ...]) -> EvidenceResult | None:
    """`folder` is where the store is: what a report calls a file is seen from its project, or from the top."""
    try:
        git, project = GitCommand(top), _project(top, folder)
        return _commit(git, project, commit, files) if commit is not None else _files(git, top, project, files)
    except GitUnavailable:
        return None


def _project(top: str, folder: str) -> str:
    """The folder of the project as seen from the top: empty where they are the same."""
    if os.path.basename(folder) == STORE_FOLDER:
        folder = os.path.dirname(folder)
    inside = os.path.relpath(folder, top).replace(os.sep, "/")
    return "" if inside == "." or inside.startswith("..") else inside


# --- a commit ---------------------------------------------------------------------------------------------------------


def _commit(git: GitCommand, project: str, name: str, files: tuple[str, ...]) -> EvidenceResult | None:
    found = git.ask(["cat-file", "--batch"], f"{name}^{{commit}}\n".encode())
    head, _, body = found.partition(b"\n")
    words = head.decode("utf-8", "replace").split(" ")
    if words[-1] == "missing":
        return None if _is_partial(git) else EvidenceResult()
    if len(words) != 3 or words[1] != "commit" or not words[0].startswith(name):
        return None  # several begin so, or it is the name of a branch or tag: that may be anything tomorrow
    commit = words[0]
    if not files:
        return EvidenceResult(commit)
    parents = [line[7:].decode() for line in body.partition(b"\n\n")[0].split(b"\n") if line.startswith(b"parent ")]
    if parents and not _has(git, parents[0]):
        return EvidenceResult(commit)  # history ends here, so that it cannot be told what was changed
    against = [parents[0], commit] if parents else ["--root", "--no-commit-id", commit]
    listing = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", "--no-ext-diff", "--no-textconv"]
    changed = _listed(git.ask([*listing, "--ignore-submodules=none", *against]))
    return EvidenceResult(commit, _strangers(files, project, changed))


def _has(git: GitCommand, commit: str) -> bool:
    return not git.ask(["cat-file", "--batch-check"], f"{commit}\n".encode()).rstrip().endswith(b" missing")


def _is_partial(git: GitCommand) -> bool:
    """Does this clone leave out part of the history? Then what is missing here may well be there."""
    if git.ask(["rev-parse", "--is-shallow-repository"]).strip() == b"true":
        return True
    try:
        return bool(git.ask(["config", "--get-regexp", r"^(extensions\.partialclone|remote\..*\.promisor)$"]))
    except GitUnavailable:  # how git says that there is no such setting
        return False


# --- files ------------------------------------------------------------------------------------------------------------


def _files(git: GitCommand, top: str, project: str, files: tuple[str, ...]) -> EvidenceResult | None:
    git.ask(["rev-parse", "--is-inside-work-tree"])  # one that does not answer is not looked at by us either
    gone = [file for file in files if not _is_there(top, project, file)]
    if not gone:
        return EvidenceResult()
    tracked = _listed(git.ask(["ls-files", "-z", "--cached", "--full-name"]))  # removed, and git knows what
    with suppress(GitUnavailable):  # nothing was committed yet
        tracked |= _listed(git.ask(["ls-tree", "-r", "-z", "--name-only", "--full-tree", "HEAD"]))
    return EvidenceResult(None, _strangers(gone, project, tracked))


def _is_there(top: str, project: str, file: str) -> bool:
    """Is it in the work tree? What a link leads to outside of it is not."""
    for path in _as_seen(file, project):
        here = os.path.join(top, *path.split("/"))
        if os.path.lexists(here) and _is_inside(os.path.dirname(here), top):
            return True
    return False


def _is_inside(folder: str, top: str) -> bool:
    root = os.path.realpath(top)
    return os.path.commonpath([root, os.path.realpath(folder)]) == root


def _listed(answer: bytes) -> set[str]:
    return {_composed(os.fsdecode(name)) for name in answer.split(b"\0") if name}


def _strangers(files: Iterable[str], project: str, known: set[str]) -> tuple[str, ...]:
    """Those that are not known, neither themselves nor as a folder in which something is."""
    folders = {above for path in known for above in _folders(path)}
    return tuple(
        file
        for file in dict.fromkeys(files)
        if not any(path in known or path in folders for path in _as_seen(file, project))
    )


def _folders(path: str) -> Iterable[str]:
    while path := posixpath.dirname(path):
        yield path


def _as_seen(file: str, project: str) -> list[str]:
    """The paths from the top that a report may mean by this: seen from there, or from its project."""
    if not file or "\0" in file or file.startswith("/"):
        return []
    ways = {posixpath.normpath(posixpath.join(base, file)) for base in ("", project)}
    return [_composed(way) for way in ways if way not in (".", "..") and not way.startswith("../")]


def _composed(path: str) -> str:
    """An é is an é, whether written as one character or as two: systems differ in how they keep a name."""
    return path if path.isascii() else unicodedata.normalize("NFC", path)

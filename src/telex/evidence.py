"""Safe calls of git: neither a message nor a hostile repository can make it run other programs.

Only plumbing commands that read objects and lists are used: they run no hook, filter, text converter, pager or
credential helper. Options that could still start a program (file-system monitor, fetch of missing objects) are off.
Git's own ownership check stays: an untrusted repository gives no answer.
"""

import os
import posixpath
import shutil
import subprocess
import time
import unicodedata
from collections.abc import Iterable, Sequence
from contextlib import suppress

from telex.model.finding import Severity
from telex.ports.evidence import Evidence, EvidenceResult

ANSWER_SECONDS = 3.0  # for all that one message makes us ask
SULKING_SECONDS = 60.0  # git did not answer: it is left alone for so long

_SETTINGS = (
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    "core.quotePath=false",
    "safe.bareRepository=explicit",
)
# In place of whatever a hook, or whoever started us, has set for git: that was meant for another question.
_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none",  # nothing is fetched, by no protocol
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",  # an object is what its hash says
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
}

_silent_until = float("-inf")  # by the monotonic clock


class GitUnavailable(Exception):
    """Git is not there, takes too long, or does not want to: nothing is claimed then."""


class GitCommand:
    """The git of one repository, for as long as one message may take."""

    def __init__(self, top: str) -> None:
        program = shutil.which("git")
        if program is None or time.monotonic() < _silent_until:
            raise GitUnavailable
        self._deadline = time.monotonic() + ANSWER_SECONDS
        options = [word for setting in _SETTINGS for word in ("-c", setting)]
        self._command = [program, "--no-pager", "--literal-pathspecs", *options]
        self._top = top
        kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        self._environment = kept | _ENVIRONMENT | {"GIT_CEILING_DIRECTORIES": os.path.dirname(top)}

    def ask(self, words: Sequence[str], given: bytes = b"") -> bytes:
        """What git prints.

        Raises:
            NoAnswer: nothing, or nothing in time.
        """
        global _silent_until
        try:
            asked = subprocess.run(
                [*self._command, *words],
                cwd=self._top,
                env=self._environment,
                input=given,
                capture_output=True,
                timeout=max(self._deadline - time.monotonic(), 0.001),
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            _silent_until = time.monotonic() + SULKING_SECONDS
            raise GitUnavailable from error
        except (OSError, ValueError) as error:
            raise GitUnavailable from error
        if asked.returncode != 0:
            raise GitUnavailable
        return asked.stdout


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


KNOWN_MAX = 1_024  # what was found true of a commit stays true


class GitEvidence:
    """A repository, and the folder in it from which it is seen: where the store is."""

    def __init__(self, top: str, folder: str, contradicted: Severity, *, aside: bool = False) -> None:
        """`aside`: ask in a thread, so that an event loop goes on meanwhile."""
        self.contradicted = contradicted
        self._top, self._folder, self._aside = top, folder, aside
        self._known: dict[tuple[str, tuple[str, ...]], EvidenceResult] = {}

    async def of_commit(self, commit: str, files: tuple[str, ...]) -> EvidenceResult | None:
        evidence_result = self._known.get((commit, files))
        if evidence_result is not None:
            return evidence_result
        proof = await self._asked(commit, files)
        if proof is not None and proof.commit is not None and not proof.strangers:
            if len(self._known) >= KNOWN_MAX:
                self._known.clear()
            self._known[commit, files] = proof
        return proof

    async def of_files(self, files: tuple[str, ...]) -> EvidenceResult | None:
        return await self._asked(None, files)  # a work tree changes: nothing is remembered of it

    async def _asked(self, commit: str | None, files: tuple[str, ...]) -> EvidenceResult | None:

        if not self._aside:
            return look(self._top, self._folder, commit, files)
        import asyncio

        return await asyncio.to_thread(look, self._top, self._folder, commit, files)


def _keeps_its_word(repository: GitEvidence) -> Evidence:
    """Never called: it is here for the type checker."""
    return repository

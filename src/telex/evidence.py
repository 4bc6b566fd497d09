"""Verification of a report's claims against the local git repository: a commit and its files, or files to be committed.

Git runs only for a message that claims something, and neither a message nor a hostile repository can make it run other
programs: only plumbing commands that read objects and lists are used, which run no hook, filter, text converter, pager
or credential helper. Options that could start a program (file-system monitor, fetch of missing objects) are off. Git's
own ownership check stays: an untrusted repository gives no answer.
"""

import os
import posixpath
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress

from telex.model.finding import Severity
from telex.ports.environment import Evidence, EvidenceResult

CACHE_MAX = 1_024
ANSWER_SECONDS = 3.0  # timeout of all git commands for one message
PAUSE_SECONDS = 60.0  # without git, after a timeout
STORE_FOLDER = ".telex"
_SETTINGS = (
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    "core.quotePath=false",
    "safe.bareRepository=explicit",
)
_ENVIRONMENT = {  # in place of all GIT_ variables, which a hook may have set for another repository
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
}
_paused_until = float("-inf")  # by the monotonic clock


class GitEvidence:
    """Evidence from a repository, as seen from the folder of the store."""

    def __init__(self, top: str, folder: str, contradicted: Severity, *, aside: bool = False) -> None:
        """`aside`: run git in a thread, so that an event loop goes on meanwhile."""
        self.contradicted = contradicted
        self._top, self._folder, self._aside = top, folder, aside
        self._cache: dict[tuple[str, tuple[str, ...]], EvidenceResult] = {}  # a commit does not change

    async def of_commit(self, commit: str, files: tuple[str, ...]) -> EvidenceResult | None:
        if (commit, files) in self._cache:
            return self._cache[commit, files]
        result = await self._verify(commit, files)
        if result is not None and result.commit is not None and not result.strangers:
            if len(self._cache) >= CACHE_MAX:
                self._cache.clear()
            self._cache[commit, files] = result
        return result

    async def of_files(self, files: tuple[str, ...]) -> EvidenceResult | None:
        return await self._verify(None, files)  # not cached: a work tree changes

    async def _verify(self, commit: str | None, files: tuple[str, ...]) -> EvidenceResult | None:
        if not self._aside:
            return verify(self._top, self._folder, commit, files)
        import asyncio

        return await asyncio.to_thread(verify, self._top, self._folder, commit, files)


def _is_evidence(repository: GitEvidence) -> Evidence:
    """Never called: for the type checker."""
    return repository


def verify(top: str, folder: str, commit: str | None, files: tuple[str, ...]) -> EvidenceResult | None:
    """Verify the claims; None: git fails or times out. Files are relative to the project (the folder of the store) or
    to `top`."""
    try:
        git, project = GitCommand(top), _project(top, folder)
        return _commit(git, project, commit, files) if commit is not None else _files(git, top, project, files)
    except GitUnavailable:
        return None


def _project(top: str, folder: str) -> str:
    """The folder of the project relative to the top; empty if they are the same."""
    if os.path.basename(folder) == STORE_FOLDER:
        folder = os.path.dirname(folder)
    inside = os.path.relpath(folder, top).replace(os.sep, "/")
    return "" if inside == "." or inside.startswith("..") else inside


class GitUnavailable(Exception):
    """Git is missing, too slow, or reports an error."""


class GitCommand:
    """Git commands in one repository, with one timeout for all."""

    def __init__(self, top: str) -> None:
        # Git runs in the repository: a relative entry of the search path would find a program there.
        search_path = os.pathsep.join(filter(os.path.isabs, os.environ.get("PATH", os.defpath).split(os.pathsep)))
        if not search_path or time.monotonic() < _paused_until:
            raise GitUnavailable
        self._top, self._deadline = top, time.monotonic() + ANSWER_SECONDS
        options = [word for setting in _SETTINGS for word in ("-c", setting)]
        self._command = ["git", "--no-pager", "--literal-pathspecs", *options]
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        own = {"PATH": search_path, "GIT_CEILING_DIRECTORIES": os.path.dirname(top)}
        self._environment = inherited | _ENVIRONMENT | own

    def ask(self, words: Sequence[str], stdin: bytes = b"") -> bytes:
        """The output of a git command.

        Raises:
            GitUnavailable: it failed or timed out.
        """
        import subprocess  # slow to import

        global _paused_until
        try:
            done = subprocess.run(
                [*self._command, *words],
                cwd=self._top,
                env=self._environment,
                input=stdin,
                capture_output=True,
                timeout=max(self._deadline - time.monotonic(), 0.001),
                check=True,
            )
        except subprocess.TimeoutExpired as error:
            _paused_until = time.monotonic() + PAUSE_SECONDS
            raise GitUnavailable from error
        except (OSError, ValueError, subprocess.CalledProcessError) as error:
            raise GitUnavailable from error
        return done.stdout


def _commit(git: GitCommand, project: str, name: str, files: tuple[str, ...]) -> EvidenceResult | None:
    head, _, body = git.ask(["cat-file", "--batch"], f"{name}^{{commit}}\n".encode()).partition(b"\n")
    words = head.decode("utf-8", "replace").split(" ")
    if words[-1] == "missing":
        return None if _is_partial(git) else EvidenceResult()
    if len(words) != 3 or words[1] != "commit" or not words[0].startswith(name):
        return None  # ambiguous, or the name of a branch or tag, which may move
    commit = words[0]
    if not files:
        return EvidenceResult(commit)
    parents = [line[7:].decode() for line in body.partition(b"\n\n")[0].split(b"\n") if line.startswith(b"parent ")]
    if parents and git.ask(["cat-file", "--batch-check"], f"{parents[0]}\n".encode()).rstrip().endswith(b" missing"):
        return EvidenceResult(commit)  # the history of a shallow clone ends here: its changes are not known
    against = [parents[0], commit] if parents else ["--root", "--no-commit-id", commit]
    listing = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", "--no-ext-diff", "--no-textconv"]
    changed = _listed(git.ask([*listing, "--ignore-submodules=none", *against]))
    return EvidenceResult(commit, _strangers(files, project, changed))


def _is_partial(git: GitCommand) -> bool:
    """Whether this clone lacks part of the history, so that a missing commit proves nothing."""
    if git.ask(["rev-parse", "--is-shallow-repository"]).strip() == b"true":
        return True
    try:
        return bool(git.ask(["config", "--get-regexp", r"^(extensions\.partialclone|remote\..*\.promisor)$"]))
    except GitUnavailable:  # exit code 1: no such setting
        return False


def _files(git: GitCommand, top: str, project: str, files: tuple[str, ...]) -> EvidenceResult | None:
    git.ask(["rev-parse", "--is-inside-work-tree"])  # fails for a repository that git does not trust
    missing = [file for file in files if not _exists(top, project, file)]
    if not missing:
        return EvidenceResult()
    tracked = _listed(git.ask(["ls-files", "-z", "--cached", "--full-name"]))  # a deleted file is still listed
    with suppress(GitUnavailable):  # no commit yet
        tracked |= _listed(git.ask(["ls-tree", "-r", "-z", "--name-only", "--full-tree", "HEAD"]))
    return EvidenceResult(None, _strangers(missing, project, tracked))


def _exists(top: str, project: str, file: str) -> bool:
    """Whether it is in the work tree, not behind a link that leads out of it."""
    root = os.path.realpath(top)
    for candidate in _candidates(file, project):
        path = os.path.join(top, *candidate.split("/"))
        if os.path.lexists(path) and os.path.commonpath([root, os.path.realpath(os.path.dirname(path))]) == root:
            return True
    return False


def _listed(output: bytes) -> set[str]:
    return {_composed(os.fsdecode(name)) for name in output.split(b"\0") if name}


def _strangers(files: Iterable[str], project: str, known: set[str]) -> tuple[str, ...]:
    """Those that are neither a known file nor a folder of one."""
    paths = known | {folder for path in known for folder in _folders(path)}
    return tuple(file for file in dict.fromkeys(files) if paths.isdisjoint(_candidates(file, project)))


def _folders(path: str) -> Iterable[str]:
    while path := path.rpartition("/")[0]:
        yield path


def _candidates(file: str, project: str) -> list[str]:
    """The paths from the top that a report may mean: relative to the top, or to its project."""
    if not file or "\0" in file or file.startswith("/"):
        return []
    paths = {posixpath.normpath(posixpath.join(base, file)) for base in ("", project)}
    return [_composed(path) for path in paths if path not in (".", "..") and not path.startswith("../")]


def _composed(path: str) -> str:
    """In Unicode form C: file systems differ in how they store an accent."""
    if path.isascii():
        return path
    import unicodedata

    return unicodedata.normalize("NFC", path)

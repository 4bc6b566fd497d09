"""Changed paths according to git, read without `subprocess`, whose import takes longer than git itself."""

import os
from collections.abc import Sequence
from contextlib import suppress

from telex.project import GIT, root_of
from telex.surfaces.cli.exit_codes import FAILED, NOT_FOUND, CommandError
from telex.surfaces.cli.guard_disk import top_of
from telex.surfaces.cli.output import shown

# A rename counts as what it is to a contract: one path taken away and another written.
# A submodule counts by the commit that is taken from it, whatever the repository's settings want left out.
_PLAINLY = ("--no-renames", "--no-relative", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty")
NAMES = ("diff", "--name-only", "-z", *_PLAINLY)
MODES = ("diff", "--raw", "--no-abbrev", "-z", *_PLAINLY)  # `:100644 120000 1a2b… 3c4d… T`, then the name
PIPE_BYTES = 1_048_576
_LINK = " 120000 "  # the mode that it is to have


class GitProcess:
    """A git command under way, whose answer is read when it is wanted."""

    def __init__(self, root: str, words: Sequence[str]) -> None:
        self._out, inner = os.pipe()
        _widen(self._out)
        self._said, told = os.pipe()
        actions = [(os.POSIX_SPAWN_DUP2, inner, 1), (os.POSIX_SPAWN_DUP2, told, 2)]
        try:
            self._pid = os.posix_spawnp("git", ["git", "-C", root, *words], os.environ, file_actions=actions)
        except FileNotFoundError as error:
            raise CommandError("git is not here: install it, or name the paths", FAILED) from error
        finally:
            os.close(inner)
            os.close(told)

    def answer(self) -> bytes:
        """What it printed.

        Raises:
            CommandError: in git's own words, when it could not answer.
        """
        answer, said = _all_of(self._out), _all_of(self._said)
        _, status = os.waitpid(self._pid, 0)
        if status:
            told = said.decode(errors="backslashreplace").strip().split("\n")[0]
            raise CommandError(f"git: {shown(told)}", NOT_FOUND)
        return answer


def _repository(folder: str) -> str:
    """The top of the repository. Outside one, git diff would compare two files and say something else.

    Raises:
        CommandError: there is none.
    """
    top = top_of(folder)
    if not os.path.lexists(os.path.join(top, GIT)) and "GIT_DIR" not in os.environ:
        raise CommandError("this is not a git repository: run it in one, or name the paths", NOT_FOUND)
    return top


def _widen(pipe: int) -> None:
    """Thousands of names fit in, so that git is done with them before anybody reads: it need not wait for us."""
    import fcntl

    with suppress(OSError, AttributeError):  # a system that does not let us, or has no such thing
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)


def _all_of(pipe: int) -> bytes:
    with os.fdopen(pipe, "rb") as stream:
        return stream.read()


def git(root: str, *words: str) -> bytes:
    return GitProcess(root, words).answer()


def texts_in(answer: bytes) -> list[str]:
    """What is no UTF-8 keeps its bytes, and is told to be odd later."""
    return os.fsdecode(answer).split("\0")[:-1]


def paths_in(names: list[str], root: str, top: str) -> list[str]:
    """Names as they are on disk, from the project's root, which need not be the top of its repository. What lies
    outside the project is told to be odd later."""
    inside = os.path.relpath(root, top).replace(os.sep, "/") + "/"
    if inside == "./":
        return names
    if inside.startswith("../"):  # a submodule of the project
        below = os.path.relpath(top, root).replace(os.sep, "/")
        return [f"{below}/{name}" for name in names]
    upwards = "../" * inside.count("/")
    return [name[len(inside) :] if name.startswith(inside) else upwards + name for name in names]


class StagedPaths:
    """Everything that the next commit would write or take away."""

    def __init__(self) -> None:
        self.root = root_of(os.getcwd())
        self._top = _repository(os.getcwd())
        self._git = GitProcess(self._top, [*MODES, "--cached"])
        self.links: frozenset[str] = frozenset()  # those of the paths that are links; known once those are

    def paths(self) -> list[str]:
        answer = self._git.answer()
        texts = texts_in(answer)
        paths = paths_in(texts[1::2], self.root, self._top)
        if _LINK.encode() in answer:  # a name may have that in it too
            self.links = frozenset(path for path, mode in zip(paths, texts[::2], strict=True) if _LINK in mode)
        return paths


def changed_since(root: str, base: str) -> list[str]:
    """Everything tracked that is not as it was then, committed or not."""
    top = _repository(root)
    return paths_in(texts_in(git(top, *NAMES, "--end-of-options", base, "--")), root, top)

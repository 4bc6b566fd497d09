"""Git for `telex guard`: staged paths, the pre-commit hook, and reports compared with the changes."""

import os
import subprocess
import sys

from telex.project import GIT, nearest, root_of
from telex.surfaces.cli.connection import opened_to_look, settings_here
from telex.surfaces.cli.output import Screen, print_json, shell_word, shown
from telex.surfaces.cli.usage import DONE, FAILED, NOT_FOUND, REFUSED, CommandError, ParsedOptions

# A rename counts as a deletion and a new path; a submodule by its commit, whatever the repository's settings are.
_PLAIN = ("--no-renames", "--no-relative", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty")
NAMES = ("diff", "--name-only", "-z", *_PLAIN)
MODES = ("diff", "--raw", "--no-abbrev", "-z", *_PLAIN)  # `:100644 120000 1a2b… 3c4d… T`, then the name
_LINK = " 120000 "  # the new mode


class GitProcess:
    """A running git command."""

    def __init__(self, root: str, *words: str) -> None:
        try:
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(["git", "-C", root, *words], stdout=pipe, stderr=pipe)
        except FileNotFoundError as error:
            raise CommandError("git is not installed: install it, or name the paths", FAILED) from error

    def output(self) -> bytes:
        """Its output, when it has ended."""
        output, errors = self._process.communicate()
        if self._process.returncode:
            first = errors.decode(errors="backslashreplace").strip().split("\n")[0]
            raise CommandError(f"git: {shown(first)}", NOT_FOUND)
        return output


def _top_of(folder: str) -> str:
    """Top of the repository; outside one the folder itself, and git reports it."""
    return nearest(folder, GIT) or folder


def _repository(folder: str) -> str:
    """Top of the repository. Outside one, git diff would compare two files and report another error."""
    top = _top_of(folder)
    if not os.path.lexists(os.path.join(top, GIT)) and "GIT_DIR" not in os.environ:
        raise CommandError("this is not a git repository: run it in one, or name the paths", NOT_FOUND)
    return top


def _names(output: bytes) -> list[str]:
    return os.fsdecode(output).split("\0")[:-1]


def _from_root(names: list[str], root: str, top: str) -> list[str]:
    """Names relative to the project's root, which need not be the top of its repository."""
    inside = os.path.relpath(root, top).replace(os.sep, "/") + "/"
    if inside == "./":
        return names
    if inside.startswith("../"):  # a submodule of the project
        below = os.path.relpath(top, root).replace(os.sep, "/")
        return [f"{below}/{name}" for name in names]
    upwards = "../" * inside.count("/")
    return [name[len(inside) :] if name.startswith(inside) else upwards + name for name in names]


class StagedPaths:
    """Paths that the next commit would write or delete."""

    def __init__(self) -> None:
        self.root = root_of(os.getcwd())
        self._top = _repository(os.getcwd())
        self._git = GitProcess(self._top, *MODES, "--cached")
        self.links: frozenset[str] = frozenset()  # those of the paths that are links, after `paths`

    def paths(self) -> list[str]:
        texts = _names(self._git.output())
        paths = _from_root(texts[1::2], self.root, self._top)
        self.links = frozenset(path for path, mode in zip(paths, texts[::2], strict=True) if _LINK in mode)
        return paths


# --- guard --diff -----------------------------------------------------------------------------------------------------
def compare_reports(options: ParsedOptions, agent: str) -> int:
    """Compare the agent's reports with the changes since a commit, committed or not."""
    from telex.ports.store import Query
    from telex.validation.authorization import normalised
    from telex.work.view import work_message_from_log

    root, name, plan = root_of(os.getcwd()), normalised(agent), options.get("--plan")
    top, base = _repository(root), options.options["--diff"]
    names = _names(GitProcess(top, *NAMES, "--end-of-options", base, "--").output())
    changed = {_normal(path) for path in _from_root(names, root, top)}
    settings = settings_here()
    dialects = {dialect.name: dialect for dialect in settings.policy().dialects}
    reported: set[str] = set()
    with opened_to_look(options.get("--store"), settings) as bus:
        for event, message in bus.events(Query(agent=name, kinds=("accepted",))):
            dialect = dialects.get(message.dialect or "") if message is not None and message.sender == name else None
            report = work_message_from_log(message, event, dialect) if message is not None and dialect else None
            if report is not None and report.action == "progress" and plan in (None, report.text("plan")):
                reported.update(map(_normal, report.texts("files")))
    missing, extra = sorted(changed - reported), sorted(reported - changed)
    right = len(changed & reported)
    if options.has("--json"):
        print_json({"agent": name, "base": base, "right": right, "missing": missing, "extra": extra})
    else:
        _print_comparison(missing, extra, f"{right:,} changed as {shown(name)} reported", options.has("--quiet"))
    return REFUSED if missing or extra else DONE


def _normal(path: str) -> str:
    from telex.validation.contracts import InvalidPath, normal

    result = normal(path)
    return path if isinstance(result, InvalidPath) else result


def _print_comparison(missing: list[str], extra: list[str], right: str, quiet: bool) -> None:
    if not quiet:
        screen = Screen(sys.stdout)
        screen.line(f"{screen.paint('right', 'green')}    {right}")
    screen = Screen(sys.stderr)
    rows = [("missing", path, "changed, and not reported") for path in missing]
    rows += [("extra", path, "reported, and not changed") for path in extra]
    for word, path, why in rows:
        screen.line(f"{screen.paint(f'{word:<7}', 'red')}  {screen.paint(shown(path), 'bold')}  {why}")


# --- hook -------------------------------------------------------------------------------------------------------------

HOOK, BEFORE = "pre-commit", "pre-commit.before-telex"
MARK = "# made by telex guard --install"
SCRIPT = """#!/bin/sh
{mark}; telex guard --uninstall removes it.
# Refuses commits that the agent's contracts do not allow.
before="$(dirname "$0")/{before}"
if [ -x "$before" ]; then "$before" "$@" || exit $?; fi
{go}exec {telex} guard --staged --quiet --as "${{TELEX_AGENT:-{agent}}}"{store}
"""
MODE = 0o755


def install(options: ParsedOptions, agent: str | None) -> int:
    """Install the pre-commit hook, which runs after any hook that was there."""
    top = _top_of(os.getcwd())
    folder = _hooks(top)
    agent = options.get("--as") or agent
    if not agent:
        raise CommandError("no agent: telex guard --install --as NAME; TELEX_AGENT overrides it")
    inside = os.path.relpath(root_of(os.getcwd()), top)
    text = script(agent, options.get("--store"), os.curdir if inside.startswith(os.pardir) else inside)
    os.makedirs(folder, exist_ok=True)
    hook, before = os.path.join(folder, HOOK), os.path.join(folder, BEFORE)
    again = _is_ours(hook)
    if os.path.lexists(hook) and not again:
        if os.path.lexists(before):
            raise CommandError(f"there is a {BEFORE} already: remove one of the two hooks", FAILED)
        os.rename(hook, before)
    temporary = f"{hook}.new"
    with open(temporary, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)
    os.chmod(temporary, MODE)
    os.replace(temporary, hook)  # atomic
    chained = " after the hook that was there" if os.path.lexists(before) else ""
    word = "still guarding" if again else "guarding"
    sys.stdout.write(f"{word} the commits of {shown(agent)}{chained}; TELEX_AGENT names another\n")
    return DONE


def uninstall() -> int:
    folder = _hooks(_top_of(os.getcwd()))
    hook, before = os.path.join(folder, HOOK), os.path.join(folder, BEFORE)
    if not _is_ours(hook):
        sys.stdout.write("no telex hook is installed\n")
    elif os.path.lexists(before):
        os.replace(before, hook)
        sys.stdout.write("removed; the earlier hook is restored\n")
    else:
        os.unlink(hook)
        sys.stdout.write("removed\n")
    return DONE


def _hooks(root: str) -> str:
    """Folder of git's hooks, which must be in the repository: one outside would guard every project on this machine."""
    output = GitProcess(root, "rev-parse", "--git-path", "hooks", "--git-common-dir").output()
    hooks, common = (os.path.realpath(os.path.join(root, line)) for line in os.fsdecode(output).split("\n")[:2])
    if not hooks.startswith((os.path.realpath(root) + os.sep, common + os.sep)):
        say = f"git hooks are in {shown(hooks)}, outside this project: add telex guard --staged there yourself"
        raise CommandError(say, FAILED)
    return hooks


def script(agent: str, store: str | None, inside: str = os.curdir) -> str:
    """The hook, which git runs at the top of the repository; the project may be `inside` it."""
    if not all(letter.isalnum() or letter in "-_. @" for letter in agent):  # the shell expands other characters
        raise CommandError("invalid agent name for a hook: use letters, digits, - _ . and @")
    beside = os.path.join(os.path.dirname(sys.executable), "telex")
    telex = shell_word(beside) if os.access(beside, os.X_OK) else "telex"
    where = f" --store {shell_word(os.path.abspath(store))}" if store else ""
    go = "" if inside == os.curdir else f"cd {shell_word(os.path.join(os.curdir, inside))} || exit 1\n"
    return SCRIPT.format(mark=MARK, before=BEFORE, telex=telex, agent=agent, store=where, go=go)


def _is_ours(hook: str) -> bool:
    try:
        with open(hook, "rb") as file:
            return MARK.encode() in file.read(4096)
    except OSError:
        return False

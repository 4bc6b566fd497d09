"""`telex guard --install`: a git pre-commit hook that runs the guard after any hook that was there."""

import os
import sys

from telex.project import root_of
from telex.surfaces.cli.exit_codes import DONE, FAILED, CommandError
from telex.surfaces.cli.guard_disk import top_of
from telex.surfaces.cli.guard_git import git
from telex.surfaces.cli.option_parser import ParsedOptions
from telex.surfaces.cli.output import shell_word, shown

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


def run(doing: str, parsed_options: ParsedOptions, agent: str | None) -> int:
    top = top_of(os.getcwd())
    folder = _hooks(top)
    if doing == "--uninstall":
        return _uninstall(folder)
    agent = parsed_options.options.get("--as") or agent
    if not agent:
        raise CommandError("no agent: telex guard --install --as NAME; TELEX_AGENT overrides it")
    inside = os.path.relpath(root_of(os.getcwd()), top)
    if inside.startswith(os.pardir):  # a submodule: its commits are asked about from there
        inside = os.curdir
    return _install(folder, script(agent, parsed_options.options.get("--store"), inside), agent)


def _hooks(root: str) -> str:
    """Where git looks for hooks: in the repository, since one outside would guard everything on this machine."""
    found = os.fsdecode(git(root, "rev-parse", "--git-path", "hooks", "--git-common-dir")).split("\n")
    hooks, common = (os.path.realpath(os.path.join(root, one)) for one in found[:2])
    inside = (os.path.realpath(root) + os.sep, common + os.sep)
    if not hooks.startswith(inside):
        say = f"git hooks are in {shown(hooks)}, outside this project: add telex guard --staged there yourself"
        raise CommandError(say, FAILED)
    return hooks


def _install(folder: str, text: str, agent: str) -> int:
    os.makedirs(folder, exist_ok=True)
    hook, before = os.path.join(folder, HOOK), os.path.join(folder, BEFORE)
    again = _is_ours(hook)
    if os.path.lexists(hook) and not again:
        if os.path.lexists(before):
            raise CommandError(f"there is a {BEFORE} already: remove one of the two hooks", FAILED)
        os.rename(hook, before)
    made = f"{hook}.new"
    with open(made, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)
    os.chmod(made, MODE)
    os.replace(made, hook)  # whole or not at all
    chained = " after the hook that was there" if os.path.lexists(before) else ""
    word = "still guarding" if again else "guarding"
    sys.stdout.write(f"{word} the commits of {shown(agent)}{chained}; TELEX_AGENT names another\n")
    return DONE


def script(agent: str, store: str | None, inside: str = os.curdir) -> str:
    """What git runs at the top of the repository; the project may lie `inside` it."""
    beside = os.path.join(os.path.dirname(sys.executable), "telex")
    telex = shell_word(beside) if os.access(beside, os.X_OK) else "telex"
    where = f" --store {shell_word(os.path.abspath(store))}" if store else ""
    go = "" if inside == os.curdir else f"cd {shell_word(os.path.join(os.curdir, inside))} || exit 1\n"
    return SCRIPT.format(mark=MARK, before=BEFORE, telex=telex, agent=_in_braces(agent), store=where, go=go)


def _in_braces(agent: str) -> str:
    """A name between double quotes and braces: nothing in it may mean anything to the shell."""
    if not all(one.isalnum() or one in "-_. @" for one in agent):
        raise CommandError("invalid agent name for a hook: use letters, digits, - _ . and @")
    return agent


def _uninstall(folder: str) -> int:
    hook, before = os.path.join(folder, HOOK), os.path.join(folder, BEFORE)
    if not _is_ours(hook):
        sys.stdout.write("no telex hook is installed\n")
        return DONE
    if os.path.lexists(before):
        os.replace(before, hook)
        sys.stdout.write("removed; the earlier hook is restored\n")
    else:
        os.unlink(hook)
        sys.stdout.write("removed\n")
    return DONE


def _is_ours(hook: str) -> bool:
    try:
        with open(hook, "rb") as file:
            return MARK.encode() in file.read(4096)
    except OSError:
        return False

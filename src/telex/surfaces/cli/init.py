"""`telex init`: install Telex in the coding clients of this machine, or of a project, and remove it."""

import difflib
import os
import shutil
import sys

import click

from telex.surfaces.cli.options import command, flag, json_option, text_option
from telex.surfaces.cli.output import Screen, did_you_mean, print_json, shell_word, shown, wrapped
from telex.surfaces.cli.usage import DONE, FAILED, NOT_FOUND, CommandError
from telex.surfaces.clients import install
from telex.surfaces.clients.config_file import BACKUP, ConfigFileError, FileEdit
from telex.surfaces.clients.install import PROJECT, USER, Installation, Outcome, Places
from telex.surfaces.clients.plugin_files import Setup
from telex.surfaces.clients.table import CLIENTS


@command(
    "init",
    [
        click.argument("clients", metavar="[CLIENT]...", nargs=-1),
        click.option(
            "--scope",
            type=click.Choice([USER, PROJECT]),
            default=USER,
            show_default=True,
            help="For all projects of this person, or in the files of this project.",
        ),
        text_option("--as", "NAME", "Agent name of every session; otherwise each session has its own.", "agent"),
        flag("--no-hooks", "Install the MCP server without hooks.", "without_hooks"),
        flag("--dry-run", "Print the commands and changes, and do nothing.", "is_dry"),
        flag("--uninstall", "Remove Telex from the clients.", "is_uninstall"),
        json_option,
    ],
)
def init_command(
    clients: tuple[str, ...],
    scope: str,
    agent: str | None,
    without_hooks: bool,
    is_dry: bool,
    is_uninstall: bool,
    as_json: bool,
) -> int:
    """Install Telex in Claude Code, Codex, Gemini CLI, opencode, Qwen Code, Copilot CLI and Cursor.

    Without names it installs in the clients of this machine. It changes only entries of Telex, and prints the command
    that removes them.
    """
    setup = setup_here()._replace(agent=_agent_name(agent), has_hooks=not without_hooks)
    here = places()
    names = _chosen(clients, here, is_uninstall=is_uninstall)
    has_terminal = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
    run = Installation(here, setup, scope, is_dry, has_terminal)
    outcomes: list[Outcome] = []
    for name in names:
        outcome = run.uninstall(name) if is_uninstall else run.install(name)
        outcomes.append(outcome)
        if not as_json:
            _print_outcome(outcome, run, is_uninstall=is_uninstall)
            sys.stdout.flush()
    if scope == USER and (is_uninstall or any(outcome.is_done for outcome in outcomes)):
        _agent_plugin(run, is_uninstall=is_uninstall)
    if as_json:
        print_json([_facts(outcome) for outcome in outcomes])
    elif not is_uninstall and not is_dry:
        _print_next(outcomes)
    if any(outcome.snippets for outcome in outcomes):
        return NOT_FOUND
    return FAILED if any(outcome.problems and outcome.way == "nothing" for outcome in outcomes) else DONE


def places() -> Places:
    from telex.project import root_of

    return Places(os.path.expanduser("~"), root_of(os.getcwd()), os.environ)


def setup_here() -> Setup:
    return Setup(_telex_path(), _version())


def _telex_path() -> str:
    """The absolute path of this command, since clients run hooks and servers with other search paths."""
    started = os.path.abspath(sys.argv[0]) if sys.argv and sys.argv[0] else ""
    beside = os.path.join(os.path.dirname(sys.executable), "telex")
    for path in (started, beside, shutil.which("telex") or ""):
        if os.path.basename(path) in ("telex", "telex.exe") and os.path.isfile(path) and os.access(path, os.X_OK):
            return os.path.abspath(path)
    raise CommandError("the command telex is not installed: pip install telex, or uv tool install telex", NOT_FOUND)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("telex")
    except PackageNotFoundError:
        return "0.0.0"


def _agent_name(agent: str | None) -> str | None:
    if agent is None:
        return None
    if not agent.isprintable() or any(letter in agent for letter in "\"'`$\\{} "):
        raise CommandError(f"--as takes a name without blanks and quotes, not {shown(agent)}")
    return agent


def _chosen(clients: tuple[str, ...], here: Places, *, is_uninstall: bool) -> list[str]:
    unknown = next((name for name in clients if name not in install.NAMES), None)
    if unknown is not None:
        raise CommandError(f"no client {shown(unknown)}; {did_you_mean(unknown, install.NAMES)}", NOT_FOUND)
    names = list(clients) or [name for name in install.NAMES if is_uninstall or install.is_present(name, here)]
    if not names:
        raise CommandError(f"no client found: looked for {', '.join(install.NAMES)}; name one", NOT_FOUND)
    return names


def _agent_plugin(run: Installation, *, is_uninstall: bool) -> None:
    """Write the folder for clients that read Agent Plugins; remove it with the last client."""
    if run.is_dry:
        return
    try:
        if is_uninstall:
            install.remove_agent_plugin(run.places)
        else:
            install.write_agent_plugin(run.places, run.setup)
    except ConfigFileError as error:
        raise CommandError(shown(str(error)), FAILED) from error


_DRY_VERBS = {"wrote": "write", "edited": "edit", "deleted": "delete"}


# --- output -----------------------------------------------------------------------------------------------------------
def _print_outcome(outcome: Outcome, run: Installation, *, is_uninstall: bool) -> None:
    screen = Screen(sys.stdout)
    if is_uninstall and outcome.way == "nothing" and not outcome.problems:
        return
    screen.line(f"{screen.paint(outcome.client, 'bold')}: {_summary(outcome, run)}")
    for words in outcome.commands:
        _line(screen, "run" if run.is_dry else "ran", " ".join(_word(word, run) for word in words))
    for verb, text in _edit_lines(outcome, run):
        _line(screen, _DRY_VERBS[verb] if run.is_dry else verb, text)
    if run.is_dry:
        for edit in outcome.changes:
            screen.line(*_diff(edit, run))
    for problem in outcome.problems:
        _line(screen, "problem", shown(problem))
    for path, text in outcome.snippets:
        _line(screen, "insert", f"this into {shown(_tilde(path, run))} by hand:")
        screen.line(*(f"    {line}" for line in text.rstrip("\n").split("\n")))
    for step in outcome.steps:
        _line(screen, "you", step)
    if outcome.is_done and not run.is_dry:
        scope = f" --scope {run.scope}" if run.scope != USER else ""
        _line(screen, "undo", f"telex init {outcome.client} --uninstall{scope}")


def _summary(outcome: Outcome, run: Installation) -> str:
    if outcome.way == "removed":
        return "would be removed" if run.is_dry else "removed"
    if outcome.way == "nothing":
        return "not installed" if outcome.problems else "nothing to remove"
    place = {"plugin": "as plugin telex@telex", "extension": "as extension telex", "files": "in its files"}[outcome.way]
    if not outcome.commands and not outcome.changes:
        return f"is installed {place}, nothing to change"
    return f"{'would be' if run.is_dry else 'is'} installed {place}"


def _edit_lines(outcome: Outcome, run: Installation) -> list[tuple[str, str]]:
    """Changes, a line for each file; one for the folder of Telex."""
    folder = run.places.folder(outcome.client) + os.sep
    inside = [edit for edit in outcome.changes if edit.path.startswith(folder)]
    lines = []
    if inside:
        verb = "deleted" if all(edit.after is None for edit in inside) else "wrote"
        lines.append((verb, f"{shown(_tilde(folder, run))} ({len(inside)} files)"))
    for edit in outcome.changes:
        if edit in inside:
            continue
        verb = "deleted" if edit.after is None else "wrote" if edit.before is None else "edited"
        kept = edit.backup is not None and edit.after is not None
        backup = f" (as it was: {shown(os.path.basename(edit.path) + BACKUP)})" if kept else ""
        lines.append((verb, shown(_tilde(edit.path, run)) + backup))
    return lines


def _diff(edit: FileEdit, run: Installation) -> list[str]:
    before, after = (edit.before or "").splitlines(), (edit.after or "").splitlines()
    name = _tilde(edit.path, run)
    names = (name if edit.before is not None else "/dev/null", name if edit.after is not None else "/dev/null")
    return [f"    {shown(line)}" for line in difflib.unified_diff(before, after, *names, lineterm="")]


def _print_next(outcomes: list[Outcome]) -> None:
    ready = [outcome.client for outcome in outcomes if outcome.is_done and outcome.client in CLIENTS]
    if ready:
        first, second = ready[0], ready[1] if len(ready) > 1 else ready[0]
        screen = Screen(sys.stdout)
        screen.line(
            "", f"Start agents: telex run {first} --as lead, and in another terminal telex run {second} --as dev."
        )
        screen.line(f"Check one: telex doctor {first}")


def _line(screen: Screen, verb: str, text: str) -> None:
    first, *others = wrapped(text, screen.width, 11)
    screen.line(f"  {screen.paint(f'{verb:<7}', 'dim')}  {first}", *(" " * 11 + line for line in others))


def _word(word: str, run: Installation) -> str:
    path = _tilde(word, run)
    return "~/" + shell_word(path[2:]) if path.startswith("~/") else shell_word(word)


def _tilde(path: str, run: Installation) -> str:
    """The path below the person's home as `~/…`, below the project as a relative one."""
    if run.scope == PROJECT and path.startswith(run.places.project + os.sep):
        return os.path.relpath(path, run.places.project)
    return "~" + path.removeprefix(run.places.home) if path.startswith(run.places.home + os.sep) else path


def _facts(outcome: Outcome) -> dict[str, object]:
    return {
        "client": outcome.client,
        "way": outcome.way,
        "commands": [list(words) for words in outcome.commands],
        "files": [edit.path for edit in outcome.changes],
        "steps": list(outcome.steps),
        "problems": list(outcome.problems),
        "snippets": [{"path": path, "text": text} for path, text in outcome.snippets],
    }

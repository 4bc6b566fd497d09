"""`telex guard`: decide whether an agent may write these paths. It runs before every write and commit, so it starts
fast.

No click, no subprocess, no msgspec. `guard_git` asks git, `guard_hook` installs the hook.
"""

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from telex.project import root_of
from telex.surfaces.cli.bus_connection import (
    AGENT,
    acting_agent,
    explained,
    is_there,
    opened,
    place_of,
    settings_here,
    store_missing,
)
from telex.surfaces.cli.exit_codes import DONE, REFUSED, CommandError
from telex.surfaces.cli.guard_disk import LinkResolver, from_root
from telex.surfaces.cli.option_parser import Option, ParsedOptions, help_text, parse
from telex.surfaces.cli.output import Screen, shell_word, shown, wrapped

if TYPE_CHECKING:
    from telex.model.contracts import PathVerdict
    from telex.surfaces.cli.guard_git import StagedPaths
    from telex.validation.project_paths import Resolver

OPTIONS = (
    Option("--as", "NAME", f"agent that writes; {AGENT} if not given"),
    Option("--role", "ROLE", "its role, if the agent has not joined yet"),
    Option("--plan", "ID", "under this plan only"),
    Option("--staged", "", "check the files staged in git"),
    Option("--diff", "BASE", "compare the changes since BASE with the reports of NAME"),
    Option("--install", "", "install the git pre-commit hook"),
    Option("--uninstall", "", "remove the git pre-commit hook"),
    Option("--ask", "", "print the requests that would allow the refused paths, one per line"),
    Option("--store", "PATH", "store to use; that of the project if not given"),
    Option("--json", "", "print JSON, one line per path"),
    Option("--quiet", "", "print nothing for allowed paths", "-q"),
    Option("--help", "", "show this", "-h"),
)
DOINGS = ("--staged", "--diff", "--install", "--uninstall")
USAGE_LINE = "telex guard PATH… --as NAME"
HELP = f"""{USAGE_LINE} [options]

Check whether an agent may write these paths now, under its contracts. Paths are
absolute, or relative to the current folder. Refused paths are printed on stderr, with how to
request them.

%s

Exit code: 0 all allowed, 2 any not allowed, 3 no such plan, 64 wrong usage,
1 anything else.
"""


def run(args: list[str]) -> int:
    """Do what the command line asks and return the exit code."""
    parsed_options = parse(args, OPTIONS)
    if "--help" in parsed_options.options:
        sys.stdout.write(HELP % help_text(OPTIONS))
        return DONE
    doing = [name for name in DOINGS if name in parsed_options.options]
    if len(doing) > 1 or (doing and parsed_options.operands):
        raise CommandError(f"one at a time: {USAGE_LINE}, or one of {', '.join(DOINGS)}")
    if doing in (["--install"], ["--uninstall"]):
        from telex.surfaces.cli import guard_hook

        return guard_hook.run(doing[0], parsed_options, os.environ.get(AGENT))
    if doing == ["--diff"]:
        from telex.surfaces.cli import guard_diff

        return guard_diff.run(parsed_options, agent_of(parsed_options))
    if not doing and not parsed_options.operands:
        raise CommandError(f"no paths: {USAGE_LINE}")
    return _guard(parsed_options, agent_of(parsed_options), staged=bool(doing))


def agent_of(parsed_options: ParsedOptions) -> str:
    agent = acting_agent(parsed_options.options.get("--as"), parsed_options.options.get("--store"))
    if not agent:
        raise CommandError(f"no agent: {USAGE_LINE}, or set {AGENT}")
    return agent


def _guard(parsed_options: ParsedOptions, agent: str, *, staged: bool) -> int:
    if staged:
        from telex.surfaces.cli.guard_git import StagedPaths

        changes = StagedPaths()  # git looks while the store is opened
        verdicts = _verdicts(parsed_options, agent, lambda: _staged(changes))
    else:
        root = root_of(os.getcwd())
        paths = [from_root(path, os.getcwd(), root) for path in parsed_options.operands]
        verdicts = _verdicts(parsed_options, agent, lambda: (paths, LinkResolver(root).leads_to))
        verdicts = [
            verdict._replace(path=typed) for verdict, typed in zip(verdicts, parsed_options.operands, strict=True)
        ]
    refused = [verdict for verdict in verdicts if not verdict.allowed]
    if "--ask" in parsed_options.options:
        _print_asks(refused)
    elif "--json" in parsed_options.options:
        _print_json(verdicts)
    else:
        _tell(verdicts, refused, parsed_options, agent, staged=staged)
    return REFUSED if refused else DONE


def _staged(changes: "StagedPaths") -> "tuple[list[str], Resolver | None]":
    """A commit writes what is staged, whatever lies on the disk, and git stages nothing behind a link: so only where
    the staged links lead is looked up."""
    paths, links = changes.paths(), changes.links
    if not links:
        return paths, None
    disk = LinkResolver(changes.root)
    return paths, lambda path: disk.leads_to(path) if path in links else path


def _verdicts(
    parsed_options: ParsedOptions, agent: str, look: "Callable[[], tuple[list[str], Resolver | None]]"
) -> "list[PathVerdict]":
    store = parsed_options.options.get("--store")
    path = place_of(store)
    if not is_there(path):
        from telex.surfaces.cli.guard_disk import without_contracts

        sys.stderr.write(f"{store_missing(store)}; without contracts only the paths were checked\n")
        return without_contracts(agent, *look())
    role, plan = parsed_options.options.get("--role"), parsed_options.options.get("--plan")
    from telex.connection import gate, is_hub

    if is_hub(path):
        with opened(store) as hub:
            paths, resolve = look()
            return hub.guard(paths, agent=agent, role=role, plan=plan, resolve=resolve)
    with explained(), gate(store, settings_here()) as bus:
        paths, resolve = look()
        return bus.guard(paths, agent=agent, role=role, plan=plan, resolve=resolve)


# --- what is said -----------------------------------------------------------------------------------------------------


def _print_json(verdicts: "Sequence[PathVerdict]") -> None:
    from telex.surfaces.cli.check_output import json_line

    for verdict in verdicts:
        sys.stdout.write(json_line(verdict._asdict()) + "\n")


def _print_asks(refused: "Sequence[PathVerdict]") -> None:
    from telex.surfaces.cli.check_output import json_line

    for tree in {id(verdict.ask): verdict.ask for verdict in refused if verdict.ask is not None}.values():
        sys.stdout.write(json_line(tree) + "\n")


def _tell(
    verdicts: "Sequence[PathVerdict]",
    refused: "Sequence[PathVerdict]",
    parsed_options: ParsedOptions,
    agent: str,
    *,
    staged: bool,
) -> None:
    if "--quiet" not in parsed_options.options:
        screen = Screen(sys.stdout)
        allowed = [one for one in verdicts if one.allowed]
        if staged:
            screen.line(f"{screen.paint('allowed', 'green')}  {len(allowed):,} of {len(verdicts):,} staged")
        else:
            screen.line("\n".join(_line(one, screen) for one in allowed)) if allowed else None
    conditions = dict.fromkeys(text for one in verdicts for text in one.conditions)
    screen = Screen(sys.stderr)
    for text in conditions:
        screen.line(f"{screen.paint('mind', 'yellow')}     {shown(text)}")
    for verdict in refused:
        screen.line(_line(verdict, screen))
    if refused:
        screen.line("\n".join(_how_to_ask(refused, parsed_options, agent, staged=staged)))


def _line(verdict: "PathVerdict", screen: Screen) -> str:
    word, colour = ("allowed", "green") if verdict.allowed else ("refused", "red")
    override = " (by override)" if verdict.override else ""
    head = f"{screen.paint(word, colour)}  {screen.paint(shown(verdict.path), 'bold')}{override}"
    told = f"{verdict.code}: {shown(verdict.reason)}" if verdict.code else shown(verdict.reason)
    return "\n".join([head, *(f"         {line}" for line in wrapped(told, screen.width, 9))])


def _how_to_ask(
    refused: "Sequence[PathVerdict]", parsed_options: ParsedOptions, agent: str, *, staged: bool
) -> list[str]:
    """The command that sends the requests; nothing where no request would help."""
    receivers = dict.fromkeys(verdict.ask_to for verdict in refused if verdict.ask_to is not None)
    if not receivers:
        return []
    to = shell_word(next(iter(receivers)) or "")
    again = " ".join(
        ["--staged"] if staged else [shell_word(verdict.path) for verdict in refused if verdict.ask is not None]
    )
    options = "".join(
        f" {name} {shell_word(parsed_options.options[name])}"
        for name in ("--plan", "--store")
        if name in parsed_options.options
    )
    store = f" --store {shell_word(parsed_options.options['--store'])}" if "--store" in parsed_options.options else ""
    name = shell_word(agent)
    return [
        "request it with",
        f"  telex guard {again} --as {name}{options} --ask |",
        f"    telex send --as {name} --to {to}{store} --jsonl -",
    ]

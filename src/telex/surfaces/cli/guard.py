"""`telex guard`: decide whether an agent may write these paths. It runs before every write and commit, so it starts
fast.

No click, no msgspec. `guard_git` runs git, installs the hook and compares reports.
"""

import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from telex.model.roster import HUMAN
from telex.project import LinkResolver, from_root, root_of
from telex.surfaces.cli.connection import (
    AGENT,
    acting_agent,
    explained,
    is_there,
    opened,
    place_of,
    settings_here,
    store_missing,
)
from telex.surfaces.cli.output import Screen, print_json, shell_word, shown, wrapped
from telex.surfaces.cli.usage import DONE, REFUSED, CommandError, Option, ParsedOptions, parse
from telex.validation.authorization import normalised
from telex.validation.contracts import judge

if TYPE_CHECKING:
    from telex.model.contracts import PathVerdict
    from telex.surfaces.cli.guard_git import StagedPaths
    from telex.validation.contracts import Resolver

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
ACTIONS = ("--staged", "--diff", "--install", "--uninstall")
USAGE_LINE = "telex guard PATH… --as NAME"
HELP = f"""{USAGE_LINE} [options]

Check whether an agent may write these paths now, under its contracts. Paths are
absolute, or relative to the current folder. Refused paths are printed on stderr,
with how to request them.

%s

Exit code: 0 all allowed, 2 any not allowed, 3 no such plan, 64 wrong usage,
1 anything else.
"""


def run(args: list[str]) -> int:
    """Run the guard and return the exit code."""
    options = parse(args, OPTIONS, HELP)
    if options is None:
        return DONE
    actions = [name for name in ACTIONS if options.has(name)]
    if len(actions) > 1 or (actions and options.operands):
        raise CommandError(f"one at a time: {USAGE_LINE}, or one of {', '.join(ACTIONS)}")
    if actions in (["--install"], ["--uninstall"]):
        from telex.surfaces.cli.guard_git import install, uninstall

        return install(options, os.environ.get(AGENT)) if actions == ["--install"] else uninstall()
    if not actions and not options.operands:
        raise CommandError(f"no paths: {USAGE_LINE}")
    agent = acting_agent(options.get("--as"), options.get("--store"))
    if not agent:
        raise CommandError(f"no agent: {USAGE_LINE}, or set {AGENT}")
    if actions == ["--diff"]:
        from telex.surfaces.cli.guard_git import compare_reports

        return compare_reports(options, agent)
    return _guard(options, agent, staged=bool(actions))


def _guard(options: ParsedOptions, agent: str, *, staged: bool) -> int:
    if staged:
        from telex.surfaces.cli.guard_git import StagedPaths

        changes = StagedPaths()  # git runs while the store is opened
        verdicts = _verdicts(options, agent, lambda: _staged(changes))
    else:
        root = root_of(os.getcwd())
        paths = [from_root(path, os.getcwd(), root) for path in options.operands]
        verdicts = _verdicts(options, agent, lambda: (paths, LinkResolver(root).leads_to))
        verdicts = [verdict._replace(path=path) for verdict, path in zip(verdicts, options.operands, strict=True)]
    refused = [verdict for verdict in verdicts if not verdict.allowed]
    if options.has("--ask"):
        print_json(*{id(verdict.ask): verdict.ask for verdict in refused if verdict.ask is not None}.values())
    elif options.has("--json"):
        print_json(*(verdict._asdict() for verdict in verdicts))
    else:
        _print(verdicts, refused, options, agent, staged=staged)
    return REFUSED if refused else DONE


def _staged(changes: "StagedPaths") -> "tuple[list[str], Resolver | None]":
    """A commit writes what is staged, not what is on the disk, and git stages nothing behind a link: only the targets
    of staged links are resolved."""
    paths, links = changes.paths(), changes.links
    if not links:
        return paths, None
    disk = LinkResolver(changes.root)
    return paths, lambda path: disk.leads_to(path) if path in links else path


def _verdicts(
    options: ParsedOptions, agent: str, look: "Callable[[], tuple[list[str], Resolver | None]]"
) -> "list[PathVerdict]":
    store = options.get("--store")
    path = place_of(store)
    if not is_there(path):
        sys.stderr.write(f"{store_missing(store)}; without contracts only the paths were checked\n")
        return _without_contracts(agent, *look())
    from telex.connection import gate, is_hub

    role, plan = options.get("--role"), options.get("--plan")
    if is_hub(path):
        with opened(store) as hub:
            paths, resolve = look()
            return hub.guard(paths, agent=agent, role=role, plan=plan, resolve=resolve)
    with explained(), gate(store, settings_here()) as bus:
        paths, resolve = look()
        return bus.guard(paths, agent=agent, role=role, plan=plan, resolve=resolve)


def _without_contracts(agent: str, paths: "Sequence[str]", resolve: "Resolver | None") -> "list[PathVerdict]":
    """Verdicts without a store: some paths may be written by no agent."""
    from telex.model.contracts import PathVerdict
    from telex.work.plan_checks import NO_GROUND, sentence

    judged = [judge(path, (), resolve, is_person=normalised(agent) == HUMAN) for path in paths]
    return [
        PathVerdict(path, True, None, "No contract covers it, so nothing is forbidden.")
        if decision.code is None
        else PathVerdict(path, False, decision.code, sentence(decision, "", NO_GROUND))
        for path, decision in zip(paths, judged, strict=True)
    ]


# --- output -----------------------------------------------------------------------------------------------------------
def _print(
    verdicts: "Sequence[PathVerdict]",
    refused: "Sequence[PathVerdict]",
    options: ParsedOptions,
    agent: str,
    *,
    staged: bool,
) -> None:
    screen, errors = Screen(sys.stdout), Screen(sys.stderr)
    allowed = [verdict for verdict in verdicts if verdict.allowed]
    if staged and not options.has("--quiet"):
        screen.line(f"{screen.paint('allowed', 'green')}  {len(allowed):,} of {len(verdicts):,} staged")
    elif allowed and not options.has("--quiet"):
        screen.line(*(_line(verdict, screen) for verdict in allowed))
    for text in dict.fromkeys(text for verdict in verdicts for text in verdict.conditions):
        errors.line(f"{errors.paint('mind', 'yellow')}     {shown(text)}")
    for verdict in refused:
        errors.line(_line(verdict, errors))
    for line in _how_to_ask(refused, options, shell_word(agent), staged=staged):
        errors.line(line)


def _line(verdict: "PathVerdict", screen: Screen) -> str:
    word, colour = ("allowed", "green") if verdict.allowed else ("refused", "red")
    override = " (by override)" if verdict.override else ""
    head = f"{screen.paint(word, colour)}  {screen.paint(shown(verdict.path), 'bold')}{override}"
    reason = f"{verdict.code}: {shown(verdict.reason)}" if verdict.code else shown(verdict.reason)
    return "\n".join([head, *(f"         {line}" for line in wrapped(reason, screen.width, 9))])


def _how_to_ask(refused: "Sequence[PathVerdict]", options: ParsedOptions, name: str, *, staged: bool) -> list[str]:
    """The command that sends the requests, where a request helps."""
    receivers = [verdict.ask_to for verdict in refused if verdict.ask_to is not None]
    if not receivers:
        return []
    paths = [shell_word(verdict.path) for verdict in refused if verdict.ask is not None]
    what = "--staged" if staged else " ".join(paths)
    return [
        "request it with",
        f"  telex guard {what} --as {name}{options.repeat('--plan', '--store')} --ask |",
        f"    telex send --as {name} --to {shell_word(receivers[0])}{options.repeat('--store')} --jsonl -",
    ]

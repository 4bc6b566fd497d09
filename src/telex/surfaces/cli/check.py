"""`telex check`: validate messages without a bus.

A coding tool may run this for every message an agent sends, so nothing is imported that a single message does not need:
no click, no msgspec, no asyncio. Valid messages are reported on stdout, refused ones on stderr, because that is what a
coding tool shows its agent when a command ends with exit code 2.
"""

import os
import sys
from typing import NamedTuple

from telex.model.finding import Finding
from telex.model.limits import LIMITS
from telex.model.roster import ALL_OF_ROLE, AT, EVERYONE, ONE_OF_ROLE
from telex.model.text import ROOT
from telex.project import find_settings
from telex.surfaces.cli.exit_codes import DONE, REFUSED, CommandError
from telex.surfaces.cli.inputs import STDIN, files_in, has_lines, pieces
from telex.surfaces.cli.option_parser import Option, ParsedOptions, help_text, parse
from telex.surfaces.cli.output import Screen, finding_lines, fix_head, fix_lines, shell_word, shown, verdict
from telex.validation.check import CheckPolicy, CheckResult, check

OPTIONS = (
    Option("--as", "ROLE", "sender role; the message must not claim another"),
    Option("--to", "ROLE", "recipient role"),
    Option("--dialect", "NAME", "check as this dialect only; a .toml file declares your own"),
    Option("--team-dialect", "NAME", "dialect to prefer when a message fits two"),
    Option("--lenient", "", "report the findings and accept the message"),
    Option("--jsonl", "", "one message per line, whatever the file name"),
    Option(
        "--max-bytes", "N", f"maximum size of a message; the team's limit, or {LIMITS.message_bytes_max}, if not given"
    ),
    Option("--json", "", "print the answer as JSON, one line for each message"),
    Option("--format", "vbw", 'print {"valid", "errors"} in the words of vbw\'s own validator'),
    Option("--quiet", "", "print nothing for accepted messages", "-q"),
    Option("--help", "", "show this", "-h"),
)
FORMATS = ("text", "json", "vbw")
REPEATED = ("--as", "--to", "--dialect", "--team-dialect", "--max-bytes")  # what decides how a message is read
USAGE_LINE = "telex check FILE…|DIR|- [options]"
HELP = f"""{USAGE_LINE}

Check messages: print every finding and how to fix it. A file is one message; a
.jsonl or .ndjson file has one per line; a folder is searched; - is stdin.

%s

Exit code: 0 all accepted, 2 any refused (what to fix is on stderr), 3 no such
file, 64 wrong usage, 1 anything else.
"""


class CheckCommand(NamedTuple):
    """What was asked for, understood."""

    desk: CheckPolicy
    as_role: str | None
    to_role: str | None
    format: str
    lines: bool
    quiet: bool
    repeated: str  # options, with a blank before each, that make the next command read the message as this one did


def run(args: list[str]) -> int:
    """Check what the command line names, say what was found, and return the exit code."""
    parsed_options = parse(args, OPTIONS)
    if "--help" in parsed_options.options:
        sys.stdout.write(HELP % help_text(OPTIONS))
        return DONE
    if not parsed_options.operands:
        raise CommandError(f"nothing to check: {USAGE_LINE}")
    task = _task(parsed_options)
    files = files_in(parsed_options.operands)
    if len(files) == 1 and not os.path.isdir(parsed_options.operands[0]) and not has_lines(files[0], task.lines):
        return _one(files[0], task)
    from telex.surfaces.cli.check_batch import check_many

    return check_many(files, task)


def _task(parsed_options: ParsedOptions) -> CheckCommand:
    options = parsed_options.options
    desk = team_policy(options.get("--max-bytes"))
    if "--lenient" in options:
        desk = desk._replace(strict=False)
    if "--dialect" in options or "--team-dialect" in options:
        desk = with_dialects(desk, options.get("--dialect"), options.get("--team-dialect"))
    format_ = options.get("--format", "json" if "--json" in options else "text")
    if format_ not in FORMATS:
        raise CommandError(f"no format {shown(format_)}; there are {', '.join(FORMATS)}")
    return CheckCommand(
        desk=desk,
        as_role=options.get("--as"),
        to_role=role_of(options.get("--to")),
        format=format_,
        lines="--jsonl" in options,
        quiet="--quiet" in options,
        repeated="".join(f" {name} {shell_word(options[name])}" for name in REPEATED if name in options),
    )


def role_of(address: str | None) -> str | None:
    """The role that `--to` names: dev of dev, role:dev and all:dev, none of *."""
    role = address.removeprefix(ONE_OF_ROLE).removeprefix(ALL_OF_ROLE) if address else None
    return role if role != EVERYONE else None


def team_policy(max_bytes: str | None = None) -> CheckPolicy:
    """How the team of the nearest telex.toml reads messages, of as many bytes as `--max-bytes` says.

    Raises:
        CommandError: telex.toml is wrong, or that is no number of bytes.
    """
    desk = CheckPolicy()
    if find_settings(os.getcwd()) is not None:
        from telex.surfaces.cli.bus_connection import settings_here

        desk = settings_here().desk()
    if max_bytes is None:
        return desk
    return desk._replace(limits=desk.limits._replace(message_bytes_max=_bytes_max(max_bytes)))


def _bytes_max(given: str) -> int:
    if not given.isdecimal() or not given.isascii() or len(given) > 12 or int(given) < 1:
        raise CommandError(f"--max-bytes takes a number of bytes, not {shown(given)}")
    return int(given)


def with_dialects(desk: CheckPolicy, forced: str | None, preferred: str | None) -> CheckPolicy:
    """The desk that reads as `--dialect` and `--team-dialect` say.

    Raises:
        CommandError: when there is no such dialect, or its file is missing or flawed.
    """
    from telex.surfaces.cli.dialect_options import dialect_from

    if forced is not None:
        dialect = dialect_from(forced, among=desk.dialects)
        desk = desk._replace(forced=dialect)
        if AT in forced:  # this version, and no other
            others = tuple(other for other in desk.dialects if other.base != dialect.base or other is dialect)
            desk = desk._replace(dialects=others)
    if preferred is not None:
        dialect = dialect_from(preferred, among=desk.dialects)
        dialects = desk.dialects if dialect in desk.dialects else (dialect, *desk.dialects)
        desk = desk._replace(preferred=dialect.name, dialects=dialects)
    return desk


# --- one message ---------------------------------------------------------------------------------------------------


def _one(path: str, task: CheckCommand) -> int:
    bytes_max = task.desk.limits.message_bytes_max
    [(_, raw, size)] = pieces(path, bytes_max, lines=False)
    checked = sized(checked_by(task, raw), size, bytes_max)
    _say(checked, task, fix_command(path, task))
    return DONE if checked.valid else REFUSED


def checked_by(task: CheckCommand, raw: bytes) -> CheckResult:
    """The result of the check. In vbw's format plain text is no message, as its own validator has it."""
    checked = check(raw, task.desk, as_role=task.as_role, to_role=task.to_role)
    if task.format != "vbw" or checked.outcome != "plain" or not checked.valid:
        return checked
    finding = Finding("not-json", ROOT, "Send one JSON object with a type.", expected="a JSON object")
    return checked._replace(valid=not task.desk.strict, findings=(*checked.findings, finding))


def sized(checked: CheckResult, size: int, bytes_max: int) -> CheckResult:
    """Of a message that is too large only the beginning was read, so how large it is has to be said from here."""
    if size <= bytes_max:
        return checked
    found = f"{size:,} bytes" if size > bytes_max + 1 else f"more than {bytes_max:,} bytes"
    findings = [item._replace(found=found) if item.code == "too-large" else item for item in checked.findings]
    return checked._replace(findings=tuple(findings))


def fix_command(path: str, task: CheckCommand) -> str:
    if path.startswith("-") and path != STDIN:
        path = os.path.join(os.curdir, path)  # a file, though it looks like an option
    return f"telex fix {shell_word(path)}{task.repeated}"


def _say(checked: CheckResult, task: CheckCommand, fix: str) -> None:
    if checked.valid and task.quiet:
        return
    if task.format != "text":
        from telex.surfaces.cli.check_output import ANSWERS

        sys.stdout.write(ANSWERS[task.format](checked, None) + "\n")
    if task.format == "text" or (not checked.valid and stderr_has_its_own_reader()):
        screen = Screen(sys.stdout if checked.valid else sys.stderr)
        lines = [
            verdict(checked, screen),
            *finding_lines(checked.findings, screen),
            *_fix_lines(checked, fix, screen),
        ]
        screen.line("\n".join(lines))


def stderr_has_its_own_reader() -> bool:
    """Is there someone who reads stderr and not stdout, as a coding tool does, and neither is a person's terminal?"""
    try:
        apart = not os.path.sameopenfile(sys.stdout.fileno(), sys.stderr.fileno())
    except (OSError, ValueError):  # no files at all
        apart = True
    return apart and not sys.stderr.isatty()


def _fix_lines(checked: CheckResult, command: str, screen: Screen) -> list[str]:
    """How it would pass: the command for a person at a terminal, the message itself for an agent."""
    tree = checked.fixed or checked.skeleton
    if checked.valid or tree is None or checked.dialect is None:
        return []
    from telex.surfaces.cli.blanks import blanks_in
    from telex.surfaces.cli.message_output import wire_text

    if checked.fixed is None and checked.skeleton == checked.tree and not any(blanks_in(tree)):
        return []  # the findings say what to change, and there is nothing that could be changed for the sender
    if screen.is_terminal:
        effect = "prints it fixed" if checked.fixed else "prints it with blanks to fill"
        return fix_lines(command, effect, screen)
    text = wire_text(checked.dialect, tree, checked.body, compact=True).removesuffix("\n")
    return ["", fix_head(text, certain=checked.fixed is not None), text]

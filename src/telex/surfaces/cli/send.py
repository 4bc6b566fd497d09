"""`telex send`: check messages, keep them, and say so only when they are on disk.

An agent starts this for every message it has to say, so nothing is imported that a single message does not need: no
click, no msgspec, no asyncio. What is refused is said on stderr, with exit code 2, as `telex check` says it.
"""

import os
import sys
from typing import TYPE_CHECKING, NamedTuple

from telex.errors import OutcomeUnknown
from telex.model.limits import LIMITS
from telex.surfaces.cli.bus_connection import AGENT, acting_agent, opened, settings_here, stay_for_long
from telex.surfaces.cli.exit_codes import DONE, FAILED, REFUSED, CommandError
from telex.surfaces.cli.inputs import STDIN, files_in, has_lines, pieces
from telex.surfaces.cli.option_parser import Option, ParsedOptions, help_text, parse
from telex.surfaces.cli.output import shell_word, shown
from telex.surfaces.cli.receipts import tell

if TYPE_CHECKING:
    from telex.client import SyncBus
    from telex.ports.bus import Receipt

ONE_ADDRESS = "give --to once: use all:ROLE or * for several recipients, or send to each separately"
OPTIONS = (
    Option("--as", "NAME", f"your agent name; {AGENT} if not given"),
    Option("--role", "ROLE", "your role, given once; agent if your name is no role and you give none"),
    Option(
        "--to", "ADDRESS", "an agent, role:qa (one of them), all:qa (each of them) or * (everyone)", "", ONE_ADDRESS
    ),
    Option("--id", "ID", "id of the message, if it contains none"),
    Option("--reply-to", "ID", "id of the message that this one answers, if it does not contain it"),
    Option("--correlation", "ID", "its conversation, if the message does not contain it"),
    Option("--wait", "STATE", "wait until it is acked, read or leased"),
    Option("--timeout", "SECONDS", "seconds to wait; 60 if not given"),
    Option("--dialect", "NAME", "check as this dialect only; a .toml file declares your own"),
    Option("--store", "PATH", "store to use; that of the project if not given"),
    Option("--jsonl", "", "one message per line, whatever the file name"),
    Option("--json", "", "print the receipts as JSON, one line per message"),
    Option("--quiet", "", "print nothing for stored messages", "-q"),
    Option("--help", "", "show this", "-h"),
)
WAITS = ("acked", "read", "leased")
TIMEOUT_SECONDS = 60.0
REPEATED = ("--as", "--role", "--to", "--reply-to", "--correlation", "--dialect", "--store")
USAGE_LINE = "telex send --as NAME [--to ADDRESS] FILE…|-"
HELP = f"""{USAGE_LINE} [options]

Check a message and store it for its recipients. It prints stored after the
message is synced to disk. A file is one message; a .jsonl or .ndjson file has
one per line; - is stdin.

%s

Exit code: 0 all stored, 2 any refused (what to fix is on stderr), 3 no such
file, 4 not acked in time, 64 wrong usage, 1 anything else.
"""


class SendCommand(NamedTuple):
    """What was asked for, understood."""

    sender: str
    role: str | None
    to: str | None
    id: str | None
    reply_to: str | None
    correlation: str | None
    until: str | None
    timeout: float
    as_json: bool
    quiet: bool
    lines: bool
    dialect: str | None
    bytes_max: int  # of a message
    repeated: str  # the options, with a blank before each, that make a second command send as this one did


def run(args: list[str]) -> int:
    """Send what the command line names, say what became of it, and return the exit code."""
    parsed_options = parse(args, OPTIONS)
    if "--help" in parsed_options.options:
        sys.stdout.write(HELP % help_text(OPTIONS))
        return DONE
    task = _task(parsed_options)
    files = files_in(parsed_options.operands)
    many = len(files) > 1 or has_lines(files[0], task.lines)
    if many and (task.id or task.until):
        raise CommandError(f"{'--id' if task.id else '--wait'} is for one message, and here may be several")
    settings = settings_here(task.dialect)
    task = task._replace(bytes_max=settings.limits.message_bytes_max)
    with opened(parsed_options.options.get("--store"), settings) as bus:
        return _many(bus, files, task) if many else _one(bus, files[0], task)


def _task(parsed_options: ParsedOptions) -> SendCommand:
    options = parsed_options.options
    if not parsed_options.operands:
        raise CommandError(f"nothing to send: {USAGE_LINE}")
    until = options.get("--wait")
    if until is not None and until not in WAITS:
        raise CommandError(f"--wait takes {', '.join(WAITS)}, not {shown(until)}")
    if until is None and "--timeout" in options:
        raise CommandError("--timeout needs --wait, such as --wait acked")
    sender = acting_agent(options.get("--as"), options.get("--store"))
    if not sender:
        raise CommandError(f"no sender: {USAGE_LINE}, or set {AGENT}")
    return SendCommand(
        sender=sender,
        role=options.get("--role"),
        to=options.get("--to"),
        id=options.get("--id"),
        reply_to=options.get("--reply-to"),
        correlation=options.get("--correlation"),
        until=until,
        timeout=_seconds(options.get("--timeout")),
        as_json="--json" in options,
        quiet="--quiet" in options,
        lines="--jsonl" in options,
        dialect=options.get("--dialect"),
        bytes_max=LIMITS.message_bytes_max,
        repeated="".join(f" {name} {shell_word(options[name])}" for name in REPEATED if name in options),
    )


def _seconds(given: str | None) -> float:
    if given is None:
        return TIMEOUT_SECONDS
    whole, _, part = given.partition(".")
    if not (whole + part).isdecimal() or not given.isascii() or len(given) > 9:
        raise CommandError(f"--timeout takes seconds, such as 60 or 0.5, not {shown(given)}")
    return float(given)


# --- one message ------------------------------------------------------------------------------------------------------


def _one(bus: "SyncBus", path: str, task: SendCommand) -> int:
    [(_, raw, _)] = pieces(path, task.bytes_max, lines=False)
    receipt = _send(bus, raw, path, task)
    tell(receipt, fix=fix_command(path, task), as_json=task.as_json, quiet=task.quiet)
    if not receipt.accepted:
        return REFUSED
    if task.until is None:
        return DONE
    from telex.surfaces.cli.delivery_wait import wait_for

    return wait_for(bus, receipt, task)


def _send(bus: "SyncBus", raw: bytes, path: str, task: SendCommand) -> "Receipt":
    try:
        return bus.send(
            raw,
            sender=task.sender,
            role=task.role,
            to=task.to,
            id=task.id,
            reply_to=task.reply_to,
            correlation=task.correlation,
        )
    except OutcomeUnknown as error:
        again = f"telex send{task.repeated} --id {shell_word(error.id or 'ID')} {shell_word(path)}"
        say = f"outcome unknown: send again with the same id: {again}"
        raise CommandError(f"{say}\n({shown(error.say)})", FAILED) from error


def fix_command(path: str, task: SendCommand) -> str:
    """`fix` knows roles, not names; who sends under another name says its role."""
    if path.startswith("-") and path != STDIN:
        path = os.path.join(os.curdir, path)  # a file, though it looks like an option
    dialect = f" --dialect {shell_word(task.dialect)}" if task.dialect else ""
    return f"telex fix {shell_word(path)} --as {shell_word(task.role or task.sender)}{dialect}"


# --- many -------------------------------------------------------------------------------------------------------------


def _many(bus: "SyncBus", files: list[str], task: SendCommand) -> int:
    """Each message by itself: what is told is stored, whatever becomes of those behind it."""
    stay_for_long()
    refused = False
    for path in files:
        for number, raw, _ in pieces(path, task.bytes_max, lines=has_lines(path, task.lines)):
            place = f"{path}:{number}" if number else path
            try:
                receipt = _send(bus, raw, path, task)
            except CommandError as error:
                raise CommandError(f"{shown(place)}: {error.say}", error.code) from error
            tell(receipt, fix=fix_command(path, task), as_json=task.as_json, quiet=task.quiet, place=place)
            refused = refused or not receipt.accepted
    return REFUSED if refused else DONE

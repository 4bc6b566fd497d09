"""`telex send`: check messages, store them, and print a receipt after they are synced to disk.

An agent starts this for every message, so it imports nothing that a single message does not need: no click, no msgspec,
no asyncio. Refused messages are reported on stderr, with exit code 2, as by `telex check`.
"""

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from telex.errors import OutcomeUnknown
from telex.model.named_tuple import NamedTuple
from telex.surfaces.cli.connection import AGENT, acting_agent, explained, opened, settings_here
from telex.surfaces.cli.files import file_word, files_in, has_lines, pieces
from telex.surfaces.cli.output import (
    Screen,
    finding_lines,
    fix_head,
    fix_lines,
    json_line,
    print_json,
    shell_word,
    shown,
    shown_block,
    stderr_has_its_own_reader,
    wrapped,
)
from telex.surfaces.cli.usage import (
    DONE,
    FAILED,
    REFUSED,
    TIMED_OUT,
    CommandError,
    Option,
    ParsedOptions,
    enable_gc,
    parse,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from telex.client import SyncBus
    from telex.config import Settings
    from telex.ports.bus import MessageHistory, Receipt

INBOXES_SHOWN_MAX = 6
ONE_ADDRESS = "give --to once: use all:ROLE or * for several recipients, or send to each separately"
OPTIONS = (
    Option("--as", "NAME", f"your agent name; {AGENT} if not given"),
    Option("--role", "ROLE", "your role, needed once; your name if it is a role, else agent, if not given"),
    Option("--to", "ADDRESS", "an agent, role:qa (one), all:qa (each) or * (everyone)", "", ONE_ADDRESS),
    Option("--id", "ID", "id of the message, if it contains none"),
    Option("--reply-to", "ID", "id of the message that this one answers, if it does not contain it"),
    Option("--correlation", "ID", "its conversation, if the message does not contain it"),
    Option("--ack", "ID", "leased message, by id or token: acked in the transaction that stores this one"),
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
HEADER = ("role", "to", "id", "reply_to", "correlation")
REPEATED = ("--as", "--role", "--to", "--reply-to", "--correlation", "--ack", "--dialect", "--store")
USAGE_LINE = "telex send --as NAME [--to ADDRESS] FILE…|-"
HELP = f"""{USAGE_LINE} [options]

Check a message and store it for its recipients. It prints stored after the
message is synced to disk. A file is one message; a .jsonl or .ndjson file has
one per line; - is stdin.

%s

Exit code: 0 all stored, 2 any refused (findings are on stderr), 3 no such
file, 4 not acked in time, 64 wrong usage, 1 anything else.
"""


class SendCommand(NamedTuple):
    sender: str
    options: ParsedOptions
    timeout: float
    bytes_max: int  # of a message
    sessions: str = ""  # folder of the sessions of clients, if there are any

    def fix_command(self, path: str) -> str:
        role = shell_word(self.options.get("--role") or self.sender)  # `fix` knows roles, not names
        return f"telex fix {file_word(path)} --role {role}{self.options.repeat('--dialect')}"


def run(args: list[str]) -> int:
    """Send the messages of the command line, print the receipts, and return the exit code."""
    options = parse(args, OPTIONS, HELP)
    if options is None:
        return DONE
    sender, timeout = _checked(options)
    files = files_in(options.operands)
    is_batch = len(files) > 1 or has_lines(files[0], options.has("--jsonl"))
    single = [name for name in ("--id", "--ack", "--wait") if options.has(name)]
    if is_batch and single:
        raise CommandError(f"{single[0]} is for one message, and here may be several")
    settings = settings_here(options.get("--dialect"))
    task = SendCommand(sender, options, timeout, settings.limits.message_bytes_max)
    task = task._replace(sessions=_sessions_folder(options.get("--store"), settings))
    with opened(options.get("--store"), settings) as bus:
        return _send_batch(bus, files, task) if is_batch else _send_one(bus, files[0], task)


def _sessions_folder(store: str | None, settings: "Settings") -> str:
    from telex.connection import hub_at, store_path

    with explained():
        path = "" if hub_at(store, settings) else store_path(store, settings)
    folder = os.path.join(os.path.dirname(os.path.abspath(path)), "sessions")
    return folder if path and os.path.isdir(folder) else ""


def _reach(receipt: "Receipt", task: SendCommand) -> dict[str, str]:
    """Ways to reach each recipient now, by its name; few stores have sessions of clients."""
    if not task.sessions or not receipt.accepted:
        return {}
    from telex.surfaces.clients.sessions import reach_of

    return reach_of(task.sessions, receipt.to)


def _checked(options: ParsedOptions) -> tuple[str, float]:
    """Sender and timeout, after the options are checked."""
    until, timeout = options.get("--wait"), options.get("--timeout")
    if not options.operands:
        raise CommandError(f"nothing to send: {USAGE_LINE}")
    if until is not None and until not in WAITS:
        raise CommandError(f"--wait takes {', '.join(WAITS)}, not {shown(until)}")
    if until is None and timeout is not None:
        raise CommandError("--timeout needs --wait, such as --wait acked")
    sender = acting_agent(options.get("--as"), options.get("--store"))
    if not sender:
        raise CommandError(f"no sender: {USAGE_LINE}, or set {AGENT}")
    return sender, TIMEOUT_SECONDS if timeout is None else _seconds(timeout)


def _seconds(text: str) -> float:
    whole, _, part = text.partition(".")
    if not (whole + part).isdecimal() or not text.isascii() or len(text) > 9:
        raise CommandError(f"--timeout takes seconds, such as 60 or 0.5, not {shown(text)}")
    return float(text)


def _send_one(bus: "SyncBus", path: str, task: SendCommand) -> int:
    [(_, raw, _)] = pieces(path, task.bytes_max, lines=False)
    receipt = _send(bus, raw, path, task)
    quiet = task.options.has("--quiet")
    print_receipt(
        receipt,
        fix=task.fix_command(path),
        as_json=task.options.has("--json"),
        quiet=quiet,
        reach=_reach(receipt, task),
    )
    if not receipt.accepted:
        return REFUSED
    until = task.options.get("--wait")
    return _wait(bus, receipt, task, until) if until else DONE


def _send_batch(bus: "SyncBus", files: list[str], task: SendCommand) -> int:
    """Send each message in a transaction of its own: a printed receipt stays valid if a later message fails."""
    enable_gc()
    is_refused, as_json, quiet = False, task.options.has("--json"), task.options.has("--quiet")
    for path in files:
        for number, raw, _ in pieces(path, task.bytes_max, lines=has_lines(path, task.options.has("--jsonl"))):
            place = f"{path}:{number}" if number else path
            try:
                receipt = _send(bus, raw, path, task)
            except CommandError as error:
                raise CommandError(f"{shown(place)}: {error.say}", error.code) from error
            print_receipt(
                receipt,
                fix=task.fix_command(path),
                as_json=as_json,
                quiet=quiet,
                place=place,
                reach=_reach(receipt, task),
            )
            is_refused = is_refused or not receipt.accepted
    return REFUSED if is_refused else DONE


def _send(bus: "SyncBus", raw: bytes, path: str, task: SendCommand) -> "Receipt":
    header = {name: task.options.get(f"--{name.replace('_', '-')}") for name in HEADER}
    acked, token = task.options.get("--ack"), None
    if acked is not None:
        from telex.surfaces.cli.leases import lease_token

        token = lease_token(bus, acked, task.sender, acked_is_fine=True)  # acked: it may be the same message again
    try:
        return bus.send(raw, sender=task.sender, ack=token, check=False, **header)
    except OutcomeUnknown as error:
        again = f"telex send{task.options.repeat(*REPEATED)} --id {shell_word(error.id or 'ID')} {shell_word(path)}"
        say = f"outcome unknown: send again with the same id: {again}"
        raise CommandError(f"{say}\n({shown(error.say)})", FAILED) from error


# --- receipts ---------------------------------------------------------------------------------------------------------
def print_receipt(
    receipt: "Receipt",
    *,
    fix: str,
    as_json: bool,
    quiet: bool = False,
    place: str | None = None,
    reach: "Mapping[str, str] | None" = None,
) -> None:
    """Print a stored message on stdout, a refused one on stderr. `fix` is the command that would fix it, `reach` how
    recipients can be reached now."""
    reach = reach or {}
    if receipt.accepted and quiet:
        return
    if as_json:
        known = {"reach": dict(reach)} if reach else {}
        print_json(receipt_facts(receipt) | known | ({} if place is None else {"source": place}))
    if not as_json or (not receipt.accepted and stderr_has_its_own_reader()):
        screen = Screen(sys.stdout if receipt.accepted else sys.stderr)
        screen.line(*(_stored(receipt, screen, reach) if receipt.accepted else _refused(receipt, fix, screen, place)))
    sys.stdout.flush()  # the next message may take a while, and this one is on disk


def receipt_facts(receipt: "Receipt") -> dict[str, Any]:
    findings = [finding._asdict() for finding in receipt.findings]
    return receipt._asdict() | {"to": list(receipt.to), "findings": findings}


def _stored(receipt: "Receipt", screen: Screen, reach: "Mapping[str, str]") -> list[str]:
    word = "duplicate" if receipt.duplicate else "stored"
    first, *others = wrapped(f"{shown(receipt.id)} for {inboxes(receipt.to, reach)}", screen.width, len(word) + 1)
    return [f"{screen.paint(word, 'green')} {first}", *others, *finding_lines(receipt.findings, screen)]


def inboxes(names: tuple[str, ...], reach: "Mapping[str, str] | None" = None) -> str:
    """`lead (sees it at turn end), qa and 12 more`, or `nobody`."""
    listed = [shown(name) + _reach_text((reach or {}).get(name)) for name in names[:INBOXES_SHOWN_MAX]]
    left = len(names) - len(listed)
    return ", ".join(listed) + (f" and {left} more" if left else "") if listed else "nobody"


def _reach_text(way: str | None) -> str:
    if way is None:
        return ""
    from telex.surfaces.clients.sessions import REACH_TEXT

    return f" ({REACH_TEXT[way]})"


def _refused(receipt: "Receipt", fix: str, screen: Screen, place: str | None) -> list[str]:
    what = " ".join(shown(word) for word in (receipt.dialect, receipt.type) if word) or "message"
    where = f"  {screen.paint(shown(place), 'bold')}" if place else ""
    lines = [f"{screen.paint('refused ', 'red')}{where}  {what}", *finding_lines(receipt.findings, screen)]
    if receipt.fixed is None:
        return lines
    if screen.is_terminal:
        return [*lines, *fix_lines(fix, screen, certain=receipt.certain)]
    return [*lines, "", fix_head(receipt.fixed, certain=receipt.certain), _compact(receipt.fixed)]


def _compact(text: str) -> str:
    """JSON on one line, front matter as it is; both escaped."""
    return json_line(json.loads(text)) if text.startswith("{") else shown_block(text.removesuffix("\n"))


# --- send --wait ------------------------------------------------------------------------------------------------------
def _wait(bus: "SyncBus", receipt: "Receipt", task: SendCommand, until: str) -> int:
    """Wait until the message has the requested state, or print why it does not."""
    from telex.model.message import OPEN
    from telex.surfaces.cli.render import span

    history = bus.settled(receipt.id, sender=task.sender, until=until, timeout=task.timeout)
    lacking = tuple(delivery.inbox for delivery in history.deliveries if not _reached(history, delivery.seq, until))
    reached = bool(history.deliveries) and not lacking  # imported history has no deliveries
    if task.options.has("--json"):
        print_json({"id": receipt.id, "state": history.state, "reached": reached, "lacking": lacking})
    elif reached and not task.options.has("--quiet"):
        took = history.events[-1].at - history.message.at if history.events else 0.0
        names = inboxes(tuple(delivery.inbox for delivery in history.deliveries))
        sys.stdout.write(f"{until} by {names} after {span(took)}\n")
    if reached:
        return DONE
    is_open = any(delivery.state in OPEN for delivery in history.deliveries)
    end = f"within {span(task.timeout)}; it stays stored" if is_open else f"and will not be: it is {history.state}"
    sys.stderr.write(f"telex: not {until} by {inboxes(lacking)} {end} (see telex why {shown(receipt.id)})\n")
    return TIMED_OUT if is_open else FAILED


def _reached(history: "MessageHistory", delivery: int, until: str) -> bool:
    """A leased delivery was read, and an acked one was leased."""
    kinds = {event.kind for event in history.events if event.delivery == delivery}
    return bool(kinds & {"acked": {"acked"}, "leased": {"leased", "acked"}, "read": {"read", "leased", "acked"}}[until])

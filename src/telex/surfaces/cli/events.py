"""`telex events` and `telex log`: events with their text, the log of messages, its export and import."""

import io
import sys
from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any

import click

from telex.model.message import KINDS, Event, NewMessage, StoredMessage, detail_of, rendered_as
from telex.ports.store import Query
from telex.record import KINDS as LOG_KINDS
from telex.record import InvalidLine, LogRecord, exported, imported, log_facts, records
from telex.surfaces.cli.connection import opened, opened_to_look
from telex.surfaces.cli.files import STDIN, writing
from telex.surfaces.cli.options import BUS, COMPLETERS, FILTERS, command, query_from, repeated_option, text_option
from telex.surfaces.cli.output import Screen, did_you_mean, json_line, shown, wrapped
from telex.surfaces.cli.render import clock_time, day_time, fields, print_one, span, stamp, type_of
from telex.surfaces.cli.usage import DONE, FAILED, NOT_FOUND, CommandError
from telex.validation.authorization import normalised

if TYPE_CHECKING:
    from telex.client import SyncBus

follow_option = click.option("--follow", "-f", is_flag=True, help="Follow new entries until interrupted.")


# --- text of an event -------------------------------------------------------------------------------------------------
def event_text(
    event: Event, message: StoredMessage | None, offered: int = 0, inboxes: Sequence[str] = (), *, quoted: bool = True
) -> tuple[str, str]:
    """Kind and description of an event; without texts that agents wrote where these are not `quoted`.

    `offered` is how often the message was leased so far, `inboxes` where it was stored.
    """
    detail = detail_of(event)
    written = [*(f"“{reason}”" for reason in reasons(event)), *finding_texts(event)] if quoted else []
    # Duration and next time
    rest = []
    if isinstance(detail.get("took"), (int, float)):
        rest.append(f"in {detail['took']:.1f} ms")
    if isinstance(detail.get("next"), (int, float)):
        comes = "next deadline" if event.kind == "reply-overdue" else "again at"
        rest.append(f"{comes} {_time(detail['next'], event)}")
    words = [_main(event, detail, inboxes or ([message.to] if message else [])), *written, *rest]
    kind = f"offered {offered}×" if event.kind == "leased" and offered else event.kind
    return kind, "; ".join(word for word in words if word) or KINDS.get(event.kind, "")


def _main(event: Event, detail: dict[str, Any], inboxes: Sequence[str]) -> str:
    agent = shown(event.agent or "")
    by = f"by {agent}" if agent else ""
    inbox = shown(event.inbox) if event.inbox else ""
    until = f"until {_time(detail.get('until'), event)}" if "until" in detail else ""
    match event.kind:
        case "leased":
            shared = f" from {inbox}" if event.inbox and event.inbox != event.agent else ""
            return f"to {agent or inbox}{shared} {until}".rstrip()
        case "translated":
            return f"for {agent or inbox} into {shown(rendered_as(detail))}"
        case "extended":
            return f"{by} {until}".strip()
        case "accepted":
            return f"from {agent}, stored for {', '.join(map(shown, inboxes))}"
        case "joined":
            return f"{agent} as {shown(str(detail.get('role', '?')))}"
        case "left" | "stopped":
            return agent
        case "forced":
            return f"{agent} by {shown(str(detail.get('by', '?')))}"
        case "dissolved":
            return f"{shown(str(detail.get('team', '?')))} {by}"
        case "wake-due" | "wake-delivered" | "wake-seen" | "wake-withdrawn":
            return _wake_text(detail, inbox)
        case "alerted":
            return _alert_text(detail)
        case "lease-expired":
            return f"held by {agent or inbox}"
        case "reply-overdue" if isinstance(detail.get("climbed_to"), str):
            return f"no reply: escalated to {shown(detail['climbed_to'])}"
        case "dead" | "expired" | "request-repeated" | "withdrawn" | "returned-to-sender":
            return f"in the inbox of {inbox}" if inbox else ""
        case _:
            return by


def _wake_text(detail: dict[str, Any], inbox: str) -> str:
    way = f" by {shown(str(detail['way']))}" if "way" in detail else ""
    unread = f", {detail['unread']} unread" if isinstance(detail.get("unread"), int) and detail["unread"] else ""
    return f"of {inbox}{way}{unread}" if inbox else ""


def _alert_text(detail: dict[str, Any]) -> str:
    """`ntfy: claimed, 2 items`: without the items, which are texts of agents."""
    target, items = shown(str(detail.get("target", "?")).partition(":")[0]), detail.get("open")
    count = f", {len(items)} item{'' if len(items) == 1 else 's'}" if isinstance(items, dict) else ""
    error = f"; {_word(detail, 'error')}" if "error" in detail else ""
    return f"{target}: {_word(detail, 'stage')}{count}{error}"


def reasons(event: Event) -> tuple[str, ...]:
    reason = detail_of(event).get("reason")
    return (shown(reason),) if isinstance(reason, str) else ()


def finding_texts(event: Event) -> tuple[str, ...]:
    findings = detail_of(event).get("findings")
    return tuple(
        f"{_word(finding, 'code')} at {_word(finding, 'path')}"
        for finding in (findings if isinstance(findings, list) else ())
        if isinstance(finding, dict)
    )


def _word(finding: dict[str, Any], key: str) -> str:
    return shown(str(finding.get(key, "?")))


def _time(at: object, event: Event) -> str:
    return clock_time(at, event.at) if isinstance(at, (int, float)) else "?"


# --- events -----------------------------------------------------------------------------------------------------------

_KINDS_WIDTH = 13  # longer ones are rare
_INDENT = 23 + 2 + _KINDS_WIDTH + 2
_BELOW = 11  # column of a text that does not fit beside the time and the kind


def _known(ctx: click.Context, param: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    for kind in value:
        if kind not in KINDS:
            raise CommandError(f"no kind of event {shown(kind)}; {did_you_mean(kind, KINDS)}")
    return value


@command(
    "events",
    [
        follow_option,
        repeated_option(
            "--kind", "kinds", "KIND", "Only this kind", callback=_known, shell_complete=COMPLETERS["kinds"]
        ),
        *FILTERS,
        *BUS,
    ],
)
def events_command(follow: bool, store: str | None, as_json: bool, **given: Any) -> int:
    """Print the events that match all given options, in order."""
    query = query_from(**given)
    screen = Screen(sys.stdout)
    with opened_to_look(store) as bus:
        for event, message in bus.events(query, follow=follow):
            screen.line(
                *([json_line(_event_facts(event, message))] if as_json else _event_lines(event, message, screen))
            )
            if follow:
                sys.stdout.flush()
    return DONE


def _event_lines(event: Event, message: StoredMessage | None, screen: Screen) -> list[str]:
    kind, words = event_text(event, message)
    text = f"{shown(message.id)} {shown(type_of(message))}: {words}" if message else words
    head = f"{day_time(event.at)}  {screen.paint(f'{kind:<{_KINDS_WIDTH}}', 'bold')}"
    first, *others = wrapped(text, screen.width, _INDENT)
    if screen.width is not None and max(map(len, (first, *others))) > screen.width - _INDENT:  # an id, often
        return [head.rstrip(), *(" " * _BELOW + line for line in wrapped(text, screen.width, _BELOW))]
    return [f"{head}  {first}", *(" " * _INDENT + other for other in others)]


def _event_facts(event: Event, message: StoredMessage | None) -> dict[str, Any]:
    facts = {"seq": event.seq, "at": stamp(event.at)} | fields(event, "kind agent inbox delivery")
    names = {"id": "id", "dialect": "dialect", "type": "type", "from": "sender", "correlation": "correlation"}
    facts |= {key: getattr(message, name, None) for key, name in names.items()}
    return facts | {"detail": detail_of(event) or None}


# --- log --------------------------------------------------------------------------------------------------------------

STEP = 500  # messages imported together; one fsync for all of them
FLAWS_SHOWN_MAX = 20
_COLOURS = {"SUCCESS": "green", "ERROR": "red"}
_AGENT_WIDTH = 10
_BESIDE = 12 + 2 + 8 + 2 + 2 + 7 + 2 + 8 + 2  # columns before the type, without the agent
_LOG_BELOW = 12 + 2  # column of a wrapped line


@command(
    "log",
    [
        follow_option,
        *FILTERS,
        text_option(
            "--export", "FILE", "Export every event with the bytes of its message as JSON lines; - is stdout.", "out"
        ),
        text_option("--import", "FILE", "Import the messages of such a file as history; - is stdin.", "into"),
        *BUS,
    ],
)
def log_command(follow: bool, out: str | None, into: str | None, store: str | None, as_json: bool, **given: Any) -> int:
    """Print the log: one line for every message sent and for every attempt to read it."""
    if out and into:
        raise CommandError("--export or --import, not both at once")
    query = query_from(**given)
    if into:
        with opened(store) as bus:
            # Import the messages of an export. The file is validated first: if a line is invalid, nothing is imported.
            with _reading(into) as file:
                _refuse_invalid(file, into)
                file.seek(0)
                count = new = 0
                for batch in _batches(file):
                    new += sum(result.outcome == "stored" for result in bus.import_messages(batch))
                    count += len(batch)
            words = f"{new:,} of {count:,} messages imported" + (
                "" if new == count else "; the others were there already"
            )
            return print_one({"messages": count, "new": new}, words, as_json)
    with opened_to_look(store) as bus:
        if out:
            return _export(bus, out, query)
        return _print_log(bus, query._replace(kinds=LOG_KINDS), follow, as_json)


def _print_log(bus: "SyncBus", query: Query, follow: bool, as_json: bool) -> int:
    screen, day = Screen(sys.stdout), ""
    for record in records(bus.events(query, follow=follow)):
        if query.agent not in (None, normalised(record.agent)):
            continue
        if as_json:
            screen.line(json_line(log_facts(record)))
        else:
            when = day_time(record.at)
            heading = [screen.paint(f"{when[:10]} UTC", "dim")] if when[:10] != day else []
            screen.line(*heading, *_log_lines(record, when[11:], screen))
            day = when[:10]
        if follow:
            sys.stdout.flush()
    return DONE


def _log_lines(record: LogRecord, when: str, screen: Screen) -> list[str]:
    message = record.message
    took = span(record.processing_ms / 1000) if record.processing_ms is not None else ""
    type_ = shown(type_of(message))
    reason = f": {shown(record.reason)}" if record.reason else ""
    result = screen.paint(f"{record.result:<7}", _COLOURS[record.result])
    agent = f"{shown(record.agent):<{_AGENT_WIDTH}}"
    head = f"{when}  {record.direction:<8}  {agent}  {result}  {took:>8}"
    text = f"{type_} {shown(message.id)}{reason}"
    left = None if screen.width is None else screen.width - (_BESIDE + len(agent))
    if left is None or len(text) <= left:
        return [f"{head}  {text}"]
    beside = f"  {type_}" if len(type_) <= left else ""
    below = text.removeprefix(f"{type_} ") if beside else text
    return [head + beside, *(" " * _LOG_BELOW + line for line in wrapped(below, screen.width, _LOG_BELOW))]


# --- export and import ------------------------------------------------------------------------------------------------
def _export(bus: "SyncBus", path: str, query: Query) -> int:
    """Export the events of a query, each message with its bytes."""
    count = 0
    with writing(path) as target:
        for event, message in bus.events(query):
            target.write((json_line(exported(event, message)) + "\n").encode("utf-8", "backslashreplace"))
            count += 1
    sys.stderr.write(f"{count:,} {'event' if count == 1 else 'events'} written to {shown(path)}\n")
    return DONE


def _reading(path: str) -> IO[bytes]:
    try:
        return io.BytesIO(sys.stdin.buffer.read()) if path == STDIN else open(path, "rb")
    except FileNotFoundError as error:
        raise CommandError(f"no such file: {shown(path)}", NOT_FOUND) from error
    except OSError as error:
        raise CommandError(f"cannot read {shown(path)}: {error.strerror}", FAILED) from error


def _refuse_invalid(file: IO[bytes], path: str) -> None:
    flaws = [line for line in imported(file) if isinstance(line, InvalidLine)]
    if not flaws:
        return
    lines = [f"{shown(path)}:{flaw.line}: {shown(flaw.say)}" for flaw in flaws[:FLAWS_SHOWN_MAX]]
    more = [f"and {len(flaws) - FLAWS_SHOWN_MAX:,} more"] if len(flaws) > FLAWS_SHOWN_MAX else []
    raise CommandError("\n".join([*lines, *more, "nothing was imported"]), FAILED)


def _batches(file: IO[bytes]) -> Iterator[list[NewMessage]]:
    batch: list[NewMessage] = []
    for message in imported(file):
        if isinstance(message, NewMessage):
            batch.append(message)
        if len(batch) == STEP:
            yield batch
            batch = []
    if batch:
        yield batch

"""Text forms of times, tables, messages, results and progress, for commands that print them."""

import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from telex.dialects.scalars import format_timestamp
from telex.model.message import CHANGES, Delivery, Rendering, StoredMessage
from telex.record import content_of
from telex.surfaces.cli.output import Screen, print_json, shown, shown_block, wrapped
from telex.surfaces.cli.usage import DONE, CommandError
from telex.trace.text import cells, lasting, squeezed

_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400}
_SPAN = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)\s*(s|min|m|h|d)\Z")


stamp = format_timestamp  # `2026-01-31T09:30:00.250Z`
span = lasting  # `340 ms`, `1.2 s`, `2 min 05 s`


def day_time(at: float) -> str:
    """`2026-01-31 09:30:00.250`, in UTC."""
    return stamp(at).replace("T", " ").removesuffix("Z")


def clock_time(at: float, beside: float | None = None) -> str:
    """`09:30:00`, with its date where that differs from the date of `beside`."""
    text = day_time(at)[:19]
    return text[11:] if beside is None or text[:10] == day_time(beside)[:10] else text


def ago(at: float, now: float) -> str:
    """`3 s`, `4 min`, `2 h`, `9 d`, for a table."""
    seconds = max(now - at, 0.0)
    for limit, size, unit in ((100, 1, "s"), (100 * 60, 60, "min"), (48 * 3_600, 3_600, "h")):
        if seconds < limit:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds / 86_400:.0f} d"


def moment(text: str, option: str) -> float:
    """Parse a time: `10m`, `2h` or `1d` ago, or ISO 8601; UTC where no zone is given."""
    match = _SPAN.match(text.strip())
    if match:
        return time.time() - float(match[1]) * _UNITS[match[2]]
    try:
        parsed = datetime.fromisoformat(text.strip())
    except ValueError:
        example = f"{option} 10m, {option} 2h, or {option} 2026-01-31T09:30:00Z"
        raise CommandError(f"{option} takes a time, not {shown(text)}: {example}") from None
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()


Row = Sequence[str | int]
_GAP = "  "
_ZERO = "·"
_LAST_LEAST, _COLUMN_LEAST = 12, 6  # columns of the terminal
_COLUMN_MOST = 120  # a longer cell does not widen its column


def table_lines(headings: Sequence[str], rows: Sequence[Row], screen: Screen, *, total: Row | None = None) -> list[str]:
    """A table of escaped cells, with numbers aligned right and zeros as dots. The last column is wrapped.

    Where that does not fit, empty columns are left out. If it still does not fit, the first column, which is often an
    id to copy, gets a line of its own, and the others are shortened below it.
    """
    texts = [[_cell(value) for value in row] for row in (headings, *rows, *([total] if total else []))]
    right = [bool(rows) and isinstance(value, int) for value in (rows[0] if rows else headings)]
    width = screen.width
    if width is not None and _least(_widths(texts)) > width:
        telling = [at for at in range(len(headings)) if any(row[at] not in ("", _ZERO) for row in texts[1:])]
        texts, right = [[row[at] for at in telling] for row in texts], [right[at] for at in telling]
    if width is None or _least(_widths(texts)) <= width:
        blocks = _side_by_side(texts, right, width)
    else:
        below = _side_by_side([row[1:] for row in texts], right[1:], width - len(_GAP))
        blocks = [
            [*row[:1], *(_GAP + line for line in lines)] if row[0] else [_GAP + line for line in lines]
            for row, lines in zip(texts, below, strict=True)
        ]
    colours = {0: "dim", **({len(blocks) - 1: "bold"} if total else {})}
    return [
        screen.paint(line, colours[place]) if place in colours else line
        for place, lines in enumerate(blocks)
        for line in lines
    ]


def _side_by_side(texts: list[list[str]], right: list[bool], width: int | None) -> list[list[str]]:
    """The lines of each row, with columns shortened to fit."""
    widths = _widths(texts)
    squeezable = [at for at in range(len(widths) - 1) if not right[at]]
    while width is not None and squeezable and _least(widths) > width:
        widest = max(squeezable, key=widths.__getitem__)
        if widths[widest] <= _COLUMN_LEAST:
            break
        widths[widest] -= 1
    indent = _indent(widths)

    def lines(row: list[str]) -> list[str]:
        *before, last = row
        fitted = before if width is None else [squeezed(text, widths[at]) for at, text in enumerate(before)]
        padded = [_padded(text, widths[at], right[at]) for at, text in enumerate(fitted)]
        words = _padded(last, widths[-1], right[-1]).rstrip()
        first, *others = [_ending(piece, width, indent) for piece in wrapped(words, width, indent)]
        return [_GAP.join([*padded, first]).rstrip(), *(" " * indent + other for other in others)]

    return [lines(row) for row in texts]


def _widths(texts: list[list[str]]) -> list[int]:
    return [min(max(map(cells, column)), _COLUMN_MOST) for column in zip(*texts, strict=True)]


def _indent(widths: list[int]) -> int:
    return sum(widths[:-1]) + len(_GAP) * (len(widths) - 1)


def _least(widths: list[int]) -> int:
    """Width of the table if the last column is wrapped."""
    return _indent(widths) + min(widths[-1], _LAST_LEAST)


def _padded(text: str, width: int, right: bool) -> str:
    blanks = " " * (width - cells(text))
    return blanks + text if right else text + blanks


def _ending(word: str, width: int | None, indent: int) -> str:
    """A word that is too wide, cut at its start: the end of a path is more specific."""
    room = None if width is None else max(width - indent, _LAST_LEAST)
    return word if room is None or len(word) <= room else f"…{word[1 - room :]}"


def _cell(value: str | int) -> str:
    if isinstance(value, int):
        return f"{value:,}" if value else _ZERO
    return shown(value)


# --- messages ------------------------------------------------------------------------------------------------------

Spoken = StoredMessage | Rendering  # a message as it was sent, or translated for its reader
MARK = "| "


def text_of(message: Spoken) -> str:
    """The bytes as text; what is not UTF-8 is escaped."""
    return message.raw.decode("utf-8", "backslashreplace")


def content_facts(message: Spoken) -> dict[str, Any]:
    """Content of a message for JSON: a JSON object as `message`, other text as `raw`."""
    content = content_of(message.raw)
    return {"message": content, "raw": None} if isinstance(content, dict) else {"message": None, "raw": content}


def marked(text: str, width: int | None = None) -> str:
    """Escaped text with the mark before every line, so that no message can imitate output of Telex."""
    lines = shown_block(text.rstrip("\n")).split("\n")
    if width is not None:
        lines = [part for line in lines for part in _folded(line, max(width - len(MARK), 2))]
    return "\n".join(MARK + line for line in lines)


def _folded(line: str, room: int) -> list[str]:
    if cells(line) <= room:
        return [line]
    parts, used = [""], 0
    for letter in line:
        used += cells(letter)
        if used > room:
            parts.append("")
            used = cells(letter)
        parts[-1] += letter
    return parts


def write_body(message: Spoken, *, raw: bool = False) -> None:
    """Print the marked text, or the bytes as they were sent, with a line end."""
    if raw:
        write_bytes(message.raw if message.raw.endswith(b"\n") else message.raw + b"\n")
        return
    sys.stdout.write(marked(text_of(message), Screen(sys.stdout).width) + "\n")
    sys.stdout.flush()


def write_bytes(raw: bytes) -> None:
    sys.stdout.flush()
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:  # a stream of text, as in a test
        sys.stdout.write(raw.decode("utf-8", "backslashreplace"))
        return
    buffer.write(raw)
    buffer.flush()


def what(message: Spoken) -> str:
    """`vbw-typed execution_update`"""
    return " ".join(shown(word) for word in (message.dialect, message.type) if word) or "text"


def head_facts(message: StoredMessage) -> dict[str, Any]:
    head = {"id": message.id, "from": message.sender, "role": message.role, "to": message.to}
    return head | fields(message, "dialect type correlation reply_to")


def rendering_facts(message: StoredMessage, rendering: Rendering | None) -> dict[str, Any]:
    """Dialect, type and changes of a translation; they replace those of the message."""
    if rendering is None:
        return {}
    original = {"dialect": message.dialect, "type": message.type}
    changes = {name: list(getattr(rendering, name)) for name in CHANGES}
    return {"dialect": rendering.dialect, "type": rendering.type, "translated_from": original | changes}


def type_of(message: Spoken) -> str:
    return message.type or message.dialect or "text"


def state_of(delivery: Delivery, now: float) -> str:
    """`leased by qa until 09:30:00`, `stored, due at 09:30:02`: the state, and what it waits for."""
    if delivery.state == "leased":
        return f"leased by {shown(delivery.holder or '?')} until {clock_time(delivery.due_at, now)}"
    if delivery.state == "stored" and delivery.due_at > now:
        return f"stored, due at {clock_time(delivery.due_at, now)}"
    return delivery.state


def translation_note(message: StoredMessage, rendering: Rendering | None) -> str:
    """`, translated from vbw-typed execution_update (2 lost)`"""
    if rendering is None:
        return ""
    counts = [f"{count} {name}" for name in CHANGES if (count := len(getattr(rendering, name)))]
    changed = f" ({', '.join(counts)})" if counts else ""
    return f", translated from {what(message)}{changed}"


# --- results ----------------------------------------------------------------------------------------------------------

T = TypeVar("T")
Columns = Mapping[str, Callable[[T], str | int]]  # by heading


def print_list(
    items: Iterable[T],
    as_json: bool,
    *,
    facts: Callable[[T], Any],
    columns: Columns[T],
    empty: str = "",
    hint: str = "",
    around: tuple[Sequence[str], Sequence[str]] = ((), ()),
) -> int:
    """Print items as JSON lines, or as a table with lines `around` it: before and after.

    On stderr goes `empty` instead of an empty table, or `hint` after the table.
    """
    items = list(items)
    if as_json:
        print_json(*map(facts, items))
    elif not items and empty:
        sys.stderr.write(empty + "\n")
    else:
        screen = Screen(sys.stdout)
        screen.line(*around[0], *columns_lines(columns, items, screen), *around[1])
        sys.stderr.write(hint and hint + "\n")
    return DONE


def columns_lines(columns: Columns[T], items: Iterable[T], screen: Screen) -> list[str]:
    rows = [[cell(item) for cell in columns.values()] for item in items]
    return table_lines(tuple(columns), rows, screen)


def print_one(facts: Any, text: str | Callable[[Screen], list[str]], as_json: bool) -> int:
    """Print one result, as JSON or as text."""
    screen = Screen(sys.stdout)
    if as_json:
        print_json(facts)
    else:
        screen.line(*([text] if isinstance(text, str) else text(screen)))
    return DONE


def optional_stamp(at: float | None) -> str | None:
    return None if at is None else stamp(at)


def stamped(value: Any) -> dict[str, Any]:
    """A named tuple as JSON, with its time as text."""
    return value._asdict() | {"at": stamp(value.at)}  # type: ignore[no-any-return]


def fields(value: object, names: str) -> dict[str, Any]:
    """Attributes of a value, by name; the names are separated by spaces."""
    return {name: getattr(value, name) for name in names.split()}


# --- progress ---------------------------------------------------------------------------------------------------------

MESSAGES_MIN = 500
WAIT_SECONDS = 1.0
PAUSE_SECONDS = 0.1
_WIDTH = 24


class Progress:
    """Progress bar on stderr, on a terminal only."""

    def __init__(self, files: list[str], *, wanted: bool = True) -> None:
        self._screen = Screen(sys.stderr)
        self._files = files
        self._began = self._drawn = time.monotonic()
        self._bytes_total: int | None = None
        self.is_wanted = wanted and self._screen.is_terminal
        self.is_drawn = False

    def step(self, messages: int, bytes_done: int) -> None:
        """Draw the bar, if enough time has passed."""
        now = time.monotonic()
        if not self.is_wanted or now - self._drawn < PAUSE_SECONDS:
            return
        if messages < MESSAGES_MIN and now - self._began < WAIT_SECONDS:
            return
        self._drawn, self.is_drawn = now, True
        rate = messages / max(now - self._began, 1e-9)
        self._screen.stream.write(f"\r{self._bar(bytes_done)}{messages:,} messages  {rate:,.0f}/s\x1b[K")
        self._screen.stream.flush()

    def clear(self) -> None:
        """Erase the bar before other output."""
        if self.is_drawn:
            self._screen.stream.write("\r\x1b[K")
            self._screen.stream.flush()
            self.is_drawn = False

    def _bar(self, bytes_done: int) -> str:
        if self._bytes_total is None:
            self._bytes_total = sum(map(_size, self._files))
        if not self._bytes_total:  # the size of stdin is unknown
            return ""
        share = min(bytes_done / self._bytes_total, 1.0)
        full = int(share * _WIDTH)
        return f"[{'#' * full}{'.' * (_WIDTH - full)}] {share:4.0%}  "


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0

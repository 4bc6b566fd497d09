"""Text of times and durations, and their parser."""

import re
import time
from datetime import UTC, datetime

from telex.dialects.scalars import format_timestamp as written
from telex.surfaces.cli.exit_codes import CommandError
from telex.surfaces.cli.output import shown
from telex.trace.text import lasting

_UNITS = {"s": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400}
_SPAN = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)\s*(s|min|m|h|d)\Z")


def stamp(at: float) -> str:
    """`2026-01-31T09:30:00.250Z`, as every dialect writes it."""
    return written(at)


def day_time(at: float) -> str:
    """`2026-01-31 09:30:00.250`, in UTC."""
    return stamp(at).replace("T", " ").removesuffix("Z")


def clock_time(at: float, beside: float | None = None) -> str:
    """`09:30:00`; with its day where that is another than that of the moment told beside it."""
    told = day_time(at)[:19]
    return told[11:] if beside is None or told[:10] == day_time(beside)[:10] else told


def span(seconds: float) -> str:
    """`340 ms`, `1.2 s`, `2 min 05 s`, as traces say it."""
    return lasting(seconds)


def ago(at: float, now: float) -> str:
    """`3 s`, `4 min`, `2 h`, `9 d`: in a table one figure is enough to see how old it is."""
    seconds = max(now - at, 0.0)
    for limit, size, unit in ((100, 1, "s"), (100 * 60, 60, "min"), (48 * 3_600, 3_600, "h")):
        if seconds < limit:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds / 86_400:.0f} d"


def moment(text: str, option: str) -> float:
    """A moment as people write it: `10m`, `2h` or `1d` ago, or ISO 8601; UTC where no zone is given.

    Raises:
        CommandError: when it is neither.
    """
    match = _SPAN.match(text.strip())
    if match:
        return time.time() - float(match[1]) * _UNITS[match[2]]
    try:
        told = datetime.fromisoformat(text.strip())
    except ValueError:
        example = f"{option} 10m, {option} 2h, or {option} 2026-01-31T09:30:00Z"
        raise CommandError(f"{option} takes a time, not {shown(text)}: {example}") from None
    return (told if told.tzinfo else told.replace(tzinfo=UTC)).timestamp()

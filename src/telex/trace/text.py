"""Names, times and reasons in a diagram: escaped, and cut to fit."""

from datetime import UTC, datetime
from unicodedata import combining, east_asian_width

from telex.model.text import shown

NAME_MAX, TYPE_MAX, REASON_MAX = 64, 64, 240  # characters; `telex why` has the rest
_DAY_SECONDS = 86_400


def name_of(text: str) -> str:
    return brief(text, NAME_MAX) or "(unnamed)"


def brief(text: str, limit: int) -> str:
    """At most that many characters of a text, on one line, with control characters escaped."""
    return cut(shown(text[: limit + 1]), limit)


def cells(text: str) -> int:
    """Columns of a terminal that the text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if combining(letter) else 2 if east_asian_width(letter) in "WF" else 1 for letter in text)


def cut(text: str, room: int) -> str:
    """The beginning of the text, in at most that many columns."""
    if cells(text) <= room:
        return text
    while text and cells(text) > room - 1:
        text = text[:-1]
    return text + "…" if room > 0 else ""


def squeezed(text: str, room: int) -> str:
    """The text without its middle: names of agents often differ only at the end."""
    if cells(text) <= room or room < 4:
        return cut(text, room)
    tail = text[-((room - 1) // 2) :]
    while cells(tail) > (room - 1) // 2:
        tail = tail[1:]
    return cut(text, room - cells(tail)).removesuffix("…") + "…" + tail


def folded(text: str, room: int, limit: int) -> list[str]:
    """The text in lines of at most that many columns; what does not fit into the last line is left out."""
    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines[-1] else word
        if cells(longer) <= room:
            lines[-1] = longer
        else:
            lines += [word] if lines[-1] else []
            lines[-1] = cut(word, room)
    if len(lines) > limit:
        lines = [*lines[: limit - 1], cut(" ".join(lines[limit - 1 :]), room)]
    return lines


def lasting(seconds: float) -> str:
    """A duration: 340 ms, 1.2 s, 2 min 05 s, 3 h 04 min, 2 d 3 h."""
    tenths = round(seconds * 10)
    if seconds < 0.9995:
        return f"{max(round(seconds * 1000), 0)} ms"
    if tenths < 600:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    if whole < _DAY_SECONDS:
        return f"{whole // 3600} h {whole % 3600 // 60:02} min"
    return f"{whole // _DAY_SECONDS} d {whole % _DAY_SECONDS // 3600} h"


def offset(seconds: float) -> str:
    return f"-{lasting(-seconds)}" if seconds < -0.0005 else f"+{lasting(seconds)}"


def moment(at: float) -> str:
    """`2026-01-31 12:00:00 UTC`"""
    return datetime.fromtimestamp(at, UTC).isoformat(" ", "seconds").removesuffix("+00:00") + " UTC"

"""Where do the sections of a markdown body begin and end that somebody wrote by hand?

Under headings of any depth, in any order and any case, what is said behind the heading or below it. A heading that
nobody knows is part of the text that it stands in, and what is in a fence is no heading.
"""

import re
from collections.abc import Collection
from typing import NamedTuple

_HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t])")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_BEHIND = re.compile(r"[ \t]*[:–—][ \t]*|[ \t]+-[ \t]+|[ \t]+")  # between a name and what is said on the same line
_ITEM = re.compile(r"(?:[-*+]|[0-9]{1,9}[.)])[ \t]+")


class BodySection(NamedTuple):
    """One stretch of a body; `heading` is the name it is known by, casefolded, or None for whatever nobody knows."""

    heading: str | None
    text: str


class _Open(NamedTuple):
    heading: str | None
    level: int
    lines: list[str]


def cut(body: str, names: Collection[str], deepest: int = 6) -> list[BodySection] | None:
    """The body in parts, by these names (casefolded). None: none of them stands over anything."""
    if "#" not in body:
        return None
    opens = [_Open(None, 0, [])]
    lines = body.split("\n")
    fence = ""
    for number, line in enumerate(lines):
        marked = _FENCE.match(line)
        if marked is not None:
            fence = _after(fence, marked[1], line)
        heading = _HEADING.match(line) if not fence and marked is None else None
        level = len(heading[1]) if heading is not None else 0
        title = _title(line[heading.end() :]) if heading is not None else ""
        known = _known(title, names, lines, number) if title and level <= deepest else None
        here = opens[-1]
        if known is not None:
            opens.append(_Open(known[0], level, [known[1]] if known[1] else []))
        elif heading is None or here.heading is None or level > here.level:
            here.lines.append(line)  # a heading that nobody knows belongs to what it stands in
        else:
            opens.append(_Open(None, level, [line]))
    if all(open_.heading is None for open_ in opens):
        return None
    return [BodySection(open_.heading, "\n".join(open_.lines).strip("\n")) for open_ in opens]


def _after(fence: str, mark: str, line: str) -> str:
    """The fence that is open after this line; none after one that closes it."""
    if not fence:
        return mark
    closes = mark[0] == fence[0] and len(mark) >= len(fence) and line.strip() == mark
    return "" if closes else fence


def _title(words: str) -> str:
    """What a heading says, without the marks that may close it. By hand, since a line may be a megabyte of blanks."""
    words = words.strip()
    bare = words.rstrip("#")
    return bare.rstrip() if bare != words and bare[-1:] in ("", " ", "\t") else words


def _known(title: str, names: Collection[str], lines: list[str], number: int) -> tuple[str, str] | None:
    """The name that a heading is known by, and what is said behind it on the same line."""
    folded = title.casefold()
    if folded.rstrip(": ") in names:
        return folded.rstrip(": "), ""
    for name in names:
        gap = _BEHIND.match(title, len(name)) if folded.startswith(name) else None
        if gap is None or gap.end() == len(title):
            continue
        # "Result: ..." says what it is; "Result of the tests" is a heading of its own, if anything stands below it.
        if not gap[0].isspace() or _is_empty_below(lines, number):
            return name, title[gap.end() :]
    return None


def _is_empty_below(lines: list[str], number: int) -> bool:
    following = (lines[below] for below in range(number + 1, len(lines)))  # no copy: there may be very many
    below = next((line for line in following if line.strip()), None)
    return below is None or _HEADING.match(below) is not None


def items(text: str) -> list[str]:
    """What is listed in a section: its points, or the whole of it where it has none."""
    if not _ITEM.match(text):
        return [text]
    found: list[list[str]] = []
    for line in text.split("\n"):
        mark = _ITEM.match(line)
        if mark is not None:
            found.append([line[mark.end() :]])
        else:
            found[-1].append(line.removeprefix("  "))
    return ["\n".join(one).rstrip("\n") for one in found]

"""Markdown bodies with several values, each in a section under its own heading.

`compose` writes the main value last and unchanged. `parse` also accepts bodies written by hand: it finds the headings
anywhere, and text outside of them is the main value.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any

from telex.model.named_tuple import NamedTuple
from telex.translation.mapping import Body, SectionMapping

SILENT = "Nothing was said about it."
NONE = "None."
_HASH = re.compile(r"^(\\*#)", re.MULTILINE)
_ESCAPED_HASH = re.compile(r"^\\(\\*#)", re.MULTILINE)
_BACKSLASHED = r"\\\g<0>"
_GAP = "\n\n"


class ParsedBody(NamedTuple):
    values: dict[str, Any]  # by slot
    strays: Mapping[str, str] = {}  # by heading: sections of the type that the mapping has no slot for
    as_written: bool = True  # equal to what `compose` writes


def compose(spec: Body, values: Mapping[str, Any], headings: tuple[str, ...] = ()) -> tuple[str, list[str]]:
    """A body with these values and every heading of the type; and the headings without a value."""
    main = values.get(spec.main)
    text = main
    if spec.pages and main is not None:
        is_unnamed = len(main) == 1 and "name" not in main[0]
        text = str(main[0]["text"]) if is_unnamed else _pages(main)
    if text is not None and values.keys() == {spec.main} and _stands_alone(spec, text, main, headings):
        return str(text), []
    sections = [section for section in spec.sections if section.slot in values]
    parts = [f"## {section.heading}\n{_written(values[section.slot])}" for section in sections]
    wanted = {heading.casefold(): heading for heading in headings}
    own = wanted.pop(spec.heading.casefold(), None)
    for section in sections if wanted else ():
        wanted.pop(section.heading.casefold(), None)
    silent = list(wanted.values())
    parts += [f"## {heading}\n{SILENT}" for heading in silent]
    if text is not None:
        parts.append(f"## {spec.heading}\n{text}")
    elif own is not None:
        parts.append(f"## {spec.heading}\n{SILENT}")
        silent.append(own)
    return _GAP.join(parts), silent


def _stands_alone(spec: Body, text: str, main: Any, headings: tuple[str, ...]) -> bool:
    """Whether the text alone has every heading of the type and parses to the same value."""
    if "#" not in text:
        return not headings
    prose = "".join(text.split("```")[::2])
    there = {line.lstrip("#").strip().casefold() for line in prose.splitlines() if line.startswith("#")}
    if not all(heading.casefold() in there for heading in headings):
        return False
    return _freely_parsed(spec, text, headings) == ParsedBody({spec.main: main})


def parse(spec: Body, body: str, headings: tuple[str, ...] = ()) -> ParsedBody:
    """Values of a body."""
    if not body:
        return ParsedBody({})
    values = _sections(spec, body)
    if values is not None and compose(spec, values, headings)[0] == body:
        return ParsedBody(values)
    return _freely_parsed(spec, body, headings)


def _freely_parsed(spec: Body, body: str, headings: tuple[str, ...]) -> ParsedBody:
    """Values of a handwritten body. Text under an unknown heading, or under none, belongs to the main value.

    So does a section that the type requires and the mapping has no slot for, unless the main value has its own
    heading."""
    values: dict[str, Any] = {}
    rest: list[tuple[str, str]] = []  # the other sections, each with its heading
    by_heading = {section.heading.casefold(): section for section in spec.sections}
    called = {one.casefold(): one for one in (*headings, *(section.heading for section in spec.sections), spec.heading)}
    deepest = 2 if spec.pages else 6  # below that are the names of pages
    for heading, text in cut(body, called, deepest) or (BodySection(None, body),):
        if not text.strip() or (heading is not None and text == SILENT):
            continue
        section = by_heading.get(heading or "")
        if section is not None and section.slot not in values:
            plain = _ESCAPED_HASH.sub(r"\1", text)
            values[section.slot] = plain if not section.listed else [] if text == NONE else items(text)
        else:
            rest.append((called.get(heading or "", ""), text))
    strays: dict[str, list[str]] = {}
    if any(name == spec.heading for name, _ in rest):
        for name, text in rest:
            if name in headings and name != spec.heading:
                strays.setdefault(name, []).append(text)
        rest = [one for one in rest if one[0] not in strays]
    alone = len(rest) == 1 and rest[0][0] == spec.heading
    if rest and not values and not strays and not alone:
        return ParsedBody({spec.main: _paged(body) if spec.pages else body})
    if rest:
        text = rest[0][1] if alone else _GAP.join(f"## {name}\n{one}" if name else one for name, one in rest)
        values[spec.main] = _paged(text) if spec.pages else text
    return ParsedBody(values, {name: _GAP.join(texts) for name, texts in strays.items()}, as_written=False)


def _sections(spec: Body, body: str) -> dict[str, Any] | None:
    """None: it was not written here."""
    if not body.startswith("## "):
        return None
    values: dict[str, Any] = {}
    rest = body
    by_heading = {section.heading: section for section in spec.sections}
    while rest:
        heading, _, rest = rest.removeprefix("## ").partition("\n")
        if heading == spec.heading:
            if rest != SILENT:
                values[spec.main] = _paged(rest) if spec.pages else rest
            return values
        text, found, after = rest.partition(f"{_GAP}## ")
        rest = f"## {after}" if found else ""
        section = by_heading.get(heading)
        if section is not None and text != SILENT:
            values[section.slot] = _read(section, text)
        elif section is None and text != SILENT:
            return None
    return values


def _written(value: Any) -> str:
    if isinstance(value, list):
        return "\n".join("- " + item.replace("\n", "\n  ") for item in value) if value else NONE
    return _HASH.sub(_BACKSLASHED, value) if "#" in value else str(value)


def _read(section: SectionMapping, text: str) -> Any:
    if not section.listed:
        return _ESCAPED_HASH.sub(r"\1", text)
    if text == NONE:
        return []
    return [item.replace("\n  ", "\n") for item in text.removeprefix("- ").split("\n- ")]


def _pages(pages: list[dict[str, str]]) -> str:
    return _GAP.join(f"### {page['name']}\n{_HASH.sub(_BACKSLASHED, page['text'])}" for page in pages)


def _paged(text: str) -> list[dict[str, str]]:
    """Pages of a text; a text without page headings is one unnamed page."""
    if text.startswith("### "):
        found = []
        for one in text.removeprefix("### ").split(f"{_GAP}### "):
            name, _, inside = one.partition("\n")
            found.append({"name": name, "text": _ESCAPED_HASH.sub(r"\1", inside)})
        if _pages(found) == text:
            return found
    return [{"text": text}]


# --- handwritten bodies -----------------------------------------------------------------------------------------------


_HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t])")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_BEHIND = re.compile(r"[ \t]*[:–—][ \t]*|[ \t]+-[ \t]+|[ \t]+")  # between a heading and text on the same line
_ITEM = re.compile(r"(?:[-*+]|[0-9]{1,9}[.)])[ \t]+")


class BodySection(NamedTuple):
    """One section of a body; `heading` is casefolded, None for an unknown one."""

    heading: str | None
    text: str


class _Open(NamedTuple):
    heading: str | None
    level: int
    lines: list[str]


def cut(body: str, names: Collection[str], deepest: int = 6) -> list[BodySection] | None:
    """Sections of the body under these headings (casefolded). None: it has none of them."""
    if "#" not in body:
        return None
    opens = [_Open(None, 0, [])]
    lines = body.split("\n")
    fence = ""
    for number, line in enumerate(lines):
        marked = _FENCE.match(line)
        if marked is not None and not fence:
            fence = marked[1]
        elif marked is not None and marked[1].startswith(fence) and line.strip() == marked[1]:
            fence = ""  # closed by as many marks or more
        heading = _HEADING.match(line) if not fence and marked is None else None
        level = len(heading[1]) if heading is not None else 0
        title = _title(line[heading.end() :]) if heading is not None else ""
        known = _known(title, names, lines, number) if title and level <= deepest else None
        here = opens[-1]
        if known is not None:
            opens.append(_Open(known[0], level, [known[1]] if known[1] else []))
        elif heading is None or here.heading is None or level > here.level:
            here.lines.append(line)  # an unknown heading belongs to the section around it
        else:
            opens.append(_Open(None, level, [line]))
    if all(open_.heading is None for open_ in opens):
        return None
    return [BodySection(open_.heading, "\n".join(open_.lines).strip("\n")) for open_ in opens]


def _title(words: str) -> str:
    """Text of a heading without closing #. Not a regex: a line may be a megabyte of blanks."""
    words = words.strip()
    bare = words.rstrip("#")
    return bare.rstrip() if bare != words and bare[-1:] in ("", " ", "\t") else words


def _known(title: str, names: Collection[str], lines: list[str], number: int) -> tuple[str, str] | None:
    """The known name of a heading, and the text behind it on the same line."""
    folded = title.casefold()
    if folded.rstrip(": ") in names:
        return folded.rstrip(": "), ""
    for name in names:
        gap = _BEHIND.match(title, len(name)) if folded.startswith(name) else None
        if gap is None or gap.end() == len(title):
            continue
        # "Result: ..." is a section; "Result of the tests" is a heading of its own, unless nothing follows it.
        following = (lines[below] for below in range(number + 1, len(lines)))  # no copy of the list, which may be long
        below = next((line for line in following if line.strip()), "# ")
        if not gap[0].isspace() or _HEADING.match(below):
            return name, title[gap.end() :]
    return None


def items(text: str) -> list[str]:
    """List items of a section, or its whole text if it has none."""
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

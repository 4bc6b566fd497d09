"""How do several things stand in one markdown body, so that they can be told apart again?

Each under a heading of its own, the main one last and to the letter. In a body that a person or a model wrote as it
pleased the headings are found wherever they stand, and what stands under none of them is the main thing. What reading
does not give back as it was put in, whoever writes can see.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from telex.translation.handwritten_sections import BodySection, cut, items
from telex.translation.mapping import Body, Section

SILENT = "Nothing was said about it."
NONE = "None."
_HASH = re.compile(r"^(\\*#)", re.MULTILINE)
_ESCAPED_HASH = re.compile(r"^\\(\\*#)", re.MULTILINE)
_GAP = "\n\n"


class ParsedBody(NamedTuple):
    values: dict[str, Any]  # by slot
    strays: Mapping[str, str] = {}  # by heading: what the type asks for and the row has no slot for
    as_written: bool = True  # `compose` would write it so


def compose(spec: Body, values: Mapping[str, Any], headings: tuple[str, ...] = ()) -> tuple[str, list[str]]:
    """The body that says these, with every heading that the type asks for; and those under which nothing is said."""
    main = values.get(spec.main)
    text = _pages(main) if spec.pages and main is not None else main
    if text is not None and values.keys() == {spec.main} and _stands_alone(spec, text, main, headings):
        return str(text), []
    sections = [section for section in spec.sections if section.slot in values]
    parts = [f"## {section.heading}\n{_written(values[section.slot])}" for section in sections]
    wanted = {heading.casefold(): heading for heading in headings}
    own = wanted.pop(spec.heading.casefold(), None)
    for section in sections if wanted else ():
        wanted.pop(section.heading.casefold(), None)
    silent = list(wanted.values())
    parts += [f"## {one}\n{SILENT}" for one in silent]
    if text is not None:
        parts.append(f"## {spec.heading}\n{text}")
    elif own is not None:
        parts.append(f"## {spec.heading}\n{SILENT}")
        silent.append(own)
    return _GAP.join(parts), silent


def _stands_alone(spec: Body, text: str, main: Any, headings: tuple[str, ...]) -> bool:
    """Has it every heading that the type asks for, and would it be read as what it is?"""
    if "#" not in text:
        return not headings
    prose = "".join(text.split("```")[::2])
    there = {line.lstrip("#").strip().casefold() for line in prose.splitlines() if line.startswith("#")}
    if not all(heading.casefold() in there for heading in headings):
        return False
    return _freely_parsed(spec, text, headings) == ParsedBody({spec.main: main})


def surely_told(spec: Body, values: Mapping[str, Any]) -> bool:
    """Plain texts of one line each, as most are: then reading gives them back, and nobody has to try."""
    for slot, value in values.items():
        if not value and slot == spec.main:
            return False
        for text in value if isinstance(value, list) else (value,):
            if not isinstance(text, str) or not text or text in (SILENT, NONE) or not text.isprintable():
                return False
            if slot == spec.main and text.lstrip().startswith("#"):
                return False
    return True


def parse(spec: Body, body: str, headings: tuple[str, ...] = ()) -> ParsedBody:
    """What a body says."""
    if not body:
        return ParsedBody({})
    values = _sections(spec, body)
    if values is not None and compose(spec, values, headings)[0] == body:
        return ParsedBody(values)
    return _freely_parsed(spec, body, headings)


def _freely_parsed(spec: Body, body: str, headings: tuple[str, ...]) -> ParsedBody:
    """What is under a heading that nobody knows stays in the main text, and so does what is under none.

    So does what the type asks for and the row has no slot for, unless the main thing stands under its own heading: then
    it is none of that."""
    values: dict[str, Any] = {}
    rest: list[tuple[str, str]] = []  # what is left, each with the heading that it stands under
    by_heading = {section.heading.casefold(): section for section in spec.sections}
    called = {one.casefold(): one for one in (*headings, *(section.heading for section in spec.sections), spec.heading)}
    deepest = 2 if spec.pages else 6  # below that are the names of pages
    for heading, text in cut(body, called, deepest) or (BodySection(None, body),):
        if not text.strip() or (heading is not None and text == SILENT):
            continue
        section = by_heading.get(heading or "")
        if section is not None and section.slot not in values:
            values[section.slot] = _freely_read(section, text)
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


def _freely_read(section: Section, text: str) -> Any:
    if not section.listed:
        return _ESCAPED_HASH.sub(r"\1", text)
    return [] if text == NONE else items(text)


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
    return _HASH.sub(_backslash, value) if "#" in value else str(value)


def _read(section: Section, text: str) -> Any:
    if not section.listed:
        return _ESCAPED_HASH.sub(r"\1", text)
    if text == NONE:
        return []
    return [item.replace("\n  ", "\n") for item in text.removeprefix("- ").split("\n- ")]


def _pages(pages: Any) -> str:
    if len(pages) == 1 and "name" not in pages[0]:
        return str(pages[0]["text"])
    return _GAP.join(f"### {page['name']}\n{_HASH.sub(_backslash, page['text'])}" for page in pages)


def _paged(text: str) -> list[dict[str, str]]:
    """A text that names no pages is one without a name."""
    if text.startswith("### "):
        found = []
        for one in text.removeprefix("### ").split(f"{_GAP}### "):
            name, _, inside = one.partition("\n")
            found.append({"name": name, "text": _ESCAPED_HASH.sub(r"\1", inside)})
        written = _GAP.join(f"### {page['name']}\n{_HASH.sub(_backslash, page['text'])}" for page in found)
        if written == text:
            return found
    return [{"text": text}]


def _backslash(found: re.Match[str]) -> str:
    return "\\" + found[0]

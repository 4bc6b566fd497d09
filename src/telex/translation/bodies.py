"""How do several things stand in one markdown body, so that they can be told apart again?

Each under a heading of its own, the main one last and to the letter. A body that a person or a model wrote as it
pleased is taken whole, as the main thing. What reading does not give back as it was put in, whoever writes can see.
"""

import re
from collections.abc import Mapping
from typing import Any

from telex.translation.row import Body, Section

SILENT = "Nothing was said about it."
NONE = "None."
PAGE = "Notes"  # the name of a page that has none
_HASH = re.compile(r"^(\\*#)", re.MULTILINE)
_ESCAPED_HASH = re.compile(r"^\\(\\*#)", re.MULTILINE)
_GAP = "\n\n"


def compose(spec: Body, values: Mapping[str, Any], headings: tuple[str, ...] = ()) -> str:
    """The body that says these, with every heading that the type asks for."""
    main = values.get(spec.main)
    text = _pages(main) if spec.pages and main is not None else main
    if text is not None and values.keys() == {spec.main} and _has(text, headings):
        return str(text)
    wanted = {heading.casefold() for heading in headings}
    said = [section for section in spec.sections if section.slot in values]
    parts = [f"## {section.heading}\n{_written(values[section.slot])}" for section in said]
    known = {section.heading.casefold() for section in said}
    parts += [f"## {one}\n{SILENT}" for one in headings if one.casefold() not in known | {spec.heading.casefold()}]
    if text is not None or spec.heading.casefold() in wanted:
        parts.append(f"## {spec.heading}\n{SILENT if text is None else text}")
    return _GAP.join(parts)


def surely_told(spec: Body, values: Mapping[str, Any]) -> bool:
    """Plain texts of one line each, as most are: then reading gives them back, and nobody has to try."""
    for slot, value in values.items():
        if not value and slot == spec.main:
            return False
        for text in value if isinstance(value, list) else (value,):
            if not isinstance(text, str) or not text or text in (SILENT, NONE) or not text.isprintable():
                return False
            if slot == spec.main and text.startswith("#"):
                return False
    return True


def parse(spec: Body, body: str, headings: tuple[str, ...] = ()) -> dict[str, Any]:
    """What a body says, by slot."""
    if not body:
        return {}
    values = _sections(spec, body)
    if values is not None and compose(spec, values, headings) == body:
        return values
    return {spec.main: _paged(body) if spec.pages else body}


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


def _has(text: str, headings: tuple[str, ...]) -> bool:
    if not headings:
        return True
    prose = "".join(text.split("```")[::2])
    there = {line.lstrip("#").strip().casefold() for line in prose.splitlines() if line.startswith("#")}
    return all(heading.casefold() in there for heading in headings)


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
    """One page without a name is the text itself."""
    if len(pages) == 1 and pages[0]["name"] == PAGE and _paged(pages[0]["text"]) == pages:
        return str(pages[0]["text"])
    return _GAP.join(f"### {page['name']}\n{_HASH.sub(_backslash, page['text'])}" for page in pages)


def _paged(text: str) -> list[dict[str, str]]:
    if text.startswith("### "):
        found = []
        for one in text.removeprefix("### ").split(f"{_GAP}### "):
            name, _, inside = one.partition("\n")
            found.append({"name": name, "text": _ESCAPED_HASH.sub(r"\1", inside)})
        written = _GAP.join(f"### {page['name']}\n{_HASH.sub(_backslash, page['text'])}" for page in found)
        if written == text:
            return found
    return [{"name": PAGE, "text": text}]


def _backslash(found: re.Match[str]) -> str:
    return "\\" + found[0]

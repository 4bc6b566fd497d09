"""Excerpts that a dispatch quotes: a research question of the triage, a step of the plan.

Both are markdown that an architect wrote, so nothing is found for certain. What is not found is left to the reader, who
gets the triage whole and the name of the plan's file.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

TOPIC_CHARACTERS_MAX = 60
_HEADING = re.compile(r"^(#{1,6})[ \t]+(.*)$", re.MULTILINE)
_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_ITEM = re.compile(r"^(?:[-*+]|\d{1,3}[.)])[ \t]+", re.MULTILINE)
_REASON = re.compile(r"(?:why|decision|it gates|gates|this gates)\b", re.IGNORECASE)
_PLACE = re.compile(r"(?:where|look|sources?|see)\b", re.IGNORECASE)
_MARKS = " \t-*_+>"


class Excerpt(NamedTuple):
    title: str  # one line, without marks
    text: str  # without the title


class ResearchQuestion(NamedTuple):
    topic: str
    text: str
    why: str = ""
    where: str = ""


def question(triage: str, number: int) -> ResearchQuestion | None:
    """The question of that number, counted from 1, under the heading Research Questions."""
    section = next((excerpt.text for excerpt in _excerpts(triage) if "question" in excerpt.title.casefold()), "")
    items = _items(section)
    if number > len(items):
        return None
    first, *rest = items[number - 1].splitlines()
    kinds = {"text": [first], "why": [], "where": []}
    for line in rest:
        words = line.lstrip(_MARKS)
        kind = "why" if _REASON.match(words) else "where" if _PLACE.match(words) else "text"
        kinds[kind].append(line if kind == "text" else words)
    topic = first.strip(_MARKS + "?").split("?")[0]
    if len(topic) > TOPIC_CHARACTERS_MAX:
        topic = topic[:TOPIC_CHARACTERS_MAX].rpartition(" ")[0] or topic[:TOPIC_CHARACTERS_MAX]
    return ResearchQuestion(topic, **{kind: "\n".join(lines).strip() for kind, lines in kinds.items()})


def plan_step(plan: str, wave: int, number: int, count: int) -> Excerpt | None:
    """The step of a wave, by its heading or as an item of the wave's list. `count` numbers it across all waves."""
    excerpts = list(_excerpts(plan))
    exactly = rf"\bwave\W*{wave}\b.*\bstep\W*{number}\b|\bw{wave}\.s{number}\b|(?<![\d.]){wave}\.{number}(?![\d.])"
    found = _titled(exactly, excerpts)
    if found is not None:
        return found
    in_wave = _titled(rf"\bwave\W*{wave}\b", excerpts)
    if in_wave is None:
        return _titled(rf"\bstep\W*{count}\b", excerpts)
    inside = list(_excerpts(in_wave.text))
    items = [Excerpt(item.partition("\n")[0].strip(_MARKS), item.partition("\n")[2]) for item in _items(in_wave.text)]
    listed = inside or items
    named = _titled(rf"\bstep\W*{number}\b", inside) or _titled(rf"\bstep\W*{count}\b", inside)
    return named or (listed[number - 1] if number <= len(listed) else None)


def _titled(pattern: str, excerpts: list[Excerpt]) -> Excerpt | None:
    return next((excerpt for excerpt in excerpts if re.search(pattern, excerpt.title, re.IGNORECASE)), None)


def _excerpts(text: str) -> Iterator[Excerpt]:
    """Every heading with what stands under it, deeper headings included."""
    bare = _FENCE.sub(lambda fence: " " * len(fence[0]), text)
    headings = list(_HEADING.finditer(bare))
    for index, heading in enumerate(headings):
        following = (other.start() for other in headings[index + 1 :] if len(other[1]) <= len(heading[1]))
        yield Excerpt(heading[2].strip(" \t#*_"), text[heading.end() : next(following, len(text))].strip())


def _items(text: str) -> list[str]:
    """Items of the first list, each with the lines that belong to it."""
    starts = [found.start() for found in _ITEM.finditer(text)]
    pairs = zip(starts, [*starts[1:], len(text)], strict=True)
    return [item for start, end in pairs if (item := _ITEM.sub("", text[start:end], count=1).strip())]

"""Readability figures of Markdown and help texts: literary words, and the length of sentences."""

import re
from typing import NamedTuple

LITERARY = re.compile(
    r"\b(anybody|borne|everybody|heard|lest|likewise|nobody|said|says|somebody|stands|tells|thereof|told|weighed|whence"
    r"|whichever|whoever|whom)\b"
)
_FENCE = re.compile(r"^ *```.*?^ *```$", re.DOTALL | re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_CODE = re.compile(r"`[^`]*`")
_BLOCK = re.compile(r"\n\s*\n|\n(?= *(?:[-*] |\d+\. |#))")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\")*_]*\s+(?=[\"(*_]*[A-Z`0-9])|:\s*$", re.MULTILINE)
_WORD = re.compile(r"[\w'’./@-]*\w[\w'’./@-]*")


class Sentence(NamedTuple):
    length: int
    text: str


def text_of(markdown: str) -> str:
    """The page without code blocks, comments and the targets of links. Code within a line counts as one word."""
    text = _COMMENT.sub("", _FENCE.sub("", markdown))
    return _CODE.sub("Code", _LINK.sub(r"\1", _IMAGE.sub("", text)))


def sentences(markdown: str) -> list[Sentence]:
    """Sentences of paragraphs and list items. Tables and headings have none."""
    lines = [
        line for line in text_of(markdown).splitlines() if not re.match(r"\s*(\||#|>?\s*$)", line) or not line.strip()
    ]
    blocks = (" ".join(block.split()) for block in _BLOCK.split("\n".join(lines)))
    parts = [part.strip() for block in blocks for part in _SENTENCE_END.split(block) if part.strip()]
    return [Sentence(len(_WORD.findall(part)), part) for part in parts]


def literary_words(markdown: str) -> list[str]:
    return LITERARY.findall(text_of(markdown).lower())


def words(markdown: str) -> list[str]:
    return re.findall(r"[a-z]+", text_of(markdown).lower())


def percentile(lengths: list[int], share: float) -> int:
    return sorted(lengths)[int(share * len(lengths))] if lengths else 0

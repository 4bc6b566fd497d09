"""Relaxed JSON: the object that a malformed text spells, and whether the text leaves any doubt about it.

It reads what models write in place of JSON: comments, other quotes, keys without quotes, Python's literals, commas that
are missing, line breaks and quotes inside a text. It never drops or moves anything but punctuation and comments: where
that would not do, it stops, keeps what it has read so far, and the result is not exact. Linear in the length of the
text, whatever the text, since a hub reads hostile ones in its event loop.
"""

import json
import re
from typing import Any, NamedTuple

from telex.dialects.blanks import blank_for
from telex.dialects.parse.json import read_json

CLOSING = {'"': '"', "'": "'", "`": "`", "“": "”", "”": "”", "„": "“", "‘": "’", "’": "’", "«": "»", "＂": "＂"}
_BLANK = r"(?:[\s\ufeff\u200b\u2060]|\\[nrt])"  # \n outside a text was meant as a line break
_GAP = re.compile(rf"(?:{_BLANK}|//[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/|#[^\n]*+)*+")
_APART = re.compile(r"[,;，\n]|\\n")
_COLON = re.compile(r"[:：]|=>?")
_WORD = re.compile(r"[^\s,:;=#/\\{}\[\]\"'`“”，：]+")
_NAME = re.compile(r"[A-Za-z_][\w.-]*\Z")  # what may stand without quotes
# Behind the quote that ends a text: punctuation, a comment, the end, or the next key or item where a comma is missing.
_NEXT = re.compile(
    rf"{_BLANK}*+(?:[,:;=}}\]，：]|//|/\*|#|\Z|[\"'“”][\w $.-]{{1,64}}+[\"'“”]\s*+[:：])"
    r"|[^\S\n]*+\n\s*+(?:[\"'“”]|[\w$-]{1,64}+\s*+[:：])"
)
_UNSAFE = re.compile(r'\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt])|\\(.?)|["\x00-\x1f]', re.DOTALL)
_LITERALS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_NO_WORDS = frozenset({"undefined", "NaN", "nan", "Infinity"})
_LITERALS_NULL = frozenset({"null", "None", "NULL", "Null"})
IN_DOUBT = blank_for("what was meant; it could not be read to its end")


class RelaxedJson(NamedTuple):
    value: Any
    end: int  # where the value stops in the text
    is_exact: bool  # every value occurs in the text as it was read, and nothing else does


def read_relaxed(text: str, start: int, depth_max: int) -> RelaxedJson:
    """The value that starts here, as far as it can be read."""
    reader = _Reader(text, start, depth_max)
    value = reader.value(1)
    return RelaxedJson(value, reader.at, reader.is_exact)


class _Reader:
    def __init__(self, text: str, start: int, depth_max: int) -> None:
        self.text, self.at, self.depth_max = text, start, depth_max
        self.is_exact = True

    def stop(self) -> None:
        """What follows cannot be read, or is not there."""
        self.is_exact, self.at = False, len(self.text)

    def next_sign(self) -> str:
        match = _GAP.match(self.text, self.at)
        assert match is not None
        self.is_exact = self.is_exact and '"' not in match[0]  # a field that was commented out
        self.at = match.end()
        return self.text[self.at : self.at + 1]

    def next_item(self) -> str:
        """The first sign of the next item. Where a comma is missing, the line has to end."""
        begin = self.at
        while (sign := self.next_sign()) and sign in ",;，":
            self.at += 1
        is_apart = sign in "}]" or self.text[begin - 1] in "{[" or _APART.search(self.text, begin, self.at)
        self.is_exact = self.is_exact and bool(is_apart)
        return sign

    def value(self, depth: int) -> Any:
        sign = self.next_sign()
        if depth > self.depth_max:
            return self.stop()
        if sign == "{":
            return self.object(depth)
        if sign == "[":
            return self.list(depth)
        return self.string(sign) if sign in CLOSING else self.word()

    def object(self, depth: int) -> dict[str, Any]:
        tree: dict[str, Any] = {}
        self.at += 1
        while (sign := self.next_item()) != "}":
            key = self.string(sign) if sign in CLOSING else self.name()
            self.next_sign()
            colon = _COLON.match(self.text, self.at)
            if key is None or colon is None:
                if sign and tree and key != IN_DOUBT:
                    tree[list(tree)[-1]] = IN_DOUBT  # what follows may belong to it
                self.stop()
                return tree
            self.at = colon.end()
            if not self.next_sign():
                self.stop()
                return tree
            value = self.value(depth + 1)
            self.is_exact = self.is_exact and repr(tree.get(key, value)) == repr(value)
            tree[key] = value
        self.at += 1
        return tree

    def list(self, depth: int) -> list[Any]:
        items: list[Any] = []
        self.at += 1
        while (sign := self.next_item()) != "]":
            if not sign or sign in "}:=：":
                self.stop()
                return items
            items.append(self.value(depth + 1))
        self.at += 1
        return items

    def name(self) -> str | None:
        match = _WORD.match(self.text, self.at)
        self.at = match.end() if match else self.at
        return match[0] if match and _NAME.match(match[0]) else None

    def word(self) -> Any:
        """A literal, a number, or a text without quotes."""
        match = _WORD.match(self.text, self.at)
        if match is None:
            return self.stop()
        self.at, word = match.end(), match[0]
        if word in _LITERALS or word in _LITERALS_NULL:
            return _LITERALS.get(word)
        if word.removeprefix("-")[:1].isdecimal():
            read = read_json(word)
            if not read.failed and read.end == len(word):
                return read.value
        self.is_exact = self.is_exact and _NAME.match(word) is not None and word not in _NO_WORDS
        return word

    def string(self, opening: str) -> str:
        """A text in quotes. A quote inside it counts as text, if nothing follows that could follow the text."""
        closing, start, is_open = CLOSING[opening], self.at + 1, False
        scan, at = re.compile(rf"\\.|[{opening}{closing}]", re.DOTALL), self.at + 1
        while match := scan.search(self.text, at):
            at = match.end()
            if match[0] == closing and _NEXT.match(self.text, at):
                break
            if len(match[0]) == 1:  # no escape
                is_open = self.inner_quote(at - 1, is_open)
        if match is None:
            self.stop()
            return IN_DOUBT
        self.at, self.is_exact = at, self.is_exact and not is_open
        return self.unescaped(self.text[start : at - 1])

    def inner_quote(self, at: int, is_open: bool) -> bool:
        """Whether a quotation inside the text is open behind this quote. Quotes that do not pair up leave doubt."""
        before, after = self.text[at - 1], self.text[at + 1 : at + 2]
        if self.text[at] in "'’" and before.isalnum() and after.isalnum():
            return is_open  # an apostrophe
        self.is_exact = self.is_exact and not (before.isspace() if is_open else before.isalnum() or after.isspace())
        return not is_open

    def unescaped(self, raw: str) -> str:
        if "\\" not in raw:
            return raw

        def safe(match: re.Match[str]) -> str:
            escaped = match[1]
            if escaped is None:
                return match[0] if match[0][0] == "\\" else json.dumps(match[0])[1:-1]
            if escaped not in CLOSING:  # no escape of JSON's: a path of Windows, or a mark of markdown
                self.is_exact = False
                return json.dumps(match[0])[1:-1]
            return escaped

        text: str = json.loads(f'"{_UNSAFE.sub(safe, raw)}"')
        return text

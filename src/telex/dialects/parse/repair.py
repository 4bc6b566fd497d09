"""Repair of a text that names a known type but cannot be parsed: the message that its sender should send instead.

Only the suggestion in a refusal comes from here; nothing of it is stored or acted on. `read_relaxed` parses what models
write in place of JSON: comments, other quotes, keys without quotes, Python literals, missing commas, line breaks and
quotes inside a text. It drops nothing but punctuation and comments; otherwise it stops, and the result is not exact.
Its time is linear in the length of the text, since a hub parses hostile texts in its event loop.
"""

import json
import re
from collections.abc import Callable, Iterator
from html import unescape
from itertools import chain, islice
from textwrap import dedent
from typing import Any

from telex.dialects.parse.detect import is_complete, object_in_text
from telex.dialects.parse.front_matter import read_front_matter
from telex.dialects.parse.json import read_json
from telex.dialects.scalars import PlainScalar
from telex.dialects.schema import TYPE, Anything, Dialect, Fields, Group, Kind, ListOf, MapOf, Tree
from telex.dialects.write import blank_for
from telex.model.limits import Limits
from telex.model.named_tuple import NamedTuple

CLOSING = {'"': '"', "'": "'", "`": "`", "“": "”", "”": "”", "„": "“", "‘": "’", "’": "’", "«": "»", "＂": "＂"}
_BLANK = r"(?:[\s\ufeff\u200b\u2060]|\\[nrt])"  # \n outside a text is a line break
_GAP = re.compile(rf"(?:{_BLANK}|//[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/|#[^\n]*+)*+")
_APART = re.compile(r"[,;，\n]|\\n")
_COLON = re.compile(r"[:：]|=>?")
_WORD = re.compile(r"[^\s,:;=#/\\{}\[\]\"'`“”，：]+")
_NAME = re.compile(r"[A-Za-z_][\w.-]*\Z")  # allowed without quotes
# After the quote that ends a text: punctuation, a comment, the end, or the next key or item if a comma is missing.
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
    end: int  # position after the value
    is_exact: bool  # every value occurs in the text, and nothing else does


def read_relaxed(text: str, start: int, depth_max: int) -> RelaxedJson:
    """The value that starts here, as far as it can be parsed."""
    reader = _Reader(text, start, depth_max)
    value = reader.value(1)
    return RelaxedJson(value, reader.at, reader.is_exact)


class _Reader:
    def __init__(self, text: str, start: int, depth_max: int) -> None:
        self.text, self.at, self.depth_max = text, start, depth_max
        self.is_exact = True

    def stop(self) -> None:
        self.is_exact, self.at = False, len(self.text)

    def next_sign(self) -> str:
        match = _GAP.match(self.text, self.at)
        assert match is not None
        self.is_exact = self.is_exact and '"' not in match[0]  # a field that was commented out
        self.at = match.end()
        return self.text[self.at : self.at + 1]

    def next_item(self) -> str:
        """The first character of the next item. A missing comma needs a line end."""
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
        """A text in quotes. A quote inside it is text if what follows cannot follow the text."""
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
        """Whether a quotation inside the text is open after this quote. Unpaired quotes make the result inexact."""
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
            if escaped not in CLOSING:  # not a JSON escape: a Windows path or markdown
                self.is_exact = False
                return json.dumps(match[0])[1:-1]
            return escaped

        text: str = json.loads(f'"{_UNSAFE.sub(safe, raw)}"')
        return text


CHARACTERS_MAX = 20_000  # longer texts are not repaired
STARTS_MAX = 4  # braces at which the message may begin
PLACES_MAX = 64  # searched for a type
NEAR = 2_000  # characters around a type in which another field must be
_QUOTE = r"(?:&(?:quot|apos|#\w{1,4});|[\\\s*_" + re.escape("".join(CLOSING)) + r"]){0,12}+"
_AFTER_KEY = re.compile(_QUOTE + r"(?:[:：>|]|=>?)" + _QUOTE + r"([\w-]*)")
_ON_BOXES = frozenset({TYPE, "to", "from", "sender", "recipient", "summary", "role", "name", "id"})  # of tools
_BRACE = re.compile(r"\{[^\w{}]{0,16}\Z")
_KEY = re.compile(r"[\"'“”]\s*[:：]")  # not allowed outside the object
_GOES_ON = re.compile(rf"{_KEY.pattern}|\{{")


class Repair(NamedTuple):
    """The probable message."""

    tree: Tree
    body: str | None
    is_exact: bool  # nothing is invented, dropped or cut off
    advice: str = ""  # what the sender should do otherwise


def visible_type(text: str, dialects: tuple[Dialect, ...]) -> str | None:
    """The known type that the text names as a `type`, after a brace or with another of its fields nearby."""
    lowered = text.lower()
    for match in islice(re.finditer(r"(?<!\w)type(?!\w)", lowered), PLACES_MAX):
        given = _AFTER_KEY.match(text, match.end())
        types = [(one, one.types[given[1]]) for one in dialects if given and given[1] in one.types]
        around = lowered[max(match.start() - NEAR, 0) : match.end() + NEAR]
        before = text[max(match.start() - 20, 0) : match.start()]
        if given is None or not types:
            continue
        names = {name.lower() for dialect, type_ in types for name in (*dialect.envelope, *type_.fields)}
        fields = re.finditer(rf"(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w)", around) if names else ()
        if _BRACE.search(before) or any(_AFTER_KEY.match(around, field.end()) for field in fields):
            return given[1]
    return None


def repair(text: str, dialects: tuple[Dialect, ...], limits: Limits) -> Repair | None:
    """The text as a message of one of these dialects; None: it names no type of them."""
    named = visible_type(text, dialects)
    if named is None:
        return None
    if len(text) > CHARACTERS_MAX:
        return Repair({TYPE: named}, None, is_exact=False)
    advice, is_sure = [], True
    for change, say in _CHANGES:
        changed = change(text)
        if changed is not None:
            text, is_sure = changed, is_sure and change is not _without_marks
            advice.append(say)

    def is_ours(tree: Any) -> bool:
        return isinstance(tree, dict) and tree.get(TYPE) == named  # not one inside a text value of this one

    first = None
    for repaired in chain(_objects(text, is_ours, dialects, limits), _mappings(text, is_ours, dialects, limits)):
        if repaired.is_exact and is_sure:
            return repaired._replace(advice=" ".join(advice))
        first = first or repaired
    if first is None:
        return Repair({TYPE: named}, None, is_exact=False)
    return first._replace(is_exact=False, advice=" ".join(advice))


# --- changes to the complete text ------------------------------------------------------------------------------------


def _without_quote_marks(text: str) -> str | None:
    lines = text.strip("\n").split("\n")
    if any(line and not line.startswith(">") for line in lines):
        return None
    return "\n".join(line.removeprefix(">").removeprefix(" ") for line in lines)


def _without_entities(text: str) -> str | None:
    return unescape(text) if re.search(r"&(?:quot|#0*34|#[xX]0*22);\s*type", text) else None


def _without_escapes(text: str) -> str | None:
    """The text if every quote is escaped, as inside a JSON string without its outer quotes."""
    inside = text.strip().strip('"')
    if not re.search(r'\\"type\\"', inside) or re.search(r'(?<!\\)"', inside):
        return None
    read = read_json('"' + inside.replace("\n", "\\n").replace("\t", "\\t") + '"')
    return read.value if isinstance(read.value, str) else None


def _without_marks(text: str) -> str | None:
    """Fields as a markdown list or in bold."""
    field = r"(?m)^[ \t]*(?:[-*•][ \t]+)?[*_`]{0,3}([\w.-]+)[*_`]{0,3}[ \t]*:[*_`]{0,3}[ \t]*"
    is_marked = re.search(r"(?m)^[ \t]*(?:[-*•][ \t]+|\*\*)[*_`]{0,3}type[*_`]{0,3}[ \t]*:", text)
    return re.sub(field, r"\1: ", text) if is_marked else None


_CHANGES: tuple[tuple[Callable[[str], str | None], str], ...] = (
    (_without_quote_marks, "Do not quote it with >."),
    (_without_entities, "Write quotes as they are, not as HTML entities."),
    (_without_escapes, "Write quotes as they are, without backslashes."),
    (_without_marks, "Write fields without marks of markdown."),
)


# --- JSON ------------------------------------------------------------------------------------------------------------

IsOurs = Callable[[Any], bool]


def _objects(text: str, is_ours: IsOurs, dialects: tuple[Dialect, ...], limits: Limits) -> Iterator[Repair]:
    """Objects with a known type in the text, also if the first brace is missing or each is doubled."""
    for source in _spellings(text):
        inside = None
        for count, brace in enumerate(re.finditer(r"\{", source)):
            if count >= STARTS_MAX or inside:
                break
            read = read_relaxed(source, brace.start(), limits.depth_max)
            inside = _message_in(read.value, is_ours)
            if inside is None:
                continue
            rest = source[read.end :]
            if visible_type(rest, dialects):
                return  # several messages
            is_exact = read.is_exact and not _GOES_ON.search(rest) and not _KEY.search(source[: brace.start()])
            tree, body = dict(inside), None
            if all(dialect.form == "front-matter" for dialect in _having(tree, dialects)):
                body = tree.pop("body") if isinstance(tree.get("body"), str) else ""
            yield Repair(tree, body, is_exact)


def _message_in(tree: Any, is_ours: IsOurs) -> Tree | None:
    """The message itself, or the one under its only key or in a tool's wrapper."""
    if not isinstance(tree, dict) or is_ours(tree):
        return tree if isinstance(tree, dict) else None
    boxed = {name: value for name, value in tree.items() if name not in _ON_BOXES}
    inside = next(iter(boxed.values())) if len(boxed) == 1 else None
    inside = inside if isinstance(inside, dict) else object_in_text(inside)
    return inside if is_ours(inside) else None


def _spellings(text: str) -> Iterator[str]:
    if re.match(r"\s*[\"'“]?\w+[\"'”]?\s*[:：]", text) and text.rstrip().endswith("}"):
        yield "{" + text
    yield text
    if "{{" in text:
        yield text.replace("{{", "{").replace("}}", "}")


def _having(tree: Tree, dialects: tuple[Dialect, ...]) -> list[Dialect]:
    return [dialect for dialect in dialects if tree[TYPE] in dialect.types]


# --- YAML ------------------------------------------------------------------------------------------------------------


def _mappings(text: str, is_ours: IsOurs, dialects: tuple[Dialect, ...], limits: Limits) -> Iterator[Repair]:
    """The text as front matter: without its --- lines, under a key, or for a JSON type."""
    for fields, body in () if text.lstrip()[:1] in ("{", "[", '"') else _parts(text):
        for variant in dict.fromkeys((fields, _tidied(fields))):
            front = read_front_matter(f"---\n{variant}\n---\n", limits)
            tree: Tree | None = _message_in(front.fields, is_ours)
            if front.findings or tree is None:
                continue
            having = _having(tree, dialects)
            is_json = all(dialect.form == "json" for dialect in having)
            if is_json:
                tree = _json_values(tree, having[0].fields_of(having[0].types[tree[TYPE]]))
            left = {name for dialect in having for name in dialect.types[tree[TYPE]].fields} - tree.keys()
            keys = [key for value in tree.values() if isinstance(value, str) for key in re.findall(r"(\w+): ", value)]
            merged = any(key.endswith(name[-3:]) for key in keys for name in left)  # a field that lost its line
            is_exact = is_complete(tree, having) and not merged and not (is_json and (body.strip() or " #" in variant))
            yield Repair(tree, None if is_json else body, is_exact)


def _parts(text: str) -> Iterator[tuple[str, str]]:
    """Possible splits into fields and body."""
    text = re.sub(rf"\A\s*?{_RULE}[ \t]*\n", "", text.lstrip("\n"))
    for rule in (rf"\n[ \t]*(?:{_RULE}|\.\.\.)[ \t]*(?:\n|\Z)", r"\n[ \t]*\n"):
        parts = re.split(rule, text, maxsplit=1)
        if len(parts) == 2:
            yield dedent(parts[0]), parts[1]
    yield dedent(text), ""


_RULE = r"(?:-{3,}|[–—]{1,3})"  # some editors turn --- into a dash
_ODD_BLANKS = "\xa0\u2000-\u200a\u202f\u205f\u3000"


def _tidied(fields: str) -> str:
    """The fields with tabs and other blanks replaced, and unusual values in quotes."""
    fields = re.sub(
        rf"(?m)^[ \t{_ODD_BLANKS}]+(?=- |[\w.-]+:)",
        lambda match: match[0].replace("\t", "  ").replace("\xa0", " "),
        fields,
    )
    fields = re.sub(rf"(?m)^([ ]*(?:- )?[\w.-]+:)[ \t{_ODD_BLANKS}]+", r"\1 ", fields)
    return re.sub(
        r"(?m)^([ ]*(?:- )?[\w.-]+: )([^\s\"'\[{|>&*!#][^\n]*: [^\n]*|[@`%][^\n]*)$",
        lambda match: match[1] + json.dumps(match[2].strip(), ensure_ascii=False),
        fields,
    )


def _json_values(tree: Tree, fields: Fields) -> Tree:
    """The tree with numbers, booleans and nulls where the dialect leaves a value open."""
    return {
        name: _json_value(value, fields[name].kind if name in fields else Anything()) for name, value in tree.items()
    }


def _json_value(value: Any, kind: Kind) -> Any:
    match value, kind:
        case dict(), Group(fields):
            return _json_values(value, fields)
        case dict(), _:
            inner = kind.value if isinstance(kind, MapOf) else Anything()
            return {key: _json_value(item, inner) for key, item in value.items()}
        case list(), _:
            inner = kind.item if isinstance(kind, ListOf) else Anything()
            return [_json_value(item, inner) for item in value]
        case PlainScalar(), Anything():
            read = read_json(value)
            whole = not read.failed and read.end == len(value)
            return None if value in ("", "~") else read.value if whole else str(value)
    return value

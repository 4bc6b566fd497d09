"""Parser of YAML front matter.

It supports a safe subset: no tags, anchors, aliases, merge keys or duplicate keys, and no implicit typing. Every scalar
stays text; only its field knows whether `no`, `010` or `12:30` is a boolean, a number or text, so conversion is left to
the validator.

There are two parsers. The one here works line by line and accepts only what is certain, which is nearly all that agents
write. Everything else goes to `yaml_fields`, which parses all of YAML and reports errors. Importing that costs as much
as parsing a thousand messages here, so it is imported only when needed.
"""

from typing import Any, NamedTuple

from telex.model.finding import Finding
from telex.model.limits import LIMITS, Limits


class PlainScalar(str):
    """A scalar written without quotes: only its field may say whether it is a number, a truth value or text."""

    __slots__ = ()


# quoted and block scalars are str; `key:` alone is Plain("")
Value = PlainScalar | str | list["Value"] | dict[str, "Value"]


class FrontMatter(NamedTuple):
    """A message in two parts. With findings, the fields are what could be read all the same."""

    fields: dict[str, Value]
    body: str  # the markdown after the closing line, to the letter
    findings: tuple[Finding, ...] = ()


_LINES_LOOKED_AT = 5  # room for a comment or a stray line before the first field
_CHARACTERS_LOOKED_AT = 2000  # so that asking at many places in a long text stays cheap


def looks_like_front_matter(text: str) -> bool:
    """Is the `---` at the top the start of front matter, and not a horizontal rule?

    A rule is set off by a blank line, so a first field after a blank line counts only when a closing line follows.
    """
    if not text.startswith("---"):
        return False
    first, *following = text[:_CHARACTERS_LOOKED_AT].split("\n", _LINES_LOOKED_AT + 1)
    if not _is_fence(first):
        return False
    set_off = False
    for line in following[:_LINES_LOOKED_AT]:
        if _is_fence(line):
            return False
        if _looks_like_field(line):
            return not set_off or _closing_line(text, len(first)) is not None
        set_off = set_off or not line.strip()
    return False


def read_front_matter(text: str, limits: Limits = LIMITS) -> FrontMatter:
    """Split a text (no BOM, only LF) and read its fields. It never raises: what is wrong is a finding."""
    first, _, rest = text.partition("\n")
    if not _is_fence(first):
        say = "Start the message with a line of only ---, then its fields, then another line of only ---."
        return FrontMatter({}, text, (Finding("front-matter-missing", "$", say, expected="---"),))
    closing = _closing_line(text, len(first))
    if closing is None:
        say = "Put a line of only --- after the last field: the front matter is never closed."
        return FrontMatter({}, rest, (Finding("front-matter-not-closed", "$", say, expected="---"),))
    front, body = text[len(first) + 1 : closing[0]], text[closing[1] :]
    if _is_longer_than(limits.front_matter_bytes_max, front):
        say = (
            f"Keep the front matter within {limits.front_matter_bytes_max} bytes; long text belongs in the body below."
        )
        return FrontMatter({}, body, (Finding("front-matter-too-large", "$", say),))
    fields = read_simple(front, limits.depth_max)
    if fields is not None:
        return FrontMatter(fields, body)
    from telex.dialects.parse.yaml_fields import read_events

    fields, findings = read_events(front, limits)
    return FrontMatter(fields, body, findings)


def _is_fence(line: str) -> bool:
    return line.startswith("---") and not line[3:].strip(" \t")


def _closing_line(text: str, start: int) -> tuple[int, int] | None:
    """Where the first fence after `start` begins, counting the line break before it, and where the body begins."""
    while (start := text.find("\n---", start)) >= 0:
        end = text.find("\n", start + 4)
        if end < 0:
            end = len(text)
        if not text[start + 4 : end].strip(" \t"):
            return start, end + 1
        start = end
    return None


def _looks_like_field(line: str) -> bool:
    if line.startswith(("type:", "- type:")):  # surely meant, though YAML reads it otherwise
        return True
    key, colon, value = line.strip(" \t{").partition(":")
    return bool(colon) and (not value or value[0] in " \t") and " " not in key and _key(key) is not None


def _is_longer_than(bytes_max: int, text: str) -> bool:
    # A character takes four bytes at most, so nearly every text is known to fit without encoding it.
    return len(text) * 4 > bytes_max and len(text.encode("utf-8", "surrogatepass")) > bytes_max


# The simple reader is made of string methods only. Regular expressions that say the same have to be compiled at every
# cold start, which takes longer than reading the message, and they are slower on every line.

_QUOTES = ("'", '"')
_INDICATORS = frozenset("-?:,[]{}#&*!|>'\"%@`")  # at the start of a plain scalar, YAML means something else by these
_FLOW_INDICATORS = _INDICATORS - {"-"}  # inside brackets we refuse them anywhere: simpler than YAML's rule, and safe
_KEY_CHARACTERS_MAX = 128  # YAML wants a key and its colon within 1024 characters; nobody needs as many


def read_simple(front: str, depth_max: int = LIMITS.depth_max) -> dict[str, Value] | None:
    """The fields, when every line is certain; None when any is wrong, or only unusual.

    Certain are block mappings and lists, a scalar on the line of its key or dash, and lists and mappings in brackets on
    one line. `here` is the column of the innermost open `block`, `outer` has those around it, and `waiting` is the key
    of the line before, if its value may still follow.
    """
    lines = front.split("\n")
    if not "".join(lines).isprintable():  # tabs, control characters, and what YAML 1.1 takes for a line break
        return None
    root: dict[str, Value] = {}
    block: Any = root
    outer: list[tuple[int, Any]] = []
    here, waiting = 0, None
    for line in lines:
        content = line.lstrip(" ")
        if not content or content[0] == "#":
            continue
        column = len(line) - len(content)
        dash = content.startswith("- ")
        if dash:
            content = content[2:].lstrip(" ")
        entry = _entry(content)
        if entry is None:
            return None
        key, value = entry
        if waiting is not None:
            if column > here or (dash and column == here):  # a list may start right under its key
                outer.append((here, block))
                block[waiting] = [] if dash else {}
                here, block = column, block[waiting]
            waiting = None
        while column < here or (column == here and not dash and type(block) is list):
            here, block = outer.pop()  # never empty: the root is a mapping in column 0
        if column != here or dash is not (type(block) is list) or len(outer) + 2 > depth_max:
            return None
        if key is None:
            if not dash:
                return None
            block.append(value)
            continue
        if dash:
            outer.append((here, block))
            block.append({})
            here, block = len(line) - len(content), block[-1]
        elif key in block:
            return None
        block[key] = PlainScalar() if value is None else value
        waiting = key if value is None else None
    return root


def _entry(text: str) -> tuple[str | None, Value | None] | None:
    """Key and value, or only a value; a key whose value is not on its line has None. None alone is uncertainty."""
    head, colon, tail = text.partition(":")
    if colon and (not tail or tail[0] == " "):
        key = head if head.isidentifier() and len(head) < _KEY_CHARACTERS_MAX else _key(head)
        if key is not None:
            tail = tail.strip(" ")
            if not tail or tail[0] == "#":
                return key, None
            if tail[0] not in _INDICATORS and ": " not in tail and " #" not in tail and tail[-1] != ":":
                return key, PlainScalar(tail)  # the usual case, here because two calls less are a third of the time
            value = _value(tail)
            return None if value is None else (key, value)
    value = _value(text)
    return None if value is None else (None, value)


def _key(text: str) -> str | None:
    """A key of letters, digits and `_-.` or blanks between them, or in quotes."""
    if len(text) > _KEY_CHARACTERS_MAX or not text:
        return None
    if text[0] in _QUOTES:
        return _unquoted(text) if "\\" not in text else None
    if text[0] in " -." or text[-1] == " ":
        return None
    letters = text.replace("-", "_").replace(".", "_").replace(" ", "_")
    return text if f"_{letters}".isidentifier() else None


def _value(text: str) -> Value | None:
    """A scalar, or a list or mapping in brackets. `text` has no blanks at its left."""
    if text[:1] in _QUOTES:
        return _unquoted(text.rstrip(" "))
    if text[:1] in ("[", "{"):
        return _flow(text.rstrip(" "))
    plain = text.partition(" #")[0].rstrip(" ")
    return PlainScalar(plain) if _is_plain(plain) else None


def stays_plain(text: str) -> bool:
    """Is this text, written as a value without quotes, read back as it is?"""
    return text.isprintable() and text[:1] != " " and text[-1:] != " " and " #" not in text and _is_plain(text)


def _is_plain(text: str) -> bool:
    """Has this no part that YAML takes for more than text? Blanks around it and comments are gone already."""
    if not text or ": " in text or text[-1] == ":":
        return False
    return text[0] not in _INDICATORS or (text[0] in "-?:" and text[1:2] not in ("", " "))


def _unquoted(text: str) -> str | None:
    """What the quotes hold. A control character, which cannot be in the text, stands in for each pair already read."""
    inner, quote = text[1:-1], text[0]
    if len(text) < 2 or text[-1] != quote:
        return None
    if quote == "'":
        inner = inner.replace("''", "\0")
        return None if "'" in inner else inner.replace("\0", "'")
    if "\\" in inner:
        inner = inner.replace("\\\\", "\0").replace('\\"', "\1").replace("\\n", "\n").replace("\\t", "\t")
    if "\\" in inner or '"' in inner:
        return None
    return inner.replace("\0", "\\").replace("\1", '"')


def _flow(text: str) -> Value | None:
    """A list or mapping in brackets, one level deep. A comma in quotes breaks an item in two, and neither half fits."""
    is_list = text[0] == "["
    if text[-1] != ("]" if is_list else "}"):
        return None
    parts = [part.strip(" ") for part in text[1:-1].split(",")]
    if parts == [""]:
        return [] if is_list else {}
    return _flow_list(parts) if is_list else _flow_mapping(parts)


def _flow_list(parts: list[str]) -> list[Value] | None:
    items: list[Value] = []
    for part in parts:
        item = _flow_scalar(part)
        if item is None:
            return None
        items.append(item)
    return items


def _flow_mapping(parts: list[str]) -> dict[str, Value] | None:
    fields: dict[str, Value] = {}
    for part in parts:
        head, _, tail = part.partition(": ")
        key, value = _key(head), _flow_scalar(tail.lstrip(" "))
        if key is None or value is None or key in fields:
            return None
        fields[key] = value
    return fields


def _flow_scalar(text: str) -> PlainScalar | str | None:
    if text[:1] in _QUOTES:
        return _unquoted(text)
    return PlainScalar(text) if text and text[0] != "-" and _FLOW_INDICATORS.isdisjoint(text) else None

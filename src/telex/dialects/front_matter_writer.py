"""Writer of YAML front matter that every YAML parser reads alike.

Block style, keys in their order, two spaces per level. A string is unquoted only where no YAML 1.1 or 1.2 parser could
read it as another type; otherwise it is a JSON string, which both versions read alike.
"""

import re
from collections.abc import Iterator, Mapping

from telex.dialects.parse.front_matter import PlainScalar, stays_plain

# What YAML 1.1 or 1.2 makes a null, a truth value, a number, a time or a merge key of, and a little more: a string in
# quotes that needed none does no harm.
_AMBIGUOUS = re.compile(
    r"""~|null|true|false|yes|no|on|off|y|n|<<|=
    |[-+]?(?=[0-9.])[0-9_.]++(?:e[-+]?[0-9]*)?                # 1, 1_000, 010, 1.5e3, 1.2.3
    |[-+]?0(?:x[0-9a-f_]*|o[0-7_]*|b[01_]*)
    |[-+]?[0-9][0-9_]*+(?::[0-9]{1,2})++(?:\.[0-9_]*)?        # 12:30 is 750 in YAML 1.1
    |[-+]?\.(?:inf|nan)
    |[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[t ].*)?""",
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
# Beside its quote and its backslash, JSON escapes only U+0000 to U+001F; the rest here YAML would not take as they are.
_ESCAPED = re.compile(r'["\\\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]')
_SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\f": "\\f"}
_SIMPLE_KEY_CHARACTERS_MAX = 1000  # YAML allows 1024 up to the colon; a longer key has to be announced with `?`


def write_front_matter(fields: Mapping[str, object], body: str) -> str:
    """The message as text. Fields are str, int, bool, float, None, lists and mappings; `PlainScalar` text stays as
    written.

    A lone surrogate, which no text in UTF-8 can hold, is written as its escape, and readers will refuse it.
    """
    return "\n".join(["---", *_mapping_lines(fields, ""), "---", body])


def _mapping_lines(fields: Mapping[str, object], indent: str) -> Iterator[str]:
    for name, value in fields.items():
        key = _key(name)
        head = f"{indent}{key}:" if len(key) <= _SIMPLE_KEY_CHARACTERS_MAX else f"{indent}? {key}\n{indent}:"
        block = _block_lines(value, indent + "  ")
        if block is None:
            yield f"{head} {_scalar(value)}".rstrip(" ")
        else:
            yield head
            yield from block


def _list_lines(items: list[object], indent: str) -> Iterator[str]:
    for item in items:
        block = _block_lines(item, indent + "  ")
        if block is None:
            yield f"{indent}- {_scalar(item)}".rstrip(" ")
        else:
            yield f"{indent}- {next(block).removeprefix(indent + '  ')}"  # a block in a list begins behind its dash
            yield from block


def _block_lines(value: object, indent: str) -> Iterator[str] | None:
    """The lines of a list or mapping that has something in it; None for what is written on one line."""
    if isinstance(value, Mapping) and value:
        return _mapping_lines(value, indent)
    if isinstance(value, list) and value:
        return _list_lines(value, indent)
    return None


def _key(name: str) -> str:
    # At the start of a line, --- and ... end the document.
    return _string(name) if not name.startswith(("---", "...")) else _quoted(name)


def _scalar(value: object) -> str:
    match value:
        case PlainScalar():
            return value if stays_plain(value) or not value else _quoted(value)
        case str():
            return _string(value)
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return _float(value)
        case list():
            return "[]"
        case Mapping():
            return "{}"
    raise AssertionError(f"front matter cannot hold a {type(value).__name__}")


def _string(text: str) -> str:
    return text if stays_plain(text) and not _AMBIGUOUS.fullmatch(text) else _quoted(text)


def _quoted(text: str) -> str:
    return '"' + _ESCAPED.sub(lambda found: _SHORT_ESCAPES.get(found[0]) or f"\\u{ord(found[0]):04x}", text) + '"'


def _float(value: float) -> str:
    text = repr(value)
    if text in ("inf", "-inf", "nan"):
        return text.replace("inf", ".inf").replace("nan", ".nan")
    mantissa, e, exponent = text.partition("e")
    return text if "." in mantissa else f"{mantissa}.0{e}{exponent}"  # without the point, YAML 1.1 reads text

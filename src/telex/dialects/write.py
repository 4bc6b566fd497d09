"""Writer of messages: serialisation as JSON or front matter, drafts, and blanks for the sender to fill in.

A blank such as `<fill: text>` is text in any field, so the check finds it wherever it was left. Front matter is block
style that every YAML 1.1 and 1.2 parser reads alike: a string that one of them could read as another type is quoted.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from telex.dialects import schema
from telex.dialects.scalars import PlainScalar, stays_plain
from telex.dialects.schema import ANY, BODY_KEY, Dialect, Field, Fields, Kind, MessageType, Tree, kind_at

_DESCRIBED_CHARACTERS_MAX = 160
OPENING, CLOSING = "<fill: ", ">"


def is_blank(value: object) -> bool:
    return isinstance(value, str) and value.startswith(OPENING) and value.endswith(CLOSING)


def blank_for(what: str) -> str:
    return f"{OPENING}{what}{CLOSING}"


def expected(kind: Kind) -> str:
    """Description of a valid value."""
    match kind:
        case schema.OneOf(values):
            return f'"{values[0]}"' if len(values) == 1 else "one of " + ", ".join(values)
        case schema.Integer(low, high):
            return "an integer" + _range(low, high)
        case schema.Number(low, high):
            return "a number" + _range(low, high)
        case schema.Text(printable=True):
            return "an id that no other message has"
        case schema.Text(may_be_empty=True):
            return "text, perhaps empty"
        case schema.Text():
            return "text"
        case schema.Boolean():
            return "true or false"
        case schema.Timestamp():
            return "a time such as 2026-02-12T10:00:00Z"
        case schema.ListOf(schema.Text()):
            return "a list of texts"
        case schema.ListOf(item):
            return f"a list, each {expected(item)}"
        case schema.MapOf(value):
            return "an object" if isinstance(value, schema.Anything) else f"an object, each value {expected(value)}"
        case schema.Group(fields):
            return "an object with " + ", ".join(fields) if fields else "an object"
        case schema.Anything():
            return "any value"


def described(kind: Kind) -> str:
    """As `expected`, with the fields of an object, unless that is too long."""
    match kind:
        case schema.Group(fields) if any(field.required for field in fields.values()):
            parts = [f"{name} ({expected(field.kind)})" for name, field in fields.items() if field.required]
            text = "an object with " + ", ".join(parts)
            return text if len(text) <= _DESCRIBED_CHARACTERS_MAX else expected(kind)
        case schema.ListOf(schema.Group() as item):
            return f"a list, each {described(item)}"
    return expected(kind)


def _range(low: float | None, high: float | None) -> str:
    if low is not None and high is not None:
        return f" from {low} to {high}"
    if low is not None:
        return f" of at least {low}"
    return f" of at most {high}" if high is not None else ""


def blank(kind: Kind) -> Any:
    """A value of the right shape with blanks; constants are filled in."""
    match kind:
        case schema.OneOf((only,)):
            return only
        case schema.Group(fields):
            return blank_fields(fields)
        case schema.ListOf(item):
            return [blank(item)]
        case schema.MapOf(schema.Anything()):
            return {}
        case schema.MapOf(value):
            return {blank_for("name"): blank(value)}
    return blank_for(expected(kind))


def blank_fields(fields: Fields) -> dict[str, Any]:
    """Every required field as a blank."""
    return {name: blank(field.kind) for name, field in fields.items() if field.required}


def write(dialect: Dialect, tree: Tree, body: str | None = None) -> str:
    """The message as text with a line end."""
    if dialect.form == "front-matter":
        fields = {name: value for name, value in tree.items() if name != BODY_KEY}
        return write_front_matter(fields, body or tree.get(BODY_KEY, ""))
    return write_json(tree) + "\n"


def write_json(tree: Any) -> str:
    return json.dumps(tree, indent=2, ensure_ascii=False)


def draft(
    dialect: Dialect, type_: MessageType, given: Mapping[str, Any], *, now: str, new_id: str, role: str | None = None
) -> Tree:
    """A new message with the given fields, by name or dotted path; other values are blanks."""
    tree = blank_fields(dialect.fields_of(type_))
    sender = role or (None if type_.senders == ANY else blank(schema.OneOf(type_.senders)))
    known = {dialect.wire.id: new_id, dialect.wire.timestamp: now, dialect.wire.sender: sender}
    for name, value in known.items():
        if name in tree and value is not None:
            tree[name] = value
    for name, value in given.items():
        _put(tree, dialect.locate(type_, name), value)
    correlation, task = dialect.wire.correlation, dialect.wire.task
    if correlation and task and correlation in dialect.envelope and correlation not in given:
        places = {dialect.locate(type_, name): value for name, value in given.items()}
        if (place := dialect.locate(type_, task)) in places:
            tree[correlation] = places[place]  # it defaults to the task
    return tree


def _put(tree: Tree, steps: tuple[str, ...], value: Any) -> None:
    *parents, name = steps
    for parent in parents:
        inner = tree.get(parent)
        if not isinstance(inner, dict):
            inner = tree[parent] = {}
        inner.pop(blank_for("name"), None)  # replaced by the first entry
        tree = inner
    tree[name] = value


def field_named(dialect: Dialect, type_: MessageType, name: str) -> Field | None:
    return kind_at(dialect.fields_of(type_), dialect.locate(type_, name))


def value_from_text(text: str, kind: Kind) -> Any:
    """The value of `field=value` on a command line. What cannot be parsed stays text."""
    match kind:
        case schema.ListOf(item):
            read = _json(text)
            return read if isinstance(read, list) else [value_from_text(part.strip(), item) for part in text.split(",")]
        case (
            schema.Integer() | schema.Number() | schema.Boolean() | schema.Group() | schema.MapOf() | schema.Anything()
        ):
            return _json(text)
    return text


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


# Null, boolean, number, time or merge key in YAML 1.1 or 1.2, and a little more: needless quotes do no harm.
_AMBIGUOUS = r"""(?xia)~|null|true|false|yes|no|on|off|y|n|<<|=
    |[-+]?(?=[0-9.])[0-9_.]++(?:e[-+]?[0-9]*)?                # 1, 1_000, 010, 1.5e3, 1.2.3
    |[-+]?0(?:x[0-9a-f_]*|o[0-7_]*|b[01_]*)
    |[-+]?[0-9][0-9_]*+(?::[0-9]{1,2})++(?:\.[0-9_]*)?        # 12:30 is 750 in YAML 1.1
    |[-+]?\.(?:inf|nan)
    |[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[t ].*)?"""
# JSON escapes only the quote, the backslash and U+0000 to U+001F; YAML does not accept the others unescaped.
_ESCAPED = r'["\\\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]'
_SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\b": "\\b", "\f": "\\f"}
_SIMPLE_KEY_CHARACTERS_MAX = 1000  # YAML allows 1024 up to the colon; a longer key needs `?`


def write_front_matter(fields: Mapping[str, object], body: str) -> str:
    """The message as text. `PlainScalar` values stay unquoted. A lone surrogate is escaped, which parsers refuse."""
    return "\n".join(["---", *_mapping_lines(fields, ""), "---", body])


def _mapping_lines(fields: Mapping[str, object], indent: str) -> Iterator[str]:
    for name, value in fields.items():
        key = _quoted(name) if name.startswith(("---", "...")) else _string(name)  # they would end the document
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
            yield f"{indent}- {next(block).removeprefix(indent + '  ')}"
            yield from block


def _block_lines(value: object, indent: str) -> Iterator[str] | None:
    """Lines of a non-empty list or mapping; None for a value on one line."""
    if isinstance(value, Mapping) and value:
        return _mapping_lines(value, indent)
    if isinstance(value, list) and value:
        return _list_lines(value, indent)
    return None


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
            text = repr(value)
            if text in ("inf", "-inf", "nan"):
                return text.replace("inf", ".inf").replace("nan", ".nan")
            mantissa, e, exponent = text.partition("e")
            return text if "." in mantissa else f"{mantissa}.0{e}{exponent}"  # YAML 1.1 reads text without the point
        case list():
            return "[]"
        case Mapping():
            return "{}"
    raise AssertionError(f"front matter cannot hold a {type(value).__name__}")


def _string(text: str) -> str:
    return text if stays_plain(text) and not re.fullmatch(_AMBIGUOUS, text) else _quoted(text)


def _quoted(text: str) -> str:
    return '"' + re.sub(_ESCAPED, lambda found: _SHORT_ESCAPES.get(found[0]) or f"\\u{ord(found[0]):04x}", text) + '"'

"""Strict JSON parser that marks what a lenient one passes over.

The standard library's C scanner parses. What it would accept silently is marked in its result (a duplicate key, NaN, an
integer too long to hold) and `scan` turns the marks into findings.
"""

import json
from collections import Counter
from typing import Any

from telex.model.finding import Finding
from telex.model.limits import Limits
from telex.model.named_tuple import NamedTuple
from telex.model.text import ROOT, join

COMMAS_MAX = 50  # trailing commas fixed before giving up
_DIGITS_MAX = 20  # a 64-bit integer has at most this many characters


class DuplicateKeys(dict[str, Any]):
    """An object with duplicate keys; the last value of each counts, as in most parsers."""

    keys_doubled: tuple[str, ...] = ()  # with different values
    keys_repeated: tuple[str, ...] = ()  # with the same value


class OversizeNumber(str):
    """A number with too many digits, as written."""

    __slots__ = ()


class NonFiniteNumber(str):
    """NaN or Infinity, which JSON does not have."""

    __slots__ = ()


class GroupedNumber(float):
    """A number with three decimals, such as 50.000, which may mean thousands."""

    __slots__ = ()


class ParsedJson(NamedTuple):
    value: Any
    end: int  # where the value stops in the text
    findings: tuple[Finding, ...] = ()
    failed: bool = False  # there is no value


def read_json(text: str, start: int = 0) -> ParsedJson:
    """The JSON value that starts here. Trailing commas are fixed and reported; other errors end the parse."""
    findings: list[Finding] = []
    for _ in range(COMMAS_MAX):
        try:
            value, end = _DECODER.raw_decode(text, start)
            return ParsedJson(value, end + len(findings), tuple(findings))
        except RecursionError:
            say = "Flatten the message: it is nested too deeply to parse."
            return ParsedJson(None, start, (Finding("too-deep", ROOT, say),), failed=True)
        except json.JSONDecodeError as error:
            findings.append(_not_json(error, text))
            comma = _trailing_comma(text, error.pos)
            if comma is None:
                return ParsedJson(None, start, tuple(findings), failed=True)
            text = text[:comma] + text[comma + 1 :]
    return ParsedJson(None, start, tuple(findings), failed=True)


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    tree = dict(pairs)
    if len(tree) == len(pairs):
        return tree
    doubled = DuplicateKeys(tree)
    twice = [key for key, times in Counter(key for key, _ in pairs).items() if times > 1]
    differing = {key for key, value in pairs if repr(value) != repr(tree[key])}  # 1 and true are equal in Python
    doubled.keys_doubled = tuple(key for key in twice if key in differing)
    doubled.keys_repeated = tuple(key for key in twice if key not in differing)
    return doubled


_DECODER = json.JSONDecoder(
    object_pairs_hook=_pairs,
    parse_int=lambda digits: int(digits) if len(digits) <= _DIGITS_MAX else OversizeNumber(digits),
    parse_float=lambda digits: GroupedNumber(digits) if digits[-4:-3] == "." else float(digits),
    parse_constant=NonFiniteNumber,
)


def _trailing_comma(text: str, position: int) -> int | None:
    """Position of a trailing comma, if it is the only error here."""
    before = text[:position].rstrip()
    after = text[position:].lstrip()
    if not before.endswith(",") and text[position : position + 1] == ",":
        before, after = text[: position + 1], text[position + 1 :].lstrip()
    return len(before) - 1 if before.endswith(",") and after[:1] in ("}", "]") else None


def _not_json(error: json.JSONDecodeError, text: str) -> Finding:
    comma = _trailing_comma(text, error.pos)
    if comma is not None:  # Python versions differ in the position that they report
        line, column = text.count("\n", 0, comma) + 1, comma - text.rfind("\n", 0, comma)
        say = f"Remove the comma at line {line}, column {column}: nothing follows it."
        return Finding("not-json", ROOT, say, expected="JSON", found=",")
    is_quote = error.msg.startswith("Expecting ',' delimiter") and text[: error.pos].rstrip().endswith('"')
    where, rest = f"line {error.lineno}, column {error.colno}", text[error.pos : error.pos + 20]
    there = rest[:1]
    if error.msg.startswith("Unterminated string") or not text[error.pos :].strip():
        say = f"Send the complete message: it is cut off at {where}, before every brace, bracket and quote was closed."
    elif is_quote and there not in '"{[':
        say = f'Escape the quotes inside the text before {where}: write each of them as \\".'
    else:
        is_control = there and ord(there) < 32
        hint = " Write a line break inside a string as \\n and a tab as \\t." if is_control else _HINTS.get(there, "")
        say = f"Fix the JSON at {where}: {error.msg.lower().removesuffix(' at')}.{hint}"
    return Finding("not-json", ROOT, say, expected="JSON", found=rest or "the end")


_HINTS = {
    "'": " JSON strings take double quotes.",
    **dict.fromkeys("“”", " JSON strings take straight double quotes."),
    **dict.fromkeys("/#", " JSON has no comments."),
    **dict.fromkeys("TFN", " JSON writes true, false and null in lower case."),
}


def scan(tree: Any, limits: Limits) -> list[Finding]:
    """Findings on values that no message may contain. No recursion: the sender chooses the depth."""
    return _scan(tree, limits) if _is_suspect(tree, limits) else []


def _is_suspect(tree: Any, limits: Limits) -> bool:
    """Fast check, level by level and without paths; nearly every message ends here."""
    level, depth = [tree], 0
    while level:
        below: list[Any] = []
        for value in level:
            kind = type(value)
            if kind is str:
                if not value.isascii() or "\0" in value:
                    return True
            elif kind is int or kind is float:
                if not limits.integer_min <= value <= limits.integer_max:
                    return True  # also infinity and NaN
            elif kind is dict:
                keys = "".join(value)
                if not keys.isascii() or "\0" in keys:
                    return True
                below += value.values()
            elif kind is list:
                below += value
            elif isinstance(value, DuplicateKeys) or (isinstance(value, str) and _text_findings(value, ROOT)):
                return True
        level, depth = below, depth + 1
        if depth > limits.depth_max:
            return True
    return False


def _scan(tree: Any, limits: Limits) -> list[Finding]:
    findings: list[Finding] = []
    waiting: list[tuple[Any, str, int]] = [(tree, ROOT, 1)]
    while waiting and len(findings) < limits.findings_max:
        value, at, depth = waiting.pop()
        if isinstance(value, str):
            findings += _text_findings(value, at)
        elif isinstance(value, (dict, list)):
            if depth > limits.depth_max:
                say = f"Flatten the message: at most {limits.depth_max} levels are read."
                findings.append(Finding("too-deep", at, say, expected=f"at most {limits.depth_max} levels"))
                continue
            findings += _key_findings(value, at)
            pairs = enumerate(value) if isinstance(value, list) else value.items()
            waiting.extend((inner, join(at, key), depth + 1) for key, inner in pairs if not _is_plain(inner, limits))
        elif isinstance(value, float) and value - value != 0:  # NaN or infinity
            findings.append(_not_finite(at, repr(value)))
        elif isinstance(value, int) and not limits.integer_min <= value <= limits.integer_max:
            findings.append(_too_large(at, str(value)))
    findings.sort(key=lambda finding: finding.path)
    return findings


def _is_plain(value: Any, limits: Limits) -> bool:
    """A value without findings, which needs no path."""
    kind = type(value)
    if kind is str:
        return value.isascii() and "\0" not in value
    return kind is bool or value is None or (kind is int and limits.integer_min <= value <= limits.integer_max)


def _key_findings(value: dict[str, Any] | list[Any], at: str) -> list[Finding]:
    if isinstance(value, list):
        return []
    findings = []
    if isinstance(value, DuplicateKeys):
        differ, repeat = "Give {!r} once: its values differ.", "Give {!r} once: it is repeated with the same value."
        findings = [Finding("duplicate-key", join(at, key), differ.format(key)) for key in value.keys_doubled]
        findings += [Finding("duplicate-key", join(at, key), repeat.format(key), "note") for key in value.keys_repeated]
    odd = [key for key in value if not key.isascii() or "\0" in key]
    return findings + [finding for key in odd for finding in _text_findings(key, join(at, key))]


def _text_findings(value: str, at: str) -> list[Finding]:
    if isinstance(value, OversizeNumber):
        return [_too_large(at, value)]
    if isinstance(value, NonFiniteNumber):
        return [_not_finite(at, value)]
    findings = []
    if "\0" in value:
        say = "Remove the NUL character: text cannot contain it."
        findings.append(Finding("nul-byte", at, say, found="\\u0000"))
    if not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value):
        say = "Write the character whole: half of a surrogate pair is not text."
        findings.append(Finding("lone-surrogate", at, say, found=ascii(value)[:40]))
    return findings


def _not_finite(at: str, found: str) -> Finding:
    say = "Give a real value, or leave the field out: JSON has no NaN or Infinity."
    return Finding("number-not-finite", at, say, expected="a finite number", found=found)


def _too_large(at: str, digits: str) -> Finding:
    say = "Give an integer of at most 64 bits, or text where the field takes text: readers differ on larger ones."
    return Finding("integer-too-large", at, say, expected="a 64-bit integer", found=digits[:24])

"""Validation of a verb's arguments from a query string or a JSON object."""

import re
import types
from collections.abc import Mapping, Sequence
from itertools import islice
from math import isfinite
from typing import Any, Literal, Union, get_args, get_origin

from telex.model.finding import Finding
from telex.model.text import nearest
from telex.protocol.codec import FOUND_CHARACTERS_MAX, CodecError, made, shown
from telex.protocol.type_hints import optional, type_hints
from telex.protocol.verbs import Argument

CODE = "arguments-wrong"
_WORDS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
UNKNOWN_MAX = 20  # names that are told to be none: whoever has more of them means something else


def from_tree(wanted: Mapping[str, Argument], tree: Any) -> dict[str, Any] | list[Finding]:
    """Arguments as they stand in a JSON object."""
    if not isinstance(tree, dict):
        return [_wrong("$", "Send one JSON object with the arguments.", "an object", tree)]
    values: dict[str, Any] = {}
    findings = unknown(wanted, tree)
    for name, argument in wanted.items():
        if name in tree and not (tree[name] is None and not argument.required):
            try:
                values[name] = made(argument.kind, tree[name], f"$.{name}")
            except CodecError as misfit:
                findings.append(_misfit(misfit))
    return findings + _missing(wanted, values, findings) or values


def from_texts(wanted: Mapping[str, Argument], texts: Mapping[str, Sequence[str]]) -> dict[str, Any] | list[Finding]:
    """Arguments as they stand in a path or a query: a list is written as one word after the other."""
    values: dict[str, Any] = {}
    findings = unknown(wanted, texts)
    for name, argument in wanted.items():
        given = texts.get(name)
        if not given:
            continue
        try:
            values[name] = _from_text(argument.kind, given, f"$.{name}")
        except CodecError as misfit:
            findings.append(_misfit(misfit))
    return findings + _missing(wanted, values, findings) or values


def _from_text(kind: Any, given: Sequence[str], path: str) -> Any:
    kind = optional(kind) or kind
    if get_origin(kind) in (tuple, list, Sequence):
        [inner, *_] = get_args(kind)
        return tuple(_from_text(inner, [word], path) for text in given for word in text.split(","))
    if len(given) > 1:
        raise CodecError(path, "one value", f"{len(given)} of them")
    text = given[0]
    if kind is bool:
        if text.lower() not in _WORDS:
            raise CodecError(path, "true or false", text)
        return _WORDS[text.lower()]
    if kind in (int, float):
        return _number(kind, text, path)
    assert kind is str or get_origin(kind) in (Literal, Union, types.UnionType), f"{kind} cannot be written in a query"
    return made(kind, text, path)


def _number(kind: type[int] | type[float], text: str, path: str) -> int | float:
    try:
        if not text.isascii() or "_" in text or len(text) > FOUND_CHARACTERS_MAX:
            raise ValueError
        number = kind(text)
    except ValueError as error:
        raise CodecError(path, "a whole number" if kind is int else "a number", text) from error
    if not isfinite(number):
        raise CodecError(path, "a number that is finite", text)
    return made(kind, number, path)  # type: ignore[no-any-return]


def of_value(kind: Any) -> dict[str, Argument]:
    """The fields of a value, where they are asked for as arguments."""
    defaults = kind._field_defaults
    return {
        name: Argument(name, hint, defaults.get(name), name not in defaults) for name, hint in type_hints(kind).items()
    }


def unknown(wanted: Mapping[str, Argument], given: Mapping[str, Any]) -> list[Finding]:
    findings = []
    for name in islice((name for name in given if name not in wanted), UNKNOWN_MAX):
        near = nearest(name, list(wanted))
        say = f"Write {near} instead." if near else f"Leave it out: there are {', '.join(wanted) or 'none'}."
        findings.append(Finding(CODE, f"$.{name[:FOUND_CHARACTERS_MAX]}", say, nearest=near))
    return findings


def _missing(wanted: Mapping[str, Argument], values: Mapping[str, Any], findings: Sequence[Finding]) -> list[Finding]:
    told = {finding.path for finding in findings}
    return [
        _wrong(f"$.{name}", f"Give {name}.", "a value", None)
        for name, argument in wanted.items()
        if argument.required and name not in values and not any(re.match(rf"\$\.{name}(?!\w)", path) for path in told)
    ]


def _misfit(misfit: CodecError) -> Finding:
    return _wrong(misfit.path, f"Give {misfit.expected}.", misfit.expected, misfit.found)


def _wrong(path: str, say: str, expected: str, found: Any) -> Finding:
    return Finding(CODE, path, say, expected=expected, found=shown(found))

"""Parser and validator of a request's arguments: a JSON object, or a query string."""

import re
import types
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from math import isfinite
from typing import Any, Literal, Union, get_args, get_origin

from telex.model.finding import Finding
from telex.model.text import nearest
from telex.protocol.codec import FOUND_CHARACTERS_MAX, CodecError, made, optional, shown, type_hints
from telex.protocol.verbs import Argument

CODE = "arguments-wrong"
UNKNOWN_MAX = 20  # unknown arguments that are reported
_BOOLEANS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
Arguments = dict[str, Any] | list[Finding]


def from_tree(wanted: Mapping[str, Argument], tree: Any) -> Arguments:
    """Validate the arguments in a JSON object. An optional one may be null."""
    if not isinstance(tree, dict):
        return [_finding("$", "Send one JSON object with the arguments.", "an object", tree)]
    given = {k: v for k, v in tree.items() if v is not None or k not in wanted or wanted[k].required}
    return _validated(wanted, given, made)


def from_texts(wanted: Mapping[str, Argument], texts: Mapping[str, Sequence[str]]) -> Arguments:
    """Parse and validate arguments of a path or a query. A list has commas or comes as several values."""
    given = {name: values for name, values in texts.items() if values or name not in wanted}
    return _validated(wanted, given, _from_text)


def _validated(
    wanted: Mapping[str, Argument], given: Mapping[str, Any], make: Callable[[Any, Any, str], Any]
) -> Arguments:
    values: dict[str, Any] = {}
    findings = unknown(wanted, given)
    for name, argument in wanted.items():
        if name in given:
            try:
                values[name] = make(argument.kind, given[name], f"$.{name}")
            except CodecError as error:
                findings.append(_finding(error.path, f"Give {error.expected}.", error.expected, error.found))
    reported = {re.split(r"\W", finding.path[2:], maxsplit=1)[0] for finding in findings}
    findings += [
        _finding(f"$.{name}", f"Give {name}.", "a value", None)
        for name, argument in wanted.items()
        if argument.required and name not in values and name not in reported
    ]
    return findings or values


def _from_text(kind: Any, given: Sequence[str], path: str) -> Any:
    kind = optional(kind) or kind
    if get_origin(kind) in (tuple, list, Sequence):
        [inner, *_] = get_args(kind)
        return tuple(_from_text(inner, [word], path) for text in given for word in text.split(","))
    if len(given) > 1:
        raise CodecError(path, "one value", f"{len(given)} of them")
    text = given[0]
    if kind is bool:
        if text.lower() not in _BOOLEANS:
            raise CodecError(path, "true or false", text)
        return _BOOLEANS[text.lower()]
    if kind in (int, float):
        try:
            if not text.isascii() or "_" in text or len(text) > FOUND_CHARACTERS_MAX:
                raise ValueError
            number = kind(text)
        except ValueError as error:
            raise CodecError(path, "a whole number" if kind is int else "a number", text) from error
        if not isfinite(number):
            raise CodecError(path, "a number that is finite", text)
        return made(kind, number, path)
    assert kind is str or get_origin(kind) in (Literal, Union, types.UnionType), f"{kind} cannot be in a query"
    return made(kind, text, path)


def of_value(kind: Any) -> dict[str, Argument]:
    """The fields of a value as arguments."""
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


def _finding(path: str, say: str, expected: str, found: Any) -> Finding:
    return Finding(CODE, path, say, expected=expected, found=shown(found))

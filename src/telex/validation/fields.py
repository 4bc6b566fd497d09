"""Validation of a message against its type, with all findings at once.

First the values (`field_walker`), then the relations between them (`rules`), then the headings of a markdown body.
`check` decides whether the findings stop the message.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from telex.dialects.blanks import blank
from telex.dialects.parse.layout import laid_out
from telex.dialects.schema import TYPE, Dialect, MessageType, OneOf, Tree
from telex.model.finding import Finding, first_findings
from telex.model.limits import LIMITS, Limits
from telex.model.text import ROOT, path_of
from telex.validation.field_walker import FieldWalker
from telex.validation.rules import relate, relations_of, sections_needed

_BODY = "$.body"


class ValidationResult(NamedTuple):
    findings: tuple[Finding, ...]
    tree: Tree  # the message as it should be, perhaps with blanks
    blanks: frozenset[str]  # the paths that only the sender can fill


def validate(
    tree: Tree,
    dialect: Dialect,
    type_: MessageType,
    *,
    broken: frozenset[str] = frozenset(),
    body: str | None = None,
    limits: Limits = LIMITS,
) -> ValidationResult:
    """Check a message against its type. `broken` are the paths about which something worse was said already."""
    walk = FieldWalker(limits, broken)
    tree, moved = laid_out(tree, dialect, type_)
    walk.findings += moved
    fixed = walk.group(tree, dialect.fields_of(type_), ROOT)
    relate(walk, fixed, dialect, type_)
    if body is not None and (type_.sections or type_.body_purpose):
        walk.findings += _sections(type_, body, sections_needed(walk, fixed, relations_of(dialect, type_)))
    return ValidationResult(first_findings(tuple(walk.findings), limits.findings_max), fixed, frozenset(walk.blanks))


def validate_envelope(
    tree: Tree, dialect: Dialect, *, broken: frozenset[str] = frozenset(), limits: Limits = LIMITS
) -> ValidationResult:
    """Check what can be checked when the type is unknown: the envelope alone."""
    walk = FieldWalker(limits, broken)
    tree = {name: value for name, value in tree.items() if not walk.is_broken_inside(path_of(name))}
    known = {name: tree[name] for name in tree if name in dialect.envelope}
    fixed = walk.group(known, dialect.envelope, ROOT)
    whole = {**tree, **fixed, TYPE: blank(OneOf(tuple(dialect.types)))}
    return ValidationResult(tuple(walk.findings), whole, frozenset(walk.blanks | {path_of(TYPE)}))


_SENTENCE = re.compile(r"\n|(?<=[.!?:]) ")
_MARKS = "#*_>-+ \t0123456789.)"  # before the words of a heading, an item or a label


def _sections(type_: MessageType, body: str, needed: Mapping[str, tuple[str, ...]]) -> list[Finding]:
    prose = "".join(body.split("```")[::2])  # what stands in fences is not the message's own
    headings = {line.lstrip("#").strip().casefold() for line in prose.splitlines() if line.startswith("#")}
    sentences = [line.lstrip(_MARKS).casefold() for line in _SENTENCE.split(prose)] if needed else []
    missing = [name for name in type_.headings if name.casefold() not in headings]
    for name, words in needed.items():
        if not any(sentence.startswith(word.casefold()) for sentence in sentences for word in words):
            missing.append(name)
    if not missing and type_.body_purpose and not body.strip():
        say = f"Write a body: {type_.body_purpose}."
        return [Finding("section-missing", _BODY, say, "warning", expected=type_.body_purpose)]
    return [
        Finding("section-missing", _BODY, f"Add a section '## {name}' to the body.", "warning", f"## {name}")
        for name in type_.sections
        if name in missing
    ]

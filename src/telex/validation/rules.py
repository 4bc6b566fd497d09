"""Validation of a parsed message against its type: fields, defaults, hard rules, sections of a markdown body.

A rule is skipped if one of its fields has a finding already, so that one mistake is reported once. `check` decides
whether findings stop the message.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from telex.dialects.parse.detect import laid_out
from telex.dialects.rule_language import compared, compile_for_tree, names, parse
from telex.dialects.schema import TYPE, Dialect, HardRule, MessageType, OneOf, Tree, get_path, set_path
from telex.dialects.write import blank, blank_for
from telex.model.finding import Finding, first_findings
from telex.model.limits import LIMITS, Limits
from telex.model.named_tuple import NamedTuple
from telex.model.text import path_of, within
from telex.validation.fields import FieldWalker

TYPES_REMEMBERED_MAX = 1_000


class CompiledRule(NamedTuple):
    """A compiled expression with the paths of its fields."""

    places: tuple[str, ...]  # the rule is skipped if one of these has a finding
    looked_into: tuple[str, ...]  # or a value inside one of these
    holds: Callable[[Tree], Any]


class TypeRules(NamedTuple):
    """Compiled defaults, rules and sections of a type."""

    type: MessageType
    fillings: tuple[tuple[CompiledRule, tuple[str, ...], Any], ...]
    rules: tuple[tuple[CompiledRule, tuple[str, ...], HardRule], ...]
    sections: tuple[tuple[str, tuple[str, ...], CompiledRule | None], ...]  # name, words, condition


_REMEMBERED: dict[tuple[int, int], tuple[Dialect, TypeRules]] = {}


def relations_of(dialect: Dialect, type_: MessageType) -> TypeRules:
    """Compiled rules of a type, cached."""
    key = (id(dialect), id(type_))  # the entry refers to both, so the ids stay unique
    found = _REMEMBERED.get(key)
    if found is None:
        if len(_REMEMBERED) >= TYPES_REMEMBERED_MAX:
            _REMEMBERED.clear()
        found = _REMEMBERED[key] = (dialect, _prepare(dialect, type_))
    return found[1]


def _prepare(dialect: Dialect, type_: MessageType) -> TypeRules:
    def relation(expression: str) -> CompiledRule:
        node = parse(expression)
        places = tuple(_place(dialect.locate(type_, name)) for name in names(node))
        looked_into = tuple(_place(dialect.locate(type_, name)) for name in compared(node))
        return CompiledRule(places, looked_into, compile_for_tree(node, dialect, type_))

    fillings = [
        (relation(field_default.when), dialect.locate(type_, field_default.path), field_default.value)
        for field_default in type_.fillings
    ]
    rules = [
        (relation(rule.broken_when), dialect.locate(type_, rule.path), rule) for rule in (*dialect.rules, *type_.rules)
    ]
    sections = [
        (name, (name, *rule.words), relation(rule.when) if rule.when else None)
        for name, rule in type_.section_rules.items()
    ]
    return TypeRules(type_, tuple(fillings), tuple(rules), tuple(sections))


def _place(steps: tuple[str, ...]) -> str:
    return path_of(*(step.removesuffix("[]") for step in steps))


def relate(walk: FieldWalker, tree: Tree, dialect: Dialect, type_: MessageType) -> None:
    """Fill in defaults, then apply the rules. Findings and blanks go to the walker."""
    relations = relations_of(dialect, type_)
    for relation, steps, value in relations.fillings:
        if _can_tell(walk, relation) and relation.holds(tree):
            set_path(tree, steps, value)
            say = f"Read as {value}, the default."
            walk.say("default-filled", steps, say, "note", expected=str(value))
    doubtful: list[tuple[tuple[str, ...], str]] = []
    for relation, steps, rule in relations.rules:
        if _can_tell(walk, relation) and relation.holds(tree):
            found = get_path(steps)(tree)
            walk.say(rule.code, steps, rule.say, rule.severity, expected=rule.expected, found=found)
            if rule.severity == "refusal":
                walk.blanks.add(path_of(*steps))
                doubtful.append((steps, rule.expected or rule.say))
    for steps, wanted in doubtful:  # only the sender knows which of the fields is wrong
        set_path(tree, steps, blank_for(wanted))


def _can_tell(walk: FieldWalker, relation: CompiledRule) -> bool:
    if not walk.blanks:
        return True
    return not any(
        any(within(place, path) for place in relation.places)
        or any(within(path, place) for place in relation.looked_into)
        for path in walk.blanks
    )


_BODY = "$.body"


class ValidationResult(NamedTuple):
    findings: tuple[Finding, ...]
    tree: Tree  # corrected, perhaps with blanks
    blanks: frozenset[str]  # paths that only the sender can fill in


def validate(
    tree: Tree,
    dialect: Dialect,
    type_: MessageType,
    *,
    broken: frozenset[str] = frozenset(),
    body: str | None = None,
    limits: Limits = LIMITS,
) -> ValidationResult:
    """Validate a message. `broken`: paths that have a refusal already."""
    walk = FieldWalker(limits, broken)
    tree, moved = laid_out(tree, dialect, type_)
    walk.findings += moved
    fixed = walk.group(tree, dialect.fields_of(type_), ())
    relate(walk, fixed, dialect, type_)
    if body is not None and (type_.sections or type_.body_purpose):
        needed = {  # beside the headings of the type: the words that count as each section
            name: words
            for name, words, when in relations_of(dialect, type_).sections
            if when is None or (_can_tell(walk, when) and when.holds(fixed))
        }
        walk.findings += _sections(type_, body, needed)
    return ValidationResult(first_findings(tuple(walk.findings), limits.findings_max), fixed, frozenset(walk.blanks))


def validate_envelope(
    tree: Tree, dialect: Dialect, *, broken: frozenset[str] = frozenset(), limits: Limits = LIMITS
) -> ValidationResult:
    """Validate the envelope of a message with an unknown type."""
    walk = FieldWalker(limits, broken)
    tree = {name: value for name, value in tree.items() if not walk.is_broken_inside((name,))}
    known = {name: tree[name] for name in tree if name in dialect.envelope}
    fixed = walk.group(known, dialect.envelope, ())
    whole = {**tree, **fixed, TYPE: blank(OneOf(tuple(dialect.types)))}
    return ValidationResult(tuple(walk.findings), whole, frozenset(walk.blanks | {path_of(TYPE)}))


_SENTENCE = r"\n|(?<=[.!?:]) "
_MARKS = "#*_>-+ \t0123456789.)"  # before a heading, item or label


def _sections(type_: MessageType, body: str, needed: Mapping[str, tuple[str, ...]]) -> list[Finding]:
    prose = "".join(body.split("```")[::2])  # without code fences
    headings = {line.lstrip("#").strip().casefold() for line in prose.splitlines() if line.startswith("#")}
    sentences = [line.lstrip(_MARKS).casefold() for line in re.split(_SENTENCE, prose)] if needed else []
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

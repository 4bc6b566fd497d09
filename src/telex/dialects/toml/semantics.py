"""What are the types of the user's file to readers of other dialects?

intent = "progress"
says = { details = "summary", task = "ticket.key" }
values = { status = { done = "shipped", partly = ["doing", "waiting"], failed = "dropped", started = "doing" } }

A file that says nothing of this is read as ever, and its messages reach others as markdown. What is said here is held
against the terms that all dialects share (`intents`) and against the type's own fields. It gives leave for nothing: the
rules of the work go by deeds, which a file does not declare.
"""

from collections.abc import Mapping
from typing import Any

from telex.dialects.intents import INTENTS, Term
from telex.dialects.schema import Dialect, MessageType, Semantics
from telex.dialects.toml.defaults import read_defaults, unfilled
from telex.dialects.toml.document import TomlValue
from telex.dialects.toml.terms import EACH, PART, TERMS_MAX, TermContext, is_term, read_says
from telex.dialects.toml.value_map import apart_in, read_values

KEYS = ("intent", "says", "values", "means", "defaults", "body")
INTENTS_MAX = 4  # of one type: what it is, and what it may pass for


def with_meanings(value: TomlValue, own: Mapping[str, MessageType], dialect: Dialect) -> dict[str, MessageType]:
    """The file's types, each with what it is to others. `place` is that of all types."""
    found = {name: type_._replace(meaning=_read(value.at(name), type_, dialect)) for name, type_ in own.items()}
    _check_twice(value, found)
    return found


def _read(value: TomlValue, type_: MessageType, dialect: Dialect) -> Semantics | None:
    if not value.has("intent"):
        for key in KEYS[1:]:
            if value.has(key):
                value.at(key).flaw('says nothing without an intent: add one, such as intent = "progress"')
        return None
    intents = _intents(value.at("intent"))
    if not intents:
        return None
    terms = {name: term for intent in reversed(intents) for name, term in INTENTS[intent].terms.items()}
    context = TermContext(value, type_, dialect, intents, terms)
    means = _means(context)
    body = _body(context)
    says = read_says(context, {*means, *([body] if body else ())})
    fields = {term: field for term, name in says.items() if (field := context.field(name)) is not None}
    turns_on = INTENTS[intents[0]].turns_on
    values = read_values(value, fields, terms, turns_on)
    for term in turns_on:
        if term not in says and term not in means and term != body:
            _unsaid(context, term)
    defaults = read_defaults(value, type_, dialect)
    said = {dialect.locate(type_, name) for name in says.values()}
    for steps in unfilled(type_, dialect, said, defaults):
        _tell_unfilled(value, steps[1:] if steps[0] == dialect.payload else steps)
    return Semantics(intents, says, values=values, means=means, defaults=defaults, body=body)


def _tell_unfilled(value: TomlValue, steps: tuple[str, ...]) -> None:
    name = ".".join(steps)
    else_ = "what others list there is lost" if EACH in name else "what others send reaches your readers as markdown"
    where = TomlValue(None, (*value.path, "fields", steps[0].removesuffix(EACH)), value.sheet)
    where.remark(f"{name} is required, and nobody else says it: give it a value in defaults, or {else_}")


def _intents(value: TomlValue) -> tuple[str, ...]:
    """What it is; or a list, which goes on with what it may pass for."""
    values = value.items(INTENTS_MAX) if isinstance(value.value, list) else [value]
    if value.value == []:
        value.flaw("name at least one intent")
    found: list[str] = []
    for item in values:
        intent = item.choice(INTENTS)
        if intent in found:
            item.flaw(f"{intent} is there twice")
        elif intent is not None:
            found.append(intent)
    return tuple(found)


def _unsaid(context: TermContext, term: str) -> None:
    words = context.terms[term].words
    itself = f' or means = {{ {term} = "{words[0]}" }} if the type alone says it' if words else ""
    context.place.at("intent").flaw(
        f"{context.intents[0]} turns on its {term}, and no field says it: add says = {{ {term} = … }}{itself}"
    )


# --- what no field says ----------------------------------------------------------------------------------------------


def _means(context: TermContext) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    if not context.place.has("means"):
        return found
    for term, value in context.place.at("means").entries(TERMS_MAX):
        if not is_term(context, value, term):
            continue
        words = context.terms[term].words
        if not words:
            value.flaw(f"only a term whose values have names can be meant: {_worded(context.terms)}")
            continue
        items = value.items(len(words)) if isinstance(value.value, list) else [value]
        chosen = [word for item in items if (word := item.choice(words)) is not None]
        if chosen:
            found[term] = tuple(dict.fromkeys(chosen))
            if apart_in(context.terms[term], chosen):
                value.flaw(
                    f"a type cannot mean both {' and '.join(context.terms[term].apart)}: one would look like the other"
                )
        elif value.value == []:
            value.flaw("name at least one word")
    return found


def _worded(terms: Mapping[str, Term]) -> str:
    return ", ".join(name for name, term in terms.items() if term.words) or "there is none here"


def _body(context: TermContext) -> str | None:
    if not context.place.has("body"):
        return None
    value = context.place.at("body")
    if context.dialect.form != "front-matter":
        value.flaw('only messages with form = "front-matter" have a body')
        return None
    term = value.line(64)
    if term is None or not is_term(context, value, term):
        return None
    if PART in term or context.terms[term].words or term in INTENTS[context.intents[0]].turns_on:
        value.flaw(f"{term} is no text, which is all that a body is")
        return None
    return term


def _check_twice(value: TomlValue, types: Mapping[str, MessageType]) -> None:
    """Of two types that are the same act, nobody could tell which one others' messages become."""
    taken: dict[tuple[Any, ...], str] = {}
    for name, type_ in types.items():
        if type_.meaning is None:
            continue
        act = type_.meaning.intents[0]
        apart = (one for one in type_.meaning.means.items() if one[0] in INTENTS[act].terms)
        key = (act, *sorted(apart))
        other = taken.setdefault(key, name)
        if other != name:
            value.at(name).at("intent").flaw(
                f"{other} stands for {key[0]} already: keep one of them, or tell them apart by means"
            )

"""What are the types of the user's file to readers of other dialects?

intent = "progress"
says = { details = "summary", task = "ticket.key" }
values = { status = { done = "shipped", partly = ["doing", "waiting"], failed = "dropped", started = "doing" } }

A file that says nothing of this is read as ever, and its messages reach others as markdown. What is said here is held
against the terms that all dialects share (`intents`) and against the type's own fields. It gives leave for nothing: the
rules of the work go by deeds, which a file does not declare.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from telex.dialects.declared_defaults import read_defaults, unfilled
from telex.dialects.declared_places import Place, meant_or_choices, shown
from telex.dialects.declared_words import read_values
from telex.dialects.intents import INTENTS, Term
from telex.dialects.spec import (
    TYPE,
    Anything,
    Boolean,
    Dialect,
    Field,
    Group,
    ListOf,
    Meaning,
    MessageType,
    OneOf,
    Text,
    kind_at,
)

KEYS = ("intent", "says", "values", "means", "defaults", "body")
INTENTS_MAX = 4  # of one type: what it is, and what it may pass for
TERMS_MAX = 60
PART = "/"  # as in failures/text: what one of several says
EACH = "[]"


class Asked(NamedTuple):
    """A type whose meaning is being read."""

    place: Place
    type: MessageType
    dialect: Dialect
    intents: tuple[str, ...]
    terms: Mapping[str, Term]

    def field(self, name: str) -> Field | None:
        """The field of that short name, if it lies in nothing but objects that have fields."""
        steps = self.dialect.locate(self.type, name)
        whole = self.dialect.fields_of(self.type)
        for length in range(1, len(steps)):
            outer = kind_at(whole, steps[:length])
            if outer is None or not isinstance(outer.kind, Group):
                return None
        return None if steps == (TYPE,) else kind_at(whole, steps)


def with_meanings(place: Place, own: Mapping[str, MessageType], dialect: Dialect) -> dict[str, MessageType]:
    """The file's types, each with what it is to others. `place` is that of all types."""
    found = {name: type_._replace(meaning=_read(place.at(name), type_, dialect)) for name, type_ in own.items()}
    _check_twice(place, found)
    return found


def _read(place: Place, type_: MessageType, dialect: Dialect) -> Meaning | None:
    if not place.has("intent"):
        for key in KEYS[1:]:
            if place.has(key):
                place.at(key).flaw('says nothing without an intent: add one, such as intent = "progress"')
        return None
    intents = _intents(place.at("intent"))
    if not intents:
        return None
    terms = {name: term for intent in reversed(intents) for name, term in INTENTS[intent].terms.items()}
    asked = Asked(place, type_, dialect, intents, terms)
    means = _means(asked)
    body = _body(asked)
    says = _says(asked, {*means, *([body] if body else ())})
    fields = {term: field for term, name in says.items() if (field := asked.field(name)) is not None}
    turns_on = INTENTS[intents[0]].turns_on
    values = read_values(place, fields, terms, turns_on)
    for term in turns_on:
        if term not in says and term not in means and term != body:
            _unsaid(asked, term)
    defaults = read_defaults(place, type_, dialect)
    said = {dialect.locate(type_, name) for name in says.values()}
    for steps in unfilled(type_, dialect, said, defaults):
        _tell_unfilled(place, steps[1:] if steps[0] == dialect.payload else steps)
    return Meaning(intents, says, values, means, defaults, body)


def _tell_unfilled(place: Place, steps: tuple[str, ...]) -> None:
    name = ".".join(steps)
    else_ = "what others list there is lost" if EACH in name else "what others send reaches your readers as markdown"
    where = Place(None, (*place.path, "fields", steps[0].removesuffix(EACH)), place.sheet)
    where.remark(f"{name} is required, and nobody else says it: give it a value in defaults, or {else_}")


def _intents(place: Place) -> tuple[str, ...]:
    """What it is; or a list, which goes on with what it may pass for."""
    given = place.items(INTENTS_MAX) if isinstance(place.value, list) else [place]
    if place.value == []:
        place.flaw("name at least one intent")
    found: list[str] = []
    for item in given:
        intent = item.choice(INTENTS)
        if intent in found:
            item.flaw(f"{intent} is there twice")
        elif intent is not None:
            found.append(intent)
    return tuple(found)


# --- terms and fields ------------------------------------------------------------------------------------------------


def _says(asked: Asked, elsewhere: set[str]) -> dict[str, str]:
    """Which field says what: those that the file names, then those that are called as the term is."""
    says, silent = _named(asked, elsewhere)
    for term in asked.terms:
        wired = asked.dialect.wire.task if term == "task" else None
        for name in (term, wired):
            if name is None or PART in term or term in says or term in silent or term in elsewhere:
                continue
            field = asked.field(name)
            if field is not None and name != asked.dialect.wire.version and _wanted(asked, term, field) is None:
                says[term] = name
    for term, name in list(says.items()):
        part, field = f"{term}{PART}text", asked.field(name)
        kind = field.kind if field is not None else None
        if part not in says and isinstance(kind, ListOf) and isinstance(kind.item, Text):
            says[part] = name + EACH
    return says


def _named(asked: Asked, elsewhere: set[str]) -> tuple[dict[str, str], set[str]]:
    says: dict[str, str] = {}
    silent: set[str] = set()
    if not asked.place.has("says"):
        return says, silent
    for term, entry in asked.place.at("says").entries(TERMS_MAX):
        if not _is_term(asked, entry, term):
            continue
        if entry.value is False:
            silent.add(term)  # the field that is called so means something else
        elif term in elsewhere:
            entry.flaw(f"{term} is said by means or by the body already; say it once")
        elif (name := entry.line()) is not None and _is_field(asked, entry, term, name):
            says[term] = name
    return says, silent


def _is_term(asked: Asked, place: Place, term: str) -> bool:
    """Is it a term of these intents? If not, the flaw names the nearest and all there are."""
    if term in asked.terms:
        return True
    known, of = list(asked.terms), " or ".join(asked.intents)
    if not known:
        place.flaw(f"{of} has no terms: the type alone says it all")
        return False
    meant = meant_or_choices(term, known)
    all_of_them = f" {of} has {', '.join(known)}" if meant.startswith("did you mean") else ""
    place.flaw(f"{shown(term)} is no term of {of}; {meant}{all_of_them}")
    return False


def _is_field(asked: Asked, place: Place, term: str, name: str) -> bool:
    if PART in term:
        return _is_part(asked, place, term, name)
    field = asked.field(name)
    if field is None:
        place.unknown(name, _field_names(asked), f"there is no field {shown(name)}")
    elif (wanted := _wanted(asked, term, field)) is not None and not isinstance(field.kind, Group):
        place.flaw(f"{term} is said by {wanted}, and {name} is none")
    elif isinstance(field.kind, Group):
        inside = ", ".join(f"{name}.{one}" for one in list(field.kind.fields)[:3])
        place.flaw(f"{name} is an object: name a field of it{', such as ' + inside if inside else ''}")
    elif name == asked.dialect.wire.version:
        place.flaw(f"{name} holds the version, which tells the dialect apart and nothing else")
    else:
        return True
    return False


def _wanted(asked: Asked, term: str, field: Field) -> str | None:
    """What sort of field could say it, where this one cannot: what is lost there would never be missed."""
    if asked.terms[term].words and not isinstance(field.kind, OneOf | Boolean | Text | Anything):
        return "an enum, a boolean or a text"
    if (
        not asked.terms[term].words
        and term in INTENTS[asked.intents[0]].turns_on
        and not isinstance(field.kind, Boolean)
    ):
        return "a boolean"
    return "a field, not by an object" if isinstance(field.kind, Group) else None


def _is_part(asked: Asked, place: Place, term: str, name: str) -> bool:
    """`failures/text` is a field of what `failures` lists."""
    whole = term.partition(PART)[0]
    given = asked.place.at("says").value
    parent = given.get(whole, whole) if isinstance(given, dict) else whole
    before, found, step = name.partition(EACH)
    listed = asked.field(parent) if isinstance(parent, str) else None
    item = listed.kind.item if listed is not None and isinstance(listed.kind, ListOf) else None
    if item is None or not isinstance(parent, str) or before != parent or not found:
        place.flaw(f"name a field of what {whole} lists, such as {parent if isinstance(parent, str) else whole}[].name")
        return False
    if step == "" and not isinstance(item, Group):
        return True
    inner = item.fields if isinstance(item, Group) else {}
    if not step.startswith(".") or step[1:] not in inner:
        place.unknown(step[1:], inner, f"what {parent} lists has no field {shown(step[1:])}")
        return False
    return True


def _field_names(asked: Asked) -> list[str]:
    """Short names, with one level of what lies inside objects."""
    found: list[str] = []
    for name, field in {**asked.type.fields, **asked.dialect.envelope}.items():
        found.append(name)
        if isinstance(field.kind, Group):
            found += [f"{name}.{inner}" for inner in field.kind.fields]
    return found


def _unsaid(asked: Asked, term: str) -> None:
    words = asked.terms[term].words
    itself = f' or means = {{ {term} = "{words[0]}" }} if the type alone says it' if words else ""
    asked.place.at("intent").flaw(
        f"{asked.intents[0]} turns on its {term}, and no field says it: add says = {{ {term} = … }}{itself}"
    )


# --- what no field says ----------------------------------------------------------------------------------------------


def _means(asked: Asked) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    if not asked.place.has("means"):
        return found
    for term, entry in asked.place.at("means").entries(TERMS_MAX):
        if not _is_term(asked, entry, term):
            continue
        words = asked.terms[term].words
        if not words:
            entry.flaw(f"only a term whose values have names can be meant: {_worded(asked.terms)}")
            continue
        items = entry.items(len(words)) if isinstance(entry.value, list) else [entry]
        chosen = [word for item in items if (word := item.choice(words)) is not None]
        if chosen:
            found[term] = tuple(dict.fromkeys(chosen))
        elif entry.value == []:
            entry.flaw("name at least one word")
    return found


def _worded(terms: Mapping[str, Term]) -> str:
    return ", ".join(name for name, term in terms.items() if term.words) or "there is none here"


def _body(asked: Asked) -> str | None:
    if not asked.place.has("body"):
        return None
    place = asked.place.at("body")
    if asked.dialect.form != "front-matter":
        place.flaw('only messages with form = "front-matter" have a body')
        return None
    term = place.line(64)
    if term is None or not _is_term(asked, place, term):
        return None
    if PART in term or asked.terms[term].words:
        place.flaw(f"{term} is no text, which is all that a body is")
        return None
    return term


def _check_twice(place: Place, types: Mapping[str, MessageType]) -> None:
    """Of two types that are the same act, nobody could tell which one others' messages become."""
    taken: dict[tuple[Any, ...], str] = {}
    for name, type_ in types.items():
        if type_.meaning is None:
            continue
        key = (type_.meaning.intents[0], *sorted(type_.meaning.means.items()))
        other = taken.setdefault(key, name)
        if other != name:
            place.at(name).at("intent").flaw(
                f"{other} stands for {key[0]} already: keep one of them, or tell them apart by means"
            )

"""Which field of the user's file says which of the terms that all dialects share?

says = { details = "summary", task = "ticket.key", "failures/text" = "faults[].fault" }

A field that is called as the term is says it without a line. Of the terms of one act no two are said by one field: what
others say under the one would come back to them under the other.
"""

from collections.abc import Mapping
from typing import NamedTuple

from telex.dialects.intents import INTENTS, Term
from telex.dialects.schema import (
    TYPE,
    Anything,
    Boolean,
    Dialect,
    Field,
    Group,
    ListOf,
    MessageType,
    OneOf,
    Text,
    kind_at,
)
from telex.dialects.toml.document import TomlValue, meant_or_choices, shown

TERMS_MAX = 60
PART = "/"  # as in failures/text: what one of several says
EACH = "[]"


class TermContext(NamedTuple):
    """A type whose meaning is being read."""

    place: TomlValue
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


def read_says(context: TermContext, elsewhere: set[str]) -> dict[str, str]:
    """Which field says what: those that the file names, then those that are called as the term is."""
    says, silent = _named(context, elsewhere)
    for term in context.terms:
        wired = context.dialect.wire.task if term == "task" else None
        for name in (term, wired):
            if name is None or PART in term or term in says or term in silent or term in elsewhere:
                continue
            field = context.field(name)
            fits = field is not None and name != context.dialect.wire.version and _wanted(context, term, field) is None
            if fits and _also_says(context, says, term, name) is None:
                says[term] = name
    for term, name in list(says.items()):
        part, field = f"{term}{PART}text", context.field(name)
        kind = field.kind if field is not None else None
        if part not in says and isinstance(kind, ListOf) and isinstance(kind.item, Text):
            says[part] = name + EACH
    return says


def _named(context: TermContext, elsewhere: set[str]) -> tuple[dict[str, str], set[str]]:
    says: dict[str, str] = {}
    silent: set[str] = set()
    if not context.place.has("says"):
        return says, silent
    for term, value in context.place.at("says").entries(TERMS_MAX):
        if not is_term(context, value, term):
            continue
        if value.value is False:
            silent.add(term)  # the field that is called so means something else
        elif term in elsewhere:
            value.flaw(f"{term} is said by means or by the body already; say it once")
        elif (name := value.line()) is not None and _is_field(context, value, term, name):
            other = _also_says(context, says, term, name)
            if other is not None:
                value.flaw(f"{name} says {other} already, and nobody could tell which of the two is meant")
            else:
                says[term] = name
    return says, silent


def _also_says(context: TermContext, says: Mapping[str, str], term: str, name: str) -> str | None:
    """Another term of the same act that the field says; what it says to another act is another matter."""
    acts = [INTENTS[intent].terms for intent in context.intents]
    alike = (other for other, where in says.items() if where == name)
    return next((other for other in alike if any(term in act and other in act for act in acts)), None)


def is_term(context: TermContext, value: TomlValue, term: str) -> bool:
    """Is it a term of these intents? If not, the flaw names the nearest and all there are."""
    if term in context.terms:
        return True
    known, of = list(context.terms), " or ".join(context.intents)
    if not known:
        value.flaw(f"{of} has no terms: the type alone says it all")
        return False
    meant = meant_or_choices(term, known)
    all_of_them = f" {of} has {', '.join(known)}" if meant.startswith("did you mean") else ""
    value.flaw(f"{shown(term)} is no term of {of}; {meant}{all_of_them}")
    return False


def _is_field(context: TermContext, value: TomlValue, term: str, name: str) -> bool:
    if PART in term:
        return _is_part(context, value, term, name)
    field = context.field(name)
    if EACH in name or (field is None and name in _field_names(context)):
        fix = f"name the list itself, {name.removesuffix(EACH)}" if name.endswith(EACH) else "rename the field"
        value.flaw(f"a dot leads into an object here, and [] to what a list holds: {fix}")
    elif field is None:
        value.unknown(name, _field_names(context), f"there is no field {shown(name)}")
    elif (wanted := _wanted(context, term, field)) is not None and not isinstance(field.kind, Group):
        value.flaw(f"{term} is said by {wanted}, and {name} is none")
    elif isinstance(field.kind, Group):
        inside = ", ".join(f"{name}.{one}" for one in list(field.kind.fields)[:3])
        value.flaw(f"{name} is an object: name a field of it{', such as ' + inside if inside else ''}")
    elif name == context.dialect.wire.version:
        value.flaw(f"{name} holds the version, which tells the dialect apart and nothing else")
    else:
        return True
    return False


def _wanted(context: TermContext, term: str, field: Field) -> str | None:
    """What sort of field could say it, where this one cannot: what is lost there would never be missed."""
    if context.terms[term].words and not isinstance(field.kind, OneOf | Boolean | Text | Anything):
        return "an enum, a boolean or a text"
    if (
        not context.terms[term].words
        and term in INTENTS[context.intents[0]].turns_on
        and not isinstance(field.kind, Boolean)
    ):
        return "a boolean"
    return "a field, not by an object" if isinstance(field.kind, Group) else None


def _is_part(context: TermContext, value: TomlValue, term: str, name: str) -> bool:
    """`failures/text` is a field of what `failures` lists."""
    whole = term.partition(PART)[0]
    given = context.place.at("says").value
    parent = given.get(whole, whole) if isinstance(given, dict) else whole
    before, found, step = name.partition(EACH)
    listed = context.field(parent) if isinstance(parent, str) else None
    item = listed.kind.item if listed is not None and isinstance(listed.kind, ListOf) else None
    if item is None or not isinstance(parent, str) or before != parent or not found:
        value.flaw(f"name a field of what {whole} lists, such as {parent if isinstance(parent, str) else whole}[].name")
        return False
    if step == "" and not isinstance(item, Group):
        return True
    inner = item.fields if isinstance(item, Group) else {}
    if not step.startswith(".") or step[1:] not in inner:
        value.unknown(step[1:], inner, f"what {parent} lists has no field {shown(step[1:])}")
        return False
    return True


def _field_names(context: TermContext) -> list[str]:
    """Short names, with one level of what lies inside objects."""
    found: list[str] = []
    for name, field in {**context.type.fields, **context.dialect.envelope}.items():
        found.append(name)
        if isinstance(field.kind, Group):
            found += [f"{name}.{inner}" for inner in field.kind.fields]
    return found

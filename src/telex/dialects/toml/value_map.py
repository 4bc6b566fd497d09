"""Values of a user's dialect file that stand for the words that all dialects share.

values = { status = { done = "shipped", partly = ["doing", "waiting"], failed = "dropped", started = "doing" } }

Of several values for one word all are read and the first is written. A value of several words is read as the first of
them. A value with the name of its word needs no entry.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from telex.dialects.intents import Term
from telex.dialects.schema import Field, choices_of
from telex.dialects.toml.document import TomlValue, shown
from telex.dialects.toml.fields import UNREAD, VALUES_MAX

Spelt = dict[str, tuple[Any, ...]]


def read_values(
    place: TomlValue, fields: Mapping[str, Field], terms: Mapping[str, Term], turns_on: Iterable[str]
) -> dict[str, Spelt]:
    """Values by term, for every term with a choice. In a term of `turns_on` each word needs a value."""
    table = place.at("values") if place.has("values") else None
    kinds = {term: field.kind for term, field in fields.items()}
    given = dict(table.entries(len(terms) + 1)) if table is not None else {}
    for term, value in given.items():
        if term not in kinds:
            value.unknown(term, kinds, f"no field says {shown(term)}")
        elif not terms[term].words:
            value.flaw(f"the values of {term} have no names in other dialects: they are told as they stand")
        elif choices_of(kinds[term]) is None and kinds[term] is not UNREAD:
            value.flaw("only an enum or a boolean has values that can be named")
    found: dict[str, Spelt] = {}
    for term, kind in kinds.items():
        own, words = choices_of(kind), terms[term].words if term in terms else ()
        if own is None or not words:
            continue
        if term in given:
            found[term] = _spelt(given[term], words, own)
        else:
            found[term] = {word: (word,) for word in words if word in own}
        if found[term] or not (term in given and given[term].value):  # otherwise already reported
            where = given.get(term, place)
            _check_words(where, term, found[term], words, term in turns_on)
            _check_apart(where, terms[term], found[term])
            _tell_silent(where, term, found[term], words, fields[term], turned_on=term in turns_on)
    return found


def _spelt(place: TomlValue, words: tuple[str, ...], own: tuple[Any, ...]) -> Spelt:
    found: Spelt = {}
    for word, value in place.entries(len(words) + 1):
        if word not in words:
            value.unknown(word, words, f"{shown(word)} is none of the words")
            continue
        items = value.items(VALUES_MAX) if isinstance(value.value, list) else [value]
        values = [item.value for item in items if _is_own(item, own)]
        if values:
            found[word] = tuple(dict.fromkeys(values))
    return found


def _is_own(value: TomlValue, own: tuple[Any, ...]) -> bool:
    if own == (True, False):
        return value.boolean() is not None
    return value.choice(own) is not None


def _check_words(value: TomlValue, term: str, spelt: Spelt, words: tuple[str, ...], must: bool) -> None:
    silent = [word for word in words if word not in spelt]
    if silent and (must or not spelt):
        example = f"values = {{ {term} = {{ {silent[0]} = … }} }}"
        value.flaw(f"say which value of {term} stands for {', '.join(silent)}: {example}")


def apart_in(term: Term, words: Collection[str]) -> bool:
    """Whether these contain both words of a pair that must stay distinct."""
    return bool(term.apart) and all(word in words for word in term.apart)


def _check_apart(place: TomlValue, term: Term, spelt: Spelt) -> None:
    """Report a value that stands for both words of such a pair, such as approval and rejection."""
    if not apart_in(term, spelt):
        return
    good, bad = term.apart
    for value in spelt[bad]:
        if value in spelt[good]:
            place.flaw(f"{shown(value)} cannot stand for {good} and for {bad}: one would look like the other")


def _tell_silent(
    place: TomlValue, term: str, spelt: Spelt, words: tuple[str, ...], field: Field, *, turned_on: bool
) -> None:
    """Remark on words without a value and values without a word, which may be intended."""
    silent = [word for word in words if word not in spelt]
    if silent:
        becomes = "what says so reaches your readers as markdown" if field.required else "your readers do not get it"
        place.remark(f"no value of {term} stands for {', '.join(silent)}: {becomes}")
    own = choices_of(field.kind) or ()
    left = [value for value in own if value not in {value for values in spelt.values() for value in values}]
    if left:
        told = ", ".join(shown(value) for value in left)
        becomes = "what says so reaches others as markdown" if turned_on else "it is lost on the way to others"
        place.remark(f"{told} of {term} stands for none of {', '.join(words)}: {becomes}")

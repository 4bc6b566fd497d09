"""Semantics of a user's message types: intent, terms and words, for translation and for the work rules.

intent = "progress"
says = { details = "summary", task = "ticket.key", "failures/text" = "faults[].fault" }
values = { status = { done = "shipped", partly = ["doing", "waiting"], failed = "dropped", started = "doing" } }

A type without an intent reaches readers of other dialects as markdown. A field with the name of a term, and a value
with the name of a word, need no entry. Two terms of one intent need two fields: a message that came back from another
dialect would otherwise mix them up. The intents and their terms decide which work rules apply (`intents.WORK`).
"""

from collections.abc import Collection, Mapping
from typing import Any

from telex.dialects.intents import INTENTS, WORK, Term
from telex.dialects.schema import (
    BODY_KEY,
    NO_SEMANTICS,
    TYPE,
    Anything,
    Boolean,
    Dialect,
    Field,
    Group,
    ListOf,
    MessageType,
    OneOf,
    Semantics,
    Text,
    choices_of,
    kind_at,
)
from telex.dialects.toml.document import RAW, TomlValue, meant_or_choices, shown
from telex.dialects.toml.fields import EACH, UNREAD, VALUES_MAX, fields_without_value, read_defaults

KEYS = dict.fromkeys(("intent", "says", "values", "means", "defaults", "body"), RAW)
INTENTS_MAX = 4  # of one type: its own, and those it may be translated as
TERMS_MAX = 60
PART = "/"  # failures/text is a field of each item that failures lists

Words = dict[str, tuple[Any, ...]]  # word → the values that stand for it; the first is written, all are read


def with_semantics(value: TomlValue, own: Mapping[str, MessageType], dialect: Dialect) -> dict[str, MessageType]:
    """The types of the file with their semantics; `value` is the table of all types."""
    types: dict[str, MessageType] = {}
    taken: dict[tuple[Any, ...], str] = {}
    for name, type_ in own.items():
        place, semantics = value.at(name), NO_SEMANTICS
        if not place.has("intent"):
            for key in filter(place.has, KEYS):
                place.at(key).flaw('has no effect without an intent: add one, such as intent = "progress"')
        elif intents := _intents(place.at("intent")):
            semantics = _SemanticsReader(place, type_, dialect, intents).read()
            # The translation into this dialect could not choose between two types of the same intent and words.
            means = sorted(item for item in semantics.means.items() if item[0] in INTENTS[intents[0]].terms)
            other = taken.setdefault((intents[0], *means), name)
            if other != name:
                say = f"{other} means {intents[0]} already: keep one of them, or tell them apart by means"
                place.at("intent").flaw(say)
        types[name] = type_._replace(semantics=semantics)
    return types


def _intents(value: TomlValue) -> tuple[str, ...]:
    if value.value == []:
        value.flaw("name at least one intent")
    intents: list[str] = []
    for item in value.one_or_more(INTENTS_MAX):
        intent = item.choice(INTENTS)
        if intent in intents:
            item.flaw(f"{intent} is there twice")
        elif intent is not None:
            intents.append(intent)
    return tuple(intents)


def _has_opposites(term: Term, words: Collection[str]) -> bool:
    """Whether these contain both words of a pair that must stay distinct, such as approval and rejection."""
    return bool(term.apart) and all(word in words for word in term.apart)


class _SemanticsReader:
    """Reads the semantics of one type, whose table is `place`."""

    def __init__(self, place: TomlValue, type_: MessageType, dialect: Dialect, intents: tuple[str, ...]) -> None:
        self.place, self.type, self.dialect, self.intents = place, type_, dialect, intents
        self.terms = {name: term for intent in reversed(intents) for name, term in INTENTS[intent].terms.items()}
        self.decisive = INTENTS[intents[0]].turns_on  # terms that must be expressed, each of their words by a value

    def read(self) -> Semantics:
        means, body = self.read_means(), self.read_body()
        says = self.read_says({*means, *([body] if body else ())})
        values = self.read_values(says)
        for term in self.decisive:
            if term not in says and term not in means and term != body:
                words = self.terms[term].words
                itself = f' or means = {{ {term} = "{words[0]}" }} if the type alone says it' if words else ""
                say = (
                    f"{self.intents[0]} turns on its {term}, and no field says it: add says = {{ {term} = … }}{itself}"
                )
                self.place.at("intent").flaw(say)
        defaults = read_defaults(self.place, self.type, self.dialect)
        said = {self.dialect.locate(self.type, name) for name in says.values()}
        for steps in fields_without_value(self.type, self.dialect, said, defaults):
            steps = steps[1:] if steps[0] == self.dialect.payload else steps
            name, lost = ".".join(steps), "what others list there is lost"
            effect = lost if EACH in name else "what others send reaches your readers as markdown"
            say = f"{name} is required, and no other dialect says it: give it a value in defaults, or {effect}"
            self.place.sheet.remark((*self.place.path, "fields", steps[0].removesuffix(EACH)), say)
        semantics = Semantics(intents=self.intents, terms=says, words=values, means=means, defaults=defaults, body=body)
        return self.with_work_action(semantics)

    def with_work_action(self, semantics: Semantics) -> Semantics:
        """With the first work action of the intents whose terms the type has; without one it has no work rules."""
        terms, reply_to = dict(semantics.terms), self.dialect.wire.reply_to
        if reply_to is not None and "request" in self.terms:
            terms.setdefault("request", reply_to)
        if semantics.body is not None:
            terms[semantics.body] = BODY_KEY
        # An answer is always checked: a reader may get it as an approval, even if it is the second intent.
        intents = sorted(self.intents, key=lambda intent: intent != "answer")
        works = (work for intent in intents for work in WORK.get(intent, ()))
        work = next((work for work in works if terms.keys() >= set(work.needs)), None)
        if work is None:
            return semantics
        names = self.work_names(work.names, terms)
        words = {name: work.words.get(name, {}) for name in names}
        return semantics._replace(
            action=work.action,
            field_map={name: terms[term] for name, term in names.items() if term in terms},
            spelling={
                name: _spelling(semantics.words.get(term), words[name], self.terms[term])
                for name, term in names.items()
                if words[name] and term in terms
            },
            fixed={
                name: words[name].get(semantics.means[term][0], semantics.means[term][0])
                for name, term in names.items()
                if term in semantics.means
            },
        )

    def work_names(self, names: str, terms: Mapping[str, str]) -> dict[str, str]:
        """Names of the work rules with their terms; names of lists only where the field is one."""
        pairs = [(pair.partition("=")[0], pair.rpartition("=")[2].removesuffix(EACH)) for pair in names.split()]
        lists = {term for term, name in terms.items() if (field := self.field(name)) and isinstance(field.kind, ListOf)}
        return {name.removesuffix(EACH): term for name, term in pairs if not name.endswith(EACH) or term in lists}

    def is_term(self, value: TomlValue, term: str) -> bool:
        if term in self.terms:
            return True
        of = " or ".join(self.intents)
        if not self.terms:
            value.flaw(f"{of} has no terms: the type alone says it all")
            return False
        meant = meant_or_choices(term, self.terms)
        all_terms = f" {of} has {', '.join(self.terms)}" if meant.startswith("did you mean") else ""
        value.flaw(f"{shown(term)} is no term of {of}; {meant}{all_terms}")
        return False

    # --- means and body: terms that no field expresses ----------------------------------------------------------------

    def read_means(self) -> dict[str, tuple[str, ...]]:
        means: dict[str, tuple[str, ...]] = {}
        table = self.place.get("means")
        for term, value in table.entries(TERMS_MAX) if table else ():
            if not self.is_term(value, term):
                continue
            words = self.terms[term].words
            if not words:
                worded = ", ".join(name for name, term in self.terms.items() if term.words) or "there is none here"
                value.flaw(f"only a term whose values have names can be meant: {worded}")
                continue
            chosen = [word for item in value.one_or_more(len(words)) if (word := item.choice(words)) is not None]
            if chosen:
                means[term] = tuple(dict.fromkeys(chosen))
                if _has_opposites(self.terms[term], chosen):
                    both = " and ".join(self.terms[term].apart)
                    value.flaw(f"a type cannot mean both {both}: one would look like the other")
            elif value.value == []:
                value.flaw("name at least one word")
        return means

    def read_body(self) -> str | None:
        value = self.place.get("body")
        if value is None:
            return None
        if self.dialect.form != "front-matter":
            value.flaw('only messages with form = "front-matter" have a body')
            return None
        term = value.line(64)
        if term is None or not self.is_term(value, term):
            return None
        if PART in term or self.terms[term].words or term in self.decisive:
            value.flaw(f"{term} is no text, which is all that a body is")
            return None
        return term

    # --- terms and their fields ---------------------------------------------------------------------------------------

    def field(self, name: str) -> Field | None:
        """The field of that short name, if only objects with declared fields enclose it."""
        steps, whole = self.dialect.locate(self.type, name), self.dialect.fields_of(self.type)
        for length in range(1, len(steps)):
            outer = kind_at(whole, steps[:length])
            if outer is None or not isinstance(outer.kind, Group):
                return None
        return None if steps == (TYPE,) else kind_at(whole, steps)

    def field_names(self) -> list[str]:
        """Short names, and those one level inside objects."""
        names: list[str] = []
        for name, field in {**self.type.fields, **self.dialect.envelope}.items():
            inner = field.kind.fields if isinstance(field.kind, Group) else ()
            names += [name, *(f"{name}.{inner_name}" for inner_name in inner)]
        return names

    def read_says(self, elsewhere: set[str]) -> dict[str, str]:
        """Term → field: those that the file names, then fields with the name of a term."""
        says, silent = self.read_named(elsewhere)
        wire = self.dialect.wire
        for term in self.terms:
            for name in (term, wire.task if term == "task" else None):
                if name is None or PART in term or term in says or term in silent or term in elsewhere:
                    continue
                field = self.field(name)
                is_possible = field is not None and name != wire.version and self.kind_wanted(term, field) is None
                if is_possible and self.also_says(says, term, name) is None:
                    says[term] = name
        for term, name in list(says.items()):
            part, field = f"{term}{PART}text", self.field(name)
            if part not in says and field and isinstance(field.kind, ListOf) and isinstance(field.kind.item, Text):
                says[part] = name + EACH
        return says

    def read_named(self, elsewhere: set[str]) -> tuple[dict[str, str], set[str]]:
        says: dict[str, str] = {}
        silent: set[str] = set()
        table = self.place.get("says")
        for term, value in table.entries(TERMS_MAX) if table else ():
            if not self.is_term(value, term):
                continue
            if value.value is False:
                silent.add(term)  # the field of that name means something else
            elif term in elsewhere:
                value.flaw(f"{term} is said by means or by the body already; say it once")
            elif (name := value.line()) is not None and self.check_field(value, term, name):
                other = self.also_says(says, term, name)
                if other is not None:
                    value.flaw(f"{name} says {other} already, and a field says one term of an intent")
                else:
                    says[term] = name
        return says, silent

    def also_says(self, says: Mapping[str, str], term: str, name: str) -> str | None:
        """Another term of the same intent that the field expresses."""
        intents = [INTENTS[intent].terms for intent in self.intents]
        others = (other for other, field in says.items() if field == name)
        return next((other for other in others if any(term in terms and other in terms for terms in intents)), None)

    def kind_wanted(self, term: str, field: Field) -> str | None:
        """The kinds that can express the term, if this field has none of them."""
        kind, words = field.kind, self.terms[term].words
        if words and not isinstance(kind, OneOf | Boolean | Text | Anything):
            return "an enum, a boolean or a text"
        if not words and term in self.decisive and not isinstance(kind, Boolean):
            return "a boolean"
        return "a field, not by an object" if isinstance(kind, Group) else None

    def check_field(self, value: TomlValue, term: str, name: str) -> bool:
        if PART in term:
            return self.check_part(value, term, name)
        field = self.field(name)
        if EACH in name or (field is None and name in self.field_names()):
            fix = f"name the list itself, {name.removesuffix(EACH)}" if name.endswith(EACH) else "rename the field"
            value.flaw(f"a dot leads into an object here, and [] to what a list holds: {fix}")
        elif field is None:
            value.unknown(name, self.field_names(), f"there is no field {shown(name)}")
        elif isinstance(field.kind, Group):
            inside = ", ".join(f"{name}.{inner}" for inner in list(field.kind.fields)[:3])
            value.flaw(f"{name} is an object: name a field of it{', such as ' + inside if inside else ''}")
        elif wanted := self.kind_wanted(term, field):
            value.flaw(f"{term} is said by {wanted}, and {name} is none")
        elif name == self.dialect.wire.version:
            value.flaw(f"{name} holds the version of the dialect and cannot say anything else")
        else:
            return True
        return False

    def check_part(self, value: TomlValue, term: str, name: str) -> bool:
        whole = term.partition(PART)[0]
        given = self.place.value["says"].get(whole, whole)
        parent = given if isinstance(given, str) else None
        before, brackets, step = name.partition(EACH)
        listed = self.field(parent) if parent is not None else None
        item = listed.kind.item if listed is not None and isinstance(listed.kind, ListOf) else None
        if item is None or before != parent or not brackets:
            value.flaw(f"name a field of what {whole} lists, such as {whole if parent is None else parent}[].name")
            return False
        if step == "" and not isinstance(item, Group):
            return True
        inner = item.fields if isinstance(item, Group) else {}
        if not step.startswith(".") or step[1:] not in inner:
            value.unknown(step[1:], inner, f"what {parent} lists has no field {shown(step[1:])}")
            return False
        return True

    # --- values: words and the values that stand for them -------------------------------------------------------------

    def read_values(self, says: Mapping[str, str]) -> dict[str, Words]:
        """The words of every term that an enum or a boolean expresses."""
        fields = {term: field for term, name in says.items() if (field := self.field(name)) is not None}
        table = self.place.get("values")
        given = dict(table.entries(len(self.terms) + 1)) if table else {}
        for term, value in given.items():
            if term not in fields:
                value.unknown(term, fields, f"no field says {shown(term)}")
            elif not self.terms[term].words:
                value.flaw(f"the values of {term} have no names in other dialects: they are passed on as they stand")
            elif choices_of(fields[term].kind) is None and fields[term].kind is not UNREAD:
                value.flaw("only an enum or a boolean has values that can be named")
        values: dict[str, Words] = {}
        for term, field in fields.items():
            choices, words = choices_of(field.kind), self.terms[term].words if term in self.terms else ()
            if choices is None or not words:
                continue
            place = given.get(term)
            by_name = {word: (word,) for word in words if word in choices}
            values[term] = by_name if place is None else _read_words(place, words, choices)
            if values[term] or place is None or not place.value:  # otherwise already reported
                self.check_words(place or self.place, term, values[term], field)
        return values

    def check_words(self, place: TomlValue, name: str, values: Words, field: Field) -> None:
        term, is_decisive = self.terms[name], name in self.decisive
        silent = [word for word in term.words if word not in values]
        if silent and (is_decisive or not values):
            example = f"values = {{ {name} = {{ {silent[0]} = … }} }}"
            place.flaw(f"say which value of {name} means {', '.join(silent)}: {example}")
        if _has_opposites(term, values):
            good, bad = term.apart
            for value in values[bad]:
                if value in values[good]:
                    place.flaw(f"{shown(value)} cannot stand for {good} and for {bad}: one would look like the other")
        if silent:
            effect = "what says so reaches your readers as markdown" if field.required else "your readers do not get it"
            place.remark(f"no value of {name} means {', '.join(silent)}: {effect}")
        used = {value for words in values.values() for value in words}
        if unused := [shown(value) for value in choices_of(field.kind) or () if value not in used]:
            effect = "what says so reaches others as markdown" if is_decisive else "it is lost on the way to others"
            place.remark(f"{', '.join(unused)} of {name} means none of {', '.join(term.words)}: {effect}")


def _read_words(place: TomlValue, words: tuple[str, ...], choices: tuple[Any, ...]) -> Words:
    def is_valid(item: TomlValue) -> bool:
        return (item.boolean() if choices == (True, False) else item.choice(choices)) is not None

    found: Words = {}
    for word, value in place.entries(len(words) + 1):
        if word not in words:
            value.unknown(word, words, f"{shown(word)} is none of the words")
        elif values := [item.value for item in value.one_or_more(VALUES_MAX) if is_valid(item)]:
            found[word] = tuple(dict.fromkeys(values))
    return found


def _spelling(
    written: Mapping[str, tuple[Any, ...]] | None, of_rules: Mapping[str, Any], term: Term
) -> dict[Any, tuple[Any, ...]]:
    """Value as the work rules have it → values of the field, the first to write. A value with several words is read as
    the bad one, which comes first."""
    written = written or {word: (word,) for word in term.words}
    spelling: dict[Any, tuple[Any, ...]] = {}
    for word in sorted(written, key=lambda word: (word,) != term.apart[1:]):
        of_rule = of_rules.get(word, word)
        spelling[of_rule] = (*spelling.get(of_rule, ()), *written[word])
    return spelling

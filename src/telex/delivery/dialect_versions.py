"""Resolution of dialect names and versions that an agent declares when it joins.

A version belongs to its dialect. The name of a family of dialects is resolved here and never stored, so that the
roster has only names of real dialects.
"""

from collections.abc import Container, Iterable

from telex.delivery.membership import dialect_unknown
from telex.delivery.routing import listed
from telex.dialects.registry import FAMILIES, PLAIN
from telex.dialects.schema import Dialect, MessageType, Tree
from telex.model.dialect_version import AT, PLUS, DialectChoice, choice_of
from telex.model.finding import Finding
from telex.model.json_path import ROOT
from telex.model.limits import Limits
from telex.model.suggestion import nearest


def understood(text: str, dialects: Iterable[Dialect], limits: Limits) -> str | Finding:
    """The choice as it is written down: with the dialect's own name, where it was called by its family's."""
    known = {dialect.name: dialect for dialect in (*dialects, PLAIN)}
    choice = choice_of(text)
    versions = [dialect for dialect in known.values() if dialect.base == choice.dialect]  # the default one first
    family = [known[name] for name in FAMILIES.get(choice.dialect, ()) if name in known]
    dialect = next((dialect for dialect in (*versions, *family) if dialect.version == choice.version), None)
    if choice.version is None and versions:
        dialect = versions[0]
    found = text[: limits.found_characters_max]
    if dialect is None and not versions and not family:
        return dialect_unknown(choice.dialect[: len(found)], [*known])
    if dialect is None:
        return _no_version(choice, family or [*versions, *_relatives(versions[0], known)], found)
    later = later_spellings(dialect)
    unknown = next((spelling for spelling in choice.spellings if spelling not in later), None)
    if unknown is not None:
        return _no_spelling(choice, dialect, unknown, later, found)
    told = choice.version is not None and not set(choice.version) & set(" \t")  # a store lists them with blanks between
    return choice._replace(dialect=dialect.base, version=choice.version if told else None).text


def later_spellings(dialect: Dialect) -> list[str]:
    """Names that fields of this dialect also go by."""
    found = (name for type_ in dialect.types.values() for name in respellings(type_).values())
    return list(dict.fromkeys(found))


def respellings(type_: MessageType) -> dict[str, str]:
    """A type's fields that have a later name, and that name."""
    return {name: field.later_spelling for name, field in type_.fields.items() if field.later_spelling is not None}


def spelt_for(spellings: Container[str], tree: Tree, dialect: Dialect, type_: MessageType) -> Tree | None:
    """The message with each field under the name that its reader has chosen for it. None: it has them all."""
    later = respellings(type_)
    inside = tree.get(dialect.payload) if dialect.payload else tree
    if not later or not isinstance(inside, dict):
        return None
    wanted = {name: later[name] for name in later if later[name] in spellings}
    wanted |= {spelling: name for name, spelling in later.items() if spelling not in spellings}
    if not any(name in inside and wanted[name] not in inside for name in wanted):
        return None
    renamed = {name if wanted.get(name, name) in inside else wanted[name]: value for name, value in inside.items()}
    return {**tree, dialect.payload: renamed} if dialect.payload else renamed


def _relatives(dialect: Dialect, known: dict[str, Dialect]) -> list[Dialect]:
    """The other dialects of its family."""
    names = [name for family in FAMILIES.values() if dialect.name in family for name in family]
    return [known[name] for name in names if name in known and known[name].base != dialect.base]


def _no_version(choice: DialectChoice, there: list[Dialect], found: str) -> Finding:
    """To whoever asks for another version than there is. Of a family the right one may go by another name."""
    supported = [dialect.base + AT + dialect.version for dialect in there]
    exact = next((dialect.base + AT + dialect.version for dialect in there if dialect.version == choice.version), None)
    meant = exact or nearest(found, supported) or supported[0]
    if not choice.version:
        say = f"Say which version of {choice.dialect} is read: {' or '.join(supported)}."
    else:
        say = f"Take {meant}: the team has no version {choice.version[:20]} of {choice.dialect}."
    return Finding("version-unknown", ROOT, say, expected=listed(supported), found=found, nearest=meant)


def _no_spelling(choice: DialectChoice, dialect: Dialect, unknown: str, later: list[str], found: str) -> Finding:
    name = dialect.base + AT + dialect.version
    supported = [name, *(name + PLUS + one for one in later)]
    close = nearest(unknown, later)
    meant = name + PLUS + close if close else name
    say = f"Take {meant}: no field of {dialect.name} is ever called {unknown[: len(found)]}."
    return Finding("version-unknown", ROOT, say, expected=listed(supported), found=found, nearest=meant)

"""Python names of a dialect: the classes of its types, and the keywords and attributes of their fields.

The message classes and their stubs are made from the same shapes, so that they cannot differ.
"""

import keyword
import re
from collections.abc import Collection, Iterable, Mapping

from telex.dialects.schema import (
    BODY_KEY,
    NO_MAP,
    NOTE,
    Dialect,
    Field,
    Fields,
    Group,
    Kind,
    ListOf,
    MapOf,
    MessageType,
    OneOf,
)
from telex.model.named_tuple import NamedTuple

BODY = "body"
# Methods of the classes, and names that the annotations of a stub use.
_METHODS = ("encode", "from_message", "to_dict", "self")
_BUILT_IN_NAMES = ("bool", "bytes", "classmethod", "dict", "float", "int", "list", "object", "property", "str")
_RESERVED = frozenset((*_METHODS, *_BUILT_IN_NAMES))
_CONSTANTS = ("False", "None", "True")
_STUB_CLASSES = ("Any", "ClassVar", "Literal", "Mapping", "Section", "Self", "Sequence", "TypedMessage")
RESERVED_CLASSES = (*_CONSTANTS, *_STUB_CLASSES)
_WORD_STARTS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class Attribute(NamedTuple):
    """A field of a class."""

    wire: str
    kind: Kind
    section: str | None = None  # class of the objects in its value
    required: bool = False  # the constructor needs it
    default: str | None = None  # a constant, which need not be given


class Keyword(NamedTuple):
    """A keyword of a constructor: the Python names that lead to the attribute, and the wire names to the field."""

    names: tuple[str, ...]
    path: tuple[str, ...]
    attribute: Attribute


class ClassShape(NamedTuple):
    """A message class, or the class of an object in it."""

    attributes: Mapping[str, Attribute]
    keywords: Mapping[str, Keyword]
    sections: Mapping[str, "ClassShape"] = NO_MAP  # of a message: the classes of its objects, inner ones first


# --- names -----------------------------------------------------------------------------------------------------------


def class_names(names: Iterable[str], reserved: Collection[str] = RESERVED_CLASSES) -> dict[str, str]:
    """A unique class name for each name, even if two differ only in characters that a class name cannot have."""
    classes: dict[str, str] = {}
    for name in names:
        classes[name] = _unique(_camel_case(name), {*reserved, *classes.values()})
    return classes


def _camel_case(name: str) -> str:
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+", name)
    joined = "".join(word.capitalize() for word in words)
    return joined if joined[:1].isalpha() else f"Type{joined}"


def attribute_names(names: Iterable[str], reserved: Collection[str] = ()) -> dict[str, str]:
    """The Python name of each field: `taskId` becomes task_id, `from` from_, `call-sign` call_sign."""
    pythonic: dict[str, str] = {}
    for name in names:
        pythonic[name] = _unique(_snake_case(name), {*reserved, *pythonic.values()})
    return pythonic


def _snake_case(name: str) -> str:
    if not name.isascii():
        from unicodedata import normalize

        name = normalize("NFKC", name)  # as Python does with the names in a program
    words = re.sub(r"\W+", "_", _WORD_STARTS.sub("_", name)).strip("_").lower()
    words = words if words.isidentifier() else re.sub(r"[^a-z0-9_]+", "_", f"field_{words}").strip("_")
    return f"{words}_" if keyword.iskeyword(words) or words in _RESERVED else words


def _unique(name: str, taken: Collection[str]) -> str:
    while name in taken:
        name += "_"
    return name


def module_name(dialect: Dialect) -> str:
    return re.sub(r"\W", "_", dialect.slug)


# --- shapes ----------------------------------------------------------------------------------------------------------

_Sections = dict[str, ClassShape]


def shape_of(dialect: Dialect, type_: MessageType) -> ClassShape:
    """The class of a message type. Keywords are the type's own fields, then the body, then the envelope's fields."""
    sections: _Sections = {}
    filled = filled_fields(dialect)
    is_markdown = dialect.form == "front-matter"
    own = _attributes(type_.fields, sections, filled=filled, reserved=(BODY,) if is_markdown else ())
    keywords = {name: Keyword((name,), (attribute.wire,), attribute) for name, attribute in own.items()}
    outer = own
    if dialect.payload is not None:
        [name] = attribute_names([dialect.payload]).values()
        section = _unique(_camel_case(dialect.payload), (*RESERVED_CLASSES, *sections))
        sections[section] = ClassShape(own, keywords)
        outer = {name: Attribute(dialect.payload, Group(type_.fields), section, required=True)}
        keywords = {
            word: Keyword((name, word), (dialect.payload, attribute.wire), attribute) for word, attribute in own.items()
        }
    if is_markdown:
        outer[BODY] = Attribute(BODY_KEY, NOTE, default="")
        keywords[BODY] = Keyword((BODY,), (BODY_KEY,), outer[BODY])
    envelope = _attributes(dialect.envelope, sections, filled=filled, reserved=tuple(outer))
    for name, attribute in envelope.items():
        word = _unique(f"envelope_{name}" if name in keywords else name, keywords)
        keywords[word] = Keyword((name,), (attribute.wire,), attribute)
    ordered = dict(sorted(keywords.items(), key=lambda item: not item[1].attribute.required))
    return ClassShape(envelope | outer, ordered, sections)


def filled_fields(dialect: Dialect) -> frozenset[str]:
    """The fields that a message gets when it is sent, where its sender has not set them."""
    wire = dialect.wire
    known = (wire.id, wire.sender, wire.recipient, wire.timestamp, wire.version, wire.reply_to)
    correlation = wire.correlation if wire.correlation in dialect.envelope else None
    return frozenset(name for name in (*known, correlation) if name is not None)


def _attributes(
    fields: Fields,
    sections: _Sections,
    words: tuple[str, ...] = (),
    *,
    filled: Collection[str] = (),
    reserved: Collection[str] = (),
) -> dict[str, Attribute]:
    names = attribute_names(fields, reserved)
    return {
        names[wire]: _attribute(wire, field, _section(field.kind, sections, (*words, wire)), is_filled=wire in filled)
        for wire, field in fields.items()
    }


def _attribute(wire: str, field: Field, section: str | None, *, is_filled: bool) -> Attribute:
    values = field.kind.values if isinstance(field.kind, OneOf) else ()
    constant = values[0] if field.required and len(values) == 1 else None
    return Attribute(wire, field.kind, section, field.required and not is_filled and constant is None, constant)


def _section(kind: Kind, sections: _Sections, words: tuple[str, ...]) -> str | None:
    """Add the class of the objects in a value of this kind. Its name; None if there are none with known fields."""
    if isinstance(kind, ListOf | MapOf):
        return _section(kind.item if isinstance(kind, ListOf) else kind.value, sections, (*words, "item"))
    if not isinstance(kind, Group) or not kind.fields:
        return None
    attributes = _attributes(kind.fields, sections, words)
    keywords = {name: Keyword((name,), (attribute.wire,), attribute) for name, attribute in attributes.items()}
    name = _unique(_camel_case("_".join(words)), (*RESERVED_CLASSES, *sections))
    sections[name] = ClassShape(attributes, keywords)
    return name

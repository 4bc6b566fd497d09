"""Message classes, made from the data of a dialect.

An object holds the message as the tree of its wire format; attributes read from it. Nothing is validated here: a send
does that.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any, ClassVar, Self, Unpack

from telex.dialects.python_names import ClassShape, class_names, module_name, shape_of
from telex.dialects.registry import VERSIONS
from telex.dialects.schema import TYPE, Dialect, Kind, ListOf, MapOf, MessageType, Tree, set_path
from telex.messages.content import Received, content_of
from telex.messages.envelope import EnvelopePlan, encode_tree, fill_envelope, plan_of
from telex.model.text import nearest
from telex.ports.bus import SendContext

if TYPE_CHECKING:
    from inspect import Signature

Reader = Callable[[Any], Any]


class Structure:
    """An object of a message, with its fields as attributes."""

    __slots__ = ("_tree",)
    _shape: ClassVar[ClassShape]
    _tree: Tree

    def __init__(self, **values: Any) -> None:
        self._tree = _tree_from(type(self), values)

    @classmethod
    def _over(cls, tree: Tree) -> Self:
        """An object with this tree, which is not copied."""
        made = cls.__new__(cls)
        made._tree = tree
        return made

    def to_dict(self) -> Tree:
        """The fields under their names in the message."""
        return deepcopy(self._tree)

    def __eq__(self, other: object) -> bool:
        return self._tree == other._tree if isinstance(other, Structure) else NotImplemented

    def __repr__(self) -> str:
        words = (f"{word}={value!r}" for word, value in _arguments(self))
        return f"{type(self).__qualname__}({', '.join(words)})"


class Section(Structure):
    """An object inside a message."""

    __slots__ = ()


class TypedMessage(Structure):
    """A message of one type. `TYPE` and `DIALECT` are its names in the wire format."""

    __slots__ = ("_written_at",)
    TYPE: ClassVar[str]
    DIALECT: ClassVar[str]
    _plan: ClassVar[EnvelopePlan]
    _written_at: float

    def __init__(self, **values: Any) -> None:
        tree = _tree_from(type(self), values)
        payload = self._plan.dialect.payload
        self._tree = {TYPE: self.TYPE, **({} if payload is None else {payload: {}}), **tree}
        self._written_at = time.time()

    @classmethod
    def from_message(cls, message: Received | bytes | str | dict[str, Any]) -> Self:
        """The typed form of a message: as received or stored, or its bytes, text or tree.

        Raises:
            InvalidValue: it is of another type, or cannot be parsed.
        """
        made = cls._over(content_of(message, cls._plan.dialect, cls._plan.type))
        made._written_at = time.time()
        return made

    def encode(self, **context: Unpack[SendContext]) -> bytes:
        """The message as it is sent: absent envelope fields are filled from the arguments, set ones stay.

        The timestamp is the time at which the object was made, so that a second call with the same id has the same
        bytes and a retry is recognised as a duplicate; `now` replaces it.
        """
        if unknown := context.keys() - SendContext.__annotations__.keys():
            raise TypeError(f"encode() has no keyword {', '.join(sorted(unknown))}")
        if context.get("now") is None:
            context["now"] = self._written_at
        return encode_tree(self._plan, fill_envelope(self._plan, self._tree, context))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TypedMessage):
            return NotImplemented
        return (self.DIALECT, self.TYPE, self._tree) == (other.DIALECT, other.TYPE, other._tree)


# --- construction ----------------------------------------------------------------------------------------------------


def _tree_from(kind: type[Structure], values: Mapping[str, Any]) -> Tree:
    keywords, name = kind._shape.keywords, kind.__qualname__
    for word in values:
        if word not in keywords:
            meant = nearest(word, keywords)
            hint = f"did you mean {meant!r}?" if meant else f"it has {', '.join(keywords)}"
            raise TypeError(f"{name}() has no keyword {word!r}; {hint}")
    missing = [word for word, keyword in keywords.items() if keyword.attribute.required and word not in values]
    if missing:
        raise TypeError(f"{name}() needs {', '.join(missing)}")
    tree: Tree = {}
    for word, (_, path, attribute) in keywords.items():
        value = values.get(word)
        value = attribute.default if value is None else value
        if value is not None or attribute.required:
            try:
                set_path(tree, path, _plain(value))
            except TypeError as error:
                raise TypeError(f"{name}({word}=…) {error}") from error
    return tree


def _plain(value: Any) -> Any:
    """A copy of the value without classes of this module, as JSON has it."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Structure):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    raise TypeError(f"takes text, numbers, lists and objects, not {type(value).__name__}")


def _arguments(structure: Structure) -> Iterator[tuple[str, Any]]:
    """The keywords that make this object, with their values."""
    for word, (names, _, attribute) in structure._shape.keywords.items():
        value: Any = structure
        for name in names:
            value = getattr(value, name, None)
        if value is not None and value != attribute.default:
            yield word, value


# --- classes ---------------------------------------------------------------------------------------------------------


class _Field:
    """Descriptor of an attribute, which cannot be set."""

    def __init__(self, wire: str, read: Reader | None) -> None:
        self._wire, self._read = wire, read

    def __get__(self, structure: Structure | None, _: type) -> Any:
        if structure is None:
            return self
        value = structure._tree.get(self._wire)
        return value if self._read is None or value is None else self._read(value)


class _LazySignature:
    """Descriptor of the signature of a constructor, for `help` and `inspect`."""

    def __get__(self, _: Structure | None, owner: type[Structure]) -> "Signature":
        from inspect import Parameter, Signature

        keywords = owner._shape.keywords.items()
        defaults = {word: Parameter.empty if keyword.attribute.required else None for word, keyword in keywords}
        return Signature([Parameter(word, Parameter.KEYWORD_ONLY, default=defaults[word]) for word in defaults])


Structure.__signature__ = _LazySignature()  # type: ignore[attr-defined]


def built_in_classes(module: str) -> dict[str, type[TypedMessage]]:
    """The classes of the dialect that has a module of this name."""
    [dialect] = (dialect for dialect in VERSIONS if module_name(dialect) == module.rpartition(".")[2])
    return classes_of(dialect, module)


def classes_of(dialect: Dialect, module: str) -> dict[str, type[TypedMessage]]:
    """The class of each type of the dialect, by its Python name."""
    names = class_names(dialect.types)
    return {
        names[type_.name]: _message_class(dialect, type_, names[type_.name], module) for type_ in dialect.types.values()
    }


def _message_class(dialect: Dialect, type_: MessageType, name: str, module: str) -> type[TypedMessage]:
    shape = shape_of(dialect, type_)
    sections: dict[str, type[Section]] = {}
    for section, inner in shape.sections.items():
        named = {"__qualname__": f"{name}.{section}", "__module__": module, "__slots__": (), "_shape": inner}
        sections[section] = type(section, (Section,), named | _descriptors(inner, sections))
    facts = {"TYPE": type_.name, "DIALECT": dialect.name, "_plan": plan_of(dialect, type_), "_shape": shape}
    named = {"__doc__": type_.purpose, "__module__": module, "__slots__": ()}
    return type(name, (TypedMessage,), named | facts | sections | _descriptors(shape, sections))


def _descriptors(shape: ClassShape, sections: Mapping[str, type[Section]]) -> dict[str, _Field]:
    return {
        name: _Field(
            attribute.wire, _reader(attribute.kind, sections[attribute.section]) if attribute.section else None
        )
        for name, attribute in shape.attributes.items()
    }


def _reader(kind: Kind, section: type[Section]) -> Reader:
    """From the value of a field to one with sections for its objects. What has another shape stays as it is."""
    match kind:
        case ListOf(item):
            inner = _reader(item, section)
            return lambda value: [inner(one) for one in value] if isinstance(value, list) else value
        case MapOf(item):
            inner = _reader(item, section)
            return lambda value: {key: inner(one) for key, one in value.items()} if isinstance(value, dict) else value
    return lambda value: section._over(value) if isinstance(value, dict) else value

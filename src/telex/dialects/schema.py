"""Schema of a dialect: one definition, as data, from which everything else is generated.

A dialect lists its envelope, its message types, who may send and receive each, and the rules that relate two fields.
The validator, the compiled decoders, the role matrix, the JSON schemas, the docs page and the prompts are all derived
from it, so they cannot disagree. It imports little, since each cold `telex check` loads it.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Literal, NamedTuple, Self, dataclass_transform

from telex.model.dialect_version import AT
from telex.model.finding import Severity

Priority = Literal["ESCALATION", "ERROR", "VALIDATION", "STATUS"]
PRIORITIES: tuple[Priority, ...] = ("ESCALATION", "ERROR", "VALIDATION", "STATUS")  # first is first served
Form = Literal["json", "front-matter", "text"]
Tree = dict[str, Any]  # a message as read: wire names, plain values

ANY = ("*",)  # every role of the dialect


@dataclass_transform(frozen_default=True)
class Record:
    """Immutable value with named fields. Its classes cost a tenth of a NamedTuple at import, most of a cold check.

    Defaults are class attributes. Only mypy checks the arguments.
    """

    _fields: ClassVar[tuple[str, ...]]

    def __init_subclass__(cls) -> None:
        cls._fields = cls.__match_args__ = tuple(cls.__dict__.get("__annotations__", ()))  # type: ignore[misc, attr-defined] # noqa: RUF063

    def __init__(self, *values: Any, **named: Any) -> None:
        self.__dict__.update(zip(self._fields, values, strict=False), **named)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def _replace(self, **changes: Any) -> Self:
        assert changes.keys() <= set(self._fields), f"{type(self).__name__} has no such field: {changes}"
        return type(self)(**(self.__dict__ | changes))

    def _values(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self._fields)

    def __eq__(self, other: object) -> bool:
        return self is other or (type(self) is type(other) and self._values() == other._values())

    def __hash__(self) -> int:
        return hash((type(self), self._values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self._values()))})"


class Text(Record):
    """A string. One that must say something is warned about when it is empty."""

    may_be_empty: bool = False
    characters_max: int | None = None
    printable: bool = False  # an identifier: no control or invisible characters


class Integer(Record):
    at_least: int | None = None
    at_most: int | None = None


class Number(Record):
    at_least: float | None = None
    at_most: float | None = None


class Boolean(Record):
    """True or false; the field's name says the rest."""


class OneOf(Record):
    """One of these spellings, to the letter. A single value is a constant."""

    values: tuple[str, ...]


class Timestamp(Record):
    """A point in time, ISO 8601 with a zone."""


class Anything(Record):
    """Any value: the page leaves it open."""


class ListOf(Record):
    item: "Kind"


class MapOf(Record):
    """An object whose keys the sender chooses."""

    value: "Kind"


class Group(Record):
    """An object with fields of its own."""

    fields: "Fields"


Kind = Text | Integer | Number | Boolean | OneOf | Timestamp | Anything | ListOf | MapOf | Group


class Field(Record):
    kind: Kind
    required: bool = True
    later_spelling: str | None = None  # another name this field is read under, with a note


Fields = Mapping[str, Field]
NO_FIELDS: Fields = {}
NO_CHAIN: Mapping[str, str] = {}
NO_TRADES: Mapping[str, str] = {}
NO_SECTION_RULES: "Mapping[str, SectionRule]" = {}


def fields(required: Mapping[str, Kind] | None = None, optional: Mapping[str, Kind] | None = None) -> Fields:
    """The two columns of a dialect page's table, in its order."""
    both = {name: Field(kind) for name, kind in (required or {}).items()}
    return both | {name: Field(kind, required=False) for name, kind in (optional or {}).items()}


def group(required: Mapping[str, Kind] | None = None, optional: Mapping[str, Kind] | None = None) -> Group:
    return Group(fields(required, optional))


def one_of(*values: str) -> OneOf:
    return OneOf(values)


TEXT = Text()
NOTE = Text(may_be_empty=True)  # text that may well have nothing to say
TEXTS = ListOf(TEXT)
COUNT = Integer(at_least=0)
BOOLEAN = Boolean()
MOMENT = Timestamp()
OPEN = MapOf(Anything())  # an object the page does not describe


class HardRule(Record):
    """What relates two fields. Names in `broken_when` are looked up in the type's own fields, then the envelope's."""

    code: str
    broken_when: str  # an expression, see dialects/rule_language.py
    path: str  # the field to change, by name
    say: str  # one sentence that tells the sender what to do
    severity: Severity = "refusal"
    expected: str | None = None


COMPLETE_WITHOUT_COMMIT = HardRule(
    code="complete-without-commit",
    broken_when="status == 'complete' and len(commit) == 0",
    path="commit",
    say="Give the commit that completes the task, or say status 'partial'.",
    expected="a commit hash",
)


class FieldDefault(Record):
    """A value that the page lets the sender leave out, and what it then is."""

    path: str
    when: str  # an expression; the first filling that holds is taken
    value: Any


class SectionRule(Record):
    """When a section of the body is required, and what counts as it beside its heading."""

    words: tuple[str, ...] = ()  # a line or sentence that begins with one of these, or with the section's name
    when: str = ""  # an expression; empty: always


class Action(Record):
    """What a message does to the work, and the fields with its values.

    The work rules have their own names for values, independent of any dialect: `field_map` has the field of each, by
    its short name as in a hard rule.
    """

    action: str  # a key of work/actions.CHAPTERS
    field_map: Mapping[str, str]


def action(name: str, names: str, more: Mapping[str, str] | None = None) -> Action:
    """An action from a list of names, such as `plan=plan_id tasks`: without = the field has the same name."""
    pairs = (pair.partition("=") for pair in names.split())
    return Action(name, {own: field or own for own, _, field in pairs} | dict(more or {}))


# Actions and intents of messages that decide something: they count only when the whole text is that message.
_DECIDING = frozenset(
    {
        "answer",
        "assign",
        "audit",
        "close",
        "commit",
        "contract",
        "dispatch",
        "move",
        "quality",
        "release",
        "review",
        "stop",
    }
    | {"stopped", "verdict"}
)


class Semantics(Record):
    """What a message is to readers of other dialects, as a user's file says it. The rules of the work do not look here.

    The built-in dialects have rows in the lexicon instead, which know more ways of saying things.
    """

    intents: tuple[str, ...]  # what it is, then what it may pass for where that is not known
    says: Mapping[str, str]  # term → the field that says it, by its short name as in a hard rule
    values: Mapping[str, Mapping[str, tuple[Any, ...]]]  # term → word → as it is written here; the first is written
    means: Mapping[str, tuple[str, ...]]  # term → what the type itself says of it, the plainest first
    defaults: Mapping[str, Any]  # a field's path → what stands there when nobody said anything
    body: str | None = None  # the term that the markdown body says; front matter only


class MessageType(Record):
    name: str
    purpose: str
    senders: tuple[str, ...]
    receivers: tuple[str, ...]
    priority: Priority
    fields: Fields
    example: Tree  # a whole message that passes with no finding
    reply: str | None = None  # the type that answers this one
    rules: tuple[HardRule, ...] = ()
    fillings: tuple[FieldDefault, ...] = ()
    sections: tuple[str, ...] = ()  # parts that the page asks for in a markdown body
    section_rules: Mapping[str, SectionRule] = NO_SECTION_RULES  # a section without one is a heading, in every message
    body_purpose: str = ""  # what the page asks for in a markdown body, in words
    body_example: str = ""  # front matter only
    deed: Action | None = None
    meaning: Semantics | None = None

    def __repr__(self) -> str:
        return f"<message type {self.name}>"

    @property
    def headings(self) -> tuple[str, ...]:
        """Sections that every message of the type has as headings."""
        return tuple(name for name in self.sections if name not in self.section_rules)

    @property
    def decides(self) -> bool:
        """Is it more than a report: an approval, a verdict, a contract, a move, a commit, a shutdown, an assignment?"""
        if self.deed is not None and self.deed.action == "signal":
            return self.priority == "VALIDATION"  # the verdicts among the signals
        means = (self.deed.action,) if self.deed is not None else self.meaning.intents if self.meaning else ()
        return not _DECIDING.isdisjoint(means)


class EnvelopeFields(NamedTuple):
    """Where the envelope keeps what the bus needs to know; None where the dialect has no such field."""

    id: str | None = None
    correlation: str | None = None
    sender: str | None = None
    recipient: str | None = None
    timestamp: str | None = None
    version: str | None = None
    reply_to: str | None = None
    task: str | None = None  # within the type's own fields: what the message is about


class FlatForm(Record):
    """Types that a dialect with a payload also reads without one, since other tools deliver them so."""

    dialect: "Dialect"  # which fields they need, once they are wrapped
    renamed: Mapping[str, Mapping[str, str]]  # type → name in the flat message → field
    told_by: Mapping[str, tuple[str, ...]]  # type → fields without which it is no flat message


class Dialect(Record):
    name: str  # with @ and its version, if that is not the default one
    version: str
    purpose: str
    form: Form
    roles: tuple[str, ...]
    types: Mapping[str, MessageType]
    envelope: Fields = NO_FIELDS  # beside `type`, which every message has
    payload: str | None = None  # the envelope's field that holds the type's own fields; None where they lie flat
    wire: EnvelopeFields = EnvelopeFields()
    rules: tuple[HardRule, ...] = ()  # of every type
    addresses: Literal["roles", "names"] = "roles"  # what the sender and recipient fields hold
    chain: Mapping[str, str] = NO_CHAIN  # who escalates to whom
    extends: str | None = None  # the built-in dialect that a user's own, or another version, was built on
    trades: Mapping[str, str] = NO_TRADES  # role → what it does, one of those in `intents`
    flat: FlatForm | None = None

    def __repr__(self) -> str:
        return f"<dialect {self.title}>"

    @property
    def base(self) -> str:
        """The name that all its versions share."""
        return self.name.partition(AT)[0]

    @property
    def title(self) -> str:
        return f"{self.base} {self.version}"

    @property
    def stated_version(self) -> str:
        """The version that its messages state, which may be that of the version it extends."""
        field = self.envelope.get(self.wire.version or "")
        states = field.kind.values if field is not None and isinstance(field.kind, OneOf) else ()
        return self.version if not states or self.version in states else states[0]

    @property
    def slug(self) -> str:
        """Its name in file names and links."""
        return self.name.replace(AT, "-")

    def fields_of(self, type_: MessageType) -> Fields:
        """The whole message as one set of fields, `type` first, the way it stands on the wire."""
        whole: dict[str, Field] = {TYPE: Field(OneOf((type_.name,)))}
        whole |= self.envelope
        if self.payload is None:
            return whole | dict(type_.fields)
        return whole | {self.payload: Field(Group(type_.fields))}

    def locate(self, type_: MessageType, name: str) -> tuple[str, ...]:
        """The path from the message's top to a field that a rule calls by its short name."""
        first, *rest = name.split(".")
        inside = self.payload is not None and first.removesuffix("[]") in type_.fields
        return (self.payload, first, *rest) if inside and self.payload else (first, *rest)


TYPE = "type"


def types_by_name(*types: MessageType) -> dict[str, MessageType]:
    named = {type_.name: type_ for type_ in types}
    assert len(named) == len(types), "two types of one name"
    return named


def has_to_be_chosen(kind: Kind) -> bool:
    """Can nobody but the sender say what stands there? A text may be unknown and a list empty; a choice is neither."""
    match kind:
        case OneOf(values):
            return len(values) > 1
        case Boolean() | Anything() | Group():
            return True
    return False


def choices_of(kind: Kind) -> tuple[Any, ...] | None:
    """All that may stand in a field of this kind, where that is a choice."""
    match kind:
        case OneOf(values):
            return values
        case Boolean():
            return (True, False)
    return None


def kind_at(all_fields: Fields, path: tuple[str, ...]) -> Field | None:
    """The field a path leads to, through groups, maps and (marked []) lists; None when there is none."""
    field: Field | None = None
    inner: Fields | Kind = all_fields
    for step in path:
        name, listed = step.removesuffix("[]"), step.endswith("[]")
        if isinstance(inner, MapOf):
            field = Field(inner.value, required=False)
        elif isinstance(inner, Mapping):
            field = inner.get(name)
        else:
            return None
        if field is None:
            return None
        kind: Kind = field.kind
        if listed:
            if not isinstance(kind, ListOf):
                return None
            kind = kind.item
        inner = kind.fields if isinstance(kind, Group) else kind
        field = field._replace(kind=kind) if listed else field
    return field


def walk_kinds(all_fields: Fields, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Field]]:
    """Every field at every depth, parents first; the items of a list under a step that ends in []."""
    for name, field in all_fields.items():
        yield (*path, name), field
        kind, step = field.kind, name
        while isinstance(kind, ListOf):
            kind, step = kind.item, step + "[]"
        if isinstance(kind, Group):
            yield from walk_kinds(kind.fields, (*path, step))


def get_path(steps: tuple[str, ...]) -> Callable[[Any], Any]:
    """A way into a tree: None when something on the way is absent, a list where a step ends in []."""
    if len(steps) == 1 and not steps[0].endswith("[]"):
        only = steps[0]
        return lambda tree: tree.get(only)

    def get(tree: Any) -> Any:
        for index, step in enumerate(steps):
            if not isinstance(tree, Mapping) or step.removesuffix("[]") not in tree:
                return None
            tree = tree[step.removesuffix("[]")]
            if step.endswith("[]") and isinstance(tree, list):
                rest = get_path(steps[index + 1 :]) if steps[index + 1 :] else _itself
                return [rest(item) for item in tree]
        return tree

    return get


def set_path(tree: Tree, steps: tuple[str, ...], value: Any) -> None:
    """Set one place, making the objects on the way there."""
    *parents, name = steps
    for parent in parents:
        tree = tree.setdefault(parent, {})
    tree[name] = value


def _itself(value: Any) -> Any:
    return value

"""Schema of a dialect: envelope, message types, roles that may send and receive each, rules between fields.

The validator, the compiled decoders, the role matrix, JSON schemas, docs and prompts are generated from this data.
Every cold `telex check` imports this module, so it imports little.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from telex.model.finding import Severity
from telex.model.named_tuple import NamedTuple
from telex.model.roster import AT

Priority = Literal["ESCALATION", "ERROR", "VALIDATION", "STATUS"]
PRIORITIES: tuple[Priority, ...] = ("ESCALATION", "ERROR", "VALIDATION", "STATUS")  # highest first
Form = Literal["json", "front-matter", "text"]
Tree = dict[str, Any]  # a parsed message: wire names, plain values

ANY = ("*",)  # every role of the dialect


class Text(NamedTuple):
    """A string. An empty one is a warning unless `may_be_empty`."""

    may_be_empty: bool = False
    characters_max: int | None = None
    printable: bool = False  # an identifier: no control or invisible characters


class Integer(NamedTuple):
    at_least: int | None = None
    at_most: int | None = None


class Number(NamedTuple):
    at_least: float | None = None
    at_most: float | None = None


class Boolean(NamedTuple):
    pass


class OneOf(NamedTuple):
    """One of these strings. A single value is a constant."""

    values: tuple[str, ...]


class Timestamp(NamedTuple):
    """ISO 8601 with a zone."""


class Anything(NamedTuple):
    """Any value."""


class ListOf(NamedTuple):
    item: "Kind"


class MapOf(NamedTuple):
    """An object with keys that the sender chooses."""

    value: "Kind"


class Group(NamedTuple):
    """An object with these fields."""

    fields: "Fields"


Kind = Text | Integer | Number | Boolean | OneOf | Timestamp | Anything | ListOf | MapOf | Group


class Field(NamedTuple):
    kind: Kind
    required: bool = True
    later_spelling: str | None = None  # another accepted name, with a note


Fields = Mapping[str, Field]
NO_MAP: Mapping[str, Any] = {}


def fields(required: Mapping[str, Kind] | None = None, optional: Mapping[str, Kind] | None = None) -> Fields:
    """Required and optional fields, as in the table of a dialect page."""
    both = {name: Field(kind) for name, kind in (required or {}).items()}
    return both | {name: Field(kind, required=False) for name, kind in (optional or {}).items()}


def group(required: Mapping[str, Kind] | None = None, optional: Mapping[str, Kind] | None = None) -> Group:
    return Group(fields(required, optional))


def one_of(*values: str) -> OneOf:
    return OneOf(values)


TEXT = Text()
NOTE = Text(may_be_empty=True)
TEXTS = ListOf(TEXT)
COUNT = Integer(at_least=0)
BOOLEAN = Boolean()
MOMENT = Timestamp()
OPEN = MapOf(Anything())  # an object that the page does not define


class HardRule(NamedTuple):
    """A rule between fields. Names are looked up in the type's own fields, then in the envelope."""

    code: str
    broken_when: str  # an expression, see dialects/rule_language.py
    path: str  # the field to change, by name
    say: str  # one sentence: what the sender should do
    severity: Severity = "refusal"
    expected: str | None = None


COMPLETE_WITHOUT_COMMIT = HardRule(
    code="complete-without-commit", broken_when="status == 'complete' and len(commit) == 0", path="commit",
    say="Give the commit that completes the task, or say status 'partial'.", expected="a commit hash",
)  # fmt: skip


class FieldDefault(NamedTuple):
    """Default of an optional field."""

    path: str
    when: str  # an expression; the first default that applies is used
    value: Any


class SectionRule(NamedTuple):
    """Condition of a required section of the body, and texts that count as the section beside its heading."""

    words: tuple[str, ...] = ()  # a line or sentence that begins with one of these, or with the section's name
    when: str = ""  # an expression; empty: always


# Actions and intents of messages that decide something: such a message counts only without other text around it.
_DECIDING = frozenset({
    "answer", "assign", "audit", "close", "commit", "contract", "dispatch", "move", "quality", "release", "review",
    "stop", "stopped", "verdict",
})  # fmt: skip

BODY_KEY = "$body"  # in a tree: the markdown body, no field of the message


class Semantics(NamedTuple):
    """Meaning of a message type, for the work rules and for translation.

    Both have their own names for values, independent of any dialect; a field is given by its short name, as in a hard
    rule. A built-in type declares `action` and `field_map`, which serve both; its translation is in
    `translation/mapping_tables.py`. The file of a user's dialect declares the intents and terms, from which the
    action and its fields follow (`intents.WORK`).
    """

    action: str = ""  # what it does to the work: a key of `work/view.RULES`, or one without rules
    field_map: Mapping[str, str] = NO_MAP  # name of a value in the work rules → its field
    spelling: Mapping[str, Mapping[Any, tuple[Any, ...]]] = NO_MAP  # name → value in the rules → values of the field
    fixed: Mapping[str, Any] = NO_MAP  # name → value that every message of the type has
    intents: tuple[str, ...] = ()  # of a user's type: its own, then those it may be translated as
    terms: Mapping[str, str] = NO_MAP  # term of the intents → its field
    words: Mapping[str, Mapping[str, tuple[Any, ...]]] = NO_MAP  # term → word → values; the first is written
    means: Mapping[str, tuple[str, ...]] = NO_MAP  # term → words that the type implies, the most general first
    defaults: Mapping[str, Any] = NO_MAP  # path of a required field → its value where the original has none
    body: str | None = None  # term that the markdown body has; front matter only


NO_SEMANTICS = Semantics()


def action(name: str, names: str, more: Mapping[str, str] | None = None) -> Semantics:
    """Semantics of a built-in type from a list of names, such as `plan=plan_id tasks`: without = the field has the same
    name."""
    pairs = (pair.partition("=") for pair in names.split())
    return Semantics(name, {own: field or own for own, _, field in pairs} | dict(more or {}))


class MessageType(NamedTuple):
    name: str
    purpose: str
    senders: tuple[str, ...]
    receivers: tuple[str, ...]
    priority: Priority
    fields: Fields
    example: Tree  # a complete message without findings
    reply: str | None = None  # type of the answer
    rules: tuple[HardRule, ...] = ()
    fillings: tuple[FieldDefault, ...] = ()
    sections: tuple[str, ...] = ()  # of a markdown body
    section_rules: Mapping[str, SectionRule] = NO_MAP  # without a rule: required as a heading
    body_purpose: str = ""  # content of a markdown body, in words
    body_example: str = ""  # front matter only
    semantics: Semantics = NO_SEMANTICS

    def __repr__(self) -> str:
        return f"<message type {self.name}>"

    @property
    def action(self) -> str:
        return self.semantics.action

    @property
    def field_map(self) -> Mapping[str, str]:
        return self.semantics.field_map

    @property
    def headings(self) -> tuple[str, ...]:
        """Sections that every message of the type has as headings."""
        return tuple(name for name in self.sections if name not in self.section_rules)

    @property
    def decides(self) -> bool:
        """Whether it is more than a report: an approval, a verdict, a contract, a commit, a shutdown, an assignment."""
        if self.action == "signal":
            return self.priority == "VALIDATION"  # the verdicts among the signals
        return not _DECIDING.isdisjoint((self.action, *self.semantics.intents))


class EnvelopeFields(NamedTuple):
    """Envelope fields that the bus needs; None: the dialect has no such field."""

    id: str | None = None
    correlation: str | None = None
    sender: str | None = None
    recipient: str | None = None
    timestamp: str | None = None
    version: str | None = None
    reply_to: str | None = None
    task: str | None = None  # in the type's own fields: the topic


class FlatForm(NamedTuple):
    """Types that a dialect with a payload also accepts without one, as other tools deliver them."""

    dialect: "Dialect"  # with the fields that they need once wrapped
    renamed: Mapping[str, Mapping[str, str]]  # type → name in the flat message → field
    told_by: Mapping[str, tuple[str, ...]]  # type → fields that a flat message must have


class Dialect(NamedTuple):
    """A set of message types with one envelope, one form, roles and rules."""

    name: str  # with @ and its version, if not the default one
    version: str
    purpose: str
    form: Form
    roles: tuple[str, ...]
    types: Mapping[str, MessageType]
    envelope: Fields = NO_MAP  # without `type`, which every message has
    payload: str | None = None  # field with the type's own fields; None: they are flat
    wire: EnvelopeFields = EnvelopeFields()
    rules: tuple[HardRule, ...] = ()  # of every type
    addresses: Literal["roles", "names"] = "roles"  # content of the sender and recipient fields
    chain: Mapping[str, str] = NO_MAP  # role → role that it escalates to
    extends: str | None = None  # the dialect that this one is based on
    trades: Mapping[str, str] = NO_MAP  # role → its function, see `intents`; the first with one is the counterpart
    flat: FlatForm | None = None

    def __repr__(self) -> str:
        return f"<dialect {self.title}>"

    @property
    def base(self) -> str:
        """The name that all its versions share."""
        return self.name.partition(AT)[0]

    @property
    def title(self) -> str:
        """Its name and version, to be shown."""
        return f"{self.base} {self.version}"

    @property
    def stated_version(self) -> str:
        """The version in its messages, which may be that of the dialect it extends."""
        field = self.envelope.get(self.wire.version or "")
        states = field.kind.values if field is not None and isinstance(field.kind, OneOf) else ()
        return self.version if not states or self.version in states else states[0]

    @property
    def slug(self) -> str:
        """Its name in file names and links."""
        return self.name.replace(AT, "-")

    def fields_of(self, type_: MessageType) -> Fields:
        """All fields of a message, `type` first, as sent."""
        own = type_.fields if self.payload is None else {self.payload: Field(Group(type_.fields))}
        return {TYPE: Field(OneOf((type_.name,))), **self.envelope, **own}

    def locate(self, type_: MessageType, name: str) -> tuple[str, ...]:
        """The path to a field that a rule names by its short name."""
        first, *rest = name.split(".")
        inside = self.payload is not None and first.removesuffix("[]") in type_.fields
        return (self.payload, first, *rest) if inside and self.payload else (first, *rest)


TYPE = "type"


def types_by_name(types: Sequence[MessageType]) -> dict[str, MessageType]:
    named = {type_.name: type_ for type_ in types}
    assert len(named) == len(types), "two types of one name"
    return named


def has_to_be_chosen(kind: Kind) -> bool:
    """Whether only the sender can choose the value. A text may be unknown and a list empty; a choice is neither."""
    match kind:
        case OneOf(values):
            return len(values) > 1
        case Boolean() | Anything() | Group():
            return True
    return False


def choices_of(kind: Kind) -> tuple[Any, ...] | None:
    """All values of a field of this kind, if it is a choice."""
    match kind:
        case OneOf(values):
            return values
        case Boolean():
            return (True, False)
    return None


def kind_at(all_fields: Fields, path: tuple[str, ...]) -> Field | None:
    """The field at a path through groups, maps and lists (marked []); None: there is none."""
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
    """Every field at every depth, parents first; list items under a step that ends in []."""
    for name, field in all_fields.items():
        yield (*path, name), field
        kind, step = field.kind, name
        while isinstance(kind, ListOf):
            kind, step = kind.item, step + "[]"
        if isinstance(kind, Group):
            yield from walk_kinds(kind.fields, (*path, step))


def get_path(steps: tuple[str, ...]) -> Callable[[Any], Any]:
    """Getter of a path: None if a part is absent, a list where a step ends in []."""
    if len(steps) == 1 and not steps[0].endswith("[]"):
        only = steps[0]
        return lambda tree: tree.get(only)

    def get(tree: Any) -> Any:
        for index, step in enumerate(steps):
            if not isinstance(tree, Mapping) or step.removesuffix("[]") not in tree:
                return None
            tree = tree[step.removesuffix("[]")]
            if step.endswith("[]") and isinstance(tree, list):
                inner = get_path(steps[index + 1 :]) if steps[index + 1 :] else None
                return [inner(item) for item in tree] if inner else tree
        return tree

    return get


def set_path(tree: Tree, steps: tuple[str, ...], value: Any) -> None:
    """Set a value, with the objects on its path."""
    *parents, name = steps
    for parent in parents:
        tree = tree.setdefault(parent, {})
    tree[name] = value

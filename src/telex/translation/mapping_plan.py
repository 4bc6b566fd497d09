"""Translation plan of a pair of types: built by `planner` once for each pair, executed by `render`."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from telex.dialects.schema import Dialect, HardRule, MessageType, Tree
from telex.translation.kind_conversion import Test, Values, Way
from telex.translation.mapping import MinimumValue, Overstatement, TypeMapping
from telex.translation.slots import Slot, Steps


class ListMapping(NamedTuple):
    """Conversion of the items of one list into those of another."""

    moves: tuple[tuple[Steps, str, Steps, str, Way], ...]  # each step with its text in a path
    needs: tuple[tuple[str, str, str, MinimumValue], ...]  # step, its text in a path, slot, value
    moved: frozenset[str]
    whole: bool  # the items of the original are plain values


class FieldRead(NamedTuple):
    """One field of the original. Its value is copied or reported as lost."""

    path: str
    slot: str
    name: str
    get: Callable[[Tree], Any] | None  # None: in the body
    spelt: Values | None
    at_home: bool = False  # implied by the type in both directions


class FieldCopy(NamedTuple):
    """One field of the original that may be copied to one of the result."""

    read: int
    slot: str
    place: str  # key of the target: its path, in a body with the slot
    path: str
    steps: Steps  # none: in the body
    name: str  # of its section
    way: Way
    exact: bool
    items: ListMapping | None


class RequiredField(NamedTuple):
    """A field that must have a value."""

    path: str
    steps: Steps
    slot: str
    fits: Test
    least: MinimumValue
    plain: bool  # `least` is a literal value
    within: Callable[[Tree], Any] | None  # required only if this is present
    meant: str | None  # slot that must be absent from the original for the default to be right; None: none


class EnvelopeField(NamedTuple):
    path: str
    steps: Steps
    get: Callable[[Tree], Any]
    fits: Test
    required: bool
    may_be_empty: bool


class KnownFields(NamedTuple):
    """Fields of an object that the plan reads, and those of nested objects."""

    path: str
    names: frozenset[str]
    groups: tuple[tuple[str, "KnownFields"], ...]


class EnvelopeMapping(NamedTuple):
    """One envelope field, in the original and in the result."""

    slot: str  # $id, $sender
    here: EnvelopeField | None
    there: EnvelopeField | None
    alone: bool  # no other slot uses the original's field


class MappingPlan(NamedTuple):
    """Mapping of a type to one of another dialect."""

    dialect: Dialect
    type: MessageType
    row: TypeMapping
    to: Dialect
    becomes: MessageType
    spoken: TypeMapping
    reads: tuple[FieldRead, ...]
    by_slot: Mapping[str, tuple[int, ...]]
    carries: tuple[FieldCopy, ...]
    constants: tuple[tuple[str, Steps, Any, Overstatement | None], ...]
    meant: tuple[tuple[int, str, Any], ...]  # read whose value the other type implies, slot, most general value
    needs: tuple[RequiredField, ...]
    groups: tuple[Steps, ...]  # objects that must exist, even if empty
    wires: Mapping[str, EnvelopeMapping]
    rules: tuple[tuple[Callable[[Tree], Any], HardRule], ...]
    places: Mapping[str, Slot]  # of the result, by the action's field names
    known: KnownFields
    order: tuple[str, ...]  # of the result's fields
    threaded_first: bool  # the correlation id has a field of its own
    at_home: tuple[bool, ...]  # for each read
    no_place: str  # reason why a field is lost
    kept: str  # reason why an envelope field is
    strays: str | None  # path of what the translation back cannot restore
    version: str | None  # field of the result with the dialect's version
    roles: dict[tuple[str, str | None], tuple[str | None, str | None]]  # cache: roles here to roles there

"""What is known of a pair of rows before there is a message? Made by `planner`, once for each pair, and followed by
`render`."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from telex.dialects.schema import Dialect, HardRule, MessageType, Tree
from telex.translation.kind_conversion import Test, Values, Way
from telex.translation.mapping import MinimumValue, Overstatement, TypeMapping
from telex.translation.slots import Slot, Steps


class ListMapping(NamedTuple):
    """How the items of one list become those of another."""

    moves: tuple[tuple[Steps, str, Steps, str, Way], ...]  # each step with how it stands in a path
    needs: tuple[tuple[str, str, str, MinimumValue], ...]  # step, in a path, slot, what is written there
    moved: frozenset[str]
    whole: bool  # the items of the original are themselves what is said


class FieldRead(NamedTuple):
    """One place of the original. Where it says something, that is carried over or reported."""

    path: str
    slot: str
    name: str
    get: Callable[[Tree], Any] | None  # None: in the body
    spelt: Values | None
    at_home: bool = False  # said by the type itself, there and back


class FieldCopy(NamedTuple):
    """One place of the original that may stand in one of the result."""

    read: int
    slot: str
    place: str  # by which it is known what stands there already: the path, and in a body the slot besides
    path: str
    steps: Steps  # none: in the body
    name: str  # of its section
    way: Way
    exact: bool
    items: ListMapping | None


class RequiredField(NamedTuple):
    """A place that must say something."""

    path: str
    steps: Steps
    slot: str
    fits: Test
    least: MinimumValue
    plain: bool  # that is written as it stands
    within: Callable[[Tree], Any] | None  # only where this is there
    meant: str | None  # of which slot the original has to be silent for this to stand there; None: of none


class EnvelopeField(NamedTuple):
    path: str
    steps: Steps
    get: Callable[[Tree], Any]
    fits: Test
    required: bool
    may_be_empty: bool


class KnownFields(NamedTuple):
    """Which fields of an object are looked at, and of which of them the inside is."""

    path: str
    names: frozenset[str]
    groups: tuple[tuple[str, "KnownFields"], ...]


class EnvelopeMapping(NamedTuple):
    """One thing that envelopes say, here and there."""

    slot: str  # $id, $sender
    here: EnvelopeField | None
    there: EnvelopeField | None
    alone: bool  # in the original it is nothing else besides


class MappingPlan(NamedTuple):
    """A row of one dialect and the row of another that it becomes."""

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
    meant: tuple[tuple[int, str, Any], ...]  # a read whose value the other type itself says: slot, the plainest value
    needs: tuple[RequiredField, ...]
    groups: tuple[Steps, ...]  # objects that must be there, with or without anything in them
    wires: Mapping[str, EnvelopeMapping]
    rules: tuple[tuple[Callable[[Tree], Any], HardRule], ...]
    places: Mapping[str, Slot]  # of the result, by the deed's names
    known: KnownFields
    order: tuple[str, ...]  # of the fields of the result
    threaded_first: bool  # the conversation has a field of its own, and is not called by whatever the task is
    at_home: tuple[bool, ...]  # for each read
    no_place: str  # why a field is lost
    kept: str  # why something of the envelope is
    strays: str | None  # where the way back leads elsewhere: the path of what cannot be told back
    version: str | None  # the field of the result that holds its dialect's version

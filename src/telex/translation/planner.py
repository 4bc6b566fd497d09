"""Translation plan of a pair of types: built by `planner` once for each pair, executed by `render`."""

from collections.abc import Callable, Mapping
from typing import Any

from telex.dialects.intents import INTENTS
from telex.dialects.rule_language import compile_for_tree, parse
from telex.dialects.schema import (
    TYPE,
    Dialect,
    Fields,
    Group,
    HardRule,
    ListOf,
    MessageType,
    Text,
    Tree,
    get_path,
    has_to_be_chosen,
    kind_at,
)
from telex.model.named_tuple import NamedTuple
from telex.model.text import join, path_of
from telex.translation.mapping import (
    UNSAID,
    ItemPart,
    MinimumValue,
    Overstatement,
    Slot,
    Steps,
    Test,
    TypeMapping,
    Values,
    Way,
    default,
    fits,
    places_of,
    way,
    written,
)


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
    at_home: tuple[bool, ...]  # for each read
    strays: str | None  # path of what the translation back cannot restore
    version: str | None  # field of the result with the dialect's version

    @property
    def no_place(self) -> str:
        """Reason why a field is lost."""
        return f"{self.spoken.type} has no place for it"

    @property
    def kept(self) -> str:
        """Reason why a field of the envelope is lost."""
        return f"{self.to.name} does not write it; the bus keeps it"

    @property
    def threaded_first(self) -> bool:
        """Whether the original's field holds only a correlation id, or the result needs one in any case."""
        thread = self.wires["correlation"]
        is_sure = thread.alone or thread.there is None or thread.there.required
        return self.to.wire.correlation in self.to.envelope and is_sure


TYPE_PATH = path_of(TYPE)
WIRED = ("id", "timestamp", "reply_to", "sender", "recipient", "correlation")


def make(
    dialect: Dialect, row: TypeMapping, to: Dialect, spoken: TypeMapping, home: tuple[TypeMapping, ...]
) -> MappingPlan:
    """`home` are the mappings that the translation back may lead to."""
    type_, becomes = dialect.types[row.type], to.types[spoken.type]
    ours, theirs = places_of(dialect, type_, row), places_of(to, becomes, spoken)
    reads, by_slot = _reads(ours, row)
    wires = {
        name: EnvelopeMapping(
            f"${name}",
            here := _wired(dialect, type_, name),
            _wired(to, becomes, name),
            here is None or here.path not in {read.path for read in reads},
        )
        for name in WIRED
    }
    index = {(read.path, read.name if read.get is None else ""): number for number, read in enumerate(reads)}
    constants = [
        (slot.path, slot.steps, row_value, spoken.overstates.get(slot.slot))
        for slot in theirs
        if not slot.in_body and (row_value := _constant(slot, row, spoken)) is not None
    ]
    taken = {path for path, *_ in constants}
    version_field = to.fields_of(becomes).get(to.wire.version or "")
    is_stated = version_field is not None and fits(version_field.kind)(to.stated_version)
    version = to.wire.version if is_stated else None
    needs, groups = _needs(to, becomes, theirs, spoken, version=version, reason=f"{row.type} does not have it")
    rules = [rule for rule in (*to.rules, *becomes.rules) if rule.severity == "refusal"]
    known = [slot.steps for slot in ours if not slot.in_body]
    known += [wire.here.steps for wire in wires.values() if wire.here is not None]
    known += [(name,) for name in (TYPE, dialect.wire.version) if name is not None]
    strays = None
    if row.type not in {mapping.type for mapping in home}:
        strays = TYPE_PATH
    elif row not in home:
        strays = next((slot.path for slot in ours if slot.slot in row.when), TYPE_PATH)
    means = spoken.means.items()
    return MappingPlan(
        dialect=dialect,
        type=type_,
        row=row,
        to=to,
        becomes=becomes,
        spoken=spoken,
        reads=tuple(reads),
        by_slot=by_slot,
        carries=_carries(ours, theirs, row, spoken, index=index, taken=taken),
        constants=tuple(constants),
        meant=tuple((number, slot, values[0]) for slot, values in means for number in by_slot.get(slot, ())),
        needs=needs,
        groups=groups,
        wires=wires,
        rules=tuple((compile_for_tree(parse(rule.broken_when), to, becomes), rule) for rule in rules),
        places={slot.name: slot for slot in reversed(theirs)},
        known=_inside((), known),
        order=tuple(to.fields_of(becomes)),
        at_home=tuple(read.at_home for read in reads),
        strays=strays,
        version=version,
    )


# --- envelope fields -------------------------------------------------------------------------------------------------


def _wired(dialect: Dialect, type_: MessageType, name: str) -> EnvelopeField | None:
    where = getattr(dialect.wire, name)
    if where is None:
        return None
    steps = dialect.locate(type_, where)
    field = kind_at(dialect.fields_of(type_), steps)
    if field is None:
        return None
    may_be_empty = isinstance(field.kind, Text) and field.kind.may_be_empty
    return EnvelopeField(
        path_of(*steps), steps, get_path(steps), fits(field.kind), required=field.required, may_be_empty=may_be_empty
    )


# --- field copies ----------------------------------------------------------------------------------------------------


def _reads(ours: list[Slot], row: TypeMapping) -> tuple[list[FieldRead], dict[str, tuple[int, ...]]]:
    reads: list[FieldRead] = []
    seen: dict[tuple[str, str], int] = {}
    by_slot: dict[str, tuple[int, ...]] = {}
    for place in sorted(ours, key=lambda slot: not slot.in_body):  # the body comes first
        key = (place.path, place.name if place.in_body else "")
        if key not in seen:
            seen[key] = len(reads)
            at_home = len(row.when.get(place.slot, ())) == 1
            get = None if place.in_body else get_path(place.steps)
            reads.append(FieldRead(place.path, place.slot, place.name, get, place.values, at_home=at_home))
        elif place.values is not None:
            reads[seen[key]] = reads[seen[key]]._replace(spelt=place.values)
        by_slot[place.slot] = (*by_slot.get(place.slot, ()), seen[key])
    return reads, by_slot


def _constant(slot: Slot, row: TypeMapping, spoken: TypeMapping) -> Any:
    """Value that follows from one of the two types, whatever the message contains."""
    mine = spoken.when.get(slot.slot, ())
    if len(mine) == 1:
        return mine[0]
    told = row.means.get(slot.slot)
    if told is None:
        return None
    value = told[0] if slot.values is None else written(slot.values, told[0])
    return value if value is not None and fits(slot.kind)(value) else None


def _carries(
    ours: list[Slot],
    theirs: list[Slot],
    row: TypeMapping,
    spoken: TypeMapping,
    *,
    index: dict[tuple[str, str], int],
    taken: set[str],
) -> tuple[FieldCopy, ...]:
    found: list[tuple[tuple[int, int, int], FieldCopy]] = []
    by_slot: dict[str, list[Slot]] = {}
    for place in sorted((slot for slot in ours if slot.slot not in row.unread), key=lambda slot: not slot.in_body):
        by_slot.setdefault(place.slot, []).append(place)

    def leads_back(here: Slot, there: Slot) -> bool:
        """Whether the translation back puts the value into the same field."""
        meanings = [slot.slot for slot in theirs if slot.path == there.path and slot.slot in known]
        back = (slot.path for slot in ours if meanings and slot.slot == meanings[0])
        return there.in_body or next(back, None) == here.path

    known = {slot.slot for slot in ours}
    for preference, there in enumerate(theirs):
        if there.path in taken or there.slot in spoken.means:
            continue
        if there.slot in spoken.unwritten and there.slot != there.name:
            continue
        for rank, here in enumerate(by_slot.get(there.slot, ())):
            borrowed = (here.slot != here.name) + (there.slot != there.name)
            if there.in_body and there.slot in spoken.names:
                borrowed += 2  # named in the body, where the type has no field for it
            is_unwritten = here.slot in row.unwritten and not here.in_body
            carry = FieldCopy(
                read=index[here.path, here.name if here.in_body else ""],
                slot=there.slot,
                place=f"{there.path}#{there.name}" if there.in_body else there.path,
                path=there.path,
                steps=there.steps,
                name=there.name,
                way=way(here.kind, here.values, there.kind, there.values),
                exact=not is_unwritten and there.slot not in spoken.unread and leads_back(here, there),
                items=_items(here, there, spoken),
            )
            found.append(((borrowed, preference, rank), carry))
    return tuple(carry for _, carry in sorted(found, key=lambda pair: pair[0]))


def _items(here: Slot, there: Slot, spoken: TypeMapping) -> ListMapping | None:
    if here.kind == there.kind or not here.parts or not there.parts:
        return None
    moves = tuple(
        (
            item_part.steps,
            "" if here.in_body else "".join(join("", step) for step in item_part.steps),
            there.parts[name].steps,
            "" if there.in_body else "".join(join("", step) for step in there.parts[name].steps),
            _part_way(item_part, there.parts[name]),
        )
        for name, item_part in here.parts.items()
        if name in there.parts and not item_part.only_written
    )
    needs = []
    if isinstance(there.kind, ListOf) and isinstance(there.kind.item, Group):
        slots = {item_part.steps: name for name, item_part in there.parts.items()}
        for step, field in there.kind.item.fields.items():
            if field.required:
                part = slots.get((step,), step)
                slot = f"{there.name}/{part}"
                minimum_value = spoken.least.get(f"{there.path}[]{join('', step)}") or spoken.least.get(slot)
                least = minimum_value or default(field.kind, "nothing is said of it")
                needs.append((step, "" if there.in_body else join("", step), slot, least))
    moved = frozenset(steps[0] for steps, *_ in moves if steps)
    return ListMapping(moves, tuple(needs), moved, whole=any(not steps for steps, *_ in moves))


def _part_way(here: ItemPart, there: ItemPart) -> Way:
    kind = here.kind
    if isinstance(kind, Text) and not there.steps:
        # An empty item stays in its list: without it the indexes of the later items would change.
        kind = kind._replace(may_be_empty=False)
    tell = way(kind, None, there.kind, None)
    if not there.only_written:
        return tell
    return lambda value: (told[0], False) if (told := tell(value)) is not None else None


# --- required fields -------------------------------------------------------------------------------------------------


def _needs(
    to: Dialect, type_: MessageType, theirs: list[Slot], row: TypeMapping, *, version: str | None, reason: str
) -> tuple[tuple[RequiredField, ...], tuple[Steps, ...]]:
    slots = {slot.path: slot.name for slot in reversed(theirs) if not slot.in_body}
    turned_on = {slot.path: slot.slot for slot in theirs if slot.slot in INTENTS[row.intents[0]].turns_on}
    needs: list[RequiredField] = []
    groups: list[Steps] = []

    def look(inside: Fields, steps: Steps, within: Callable[[Tree], Any] | None) -> None:
        for name, field in inside.items():
            here = (*steps, name)
            if isinstance(field.kind, Group):
                if field.required and within is None:
                    groups.append(here)
                look(field.kind.fields, here, within if field.required else get_path(here))
            elif field.required and not (len(here) == 1 and name in (TYPE, version)):
                path = path_of(*here)
                slot = slots.get(path, name)
                least = row.least.get(path) or row.least.get(slot) or default(field.kind, reason)
                plain = least is not UNSAID and least.value is not None and not isinstance(least.value, tuple)
                by_file = least is UNSAID or path in row.least
                chosen = slot if by_file and path in slots and has_to_be_chosen(field.kind) else None
                meant = turned_on.get(path, chosen)
                needs.append(
                    RequiredField(path, here, slot, fits(field.kind), least, plain=plain, within=within, meant=meant)
                )

    look(to.fields_of(type_), (), None)
    return tuple(needs), tuple(groups)


def _inside(above: Steps, steps: list[Steps]) -> KnownFields:
    inner: dict[str, list[Steps]] = {}
    for step in steps:
        if len(step) > 1:
            inner.setdefault(step[0], []).append(step[1:])
    groups = tuple((name, _inside((*above, name), below)) for name, below in inner.items())
    return KnownFields(path_of(*above), frozenset(step[0] for step in steps), groups)

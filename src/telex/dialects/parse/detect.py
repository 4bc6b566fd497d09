"""Detection of a message's dialect and type, and the layout of its fields.

Dialects share type names, so a message is compared with every type of that name and the best match wins. A tie goes to
the team's preferred dialect, then to matching roles, then to the order of the dialects. For an unknown name the nearest
known one is suggested. Fields on the wrong level (in a payload, or flat) are moved, with a finding.
"""

from typing import Any

from telex.dialects.parse.json import read_json
from telex.dialects.schema import (
    ANY,
    TYPE,
    Anything,
    Dialect,
    Fields,
    Group,
    MapOf,
    MessageType,
    OneOf,
    Tree,
)
from telex.dialects.write import is_blank
from telex.model.finding import Finding
from telex.model.named_tuple import NamedTuple
from telex.model.roster import AT
from telex.model.text import ROOT, join, nearest, path_of


def laid_out(tree: Tree, dialect: Dialect, type_: MessageType) -> tuple[Tree, list[Finding]]:
    """The message with its fields on the level where the dialect has them, and findings on those that were moved."""
    own = type_.fields if dialect.payload is None else {dialect.payload}
    if all(name == TYPE or name in dialect.envelope or name in own for name in tree) and (
        dialect.payload is None or isinstance(tree.get(dialect.payload), dict)
    ):
        return tree, []  # nearly every message
    if dialect.payload is None:
        return _flat(tree, dialect, type_)
    findings: list[Finding] = []
    payload = dialect.payload
    inner = object_in_text(tree.get(payload))
    if inner is not None:
        say = f"Write {payload} as an object, not as a text with JSON in it."
        findings.append(Finding("wrong-type", path_of(payload), say, expected="an object", found="text"))
        tree = tree | {payload: inner}
    required = [name for name, field in type_.fields.items() if field.required]
    objects = [name for name, field in type_.fields.items() if isinstance(field.kind, (Group, MapOf, Anything))]
    boxes = [
        name
        for name, value in tree.items()
        if name not in dialect.envelope and isinstance(value, dict) and name not in objects
        if sum(inner in value for inner in required) * 2 >= max(len(required), 1)
    ]
    if payload not in tree and len(boxes) == 1:
        [box], wanted = boxes, f"a field {payload!r}"
        say = f"Rename {box!r} to {payload!r}."
        finding = Finding("field-missing", path_of(payload), say, expected=wanted, found=box, nearest=payload)
        findings.append(finding)
        tree = {payload if name == box else name: value for name, value in tree.items()}
    inside = tree.get(payload, {})
    if isinstance(inside, dict):
        names = [name for name in tree if name in type_.fields and name not in dialect.envelope and name not in inside]
        if names:
            say, wanted = f"Move {', '.join(names)} into {payload}.", f"an object {payload!r} that holds them"
            findings.append(Finding("field-misplaced", path_of(payload), say, expected=wanted))
            rest = {name: value for name, value in tree.items() if name not in names}
            tree = rest | {payload: {**inside, **{name: tree[name] for name in names}}}
    return tree, findings


def object_in_text(value: Any) -> Tree | None:
    """The object that is encoded as JSON in a text."""
    if not isinstance(value, str) or not value.lstrip().startswith("{"):
        return None
    read = read_json(value.strip())
    whole = not read.failed and not read.findings and read.end == len(value.strip())
    return read.value if whole and type(read.value) is dict else None


def _flat(tree: Tree, dialect: Dialect, type_: MessageType) -> tuple[Tree, list[Finding]]:
    fields = dialect.fields_of(type_)
    boxes = [
        name
        for name, value in tree.items()
        if isinstance(value, dict) and name not in fields and any(inner in fields and inner != TYPE for inner in value)
    ]
    if len(boxes) != 1 or (tree.keys() & tree[boxes[0]].keys()) - {TYPE}:
        return tree, []
    inner = {name: value for name, value in tree[boxes[0]].items() if name != TYPE}
    say = f"Move {', '.join(inner)} out of {boxes[0]}, to the level of type: {dialect.name} has no {boxes[0]}."
    moved = {name: value for name, value in tree.items() if name != boxes[0]} | inner
    return moved, [Finding("field-misplaced", path_of(boxes[0]), say, expected="the fields beside type")]


ENVELOPE_FIELDS_MIN = 3  # fewer shared names are chance
_AT_TYPE = join(ROOT, TYPE)

# Control frames of coding tools, under names that dialects use too, but without an envelope.
CONTROL_TYPES = frozenset({
    "shutdown_request", "shutdown_response", "shutdown_approved", "plan_approval_request", "plan_approval_response",
    "idle_notification",
})  # fmt: skip
_FRAME_FIELDS = frozenset({"request_id", "approve", "reason", "from", "timestamp"})  # also fields of such frames


class Detection(NamedTuple):
    dialect: Dialect | None
    type: MessageType | None
    findings: tuple[Finding, ...] = ()
    certain: bool = True  # False: the type is a guess


class DetectionHint(NamedTuple):
    """Facts from outside the message, used to break a tie."""

    preferred: str | None = None
    as_role: str | None = None
    to_role: str | None = None


def is_control_frame(tree: Any, dialects: tuple[Dialect, ...]) -> bool:
    """Whether this is a coding tool's control frame. It is not if it has a field that only a dialect's type of that
    name has, or a role as its sender: a frame has the name of an agent."""
    named = tree.get(TYPE) if isinstance(tree, dict) else None
    if not isinstance(named, str) or named not in CONTROL_TYPES:
        return False
    having = [dialect for dialect in dialects if named in dialect.types]
    ours = {name for other in having for name in (other.payload, *other.envelope, *other.types[named].fields)}
    roles = {role for dialect in having for role in dialect.roles}
    by_role = "requestId" in tree and isinstance(tree.get("from"), str) and tree["from"] in roles
    return not by_role and not any(name in tree for name in ours - _FRAME_FIELDS)


def is_ours(tree: Any, dialects: tuple[Dialect, ...]) -> bool:
    """Whether this object from inside a text has a type or the envelope of one of these dialects."""
    if not isinstance(tree, dict):
        return False
    named = tree.get(TYPE)
    if isinstance(named, str) and any(named in dialect.types for dialect in dialects):
        return True
    return any(_envelope_fit(tree, dialect) >= ENVELOPE_FIELDS_MIN for dialect in dialects)


def is_near(tree: Tree, dialect: Dialect) -> bool:
    """Whether this mapping has a type, or mostly fields of one type of the dialect."""
    if TYPE in tree:
        return True
    known = max((sum(name in type_.fields for name in tree) for type_ in dialect.types.values()), default=0)
    return known > 0 and 2 * known >= len(tree)


def wrapped(tree: Tree, dialects: tuple[Dialect, ...]) -> tuple[Detection, Tree, Dialect] | None:
    """A flat message of a dialect with a payload, wrapped, and the dialect with the fields that it needs.

    None: it is not one, or another dialect has its type.
    """
    named = tree.get(TYPE)
    having = [dialect for dialect in dialects if isinstance(named, str) and named in dialect.types]
    dialect = next((dialect for dialect in having if dialect.flat is not None), None)
    if dialect is None or dialect.flat is None or any(other.base != dialect.base for other in having):
        return None
    names = dialect.flat.renamed.get(str(named))
    if names is None or dialect.payload is None or dialect.payload in tree:
        return None
    fields = {name: value for name, value in tree.items() if name not in names}
    fields |= {names[name]: tree[name] for name in names if name in tree}  # the tool's name wins
    around = {name: value for name, value in fields.items() if name == TYPE or name in dialect.envelope}
    inside = {name: value for name, value in fields.items() if name not in around}
    if any(isinstance(value, dict) for value in inside.values()):
        return None  # a payload under another name
    if not inside or not all(name in fields for name in dialect.flat.told_by[str(named)]):
        return None
    return Detection(dialect, dialect.types[str(named)]), {**around, dialect.payload: inside}, dialect.flat.dialect


def detect(tree: Tree, dialects: tuple[Dialect, ...], hint: DetectionHint) -> Detection:
    given = tree.get(TYPE)
    if isinstance(given, str) and given:
        exact = [(dialect, dialect.types[given]) for dialect in dialects if given in dialect.types]
        if exact:
            return _in_another_envelope(tree, exact, dialects) or Detection(*_best(tree, exact, hint))
        return _misnamed(tree, given, dialects, hint)
    return _unnamed(tree, given, dialects, hint)


def _in_another_envelope(
    tree: Tree, exact: list[tuple[Dialect, MessageType]], dialects: tuple[Dialect, ...]
) -> Detection | None:
    """A type of one dialect in the envelope of another: only the sender knows which of the two is meant."""
    named = exact[0][1].name
    around = [
        dialect
        for dialect in dialects
        if dialect.payload in tree
        and named not in dialect.types
        and 2 * _envelope_fit(tree, dialect) > len(dialect.envelope)
    ]
    if not around or any(_envelope_fit(tree, dialect) >= _envelope_fit(tree, around[0]) for dialect, _ in exact):
        return None
    dialect, inner = around[0], tree[around[0].payload or ""]
    fitting = [
        type_
        for type_ in dialect.types.values()
        if isinstance(inner, dict) and inner.keys() <= type_.fields.keys() and _missing(tree, dialect, type_) == 0
    ]
    actions = {type_.action for _, type_ in exact if type_.action}
    alike = fitting or [type_ for type_ in dialect.types.values() if type_.action in actions]
    meant = alike[0] if len(alike) == 1 else None
    near = meant.name if meant else None
    instead = near or f"a type of {dialect.name}"
    say = f"Use {instead}: the envelope is that of {dialect.name}, and {named} is a type of {exact[0][0].name}."
    finding = Finding("type-unknown", _AT_TYPE, say, expected=_types(dialect), found=named, nearest=near)
    return Detection(dialect, meant, (finding,), certain=False)


def _misnamed(tree: Tree, given: str, dialects: tuple[Dialect, ...], hint: DetectionHint) -> Detection:
    if is_blank(given):
        left = Finding("blank-left", _AT_TYPE, "Fill in the type.", expected="a message type", found=given[:60])
        return Detection(_by_envelope(tree, dialects), None, (left,))
    listed = [(dialect, name) for dialect in dialects for name in dialect.types if "|" in given and name in given]
    if listed:
        dialect = _by_envelope(tree, dialects) or listed[0][0]
        say = f"Choose one type: {', '.join(dialect.types)}."
        finding = Finding("placeholder-left", _AT_TYPE, say, expected=_types(dialect), found=given)
        return Detection(dialect, None, (finding,))
    close = [(dialect, dialect.types[name]) for dialect in dialects if (name := nearest(given, dialect.types))]
    if close:
        dialect, type_ = _best(tree, close, hint)
        say = f"Write the type as {type_.name!r}."
        finding = Finding("type-unknown", _AT_TYPE, say, expected=_types(dialect), found=given[:60], nearest=type_.name)
        return Detection(dialect, type_, (finding,), certain=_missing(tree, dialect, type_) == 0)
    by_envelope = _by_envelope(tree, dialects)
    if by_envelope is not None:
        wanted = _types(by_envelope)
        say = f"Use {wanted}."
    else:
        wanted = "a type of " + ", ".join(dialect.name for dialect in dialects)
        say = "Use a type that one of the dialects has; `telex dialects NAME` lists them."
    return Detection(by_envelope, None, (Finding("type-unknown", _AT_TYPE, say, expected=wanted, found=given[:60]),))


def _unnamed(tree: Tree, given: Any, dialects: tuple[Dialect, ...], hint: DetectionHint) -> Detection:
    whole = [
        (dialect, type_)
        for dialect in dialects
        for type_ in dialect.types.values()
        if type_.fields and _missing(tree, dialect, type_) == 0
    ]
    code = "type-missing" if given is None or given == "" else "wrong-type"
    found = None if given is None else str(given)[:60]
    if whole:
        choices = [choice for choice in whole if _values_fit(tree, *choice)] or whole
        dialect, type_ = _best(tree, choices, hint)
        do = "Add type" if found is None else f"Write the type as {type_.name!r}"
        say = f"{do}: the fields are those of {type_.name}."
        certain = {other.name for _, other in choices} == {type_.name}
        finding = Finding(code, _AT_TYPE, say, expected=_types(dialect), found=found, nearest=type_.name)
        return Detection(dialect, type_, (finding,), certain)
    by_envelope = _by_envelope(tree, dialects)
    wanted = _types(by_envelope) if by_envelope else "the name of a message type"
    finding = Finding(code, _AT_TYPE, f"Add type: {wanted}.", expected=wanted, found=found)
    return Detection(by_envelope, None, (finding,))


def _types(dialect: Dialect) -> str:
    return "one of " + ", ".join(dialect.types)


def _best(tree: Tree, choices: list[tuple[Dialect, MessageType]], hint: DetectionHint) -> tuple[Dialect, MessageType]:
    if len(choices) == 1 or _is_default_version(tree, choices, hint):
        return choices[0]
    base, named = (hint.preferred or "").partition(AT)[0], choices if hint.preferred else ()
    names = {name for dialect, type_ in named for name in tree.keys() & dialect.fields_of(type_).keys()}

    def rank(choice: tuple[Dialect, MessageType]) -> tuple[bool, bool, int, bool, bool]:
        dialect, type_ = choice
        known, preferred = knows(dialect, hint.as_role), dialect.name == hint.preferred
        # A missing field is no evidence for another dialect; a field that only the other has is.
        own = dialect.base == base and names <= dialect.fields_of(type_).keys()
        return known, own, _fit(tree, dialect, type_), preferred, roles_fit(type_, hint)

    return max(choices, key=rank)  # max returns the first of equals


def _is_default_version(tree: Tree, choices: list[tuple[Dialect, MessageType]], hint: DetectionHint) -> bool:
    """Whether all choices are versions of one dialect and nothing is evidence for another than the first.

    A shortcut for most messages: a tenth of the time of the comparison, with the same result.
    """
    dialect, type_ = choices[0]
    inside = tree.get(dialect.payload) if dialect.payload else tree
    return (
        hint.preferred in (None, dialect.name)
        and all(other.base == dialect.base for other, _ in choices)
        and isinstance(inside, dict)
        and inside.keys() <= type_.fields.keys() | {TYPE}
        and knows(dialect, hint.as_role)
        and roles_fit(type_, hint)
        and not _foreign_roles(tree, dialect)
    )


def knows(dialect: Dialect, role: str | None) -> bool:
    """Whether the dialect has this role. The sender's role is better evidence than the text."""
    return role is None or dialect.addresses == "names" or role in dialect.roles


def roles_fit(type_: MessageType, hint: DetectionHint) -> bool:
    return all(
        role is None or allowed == ANY or role in allowed
        for role, allowed in ((hint.as_role, type_.senders), (hint.to_role, type_.receivers))
    )


def fits_better(type_: MessageType, dialect: Dialect, other: Dialect) -> bool:
    """Whether every valid message of this type matches it better than the other dialect's type of that name.

    It does if one of the two requires a field that the other does not have. False, which is the safe answer, for
    messages with a payload, which are compared in another way.
    """
    ours, theirs = dialect.fields_of(type_), other.fields_of(other.types[type_.name])
    if dialect.payload is not None or other.payload in ours:
        return False
    return any(field.required and name not in theirs for name, field in ours.items()) or any(
        field.required and name not in ours for name, field in theirs.items()
    )


def _fit(tree: Tree, dialect: Dialect, type_: MessageType) -> int:
    """How well the names of the fields match: known ones count for, missing and unknown ones against."""
    if dialect.payload is None:
        return _overlap(laid_out(tree, dialect, type_)[0], dialect.fields_of(type_))
    inner = tree.get(dialect.payload)
    if isinstance(inner, dict):  # a payload is enough, even without an envelope
        around = sum(name in dialect.envelope or name == TYPE for name in tree)
        return _overlap(inner, type_.fields) + 2 * around + 2 - _foreign_roles(tree, dialect)
    return _overlap(tree, dialect.fields_of(type_)) + _overlap({}, type_.fields)


def _overlap(tree: Tree, fields: Fields) -> int:
    later = [field.required for name, field in fields.items() if field.later_spelling in tree and name not in tree]
    known = len(tree.keys() & fields.keys()) + len(later)
    missing = sum(field.required and name not in tree for name, field in fields.items()) - sum(later)
    return 2 * known - 2 * missing - (len(tree) - known)


def _foreign_roles(tree: Tree, dialect: Dialect) -> int:
    """Number of roles in the envelope that the dialect does not have."""
    wire = dialect.wire
    if dialect.addresses != "roles":
        return 0
    roles = (tree.get(name) for name in (wire.sender, wire.recipient) if name)
    return sum(isinstance(role, str) and role not in dialect.roles for role in roles)


def _missing(tree: Tree, dialect: Dialect, type_: MessageType) -> int:
    """Number of required fields that the message lacks, except `type`. A payload that is no object lacks none."""
    inner = tree.get(dialect.payload, {}) if dialect.payload else tree
    own = sum(field.required and name not in inner for name, field in type_.fields.items() if isinstance(inner, dict))
    around = sum(field.required and name not in tree for name, field in dialect.envelope.items())
    return own + around + (dialect.payload is not None and dialect.payload not in tree)


def is_complete(tree: Tree, dialects: list[Dialect]) -> bool:
    """Whether it has every required field of its type in one of these dialects."""
    return any(_missing(tree, dialect, dialect.types[tree[TYPE]]) == 0 for dialect in dialects)


def _values_fit(tree: Tree, dialect: Dialect, type_: MessageType) -> bool:
    """Whether every choice in the message is one that this type has."""
    inner = tree.get(dialect.payload, {}) if dialect.payload else tree
    chosen = [(inner.get(name), field.kind) for name, field in type_.fields.items() if isinstance(inner, dict)]
    return all(not isinstance(kind, OneOf) or value is None or value in kind.values for value, kind in chosen)


def _envelope_fit(tree: Tree, dialect: Dialect) -> int:
    return sum(name in dialect.envelope or name == dialect.payload for name in tree)


def _by_envelope(tree: Tree, dialects: tuple[Dialect, ...]) -> Dialect | None:
    """The dialect with this envelope, for an unknown type. A single dialect needs no evidence."""
    if len(dialects) == 1:
        return dialects[0]
    best = max(dialects, key=lambda dialect: _envelope_fit(tree, dialect), default=None)
    return best if best is not None and _envelope_fit(tree, best) >= ENVELOPE_FIELDS_MIN else None

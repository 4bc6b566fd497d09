"""View of a message for the work rules, and the table of their modules.

A `WorkMessage` has the fields of the type's semantics under the names of the rules, independent of the dialect.
"""

import json
from collections.abc import Callable, Mapping
from datetime import UTC
from typing import Any

from telex.dialects.builtin.signal_md import ROUTE, route_in
from telex.dialects.scalars import parse_timestamp
from telex.dialects.schema import BODY_KEY, Dialect, MessageType, Tree, get_path
from telex.model.finding import Finding
from telex.model.limits import LIMITS
from telex.model.message import Event, StoredMessage, detail_of
from telex.model.named_tuple import NamedTuple
from telex.model.text import ROOT, path_of

# The modules with the rules of an action. They are imported at its first message, since a cold start pays for each
# import and most teams use few of them.
RULES: dict[str, tuple[str, ...]] = {
    "contract": ("plan_checks",),
    "close": ("plan_checks",),
    "progress": ("plan_checks", "blockers"),
    "blocker": ("blockers",),
    "review": ("plan_checks",),
    "ask": ("approvals", "plan_checks", "tasks"),
    "answer": ("approvals", "plan_checks", "tasks"),
    "commit": ("tasks", "plan_checks"),
    "assign": ("tasks",),
    "status": ("tasks", "blockers"),
    "quality": ("tasks",),
    "move": ("tasks",),
    "stop": ("shutdown",),
    "stopped": ("shutdown",),
    "escalate": ("escalations", "tasks"),
    "signal": ("signals", "plan_checks"),
    "dispatch": ("signals", "approvals", "plan_checks", "tasks"),
}
# The module with the fold of each kind of topic; the kind is the part of its name before the colon.
FOLDS: dict[str, str] = {
    "plan": "plans",
    "contracts": "plans",
    "approval": "approvals",
    "task": "tasks",
    "shutdown": "shutdown",
    "escalation": "escalations",
    "climb": "escalations",
    "escalations": "escalations",
    "blocker": "blockers",
    "blockers": "blockers",
    "work": "signals",
}
# Kinds of topics whose states may be long: their folds write into the lists and dicts of the state that they are given.
IN_PLACE = frozenset({"contracts", "plan", "task", "shutdown"})


class NoOpCondition(NamedTuple):
    """When a message of an action has no effect, so that the rules are skipped."""

    topics: tuple[str, ...]  # while these are empty, and
    name: str = ""  # the value of this field
    busy: frozenset[str] = frozenset()  # is none of these, ignoring case

    def fits(self, value: Any) -> bool:
        return not self.name or (isinstance(value, str) and value.casefold() not in self.busy)


IDLE: dict[str, NoOpCondition] = {
    "progress": NoOpCondition(("contracts", "blockers")),
    # Any message of the current level may answer an escalation, a status too.
    "status": NoOpCondition(
        ("blockers", "escalations"), "status", frozenset({"started", "blocked", "completed", "failed"})
    ),
    "quality": NoOpCondition((), "status", frozenset({"passed"})),
}
# Reports never answer an escalation of their conversation.
COMES_ALONG = frozenset({"progress", "quality"})
# Actions that decide a request for approval.
DECIDING = frozenset({"answer", "dispatch"})


RULES_OFF = "rules_off"  # in the event of a message: it was stored by a team without work rules
_TELLING = ('"findings"', '"inboxes"', f'"{RULES_OFF}"')


ROUTE_KEY = "$route"  # in a tree: a value of the body, no field of the message


class WorkMessage(NamedTuple):
    """A message as the work rules see it."""

    seq: int  # 0: it is not stored yet
    id: str
    at: float
    sender: str
    role: str  # the sender's, by the roster
    to: str  # as addressed
    inboxes: tuple[str, ...]  # where it was put
    dialect: Dialect
    type: MessageType
    fields: Mapping[str, Any]  # values of the action's fields, see `fields_of`
    correlation: str | None = None
    reply_to: str | None = None

    @property
    def action(self) -> str:
        return self.type.action

    def get(self, name: str) -> Any:
        """Value of one of the action's fields; None where the message, or its type, does not have it."""
        return self.fields.get(name)

    def text(self, name: str) -> str:
        value = self.fields.get(name)
        return value if isinstance(value, str) else ""

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts. Items of another type, which a lenient team lets pass, are left out."""
        return _texts(self.fields.get(name))

    def moment(self, name: str) -> float | None:
        """A timestamp, in seconds since 1970; None if there is none."""
        written = self.text(name)
        at = parse_timestamp(written).at if written else None
        try:
            return at.astimezone(UTC).timestamp() if at is not None else None
        except OverflowError:  # first or last day of the calendar, in another zone
            return None

    @property
    def has_states(self) -> bool:
        """Whether tasks have states in its dialect."""
        return _reader_of(self.dialect, self.type).has_states

    def has(self, name: str) -> bool:
        """Whether its type has that field, which may be empty, or implies its value."""
        semantics = self.type.semantics
        return name in semantics.field_map or name in semantics.fixed

    def path(self, name: str, *more: str | int) -> str:
        """Path of that field, for a finding; the whole message if its type only implies the value."""
        where = self.type.field_map.get(name, BODY_KEY)
        return ROOT if where == BODY_KEY else path_of(*self.dialect.locate(self.type, where), *more)


def work_message_from_log(message: StoredMessage, event: Event | None, dialect: Dialect) -> WorkMessage | None:
    """A message from the log. None: it has no work action, or a lenient team stored it with a refusal, so it changes
    nothing."""
    type_ = dialect.types.get(message.type or "")
    if type_ is None or type_.action not in RULES or message.refused:
        return None
    text = event.detail if event is not None else None
    # Most details hold only a duration, and parsing them is a third of the cost of folding.
    detail = detail_of(event) if event is not None and text and any(word in text for word in _TELLING) else {}
    findings = detail.get("findings")  # of any type: an export may have been edited
    listed = [finding for finding in findings if isinstance(finding, dict)] if isinstance(findings, list) else []
    if detail.get(RULES_OFF) or any(finding.get("severity", "refusal") == "refusal" for finding in listed):
        return None
    return WorkMessage(
        seq=message.seq,
        id=message.id,
        at=message.at,
        sender=message.sender,
        role=message.role,
        to=message.to,
        inboxes=_texts(detail.get("inboxes")),
        dialect=dialect,
        type=type_,
        fields=fields_of(parse_tree(message.raw, dialect, type_), dialect, type_),
        correlation=message.correlation,
        reply_to=message.reply_to,
    )


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def parse_tree(raw: bytes, dialect: Dialect, type_: MessageType, decode: Callable[[bytes], Any] | None = None) -> Tree:
    """The message's content: the JSON decoder where it accepts the message, the tolerant parser elsewhere.

    `decode` is a faster JSON decoder, for a message that the compiled validator has accepted.
    """
    reader, tree = _READERS.get(id(type_)) or _reader_of(dialect, type_), None
    if dialect.form == "json":
        try:
            tree = _DECODE(raw.decode()) if decode is None else decode(raw)
        except (ValueError, RecursionError):
            tree = None
    payload = reader.payload
    if type(tree) is not dict or tree.get("type") != type_.name or (payload is not None and payload not in tree):
        from telex.dialects.parse.reader import read

        reading = read(raw, (dialect,), forced=dialect)
        tree = reading.tree
        if ROUTE in type_.sections:
            tree = {**tree, ROUTE_KEY: route_in(reading.body or "")}
        if dialect.form == "front-matter" and type_.semantics.intents:
            from telex.dialects.scalars import typed

            tree = {**typed(tree, dialect.fields_of(type_)), BODY_KEY: (reading.body or "").strip()}
    return _respelt(tree, dialect, reader.later) if reader.later else tree


def _respelt(tree: Tree, dialect: Dialect, later: Mapping[str, str]) -> Tree:
    """Fields under their own name, where the message has the name of a later version."""
    inside = tree.get(dialect.payload) if dialect.payload else tree
    if isinstance(inside, dict):
        for name, spelling in later.items():
            if name not in inside and spelling in inside:
                inside[name] = inside.pop(spelling)
    return tree


class _TypeReader(NamedTuple):
    """How to read the fields of one type, built once."""

    type: MessageType  # a reference, so that its id stays valid as a key
    payload: str | None  # the object that most of its fields are in; None: the message itself
    names: tuple[str, ...]  # of the fields in it, as the action has them
    keys: tuple[str, ...]  # the same, as the message has them
    getters: tuple[tuple[str, Callable[[Tree], Any]], ...]  # the others
    later: Mapping[str, str]  # fields that may also have the name of a later version
    has_states: bool  # tasks have states in its dialect
    values: Mapping[str, Mapping[Any, Any]]  # by name: values of the field, as the rules have them
    fixed: Mapping[str, Any]  # by name: values that the type implies


_DECODE = json.JSONDecoder().decode
_READERS: dict[int, _TypeReader] = {}


def fields_of(tree: Tree, dialect: Dialect, type_: MessageType) -> dict[str, Any]:
    """Values of the action's fields by their names in the action; None where the message does not have one."""
    reader = _READERS.get(id(type_)) or _reader_of(dialect, type_)
    inside = tree.get(reader.payload) if reader.payload is not None else tree
    if type(inside) is not dict:
        inside = {}
    fields = dict(zip(reader.names, map(inside.get, reader.keys), strict=True))
    for name, get in reader.getters:
        fields[name] = get(tree)
    if ROUTE_KEY in tree:
        fields["route"] = tree[ROUTE_KEY]
    if reader.values:
        for name, values in reader.values.items():
            value = fields[name]
            if isinstance(value, (str, bool)):
                fields[name] = values.get(value, value)
    if reader.fixed:
        fields.update(reader.fixed)
    return fields


def _reader_of(dialect: Dialect, type_: MessageType) -> _TypeReader:
    known = _READERS.get(id(type_))
    if known is not None:
        return known
    semantics = type_.semantics
    paths = {name: dialect.locate(type_, where) for name, where in semantics.field_map.items()}
    parents = (dialect.payload,) if dialect.payload else ()
    inside = {name: path for name, path in paths.items() if path[:-1] == parents and not path[-1].endswith("[]")}
    later = {name: field.later_spelling for name, field in type_.fields.items() if field.later_spelling is not None}
    has_states = any(message_type.action == "move" for message_type in dialect.types.values())
    reader = _READERS[id(type_)] = _TypeReader(
        type_,
        dialect.payload or None,
        names=tuple(inside),
        keys=tuple(path[-1] for path in inside.values()),
        getters=tuple((name, get_path(path)) for name, path in paths.items() if name not in inside),
        later=later,
        has_states=has_states,
        values={
            name: {value: of_rules for of_rules in reversed(spelling) for value in spelling[of_rules]}
            for name, spelling in semantics.spelling.items()
        },
        fixed=semantics.fixed,
    )
    return reader


def id_reused(work_message: WorkMessage, why: str) -> Finding:
    wire = work_message.dialect.wire.id
    say = f"Give it an id of its own: {why} under {work_message.id}."
    path = path_of(wire) if wire else ROOT
    return Finding("id-reused", path, say, expected="an id not used before", found=work_message.id)


def id_nearly_known(work_message: WorkMessage, name: str, known: str) -> Finding:
    """`name`: the field of the action that has the id."""
    found = work_message.text(name)[: LIMITS.found_characters_max]
    say = f"Write {known}, if that is meant: {found!r} is another one, and differs by case or blanks only."
    return Finding("id-nearly-known", work_message.path(name), say, "warning", found=found, nearest=known)

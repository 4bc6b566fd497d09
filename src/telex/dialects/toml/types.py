"""Message types of a dialect file, in three passes.

Types refer to each other: the first pass reads fields and roles, the second rules and replies, which need every type,
the third examples, which must break no rule.
"""

import re

from telex.dialects.parse.detect import is_control_frame
from telex.dialects.schema import (
    ANY,
    PRIORITIES,
    TYPE,
    Dialect,
    Field,
    HardRule,
    MessageType,
    OneOf,
    Text,
    Tree,
    kind_at,
    walk_kinds,
)
from telex.dialects.toml.document import RAW, Key, TomlValue, meant_or_choices, one_of
from telex.dialects.toml.fields import FIELDS_MAX, read_fields
from telex.dialects.toml.rules import RuleScope, read_rules
from telex.dialects.toml.semantics import KEYS as SEMANTICS_KEYS
from telex.dialects.toml.values import broken_rules, fits, plain_fields, plain_message, read_object
from telex.dialects.write import expected

TYPES_MAX = 200
LIST_MAX = 100  # roles or sections
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}\Z")
_ROLE = re.compile(r"[a-z][a-z0-9_-]{0,63}\Z")


def read_roles(value: TomlValue) -> tuple[str, ...]:
    if value.value == []:
        value.flaw("name at least one role")
    roles: list[str] = []
    for item in value.items(LIST_MAX):
        if item.value == "*":
            item.flaw("'*' is every role: it stands alone, in senders or receivers")
        elif role := item.word(_ROLE, "a role: a lower-case letter, then letters, digits, - and _"):
            if role in roles:
                item.flaw(f"{role} is there twice")
            roles.append(role)
    return tuple(roles)


def _roles_or_any(value: TomlValue) -> tuple[str, ...]:
    return ANY if value.value == list(ANY) else read_roles(value)


def _sections(value: TomlValue) -> tuple[str, ...]:
    return tuple(line for item in value.items(LIST_MAX) if (line := item.line()))


KEYS = {
    "purpose": Key(TomlValue.line, "one line that says what the message is for", ""),
    "senders": Key(_roles_or_any, 'the roles that may send it, or ["*"] for all', ANY),
    "receivers": Key(_roles_or_any, 'the roles that may receive it, or ["*"] for all', ANY),
    "priority": Key(one_of(*PRIORITIES), default="STATUS"),
    "reply": RAW,
    "sections": Key(_sections, default=()),
    "fields": RAW,
    "rules": RAW,
    "example": RAW,
    "example_body": RAW,
    **SEMANTICS_KEYS,
}


# --- the first pass: fields and roles --------------------------------------------------------------------------------


def read_types(place: TomlValue, frame: Dialect) -> dict[str, MessageType]:
    """Types without rules, replies and examples. `frame` is the dialect without types."""
    types: dict[str, MessageType] = {}
    for name, value in place.entries(TYPES_MAX):
        if not _NAME.match(name):
            value.flaw("a type's name has up to 64 letters, digits, _ and -, and begins with a letter")
        if value.is_table():
            types[name] = _read_type(value, name, frame)
    return types


def _read_type(value: TomlValue, name: str, frame: Dialect) -> MessageType:
    given = value.read(KEYS)
    reserved = (TYPE,) if frame.payload else (TYPE, *frame.envelope)  # without a payload, all fields share one object
    fields = read_fields(given["fields"], reserved) if given["fields"] else {}
    plain = {key: given[key] for key in ("purpose", "senders", "receivers", "priority", "sections")}
    type_ = MessageType(name=name, fields=fields, example={}, **plain)
    if value.has("sections") and frame.form != "front-matter":
        value.at("sections").flaw('only messages with form = "front-matter" have a body with sections')
    required = (field for field, spec in frame.fields_of(type_).items() if spec.required)
    if is_control_frame({**dict.fromkeys(required), TYPE: name}, (frame._replace(types={name: type_}),)):
        value.flaw("coding tools send messages of this name, which pass unread, and so would yours; choose another")
    return type_


def check_roles(place: TomlValue, roles: tuple[str, ...]) -> None:
    """Report every sender and receiver that is not among the declared roles."""
    for _, value in place.entries(TYPES_MAX):
        for key in ("senders", "receivers"):
            named = value.get(key)
            for item in named.items(LIST_MAX) if named and isinstance(named.value, list) else ():
                if isinstance(item.value, str) and _ROLE.match(item.value) and item.value not in roles:
                    item.unknown(item.value, roles, f"{item.value} is not among the roles")


# --- the second pass: rules and replies ------------------------------------------------------------------------------


def with_rules(value: TomlValue, type_: MessageType, dialect: Dialect) -> MessageType:
    reply, rules = value.get("reply"), value.get("rules")
    _check_signatures(value, type_, dialect)
    return type_._replace(
        reply=reply.choice(dialect.types) if reply else None,
        rules=read_rules(rules, _scope(dialect, type_)) if rules else (),
    )


def _addresses(dialect: Dialect) -> list[tuple[str, str]]:
    """The fields that hold roles, each with the key that lists the allowed ones."""
    pairs = ((dialect.wire.sender, "senders"), (dialect.wire.recipient, "receivers"))
    return [(name, key) for name, key in pairs if name is not None and dialect.addresses == "roles"]


def _check_signatures(value: TomlValue, type_: MessageType, dialect: Dialect) -> None:
    """Report a sender or receiver that the field for it cannot hold."""
    for name, key in _addresses(dialect):
        field, roles = dialect.fields_of(type_).get(name), getattr(type_, key)
        if field is None or roles == ANY or not isinstance(field.kind, Text | OneOf):
            continue
        for role in roles:
            if not fits(role, field.kind):
                value.at(key).flaw(f"{role} does not fit in {name}, which takes {expected(field.kind)}")


def _scope(dialect: Dialect, type_: MessageType) -> RuleScope:
    whole = dialect.fields_of(type_)

    def field(name: str) -> Field | None:
        return None if name == TYPE else kind_at(whole, dialect.locate(type_, name))

    def names() -> list[str]:
        paths = (path for path, _ in walk_kinds({**dialect.envelope, **type_.fields}))
        return [".".join(path) for path, _ in zip(paths, range(FIELDS_MAX), strict=False)]

    return RuleScope(field, names)


def read_common_rules(value: TomlValue, dialect: Dialect) -> tuple[HardRule, ...]:
    """The rules of every type, which can only name fields of the envelope."""
    known = dialect.envelope
    # A type's own field hides one of the envelope, so a rule of all types cannot name it.
    hidden = {name for type_ in dialect.types.values() for name in type_.fields if name in known}

    def field(name: str) -> Field | None:
        first = name.split(".")[0].removesuffix("[]")
        return None if first in hidden else kind_at(known, tuple(name.split(".")))

    return read_rules(value, RuleScope(field, lambda: [name for name in known if name not in hidden]))


# --- the third pass: examples ----------------------------------------------------------------------------------------


def with_examples(place: TomlValue, own: dict[str, MessageType], dialect: Dialect) -> dict[str, MessageType]:
    """The types with their examples; a missing example is made of plain values. No example may break a rule."""
    types: dict[str, MessageType] = {}
    for name, type_ in own.items():
        written = _read_example(place.at(name), type_, dialect)
        body = _read_body(place.at(name), type_, dialect)
        types[name] = type_._replace(example=written or plain_message(dialect, type_), body_example=body)
    if place.sheet.flaws:
        return types  # rules can only run on a message whose fields are known
    for name, type_ in types.items():
        path = (*place.path, name, "example")
        broken = broken_rules(type_.example, dialect, type_)
        if place.at(name).has("example"):
            for rule in broken:
                place.sheet.note(path, f"the example breaks {rule.code}: {rule.say}")
        elif broken:
            codes = ", ".join(rule.code for rule in broken)
            place.sheet.note(
                path, f"is missing: the example made of plain values breaks {codes}, so write one that breaks no rule"
            )
    return types


def _read_example(value: TomlValue, type_: MessageType, dialect: Dialect) -> Tree | None:
    """The example of the file, its envelope filled in where it was left out."""
    example = value.get("example")
    if example is None or not example.is_table():
        return None
    for name, key in _addresses(dialect):
        if example.has(name) and (roles := getattr(type_, key)) != ANY:
            example.at(name).choice(roles)
    envelope = {TYPE: type_.name, **plain_fields(dialect, type_, dialect.envelope)}
    return read_object(example._replace(value={**envelope, **example.value}), dialect.fields_of(type_))


def _read_body(place: TomlValue, type_: MessageType, dialect: Dialect) -> str:
    """The markdown under the example, with every section of the type."""
    value = place.get("example_body")
    if value is None:
        body = "\n\n".join(f"## {section}\n…" for section in type_.sections)
        return f"{body}\n" if body else ""
    if dialect.form != "front-matter":
        value.flaw('only messages with form = "front-matter" have a body')
    if not isinstance(value.value, str):
        value.wrong("text")
        return ""
    headings = {line.lstrip("#").strip().casefold() for line in value.value.splitlines() if line.startswith("#")}
    for section in type_.sections:
        if section.casefold() not in headings:
            value.flaw(f"has no section '## {section}', which the type asks for; {meant_or_choices(section, headings)}")
    return value.value

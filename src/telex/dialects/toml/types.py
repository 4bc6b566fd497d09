"""Which message types does the user's file add to its dialect?

In three passes, because types speak of each other: first their fields and roles, then their rules and replies, which
need to know every type, and then their examples, which have to keep the rules.
"""

import re
from typing import cast

from telex.dialects.blanks import expected
from telex.dialects.parse.detect import is_control_frame
from telex.dialects.schema import (
    ANY,
    PRIORITIES,
    TYPE,
    Dialect,
    Field,
    Fields,
    HardRule,
    MessageType,
    OneOf,
    Priority,
    Text,
    Tree,
    kind_at,
    walk_kinds,
)
from telex.dialects.toml.document import TomlValue, meant_or_choices
from telex.dialects.toml.examples import read_fields_of_example
from telex.dialects.toml.fields import FIELDS_MAX, read_fields
from telex.dialects.toml.rule_types import RuleScope
from telex.dialects.toml.rules import read_rules
from telex.dialects.toml.sample_values import broken_rules, fits, plain_fields
from telex.dialects.toml.semantics import KEYS as MEANING_KEYS

TYPES_MAX = 200
LIST_MAX = 100  # roles or sections
KEYS = (
    *("purpose", "senders", "receivers", "priority", "reply", "sections", "fields", "rules", "example", "example_body"),
    *MEANING_KEYS,
)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}\Z")
_ROLE = re.compile(r"[a-z][a-z0-9_-]{0,63}\Z")


def read_types(place: TomlValue, frame: Dialect) -> dict[str, MessageType]:
    """The first pass: types with neither rules, replies nor examples. `frame` is the dialect without them."""
    found: dict[str, MessageType] = {}
    for name, value in place.entries(TYPES_MAX):
        if not _NAME.match(name):
            value.flaw("a type's name has up to 64 letters, digits, _ and -, and begins with a letter")
        if value.is_table():
            found[name] = _read_type(value, name, frame)
    return found


def _read_type(value: TomlValue, name: str, frame: Dialect) -> MessageType:
    value.only(*KEYS)
    purpose = value.need("purpose", "one line that says what the message is for")
    senders = value.need("senders", 'the roles that may send it, or ["*"] for all')
    receivers = value.need("receivers", 'the roles that may receive it, or ["*"] for all')
    taken = (TYPE,) if frame.payload else (TYPE, *frame.envelope)  # where fields lie flat, names are shared
    type_ = MessageType(
        name=name,
        purpose=(purpose.line() if purpose else None) or "",
        senders=read_roles(senders, any_role=True) if senders else ANY,
        receivers=read_roles(receivers, any_role=True) if receivers else ANY,
        priority=_priority(value),
        fields=read_fields(value.at("fields"), taken) if value.has("fields") else {},
        sections=_sections(value, frame),
        example={},
    )
    if is_control_frame(
        {TYPE: name, **dict.fromkeys(_needed(frame.fields_of(type_)))}, (frame._replace(types={name: type_}),)
    ):
        value.flaw("coding tools send messages of this name, which pass unread, and so would yours; choose another")
    return type_


def _needed(fields: Fields) -> list[str]:
    return [name for name, field in fields.items() if field.required and name != TYPE]


def _priority(value: TomlValue) -> Priority:
    chosen = value.at("priority").choice(PRIORITIES) if value.has("priority") else None
    return cast(Priority, chosen or "STATUS")


def read_roles(value: TomlValue, *, any_role: bool = False) -> tuple[str, ...]:
    """A list of roles; with `any_role`, a single "*" stands for all of them."""
    if any_role and value.value == list(ANY):
        return ANY
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


def check_roles(place: TomlValue, roles: tuple[str, ...]) -> None:
    """Note every sender and receiver that is none of the declared roles."""
    for _, value in place.entries(TYPES_MAX):
        for key in ("senders", "receivers"):
            named = value.value.get(key) if isinstance(value.value, dict) else None
            for index, role in enumerate(named if isinstance(named, list) else ()):
                if isinstance(role, str) and _ROLE.match(role) and role not in roles:
                    value.at(key).at(index).unknown(role, roles, f"{role} is not among the roles")


def _sections(value: TomlValue, frame: Dialect) -> tuple[str, ...]:
    if not value.has("sections"):
        return ()
    if frame.form != "front-matter":
        value.at("sections").flaw('only messages with form = "front-matter" have a body with sections')
    lines = (item.line() for item in value.at("sections").items(LIST_MAX))
    return tuple(line for line in lines if line)


# --- the second pass: rules and replies ------------------------------------------------------------------------------


def with_rules(value: TomlValue, type_: MessageType, dialect: Dialect) -> MessageType:
    reply = value.at("reply").choice(dialect.types) if value.has("reply") else None
    scope = _scope(type_.fields, dialect, type_)
    rules = read_rules(value.at("rules"), scope) if value.has("rules") else ()
    _check_signatures(value, type_, dialect)
    return type_._replace(rules=rules, reply=reply)


def _addresses(dialect: Dialect) -> list[tuple[str, str]]:
    """The fields that hold roles, each with the key that says which roles those may be."""
    pairs = ((dialect.wire.sender, "senders"), (dialect.wire.recipient, "receivers"))
    return [(name, key) for name, key in pairs if name is not None and dialect.addresses == "roles"]


def _check_signatures(value: TomlValue, type_: MessageType, dialect: Dialect) -> None:
    """A role that may send or receive a type must also fit in the field that names it."""
    for name, key in _addresses(dialect):
        field = dialect.fields_of(type_).get(name)
        roles = getattr(type_, key)
        if field is None or roles == ANY or not isinstance(field.kind, Text | OneOf):
            continue
        for role in roles:
            if not fits(role, field.kind):
                value.at(key).flaw(f"{role} does not fit in {name}, which takes {expected(field.kind)}")


def _scope(own: Fields, dialect: Dialect, type_: MessageType) -> RuleScope:
    whole = dialect.fields_of(type_)

    def field(name: str) -> Field | None:
        # A rule belongs to a type, or to all of them, so it never has to ask which one it is looking at.
        return None if name == TYPE else kind_at(whole, dialect.locate(type_, name))

    def names() -> list[str]:
        near = {**dialect.envelope, **own}
        paths = (path for path, _ in walk_kinds(near))
        return [".".join(path) for path, _ in zip(paths, range(FIELDS_MAX), strict=False)]

    return RuleScope(field, names)


def read_common_rules(value: TomlValue, dialect: Dialect) -> tuple[HardRule, ...]:
    """The rules of every type, which can only speak of what every type has: the envelope."""
    known = dialect.envelope
    # With a payload, a type's own field goes before one of the envelope, so a rule for all types could not say which.
    hidden = {name for type_ in dialect.types.values() for name in type_.fields if name in known}

    def field(name: str) -> Field | None:
        first = name.split(".")[0].removesuffix("[]")
        return None if first in hidden else kind_at(known, tuple(name.split(".")))

    return read_rules(value, RuleScope(field, lambda: [name for name in known if name not in hidden]))


# --- the third pass: examples ----------------------------------------------------------------------------------------


def written_example(value: TomlValue, type_: MessageType, dialect: Dialect) -> Tree | None:
    """The example in the file, its envelope filled in where it was left out; None when there is none."""
    if not value.has("example"):
        return None
    example = value.at("example")
    if not example.is_table():
        return None
    around = {TYPE: type_.name, **plain_fields(dialect, type_, dialect.envelope)}
    whole = example._replace(value={**around, **example.value})
    for name, key in _addresses(dialect):
        if name in example.value and (roles := getattr(type_, key)) != ANY:
            example.at(name).choice(roles)
    return read_fields_of_example(whole, dialect.fields_of(type_))


def with_example(value: TomlValue, type_: MessageType, dialect: Dialect, written: Tree | None) -> MessageType:
    """The type with its example, or one of plain values; it must break no rule. Only for a file without problems."""
    if written is not None:
        for rule in broken_rules(written, dialect, type_):
            value.at("example").flaw(f"the example breaks {rule.code}: {rule.say}")
        return type_._replace(example=written)
    plain = plain_fields(dialect, type_, dialect.fields_of(type_))
    if dialect.payload is not None:
        plain[dialect.payload] = plain_fields(dialect, type_, type_.fields)
    if broken := broken_rules(plain, dialect, type_):
        codes = ", ".join(rule.code for rule in broken)
        TomlValue(None, (*value.path, "example"), value.sheet).flaw(
            f"is missing: the example made of plain values breaks {codes}, so write one that breaks no rule"
        )
    return type_._replace(example=plain)


def with_body(place: TomlValue, type_: MessageType, dialect: Dialect) -> MessageType:
    """The type with the markdown under its example; every section that it asks for is there."""
    if not place.has("example_body"):
        body = "\n\n".join(f"## {section}\n…" for section in type_.sections)
        return type_._replace(body_example=f"{body}\n" if body else "")
    value = place.at("example_body")
    if dialect.form != "front-matter":
        value.flaw('only messages with form = "front-matter" have a body')
    if not isinstance(value.value, str):
        value.wrong("text")
        return type_
    headings = {line.lstrip("#").strip().casefold() for line in value.value.splitlines() if line.startswith("#")}
    for section in type_.sections:
        if section.casefold() not in headings:
            value.flaw(f"has no section '## {section}', which the type asks for; {meant_or_choices(section, headings)}")
    return type_._replace(body_example=value.value)

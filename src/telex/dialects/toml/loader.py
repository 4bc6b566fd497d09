"""Message types of a dialect file, in three passes.

Types refer to each other: the first pass reads fields and roles, the second rules and replies, which need every type,
the third examples, which must break no rule.
"""

import re
from typing import Any

from telex.dialects.intents import TRADES
from telex.dialects.parse.detect import is_control_frame
from telex.dialects.registry import BUILT_IN, PLAIN
from telex.dialects.schema import (
    ANY,
    PRIORITIES,
    TYPE,
    Dialect,
    EnvelopeFields,
    Field,
    Fields,
    HardRule,
    MessageType,
    OneOf,
    Text,
    Timestamp,
    Tree,
    kind_at,
    walk_kinds,
)
from telex.dialects.toml.document import (
    NESTING_MAX,
    RAW,
    Key,
    TomlDocument,
    TomlProblem,
    TomlValue,
    meant_or_choices,
    one_of,
    scan,
    show,
    toml_tables,
)
from telex.dialects.toml.fields import (
    FIELDS_MAX,
    UNREAD,
    broken_rules,
    fits,
    name_flaw,
    plain_fields,
    plain_message,
    read_fields,
    read_object,
)
from telex.dialects.toml.rules import RuleScope, read_rules
from telex.dialects.toml.semantics import KEYS as SEMANTICS_KEYS
from telex.dialects.toml.semantics import with_semantics
from telex.dialects.write import expected
from telex.model.named_tuple import NamedTuple
from telex.model.text import nearest

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
            item.flaw("'*' means every role: use it alone, in senders or receivers")
        elif role := item.word(_ROLE, "a role: a lower-case letter, then letters, digits, - and _"):
            if role in roles:
                item.flaw(f"{role} is there twice")
            roles.append(role)
    return tuple(roles)


def _roles_or_any(value: TomlValue) -> tuple[str, ...]:
    return ANY if value.value == list(ANY) else read_roles(value)


TYPE_KEYS = {
    "purpose": Key(TomlValue.line, "one line: what the message is for", ""),
    "senders": Key(_roles_or_any, 'the roles that may send it, or ["*"] for all', ANY),
    "receivers": Key(_roles_or_any, 'the roles that may receive it, or ["*"] for all', ANY),
    "priority": Key(one_of(*PRIORITIES), default="STATUS"),
    "reply": RAW,
    "sections": Key(lambda value: tuple(line for item in value.items(LIST_MAX) if (line := item.line())), default=()),
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
    given = value.read(TYPE_KEYS)
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
    lists = [value.get(key) for _, value in place.entries(TYPES_MAX) for key in ("senders", "receivers")]
    for item in (item for named in lists if named and isinstance(named.value, list) for item in named.items(LIST_MAX)):
        if isinstance(item.value, str) and _ROLE.match(item.value) and item.value not in roles:
            item.unknown(item.value, roles, f"{item.value} is not among the roles")


# --- the second pass: rules and replies ------------------------------------------------------------------------------


def with_rules(value: TomlValue, type_: MessageType, dialect: Dialect) -> MessageType:
    reply, rules = value.get("reply"), value.get("rules")
    for name, key in _addresses(dialect):
        field, roles = dialect.fields_of(type_).get(name), getattr(type_, key)
        if field is not None and roles != ANY and isinstance(field.kind, Text | OneOf):
            for role in roles:
                if not fits(role, field.kind):
                    value.at(key).flaw(f"{role} does not fit in {name}, which takes {expected(field.kind)}")
    return type_._replace(
        reply=reply.choice(dialect.types) if reply else None,
        rules=read_rules(rules, _scope(dialect, type_)) if rules else (),
    )


def _addresses(dialect: Dialect) -> list[tuple[str, str]]:
    """The fields that hold roles, each with the key that lists the allowed ones."""
    pairs = ((dialect.wire.sender, "senders"), (dialect.wire.recipient, "receivers"))
    return [(name, key) for name, key in pairs if name is not None and dialect.addresses == "roles"]


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
        made = "" if place.at(name).has("example") else "is missing: one made of plain values breaks a rule, "
        for rule in broken_rules(type_.example, dialect, type_):
            place.sheet.note((*place.path, name, "example"), f"{made}the example breaks {rule.code}: {rule.say}")
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


__all__ = ["LoadedDialect", "TomlProblem", "declare", "show"]

FILE_BYTES_MAX = 262_144  # 256 KiB; the largest built-in dialect would take 20
HUMAN = "human"  # a member of every team, so an escalation chain may end there
_DIALECT_NAME = re.compile(r"(?=.{1,64}\Z)[a-z][a-z0-9]*(-[a-z0-9]+)*\Z")
_EMPTY = Dialect(name="", version="", purpose="", form="json", roles=(), types={})
DIALECT_KEYS = {
    "name": Key(
        lambda value: value.word(_DIALECT_NAME, "lower-case words and digits joined by hyphens"),
        "of the dialect, such as release-train",
        "",
    ),
    "version": Key(lambda value: value.line(64), 'such as "1.0"', ""),
    "purpose": Key(TomlValue.line, "one line: what the dialect is for", ""),
    "extends": RAW,
    "form": Key(one_of("json", "front-matter")),
    "payload": Key(lambda value: value.line(64)),
    "addresses": Key(one_of("roles", "names")),
    **dict.fromkeys(("roles", "trades", "chain", "envelope", "wire", "types", "rules"), RAW),
}


class LoadedDialect(NamedTuple):
    dialect: Dialect | None  # None when there is any flaw
    flaws: tuple[TomlProblem, ...]
    remarks: tuple[TomlProblem, ...] = ()  # hints about a valid file


def declare(text: str, file: str, built_in: tuple[Dialect, ...] = BUILT_IN) -> LoadedDialect:
    """Load a declaration. `file` is only named in the flaws; `built_in` are the dialects it may extend."""
    if len(text) > FILE_BYTES_MAX or len(text.encode(errors="surrogatepass")) > FILE_BYTES_MAX:
        return LoadedDialect(None, (TomlProblem(file, 1, "", f"the file has more than {FILE_BYTES_MAX // 1024} KiB"),))
    text = text.removeprefix("\ufeff")  # a byte order mark, which TOML does not allow
    lines, too_deep = scan(text)
    if too_deep is not None:
        return LoadedDialect(None, (TomlProblem(file, too_deep, "", f"nested more than {NESTING_MAX} deep"),))
    tables = toml_tables(text, file)
    if isinstance(tables, TomlProblem):
        return LoadedDialect(None, (tables,))
    sheet = TomlDocument(file, lines)
    dialect = _read_dialect(TomlValue(tables, (), sheet), built_in)
    remarks = tuple(sorted(sheet.remarks, key=lambda problem: problem.line))
    return LoadedDialect(None if sheet.flaws else dialect, sheet.in_order(), remarks)


def _read_dialect(value: TomlValue, built_in: tuple[Dialect, ...]) -> Dialect | None:
    given = value.read(DIALECT_KEYS)
    by_name, extends, base = {dialect.name: dialect for dialect in built_in}, given["extends"], _EMPTY
    if extends is not None:
        name = extends.choice(by_name)
        if name is None and isinstance(extends.value, str):
            name = nearest(extends.value, by_name)  # a flaw already; reading on finds the other ones
        if name is None:
            return None
        base = by_name[name]
    if given["name"] in {PLAIN.name, *by_name}:
        value.at("name").flaw(f"{given['name']} is a built-in dialect: choose another name, and extend it if you like")
    frame = _frame(value, given, base)
    own = read_types(given["types"], frame) if given["types"] else {}
    if not own and not base.types:
        value.need("types", "at least one message type, such as [types.release_ready]")
    dialect = _with_roles(value, frame._replace(types={**base.types, **own}), own)
    if dialect.payload is None and given["envelope"]:
        for type_ in dialect.types.values():
            for name in type_.fields:
                if type_.name not in own and given["envelope"].has(name):
                    given["envelope"].at(name).flaw(f"{type_.name} has a field of this name; choose another")
    if given["wire"]:
        named = given["wire"].read(dict.fromkeys(EnvelopeFields._fields, Key(TomlValue.line)))
        named = {key: name for key, name in named.items() if name is not None}
        for key, name in named.items():
            _check_wire(given["wire"].at(key), key, name, dialect)
        dialect = dialect._replace(wire=dialect.wire._replace(**named))
    if given["rules"]:
        dialect = dialect._replace(rules=(*base.rules, *read_common_rules(given["rules"], dialect)))
    if own:
        own = {name: with_rules(given["types"].at(name), type_, dialect) for name, type_ in own.items()}
        own = with_semantics(given["types"], own, dialect)
        own = with_examples(given["types"], own, dialect._replace(types={**dialect.types, **own}))
    if given["rules"] and not value.sheet.flaws:
        for type_ in (type_ for name, type_ in dialect.types.items() if name not in own):
            for rule in broken_rules(type_.example, dialect, type_):
                say = f"the inherited example of {type_.name} breaks {rule.code}"
                given["rules"].remark(f"{say}; declare the type again to replace it")
    return dialect._replace(types={**dialect.types, **own})


# --- the frame: everything around the types --------------------------------------------------------------------------


def _frame(value: TomlValue, given: dict[str, Any], base: Dialect) -> Dialect:
    for key in ("form", "addresses"):
        inherited = getattr(base, key)
        if base.name and given[key] not in (None, inherited):
            value.at(key).flaw(f"{base.name} has {key} {inherited!r}, and what extends it has the same")
    own = read_fields(given["envelope"], (TYPE, *base.envelope)) if given["envelope"] else {}
    for name, field in own.items():
        if base.name and field.required:
            given["envelope"].at(name).flaw(f"make it optional: the messages of {base.name} do not have it")
    frame = base._replace(
        name=given["name"],
        version=given["version"],
        purpose=given["purpose"],
        form=given["form"] or base.form,
        addresses=given["addresses"] or base.addresses,
        envelope={**base.envelope, **own},
        payload=given["payload"] or base.payload,
        extends=base.name or None,
    )
    if given["payload"] and (flaw := _payload_flaw(given["payload"], frame, base)):
        value.at("payload").flaw(flaw)
    return frame


def _payload_flaw(name: str, frame: Dialect, base: Dialect) -> str | None:
    if base.name and name != base.payload:
        return f"{base.name} has its own payload field, and what extends it has the same; leave payload out"
    if name == TYPE or name in frame.envelope:
        return f"every message has a {name!r} already; choose another name"
    if frame.form == "front-matter":
        return "the fields of front matter lie flat; leave payload out"
    return name_flaw(name)


def _are_open(types: TomlValue) -> bool:
    """Whether each type is declared for all roles. Missing or invalid senders and receivers are flaws of their own."""
    tables = [entry.value for _, entry in types.entries(TYPES_MAX) if isinstance(entry.value, dict)]
    return all(table.get(key) == [*ANY] for table in tables for key in ("senders", "receivers"))


def _with_roles(value: TomlValue, dialect: Dialect, own: dict[str, MessageType]) -> Dialect:
    if listed := value.get("roles"):
        roles = tuple(dict.fromkeys((*dialect.roles, *read_roles(listed))))
        if types := value.get("types"):
            check_roles(types, roles)
    else:
        named = (role for type_ in own.values() for role in (*type_.senders, *type_.receivers))
        roles = tuple(role for role in dict.fromkeys((*dialect.roles, *named)) if (role,) != ANY)
        if not roles and own and _are_open(value.at("types")):
            value.need("roles", "every type is open to all, so list the roles")
    chain = _by_role(value.get("chain"), roles, (*roles, HUMAN))
    for role in chain:
        above = role
        for _ in chain:
            above = chain.get(above, above)
        if above in chain:
            value.at("chain").at(role).flaw("the chain is circular: one role has to be at the top")
    trades = _by_role(value.get("trades"), roles, tuple(TRADES))
    chain, trades = {**dialect.chain, **chain}, {**dialect.trades, **trades}
    return dialect._replace(roles=roles, envelope=_widened(dialect, roles), chain=chain, trades=trades)


def _by_role(table: TomlValue | None, roles: tuple[str, ...], choices: tuple[str, ...]) -> dict[str, str]:
    """A table with a choice for each role."""
    chosen: dict[str, str] = {}
    for role, value in table.entries(len(roles) + 1) if table else ():
        if role not in roles:
            value.unknown(role, roles, f"{role} is not among the roles")
        elif choice := value.choice(choices):
            chosen[role] = choice
    return chosen


def _widened(dialect: Dialect, roles: tuple[str, ...]) -> Fields:
    """The envelope, with the new roles added to every field that takes all roles of the extended dialect."""
    known = dialect.roles
    new = tuple(role for role in roles if role not in known)
    return {
        name: field._replace(kind=OneOf((*field.kind.values, *new)))
        if known and isinstance(field.kind, OneOf) and set(field.kind.values) == set(known)
        else field
        for name, field in dialect.envelope.items()
    }


def _check_wire(value: TomlValue, key: str, name: str, dialect: Dialect) -> None:
    known: dict[str, Field] = {}
    if dialect.payload is None or key == "task":
        known = {field: kind for type_ in dialect.types.values() for field, kind in type_.fields.items()}
    known |= dialect.envelope
    if name not in known:
        value.unknown(name, known, f"there is no field {name!r}")
        return
    if "." in name:
        value.flaw(f"{name!r} cannot be named here, where a dot leads into an object; rename the field")
        return
    kind, right = known[name].kind, (Timestamp,) if key == "timestamp" else (Text, OneOf)
    if kind is not UNREAD and not isinstance(kind, right):
        value.flaw(f"{name} is to be a {'datetime' if key == 'timestamp' else 'string or an enum'} to serve as {key}")

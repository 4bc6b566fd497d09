"""Loader of dialects that users declare in TOML.

A declared dialect is the same `Dialect` value as a built-in one, so checks, schemas, pages and prompts treat both
alike. The loader takes text and reads no file. An invalid declaration is a value, too: every problem with its line.
`docs/own-dialects.md` describes the format.
"""

import re
from typing import Any, NamedTuple

from telex.dialects.intents import TRADES
from telex.dialects.registry import BUILT_IN, PLAIN
from telex.dialects.schema import ANY, TYPE, Dialect, EnvelopeFields, Field, Fields, MessageType, OneOf, Text, Timestamp
from telex.dialects.toml.document import RAW, Key, TomlDocument, TomlProblem, TomlValue, one_of, show, toml_tables
from telex.dialects.toml.fields import UNREAD, name_flaw, read_fields
from telex.dialects.toml.line_numbers import NESTING_MAX, scan
from telex.dialects.toml.semantics import with_semantics
from telex.dialects.toml.types import check_roles, read_common_rules, read_roles, read_types, with_examples, with_rules
from telex.dialects.toml.values import broken_rules
from telex.model.text import nearest

__all__ = ["LoadedDialect", "TomlProblem", "declare", "show"]

FILE_BYTES_MAX = 262_144  # 256 KiB; the largest built-in dialect would take 20
HUMAN = "human"  # a member of every team, so an escalation chain may end there
_NAME = re.compile(r"(?=.{1,64}\Z)[a-z][a-z0-9]*(-[a-z0-9]+)*\Z")
_EMPTY = Dialect(name="", version="", purpose="", form="json", roles=(), types={})
KEYS = {
    "name": Key(
        lambda value: value.word(_NAME, "lower-case words and digits joined by hyphens"),
        "of the dialect, such as release-train",
        "",
    ),
    "version": Key(lambda value: value.line(64), 'such as "1.0"', ""),
    "purpose": Key(TomlValue.line, "one line that says what the dialect is for", ""),
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
    given = value.read(KEYS)
    base = _base(given["extends"], built_in)
    if base is None:
        return None
    if given["name"] in {PLAIN.name, *(dialect.name for dialect in built_in)}:
        value.at("name").flaw(f"{given['name']} is a built-in dialect: choose another name, and extend it if you like")
    frame = _frame(value, given, base)
    own = read_types(given["types"], frame) if given["types"] else {}
    if not own and not base.types:
        value.need("types", "at least one message type, such as [types.release_ready]")
    dialect = _with_roles(value, frame._replace(types={**base.types, **own}), own)
    _check_shared_names(value, dialect, own)
    if given["wire"]:
        dialect = dialect._replace(wire=_wire(given["wire"], dialect))
    if given["rules"]:
        dialect = dialect._replace(rules=(*base.rules, *read_common_rules(given["rules"], dialect)))
    if own:
        own = {name: with_rules(given["types"].at(name), type_, dialect) for name, type_ in own.items()}
        own = with_semantics(given["types"], own, dialect)
        own = with_examples(given["types"], own, dialect._replace(types={**dialect.types, **own}))
    if given["rules"] and not value.sheet.flaws:
        _check_inherited_examples(given["rules"], dialect, own)
    return dialect._replace(types={**dialect.types, **own})


def _base(extends: TomlValue | None, built_in: tuple[Dialect, ...]) -> Dialect | None:
    """The dialect to extend, an empty one when none is named, None when the name is like no dialect's."""
    if extends is None:
        return _EMPTY
    by_name = {dialect.name: dialect for dialect in built_in}
    name = extends.choice(by_name)
    if name is None and isinstance(extends.value, str):
        name = nearest(extends.value, by_name)  # a flaw already; reading on finds the other ones
    return by_name[name] if name else None


# --- the frame: everything around the types --------------------------------------------------------------------------


def _frame(value: TomlValue, given: dict[str, Any], base: Dialect) -> Dialect:
    for key in ("form", "addresses"):
        inherited = getattr(base, key)
        if base.name and given[key] not in (None, inherited):
            value.at(key).flaw(f"{base.name} has {key} {inherited!r}, and what extends it has the same")
    frame = base._replace(
        name=given["name"],
        version=given["version"],
        purpose=given["purpose"],
        form=given["form"] or base.form,
        addresses=given["addresses"] or base.addresses,
        envelope={**base.envelope, **(_envelope(given["envelope"], base) if given["envelope"] else {})},
        payload=given["payload"] or base.payload,
        extends=base.name or None,
    )
    if given["payload"] and (flaw := _payload_flaw(given["payload"], frame, base)):
        value.at("payload").flaw(flaw)
    return frame


def _envelope(table: TomlValue, base: Dialect) -> Fields:
    own = read_fields(table, (TYPE, *base.envelope))
    for name, field in own.items():
        if base.name and field.required:
            table.at(name).flaw(f"make it optional: the messages of {base.name} do not have it")
    return own


def _payload_flaw(name: str, frame: Dialect, base: Dialect) -> str | None:
    if base.name and name != base.payload:
        return f"{base.name} has its own payload field, and what extends it has the same; leave payload out"
    if name == TYPE or name in frame.envelope:
        return f"every message has a {name!r} already; choose another name"
    if frame.form == "front-matter":
        return "the fields of front matter lie flat; leave payload out"
    return name_flaw(name)


def _with_roles(value: TomlValue, dialect: Dialect, own: dict[str, MessageType]) -> Dialect:
    if listed := value.get("roles"):
        roles = tuple(dict.fromkeys((*dialect.roles, *read_roles(listed))))
        if types := value.get("types"):
            check_roles(types, roles)
    else:
        named = (role for type_ in own.values() for role in (*type_.senders, *type_.receivers))
        roles = tuple(role for role in dict.fromkeys((*dialect.roles, *named)) if (role,) != ANY)
        if not roles and own:
            value.need("roles", "every type is open to all, so list the roles")
    chain = _by_role(value.get("chain"), roles, (*roles, HUMAN))
    for role in chain:
        above = role
        for _ in chain:
            above = chain.get(above, above)
        if above in chain:
            value.at("chain").at(role).flaw("the chain is circular: one role has to be at the top")
    trades = _by_role(value.get("trades"), roles, tuple(TRADES))
    envelope = _widened(dialect, roles)
    return dialect._replace(roles=roles, envelope=envelope, chain={**dialect.chain, **chain}, trades=trades)


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


def _check_shared_names(value: TomlValue, dialect: Dialect, own: dict[str, MessageType]) -> None:
    """Report a new field of the envelope that has the name of an inherited type's field."""
    envelope = value.get("envelope")
    if dialect.payload is not None or envelope is None:
        return
    for type_ in dialect.types.values():
        for name in type_.fields:
            if type_.name not in own and envelope.has(name):
                envelope.at(name).flaw(f"{type_.name} has a field of this name; choose another")


def _wire(value: TomlValue, dialect: Dialect) -> EnvelopeFields:
    given = value.read(dict.fromkeys(EnvelopeFields._fields, Key(TomlValue.line)))
    named = {key: name for key, name in given.items() if name is not None}
    for key, name in named.items():
        _check_wire(value.at(key), key, name, dialect)
    return dialect.wire._replace(**named)


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


def _check_inherited_examples(value: TomlValue, dialect: Dialect, own: dict[str, MessageType]) -> None:
    for type_ in dialect.types.values():
        for rule in broken_rules(type_.example, dialect, type_) if type_.name not in own else ():
            value.remark(
                f"the inherited example of {type_.name} breaks {rule.code}; declare the type again to replace it"
            )

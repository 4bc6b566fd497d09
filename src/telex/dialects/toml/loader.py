"""What dialect does a user's TOML file declare?

One file, no Python, and out comes a `Dialect` like the built-in ones: checks, schemas, pages and prompts cannot tell
the difference. Text comes in, nothing is read from disk. A file that is wrong is a value like a message that is
wrong: every flaw at once, each with its line. `docs/own-dialects.md` describes the format.
"""

import re
from typing import Any, NamedTuple, cast

from telex.dialects.intents import TRADES
from telex.dialects.registry import BUILT_IN, PLAIN
from telex.dialects.schema import (
    ANY,
    TYPE,
    Dialect,
    EnvelopeFields,
    Field,
    Fields,
    Form,
    MessageType,
    OneOf,
    Text,
    Timestamp,
)
from telex.dialects.toml.document import TomlDocument, TomlProblem, TomlValue, show, toml_tables
from telex.dialects.toml.fields import UNREAD, name_flaw, read_fields
from telex.dialects.toml.line_numbers import NESTING_MAX, scan
from telex.dialects.toml.sample_values import broken_rules
from telex.dialects.toml.semantics import with_meanings
from telex.dialects.toml.types import (
    check_roles,
    read_common_rules,
    read_roles,
    read_types,
    with_body,
    with_example,
    with_rules,
    written_example,
)
from telex.model.suggestion import nearest

__all__ = ["LoadedDialect", "TomlProblem", "declare", "show"]

FILE_BYTES_MAX = 262_144  # 256 KiB; the largest built-in dialect would take 20
HUMAN = "human"  # is in every team, so a chain may end there
KEYS = (
    *("name", "version", "purpose", "extends", "form", "payload", "addresses"),
    *("roles", "trades", "chain", "envelope", "wire", "types", "rules"),
)
_NAME = re.compile(r"(?=.{1,64}\Z)[a-z][a-z0-9]*(-[a-z0-9]+)*\Z")
_BLANK = Dialect(name="", version="", purpose="", form="json", roles=(), types={})


class LoadedDialect(NamedTuple):
    dialect: Dialect | None  # None when there is any flaw
    flaws: tuple[TomlProblem, ...]
    remarks: tuple[TomlProblem, ...] = ()  # what is no flaw, and good to know


def declare(text: str, file: str, built_in: tuple[Dialect, ...] = BUILT_IN) -> LoadedDialect:
    """Read a declaration. `file` is only named in the flaws; `built_in` are the dialects it may extend."""
    if len(text) > FILE_BYTES_MAX or len(text.encode(errors="surrogatepass")) > FILE_BYTES_MAX:
        return LoadedDialect(None, (TomlProblem(file, 1, "", f"the file has more than {FILE_BYTES_MAX // 1024} KiB"),))
    text = text.removeprefix("\ufeff")  # some editors put it there, and TOML has no place for it
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
    value.only(*KEYS)
    base = _base(value, built_in)
    if base is None:
        return None
    frame = _frame(value, base, built_in)
    own = read_types(value.at("types"), frame) if value.has("types") else {}
    if not own and not base.types:
        value.need("types", "at least one message type, such as [types.release_ready]")
    dialect = _with_roles(value, frame._replace(types={**base.types, **own}), own)
    _check_shared_names(value, dialect, own)
    if value.has("wire"):
        dialect = dialect._replace(wire=_wire(value.at("wire"), dialect))
    if value.has("rules"):
        dialect = dialect._replace(rules=(*base.rules, *read_common_rules(value.at("rules"), dialect)))
    ruled = {name: with_rules(value.at("types").at(name), type_, dialect) for name, type_ in own.items()}
    meant = with_meanings(value.at("types"), ruled, dialect) if ruled else ruled
    return _with_examples(value, dialect._replace(types={**dialect.types, **meant}), meant)


# --- the frame: everything around the types --------------------------------------------------------------------------


def _base(value: TomlValue, built_in: tuple[Dialect, ...]) -> Dialect | None:
    """The dialect to build on; an empty one when none is named, None when it cannot be told which is meant."""
    if not value.has("extends"):
        return _BLANK
    by_name = {dialect.name: dialect for dialect in built_in}
    named = value.at("extends").choice(by_name)
    given = value.value["extends"]
    # A misspelt one is a flaw all the same, but reading on with the one that was meant finds the other flaws too.
    meant = named or (nearest(given, by_name) if isinstance(given, str) else None)
    return by_name[meant] if meant else None


def _frame(value: TomlValue, base: Dialect, built_in: tuple[Dialect, ...]) -> Dialect:
    name = value.need("name", "of the dialect, such as release-train")
    named = name.word(_NAME, "lower-case words and digits joined by hyphens") if name else None
    if name and named in {PLAIN.name, *(dialect.name for dialect in built_in)}:
        name.flaw(f"{named} is a built-in dialect: choose another name, and extend it if you like")
    version = value.need("version", 'such as "1.0"')
    purpose = value.need("purpose", "one line that says what the dialect is for")
    frame = base._replace(
        name=named or "",
        version=(version.line(64) if version else None) or "",
        purpose=(purpose.line() if purpose else None) or "",
        form=cast(Form, _fixed(value, "form", ("json", "front-matter"), base) or base.form),
        addresses=_fixed(value, "addresses", ("roles", "names"), base) or base.addresses,
        envelope={**base.envelope, **_envelope(value, base)},
        extends=base.name or None,
    )
    return frame._replace(payload=_payload(value, frame, base))


def _fixed(value: TomlValue, key: str, choices: tuple[str, ...], base: Dialect) -> Any:
    """A choice that a dialect which extends another cannot make anew: both must read each other's messages."""
    chosen = value.at(key).choice(choices) if value.has(key) else None
    if chosen and base.name and chosen != getattr(base, key):
        value.at(key).flaw(f"{base.name} has {key} {getattr(base, key)!r}, and what extends it has the same")
    return chosen


def _envelope(value: TomlValue, base: Dialect) -> Fields:
    if not value.has("envelope"):
        return {}
    table = value.at("envelope")
    own = read_fields(table, (TYPE, *base.envelope))
    for name, field in own.items():
        if base.name and field.required:
            table.at(name).flaw(f"make it optional: the messages of {base.name} do not have it")
    return own


def _payload(place: TomlValue, frame: Dialect, base: Dialect) -> str | None:
    if not place.has("payload"):
        return base.payload
    value = place.at("payload")
    name = value.line(64)
    if name is None:
        return base.payload
    if base.name and name != base.payload:
        value.flaw(f"{base.name} has its own way, and what extends it has the same; leave payload out")
    elif name == TYPE or name in frame.envelope:
        value.flaw(f"every message has a {name!r} already; choose another name")
    elif frame.form == "front-matter":
        value.flaw("the fields of front matter lie flat; leave payload out")
    elif flaw := name_flaw(name):
        value.flaw(flaw)
    return name


def _with_roles(value: TomlValue, dialect: Dialect, own: dict[str, MessageType]) -> Dialect:
    if value.has("roles"):
        roles = tuple(dict.fromkeys((*dialect.roles, *read_roles(value.at("roles")))))
        if value.has("types"):
            check_roles(value.at("types"), roles)
    else:
        named = (role for type_ in own.values() for role in (*type_.senders, *type_.receivers))
        roles = tuple(role for role in dict.fromkeys((*dialect.roles, *named)) if (role,) != ANY)
        if not roles and own:
            value.need("roles", "every type is open to all, so say which roles there are")
    envelope = _widened(dialect, roles)
    chain = {**dialect.chain, **(_chain(value.at("chain"), roles) if value.has("chain") else {})}
    trades = _trades(value.at("trades"), roles) if value.has("trades") else {}
    return dialect._replace(roles=roles, envelope=envelope, chain=chain, trades=trades)


def _trades(place: TomlValue, roles: tuple[str, ...]) -> dict[str, str]:
    """What each role does, so that its like is found in other dialects."""
    trades: dict[str, str] = {}
    for role, value in place.entries(len(roles) + 1):
        if role not in roles:
            value.unknown(role, roles, f"{role} is not among the roles")
        elif does := value.choice(TRADES):
            trades[role] = does
    return trades


def _widened(dialect: Dialect, roles: tuple[str, ...]) -> Fields:
    """The envelope, in which a field that takes every role of the dialect extended takes the new ones too."""
    known = dialect.roles
    return {
        name: field._replace(kind=OneOf((*field.kind.values, *(role for role in roles if role not in known))))
        if known and isinstance(field.kind, OneOf) and set(field.kind.values) == set(known)
        else field
        for name, field in dialect.envelope.items()
    }


def _chain(place: TomlValue, roles: tuple[str, ...]) -> dict[str, str]:
    """Who escalates to whom. It leads up, so nobody meets the same role twice."""
    chain: dict[str, str] = {}
    for role, value in place.entries(len(roles) + 1):
        if role not in roles:
            value.unknown(role, roles, f"{role} is not among the roles")
        elif above := value.choice((*roles, HUMAN)):
            chain[role] = above
    for role in chain:
        above = chain[role]
        for _ in chain:
            above = chain.get(above, above)
        if above in chain:
            place.at(role).flaw("the chain comes back to where it was: somebody has to be at the top")
    return chain


def _check_shared_names(value: TomlValue, dialect: Dialect, own: dict[str, MessageType]) -> None:
    """A new field of the envelope must not take the place of one that an inherited type has."""
    if dialect.payload is not None or not value.has("envelope"):
        return
    for type_ in dialect.types.values():
        for name in type_.fields:
            if type_.name not in own and value.at("envelope").has(name):
                value.at("envelope").at(name).flaw(f"{type_.name} has a field of this name; choose another")


def _wire(value: TomlValue, dialect: Dialect) -> EnvelopeFields:
    if not value.is_table():
        return dialect.wire
    value.only(*EnvelopeFields._fields)
    given = {key: value.at(key).line() for key in EnvelopeFields._fields if value.has(key)}
    for key, name in given.items():
        if name is not None:
            _check_wire(value.at(key), key, name, dialect)
    return dialect.wire._replace(**given)


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


# --- examples, which need everything else ----------------------------------------------------------------------------


def _with_examples(value: TomlValue, dialect: Dialect, own: dict[str, MessageType]) -> Dialect:
    types = dict(dialect.types)
    places = {name: value.at("types").at(name) for name in own}
    for name, type_ in own.items():
        types[name] = with_body(places[name], type_, dialect)
    written = {name: written_example(places[name], type_, dialect) for name, type_ in own.items()}
    if value.sheet.flaws:
        return dialect  # rules can only be run on a message whose fields are known
    for name, type_ in types.items():
        if name in own:
            types[name] = with_example(places[name], type_, dialect, written[name])
        elif value.has("rules"):
            _check_inherited_example(value.at("rules"), type_, dialect)
    return dialect._replace(types=types)


def _check_inherited_example(value: TomlValue, type_: MessageType, dialect: Dialect) -> None:
    for rule in broken_rules(type_.example, dialect, type_):
        value.remark(f"the inherited example of {type_.name} breaks {rule.code}; declare the type again to replace it")

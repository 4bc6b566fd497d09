"""Envelope of a message that is sent: absent fields are filled from the context of the send, set ones stay."""

import json
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from telex.dialects.scalars import format_timestamp
from telex.dialects.schema import (
    ANY,
    BODY_KEY,
    Dialect,
    Field,
    MessageType,
    OneOf,
    Text,
    Tree,
    get_path,
    kind_at,
    set_path,
)
from telex.dialects.write import write_front_matter
from telex.model.named_tuple import NamedTuple
from telex.model.roster import ALL_OF_ROLE, EVERYONE, HUMAN, ONE_OF_ROLE
from telex.ports.bus import SendContext
from telex.validation.authorization import may_sign_for, normalised


class FieldPlace(NamedTuple):
    path: tuple[str, ...]
    field: Field
    get: Callable[[Tree], Any]


class EnvelopePlan(NamedTuple):
    """Where a type has the fields of its envelope, found once for its class."""

    dialect: Dialect
    type: MessageType
    places: Mapping[str, FieldPlace]  # by the names of `EnvelopeFields`, and `everyone`
    order: tuple[str, ...]


def plan_of(dialect: Dialect, type_: MessageType) -> EnvelopePlan:
    fields = dialect.fields_of(type_)
    names = {**dialect.wire._asdict(), "everyone": type_.field_map.get("everyone")}
    places = {}
    for what, name in names.items():
        path = () if name is None else (name,) if name in dialect.envelope else dialect.locate(type_, name)
        field = kind_at(fields, path) if path else None
        if field is not None:
            places[what] = FieldPlace(path, field, get_path(path))
    return EnvelopePlan(dialect, type_, places, tuple(fields))


def encode_tree(plan: EnvelopePlan, tree: Tree) -> bytes:
    """The message as bytes, with its fields in the order of the dialect's page."""
    ordered = {name: tree[name] for name in plan.order if name in tree}
    ordered |= tree
    if plan.dialect.form == "front-matter":
        body = ordered.pop(BODY_KEY, "")
        text = write_front_matter(ordered, body)
    else:
        text = json.dumps(ordered, ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")


def fill_envelope(plan: EnvelopePlan, tree: Tree, context: SendContext) -> Tree:
    """A copy of the message with a complete envelope, as far as the context has it."""
    payload = plan.dialect.payload
    tree = {**tree, payload: {**tree[payload]}} if payload is not None else {**tree}
    values: dict[str, Any] = {
        "id": context.get("id") or context.get("new_id") or str(uuid.uuid4()),
        "timestamp": format_timestamp(context.get("now") or 0.0),
        "version": plan.dialect.stated_version,
        "reply_to": context.get("reply_to"),
        **_addresses(plan, context),
    }
    for what, value in values.items():
        _set_absent(plan, tree, what, value)
    _set_absent(plan, tree, "correlation", _correlation(plan, tree, context))
    return tree


def _set_absent(plan: EnvelopePlan, tree: Tree, what: str, value: Any) -> None:
    place = plan.places.get(what)
    if place is not None and value is not None and place.get(tree) is None:
        set_path(tree, place.path, value)


def _correlation(plan: EnvelopePlan, tree: Tree, context: SendContext) -> str | None:
    """The conversation of the send, else the task; a required field is empty, or the id, where there is neither."""
    place = plan.places.get("correlation")
    if place is None or context.get("correlation") is not None:
        return context.get("correlation")
    task = plan.places["task"].get(tree) if "task" in plan.places else None
    if isinstance(task, str) and task:
        return task
    if not place.field.required:
        return None
    may_be_empty = isinstance(place.field.kind, Text) and place.field.kind.may_be_empty
    return "" if may_be_empty or "id" not in plan.places else str(plan.places["id"].get(tree))


# --- sender and recipient --------------------------------------------------------------------------------------------


def address_fields(plan: EnvelopePlan, context: SendContext) -> Tree:
    """Values of the address fields by their dotted paths, as far as the context has them."""
    values = {what: value for what, value in _addresses(plan, context).items() if value and what in plan.places}
    return {".".join(plan.places[what].path): value for what, value in values.items()}


def _addresses(plan: EnvelopePlan, context: SendContext) -> Tree:
    return {
        "sender": _sender(plan, context),
        "recipient": _recipient(plan, context),
        "everyone": True if context.get("to") == EVERYONE else None,
    }


def _sender(plan: EnvelopePlan, context: SendContext) -> str | None:
    dialect, type_, place = plan.dialect, plan.type, plan.places.get("sender")
    if place is None or dialect.addresses == "names":
        return context["sender"]
    role, named = context.get("role"), normalised(context["sender"])
    allowed = dialect.roles if type_.senders == ANY else type_.senders
    if role is None:  # the bus decides whether the sender has that role
        role = named if named in allowed else allowed[0] if len(allowed) == 1 else None
    elif allowed and normalised(role) not in allowed and may_sign_for(role, allowed[0], dialect, type_):
        role = allowed[0]
    return _spelt(role, place.field)


def _recipient(plan: EnvelopePlan, context: SendContext) -> str | None:
    dialect, type_, place = plan.dialect, plan.type, plan.places.get("recipient")
    if place is None or dialect.addresses == "names":
        return context.get("to")
    if not place.field.required:
        return None  # the bus has it
    role = context.get("to_role") or _role_in(context.get("to"))
    known = (*dialect.roles, HUMAN) if type_.receivers == ANY else type_.receivers
    if role is None or normalised(role) not in known:
        above = dialect.chain.get(_sender(plan, context) or "") if type_.action == "escalate" else None
        role = above or (known[0] if len(known) == 1 else role)
    return _spelt(role, place.field)


def _role_in(address: str | None) -> str | None:
    """The role that an address names, or that may have the name of the agent."""
    for prefix in (ONE_OF_ROLE, ALL_OF_ROLE):
        if address is not None and address.startswith(prefix):
            return address.removeprefix(prefix)
    return address


def _spelt(role: str | None, field: Field) -> str | None:
    """The role as the field has it. None: the field cannot have it."""
    if role is None or not isinstance(field.kind, OneOf):
        return role
    return next((value for value in field.kind.values if normalised(value) == normalised(role)), None)

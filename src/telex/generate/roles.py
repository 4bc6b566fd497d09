"""Roles of a dialect, and the types that they send and receive."""

from telex.dialects.schema import ANY, Dialect, Fields, MessageType, OneOf


def participants(dialect: Dialect) -> tuple[str, ...]:
    """Every role that a type names, the dialect's own roles first. A person may receive without being one of them."""
    named = [role for type_ in dialect.types.values() for role in (*type_.senders, *type_.receivers)]
    return tuple(role for role in dict.fromkeys((*dialect.roles, *named)) if role not in ANY)


def may_send(type_: MessageType, role: str) -> bool:
    return type_.senders == ANY or role in type_.senders


def may_receive(type_: MessageType, role: str) -> bool:
    return type_.receivers == ANY or role in type_.receivers


def answered_by(dialect: Dialect, type_: MessageType) -> list[str]:
    """The types that this one is the reply to."""
    return [request.name for request in dialect.types.values() if request.reply == type_.name]


def addressed_fields(dialect: Dialect, type_: MessageType) -> Fields:
    """All fields of the message; sender and recipient have only the names that this type allows."""
    fields = dict(dialect.fields_of(type_))
    if dialect.addresses == "roles":
        for name, allowed in ((dialect.wire.sender, type_.senders), (dialect.wire.recipient, type_.receivers)):
            field = fields.get(name or "")
            if name and field and isinstance(field.kind, OneOf) and allowed != ANY:
                fields[name] = field._replace(kind=_only(field.kind, allowed))
    return fields


def _only(kind: OneOf, allowed: tuple[str, ...]) -> OneOf:
    """The allowed values, compared without case. All of them if none is allowed: the senders of the type tell that."""
    left = tuple(value for value in kind.values if value in allowed or value.lower() in allowed)
    return OneOf(left) if left else kind

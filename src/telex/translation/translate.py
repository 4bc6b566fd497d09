"""Translation of a message into another dialect: the entry point of this package.

The original is not changed, and each field is accounted for: a field of the original is copied, narrowed (copied, but
not restorable) or lost; a field of the result is copied or invented.
"""

from collections.abc import Callable
from typing import Any

from telex.dialects.intents import INTENTS
from telex.dialects.registry import BUILT_IN
from telex.dialects.scalars import parse_timestamp, typed
from telex.dialects.schema import ANY, Dialect, MessageType, Tree, get_path
from telex.dialects.write import write
from telex.model.finding import refusals
from telex.model.limits import LIMITS
from telex.model.named_tuple import NamedTuple
from telex.translation.envelope import FieldChange, MessageHeader, NoCounterpart, Translation
from telex.translation.mapping import canonical, names_of
from telex.translation.mapping_tables import home_of, routes, why_not
from telex.translation.planner import MappingPlan, make
from telex.translation.render import tell
from telex.validation.authorization import authorise_recipient, authorise_sender, normalised
from telex.validation.rules import validate

__all__ = ["FieldChange", "MessageHeader", "NoCounterpart", "Translation", "header_of", "translate"]

WAYS_REMEMBERED_MAX = 1_000
_BYTES_OF_A_LETTER_MAX = 12  # as JSON and YAML write it, names and indentation included


class TranslationPath(NamedTuple):
    """One meaning of a type, with the plans for it."""

    whens: tuple[tuple[Callable[[Tree], Any], tuple[Any, ...]], ...]  # a field and its values
    plans: tuple[MappingPlan, ...]


class TypeTranslation(NamedTuple):
    """Cached translation of a type into a dialect. It holds its keys, so that their ids stay unique."""

    dialect: Dialect
    type: MessageType
    to: Dialect
    ways: tuple[TranslationPath, ...]
    why_not: str  # if no path has a plan


_BUILT_IN = frozenset(dialect.name for dialect in BUILT_IN)
_REMEMBERED: dict[tuple[int, int, int], TypeTranslation] = {}


def header_of(
    tree: Tree, dialect: Dialect, type_: MessageType, *, id: str, at: float, sender: str, kept: bool = True
) -> MessageHeader:
    """Header from the text of a message; the arguments are used for what it does not contain.

    The sender's role is the one that the message claims, else the first that may send the type. `kept`: a bus has
    stored the message and knows these values."""
    wire = dialect.wire

    def said(name: str | None) -> str | None:
        value = get_path(dialect.locate(type_, name))(tree) if name else None
        return str(value) if isinstance(value, str) and value else None

    moment = parse_timestamp(said(wire.timestamp) or "").at
    who, whom = said(wire.sender), said(wire.recipient)
    first = (who or sender) if type_.senders == ANY else type_.senders[0]
    roles = dialect.addresses == "roles"
    claimed = who if who is not None and (roles or normalised(who) in type_.senders) else None
    return MessageHeader(
        id=said(wire.id) or id,
        at=moment.timestamp() if moment is not None else at,
        sender=who or (first if roles else sender),
        sender_role=claimed or first,
        recipient=whom,
        recipient_role=whom if whom != "*" else None,
        correlation=said(wire.correlation),
        reply_to=said(wire.reply_to),
        kept=kept,
    )


def translate(
    tree: Tree, dialect: Dialect, type_: MessageType, to: Dialect, header: MessageHeader, body: str | None = None
) -> Translation | NoCounterpart:
    """The message in another dialect; unchanged if that is its own."""
    # What the flat form of a dialect lacks is added as in any translation.
    needed = (name for name, field in dialect.envelope.items() if field.required) if dialect.flat is not None else ()
    if to.name == dialect.name and all(name in tree for name in needed):
        return Translation(to, type_, tree, body, sender_role=header.sender_role, recipient_role=header.recipient_role)
    if dialect.form == "front-matter":
        tree = typed(tree, dialect.fields_of(type_))
    type_translation = _known(dialect, type_, to)
    for translation_path in type_translation.ways:
        if not translation_path.whens or all(get(tree) in values for get, values in translation_path.whens):
            for plan in translation_path.plans:
                if not plan.spoken.means or _may_mean(tree, plan):
                    return _if_accepted(_if_short_enough(tell(plan, tree, header, body)))
            if translation_path.plans:
                return NoCounterpart(to, f"{to.name} has no counterpart of {type_.name}.")
            break
    return NoCounterpart(to, type_translation.why_not)


def _known(dialect: Dialect, type_: MessageType, to: Dialect) -> TypeTranslation:
    """Cached by identity, since a type may be in a dialect and in one that extends it."""
    key = (id(dialect), id(type_), id(to))
    type_translation = _REMEMBERED.get(key)
    if type_translation is None:
        if len(_REMEMBERED) >= WAYS_REMEMBERED_MAX:
            _REMEMBERED.clear()
        ways, names, reason = [], names_of(type_), why_not(dialect, type_.name, to)
        for row, becomes in routes(dialect, type_.name, to):
            whens = tuple((get_path(dialect.locate(type_, names[slot])), values) for slot, values in row.when.items())
            plans = tuple(make(dialect, row, to, other, home_of(other, dialect)) for other in becomes)
            ways.append(TranslationPath(whens, plans))
        type_translation = _REMEMBERED[key] = TypeTranslation(dialect, type_, to, tuple(ways), reason)
    return type_translation


def _if_accepted(made: Translation | NoCounterpart) -> Translation | NoCounterpart:
    """Validate the result if its dialect is a user's: its rules may not fit any mapping."""
    if isinstance(made, NoCounterpart) or (
        not made.type.semantics.intents and (made.dialect.extends is None or made.dialect.name in _BUILT_IN)
    ):
        return made
    findings = refusals(
        (
            *validate(made.tree, made.dialect, made.type, body=made.body).findings,
            *authorise_sender(made.tree, made.dialect, made.type),
            *authorise_recipient(made.tree, made.dialect, made.type),
        )
    )
    if not findings:
        return made
    say = f"As {made.type.name} it would be refused ({findings[0].code}): {findings[0].say}"
    return NoCounterpart(made.dialect, say)


def _if_short_enough(made: Translation | NoCounterpart) -> Translation | NoCounterpart:
    """Refuse a result over the size limits; front matter has a smaller one than JSON."""
    if isinstance(made, NoCounterpart):
        return made
    narrow = made.dialect.form == "front-matter"
    fields_max = LIMITS.front_matter_bytes_max if narrow else LIMITS.message_bytes_max
    rest_max = LIMITS.message_bytes_max - fields_max
    # An upper bound first: nearly all are short, and need not be serialised.
    if len(repr(made.tree)) * _BYTES_OF_A_LETTER_MAX <= fields_max and len(made.body or "") * 4 <= rest_max:
        return made
    fields = _bytes_of(write(made.dialect, made.tree, ""))
    whole = fields + _bytes_of(made.body or "")
    if fields <= fields_max and whole <= LIMITS.message_bytes_max:
        return made
    why = f"its fields take {fields:,} bytes of {fields_max:,}" if fields > fields_max else f"it takes {whole:,} bytes"
    return NoCounterpart(made.dialect, f"As {made.type.name} it would be refused for its length: {why}.")


def _bytes_of(text: str) -> int:
    return len(text.encode("utf-8", "backslashreplace"))


def _may_mean(tree: Tree, plan: MappingPlan) -> bool:
    """Whether the values that the other type implies agree with the original. A missing value does not agree."""
    terms = INTENTS[plan.row.intents[0]].terms
    for slot, values in plan.spoken.means.items():
        said = [plan.row.means[slot][0]] if slot in plan.row.means else []
        for number in plan.by_slot.get(slot, ()) if not said else ():  # implied by the original's type
            read = plan.reads[number]
            value = read.get(tree) if read.get is not None else None
            if value is not None:
                said.append(canonical(value, read.spelt))
        if any(value not in values for value in said) or (not said and slot in terms):
            return False
    return True

"""What does a type of a user's own dialect mean to others? Its row, made from what its file says of it."""

from collections.abc import Mapping

from telex.dialects.schema import Dialect, MessageType, Semantics, kind_at
from telex.model.json_path import path_of
from telex.translation.mapping import Body, FromSlot, MinimumValue, Sum, TypeMapping, Worth
from telex.translation.slots import UNSAID, default

BY_ITS_FILE = "its dialect's file has it so"
HEADING = "Text"  # over the body, where the type asks for no heading of its own
# What a field says that has to say something, before it says that nothing is known.
_STANDS_FOR: Mapping[str, tuple[Worth, str]] = {
    "task": (("task", "$correlation"), "the conversation stands for its task"),
    "title": (("objective", "details", "task", "$correlation"), "it has no title"),
    "details": (("title", "task", "$correlation"), "nothing more is said of it"),
    "subject": (("task", "$correlation"), "nothing more is said of it"),
    "reason": (("task", "$correlation"), "nothing else is said of it"),
    "request": (("$reply_to", "$correlation"), "the request is not named"),
}
_COUNTS = {"total": ("passed", "failed", "skipped")}


def row_of(dialect: Dialect, type_: MessageType) -> TypeMapping:
    meaning = type_.meaning
    assert meaning is not None, f"the file of {dialect.name} says nothing of {type_.name}"
    return TypeMapping(
        type_.name,
        meaning.intents,
        means=meaning.means,
        values=meaning.values,
        least=_least(dialect, type_, meaning),
        body=Body(meaning.body, type_.sections[0] if type_.sections else HEADING) if meaning.body else None,
    )


def _least(dialect: Dialect, type_: MessageType, meaning: Semantics) -> dict[str, MinimumValue]:
    """By path, since a field may be called as some other field's term is."""
    whole = dialect.fields_of(type_)
    found: dict[str, MinimumValue] = {}
    for term, name in meaning.says.items():
        steps = dialect.locate(type_, name)
        field = kind_at(whole, steps)
        if "[]" in name or field is None or (plain := default(field.kind, "")) is UNSAID or plain.value is None:
            continue
        if term in _STANDS_FOR:
            slots, reason = _STANDS_FOR[term]
            found.setdefault(path_of(*steps), MinimumValue(FromSlot(slots, plain.value), reason))
        elif term in _COUNTS and plain.value == 0:
            found.setdefault(path_of(*steps), MinimumValue(Sum(_COUNTS[term]), "all that were counted"))
    return found | {path: MinimumValue(value, BY_ITS_FILE) for path, value in meaning.defaults.items()}

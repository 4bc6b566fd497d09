"""Prompt for an agent: the message types that its role may send, in as few tokens as possible.

It has one line for the envelope, one that explains the notation, one for each type, and below each type the rules that
this role can break. A test writes messages by following the prompt literally and checks that they are valid.
"""

import json
import re
from collections.abc import Iterable

from telex.dialects import schema
from telex.dialects.rule_language import Binary, Not, names
from telex.dialects.schema import ANY, Dialect, FieldDefault, Fields, Kind, OneOf
from telex.generate.type_view import (
    KIND_NAMES,
    RemainingRule,
    RoleView,
    answered_by,
    participants,
    refuses,
    rules_left,
    settled,
    view,
    written,
)

CHARACTERS_PER_TOKEN = 4  # average of English and JSON, approximately

_WORD = re.compile(r"(?!.*\.\.)[\w.+-]+\Z", re.ASCII)
_KIND_WORDS = {names.short for names in KIND_NAMES.values()} | {"receiver"}
_FORMS = {
    "json": "each one bare JSON object",
    "front-matter": "each YAML front matter between two lines of ---, then a markdown body",
    "text": "each a text",
}
# The meaning of each mark. The prompt explains only the marks that it uses.
_LEGEND = (
    (r"", "`type` is the name that starts a line"),
    (r": receiver", "`receiver` one after →"),
    (r"\.\.\.", "`...` its fields"),
    (r"\?:", "`x?` may be left out"),
    (r"\|", "`a|b` choose one"),
    (r"\[", "`[x]` a list"),
    (r"{\*", "`{*: x}` keys of your choice"),
    (r"\d\.\.(?!\d)", "`0..` at least 0"),
    (r" \.\.\d", "`..9` at most 9"),
    (r"\btext\b", "`text` is not empty"),
    (r"\btime\b", "`time` ISO 8601 with zone"),
    (r" else ", "`else` what leaving it out means"),
    (r"(?m)^ *(never|must) ", "`never`/`must` or it is refused"),
    (r"(?m)^ *(avoid|should) ", "`avoid`/`should` or you are warned"),
)


def tokens_estimated(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def prompt(dialect: Dialect, role: str) -> str:
    """The prompt for this role. One line with the reason if the role may send nothing."""
    known_role = role in participants(dialect) or dialect.addresses == "names"
    if not dialect.types:
        return f"{dialect.name} has no types: send any text.\n"
    if not known_role:
        return f"{dialect.name} has no role {role!r}; its roles are {', '.join(participants(dialect))}.\n"
    views = [role_view for type_ in dialect.types.values() if (role_view := view(dialect, type_, role)) is not None]
    if not views:
        return f"{role} sends nothing in {dialect.name}; it only receives.\n"
    shared, lines = _types(dialect, views)
    for_all = [*_rule_lines(rules_left(dialect.rules, settled(dialect, dialect.envelope, role))), *shared]
    envelope = _envelope(dialect, role)
    marks = "; ".join(words for mark, words in _LEGEND if re.search(mark, "\n".join([envelope, *for_all, *lines])))
    legend = f"{marks}.{f' `{dialect.wire.id}` is new each time.' if dialect.wire.id else ''}"
    opening = f"As {role} you may send these messages of {dialect.title}, {_FORMS[dialect.form]}:"
    return "\n".join([opening, envelope, legend, *for_all, *lines]) + "\n"


# --- the envelope and the types ------------------------------------------------------------------------------------


def _envelope(dialect: Dialect, role: str) -> str:
    """Every field that does not depend on the type; `...` represents the others."""
    known = settled(dialect, dialect.envelope, role)
    parts = ["type"]
    for name, field in dialect.envelope.items():
        if name == dialect.wire.recipient and dialect.addresses == "roles":
            shown = "receiver"
        else:
            shown = json.dumps(known[name]) if name in known else _kind(field.kind, field.required)
        parts.append(f"{_name(name)}{'' if field.required else '?'}: {shown}")
    parts.append("..." if dialect.payload is None else f"{dialect.payload}: {{...}}")
    return f"{{{', '.join(parts)}}}"


def _types(dialect: Dialect, views: list[RoleView]) -> tuple[list[str], list[str]]:
    """The rules that several types share, then each type with its own rules."""
    shared = [rule for rule in dict.fromkeys(rule for seen in views for rule in seen.rules) if _is_shared(rule, views)]
    lines: list[str] = []
    for role_view in views:
        lines.append(_type(dialect, role_view))
        lines += [f"  {line}" for line in _rule_lines(rule for rule in role_view.rules if rule not in shared)]
        if role_view.type_.sections:
            lines.append("  body: " + ", ".join(f"## {section}" for section in role_view.type_.sections))
    return _rule_lines(shared), lines


def _type(dialect: Dialect, role_view: RoleView) -> str:
    receivers = role_view.receivers
    recipient = dialect.envelope.get(dialect.wire.recipient or "")
    if receivers == ANY and (recipient is None or dialect.addresses == "names"):
        receivers = ()  # any agent may receive it, and the envelope leaves the name open
    elif receivers == ANY and recipient is not None:
        receivers = recipient.kind.values if isinstance(recipient.kind, OneOf) else participants(dialect)
    requests = "|".join(answered_by(dialect, role_view.type_))
    answers = f", answers {requests}" if requests else ""
    to = f" → {'|'.join(receivers)}" if receivers else ""
    return f"{role_view.type_.name}{to}{answers}: {_fields(role_view.fields, role_view.type_.fillings)}"


def _is_shared(rule: RemainingRule, views: list[RoleView]) -> bool:
    """Whether the rule can be stated once for all types: a comparison does not apply to types that lack its fields."""
    having = [role_view for role_view in views if rule in role_view.rules]
    own = {name.split(".")[0].removesuffix("[]") for name in names(rule.broken_when)}
    speaks_of = [role_view for role_view in views if not own.isdisjoint(role_view.fields)]
    compares = isinstance(rule.broken_when, Binary) and rule.broken_when.operation in ("==", "!=", "<", ">", "<=", ">=")
    return len(having) > 1 and compares and having == speaks_of


def _rule_lines(rules: Iterable[RemainingRule]) -> list[str]:
    return [
        f"{'must' if refuses(rule) else 'should'} {written(rule.broken_when.operand)}"
        if isinstance(rule.broken_when, Not)
        else f"{'never' if refuses(rule) else 'avoid'} {written(rule.broken_when)}"
        for rule in rules
    ]


# --- the notation --------------------------------------------------------------------------------------------------


def _fields(fields: Fields, fillings: tuple[FieldDefault, ...] = ()) -> str:
    always = {filling.path: filling.value for filling in fillings if filling.when == f"not has({filling.path})"}
    shown = [
        f"{_name(name)}{'' if field.required else '?'}: {_kind(field.kind, field.required)}"
        + (f" else {json.dumps(always[name])}" if name in always else "")
        for name, field in fields.items()
    ]
    return f"{{{', '.join(shown)}}}"


def _kind(kind: Kind, required: bool = True) -> str:
    match kind:
        case schema.Text(may_be_empty, length_max, _):
            # An optional text that would be empty should be omitted, so only a required one is shown as empty.
            return "text" + _range(None, length_max) + ('|""' if may_be_empty and required else "")
        case schema.OneOf((only,)):
            return json.dumps(only, ensure_ascii=False)
        case schema.OneOf(values):
            return "|".join(json.dumps(value) if value in _KIND_WORDS else _name(value) for value in values)
        case schema.Integer(low, high) | schema.Number(low, high):
            return KIND_NAMES[type(kind)].short + _range(low, high)
        case schema.ListOf(item):
            return f"[{_kind(item)}]"
        case schema.MapOf(value):
            return f"{{*: {_kind(value)}}}"
        case schema.Group(fields):
            return _fields(fields)
    return KIND_NAMES[type(kind)].short


def _range(low: float | None, high: float | None) -> str:
    if low is None and high is None:
        return ""
    return f" {'' if low is None else low}..{'' if high is None else high}"


def _name(text: str) -> str:
    return text if _WORD.match(text) else json.dumps(text, ensure_ascii=False)

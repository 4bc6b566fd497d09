"""What does a message of this type look like, when nobody wrote an example?

Plain values for every required field, and then, as long as a rule is broken, the first change of one to three of the
fields that the rules speak of which breaks fewer. The search is bounded: when it finds nothing, the user is asked.
"""

from collections.abc import Iterator
from itertools import combinations, product
from typing import Any, NamedTuple

from telex.dialects.rule_evaluation import compile_for_tree
from telex.dialects.rule_language import Binary, Constant, FunctionCall, Node, Not, names, parse
from telex.dialects.schema import (
    ANY,
    TYPE,
    Boolean,
    Dialect,
    Field,
    Fields,
    Group,
    HardRule,
    Integer,
    Kind,
    ListOf,
    MapOf,
    MessageType,
    Number,
    OneOf,
    Text,
    Timestamp,
    Tree,
    kind_at,
)

EVALUATIONS_MAX = 50_000  # of rules, for all types of a file together: about a second
ALTERNATIVES_MAX = 16  # values tried for one field
CHANGES_MAX = 3  # fields changed at once
LENGTH_MAX = 20  # of texts and lists that are made to fit a rule
NOON, EARLIER, LATER = (f"2026-01-01T{hour}:00:00Z" for hour in (12, 11, 13))
ABSENT = object()


class RuleRunBudget:
    """How often rules may still be run."""

    def __init__(self, left: int = EVALUATIONS_MAX) -> None:
        self.left = left

    def take(self, count: int) -> bool:
        self.left -= count
        return self.left >= 0


class SampleMessage(NamedTuple):
    message: Tree
    broken: tuple[HardRule, ...]  # by the message; empty when the search has found one that keeps them all


# --- a plain message -------------------------------------------------------------------------------------------------


def plain_fields(dialect: Dialect, type_: MessageType, fields: Fields) -> Tree:
    """Every required field with a plain value, or with the one that the bus would expect there."""
    known = _known(dialect, type_)
    plain = {name: plain_value(field.kind) for name, field in fields.items() if field.required}
    return plain | {name: value for name, value in known.items() if name in plain and fits(value, fields[name].kind)}


def _known(dialect: Dialect, type_: MessageType) -> dict[str | None, str]:
    wire, senders = dialect.wire, _roles(type_.senders, dialect) or ("",)
    receivers = [role for role in _roles(type_.receivers, dialect) if role != senders[0]] or senders
    return {
        wire.task: "task-1",
        wire.correlation: "task-1",
        wire.id: f"{type_.name}-1",
        wire.sender: senders[0],
        wire.recipient: receivers[0],
        wire.version: dialect.version,
        wire.reply_to: next(
            (f"{message_type.name}-1" for message_type in dialect.types.values() if message_type.reply == type_.name),
            "1",
        ),
    }


def _roles(named: tuple[str, ...], dialect: Dialect) -> tuple[str, ...]:
    return dialect.roles if named == ANY else named


def fits(value: str, kind: Kind) -> bool:
    if isinstance(kind, Text):
        return kind.characters_max is None or len(value) <= kind.characters_max
    return isinstance(kind, OneOf) and value in kind.values


def plain_value(kind: Kind) -> Any:
    match kind:
        case Text(_, most):
            return "text"[:most]
        case OneOf(values):
            return values[0]
        case Integer(low, high) | Number(low, high):
            return low if low is not None else 1 if high is None else min(1, high)
        case Boolean():
            return True
        case Timestamp():
            return NOON
        case ListOf(item):
            return [plain_value(item)]
        case MapOf(value):
            return {"name": plain_value(value)}
        case Group(fields):
            return {name: plain_value(field.kind) for name, field in fields.items() if field.required}
    return "text"


# --- one that keeps the rules ----------------------------------------------------------------------------------------


def keep_rules(message: Tree, dialect: Dialect, type_: MessageType, budget: RuleRunBudget) -> SampleMessage:
    """The message, changed where it must be so that it breaks none of its rules."""
    rules = [
        (rule, compile_for_tree(parse(rule.broken_when), dialect, type_)) for rule in (*dialect.rules, *type_.rules)
    ]

    def broken_by(candidate: Tree) -> tuple[HardRule, ...]:
        return tuple(rule for rule, holds in rules if holds(candidate))

    sample_message = SampleMessage(message, broken_by(message))
    changes = _changes(dialect, type_) if sample_message.broken else []
    while sample_message.broken:
        for candidate in _variants(sample_message.message, changes, dialect.fields_of(type_)):
            if not budget.take(len(rules)):
                return sample_message
            broken = broken_by(candidate)
            if len(broken) < len(sample_message.broken):
                sample_message = SampleMessage(candidate, broken)
                break
        else:
            return sample_message
    return sample_message


Change = tuple[tuple[str, ...], list[Any]]  # a place in the message, and what to try there


def _variants(message: Tree, changes: list[Change], whole: Fields) -> Iterator[Tree]:
    """The message with one place changed, then with two, then with three."""
    for count in range(1, CHANGES_MAX + 1):
        for places in combinations(changes, count):
            for values in product(*(alternatives for _, alternatives in places)):
                variant = _copy(message)
                for (path, _), value in zip(places, values, strict=True):
                    _put(variant, path, value, whole)
                yield variant


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(inner) for key, inner in value.items()}
    return [_copy(inner) for inner in value] if isinstance(value, list) else value


def _put(tree: Tree, path: tuple[str, ...], value: Any, whole: Fields) -> None:
    """Set one place; optional objects and empty lists on the way there are filled with plain values."""
    for index, step in enumerate(path[:-1]):
        field = kind_at(whole, path[: index + 1])
        assert field is not None, "only fields that exist are changed"
        name, inner = step.removesuffix("[]"), plain_value(field.kind)
        if step.endswith("[]"):
            tree[name] = tree.get(name) or [inner]
            tree = tree[name][0]
        else:
            tree = tree.setdefault(name, inner)
    last = path[-1].removesuffix("[]")
    if value is ABSENT:
        tree.pop(last, None)
    else:
        tree[last] = _copy(value)


def _changes(dialect: Dialect, type_: MessageType) -> list[Change]:
    """Every place that a rule speaks of, outermost first, with the values that might make a difference there."""
    trees = [parse(rule.broken_when) for rule in (*dialect.rules, *type_.rules)]
    constants = list(dict.fromkeys((type(value), value) for tree in trees for value in _constants(tree)))
    paths = {dialect.locate(type_, name) for tree in trees for name in names(tree)}
    paths |= {path[: index + 1] for path in paths for index, step in enumerate(path) if step.endswith("[]")}
    changes: list[Change] = []
    for path in sorted(paths - {(TYPE,)}, key=lambda path: (len(path), path)):
        field = kind_at(dialect.fields_of(type_), path)
        if field is not None:
            kind = ListOf(field.kind) if path[-1].endswith("[]") else field.kind
            tried = _tried(path, kind, dialect, type_, [value for _, value in constants])
            changes.append((path, tried[:ALTERNATIVES_MAX] + ([] if _is_needed(field, path) else [ABSENT])))
    return changes


def _is_needed(field: Field, path: tuple[str, ...]) -> bool:
    return field.required or path[-1].endswith("[]")


def _constants(node: Node) -> Iterator[Any]:
    match node:
        case Constant(value):
            yield from value if isinstance(value, tuple) else (value,)
        case Not(operand):
            yield from _constants(operand)
        case Binary(_, left, right):
            yield from _constants(left)
            yield from _constants(right)
        case FunctionCall(_, arguments):
            for argument in arguments:
                yield from _constants(argument)


def _tried(path: tuple[str, ...], kind: Kind, dialect: Dialect, type_: MessageType, constants: list[Any]) -> list[Any]:
    wire = dialect.wire
    if dialect.addresses == "roles" and path in ((wire.sender,), (wire.recipient,)):
        roles = _roles(type_.senders if path == (wire.sender,) else type_.receivers, dialect)
        return [role for role in roles if fits(role, kind)]
    return alternatives(kind, constants)


def alternatives(kind: Kind, constants: list[Any]) -> list[Any]:
    """Values of this kind that a rule with these constants might tell apart."""
    numbers = [value for value in constants if isinstance(value, (int, float)) and not isinstance(value, bool)]
    lengths = sorted({int(n) + more for n in numbers for more in (0, 1) if 0 <= n < LENGTH_MAX} | {0, 1})
    texts = [value for value in constants if isinstance(value, str)]
    match kind:
        case Text(may_be_empty):
            made = texts + [("text " * LENGTH_MAX)[:length] for length in lengths]
            return [text for text in made if (text or may_be_empty) and fits(text, kind)]
        case OneOf(values):
            return list(values)
        case Boolean():
            return [True, False]
        case Integer(low, high):
            near = {int(n) + more for n in numbers for more in (-1, 0, 1)} | {0, 1}
            return sorted(_within(near | {low, high}, low, high), key=abs)
        case Number(low, high):
            close = {n + more for n in numbers for more in (-1, -0.5, 0, 0.5, 1)} | {0, 1}
            return sorted(_within(close | {low, high}, low, high), key=abs)
        case Timestamp():
            return [NOON, EARLIER, LATER]
        case ListOf(item):
            singles = [[value] for value in alternatives(item, constants)] if not isinstance(item, ListOf) else []
            return [[], [plain_value(item)], *singles[:6], *([plain_value(item)] * n for n in lengths if n > 1)]
        case MapOf(value):
            return [{}, *({text: plain_value(value)} for text in texts)]
    return [plain_value(kind), *constants] if not isinstance(kind, Group) else [plain_value(kind)]


def _within(numbers: set[Any], low: float | None, high: float | None) -> list[Any]:
    return [n for n in numbers if n is not None and (low is None or n >= low) and (high is None or n <= high)]

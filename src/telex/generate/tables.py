"""Markdown tables and Mermaid diagrams of deliveries, events, task states, pipelines, intents and translations.

Every row about a translation is the result of an actual one: of the type's own example or, if a type can become several
others, of the example with another value of one field.
"""

import copy
from collections.abc import Iterable, Iterator, Sequence

from telex.dialects.intents import INTENTS, TRADES, Intent
from telex.dialects.registry import BUILT_IN, by_name, one_of_each
from telex.dialects.schema import ANY, PRIORITIES, Dialect, MessageType, Tree, choices_of
from telex.dialects.write import write
from telex.model.message import KINDS, MEANINGS, MOVES, STATES, State
from telex.model.named_tuple import NamedTuple
from telex.model.roster import AT
from telex.model.work import TASK_STATES, TaskStateMachine
from telex.translation.translate import NoCounterpart, Translation, header_of, translate
from telex.validation.check import CheckPolicy, check
from telex.work import pipeline

# The reason of each move, for the diagram.
MOVE_WORDS: dict[tuple[State, State], str] = {
    ("stored", "stored"): "nacked after its lease expired",
    ("stored", "leased"): "offered",
    ("stored", "acked"): "acked after its lease expired",
    ("stored", "dead"): "last attempt nacked after its lease expired",
    ("stored", "expired"): "no reply",
    ("stored", "withdrawn"): "recipient left",
    ("leased", "leased"): "extended",
    ("leased", "acked"): "acked",
    ("leased", "stored"): "nacked or lease expired",
    ("leased", "dead"): "last attempt failed",
    ("leased", "expired"): "no reply",
    ("leased", "withdrawn"): "recipient left",
    ("dead", "stored"): "retried",
    ("dead", "withdrawn"): "dropped",
    ("expired", "stored"): "retried",
    ("expired", "withdrawn"): "dropped",
}


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    cells = [[" ".join(cell.split()).replace("|", "\\|") for cell in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


def fenced(language: str, text: str) -> str:
    fence = "```"
    while fence in text:  # the text may have a fence of its own
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}"


# --- deliveries ------------------------------------------------------------------------------------------------------


def delivery_parts() -> dict[str, str]:
    after = {state: ", ".join(other for other in STATES if other in MOVES[state]) for state in STATES}
    states = [(f"**{state}**", MEANINGS[state], after[state] or "nothing: final") for state in STATES]
    return {
        "states": markdown_table(("state", "what it means", "may become"), states),
        "moves": moves_diagram(),
        "priorities": priorities_table(BUILT_IN),
        "events": events_table(),
    }


def moves_diagram() -> str:
    """Every move in `MOVES` as a Mermaid diagram."""
    moves = [(before, after) for before in STATES for after in STATES if after in MOVES[before]]
    assert set(moves) == set(MOVE_WORDS), "a move without words, or words without a move"
    lines = ["stateDiagram-v2", "    direction LR", "    [*] --> stored: accepted"]
    lines += [f"    {before} --> {after}: {MOVE_WORDS[before, after]}" for before, after in moves]
    lines += [f"    {state} --> [*]" for state in STATES if not MOVES[state]]
    return fenced("mermaid", "\n".join(lines))


def events_table() -> str:
    return markdown_table(("event", "what happened"), [(f"`{kind}`", meaning) for kind, meaning in KINDS.items()])


def priorities_table(dialects: tuple[Dialect, ...]) -> str:
    """The types of each priority and dialect, in the order of delivery."""
    rows = []
    for priority in PRIORITIES:
        for dialect in dialects:
            names = [type_.name for type_ in dialect.types.values() if type_.priority == priority]
            links = [f"[{name}](dialects/{dialect.slug}.md#{name.lower()})" for name in names]
            rows += [(priority, dialect.name, ", ".join(links))] if links else []
    return markdown_table(("priority", "dialect", "types"), rows)


# --- tasks and pipelines ---------------------------------------------------------------------------------------------


def task_parts() -> dict[str, str]:
    rows = []
    for name, state in TASK_STATES.states.items():
        escalation = f"{state.escalates_to} {_after(TASK_STATES, name)}" if state.escalates_to is not None else ""
        rows.append((f"**{name}**", ", ".join(state.goes_to), ", ".join(state.fails_to), escalation))
    table = markdown_table(("state", "goes to", "fails to", "escalates to"), rows)
    return {"task-states": table, "task-moves": fenced("mermaid", task_diagram(TASK_STATES))}


def pipeline_parts() -> dict[str, str]:
    states = [(f"**{state}**", meaning) for state, meaning in pipeline.MEANINGS.items()]
    return {
        "places": markdown_table(("state", "what it means"), states),
        "machine": markdown_table(pipeline.HEADINGS, pipeline.rows()),
        "diagram": fenced("mermaid", pipeline.diagram()),
    }


def task_notes(machine: TaskStateMachine) -> list[str]:
    """Facts about the task states that the table does not show."""
    ends = [name for name in machine.states if machine.is_end(name)]
    return [
        f"A task begins in {machine.first}, and its assignment brings it to {machine.assigned}.",
        f"A failure that is reported without a move counts for {machine.working}.",
        f"{' and '.join(ends)} {'is an end' if len(ends) == 1 else 'are ends'}.",
    ]


def _after(machine: TaskStateMachine, name: str) -> str:
    count = machine.states[name].escalates_after
    word = "attempt" if machine.is_intervention(name) else "failure"
    return f"after {count} {word}{'' if count == 1 else 's'}"


def task_moves(machine: TaskStateMachine) -> list[tuple[str, str, str]]:
    """Every transition: from, to, and its condition if it has one."""
    moves: list[tuple[str, str, str]] = []
    for name, state in machine.states.items():
        conditions = dict.fromkeys(state.goes_to, "") | dict.fromkeys(state.fails_to, "failed")
        if state.escalates_to is not None:
            conditions[state.escalates_to] = _after(machine, name)
        moves += [(name, other, condition) for other, condition in conditions.items()]
    return moves


def task_diagram(machine: TaskStateMachine) -> str:
    """Every transition as a Mermaid diagram."""
    lines = ["stateDiagram-v2", f"    [*] --> {machine.first}"]
    lines += [f"    {name} --> {other}{f': {when}' if when else ''}" for name, other, when in task_moves(machine)]
    lines += [f"    {name} --> [*]" for name in machine.states if machine.is_end(name)]
    return "\n".join(lines)


# --- intents ---------------------------------------------------------------------------------------------------------


def intent_parts() -> dict[str, str]:
    intents = [(f"`{name}`", intent.does) for name, intent in INTENTS.items()]
    shared: dict[tuple[str, ...], list[str]] = {}  # intents with the same terms share a row
    for name, intent in INTENTS.items():
        if intent.terms:
            shared.setdefault(tuple(intent.terms), []).append(name)
    terms = [(", ".join(f"`{name}`" for name in names), _terms(INTENTS[names[0]])) for names in shared.values()]
    return {
        "intents": markdown_table(("intent", "a message that"), intents),
        "terms": markdown_table(("intent", "its terms"), terms),
        "trades": markdown_table(
            ("trade", "what such a role does"), [(f"`{name}`", does) for name, does in TRADES.items()]
        ),
    }


def _terms(intent: Intent) -> str:
    lines = []
    for name, term in intent.terms.items():
        words = f" ({', '.join(f'`{word}`' for word in term.words)})" if term.words else ""
        bold = "**" if name in intent.turns_on else ""
        lines.append(f"{bold}`{name}`{bold} {term.means}{words}")
    return "<br>".join(lines)


# --- translations -----------------------------------------------------------------------------------------------------

_NONE = "[markdown](#without-a-counterpart)"


class MatrixEntry(NamedTuple):
    """The translation of one type to another dialect."""

    dialect: str
    type: str
    to: str
    becomes: str | None  # None: the type, or at least its example, has no counterpart
    lost: int = 0
    invented: int = 0
    narrowed: int = 0
    reason: str | None = None  # why there is no counterpart
    when: str | None = None  # condition on the message, if the example itself becomes another type


def matrix(sources: Sequence[Dialect] = BUILT_IN, targets: Sequence[Dialect] = BUILT_IN) -> list[MatrixEntry]:
    """Every type of the sources with its counterparts in each other dialect, or the reason why it has none."""
    return [
        entry
        for dialect in sources
        for type_ in dialect.types.values()
        for to in targets
        if to.name != dialect.name
        for entry in _entries(dialect, type_, to)
    ]


def _entries(dialect: Dialect, type_: MessageType, to: Dialect) -> Iterator[MatrixEntry]:
    place = (dialect.name, type_.name, to.name)
    entries: dict[str, MatrixEntry] = {}
    reason: str | None = None
    for when, tree in _variants(dialect, type_):
        result, role = _translated(tree, dialect, type_, to)
        if isinstance(result, NoCounterpart):
            reason = result.reason if when is None else reason
            continue
        becomes, conditions = result.type.name, (when, role and f"sent by {role}")
        counts = (len(result.lost), len(result.invented), len(result.narrowed))
        condition = ", ".join(filter(None, conditions)) or None
        entries.setdefault(becomes, MatrixEntry(*place, becomes, *counts, when=condition))
    if reason is not None:
        yield MatrixEntry(*place, becomes=None, reason=reason)
    yield from entries.values()


def _translated(
    tree: Tree, dialect: Dialect, type_: MessageType, to: Dialect
) -> tuple[Translation | NoCounterpart, str | None]:
    """The translation, and the role that has to send it if the sender of the example may not."""
    header = header_of(tree, dialect, type_, id="message-1", at=0.0, sender="agent")
    body = type_.body_example or None
    first = translate(tree, dialect, type_, to, header=header, body=body)
    if isinstance(first, Translation):
        return first, None
    for role in to.roles if type_.senders == ANY else type_.senders:
        result = translate(tree, dialect, type_, to, header=header._replace(sender_role=role), body=body)
        if isinstance(result, Translation):
            return result, role
    return first, None


def _variants(dialect: Dialect, type_: MessageType) -> Iterator[tuple[str | None, Tree]]:
    """The example, then the example with each other value of each of its choices that its dialect accepts."""
    yield None, type_.example
    for name, field in type_.fields.items():
        for value in choices_of(field.kind) or ():
            tree = copy.deepcopy(type_.example)
            inside = tree[dialect.payload] if dialect.payload else tree
            if inside.get(name) == value:
                continue
            inside[name] = value
            if check(write(dialect, tree, type_.body_example), CheckPolicy(forced=dialect)).valid:
                yield f"{name} {str(value).lower() if isinstance(value, bool) else value}", tree


class MissingTranslation(NamedTuple):
    """A type, and the dialects that have no counterpart of it."""

    dialect: str
    type: str
    names: tuple[str, ...]
    reason: str


def distinct(entries: Sequence[MatrixEntry]) -> list[MatrixEntry]:
    """The entries without those in which another version of a dialect does what its default version does."""
    own = {(entry.dialect, entry.type) for entry in entries}
    there = {(entry.dialect, entry.type, entry.to, entry.becomes) for entry in entries}

    def is_repeated(entry: MatrixEntry) -> bool:
        source, target = _base(entry.dialect), _base(entry.to)
        if entry.dialect != source and (source, entry.type) in own:
            return True
        same = (entry.dialect, entry.type, target, entry.becomes) in there
        return entry.to != target and (source == target or same)

    return [entry for entry in entries if not is_repeated(entry)]


def _base(dialect: str) -> str:
    return dialect.partition(AT)[0]


def absences(entries: Sequence[MatrixEntry]) -> list[MissingTranslation]:
    targets: dict[tuple[str, str, str], list[str]] = {}
    for entry in entries:
        if entry.reason is not None:
            reason = entry.reason.removeprefix(f"{entry.to} has ").removesuffix(".")
            targets.setdefault((entry.dialect, entry.type, reason), []).append(entry.to)
    return [MissingTranslation(dialect, type_, tuple(names), why) for (dialect, type_, why), names in targets.items()]


def matrix_parts() -> dict[str, str]:
    entries = distinct(matrix())
    missing = [
        (_link(entry.dialect, entry.type), entry.dialect, ", ".join(entry.names), entry.reason)
        for entry in absences(entries)
    ]
    return {
        "matrix": "\n\n".join(_matrix_section(dialect, entries) for dialect in BUILT_IN),
        "no-counterpart": markdown_table(("type", "of", "has no counterpart in", "why"), missing),
    }


def _matrix_section(dialect: Dialect, entries: list[MatrixEntry]) -> str:
    others = [to.name for to in one_of_each(BUILT_IN) if to is not dialect]
    own = [entry for entry in entries if entry.dialect == dialect.name]
    rows = [
        (_link(dialect.name, name), *(_matrix_cell(name, to, own) or _NONE for to in others))
        for name in dialect.types
        if any(entry.type == name for entry in own)
    ]
    return f"### From {dialect.name}\n\n{markdown_table((dialect.name, *others), rows)}"


def _matrix_cell(type_: str, to: str, entries: list[MatrixEntry]) -> str:
    return "<br>".join(
        f"{_link(entry.to, entry.becomes)} {entry.lost}/{entry.invented}/{entry.narrowed}"
        + (f" when `{entry.when}`" if entry.when else "")
        for entry in entries
        if entry.type == type_ and _base(entry.to) == to and entry.becomes is not None
    )


def migration_parts() -> dict[str, str]:
    """Tables of each type of one version with its counterpart in the other: what `translate` does with each field."""
    before, after = by_name("vbw-handoff"), by_name("vbw-typed")
    assert before is not None
    assert after is not None
    alone = [
        (_link(dialect.name, type_.name), f"only in {dialect.version}", type_.purpose)
        for dialect, to in ((before, after), (after, before))
        for type_ in dialect.types.values()
        if isinstance(_translate_example(dialect, type_, to), NoCounterpart)
    ]
    return {
        "to-2.0": _migration_sections(before, after),
        "to-1.0": _migration_sections(after, before),
        "alone": markdown_table(("type", "where", "what it is for"), alone),
    }


def _migration_sections(dialect: Dialect, to: Dialect) -> str:
    translations = [(type_, _translate_example(dialect, type_, to)) for type_ in dialect.types.values()]
    return "\n\n".join(
        _migration_section(dialect, type_, translation)
        for type_, translation in translations
        if isinstance(translation, Translation)
    )


def _translate_example(dialect: Dialect, type_: MessageType, to: Dialect) -> Translation | NoCounterpart:
    header = header_of(type_.example, dialect, type_, id="message-1", at=0.0, sender="agent")
    return translate(type_.example, dialect, type_, to, header)


def _migration_section(dialect: Dialect, type_: MessageType, translation: Translation) -> str:
    narrowed = {change.path: change.reason for change in translation.narrowed}
    rows = [(f"`{here}`", f"`{there}`", narrowed.get(here, "")) for here, there in translation.carried]
    rows += [(f"`{change.path}`", "", change.reason) for change in translation.lost]
    rows += [("", f"`{change.path}`", change.reason) for change in translation.invented]
    to = translation.type.name
    headings = (f"{dialect.version} {type_.name}", f"{translation.dialect.version} {to}", "")
    return f"### {type_.name} to {to}\n\n{markdown_table(headings, rows)}"


def _link(dialect: str, type_: str) -> str:
    return f"[{type_}](dialects/{dialect.replace(AT, '-')}.md#{type_.lower()})"

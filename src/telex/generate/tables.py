"""Markdown tables and Mermaid diagrams of deliveries, events, task states, pipelines and intents."""

from collections.abc import Iterable, Sequence

from telex.dialects.intents import INTENTS, TRADES, Intent
from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import PRIORITIES, Dialect
from telex.model.message import KINDS, MEANINGS, MOVES, STATES, State
from telex.model.work import TASK_STATES, TaskStateMachine
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
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def fenced(language: str, text: str) -> str:
    fence = "```"
    while fence in text:  # the text may have a fence of its own
        fence += "`"
    return f"{fence}{language}\n{text}\n{fence}"


# --- deliveries ------------------------------------------------------------------------------------------------------


def delivery_parts() -> dict[str, str]:
    return {
        "states": _states_table(),
        "moves": moves_diagram(),
        "priorities": priorities_table(BUILT_IN),
        "events": events_table(),
    }


def _states_table() -> str:
    after = {state: ", ".join(other for other in STATES if other in MOVES[state]) for state in STATES}
    rows = [(f"**{state}**", MEANINGS[state], after[state] or "nothing: final") for state in STATES]
    return markdown_table(("state", "what it means", "may become"), rows)


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
    rows = [(priority, dialect.name, _types(dialect, priority)) for priority in PRIORITIES for dialect in dialects]
    return markdown_table(("priority", "dialect", "types"), [row for row in rows if row[2]])


def _types(dialect: Dialect, priority: str) -> str:
    names = [type_.name for type_ in dialect.types.values() if type_.priority == priority]
    return ", ".join(f"[{name}](dialects/{dialect.slug}.md#{name.lower()})" for name in names)


# --- tasks and pipelines ---------------------------------------------------------------------------------------------


def task_parts() -> dict[str, str]:
    rows = [
        (f"**{name}**", ", ".join(state.goes_to), ", ".join(state.fails_to), _escalation(TASK_STATES, name))
        for name, state in TASK_STATES.states.items()
    ]
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


def _escalation(machine: TaskStateMachine, name: str) -> str:
    state = machine.states[name]
    return f"{state.escalates_to} {_after(machine, name)}" if state.escalates_to is not None else ""


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
    return {
        "intents": markdown_table(("intent", "a message that"), intents),
        "terms": _terms_table(),
        "trades": markdown_table(
            ("trade", "what such a role does"), [(f"`{name}`", does) for name, does in TRADES.items()]
        ),
    }


def _terms_table() -> str:
    """The terms of each intent; intents with the same terms share a row."""
    shared: dict[tuple[str, ...], list[str]] = {}
    for name, intent in INTENTS.items():
        if intent.terms:
            shared.setdefault(tuple(intent.terms), []).append(name)
    rows = [(", ".join(f"`{name}`" for name in names), _terms(INTENTS[names[0]])) for names in shared.values()]
    return markdown_table(("intent", "its terms"), rows)


def _terms(intent: Intent) -> str:
    lines = []
    for name, term in intent.terms.items():
        words = f" ({', '.join(f'`{word}`' for word in term.words)})" if term.words else ""
        bold = "**" if name in intent.turns_on else ""
        lines.append(f"{bold}`{name}`{bold} {term.means}{words}")
    return "<br>".join(lines)

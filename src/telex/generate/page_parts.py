"""Generated parts of handwritten pages.

A part is the text between two marks, `<!-- made: NAME -->` and `<!-- made until here -->`. `python -m telex.generate`
replaces it and leaves the rest of the page as it is.
"""

import re
from collections.abc import Mapping, Sequence

from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import PRIORITIES, Dialect
from telex.generate import migration, pipeline_page, task_states, terms, translation_matrix
from telex.model.message import KINDS, MEANINGS, MOVES, STATES, State

DELIVERY_PAGE = "docs/delivery.md"
END = "<!-- made until here -->"
_PART = re.compile(rf"(<!-- made: (\S+) -->\n).*?({re.escape(END)})", re.DOTALL)
# The reason of each move, for the diagram. A test checks that every allowed move has one.
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


def parts() -> dict[str, dict[str, str]]:
    """The text of each part, by page and by name."""
    return {
        DELIVERY_PAGE: {
            "states": states_table(),
            "moves": moves_diagram(),
            "priorities": priorities_table(BUILT_IN),
            "events": events_table(),
        },
        task_states.PAGE: task_states.parts(),
        pipeline_page.PAGE: pipeline_page.parts(),
        translation_matrix.PAGE: translation_matrix.parts(),
        migration.PAGE: migration.parts(),
        terms.PAGE: terms.parts(),
    }


def filled(page: str, made: Mapping[str, str]) -> str:
    """The page with its parts replaced. Every part must occur exactly once, so that a page cannot lose one."""
    names = [found[2] for found in _PART.finditer(page)]
    assert sorted(names) == sorted(made), f"marks for {sorted(made)} are wanted, and there are {sorted(names)}"
    return _PART.sub(lambda found: f"{found[1]}\n{made[found[2]]}\n\n{found[3]}", page)


def states_table() -> str:
    after = {state: ", ".join(other for other in STATES if other in MOVES[state]) for state in STATES}
    rows = [(f"**{state}**", MEANINGS[state], after[state] or "nothing: final") for state in STATES]
    return _table(("state", "what it means", "may become"), rows)


def moves_diagram() -> str:
    """Every move in `MOVES`, in Mermaid's notation."""
    moves = [(before, after) for before in STATES for after in STATES if after in MOVES[before]]
    assert set(moves) == set(MOVE_WORDS), "a move without words, or words without a move"
    lines = ["stateDiagram-v2", "    direction LR", "    [*] --> stored: accepted"]
    lines += [f"    {before} --> {after}: {MOVE_WORDS[before, after]}" for before, after in moves]
    lines += [f"    {state} --> [*]" for state in STATES if not MOVES[state]]
    return "\n".join(["```mermaid", *lines, "```"])


def events_table() -> str:
    return _table(("event", "what happened"), [(f"`{kind}`", meaning) for kind, meaning in KINDS.items()])


def priorities_table(dialects: tuple[Dialect, ...]) -> str:
    """Every type of every dialect under its priority, the first delivered first."""
    rows = [(priority, dialect.name, _types(dialect, priority)) for priority in PRIORITIES for dialect in dialects]
    return _table(("priority", "dialect", "types"), [row for row in rows if row[2]])


def _types(dialect: Dialect, priority: str) -> str:
    names = [type_.name for type_ in dialect.types.values() if type_.priority == priority]
    return ", ".join(f"[{name}](dialects/{dialect.slug}.md#{name.lower()})" for name in names)


def _table(headings: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [headings, tuple("---" for _ in headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)

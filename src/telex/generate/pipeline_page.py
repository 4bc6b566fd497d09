"""Generated parts of the page on work by signal, from the table of the state machine."""

from functools import cache

from telex.work.pipeline import HEADINGS, MEANINGS, as_markdown, diagram, rows

PAGE = "docs/work.md"


@cache
def parts() -> dict[str, str]:
    return {
        "places": as_markdown(("state", "what it means"), [(f"**{state}**", says) for state, says in MEANINGS.items()]),
        "machine": as_markdown(HEADINGS, rows()),
        "diagram": f"```mermaid\n{diagram()}\n```",
    }

"""Generated parts of the page on work by signal, from the table of the state machine."""

from functools import cache

from telex.work.pipeline.diagram import HEADINGS, MEANINGS, as_markdown, diagram, figure, rows
from telex.work.pipeline.model_check import search

PAGE = "docs/work.md"


@cache
def parts() -> dict[str, str]:
    found = [(what, f"{count:,}") for what, count in figure(search())]
    return {
        "places": as_markdown(("state", "what it means"), [(f"**{state}**", says) for state, says in MEANINGS.items()]),
        "machine": as_markdown(HEADINGS, rows()),
        "diagram": f"```mermaid\n{diagram()}\n```",
        "search": as_markdown(("what was found", "count"), found),
    }

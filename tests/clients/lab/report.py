"""Tables of a lab run as Markdown, and their place on a page."""

import re
from collections.abc import Mapping
from pathlib import Path

from tests.clients.lab.plays import Check

Results = Mapping[str, Mapping[str, Check]]  # by title and version of the client, by name of the check
LOOP = ("refused send", "fixed send", "inbox", "wait", "ack")
MOMENTS = ("unread at start", "unread at prompt", "unread after a tool", "unread at stop", "write denied", "idle wake")
SIZES = {  # check whose detail is a size -> heading, with the limit that Telex keeps for its own text
    "listing": "listing (900)",
    "refused send": "send refused (120)",
    "fixed send": "sent (40)",
    "empty wait": "wait, empty (30)",
    "wait": "wait, one message (150)",
    "inbox": "inbox, one line",
}
_TABLE = "<!-- lab: {0} -->\n{1}<!-- end of lab: {0} -->"


def rows(cells: list[list[str]]) -> str:
    ruler = [["---"] * len(cells[0])]
    return "\n".join(f"| {' | '.join(row)} |" for row in [*cells[:1], *ruler, *cells[1:]])


def mark(check: Check | None) -> str:
    if check is None:
        return "not run"
    return "yes" if check.is_passed else "**no**"


def matrix(results: Results) -> str:
    """Which client does what, in how many seconds."""
    cells = [["client", "refused send → fixed → inbox → wait → ack", *MOMENTS, "wake, seconds", "run, seconds"]]
    for title, checks in results.items():
        loop = all(name in checks and checks[name].is_passed for name in LOOP)
        wake, seconds = checks.get("idle wake"), checks.get("seconds")
        cells.append(
            [
                title,
                "yes" if loop else "**no**",
                *(mark(checks.get(name)) for name in MOMENTS),
                wake.detail if wake and wake.is_passed else "–",
                seconds.detail if seconds else "–",
            ]
        )
    return rows(cells)


def sizes(results: Results) -> str:
    """Tokens of each answer, as the client's model was given it."""
    cells = [["client", *SIZES.values()]]
    for title, checks in results.items():
        cells.append([title, *(checks[name].detail if name in checks else "–" for name in SIZES)])
    return rows(cells)


def write_tables(page: Path, tables: Mapping[str, str]) -> None:
    """Replace the tables between their marks on the page."""
    text = page.read_text()
    for name, table in tables.items():
        pattern = re.compile(_TABLE.format(re.escape(name), ".*?"), re.DOTALL)
        if not pattern.search(text):
            raise ValueError(f"{page}: no marks for the table {name}")
        text = pattern.sub(lambda _: _TABLE.format(name, f"{table}\n"), text)  # noqa: B023
    page.write_text(text)

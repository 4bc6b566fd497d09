"""`telex dialects --matrix`: what becomes of each type in the other dialects, and how much of it is lost?"""

import sys
from collections.abc import Sequence
from itertools import pairwise

from telex.dialects.registry import BUILT_IN
from telex.dialects.spec import Dialect
from telex.publish.translation import Entry, absences, matrix
from telex.surfaces.cli.answers import json_line
from telex.surfaces.cli.render import Screen
from telex.surfaces.cli.table import table_lines

_NO_HEADINGS = ("type", "only as markdown in")
_HEADINGS = ("type", "becomes", "lost", "invented", "narrowed", "when")


def tell(sources: Sequence[Dialect], *, as_json: bool) -> None:
    entries = matrix(sources, BUILT_IN)
    if as_json:
        sys.stdout.writelines(json_line(entry._asdict()) + "\n" for entry in entries)
        return
    screen = Screen(sys.stdout)
    for dialect in sources:
        own = [entry for entry in entries if entry.dialect == dialect.name]
        screen.line("\n".join([*([""] if dialect is not sources[0] else []), *_lines(dialect, own, screen)]))


def _lines(dialect: Dialect, entries: list[Entry], screen: Screen) -> list[str]:
    told = [entry for entry in entries if entry.becomes is not None]
    rows = [
        (name, f"{one.to} {one.becomes}", one.lost, one.invented, one.narrowed, one.when or "")
        for name, one in zip(_named_once([one.type for one in told]), told, strict=True)
    ]
    missing = absences(entries)
    reasons = [
        (name, f"{', '.join(one.names)}: {one.reason}")
        for name, one in zip(_named_once([one.type for one in missing]), missing, strict=True)
    ]
    return [
        screen.paint(f"{dialect.name} {dialect.version}", "bold"),
        *(table_lines(_HEADINGS, rows, screen) if rows else []),
        *(["", *table_lines(_NO_HEADINGS, reasons, screen)] if reasons else []),
    ]


def _named_once(names: list[str]) -> list[str]:
    """The names, with nothing in the place of one that has just been said."""
    return [name if name != before else "" for before, name in pairwise(["", *names])]

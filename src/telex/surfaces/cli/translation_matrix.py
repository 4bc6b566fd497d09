"""`telex dialects --matrix`: the counterpart of each type in the other dialects, and how much is lost."""

import sys
from collections.abc import Sequence
from itertools import pairwise

from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import Dialect
from telex.generate.translation_tables import MatrixEntry, absences, distinct, matrix
from telex.surfaces.cli.check_output import json_line
from telex.surfaces.cli.output import Screen
from telex.surfaces.cli.table import table_lines

_NO_HEADINGS = ("type", "only as markdown in")
_NOT_INTO = ("type", "why only as markdown")
_HEADINGS = ("type", "becomes", "lost", "invented", "narrowed", "when")


def tell(sources: Sequence[Dialect], *, as_json: bool) -> None:
    """A built-in dialect is a source among others; what others become in a user's own is told here and nowhere else."""
    entries = matrix(sources, BUILT_IN)
    own = [dialect for dialect in sources if dialect not in BUILT_IN]
    back = matrix(BUILT_IN, own)
    if as_json:
        entries += back
        sys.stdout.writelines(json_line(entry._asdict()) + "\n" for entry in entries)
        return
    entries, back, screen = distinct(entries), distinct(back), Screen(sys.stdout)
    for dialect in sources:
        told = [entry for entry in entries if entry.dialect == dialect.name]
        screen.line("\n".join([*([""] if dialect is not sources[0] else []), *_lines(dialect, told, screen)]))
    for dialect in own:
        if any(entry.becomes for entry in back):
            screen.line("\n".join(["", *_lines_into(dialect, back, screen)]))


def _lines(dialect: Dialect, entries: list[MatrixEntry], screen: Screen) -> list[str]:
    told = [entry for entry in entries if entry.becomes is not None]
    rows = [
        (name, f"{entry.to} {entry.becomes}", entry.lost, entry.invented, entry.narrowed, entry.when or "")
        for name, entry in zip(_named_once([entry.type for entry in told]), told, strict=True)
    ]
    missing = absences(entries)
    reasons = [
        (name, f"{', '.join(missing_translation.names)}: {missing_translation.reason}")
        for name, missing_translation in zip(
            _named_once([missing_translation.type for missing_translation in missing]), missing, strict=True
        )
    ]
    return [
        screen.paint(f"{dialect.title}", "bold"),
        *(table_lines(_HEADINGS, rows, screen) if rows else []),
        *(["", *table_lines(_NO_HEADINGS, reasons, screen)] if reasons else []),
    ]


def _lines_into(dialect: Dialect, entries: list[MatrixEntry], screen: Screen) -> list[str]:
    """What the types of others become in this one."""
    rows = [
        (
            f"{entry.dialect} {entry.type}",
            str(entry.becomes),
            entry.lost,
            entry.invented,
            entry.narrowed,
            entry.when or "",
        )
        for entry in entries
        if entry.becomes is not None
    ]
    reasons = [
        (f"{missing_translation.dialect} {missing_translation.type}", missing_translation.reason)
        for missing_translation in absences(entries)
    ]
    return [
        screen.paint(f"into {dialect.title}", "bold"),
        *table_lines(_HEADINGS, rows, screen),
        *(["", *table_lines(_NOT_INTO, reasons, screen)] if reasons else []),
    ]


def _named_once(names: list[str]) -> list[str]:
    """The names, with nothing in the place of one that has just been said."""
    return [name if name != before else "" for before, name in pairwise(["", *names])]

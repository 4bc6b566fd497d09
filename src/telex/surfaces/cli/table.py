"""How are rows of words and numbers laid out so that the eye can follow them?"""

from collections.abc import Sequence

from telex.surfaces.cli.render import Screen, wrapped

Row = Sequence[str | int]
_GAP = "  "


def table_lines(headings: Sequence[str], rows: Sequence[Row], screen: Screen, *, total: Row | None = None) -> list[str]:
    """A table with numbers to the right and zeros as dots. Where the terminal ends, the last column goes on below."""
    whole = [*rows, total] if total else [*rows]
    widths = [max(len(_cell(row[column])) for row in (headings, *whole)) for column in range(len(headings))]
    numeric = [bool(rows) and isinstance(rows[0][column], int) for column in range(len(headings))]
    indent = sum(widths[:-1]) + len(_GAP) * (len(widths) - 1)

    def lines(row: Row) -> list[str]:
        cells = [
            f"{_cell(value):>{width}}" if right else f"{_cell(value):<{width}}"
            for value, width, right in zip(row, widths, numeric, strict=True)
        ]
        pieces = wrapped(cells[-1].rstrip(), screen.width, indent)
        first, *others = [_ending(piece, screen.width, indent) for piece in pieces]
        return [_GAP.join([*cells[:-1], first]).rstrip(), *(" " * indent + other for other in others)]

    table = [screen.paint(lines(headings)[0], "dim"), *(line for row in rows for line in lines(row))]
    return [*table, screen.paint(lines(total)[0], "bold")] if total else table


def _ending(word: str, width: int | None, indent: int) -> str:
    """A path that is wider than what is left of the terminal, cut in front: its end tells more than its start."""
    room = None if width is None else max(width - indent, 12)
    return word if room is None or len(word) <= room else f"…{word[1 - room :]}"


def _cell(value: str | int) -> str:
    if isinstance(value, int):
        return f"{value:,}" if value else "·"
    return value

"""Layout of tables within the width of the terminal."""

from collections.abc import Sequence

from telex.surfaces.cli.output import Screen, wrapped
from telex.trace.text import cells, squeezed

Row = Sequence[str | int]
_GAP = "  "
_NOTHING = "·"  # how a zero looks
_LAST_LEAST, _COLUMN_LEAST = 12, 6  # columns of the terminal
_COLUMN_MOST = 120  # one name that is longer does not push all the others aside


def table_lines(headings: Sequence[str], rows: Sequence[Row], screen: Screen, *, total: Row | None = None) -> list[str]:
    """A table with numbers to the right and zeros as dots. Where the terminal ends, the last column goes on below.

    Where even that does not fit, columns that say nothing are left out. If it still does not, what stands in the first
    column, which is often an id and to be copied, gets a line of its own, and the others are squeezed below it.
    """
    texts = [[_cell(value) for value in row] for row in (headings, *rows, *([total] if total else []))]
    right = [bool(rows) and isinstance(value, int) for value in (rows[0] if rows else headings)]
    width = screen.width
    if width is not None and _least(_widths(texts)) > width:
        telling = [at for at in range(len(headings)) if any(row[at] not in ("", _NOTHING) for row in texts[1:])]
        texts, right = [[row[at] for at in telling] for row in texts], [right[at] for at in telling]
    if width is None or _least(_widths(texts)) <= width:
        blocks = _side_by_side(texts, right, width)
    else:
        below = _side_by_side([row[1:] for row in texts], right[1:], width - len(_GAP))
        blocks = [
            [*row[:1], *(_GAP + line for line in lines)] if row[0] else [_GAP + line for line in lines]
            for row, lines in zip(texts, below, strict=True)
        ]
    colours = {0: "dim", **({len(blocks) - 1: "bold"} if total else {})}
    return [
        screen.paint(line, colours[place]) if place in colours else line
        for place, lines in enumerate(blocks)
        for line in lines
    ]


def _side_by_side(texts: list[list[str]], right: list[bool], width: int | None) -> list[list[str]]:
    """The lines of each row, its cells in columns that fit as well as they can."""
    widths = _widths(texts)
    squeezable = [at for at in range(len(widths) - 1) if not right[at]]
    while width is not None and squeezable and _least(widths) > width:
        widest = max(squeezable, key=widths.__getitem__)
        if widths[widest] <= _COLUMN_LEAST:
            break
        widths[widest] -= 1
    indent = _indent(widths)

    def lines(row: list[str]) -> list[str]:
        *before, last = row
        fitted = before if width is None else [squeezed(text, widths[at]) for at, text in enumerate(before)]
        padded = [_padded(text, widths[at], right[at]) for at, text in enumerate(fitted)]
        words = _padded(last, widths[-1], right[-1]).rstrip()
        first, *others = [_ending(piece, width, indent) for piece in wrapped(words, width, indent)]
        return [_GAP.join([*padded, first]).rstrip(), *(" " * indent + other for other in others)]

    return [lines(row) for row in texts]


def _widths(texts: list[list[str]]) -> list[int]:
    return [min(max(map(cells, column)), _COLUMN_MOST) for column in zip(*texts, strict=True)]


def _indent(widths: list[int]) -> int:
    return sum(widths[:-1]) + len(_GAP) * (len(widths) - 1)


def _least(widths: list[int]) -> int:
    """How many columns of the terminal it takes if the last one is folded."""
    return _indent(widths) + min(widths[-1], _LAST_LEAST)


def _padded(text: str, width: int, right: bool) -> str:
    blanks = " " * (width - cells(text))
    return blanks + text if right else text + blanks


def _ending(word: str, width: int | None, indent: int) -> str:
    """A path that is wider than what is left of the terminal, cut in front: its end tells more than its start."""
    room = None if width is None else max(width - indent, _LAST_LEAST)
    return word if room is None or len(word) <= room else f"…{word[1 - room :]}"


def _cell(value: str | int) -> str:
    if isinstance(value, int):
        return f"{value:,}" if value else _NOTHING
    return value

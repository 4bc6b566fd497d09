"""Blanks of a message: the marked places that its sender has to fill in."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from telex.dialects.write import CLOSING, OPENING, is_blank
from telex.model.json_path import ROOT, join
from telex.surfaces.cli.output import Screen, shown, wrapped


class Blank(NamedTuple):
    path: str
    expected: str


def blanks_in(value: Any, path: str = ROOT) -> Iterator[Blank]:
    """Every blank, names of fields among them, in the order in which they stand."""
    if is_blank(value):
        yield Blank(path, value.removeprefix(OPENING).removesuffix(CLOSING))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from blanks_in(item, join(path, index))
    elif isinstance(value, dict):
        for key, item in value.items():
            if is_blank(key):
                yield Blank(join(path, key), "a name in its place")
            yield from blanks_in(item, join(path, key))


def blank_lines(blanks: list[Blank], screen: Screen) -> list[str]:
    """A line for each blank, under a line that counts them."""
    widest = max((len(shown(blank.path)) for blank in blanks), default=0)
    head = f"{len(blanks)} blank{'s' if len(blanks) != 1 else ''} to fill:"
    rows = []
    for path, wanted in blanks:
        first, *others = wrapped(shown(wanted), screen.width, widest + 4)
        rows.append(f"  {screen.paint(shown(path), 'bold')}{' ' * (widest - len(shown(path)))}  {first}")
        rows += [" " * (widest + 4) + other for other in others]
    return [head, *rows]

"""Picture of the first scenes of `telex demo`, as a terminal shows them.

    python -m tests.demo.demo_picture docs/pictures/demo.svg

It is made from the real output under a fixed clock, so it is the same to the byte each time.
"""

import io
import re
import sys
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory

from telex.demo.story import playing
from telex.demo.team import Scene, StoryClock
from telex.surfaces.cli.demo import lines, opening
from telex.surfaces.cli.output import Screen

SCENES = 3
COLUMNS = 88
MONDAY = 1_772_445_600.0  # 2026-03-02 10:00:00 UTC
CELL, LINE, MARGIN, BAR, SIZE = 8.0, 19.0, 22.0, 38.0, 13.3
COLOURS = {"31": "#ff8a80", "32": "#63d08a", "33": "#f0b94d", "2": "#8b98a9", "1": "#ffffff"}
PAPER, EDGE, INK = "#10151d", "#2b3543", "#d6dee8"
FONT = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace"
_TOGETHER = re.compile(r"\S+(?: \S+)*")
_PAINTED = re.compile("\x1b\\[(\\d+)m(.*?)\x1b\\[0m")


def recorded() -> list[str]:
    """What a terminal of so many columns is sent, up to the end of the last scene that is shown."""
    screen = Screen(io.StringIO())
    screen.is_terminal, screen.colours, screen.width = True, True, COLUMNS
    shown = ["$ telex demo", *opening(screen)]
    clock = StoryClock(real=lambda: 0.0, wall=lambda: MONDAY)
    with TemporaryDirectory(prefix="telex-still-") as folder, playing(f"{folder}/demo/telex.db", clock) as play:
        scenes = 0
        for happening in play.story:
            scenes += isinstance(happening, Scene)
            if scenes > SCENES:
                break
            shown += lines(happening, scenes, screen)
    return [*shown, "", screen.paint("…", "dim")]


def picture(shown: list[str]) -> str:
    width, height = COLUMNS * CELL + 2 * MARGIN, len(shown) * LINE + BAR + MARGIN
    dots = "".join(f'<circle cx="{MARGIN + 4 + 18 * at:g}" cy="19" r="5.5" fill="{EDGE}"/>' for at in range(3))
    rows = "\n".join(_row(line, BAR + LINE * (at + 0.75)) for at, line in enumerate(shown) if line)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}"'
        f' height="{height:g}" role="img" aria-label="telex demo in a terminal">\n'
        f'<rect width="{width:g}" height="{height:g}" rx="9" fill="{PAPER}" stroke="{EDGE}"/>\n{dots}\n'
        f'<g font-family="{FONT}" font-size="{SIZE}" fill="{INK}">\n{rows}\n</g>\n</svg>\n'
    )


def _row(line: str, y: float) -> str:
    """What stands together is put where its column is and made as wide as its letters: fonts differ."""
    texts, column = [], 0
    runs: list[tuple[str, str | None]] = []
    end = 0
    for match in _PAINTED.finditer(line):
        runs += [(line[end : match.start()], None), (match[2], match[1])]
        end = match.end()
    for text, colour in [*runs, (line[end:], None)]:
        style = (f' fill="{COLOURS[colour]}"' if colour else "") + (' font-weight="700"' if colour == "1" else "")
        for words in _TOGETHER.finditer(text):
            place = f'x="{MARGIN + CELL * (column + words.start()):g}" y="{y:g}"'
            length = f'textLength="{len(words[0]) * CELL:g}" lengthAdjust="spacingAndGlyphs"'
            texts.append(f"<text {place} {length}{style}>{escape(words[0], quote=False)}</text>")
        column += len(text)
    return "".join(texts)


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(picture(recorded()), encoding="utf-8")

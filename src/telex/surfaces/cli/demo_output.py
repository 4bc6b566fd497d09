"""How does the demo look? A line for each thing that happens, under a legend, on eighty columns."""

from collections.abc import Iterator

from telex.demo.agents import CAST
from telex.demo.narration import SIGNS, Happening, Scene, Sign, StoryEvent
from telex.model.finding import Finding
from telex.surfaces.cli.output import Screen, shown, wrapped

SYMBOLS: dict[Sign, tuple[str, str]] = {
    "stored": ("✓", "green"),
    "refused": ("✗", "red"),
    "asked": ("?", "yellow"),
    "warned": ("!", "yellow"),
    "climbed": ("↑", "yellow"),
    "stopped": ("■", "green"),
    "looked": ("·", "dim"),
}
_SEVERITIES = {"refusal": "red", "warning": "yellow", "note": "dim"}
_TIME, _PAIR = 6, 17
_INDENT = _TIME + 2 + 1 + 1 + _PAIR + 2
_LEGEND_WIDTH = 39


def opening(screen: Screen) -> list[str]:
    """The title, who plays, and what the signs mean."""
    signs = [f"{_painted(sign, screen)} {says}" + " " * (_LEGEND_WIDTH - len(says) - 2) for sign, says in SIGNS.items()]
    pairs = ["  " + "".join(signs[at : at + 2]).rstrip() for at in range(0, len(signs), 2)]
    return [
        screen.paint("Eight agents make one change", "bold"),
        screen.paint("on a real bus, by the clock of the story: half an hour passes in a minute", "dim"),
        "",
        f"  {' · '.join(CAST)}",
        "",
        *pairs,
    ]


def lines(happening: Happening, number: int, screen: Screen) -> Iterator[str]:
    """What is shown of it; `number` counts the scenes."""
    if isinstance(happening, Scene):
        yield ""
        head = f"{number}  {happening.title}"
        said = wrapped(happening.says, screen.width, len(head) + 1)
        yield f"{screen.paint(head, 'bold')} {screen.paint(said[0], 'dim')}"
        yield from (screen.paint(" " * (len(head) + 1) + more, "dim") for more in said[1:])
        return
    pair = f"{happening.who} → {happening.whom}" if happening.whom is not None else happening.who
    first, *others = wrapped(shown(happening.what), screen.width, _INDENT)
    time = screen.paint(f"{_clock(happening):>{_TIME}}", "dim")
    yield f"{time}  {_painted(happening.sign, screen)} {pair:<{_PAIR}}  {first}"
    yield from (" " * _INDENT + more for more in others)
    for finding in happening.why:
        yield from _said(finding, screen)


def _clock(beat: StoryEvent) -> str:
    return f"{int(beat.at) // 60}:{int(beat.at) % 60:02d}"


def _painted(sign: Sign, screen: Screen) -> str:
    symbol, colour = SYMBOLS[sign]
    return screen.paint(symbol, colour)


def _said(finding: Finding, screen: Screen) -> Iterator[str]:
    """What the bus said to it: the code in its colour, the sentence behind it."""
    code = f"{shown(finding.code)}:"
    told = wrapped(f"{code} {shown(finding.say)}", screen.width, _INDENT)
    colour = _SEVERITIES[finding.severity]
    first = told[0].removeprefix(code)
    yield " " * _INDENT + screen.paint(code, colour) + screen.paint(first, "dim")
    yield from (" " * _INDENT + screen.paint(more, "dim") for more in told[1:])


def seconds_to_read(happening: Happening) -> float:
    """How long a person looks at it before the next."""
    if isinstance(happening, Scene):
        return 1.2 + len(happening.says) / 60
    words = len(happening.what) + sum(len(finding.say) for finding in happening.why)
    return min(0.6 + words / 90, 2.6)

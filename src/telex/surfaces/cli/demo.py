"""`telex demo`: eight agents make one change on a real bus."""

import sys
from collections.abc import Iterator
from time import sleep
from typing import TYPE_CHECKING

import click

from telex.demo.team import CAST, SIGNS, Happening, Scene, Sign, StoryEvent
from telex.model.finding import Finding
from telex.surfaces.cli.bus_connection import explained, stay_for_long
from telex.surfaces.cli.exit_codes import DONE, INTERRUPTED
from telex.surfaces.cli.output import Screen, shell_word, shown, wrapped

if TYPE_CHECKING:
    from telex.demo.story import DemoRun

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


TO_TRY = {
    "why update-2": "why it was refused",
    "contract show 1-1": "the contract and its widening",
    "trace 1-1-T2": "a conversation as a diagram",
    "escalations --all": "the steps of an escalation",
    "approvals --all": "who approved what",
    "team": "its members",
    "events": "everything that happened",
}


@click.command("demo")
@click.option("--fast", is_flag=True, help="Do not pause between the scenes.")
@click.option(
    "--store", metavar="PATH",
    help="Store to use, in a folder that is created anew each time; .telex-demo/telex.db if not given.",
)  # fmt: skip
def command(fast: bool, store: str | None) -> int:
    """Watch eight agents make one change: a contract, a refusal, an approval, an escalation, a review, a shutdown.

    It takes a minute and leaves a store to explore.
    """
    from telex.demo.story import playing

    screen = Screen(sys.stdout)
    stay_for_long()
    with explained(), playing(store) as play:
        try:
            _show(play, screen, fast=fast)
        except KeyboardInterrupt:
            screen.line(f"\nstopped here; what has happened so far is in {shown(play.path)}")
            return INTERRUPTED
    return DONE


def _show(play: "DemoRun", screen: Screen, *, fast: bool) -> None:
    from telex.demo.team import Scene

    screen.line("\n".join(opening(screen)))
    scenes = 0
    for happening in play.story:
        scenes += isinstance(happening, Scene)
        for line in lines(happening, scenes, screen):
            screen.line(line)
        screen.stream.flush()
        if not fast:
            sleep(seconds_to_read(happening))
    refused = {message.seq: message.refused for _, message in play.bus.events() if message is not None}
    screen.line("\n".join(_ending(play, screen, len(refused), sum(refused.values()))))


def _ending(play: "DemoRun", screen: Screen, sent: int, refused: int) -> list[str]:
    place = shell_word(play.path.removesuffix("/telex.db"))
    commands = {f"telex {words} --store {place}": says for words, says in TO_TRY.items()}
    widest = max(map(len, commands))
    fits = screen.width is None or widest + 4 + max(map(len, commands.values())) <= screen.width
    listed = [
        f"  {command:<{widest}}  {screen.paint(says, 'dim')}" if fits else f"  {command}"
        for command, says in commands.items()
    ]
    head = f"{screen.paint('Over.', 'bold')} {sent} messages were sent, and {refused} of them refused. Explore it:"
    return ["", head, *listed]


# --- the lines of a scene ---------------------------------------------------------------------------------------------


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

"""`telex demo`: the demo team, scene by scene."""

import sys
from collections.abc import Iterator
from time import sleep
from typing import TYPE_CHECKING

import click

from telex.demo.team import SIGNS, Happening, Scene, Sign
from telex.model.finding import Finding
from telex.surfaces.cli.connection import explained
from telex.surfaces.cli.options import command, flag
from telex.surfaces.cli.output import Screen, shell_word, shown, wrapped
from telex.surfaces.cli.usage import DONE, INTERRUPTED

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

demo_store_option = click.option(
    "--store",
    metavar="PATH",
    help="Store to use, in a folder that is created anew each time; .telex-demo/telex.db if not given.",
)


@command("demo", [flag("--fast", "Do not pause between the scenes."), demo_store_option])
def demo_command(fast: bool, store: str | None) -> int:
    """Watch eight agents make one change: a contract, a refusal, an approval, an escalation, a review, a shutdown.

    It takes a minute and leaves a store to explore.
    """
    from telex.demo.story import playing

    screen = Screen(sys.stdout)
    with explained(), playing(store) as play:
        try:
            _play(play, screen, fast=fast)
        except KeyboardInterrupt:
            screen.line(f"\nstopped here; what has happened so far is in {shown(play.path)}")
            return INTERRUPTED
    return DONE


def _play(play: "DemoRun", screen: Screen, *, fast: bool) -> None:
    screen.line(*opening(screen))
    scenes = 0
    for happening in play.story:
        scenes += isinstance(happening, Scene)
        screen.line(*lines(happening, scenes, screen))
        screen.stream.flush()
        if not fast:
            sleep(seconds_to_read(happening))
    refused = {message.seq: message.refused for _, message in play.bus.events() if message is not None}
    counts = f"{len(refused)} messages were sent, and {sum(refused.values())} of them refused"
    screen.line("", f"{screen.paint('Over.', 'bold')} {counts}. Explore it:", *_commands_to_try(play, screen))


def _commands_to_try(play: "DemoRun", screen: Screen) -> list[str]:
    store = shell_word(play.path.removesuffix("/telex.db"))
    commands = {f"telex {words} --store {store}": purpose for words, purpose in TO_TRY.items()}
    widest = max(map(len, commands))
    if screen.width is not None and widest + 4 + max(map(len, commands.values())) > screen.width:
        return [f"  {line}" for line in commands]
    return [f"  {line:<{widest}}  {screen.paint(purpose, 'dim')}" for line, purpose in commands.items()]


def opening(screen: Screen) -> list[str]:
    """Title, cast and legend of the demo."""
    from telex.demo.team import CAST

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
    """Lines of a scene's title or of an event; `number` counts the scenes."""
    if isinstance(happening, Scene):
        yield ""
        head = f"{number}  {happening.title}"
        first, *others = wrapped(happening.says, screen.width, len(head) + 1)
        yield f"{screen.paint(head, 'bold')} {screen.paint(first, 'dim')}"
        yield from (screen.paint(" " * (len(head) + 1) + more, "dim") for more in others)
        return
    pair = f"{happening.who} → {happening.whom}" if happening.whom is not None else happening.who
    first, *others = wrapped(shown(happening.what), screen.width, _INDENT)
    clock = f"{int(happening.at) // 60}:{int(happening.at) % 60:02d}"
    yield f"{screen.paint(f'{clock:>{_TIME}}', 'dim')}  {_painted(happening.sign, screen)} {pair:<{_PAIR}}  {first}"
    yield from (" " * _INDENT + more for more in others)
    for finding in happening.why:
        yield from _finding_lines(finding, screen)


def _painted(sign: Sign, screen: Screen) -> str:
    symbol, colour = SYMBOLS[sign]
    return screen.paint(symbol, colour)


def _finding_lines(finding: Finding, screen: Screen) -> Iterator[str]:
    """A finding: its code in its colour, then its text."""
    code = f"{shown(finding.code)}:"
    first, *others = wrapped(f"{code} {shown(finding.say)}", screen.width, _INDENT)
    painted = screen.paint(code, _SEVERITIES[finding.severity])
    yield " " * _INDENT + painted + screen.paint(first.removeprefix(code), "dim")
    yield from (" " * _INDENT + screen.paint(more, "dim") for more in others)


def seconds_to_read(happening: Happening) -> float:
    """Pause before the next line."""
    if isinstance(happening, Scene):
        return 1.2 + len(happening.says) / 60
    words = len(happening.what) + sum(len(finding.say) for finding in happening.why)
    return min(0.6 + words / 90, 2.6)

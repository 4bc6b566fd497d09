"""`telex demo`: what does all of it look like, when it works together?"""

import sys
from time import sleep
from typing import TYPE_CHECKING

import click

from telex.surfaces.cli.bus_connection import explained, stay_for_long
from telex.surfaces.cli.demo_output import lines, opening, seconds_to_read
from telex.surfaces.cli.exit_codes import DONE, INTERRUPTED
from telex.surfaces.cli.output import Screen, shell_word, shown

if TYPE_CHECKING:
    from telex.demo.runner import DemoRun

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
    from telex.demo.runner import playing

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
    from telex.demo.narration import Scene

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

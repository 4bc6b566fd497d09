"""`telex show`: what did a message really say? Its bytes, exactly as they came."""

import sys
from typing import Any

import click

from telex.ports.bus import Story
from telex.surfaces.cli import completing
from telex.surfaces.cli.answers import json_line
from telex.surfaces.cli.bodies import head_facts, text_of, what, write_body, write_bytes
from telex.surfaces.cli.bus_asking import lines_option, store_option
from telex.surfaces.cli.bus_option import opened_to_look
from telex.surfaces.cli.exits import DONE
from telex.surfaces.cli.render import Screen, headed, shown, wrapped
from telex.surfaces.cli.times import day_time, stamp


@click.command("show")
@click.argument("id", metavar="ID", shell_complete=completing.waiting_ids)
@click.option("--raw", is_flag=True, help="Nothing but the bytes, even to a terminal.")
@store_option
@lines_option
def command(id: str, raw: bool, store: str | None, as_json: bool) -> int:
    """Print a message as it was received. Nobody is told that you looked."""
    with opened_to_look(store) as bus:
        stories = bus.why(id)
    story = _meant(stories)
    if as_json:
        sys.stdout.write(json_line(_facts(story)) + "\n")
    elif raw:
        write_bytes(story.message.raw)
    else:
        _head(story, len(stories))
        write_body(story.message)
    return DONE


def _meant(stories: list[Story]) -> Story:
    """The last one that passed; where none did, the last that was tried."""
    passed = [story for story in stories if not story.message.refused]
    return (passed or stories)[-1]


def _head(story: Story, alike: int) -> None:
    screen, message = Screen(sys.stderr), story.message
    others = f" (the last of {alike} with this id; telex why tells them all)" if alike > 1 else ""
    about = f"{what(message)} from {shown(message.sender)} to {shown(message.to)}, {day_time(message.at)} UTC"
    lines = [*headed(shown(message.id), f"{story.state}{others}", screen), *wrapped(about, screen.width, 0)]
    screen.line("\n".join(lines))
    screen.stream.flush()


def _facts(story: Story) -> dict[str, Any]:
    message = story.message
    facts = head_facts(message) | {"at": stamp(message.at), "state": story.state, "digest": message.digest.hex()}
    return facts | {"bytes": len(message.raw), "message": text_of(message)}

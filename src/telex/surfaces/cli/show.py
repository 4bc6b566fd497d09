"""`telex show`: a message as it was sent, or as one of its readers received it."""

import sys
from typing import Any

import click

from telex.model.message import Rendering, detail_of, rendered_as
from telex.ports.bus import MessageHistory
from telex.surfaces.cli import completion
from telex.surfaces.cli.bus_connection import opened_to_look
from telex.surfaces.cli.bus_options import lines_option, store_option, text_option
from telex.surfaces.cli.check_output import json_line
from telex.surfaces.cli.exit_codes import DONE
from telex.surfaces.cli.message_text import head_facts, rendering_facts, text_of, what, whence, write_body, write_bytes
from telex.surfaces.cli.output import Screen, headed, shell_word, shown, wrapped
from telex.surfaces.cli.time_text import day_time, stamp
from telex.validation.authorization import normalised


@click.command("show")
@click.argument("id", metavar="ID", shell_complete=completion.waiting_ids)
@click.option("--raw", is_flag=True, help="Print only the bytes, exactly as they were sent.")
@text_option(
    "--as",
    "NAME",
    "Print the form that this agent received, or would receive.",
    complete=completion.agents,
    into="agent",
)
@store_option
@lines_option
def command(id: str, raw: bool, agent: str | None, store: str | None, as_json: bool) -> int:
    """Print a message as it was sent. It does not count as read."""
    with opened_to_look(store) as bus:
        stories = bus.why(id)
        story = _meant(stories)
        rendering = bus.rendering(story.message, agent=agent) if agent is not None else None
    if as_json:
        sys.stdout.write(json_line(_facts(story, agent, rendering)) + "\n")
    elif raw:
        write_bytes((rendering or story.message).raw)
    else:
        _head(story, len(stories), agent, rendering)
        write_body(rendering or story.message)
    return DONE


def _meant(stories: list[MessageHistory]) -> MessageHistory:
    """The last one that passed; where none did, the last that was tried."""
    passed = [story for story in stories if not story.message.refused]
    return (passed or stories)[-1]


def _head(story: MessageHistory, alike: int, agent: str | None, rendering: Rendering | None) -> None:
    screen, message = Screen(sys.stderr), story.message
    others = f" (the last of {alike} with this id; telex why shows them all)" if alike > 1 else ""
    whom = f"from {shown(message.sender)} to {shown(message.to)}{whence(message, rendering)}"
    about = f"{what(rendering or message)} {whom}, {day_time(message.at)} UTC"
    lines = [*headed(shell_word(message.id), f"{story.state}{others}", screen), *wrapped(about, screen.width, 0)]
    told = _readings(story) if agent is None else [_whether_given(story, agent)]
    lines += [line for one in told for line in wrapped(one, screen.width, 0)]
    screen.line("\n".join(lines))
    screen.stream.flush()


def _readings(story: MessageHistory) -> list[str]:
    """Who was given it in other words, each once."""
    told = {event.agent or "": rendered_as(detail_of(event)) for event in story.events if event.kind == "translated"}
    return [f"{shown(agent)} received {shown(words)} (--as {shell_word(agent)})" for agent, words in told.items()]


def _whether_given(story: MessageHistory, agent: str) -> str:
    return f"as {shown(agent)} received it" if _has_had(story, agent) else f"as {shown(agent)} would receive it now"


def _has_had(story: MessageHistory, agent: str) -> bool:
    """Was it handed over to this agent? What waits to be handed over once more is not yet what it will have."""
    name, waits = normalised(agent), {delivery.seq for delivery in story.deliveries if delivery.state == "stored"}
    turns = (event for event in story.events if event.kind == "leased" and event.delivery not in waits)
    return any(event.agent == name for event in turns)


def _facts(story: MessageHistory, agent: str | None, rendering: Rendering | None) -> dict[str, Any]:
    message, read = story.message, rendering or story.message
    facts = head_facts(message) | {"at": stamp(message.at), "state": story.state, "digest": message.digest.hex()}
    facts |= {"as": agent, "given": _has_had(story, agent)} if agent is not None else {}
    facts |= rendering_facts(message, rendering)
    return facts | {"bytes": len(read.raw), "message": text_of(read)}

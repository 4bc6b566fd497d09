"""`telex trace`: a whole conversation at a glance, as a tree, as a sequence diagram, or as a picture for a page."""

import sys
from importlib import import_module
from typing import TYPE_CHECKING

import click

from telex.errors import NotFound
from telex.ports.bus import Story
from telex.surfaces.cli.answers import json_line
from telex.surfaces.cli.bus_asking import lines_option, store_option, text_option
from telex.surfaces.cli.bus_option import opened
from telex.surfaces.cli.exits import DONE, FAILED, NOT_FOUND, CommandError
from telex.surfaces.cli.render import Screen, shell_word, shown
from telex.surfaces.cli.why import facts

if TYPE_CHECKING:
    from telex.client import SyncBus

FORMS = ("tree", "sequence", "mermaid", "svg")


@click.command("trace")
@click.argument("correlation", metavar="CORRELATION")
@click.option("--as", "form", type=click.Choice(FORMS), help="How it is drawn; a tree if not given.")
@text_option("-o", "FILE", "Write it to a file.", into="file")
@store_option
@lines_option
def command(correlation: str, form: str | None, file: str | None, store: str | None, as_json: bool) -> int:
    """Show a conversation: who said what to whom, when it was taken and acked, and what went wrong.

    \b
      telex trace release-7                        a tree with timings
      telex trace release-7 --as sequence          a lane for each agent
      telex trace release-7 --as svg -o trace.svg  a picture
    """
    if as_json and form is not None:
        raise CommandError(f"--json prints the messages themselves, one to a line: leave out --as {form}")
    with opened(store) as bus:
        stories = bus.trace(correlation)
        if not stories:
            raise CommandError(_not_there(correlation, bus), NOT_FOUND)
    if as_json:
        text = "".join(json_line(facts(story)) + "\n" for story in stories)
    else:
        text = _drawn(stories, form or FORMS[0], None if file else Screen(sys.stdout).width)
    _write(text, file)
    return DONE


def _drawn(stories: list[Story], form: str, width: int | None) -> str:
    room = {"width": width} if form == "sequence" and width else {}
    text = import_module(f"telex.trace.{form}").render(stories, **room)
    assert isinstance(text, str)
    return text


def _not_there(correlation: str, bus: "SyncBus") -> str:
    """Often it is the id of a message that was given; then its conversation is what was meant."""
    say = f"no conversation {shown(correlation)}"
    try:
        message = bus.why(correlation)[0].message
    except NotFound:
        return f"{say}; `telex events` shows what there was"
    if message.correlation is None:
        return f"{say}; that is a message outside any conversation: telex why {shell_word(message.id)}"
    return f"{say}; that is a message of {shown(message.correlation)}: telex trace {shell_word(message.correlation)}"


def _write(text: str, file: str | None) -> None:
    if file is None or file == "-":
        sys.stdout.write(text)
        return
    try:
        with open(file, "w", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        raise CommandError(f"{shown(file)}: {error.strerror or error}", FAILED) from error
    sys.stderr.write(f"written to {shown(file)}\n")

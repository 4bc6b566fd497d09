"""`telex trace`: a whole conversation at a glance, as a tree, as a sequence diagram, or as a picture for a page."""

import sys
from importlib import import_module

import click

from telex.ports.bus import MessageHistory
from telex.surfaces.cli.bus_connection import opened_to_look
from telex.surfaces.cli.bus_options import lines_option, store_option, text_option
from telex.surfaces.cli.check_output import json_line
from telex.surfaces.cli.exit_codes import DONE, CommandError
from telex.surfaces.cli.output import Screen, shown
from telex.surfaces.cli.output_file import writing
from telex.surfaces.cli.why import facts

FOR_TERMINALS = ("tree", "sequence")
FORMS = (*FOR_TERMINALS, "mermaid", "svg")


@click.command("trace")
@click.argument("correlation", metavar="CORRELATION")
@click.option("--as", "form", type=click.Choice(FORMS), help="Format; a tree if not given.")
@text_option("-o", "FILE", "Write it to a file.", into="file")
@store_option
@lines_option
def command(correlation: str, form: str | None, file: str | None, store: str | None, as_json: bool) -> int:
    """Show a conversation: messages, leases, acks and failures.

    \b
      telex trace release-7                        a tree with timings
      telex trace release-7 --as sequence          one column per agent
      telex trace release-7 --as svg -o trace.svg  a picture
    """
    if as_json and form is not None:
        raise CommandError(f"--json prints the messages: leave out --as {form}")
    with opened_to_look(store) as bus:
        stories = bus.trace(correlation)
    if as_json:
        text = "".join(json_line(facts(story)) + "\n" for story in stories)
    else:
        text = _drawn(stories, form or FORMS[0], None if file else Screen(sys.stdout).width)
    _write(text, file)
    return DONE


def _drawn(stories: list[MessageHistory], form: str, width: int | None) -> str:
    room = {"width": width} if form in FOR_TERMINALS and width else {}
    module = import_module("telex.trace.svg" if form == "svg" else "telex.trace.diagrams")
    text = getattr(module, f"render_{form}")(stories, **room)
    assert isinstance(text, str)
    return text


def _write(text: str, file: str | None) -> None:
    if file is None or file == "-":
        sys.stdout.write(text)
        return
    with writing(file) as target:
        target.write(text.encode("utf-8", "backslashreplace"))
    sys.stderr.write(f"written to {shown(file)}\n")

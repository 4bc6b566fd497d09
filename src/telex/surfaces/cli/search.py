"""`telex search`: full-text search in messages."""

import sys
import time

import click

from telex.model.message import Message
from telex.surfaces.cli.bus_connection import opened_to_look
from telex.surfaces.cli.bus_options import lines_option, max_option, store_option
from telex.surfaces.cli.check_output import json_line
from telex.surfaces.cli.exit_codes import DONE, CommandError
from telex.surfaces.cli.message_text import MARK, head_facts, text_of
from telex.surfaces.cli.output import Screen, headed, shell_word, shown
from telex.surfaces.cli.time_text import ago, stamp
from telex.trace.text import cut

_BEFORE, _SHOWN = 30, 74  # characters: in front of the first word that was found, and in all


@click.command("search")
@click.argument("words", metavar="TEXT...", nargs=-1, required=True)
@max_option(50)
@store_option
@lines_option
def command(words: tuple[str, ...], limit: int, store: str | None, as_json: bool) -> int:
    """Search messages that contain all these words, newest first, refused ones too."""
    if not " ".join(words).strip():
        raise CommandError("give the words: telex search TEXT")
    with opened_to_look(store) as bus:
        messages = bus.search(" ".join(words), limit=limit)
    if as_json:
        for message in messages:
            facts = head_facts(message) | {"at": stamp(message.at), "refused": message.refused}
            sys.stdout.write(json_line(facts | {"message": text_of(message)}) + "\n")
        return DONE
    if not messages:
        sys.stderr.write(f"no message contains {shown(' '.join(words))}\n")
        return DONE
    screen, now = Screen(sys.stdout), time.time()
    for message in messages:
        what = shown(message.type or message.dialect or "text") + (" (refused)" if message.refused else "")
        who = f"{shown(message.sender)} → {shown(message.to)}"
        screen.line("\n".join(headed(shell_word(message.id), f"{what}  {who}  {ago(message.at, now)} ago", screen)))
        excerpt_ = excerpt(message, words)
        screen.line(MARK + (excerpt_ if screen.width is None else cut(excerpt_, screen.width - len(MARK))))
    return DONE


def excerpt(message: Message, words: tuple[str, ...]) -> str:
    """The first of the words that is found, with a little around it."""
    text = " ".join(text_of(message).split())
    folded = text.casefold()
    places = [at for word in words if (at := folded.find(word.casefold().strip('"*'))) >= 0]
    start = max(min(places, default=0) - _BEFORE, 0)
    part = text[start : start + _SHOWN]
    return shown(f"{'…' if start else ''}{part}{'…' if start + len(part) < len(text) else ''}")

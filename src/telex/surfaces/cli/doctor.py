"""`telex doctor`: is the store sound, and is this a place where it can be?"""

import sys
import time

import click

from telex.surfaces.cli.bus_connection import explained, store_path, store_there
from telex.surfaces.cli.bus_options import lines_option, store_option
from telex.surfaces.cli.check_output import json_line
from telex.surfaces.cli.exit_codes import DONE, FAILED
from telex.surfaces.cli.output import Screen, shown, wrapped

_MARKS = {True: ("ok   ", "green"), False: ("wrong", "red"), None: ("note ", "yellow")}


@click.command("doctor")
@store_option
@lines_option
def command(store: str | None, as_json: bool) -> int:
    """Check the store: the file, the digest of every message, the disk, the clock. Changes nothing."""
    from telex.stores.doctor import examine

    with explained():
        path = store_there(store_path(store))
        checks = list(examine(path, time.time()))
    if as_json:
        for check in checks:
            sys.stdout.write(json_line({"name": check.name, "ok": check.ok, "say": check.say}) + "\n")
    else:
        screen = Screen(sys.stdout)
        screen.line(screen.paint(shown(path), "bold"))
        widest = max((len(check.name) for check in checks), default=0)
        for check in checks:
            word, colour = _MARKS[check.ok]
            first, *others = wrapped(shown(check.say), screen.width, widest + 11)
            screen.line(f"  {screen.paint(word, colour)}  {check.name:<{widest}}  {first}")
            for other in others:
                screen.line(" " * (widest + 11) + other)
    return FAILED if any(check.ok is False for check in checks) else DONE

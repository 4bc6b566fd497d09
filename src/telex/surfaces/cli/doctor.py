"""`telex doctor`: check of the store and of the machine it is on."""

import time

import click

from telex.surfaces.cli.bus_connection import explained, store_path, store_there
from telex.surfaces.cli.bus_options import lines_option, store_option
from telex.surfaces.cli.exit_codes import DONE, FAILED
from telex.surfaces.cli.output import Screen, shown, wrapped
from telex.surfaces.cli.result_output import print_list

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

    def lines(screen: Screen) -> list[str]:
        lines, widest = [screen.paint(shown(path), "bold")], max((len(check.name) for check in checks), default=0)
        for check in checks:
            word, colour = _MARKS[check.ok]
            first, *others = wrapped(shown(check.say), screen.width, widest + 11)
            lines.append(f"  {screen.paint(word, colour)}  {check.name:<{widest}}  {first}")
            lines += [" " * (widest + 11) + other for other in others]
        return lines

    print_list(checks, as_json, facts=lambda check: {"name": check.name, "ok": check.ok, "say": check.say}, lines=lines)
    return FAILED if any(check.ok is False for check in checks) else DONE

"""`python -m tests.clients.lab`: installs the clients, plays with each and prints the table. `make clients` runs it."""

import argparse
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

from tests.clients.lab import plays
from tests.clients.lab.isolation import MARK, isolate
from tests.clients.lab.plays import Check
from tests.clients.lab.programs import CLIENTS, install
from tests.clients.lab.report import matrix, sizes, write_tables
from tests.clients.lab.room import ClientRoom
from tests.clients.lab.run import LabRun, lab_run
from tests.clients.lab.tmux import TmuxServer

ROOT = Path(__file__).parents[3]
PLAYS = ("messages", "turn", "idle")


def play(name: str, room: ClientRoom, server: TmuxServer) -> list[Check]:
    scenes: dict[str, Callable[[], list[Check]]] = {
        "messages": lambda: plays.messages(room),
        "turn": lambda: plays.turn(room),
        "idle": lambda: plays.idle(room, server),
    }
    try:
        room.connect()
        return scenes[name]()
    except Exception as error:  # the other clients are still to be tried
        (room.model.logs / f"{room.session.name}.error").write_text(traceback.format_exc())
        return [Check(name, False, str(error).strip().splitlines()[0])]


def play_all(run: LabRun, clients: list[str], scenes: list[str]) -> dict[str, dict[str, Check]]:
    results: dict[str, dict[str, Check]] = {}
    for name in clients:
        client = CLIENTS[name]
        found = results.setdefault(f"{client.title} {client.installed(run.programs)}", {})
        for scene in scenes:
            for check in play(scene, run.room(name, f"{name}-{scene}"), run.server):
                found[check.name] = check
                print(f"{name:9} {'ok' if check.is_passed else 'NO':3} {check.name:20} {check.detail}", flush=True)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.clients.lab", description=__doc__)
    parser.add_argument(
        "--programs", type=Path, default=ROOT / ".cache/clients", help="where the clients are installed"
    )
    parser.add_argument("--newest", action="store_true", help="install the newest versions instead of the pinned ones")
    parser.add_argument("--client", action="append", choices=CLIENTS, help="only this client; may be repeated")
    parser.add_argument("--play", action="append", choices=PLAYS, help="only this play; may be repeated")
    parser.add_argument("--keep", action="store_true", help="keep homes, projects and logs")
    parser.add_argument("--page", type=Path, help="page whose tables are replaced")
    chosen = parser.parse_args()
    programs = chosen.programs.resolve()
    if MARK not in os.environ:
        install(programs, newest=chosen.newest)
    isolate("tests.clients.lab")
    with lab_run(programs, keep=chosen.keep) as run:
        results = play_all(run, chosen.client or list(CLIENTS), chosen.play or list(PLAYS))
    tables = {"matrix": matrix(results), "tokens": sizes(results)}
    print("\n\n".join(["", *tables.values()]))
    if chosen.page:
        write_tables(chosen.page, tables)
    sys.exit(0 if all(check.is_passed for checks in results.values() for check in checks.values()) else 1)


if __name__ == "__main__":
    main()

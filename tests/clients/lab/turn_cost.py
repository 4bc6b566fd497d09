"""Cost of hooks: seconds of a Claude Code turn with ten file writes, with the hooks of Telex and without them.

`python -m tests.clients.lab.turn_cost` plays the same turn in both configurations, alternating, and prints the medians
of the time from the first request of the model to the last, and of the CPU time of the client with all its processes.
"""

import argparse
import resource
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tests.clients.lab.isolation import isolate
from tests.clients.lab.model import say
from tests.clients.lab.plays import CONTRACT
from tests.clients.lab.report import rows, write_tables
from tests.clients.lab.run import LabRun, lab_run
from tests.clients.lab.wire import ModelReply

ROOT = Path(__file__).parents[3]
WRITES = 10


class TurnCost(NamedTuple):
    seconds: float
    cpu_seconds: float


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def play_turn(run: LabRun, number: int, *arguments: str) -> TurnCost:
    room = run.room("claude", f"cost-{number}{''.join(arguments)}")
    room.connect(*arguments)
    room.telex("send", "--as", "lead", "--to", room.agent, str(CONTRACT))
    paths = [str(room.lab.project / f"src/auth/file{index}.py") for index in range(WRITES)]
    writes = [ModelReply(calls=(room.client.write(path, "x = 1\n"),)) for path in paths]
    room.session.script([*writes, say("Done.")])
    before = cpu_seconds()
    done = room.headless("go")
    missing = [path for path in paths if not Path(path).exists()]
    if done.code != 0 or missing:
        raise RuntimeError(f"exit {done.code}, {len(missing)} files missing\n{done.output}")
    requests = room.session.requests
    return TurnCost(requests[WRITES].at - requests[0].at, cpu_seconds() - before)


def costs_table(costs: Mapping[str, list[TurnCost]]) -> str:
    cells = [["", "seconds, median", "best", "CPU seconds, median", "best"]]
    for name, turns in costs.items():
        figures = [(statistics.median(values), min(values)) for values in zip(*turns, strict=True)]
        cells.append([name, *(f"{figure:.2f}" for pair in figures for figure in pair)])
    return rows(cells)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.clients.lab.turn_cost", description=__doc__)
    parser.add_argument(
        "--programs", type=Path, default=ROOT / ".cache/clients", help="where the clients are installed"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--page", type=Path, help="page whose table is replaced")
    chosen = parser.parse_args()
    isolate("tests.clients.lab.turn_cost")
    costs: dict[str, list[TurnCost]] = {"with hooks": [], "without hooks": []}
    with lab_run(chosen.programs.resolve()) as run:
        for number in range(chosen.rounds):
            costs["without hooks"].append(play_turn(run, number, "--no-hooks"))
            costs["with hooks"].append(play_turn(run, number))
    table = costs_table(costs)
    print(table)
    if chosen.page:
        write_tables(chosen.page, {"hooks": table})


if __name__ == "__main__":
    main()

"""`make bench`: measure, print, and write docs/benchmarks.md. Exit 1 when a promise does not hold."""

import os
import platform
import sys
from importlib.metadata import version
from pathlib import Path

from bench import cold, in_process, many
from bench.measure import Line

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
ROOMS = {"in process": in_process, "cold start": cold, "many messages": many}
_INTRO = """# Benchmarks

Written by `make bench`. Every row is a ratio taken in interleaved rounds of one run, as the median of the rounds, so
it says how Telex compares and not how fast this machine is. The messages are every type of the dialect, thirty times
over with other words in them, written as Python's `json` writes them; all pass, with duplicate keys looked for and
rules and roles included. Peers are given the same fields, rules and senders.
"""


def main() -> int:
    lines: list[Line] = []
    for name, room in ROOMS.items():
        print(f"{name} …", flush=True)
        for line in room.lines():
            cost = f"{line.ours}, " if line.ours else ""
            print(f"  {line.what}: {cost}{line.ratio:.2f} × {line.against} ({line.promise})", flush=True)
            lines.append(line)
    PAGE.write_text(_page(lines), encoding="utf-8")
    short = [line for line in lines if not line.holds]
    for line in short:
        print(f"SHORT: {line.what}: {line.ratio:.2f} × {line.against}; promised {line.promise}")
    print(f"written to {PAGE.relative_to(Path.cwd()) if PAGE.is_relative_to(Path.cwd()) else PAGE.name}")
    return 1 if short else 0


def _page(lines: list[Line]) -> str:
    rows = []
    for line in lines:
        cells = (
            line.what,
            line.ours or "–",
            line.against,
            f"{line.ratio:.2f}",
            line.promise,
            "yes" if line.holds else "**no**",
        )
        rows.append(f"| {' | '.join(cells)} |")
    head = ["| what | Telex | against | ratio | promise | holds |", "|---|---|---|---|---|---|"]
    packages = ", ".join(f"{name} {version(name)}" for name in ("msgspec", "pydantic", "PyYAML"))
    where = f"CPython {platform.python_version()} on {os.cpu_count()} cores ({platform.machine()}); {packages}."
    return "\n".join([_INTRO, where, "", *head, *rows, ""])


if __name__ == "__main__":
    sys.exit(main())

"""Check of a file with a hundred thousand messages: rate and memory."""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.measure import Line
from bench.samples import messages
from telex.dialects.builtin.build_flow import BUILD_FLOW
from telex.dialects.builtin.vbw_typed import VBW_TYPED
from telex.validation.compiled import FastValidator

LINES = 100_000
ROUNDS = 3
_PEAK = """import re, sys
from telex.surfaces.cli.main import main
main(sys.argv[1:])
print("peak", re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1], file=sys.stderr)"""


def lines() -> list[Line]:
    with tempfile.TemporaryDirectory() as folder:
        raws = messages(VBW_TYPED) + messages(BUILD_FLOW)
        large, small = Path(folder, "large.jsonl"), Path(folder, "small.jsonl")
        large.write_bytes(b"".join(raws[index % len(raws)] + b"\n" for index in range(LINES)))
        small.write_bytes(b"".join(raws[index % len(raws)] + b"\n" for index in range(LINES // 10)))
        ratios, rates = [], []
        for _ in range(ROUNDS):
            inside, outside = _in_process(large), _on_the_command_line(large)
            ratios.append(outside / inside)
            rates.append(outside)
        grown = _peak(large) / _peak(small)
    part, rate = sorted(ratios)[ROUNDS // 2], sorted(rates)[ROUNDS // 2]
    what, ours = f"telex check on a JSONL of {LINES:,} lines", f"{rate:,.0f} messages/s"
    return [
        Line(what, ours, "the same checks in process", part, "at least a third of the rate", part >= 1 / 3),
        Line(
            "its peak memory",
            "",
            f"a file of {LINES // 10:,} lines",
            grown,
            "does not grow (at most 1.1 ×)",
            grown <= 1.1,
        ),
    ]


def _in_process(file: Path) -> float:
    passes = FastValidator().passes
    raws = file.read_bytes().splitlines()
    start = time.perf_counter()
    for raw in raws:
        assert passes(raw) is not None
    return len(raws) / (time.perf_counter() - start)


def _on_the_command_line(file: Path) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "telex", "check", str(file)], capture_output=True, check=True)
    return LINES / (time.perf_counter() - start)


def _peak(file: Path) -> float:
    done = subprocess.run([sys.executable, "-c", _PEAK, "check", str(file)], capture_output=True, check=False)
    return float(done.stderr.decode().rsplit("peak", 1)[1])

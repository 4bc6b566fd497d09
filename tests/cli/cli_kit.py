"""What the tests of the command line share: a way to run it in this process, as a process, and on a terminal."""

import fcntl
import json
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from telex.dialects.registry import by_name
from telex.surfaces.cli.main import main

SAMPLES = Path(__file__).parents[2] / "samples"
COMMAND = [sys.executable, "-m", "telex"]


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def answer(self) -> Any:
        return json.loads(self.out)

    @property
    def answers(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]


Run = Callable[..., Ran]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """`run("check", file)` in this process and folder."""
    return lambda *args: Ran(main(list(args)), *capsys.readouterr())


def process(*args: str, stdin: bytes = b"", joined: bool = False, **environment: str) -> Ran:
    """Run `telex` as others run it: its own process, its streams going through pipes, or `joined` in one as a coding
    tool has them."""
    err = subprocess.STDOUT if joined else subprocess.PIPE
    whole = os.environ | environment
    ran = subprocess.run(
        [*COMMAND, *args], input=stdin, stdout=subprocess.PIPE, stderr=err, env=whole, timeout=60, check=False
    )
    return Ran(ran.returncode, ran.stdout.decode(), (ran.stderr or b"").decode())


def terminal(*args: str, columns: int = 80, **environment: str) -> Ran:
    """Run `telex` on a terminal; what a person sees, in the order in which they see it, is in `out`."""
    return on_terminal([*COMMAND, *args], columns=columns, **environment)


def on_terminal(command: list[str], columns: int = 80, **environment: str) -> Ran:
    """The same for any command."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    whole = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR")}
    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=whole | {"TERM": "xterm"} | environment
    ) as running:
        os.close(theirs)
        seen = b""
        while part := _read(ours):
            seen += part
    os.close(ours)
    return Ran(running.returncode, seen.decode().replace("\r\n", "\n"), "")


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65_536)
    except OSError:  # Linux says so when the other side is closed
        return b""


def example(dialect: str, type_: str, **changes: object) -> dict[str, Any]:
    """A good message, with some of its top fields changed."""
    found = by_name(dialect)
    assert found is not None
    whole: dict[str, Any] = json.loads(json.dumps(found.types[type_].example))
    return whole | changes


UPDATE = example("vbw-typed", "execution_update")
PROGRESS = example("vbw-handoff", "dev_progress")
WRONG_CASE = example("vbw-handoff", "dev_progress", status="COMPLETE")
LACKING = {key: value for key, value in PROGRESS.items() if key != "plan_id"}


def put(folder: Path, name: str, *messages: object) -> str:
    """Write messages to a file, one to a line, and return its path."""
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(_text(message) + "\n" for message in messages), encoding="utf-8")
    return str(file)


def _text(message: object) -> str:
    return message if isinstance(message, str) else json.dumps(message)

"""Helpers for tests of `telex replay`: a log of any lines, messages to put into it, and their results."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from telex.dialects.schema import Tree
from telex.model.message import Event, StoredMessage
from telex.replay.reader import Line, LogEntry, of_store
from telex.replay.simulate import SimulatedResult, Simulator
from telex.surfaces.cli.main import main
from tests.bus.bus_team import flow, speech_of
from tests.cli.cli_kit import Ran

Replay = Callable[..., Ran]


@pytest.fixture
def replay(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Replay:
    """`replay(lines, "--strict")`: what is said to a log of these lines."""
    monkeypatch.chdir(tmp_path)

    def run(lines: list[Any], *args: str) -> Ran:
        log = tmp_path / "log.jsonl"
        log.write_bytes(b"".join(map(line_of, lines)))
        return Ran(main(["replay", str(log), *args]), *capsys.readouterr())

    return run


def simulated(simulator: Simulator, lines: Iterable[Line]) -> list[SimulatedResult]:
    """The result of each message in these lines."""
    results = []
    for line in lines:
        if isinstance(line, Event):
            simulator.apply(line)
        elif isinstance(line, LogEntry):
            results.append(simulator.send(line))
    return results


def simulated_events(
    simulator: Simulator, events: Iterable[tuple[Event, StoredMessage | None]]
) -> list[SimulatedResult]:
    return simulated(simulator, [of_store(*event) for event in events])


def line_of(one: Any) -> bytes:
    return (one if isinstance(one, bytes) else json.dumps(one).encode()) + b"\n"


def flowing(*args: Any) -> Tree:
    tree: Tree = json.loads(flow(*args))
    return tree


def typed(type_: str, id: str, payload: Tree | None = None, **changes: Any) -> Tree:
    """A vbw-typed message with some of its payload changed."""
    tree = speech_of("vbw-typed", type_, id, **changes).tree
    return tree | {"payload": tree["payload"] | (payload or {})}


def hasty(id: str = "hasty") -> Tree:
    """A verdict by somebody who may not give one."""
    return typed("qa_verdict", id, author_role="dev")

"""What the tests of `telex replay` share: a log of whatever lines, and messages to put into it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from telex.dialects.schema import Tree
from telex.surfaces.cli.main import main
from tests.bus_team import flow, speech_of
from tests.cli_kit import Ran

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

"""What the tests of the bus's commands share: a folder of their own to stand in, and a way to run `telex` there."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from telex.surfaces.cli.main import main
from tests.cli.cli_kit import Ran, example, put

BLOCKER = example("vbw-handoff", "dev_blocker")
PROGRESS = example("vbw-handoff", "dev_progress")
Telex = Callable[..., Ran]


@pytest.fixture
def telex(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Telex:
    """`telex("inbox", "--as", "lead")`, in a fresh folder with no store in it."""
    monkeypatch.chdir(tmp_path)
    for name in ("TELEX_STORE", "TELEX_CONFIG", "TELEX_AGENT", "TELEX_TOKEN"):
        monkeypatch.delenv(name, raising=False)

    def run(*args: str) -> Ran:
        code = main(list(args))
        return Ran(code, *capsys.readouterr())

    return run


def send(telex: Telex, message: Any, *options: str) -> Ran:
    """Send a message from dev to lead."""
    return telex("send", "--as", "dev", "--to", "lead", *options, put(Path.cwd(), "message.json", message))


def sent(telex: Telex, message: Any = BLOCKER, *options: str, sender: str = "dev", to: str = "lead") -> str:
    """Send a message, which must be kept, and return its id."""
    put(Path.cwd(), "message.json", message)
    ran = telex("send", "--as", sender, "--to", to, "--json", *options, "message.json")
    assert ran.code == 0, ran
    id_: str = ran.answer["id"]
    return id_


def taken(telex: Telex, agent: str = "lead", *options: str) -> dict[str, Any]:
    """Receive one message, which must be there."""
    ran = telex("receive", "--as", agent, "--json", *options)
    assert ran.code == 0, ran
    answer: dict[str, Any] = json.loads(ran.out)
    return answer

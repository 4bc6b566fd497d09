"""Do the commands that need no bus know the dialects that the nearest telex.toml declares, as `telex send` does?"""

import os
import shutil
from pathlib import Path

import pytest

from tests.cli.cli_bus_kit import Telex, telex
from tests.cli.cli_kit import PROGRESS, put
from tests.proofs import proves

__all__ = ["telex"]

ROOT = Path(__file__).parents[2]
READY = (ROOT / "docs/examples/release-ready.json").read_text(encoding="utf-8")
HASTY = (ROOT / "docs/examples/release-hasty.json").read_text(encoding="utf-8")
OWN = '[team]\ndialects = ["release-train.toml"]\n'


@pytest.fixture
def train(telex: Telex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Telex:
    """`telex` in a folder below that of a team with a dialect of its own."""
    shutil.copy(ROOT / "docs/examples/release-train.toml", tmp_path)
    put(tmp_path, "telex.toml", OWN)
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path / "src")
    return telex


@proves("common/offline-as-the-bus")
def test_a_message_is_checked_and_fixed_as_the_bus_of_that_team_would(train: Telex) -> None:
    put(Path.cwd(), "ready.json", READY)
    put(Path.cwd(), "hasty.json", HASTY)
    put(Path.cwd(), "many.jsonl", *[READY.replace("\n", "")] * 300)
    assert train("check", "ready.json").out == "accepted  release-train release_ready\n"
    assert "go-with-failures" in train("check", "hasty.json").err
    assert train("check", "many.jsonl", "-q").code == 0
    assert train("check", "--dialect", "release-train", "ready.json").code == 0
    assert train("fix", "--json", "ready.json").answer["dialect"] == "release-train"
    assert train("send", "--as", "builder", "--to", "captain", "ready.json").code == 0


@proves("common/offline-as-the-bus")
@pytest.mark.parametrize(
    "args, says",
    [
        (["new", "release_answer", "component=mail"], '"type": "release_answer"'),
        (["prompt", "--role", "builder"], "release_ready → captain"),
        (["dialects"], "release-train"),
        (["dialects", "release-train"], "train_left"),
        (["dialects", "--page"], "release-train"),
        (["dialects", "--matrix", "--json"], "release_ready"),
        (["schema", "release_ready"], "urn:telex:release-train:1.0:release_ready"),
        (["schema", "--dialect", "release-train", "--format", "typescript"], "release_ready"),
        (["explain", "go-with-failures"], "A rule of release-train 1.0"),
        (["explain", "--list"], "go-with-failures"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_every_command_about_dialects_knows_that_of_the_team(train: Telex, args: list[str], says: str) -> None:
    ran = train(*args)
    assert (ran.code, says in ran.out) == (0, True), ran


def test_messages_are_translated_from_and_into_the_dialect_of_the_team(train: Telex) -> None:
    put(Path.cwd(), "ready.json", READY)
    assert "release_ready" in train("translate", "--to", "plain", "ready.json").out
    kanban = (ROOT / "docs/examples/kanban.toml").read_text(encoding="utf-8")
    put(Path.cwd(), "kanban.toml", kanban)
    put(Path.cwd(), "telex.toml", '[team]\ndialects = ["kanban.toml"]\n')
    put(Path.cwd(), "progress.json", PROGRESS)
    assert train("translate", "--json", "--to", "kanban", "progress.json").answer["dialect"] == "kanban"


def test_the_rest_of_the_settings_counts_for_a_check_too(train: Telex) -> None:
    put(Path.cwd(), "hasty.json", HASTY)
    put(Path.cwd().parent, "telex.toml", OWN + "strict = false\n\n[limits]\nmessage_bytes_max = 1024\n")
    assert train("check", "hasty.json").code == 0
    put(Path.cwd(), "large.txt", "x" * 2000)
    assert "too-large" in train("check", "--lenient", "large.txt").err + train("check", "large.txt").out


@proves("common/settings-untrusted")
@pytest.mark.parametrize("args", [["check", "m.json"], ["new", "approval"], ["dialects"], ["explain", "not-one-of"]])
@pytest.mark.parametrize(
    "settings, says",
    [
        ("[team\n", "telex.toml:1"),
        ('[team]\ndialects = ["gone.toml"]\n', "gone.toml cannot be read"),
        ('[team]\ndialects = ["/dev/zero"]\n', "/dev/zero has more than"),
        ('[team]\ndialects = ["pipe"]\n', "pipe:1: name: is missing"),
        ("x = 1 #" + "x" * 5_000_000, "telex.toml: has more than"),
    ],
    ids=["no TOML", "no file", "a device", "a pipe", "huge"],
)
def test_settings_that_came_with_a_clone_are_refused_in_a_sentence(
    telex: Telex, args: list[str], settings: str, says: str
) -> None:
    os.mkfifo("pipe")
    put(Path.cwd(), "m.json", PROGRESS)
    put(Path.cwd(), "telex.toml", settings)
    ran = telex(*args)
    assert (ran.code, ran.out, says in ran.err) == (64, "", True), ran

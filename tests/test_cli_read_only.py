"""Does looking leave the world as it is? Where no store is, commands that are about what happened make none."""

from pathlib import Path

import pytest

from tests.cli_bus_kit import BLOCKER, Telex, sent, telex
from tests.cli_kit import put

__all__ = ["telex"]

LOOKING = [
    ["why", "x"],
    ["show", "x"],
    ["trace", "x"],
    ["search", "x"],
    ["log"],
    ["log", "--export", "-"],
    ["events"],
    ["team"],
    ["team", "leave", "x"],
    ["dead"],
    ["dead", "list"],
    ["dead", "retry", "x"],
    ["dead", "drop", "x", "--reason", "no"],
    ["doctor"],
    ["ack", "x", "--as", "lead"],
    ["nack", "x", "--as", "lead", "--reason", "no"],
    ["extend", "x", "--as", "lead"],
]


@pytest.mark.parametrize("args", LOOKING, ids=" ".join)
@pytest.mark.parametrize("place", [[], ["--store", "typo.db"], ["--store", "no/such/folder.db"]], ids=str)
def test_looking_makes_no_store(telex: Telex, tmp_path: Path, args: list[str], place: list[str]) -> None:
    path = place[1] if place else ".telex/telex.db"
    assert telex(*args, *place) == (3, "", f"telex: no store at {path}: the first telex send creates it\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "args",
    [["receive", "--as", "lead"], ["inbox", "--as", "lead"], ["team", "join", "ada", "--role", "dev"]],
    ids=" ".join,
)
def test_an_agent_may_come_before_its_first_message(telex: Telex, tmp_path: Path, args: list[str]) -> None:
    assert telex(*args).code == 0
    assert (tmp_path / ".telex/telex.db").exists()


def test_a_record_may_be_taken_in_where_nothing_was(telex: Telex, tmp_path: Path) -> None:
    sent(telex)
    telex("log", "--export", "out.jsonl")
    assert telex("log", "--import", "out.jsonl", "--store", "new.db").out == "1 of 1 messages imported\n"


def test_a_declared_team_is_shown_before_there_is_a_store(telex: Telex, tmp_path: Path) -> None:
    Path("telex.toml").write_text('[team]\nname = "crew"\n[team.members.ada]\nrole = "dev"\n')
    ran = telex("team")
    assert (ran.code, ran.err) == (0, "no store at .telex/telex.db: the first telex send creates it\n")
    assert ran.out.splitlines()[-1].split()[:4] == ["ada", "dev", "not", "seen"]
    assert [path.name for path in tmp_path.iterdir()] == ["telex.toml"]


def test_a_store_that_is_there_is_looked_at(telex: Telex, tmp_path: Path) -> None:
    put(tmp_path, "blocker.json", BLOCKER)
    telex("send", "--as", "dev", "--to", "lead", "--id", "b1", "--store", "sqlite:here.db", "blocker.json")
    assert telex("why", "b1", "--store", "sqlite:here.db").code == 0

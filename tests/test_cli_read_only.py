"""Does looking leave the world as it is? Where no store is, commands that are about what happened make none."""

from pathlib import Path

import pytest

from tests.cli_bus_kit import BLOCKER, Telex, sent, telex
from tests.cli_kit import put
from tests.proofs import proves

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
    ["approvals"],
    ["escalations"],
    ["contract"],
    ["task"],
    ["stall"],
    ["work"],
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
    "args, code",
    [(["receive", "--as", "lead"], 4), (["team", "join", "ada", "--role", "dev"], 0)],
    ids=["receive", "join"],
)
def test_an_agent_may_come_before_its_first_message(telex: Telex, tmp_path: Path, args: list[str], code: int) -> None:
    assert telex(*args).code == code
    assert (tmp_path / ".telex/telex.db").exists()


@proves("bus/looking/no-store")
def test_an_inbox_is_empty_where_there_is_no_store_and_none_is_made(telex: Telex, tmp_path: Path) -> None:
    looked = telex("inbox", "--as", "lead")
    say = "nothing waits for lead: no store at .telex/telex.db: the first telex send creates it\n"
    assert (looked, list(tmp_path.iterdir())) == ((0, "", say), [])


@proves("bus/looking/exit-code")
def test_the_inbox_of_an_agent_that_nobody_knows_is_empty_or_not_found_and_never_refused(telex: Telex) -> None:
    sent(telex)
    assert telex("inbox", "--as", "zed") == (0, "", "nothing waits for zed\n")
    assert telex("inbox", "--as", "laed") == (0, "", "nothing waits for laed; did you mean lead?\n")
    Path("telex.toml").write_text("[team.members.lead]\n")
    assert telex("inbox", "--as", "zed").code == 3


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

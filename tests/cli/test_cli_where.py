"""`telex where`: the same store, settings and identity as the next command uses, each with its source."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.cli_bus_kit import Telex, sent, telex
from tests.evidence.git_repository import Repository
from tests.proofs import proves

__all__ = ["telex"]


def where(telex: Telex, *options: str) -> dict[str, Any]:
    ran = telex("where", "--json", *options)
    assert ran.code == 0, ran
    answer: dict[str, Any] = ran.answer
    return answer


def store(telex: Telex, *options: str) -> tuple[str, str]:
    used = where(telex, *options)["store"]
    return used["value"], used["source"]


@proves("cli/where")
def test_the_source_of_a_store_follows_the_order_of_precedence(
    telex: Telex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = str(tmp_path / ".telex/telex.db")
    assert store(telex) == (usual, "this-folder")
    sent(telex)
    assert store(telex) == (usual, "nearest-store")
    Repository(tmp_path)
    assert store(telex) == (usual, "work-tree")
    (tmp_path / "telex.toml").write_text("")
    assert store(telex) == (usual, "beside-settings")
    (tmp_path / "telex.toml").write_text('[store]\npath = "own.db"\n')
    assert store(telex) == (str(tmp_path / "own.db"), "telex.toml")
    monkeypatch.setenv("TELEX_STORE", str(tmp_path / "named.db"))
    assert store(telex) == (str(tmp_path / "named.db"), "TELEX_STORE")
    assert store(telex, "--store", "given.db") == ("given.db", "option")


@proves("cli/where")
def test_a_linked_work_tree_uses_the_store_of_the_main_one(
    telex: Telex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = Repository(tmp_path / "main")
    repository.commit({"a.txt": "a"})
    repository.git("worktree", "add", "--quiet", str(tmp_path / "linked"))
    monkeypatch.chdir(tmp_path / "linked")
    assert store(telex) == (str(tmp_path / "main/.telex/telex.db"), "main-work-tree")


@proves("cli/where")
def test_agent_and_role_come_from_the_option_the_environment_and_the_roster(
    telex: Telex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert where(telex)["agent"]["source"] == "none"
    sent(telex, "all is well", "--role", "qa", sender="Ada")
    monkeypatch.setenv("TELEX_AGENT", "Ada")
    used = where(telex)
    assert (used["agent"]["value"], used["agent"]["source"]) == ("ada", "TELEX_AGENT")
    assert (used["role"]["value"], used["role"]["source"]) == ("qa", "member")
    used = where(telex, "--as", "lead")
    assert (used["agent"]["value"], used["agent"]["source"]) == ("lead", "option")
    (tmp_path / "telex.toml").write_text('[team.members.lead]\nrole = "lead"\n')
    used = where(telex, "--as", "lead")
    assert (used["role"]["value"], used["role"]["source"]) == ("lead", "telex.toml")
    assert (used["settings"]["value"], used["settings"]["source"]) == (str(tmp_path / "telex.toml"), "nearest-settings")


@proves("cli/where-creates-nothing")
def test_looking_creates_no_store_and_joins_nobody(telex: Telex, tmp_path: Path) -> None:
    for words in ((), ("--as", "dev"), ("--store", "other.db")):
        assert telex("where", *words).code == 0
    assert list(tmp_path.iterdir()) == []
    sent(telex)
    assert telex("where", "--as", "zoe").code == 0
    assert "zoe" not in [member["name"] for member in telex("team", "--json").answers]


def test_a_hub_that_does_not_answer_is_a_note_and_no_error(telex: Telex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TELEX_TOKEN", "telex_a_b")
    monkeypatch.setenv("TELEX_STORE", "http://hub.invalid")  # no token is sent over plain http
    used = where(telex)
    assert (used["store"]["value"], used["agent"]["value"]) == ("http://hub.invalid", None)
    assert "plain http" in used["agent"]["why"]

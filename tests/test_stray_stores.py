"""Stray stores of a repository: `telex doctor` lists and merges them."""

from pathlib import Path

import pytest

from tests.cli_bus_kit import Telex, sent, telex
from tests.git_repository import Repository
from tests.proofs import proves

__all__ = ["telex"]


@pytest.fixture
def strays(telex: Telex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Telex:
    """A repository with a linked work tree, its store, and two stores that were made in other folders of it before."""
    repository = Repository(tmp_path / "main")
    repository.commit({"src/a.py": ""})
    repository.git("worktree", "add", "--quiet", str(tmp_path / "linked"))
    monkeypatch.chdir(repository.folder)
    for place in ("src/.telex/telex.db", str(tmp_path / "linked/.telex/telex.db")):
        telex_of = ["--store", place]
        Path("note.txt").write_text(place)
        for id_ in ("waits", "done"):
            assert (
                telex("send", "--as", "ada", "--to", "lead", "--id", f"{id_}-{place[0]}", "note.txt", *telex_of).code
                == 0
            )
        assert telex("receive", "--as", "lead", "--json", *telex_of).answer["id"] == f"waits-{place[0]}"
        assert telex("receive", "--as", "lead", "--ack", *telex_of).code == 0
        assert telex("send", "--as", "dev", "--to", "nobody", "note.txt", *telex_of).code == 2
    sent(telex)
    return telex


@proves("bus/place/strays")
def test_stray_stores_of_the_repository_are_listed(strays: Telex, tmp_path: Path) -> None:
    found = [check["say"] for check in strays("doctor", "--json").answers if check["name"] == "stray store"]
    assert [say.partition(":")[0] for say in found] == ["src/.telex/telex.db", "../linked/.telex/telex.db"]
    assert all("3 messages, 1 waiting" in say for say in found)
    assert "telex doctor --merge src/.telex" in found[0]
    (tmp_path / "main/src/telex.toml").touch()  # now it is a project of its own
    assert [check["name"] for check in strays("doctor", "--json").answers].count("stray store") == 1


@proves("bus/place/merge")
def test_a_stray_store_is_merged_once_with_what_waits_in_it(strays: Telex, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    copy.write_bytes(Path("src/.telex/telex.db").read_bytes())
    merged = strays("doctor", "--merge", "src", "--json").answer
    assert (merged["messages"], merged["waiting"], merged["members"]) == (3, 1, ["ada"])
    assert (Path("src/.telex").exists(), Path("src/.telex-merged/telex.db").exists()) == (False, True)
    for path in (str(copy), "src/.telex-merged"):
        again = strays("doctor", "--merge", path, "--json").answer
        assert (again["messages"], again["waiting"]) == (0, 0)
    strays("ack", strays("receive", "--as", "lead", "--json").answer["token"], "--as", "lead")
    waits = strays("receive", "--as", "lead", "--json").answer
    assert (waits["id"], waits["from"], waits["message"]) == ("waits-s", "ada", "src/.telex/telex.db")
    assert strays("receive", "--as", "lead").code == 4
    assert strays("why", "done-s").code == 0
    assert strays("doctor").code == 0


def test_the_store_itself_and_what_is_none_are_not_merged(strays: Telex) -> None:
    assert strays("doctor", "--merge", ".").code == 64
    assert strays("doctor", "--merge", "nowhere").code == 3
    assert strays("doctor", "--merge", "note.txt").code == 1

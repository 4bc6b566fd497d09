"""Where may a log be that is replayed? At a hub, in a folder, in a file."""

from pathlib import Path

import pytest

import telex
from telex.surfaces.cli.main import main
from tests.cli_kit import Ran
from tests.proofs import proves
from tests.surfaces_kit import Hub, hub

__all__ = ["hub"]


def replayed(capsys: pytest.CaptureFixture[str], *args: str) -> Ran:
    return Ran(main(["replay", *args]), *capsys.readouterr())


@proves("replay/where")
def test_a_hub_is_replayed_by_its_address(hub: Hub, capsys: pytest.CaptureFixture[str]) -> None:
    with telex.connect(hub.url) as bus:
        bus.send("The build is red.", sender="dev", to="lead")
    [total] = replayed(capsys, hub.url, "--json").answers
    assert total["messages"] == 1
    assert replayed(capsys, "--store", hub.url, "--json").answers == [total]


@proves("replay/where")
def test_an_address_that_is_no_hubs_is_told_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    ran = replayed(capsys, "ftp://somewhere/log")
    assert (ran.code, "no such file" in ran.err, "http://" in ran.err) == (1, False, True)


@proves("replay/where")
@pytest.mark.parametrize("folder", ["project", "project/.telex", "."])
def test_a_folder_stands_for_the_store_in_it(
    folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with telex.connect(tmp_path / "project" / ".telex" / "telex.db") as bus:
        bus.send("The build is red.", sender="dev", to="lead")
    monkeypatch.chdir(tmp_path / "project" if folder == "." else tmp_path)
    [total] = replayed(capsys, folder, "--json").answers
    assert total["messages"] == 1


@proves("replay/where")
def test_of_a_folder_without_a_store_it_is_said_what_was_looked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with telex.connect(tmp_path / ".telex" / "telex.db") as bus:  # above it, and not the one that was named
        bus.send("The build is red.", sender="dev", to="lead")
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.chdir(tmp_path)
    ran = replayed(capsys, "empty")
    assert ran.code == 3
    assert all(place in ran.err for place in ("no store in empty", "empty/telex.db", "empty/.telex/telex.db"))
    assert list(empty.iterdir()) == []

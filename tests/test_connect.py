"""Which store does `telex.connect()` open, standing where it stands?"""

import asyncio
from pathlib import Path

import pytest

import telex
from telex.errors import StoreUnavailable
from tests.proofs import proves

STORE = ".telex/telex.db"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with folders in it, in the lowest of which we stand."""
    for name in ("TELEX_STORE", "TELEX_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "src/deep").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "src/deep")
    return tmp_path


def send(where: str | Path | None = None) -> str:
    with telex.connect(where) as bus:
        return bus.send("all is well\n", sender="dev", to="lead").id


def waiting(where: str | Path | None = None) -> list[str]:
    with telex.connect(where) as bus:
        return [message.id for _, message in bus.inbox("lead")]


def stores(project: Path) -> list[str]:
    return sorted(path.relative_to(project).as_posix() for path in project.rglob("telex.db"))


def test_the_first_use_makes_a_store_where_one_stands(project: Path) -> None:
    id_ = send()
    assert stores(project) == [f"src/deep/{STORE}"]
    assert waiting() == [id_]


@pytest.mark.parametrize("above", [".", "src", "src/deep"])
def test_the_nearest_store_upwards_is_found(project: Path, above: str) -> None:
    id_ = send(made(project / above / STORE))
    assert waiting() == [id_]
    assert stores(project) == [(Path(above) / STORE).as_posix()]


def made(path: Path) -> Path:
    path.parent.mkdir()
    return path


def test_of_two_stores_upwards_the_nearer_one_is_meant(project: Path) -> None:
    send(made(project / STORE))
    nearer = send(made(project / "src" / STORE))
    assert waiting() == [nearer]


def test_a_folder_that_waits_for_its_store_is_a_place_for_it(project: Path) -> None:
    (project / ".telex").mkdir()
    send()
    assert stores(project) == [STORE]


def test_a_new_store_is_made_beside_the_settings_of_the_team(project: Path) -> None:
    (project / "telex.toml").write_text("", encoding="utf-8")
    id_ = send()
    assert stores(project) == [STORE]
    assert waiting() == [id_]


def test_a_store_that_is_there_is_nearer_than_settings_are(project: Path) -> None:
    (project / "telex.toml").write_text("", encoding="utf-8")
    id_ = send(made(project / "src" / STORE))
    assert waiting() == [id_]
    assert stores(project) == [f"src/{STORE}"]


def test_the_environment_names_the_store_before_anything_is_looked_for(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(made(project / STORE))
    monkeypatch.setenv("TELEX_STORE", str(project / "other.db"))
    assert waiting() == []
    assert (project / "other.db").exists()


def test_with_an_event_loop_it_is_the_same_store(project: Path) -> None:
    id_ = send(made(project / STORE))

    async def look() -> list[str]:
        async with telex.connect() as bus:
            return [message.id for _, message in await bus.inbox("lead")]

    assert asyncio.run(look()) == [id_]


@pytest.mark.parametrize("where", ["src/own.db", "sqlite:src/own.db"])
def test_a_path_is_that_file(project: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    monkeypatch.chdir(project)
    id_ = send(where)
    assert (project / "src/own.db").exists()
    assert waiting(project / "src/own.db") == [id_]


def test_a_folder_means_the_store_in_it(project: Path) -> None:
    id_ = send(project)
    assert stores(project) == ["telex.db"]
    assert waiting(project / "telex.db") == [id_]


def test_memory_leaves_nothing_behind(project: Path) -> None:
    send("memory:")
    assert stores(project) == []
    assert waiting("memory:") == []


def test_a_place_of_a_kind_that_is_not_known_is_told_so(project: Path) -> None:
    with pytest.raises(StoreUnavailable, match="redis"), telex.connect("redis://localhost"):
        pass
    assert stores(project) == []


@proves("http_client/bad-address")
@pytest.mark.parametrize("hasty", ["localhost:4477", "127.0.0.1:4477/", "http:/127.0.0.1:4477", "HTTPS:hub"])
def test_an_address_that_was_nearly_a_hub_makes_no_store_of_that_name(project: Path, hasty: str) -> None:
    with pytest.raises(StoreUnavailable, match="http://HOST:PORT"), telex.connect(hasty):
        pass
    assert {path.name for path in project.rglob("*")} == {"src", "deep"}


def test_a_file_may_have_such_a_name_all_the_same(project: Path) -> None:
    id_ = send("sqlite:notes:2")
    assert waiting("notes:2") == [id_]  # now that it is there

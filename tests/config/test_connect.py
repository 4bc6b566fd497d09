"""Which store does `telex.connect()` open, standing where it stands?"""

import asyncio
from pathlib import Path

import pytest

import telex
import telex.testing
from telex.errors import StoreUnavailable
from tests.evidence.git_repository import Repository, git
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


# --- in a repository --------------------------------------------------------------------------------------------------


@pytest.fixture
def repository(project: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    """With a commit and a linked work tree beside it, in a folder of which we stand."""
    made = Repository(project / "main")
    made.commit({"src/deep/a.py": "", "src/package/b.py": ""})
    made.git("worktree", "add", "--quiet", str(project / "linked"))
    monkeypatch.chdir(project / "linked/src/deep")
    return made


@proves("bus/place/repository")
def test_in_a_folder_of_a_repository_the_store_is_at_its_top(
    project: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository.folder / "src/deep")
    id_ = send()
    assert stores(project) == [f"main/{STORE}"]
    send(made(repository.folder / "src" / STORE))  # one that was made there before
    assert waiting() == [id_]


@proves("bus/place/work-tree")
@pytest.mark.parametrize("spelling", ["absolute", "relative"])
def test_linked_work_trees_share_the_store_of_the_main_one(
    project: Path, repository: Repository, spelling: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if spelling == "relative":  # as newer versions of git write it
        (project / "linked/.git").write_text("gitdir: ../main/.git/worktrees/linked\n")
        (project / "main/.git/worktrees/linked/gitdir").write_text("../../../../linked/.git\n")
    id_ = send()
    assert stores(project) == [f"main/{STORE}"]
    monkeypatch.chdir(repository.folder / "src")
    assert waiting() == [id_]


@proves("bus/place/work-tree")
def test_work_trees_of_a_bare_repository_share_one_store(
    project: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.git("clone", "--quiet", "--bare", ".", str(project / "bare.git"))
    git(project / "bare.git", "worktree", "add", "--quiet", str(project / "one"))
    git(project / "bare.git", "worktree", "add", "--quiet", str(project / "two"))
    monkeypatch.chdir(project / "one")
    id_ = send()
    monkeypatch.chdir(project / "two/src")
    assert waiting() == [id_]
    assert stores(project) == [f"bare.git/{STORE}"]


@proves("bus/place/work-tree")
def test_a_folder_that_claims_to_be_a_work_tree_of_another_repository_is_not_believed(
    project: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "unpacked").mkdir()
    (project / "unpacked/.git").write_text(f"gitdir: {repository.folder}/.git/worktrees/linked\n")
    monkeypatch.chdir(project / "unpacked")
    send()
    assert stores(project) == [f"unpacked/{STORE}"]


@proves("bus/place/work-tree")
def test_a_link_in_the_main_work_tree_does_not_lead_the_store_of_a_linked_one_out_of_it(
    project: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "elsewhere").mkdir()
    (project / "main/module").symlink_to(project / "elsewhere")
    (project / "linked/module").mkdir()
    monkeypatch.chdir(project / "linked/module")
    for settings in ("", '[store]\npath = "own.db"\n'):
        (project / "linked/module/telex.toml").write_text(settings)
        send()
    assert list((project / "elsewhere").iterdir()) == []
    assert stores(project) == [f"main/{STORE}"]


@proves("bus/place/settings")
def test_a_folder_with_settings_is_a_project_of_its_own_in_every_work_tree(
    project: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "linked/src/package/telex.toml").touch()
    monkeypatch.chdir(project / "linked/src/package")
    send()
    (project / "linked/src/package/telex.toml").write_text('[store]\npath = "own.db"\n')
    send()
    assert stores(project) == [f"main/src/package/{STORE}"]
    assert (project / "main/src/package/own.db").exists()


@proves("bus/place/settings")
def test_settings_of_the_main_work_tree_hold_in_a_linked_one_that_has_none(
    project: Path, repository: Repository
) -> None:
    (repository.folder / "telex.toml").write_text("[team.members.lead]\n")
    with telex.connect() as bus:
        assert not bus.send("all is well\n", sender="dev", to="lead", check=False).accepted


@proves("bus/place/submodule")
def test_a_submodule_uses_the_store_of_the_repository_around_it(
    project: Path, repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    outer = Repository(project / "outer")
    outer.git("submodule", "--quiet", "add", str(repository.folder), "vendor/library")
    monkeypatch.chdir(outer.folder / "vendor/library/src")
    send()
    assert stores(project) == [f"outer/{STORE}"]


@proves("bus/place/ignored")
def test_git_does_not_see_the_store(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    send()
    assert (repository.git("status", "--porcelain"), (repository.folder / ".telex/.gitignore").read_text()) == (
        "",
        "*\n",
    )


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


@pytest.mark.parametrize("where", ["redis://localhost", "nats://localhost:4222", "postgresql://db/telex"])
def test_a_place_of_a_kind_that_is_not_known_is_told_so(project: Path, where: str) -> None:
    with pytest.raises(StoreUnavailable, match=where.partition(":")[0]), telex.connect(where):
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


@pytest.mark.parametrize("where", ["memory:", "telex.db"])
def test_a_fake_clock_tells_the_time_of_a_bus(project: Path, where: str) -> None:
    clock = telex.testing.FakeClock()
    with telex.connect(where, clock=clock) as bus:
        bus.send("all is well", sender="dev", to="lead", id="m1")
        [lease] = bus.receive("lead")
        assert lease.until == clock.now() + 60.0
        clock.leap(3600.0)
        assert [lease.attempt for lease in bus.receive("lead")] == [2]


def test_a_fake_clock_begins_no_earlier_than_the_last_event_of_the_store(project: Path) -> None:
    with telex.connect("telex.db", clock=telex.testing.FakeClock(2_000_000_000.0)) as bus:
        bus.send("all is well", sender="dev", to="lead")
    with telex.connect("telex.db", clock=(clock := telex.testing.FakeClock())):
        assert clock.now() == 2_000_000_000.0

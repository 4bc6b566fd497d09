"""What is guarded where repositories lie in each other? Submodules, work trees, and settings that hide them."""

import subprocess
from pathlib import Path

import pytest

from tests.bus_team import Shell, Team, open_team, shell, team
from tests.contract_team import contract, kept
from tests.git_repository import Repository, git
from tests.proofs import proves

__all__ = ["open_team", "shell", "team"]


@pytest.fixture
def submodule(team: Team, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """In a project of which only src/ may be touched: a submodule that has a folder src/ as well."""
    monkeypatch.delenv("TELEX_AGENT", raising=False)
    kept(team, contract())
    library = Repository(tmp_path_factory.mktemp("library"))
    library.commit({"src/a.py": "a\n"})
    project = Repository(team.path.parent)
    (project.folder / ".gitignore").write_text("team.db*\n.telex/\n")
    project.git("submodule", "--quiet", "add", str(library.folder), "vendor/library")
    project.commit()
    return project.folder / "vendor/library"


def changed(repository: Path, path: str = "src/a.py") -> None:
    (repository / path).write_text("changed\n")
    git(repository, "add", path)


@proves("guard/submodule")
def test_a_submodule_is_guarded_from_the_root_of_the_project(
    submodule: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(submodule)
    assert shell("guard", "src/a.py", "--as", "dev").code == 2
    changed(submodule)
    staged = shell("guard", "--staged", "--as", "dev")
    assert (staged.code, "vendor/library/src/a.py" in staged.err) == (2, True)
    monkeypatch.chdir(submodule.parent.parent)
    assert shell("guard", "--staged", "--as", "dev").code == 0  # nothing is staged in the project itself
    assert shell("guard", "vendor/library/src/a.py", "--as", "dev").code == 2


@proves("guard/submodule")
def test_the_hook_of_a_submodule_stops_its_commits(
    submodule: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(submodule)
    assert shell("guard", "--install", "--as", "dev").code == 0
    changed(submodule)
    with pytest.raises(subprocess.CalledProcessError) as stopped:
        git(submodule, "commit", "-m", "mine")
    assert "vendor/library/src/a.py" in stopped.value.stderr


@proves("guard/submodule")
@pytest.mark.parametrize("hidden", [False, True], ids=["shown", "hidden by settings"])
def test_another_commit_of_a_submodule_is_a_change_whatever_is_set(submodule: Path, shell: Shell, hidden: bool) -> None:
    project = submodule.parent.parent
    changed(submodule)
    git(submodule, "commit", "-m", "mine", "--no-verify")
    git(project, "add", "vendor/library")
    if hidden:
        git(project, "config", "diff.ignoreSubmodules", "all")
        git(project, "config", "submodule.vendor/library.ignore", "all")
    staged = shell("guard", "--staged", "--as", "dev")
    assert (staged.code, "vendor/library" in staged.err) == (2, True)


@proves("guard/submodule")
def test_a_work_tree_inside_the_project_is_guarded_from_its_own_root(
    submodule: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = submodule.parent.parent
    git(project, "worktree", "add", "--quiet", "trees/mine")
    monkeypatch.chdir(project / "trees/mine")
    assert shell("guard", "src/a.py", "--as", "dev").code == 0
    assert shell("guard", "docs/a.md", "--as", "dev").code == 2


@proves("guard/submodule")
@pytest.mark.parametrize("words", [b"", b"gitdir:", b"gitdir: \0", b"gitdir: \xff\n", b"nonsense " * 9_999])
def test_a_damaged_mark_of_a_submodule_is_no_reason_to_fail(
    team: Team, shell: Shell, words: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(team, contract())
    Repository(team.path.parent)
    (team.path.parent / "odd").mkdir()
    (team.path.parent / "odd/.git").write_bytes(words)
    monkeypatch.chdir(team.path.parent / "odd")
    assert shell("guard", "../docs/a.md", "--as", "dev").code == 2
    assert shell("guard", "--staged", "--as", "dev").code == 3  # git has a word to say

"""What does the guard make of what git says? Staged files, the hook before a commit, and reports that are not true."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.bus.bus_team import Shell, Team, open_team, shell, team
from tests.evidence.git_repository import Repository, git
from tests.proofs import proves
from tests.work.contract_team import contract, kept, report

__all__ = ["open_team", "shell", "team"]


class GuardedRepository:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.git("init", "-q")

    def git(self, *words: str, ok: bool = True, **environment: str) -> str:
        own = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        own |= {f"GIT_{who}_{what}": "a@b.c" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        done = subprocess.run(
            ["git", *words],
            cwd=self.root,
            env=os.environ | own | environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode == 0) is ok, done.stderr
        return done.stdout + done.stderr

    def write(self, *paths: str) -> None:
        for path in paths:
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text("new\n")

    def commit(self, *paths: str) -> None:
        self.write(*paths)
        self.git("add", *paths)
        self.git("commit", "-qm", "one", "--no-verify")


@pytest.fixture
def repository(team: Team, monkeypatch: pytest.MonkeyPatch) -> GuardedRepository:
    monkeypatch.delenv("TELEX_AGENT", raising=False)
    kept(team, contract())
    return GuardedRepository(team.path.parent)


@proves("guard/staged")
def test_what_is_staged_is_asked_about_renames_and_deletions_too(repository: GuardedRepository, shell: Shell) -> None:
    repository.commit("src/a.py", "lib/b.py", "lib/c.py")
    repository.write("src/new.py", "src/a\tb.py", "unstaged.py")
    repository.git("add", "src/new.py")
    assert shell("guard", "--staged", "--as", "dev").code == 0
    repository.git("mv", "lib/b.py", "src/b.py")
    repository.git("rm", "-q", "lib/c.py")
    repository.git("add", "src/a\tb.py")
    ran = shell("guard", "--staged", "--as", "dev")
    assert ran.code == 2
    refused = [line.split()[1] for line in ran.err.splitlines() if line.startswith("refused")]
    assert refused == ["lib/b.py", "lib/c.py", "src/a\\tb.py"]
    assert "2 of 5 staged" in ran.out


@proves("guard/staged-links")
def test_a_staged_link_is_judged_by_where_it_leads_and_a_staged_file_by_its_name(
    repository: GuardedRepository, shell: Shell, tmp_path: Path
) -> None:
    repository.commit("lib/b.py", "src/a.py")
    (repository.root / "src/inside").symlink_to("a.py")
    (repository.root / "src/elsewhere").symlink_to("../lib/b.py")
    (repository.root / "src/out").symlink_to("/etc/passwd")
    repository.git("add", "src")
    ran = shell("guard", "--staged", "--as", "dev")
    refused = [line.split()[1] for line in ran.err.splitlines() if line.startswith("refused")]
    assert (ran.code, refused) == (2, ["src/elsewhere", "src/out"])
    repository.git("rm", "-qf", "src/elsewhere", "src/out")
    repository.write("src/c.py")
    repository.git("add", "src/c.py")
    (repository.root / "src/c.py").unlink()
    (repository.root / "src/c.py").symlink_to("/etc/passwd")  # not staged: the commit writes the file
    assert shell("guard", "--staged", "--as", "dev").code == 0


def test_a_repository_without_a_commit_has_staged_files_too(repository: GuardedRepository, shell: Shell) -> None:
    repository.write("src/a.py", "b.py")
    repository.git("add", "src/a.py", "b.py")
    assert shell("guard", "--staged", "--as", "dev").code == 2


@proves("guard/hook")
def test_the_hook_stops_a_commit_that_no_contract_allows(repository: GuardedRepository, shell: Shell) -> None:
    assert shell("guard", "--install", "--as", "dev").code == 0
    repository.write("src/a.py", "b.py")
    repository.git("add", "src/a.py")
    repository.git("commit", "-qm", "one")
    repository.git("add", "b.py")
    assert "path-outside-contract" in repository.git("commit", "-qm", "two", ok=False)
    repository.git("commit", "-qm", "two", TELEX_AGENT="human")
    assert shell("guard", "--uninstall").code == 0
    assert not (repository.root / ".git/hooks/pre-commit").exists()


@proves("guard/hook-keeps-others")
def test_a_hook_that_was_there_runs_first_and_comes_back(repository: GuardedRepository, shell: Shell) -> None:
    hook = repository.root / ".git/hooks/pre-commit"
    before = f"#!{sys.executable}\nprint('first')\n"
    hook.write_text(before)
    hook.chmod(0o755)
    for _ in range(2):  # twice is as good as once
        assert shell("guard", "--install", "--as", "dev").code == 0
    repository.write("b.py")
    repository.git("add", "b.py")
    said = repository.git("commit", "-qm", "one", ok=False)
    assert said.index("first") < said.index("path-outside-contract")
    for _ in range(2):
        assert shell("guard", "--uninstall").code == 0
    assert hook.read_text() == before
    repository.git("commit", "-qm", "one")


@pytest.mark.parametrize("agent", ["a$(x)", 'a"; rm', "a`x`", "}x"])
def test_no_name_gets_the_better_of_the_hook(repository: GuardedRepository, shell: Shell, agent: str) -> None:
    assert shell("guard", "--install", "--as", agent).code == 64
    assert not (repository.root / ".git/hooks/pre-commit").exists()


def test_hooks_that_other_projects_use_are_left_alone(
    repository: GuardedRepository, shell: Shell, tmp_path: Path
) -> None:
    repository.git("config", "core.hooksPath", str(tmp_path.parent / "everybody"))
    assert shell("guard", "--install", "--as", "dev").code == 1
    assert not (tmp_path.parent / "everybody").exists()


def test_somebody_must_be_named_for_the_hook(repository: GuardedRepository, shell: Shell) -> None:
    assert shell("guard", "--install").code == 64


@proves("guard/diff")
def test_reports_are_compared_with_what_really_changed(team: Team, repository: GuardedRepository, shell: Shell) -> None:
    repository.commit("src/a.py")
    kept(team, report(files=["src/b.py", "./src//c.py"]))
    repository.commit("src/b.py", "src/c.py")
    assert shell("guard", "--diff", "HEAD~1", "--as", "dev").code == 0
    repository.commit("src/d.py")
    kept(team, report(files=["src/never.py"]))
    ran = shell("guard", "--diff", "HEAD~2", "--as", "dev")
    assert ran.code == 2
    assert [line.split()[:2] for line in ran.err.splitlines()] == [["missing", "src/d.py"], ["extra", "src/never.py"]]
    assert shell("guard", "--diff", "HEAD~2", "--as", "dev", "--json").out.count('"missing": ["src/d.py"]') == 1
    assert shell("guard", "--diff", "HEAD~2", "--as", "dev", "--plan", "Q").code == 2  # nothing reported there
    for base in ("nope", "--help", "--output=x"):
        assert shell("guard", f"--diff={base}", "--as", "dev").code == 3
    assert not (repository.root / "x").exists()


@pytest.mark.parametrize("options", [("--staged",), ("--diff", "HEAD")])
def test_where_there_is_no_repository_that_is_said(team: Team, shell: Shell, options: tuple[str, ...]) -> None:
    kept(team, contract())
    ran = shell("guard", *options, "--as", "dev")
    assert ran.code == 3
    assert "not a git repository" in ran.err


@proves("guard/project-in-repository")
def test_a_project_inside_a_repository_is_guarded_from_its_own_root(
    team: Team, repository: GuardedRepository, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = repository.root / "packages/mail"
    project.mkdir(parents=True)
    (project / "telex.toml").touch()
    monkeypatch.chdir(project)
    repository.write("packages/mail/src/a.py")
    repository.git("add", "packages/mail/src/a.py")
    assert shell("guard", "--staged", "--as", "dev").code == 0
    assert shell("guard", "--install", "--as", "dev").code == 0
    repository.git("commit", "-qam", "one")
    repository.write("packages/other/src/a.py")
    repository.git("add", "packages/other/src/a.py")
    assert "path-not-in-project" in repository.git("commit", "-qm", "two", ok=False)
    kept(team, report(files=["src/a.py"]))
    assert "../packages/other/src/a.py" in shell("guard", "--diff", "HEAD", "--as", "dev").err


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

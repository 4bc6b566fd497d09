"""Is git asked safely? Neither a message nor a repository may make it do anything but answer."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import telex.evidence
from telex.evidence import verify
from telex.ports.environment import EvidenceResult
from telex.testing import FakeClock
from tests.bus.bus_team import Team, open_team, speech_of, team
from tests.evidence.git_repository import Repository, git
from tests.evidence.test_evidence import NOWHERE, mark, never, report
from tests.proofs import proves

__all__ = ["open_team", "team"]


@pytest.fixture(autouse=True)
def git_is_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telex.evidence, "_paused_until", float("-inf"))


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "project")


def asked(repository: Repository, commit: str | None, *files: str) -> EvidenceResult | None:
    return verify(str(repository.folder), str(repository.folder), commit, files)


# --- a git that does not answer ---------------------------------------------------------------------------------------


def impostor(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Something else that is called git, first in the path. It notes each time that it is started."""
    bin_, calls = folder / "bin", folder / "calls"
    bin_.mkdir()
    (bin_ / "git").write_text(f"#!/bin/sh\necho \"$@\" >> '{calls}'\n{script}\n", encoding="utf-8")
    (bin_ / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin_}{os.pathsep}{os.environ['PATH']}")
    return calls


@proves("evidence/no-answer")
@pytest.mark.parametrize(
    "script", ["exit 128", "exec sleep 30", "kill -9 $$", "echo nonsense", "head -c 100000 /dev/urandom", "true"]
)
def test_a_git_that_is_not_well_makes_no_claim(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    commit = repository.commit({"a.py": "1"})
    monkeypatch.setattr(telex.evidence, "ANSWER_SECONDS", 0.2)
    calls = impostor(tmp_path, script, monkeypatch)
    assert asked(repository, commit, "a.py") is None
    assert calls.exists()


def test_a_git_that_hung_is_left_alone_for_a_while(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telex.evidence, "ANSWER_SECONDS", 0.05)
    clock = FakeClock()
    monkeypatch.setattr("telex.evidence.time.monotonic", clock.now)
    calls = impostor(tmp_path, "exec sleep 30", monkeypatch)
    for _ in range(5):
        assert asked(repository, NOWHERE) is None
    assert len(calls.read_text().splitlines()) == 1
    clock.leap(telex.evidence.PAUSE_SECONDS + 1)
    assert asked(repository, NOWHERE) is None
    assert len(calls.read_text().splitlines()) == 2


@proves("evidence/no-answer")
def test_without_git_nothing_is_claimed(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = repository.commit({"a.py": "1"})
    monkeypatch.setenv("PATH", "/nowhere")
    assert asked(repository, commit) is None


@proves("evidence/hostile-repository")
@pytest.mark.parametrize("entry", [".", "", "bin"])
def test_a_git_in_the_repository_is_not_run_by_a_relative_search_path(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    commit = repository.commit({"a.py": "1"})
    calls = impostor(repository.folder, "exit 128", monkeypatch)
    (repository.folder / "git").write_bytes((repository.folder / "bin/git").read_bytes())
    (repository.folder / "git").chmod(0o755)
    monkeypatch.chdir(repository.folder)
    others = os.environ["PATH"].partition(os.pathsep)[2]
    monkeypatch.setenv("PATH", f"{entry}{os.pathsep}{others}")
    assert asked(repository, commit) == EvidenceResult(commit)
    monkeypatch.setenv("PATH", entry)
    assert asked(repository, commit) is None
    assert not calls.exists()


@proves("evidence/no-answer")
def test_a_repository_of_somebody_else_is_left_alone(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = repository.commit({"a.py": "1"})
    assert asked(repository, commit) == EvidenceResult(commit)
    environment = {**telex.evidence._ENVIRONMENT, "GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"}
    monkeypatch.setattr(telex.evidence, "_ENVIRONMENT", environment)
    assert asked(repository, commit) is None
    assert asked(repository, None, "a.py") is None


@proves("evidence/no-answer")
def test_what_only_looks_like_a_repository_makes_no_claim(tmp_path: Path) -> None:
    around = Repository(tmp_path)
    commit = around.commit({"a.py": "1"})
    (tmp_path / "inner/.git").mkdir(parents=True)
    (tmp_path / "file").mkdir()
    (tmp_path / "file/.git").write_text("gitdir: /nowhere\n", encoding="utf-8")
    for inner in (tmp_path / "inner", tmp_path / "file"):
        assert verify(str(inner), str(inner), commit, ()) is None


# --- a history that is not whole --------------------------------------------------------------------------------------


@proves("evidence/partial-history")
def test_a_shallow_clone_contradicts_nobody(repository: Repository, tmp_path: Path) -> None:
    first = repository.commit({"a.py": "1", "b.py": "1"})
    last = repository.commit({"a.py": "2"})
    source = repository.folder.as_uri()
    git(tmp_path, "clone", "--quiet", "--depth=1", source, "shallow")
    shallow = tmp_path / "shallow"
    assert verify(str(shallow), str(shallow), first, ()) is None
    assert verify(str(shallow), str(shallow), last, ()) == EvidenceResult(last)
    # Without its parent everything in it would look changed, so that nothing is said of the files.
    assert verify(str(shallow), str(shallow), last, ("b.py",)) == EvidenceResult(last)


@proves("evidence/partial-history")
def test_a_partial_clone_contradicts_nobody_and_fetches_nothing(repository: Repository, tmp_path: Path) -> None:
    repository.commit({"a.py": "1", "b.py": "1"})
    last = repository.commit({"a.py": "2"})
    repository.git("config", "uploadpack.allowFilter", "true")
    repository.git("config", "uploadpack.allowAnySHA1InWant", "true")
    git(tmp_path, "clone", "--quiet", "--filter=tree:0", "--no-checkout", repository.folder.as_uri(), "partial")
    partial = tmp_path / "partial"
    before = sorted((partial / ".git/objects/pack").iterdir())
    assert verify(str(partial), str(partial), NOWHERE, ()) is None
    assert verify(str(partial), str(partial), last, ("a.py",)) in (None, EvidenceResult(last))
    assert sorted((partial / ".git/objects/pack").iterdir()) == before


def test_a_second_work_tree_is_a_repository_too(repository: Repository, tmp_path: Path) -> None:
    commit = repository.commit({"a.py": "1"})
    repository.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "second"))
    assert verify(str(tmp_path / "second"), str(tmp_path / "second"), commit, ("a.py",)) == EvidenceResult(commit)


# --- words that git might misunderstand -------------------------------------------------------------------------------


@proves("evidence/not-commands")
def test_no_path_is_an_option_a_pattern_or_a_revision(repository: Repository, tmp_path: Path) -> None:
    commit = repository.commit({"a.py": "1"})
    harmless = repository.folder / "harmless"
    for path in (
        f"--output={harmless}", "--stdin", "-O/etc/passwd", "--ext-diff", "--", "*", "*.py", "?.py", "[a].py", ":/",
        ":(glob)**", ":!b.py", ":(top)a.py", "HEAD", "a.py\n", "a.py\0b", "$(touch harmless)", "`touch harmless`",
        "; touch harmless", "a.py; touch harmless", "\\a.py", "a.py ", "A.PY", "ａ.py",
    ):  # fmt: skip
        assert asked(repository, commit, path) == EvidenceResult(commit, (path,)), path
        assert asked(repository, None, path) == EvidenceResult(None, (path,)), path
    assert not harmless.exists()
    assert not Path("harmless").exists()


@proves("evidence/not-commands")
def test_files_with_odd_names_are_known_by_them(repository: Repository) -> None:
    names = ("-n", "--output=x", "a b", "*", "new\nline", 'quo"te', "tab\t", "ünï", "$(x)", "back\\slash", ":(glob)x")
    for name in names:
        (repository.folder / name).write_text("1", encoding="utf-8")
    commit = repository.commit()
    assert asked(repository, commit, *names) == EvidenceResult(commit)
    assert asked(repository, None, *names) == EvidenceResult()


@proves("evidence/not-commands")
@pytest.mark.parametrize(
    "name", ["--help", "-x", "@{-1}", "HEAD@{1}", "main..side", "a1b2^{/x}", "a1b2\ncafe", "--batch"]
)
def test_no_commit_is_an_option_or_a_revision(
    team: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    Repository(tmp_path).commit({"a.py": "1"})
    bus = team.other()  # it looks for a repository when it is opened
    monkeypatch.setattr("telex.evidence.verify", never)
    assert mark(report(team, name, bus=bus)) is None


# --- a repository that means harm -------------------------------------------------------------------------------------


@proves("evidence/hostile-repository")
def test_a_hostile_repository_runs_nothing(repository: Repository, tmp_path: Path) -> None:
    first = repository.commit({"a.py": "1", "b.bin": "1"})
    (repository.folder / ".gitattributes").write_text("* diff=evil filter=evil\n", encoding="utf-8")
    last = repository.commit({"a.py": "2", "b.bin": "2"})
    program, traces = tmp_path / "evil.sh", tmp_path / "traces"
    program.write_text(f"#!/bin/sh\necho \"$0 $@\" >> '{traces}'\ncat\n", encoding="utf-8")
    program.chmod(0o755)
    for setting in (
        "core.fsmonitor", "core.pager", "core.editor", "core.sshCommand", "core.askPass", "core.alternateRefsCommand",
        "core.gitProxy", "diff.external", "diff.evil.command", "diff.evil.textconv", "filter.evil.clean",
        "filter.evil.smudge", "filter.evil.process", "gpg.program", "credential.helper", "interactive.diffFilter",
        "pager.cat-file", "pager.diff-tree", "pager.ls-files", "remote.evil.uploadpack", "alias.cat-file",
    ):  # fmt: skip
        repository.git("config", setting, f"!{program}" if setting.startswith("alias") else str(program))
    repository.git("config", "remote.evil.url", f"ext::{program}")
    repository.git("config", "remote.evil.promisor", "true")
    repository.git("config", "extensions.partialClone", "evil")
    repository.git("config", "protocol.ext.allow", "always")
    hooks = repository.folder / ".git/hooks"
    for hook in ("post-checkout", "pre-commit", "post-index-change", "fsmonitor-watchman", "reference-transaction"):
        (hooks / hook).write_bytes(program.read_bytes())
        (hooks / hook).chmod(0o755)
    traces.unlink(missing_ok=True)  # setting it up may have started some
    (repository.folder / "a.py").write_text("3", encoding="utf-8")
    (repository.folder / "b.bin").unlink()
    assert asked(repository, last, "a.py", "b.bin") == EvidenceResult(last)
    assert asked(repository, first, "a.py", ".gitattributes") == EvidenceResult(first, (".gitattributes",))
    assert asked(repository, NOWHERE) is None  # it says that it is partial
    assert asked(repository, None, "a.py", "b.bin", "c") == EvidenceResult(None, ("c",))
    assert not traces.exists(), traces.read_text()


@proves("evidence/environment")
def test_what_a_hook_has_set_does_not_change_the_answer(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = repository.commit({"a.py": "1"})
    other = Repository(tmp_path / "other")
    for name, value in {
        "GIT_DIR": other.folder / ".git",
        "GIT_WORK_TREE": other.folder,
        "GIT_INDEX_FILE": other.folder / ".git/index",
        "GIT_OBJECT_DIRECTORY": other.folder / ".git/objects",
        "GIT_NAMESPACE": "x",
        "GIT_CONFIG_PARAMETERS": "'core.bare'='true'",
        "GIT_TRACE": tmp_path / "trace",
        "GIT_EXTERNAL_DIFF": "false",
        "GIT_LITERAL_PATHSPECS": "0",
    }.items():
        monkeypatch.setenv(name, str(value))
    assert asked(repository, commit, "a.py") == EvidenceResult(commit)
    assert asked(repository, None, "a.py", "b.py") == EvidenceResult(None, ("b.py",))
    assert not (tmp_path / "trace").exists()


# --- how often, and when ----------------------------------------------------------------------------------------------


@proves("evidence/remembered")
def test_only_what_is_true_is_remembered(team: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = Repository(tmp_path)
    commit = here.commit({"a.py": "1"})
    looks: list[str | None] = []

    def counted(top: str, folder: str, name: str | None, files: tuple[str, ...]) -> EvidenceResult | None:
        looks.append(name)
        return verify(top, folder, name, files)

    monkeypatch.setattr("telex.evidence.verify", counted)
    bus = team.other()
    for number in range(3):
        assert mark(report(team, commit, "a.py", bus=bus, id=f"true-{number}")) == "verified"
        assert mark(report(team, NOWHERE, bus=bus, id=f"false-{number}")) == "contradicted"
    assert looks == [commit, NOWHERE, NOWHERE, NOWHERE]


@proves("evidence/not-before")
def test_nothing_of_git_is_imported_for_a_message_that_claims_nothing(tmp_path: Path) -> None:
    Repository(tmp_path).commit({"a.py": "1"})
    messages = [speech_of("vbw-typed", "blocker_report").raw.decode(), "plain words"]
    vague = speech_of("vbw-typed", "execution_update", id="vague").tree
    vague["payload"] |= {"commit": "", "status": "partial"}
    script = f"""
import sys, telex
with telex.connect("team.db") as bus:
    for text in {[*messages, json.dumps(vague)]!r}:
        assert bus.send(text, sender="dev", to="lead").accepted
print([name for name in ("subprocess", "shutil") if name in sys.modules])
"""
    ran = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"

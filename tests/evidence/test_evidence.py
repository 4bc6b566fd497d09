"""Does the repository at hand bear out what a report claims, and is everybody told?"""

import json
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import telex.evidence
from telex.client import SyncBus
from telex.connection import connect
from telex.model.finding import Finding
from telex.ports.bus import Receipt
from tests.bus.bus_team import QUICK, OpenTeam, Shell, Team, flow, open_team, shell, speech_of, team
from tests.evidence.git_repository import Repository
from tests.proofs import proves

__all__ = ["open_team", "shell", "team"]

NUMBERS = count()
NOWHERE = "feedfacefeedfacefeedfacefeedfacefeedface"


@pytest.fixture(autouse=True)
def git_is_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telex.evidence, "_paused_until", float("-inf"))


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """Around the team's store."""
    made = Repository(tmp_path)
    (tmp_path / ".gitignore").write_text("team.db*\n", encoding="utf-8")
    return made


def report(team: Team, commit: str, *files: str, bus: SyncBus | None = None, **more: Any) -> Receipt:
    tree = speech_of("vbw-typed", "execution_update").tree
    tree["id"] = more.pop("id", None) or f"u-{next(NUMBERS)}"
    tree["payload"] |= {"commit": commit, "status": "partial", "files_modified": list(files)} | more
    return (bus or team.bus).send(json.dumps(tree), sender="dev", to="lead", check=False)


def evidence(receipt: Receipt) -> list[Finding]:
    return [finding for finding in receipt.findings if finding.code.startswith("evidence-")]


def mark(receipt: Receipt) -> str | None:
    """What was said of the evidence, if anything; the message itself must have passed."""
    assert receipt.accepted, receipt.findings
    found = evidence(receipt)
    assert len(found) <= 1
    return found[0].code.removeprefix("evidence-") if found else None


# --- commits ----------------------------------------------------------------------------------------------------------


@proves("evidence/commit/verified")
def test_a_commit_that_is_there_is_verified_and_the_story_says_so(
    repository: Repository, team: Team, shell: Shell
) -> None:
    commit = repository.commit({"a.py": "1"})
    for name in (commit, commit[:7], commit[:4], commit.upper(), f" {commit}\n"):
        [finding] = evidence(report(team, name))
        assert (finding.code, finding.path, finding.found) == ("evidence-verified", "$.payload.commit", commit)
        assert finding.severity == "note"
    assert "evidence-verified at $.payload.commit" in shell("why", report(team, commit, id="last").id).out


@proves("evidence/commit/contradicted")
def test_a_commit_that_is_not_there_is_said_and_the_message_passes(
    repository: Repository, team: Team, shell: Shell
) -> None:
    repository.commit({"a.py": "1"})
    receipt = report(team, NOWHERE, id="u-1")
    [finding] = evidence(receipt)
    assert receipt.accepted
    assert (finding.code, finding.path, finding.severity) == ("evidence-contradicted", "$.payload.commit", "warning")
    assert finding.found == NOWHERE
    assert "evidence-contradicted at $.payload.commit" in shell("why", "u-1").out
    [detail] = team.happened("accepted")
    assert [one["code"] for one in detail["findings"]] == ["evidence-contradicted"]


@proves("evidence/commit/hash-only")
def test_what_is_no_hash_claims_nothing(repository: Repository, team: Team) -> None:
    commit = repository.commit({"a.py": "1"})
    repository.git("branch", "feed")
    repository.git("branch", "feedfac")
    repository.git("tag", "-a", "-m", "one", "facade")
    names = ("main", "HEAD", "feed", "feedfac", "facade", f"{commit}~1", f"{commit}^", "see the log", "abc", ":/reset")
    for name in names:
        assert mark(report(team, name)) is None, name


def test_a_hash_that_is_something_else_than_a_commit_is_contradicted(repository: Repository, team: Team) -> None:
    repository.commit({"a.py": "1"})
    assert mark(report(team, repository.git("rev-parse", "HEAD:a.py"))) == "contradicted"
    assert mark(report(team, repository.git("rev-parse", "HEAD^{tree}"))) == "contradicted"


# --- files ------------------------------------------------------------------------------------------------------------


@proves("evidence/files/verified", "evidence/files/contradicted")
def test_files_are_held_against_what_the_commit_changed(repository: Repository, team: Team) -> None:
    repository.commit({"a.py": "1", "src/b.py": "1", "src/c.py": "1"})
    commit = repository.commit({"a.py": "2", "src/b.py": "2"})
    assert mark(report(team, commit, "a.py", "./src/b.py", "src//b.py")) == "verified"
    [finding] = evidence(report(team, commit, "a.py", "src/c.py"))
    assert (finding.code, finding.path, finding.found) == (
        "evidence-contradicted", "$.payload.files_modified[1]", "src/c.py",
    )  # fmt: skip
    [finding] = evidence(report(team, commit, *(f"src/{number}.py" for number in range(500))))
    assert finding.path == "$.payload.files_modified"
    assert "src/0.py, src/1.py, src/2.py and 497 more" in finding.say


@proves("evidence/files/root-and-merge")
def test_a_commit_is_held_against_its_first_parent(repository: Repository, team: Team) -> None:
    root = repository.commit({"a.py": "1"})
    repository.git("checkout", "--quiet", "-b", "side")
    repository.commit({"side.py": "1"})
    repository.git("checkout", "--quiet", "main")
    repository.commit({"b.py": "1"})
    repository.git("merge", "--quiet", "--no-edit", "side")
    merge = repository.git("rev-parse", "HEAD")
    assert mark(report(team, root, "a.py", ".gitignore")) == "verified"
    assert mark(report(team, root, "b.py")) == "contradicted"
    assert mark(report(team, merge, "side.py")) == "verified"
    assert mark(report(team, merge, "b.py")) == "contradicted"


@proves("evidence/files/removed-and-renamed")
def test_what_was_removed_or_moved_was_changed(repository: Repository, team: Team) -> None:
    repository.commit({"a.py": "the same\n" * 20, "b.py": "1"})
    commit = repository.commit({"a.py": None, "b.py": None, "moved/a.py": "the same\n" * 20})
    assert mark(report(team, commit, "a.py", "b.py", "moved/a.py")) == "verified"


@proves("evidence/files/seen-from")
def test_a_file_is_seen_from_the_top_or_from_the_project(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "many")
    commit = repository.commit({"shop/src/a.py": "1", "other/b.py": "1", "café/c.py": "1"})
    with connect(repository.folder / "shop/.telex/telex.db", settings=QUICK) as bus:

        def told(*files: str) -> str | None:
            tree = speech_of("vbw-typed", "execution_update", id=f"u-{files}").tree
            tree["payload"] |= {"commit": commit, "files_modified": list(files)}
            return mark(bus.send(json.dumps(tree), sender="dev", to="lead"))

        assert told("src/a.py", "shop/src/a.py", "other/b.py", "../other/b.py") == "verified"
        assert told("src", "src/", "other") == "verified"
        assert told("cafe\u0301/c.py", "caf\u00e9/c.py") == "verified"
        for stranger in ("b.py", "other/src/a.py", "sr", "src/a", "../../shop/src/a.py", "/shop/src/a.py", "SRC/A.PY"):
            assert told(stranger) == "contradicted", stranger


# --- what is to be committed ------------------------------------------------------------------------------------------


def commit_request(team: Team, *files: str, **more: Any) -> Receipt:
    """As lenient as need be: whether it was approved is not what is asked here."""
    tree = json.loads(flow("COMMIT_REQUEST", f"c-{files!s:.80}", "fullstack-developer", "build-orchestrator"))
    tree["payload"]["files"] = list(files)
    return team.bus.send(json.dumps(tree), sender="fullstack-developer", to="build-orchestrator", **more)


@proves("evidence/commit-request/verified")
def test_files_that_are_there_or_were_removed_may_be_committed(repository: Repository, open_team: OpenTeam) -> None:
    team = open_team(strict=False)
    repository.write({"fresh.py": "1"})
    assert mark(commit_request(team, "fresh.py")) == "verified"  # before the first commit, too
    repository.commit({"a.py": "1", "src/b.py": "1", "src/c.py": "1"})
    repository.write({"new.py": "1", "a.py": None})
    repository.git("rm", "--quiet", "src/b.py")
    assert mark(commit_request(team, "new.py", "a.py", "src/b.py", "src/c.py", "src/")) == "verified"


@proves("evidence/commit-request/contradicted")
def test_files_that_nobody_knows_cannot_be_committed(repository: Repository, open_team: OpenTeam) -> None:
    team = open_team(strict=False)
    repository.commit({"a.py": "1"})
    [finding] = evidence(commit_request(team, "a.py", "b.py"))
    assert (finding.code, finding.path) == ("evidence-contradicted", "$.payload.files[1]")
    repository.write({"b.py": "1"})
    assert mark(commit_request(team, "a.py", "b.py", "./b.py")) == "verified"  # nothing was remembered


@proves("evidence/commit-request/linked")
def test_a_linked_work_tree_is_looked_at_by_the_agent_that_works_in_it(
    repository: Repository, open_team: OpenTeam, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit({"a.py": "1"})
    repository.git("worktree", "add", "--quiet", "trees/mine")
    repository.write({"trees/mine/new.py": "1"})
    monkeypatch.chdir(repository.folder / "trees/mine")
    assert mark(commit_request(open_team(strict=False), "new.py")) == "verified"
    monkeypatch.chdir(repository.folder)
    assert mark(commit_request(open_team(strict=False), "./new.py")) == "contradicted"


@proves("evidence/stays-inside")
def test_nothing_is_told_of_files_outside(repository: Repository, open_team: OpenTeam, tmp_path: Path) -> None:
    team = open_team(strict=False)
    outside = tmp_path.parent / "outside.txt"
    outside.write_text("secret", encoding="utf-8")
    (tmp_path / "out").symlink_to(tmp_path.parent)
    (tmp_path / "link").symlink_to(outside)
    repository.commit()
    assert mark(commit_request(team, "link", "out")) == "verified"  # the links are there, and can be committed
    for path in ("../outside.txt", str(outside), "out/outside.txt", "a/../../outside.txt", "link/x", "", "."):
        assert mark(commit_request(team, path)) == "contradicted", path


def never(*_: object) -> None:
    raise AssertionError("nobody asked for that")

"""What does a team do with evidence, and does it hold at every door and for every message?"""

import asyncio
import json
from pathlib import Path

import pytest

from telex.config import Settings
from telex.connection import connect
from telex.model.contracts import Plan
from telex.surfaces.cli.usage import DONE, REFUSED, USAGE
from tests.bus.bus_team import QUICK, OpenTeam, Shell, Team, open_team, shell, speech_of, team
from tests.evidence.git_repository import Repository
from tests.evidence.test_evidence import NOWHERE, evidence, git_is_well, mark, never, report, repository
from tests.proofs import proves

__all__ = ["git_is_well", "open_team", "repository", "shell", "team"]


@proves("evidence/refuse")
def test_a_team_may_have_them_refused(repository: Repository, open_team: OpenTeam) -> None:
    commit = repository.commit({"a.py": "1"})
    strict = open_team(evidence="refuse")
    refused = report(strict, NOWHERE)
    assert (refused.accepted, [one.code for one in evidence(refused)]) == (False, ["evidence-contradicted"])
    assert evidence(refused)[0].severity == "refusal"
    assert not report(strict, commit, "b.py").accepted
    assert mark(report(strict, commit, "a.py")) == "verified"
    assert strict.bus.inbox("lead")[0][1].type == "execution_update"
    lenient = open_team(evidence="refuse", strict=False)
    assert mark(report(lenient, NOWHERE)) == "contradicted"


@proves("evidence/off")
def test_a_team_may_not_want_to_know(
    repository: Repository, open_team: OpenTeam, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository.commit({"a.py": "1"})
    monkeypatch.setattr("telex.evidence.verify", never)
    assert mark(report(open_team(evidence="off"), NOWHERE)) is None


@proves("evidence/no-repository")
def test_without_a_repository_nothing_is_claimed(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("telex.evidence.verify", never)
    assert mark(report(team, NOWHERE, "a.py")) is None


@proves("evidence/every-dialect")
@pytest.mark.parametrize("dialect, sender, to", [("vbw-handoff", "dev", "lead"), ("vbw-company", "dev", "senior")])
def test_other_dialects_are_looked_up_alike(
    repository: Repository, open_team: OpenTeam, dialect: str, sender: str, to: str
) -> None:
    commit, team = repository.commit({"a.py": "1"}), open_team(dialect=dialect)
    for name, told in ((commit, "verified"), (NOWHERE, "contradicted")):
        tree = speech_of(dialect, "dev_progress").tree | {"commit": name}
        assert mark(team.bus.send(json.dumps(tree), sender=sender, to=to)) == told


@proves("evidence/every-message")
def test_a_pair_that_sends_much_is_looked_up_each_time(repository: Repository, team: Team) -> None:
    repository.commit({"a.py": "1"})
    tree = speech_of("vbw-typed", "execution_update").tree
    for number in range(20):
        tree["id"], tree["payload"]["commit"] = f"u-{number}", NOWHERE
        assert mark(team.bus.send(json.dumps(tree).encode(), sender="dev", to="lead")) == "contradicted", number


def test_a_bus_on_an_event_loop_is_told_the_same(repository: Repository, tmp_path: Path) -> None:
    commit = repository.commit({"a.py": "1"})

    async def told(settings: Settings) -> list[str | None]:
        async with connect(tmp_path / "loop.db", settings=settings) as bus:
            marks: list[str | None] = []
            for name in (commit, NOWHERE, commit):
                tree = speech_of("vbw-typed", "execution_update", id=f"u-{len(marks)}").tree
                tree["payload"] |= {"commit": name, "files_modified": ["a.py"]}
                marks.append(mark(await bus.send(json.dumps(tree), sender="dev", to="lead")))
            return marks

    assert asyncio.run(told(QUICK)) == ["verified", "contradicted", "verified"]


@proves("evidence/refuse")
def test_what_a_lenient_team_lets_pass_changes_nothing_in_the_book(repository: Repository, open_team: OpenTeam) -> None:
    commit, team = repository.commit({"a.py": "1"}), open_team(evidence="refuse", strict=False)
    contract = speech_of("vbw-typed", "plan_contract").tree
    contract["payload"] |= {"tasks": ["1-1-T1"], "allowed_paths": ["*"], "forbidden_paths": []}
    assert team.bus.send(json.dumps(contract), sender="lead", to="dev").accepted

    def plan() -> Plan:
        found: Plan = team.other().work_state("plan")["plan:1-1"]
        assert found == team.bus.work_state("plan")["plan:1-1"]
        return found

    assert mark(report(team, NOWHERE, "a.py", status="complete")) == "contradicted"
    assert not plan().done
    assert mark(report(team, commit, "a.py", status="complete")) == "verified"
    assert plan().is_complete


@proves("evidence/refuse", "evidence/off")
def test_telex_toml_says_what_the_team_wants(repository: Repository, team: Team, shell: Shell) -> None:
    repository.commit({"a.py": "1"})
    toml, message = team.path.parent / "telex.toml", team.path.parent / "update.json"
    for number, (wanted, code, word) in enumerate(
        [("refuse", REFUSED, "refusal"), ("mark", DONE, "warning"), ("off", DONE, None), ("maybe", USAGE, None)]
    ):
        toml.write_text(f'[team]\nevidence = "{wanted}"\n', encoding="utf-8")
        message.write_bytes(speech_of("vbw-typed", "execution_update", id=f"u-{number}").raw)
        ran = shell("send", "--as", "dev", "--to", "lead", str(message))
        assert ran.code == code, ran
        said = " ".join((ran.out + ran.err).split())
        assert (f"{word} evidence-contradicted" in said) is (word is not None), said
    assert "telex.toml:2: team.evidence" in ran.err

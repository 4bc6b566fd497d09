"""May this agent write this path now? Asked at the shell and at the bus, with a disk below it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from telex.config import load
from telex.dialects.builtin.vbw_typed import VBW_TYPED
from telex.errors import NotAMember, NotFound
from telex.model.contracts import ContractTerms, Grant, Plan, Revision
from telex.project import LinkResolver
from telex.surfaces.cli.main import main
from telex.validation.check import check
from telex.validation.contracts import ContractScope, judge, judge_all
from tests.bus.bus_team import OpenTeam, Shell, Team, open_team, shell, team
from tests.cli.cli_kit import Ran
from tests.cli.test_cli_process import HEAVY, LOADED
from tests.proofs import proves
from tests.validation.test_patterns import PATHS, PATTERNS
from tests.work.contract_team import answer, close, contract, granted, kept, report, send, told

__all__ = ["open_team", "shell", "team"]


@pytest.fixture(autouse=True)
def _nobody_in_particular(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TELEX_AGENT", raising=False)


def facts(ran: Ran) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ran.out.splitlines()]


# --- what it answers --------------------------------------------------------------------------------------------------


@proves("guard/answer")
def test_the_guard_says_whether_and_why_and_leaves_with_2_if_any_is_not_allowed(team: Team, shell: Shell) -> None:
    kept(team, contract())
    allowed = shell("guard", "src/a.py", "--as", "dev")
    assert (allowed.code, allowed.err) == (0, "")
    assert "plan P allows src/" in allowed.out
    refused = shell("guard", "src/a.py", "mail/a.py", ".env", "--as", "dev")
    assert refused.code == 2
    assert "mail/a.py" not in refused.out
    for words in ("path-outside-contract", "mail/a.py", "path-forbidden", "telex send --as dev --to lead"):
        assert words in refused.err


@proves("guard/json")
def test_a_program_gets_one_line_of_json_for_each_path(team: Team, shell: Shell) -> None:
    kept(team, contract())
    found = facts(shell("guard", "src/a.py", "b.py", "--as", "dev", "--json"))
    assert [(one["path"], one["allowed"], one["code"], one["plan"]) for one in found] == [
        ("src/a.py", True, None, "P"),
        ("b.py", False, "path-outside-contract", "P"),
    ]


@proves("guard/ask")
@pytest.mark.parametrize("path, kind", [("mail/a.py", "scope_change"), (".env", "gate_override")])
def test_the_request_it_offers_is_whole_and_once_approved_the_path_is_free(team: Team, path: str, kind: str) -> None:
    kept(team, contract(tasks=["T1"]))
    [verdict] = team.bus.guard([path], agent="dev")
    assert verdict.ask is not None
    assert verdict.ask_to == "lead"
    tree = dict(verdict.ask)
    checked = check(json.dumps(tree).encode(), as_role="dev", to_role="lead")
    assert (checked.findings, checked.dialect) == ((), VBW_TYPED)
    assert tree["payload"]["request_type"] == kind
    sent = team.bus.send(tree, sender="dev", to="lead")
    assert (sent.accepted, sent.findings) == (True, ())
    kept(team, answer(sent.id, tree["payload"]["options"]))
    [verdict] = team.bus.guard([path], agent="dev")
    assert (verdict.allowed, verdict.override) == (True, kind == "gate_override")


def test_one_request_asks_for_all_paths_of_a_matter(team: Team, shell: Shell) -> None:
    kept(team, contract())
    [ask] = facts(shell("guard", "a", "b", "src/c", "--as", "dev", "--ask"))
    assert ask["payload"]["options"] == ["./a", "./b"]


def test_who_may_not_ask_is_told_who_may(team: Team) -> None:
    kept(team, contract(), to="docs")
    [verdict] = team.bus.guard(["b.py"], agent="docs")
    assert verdict.ask is None
    assert "dev or lead" in verdict.reason


@proves("guard/conditions")
def test_conditions_are_shown_with_every_later_answer(team: Team, shell: Shell) -> None:
    kept(team, contract())
    granted(team, ["mail/"], conditions=["Tests first"])
    for path in ("mail/a.py", "src/a.py"):
        assert "Tests first" in shell("guard", path, "--as", "dev").err


# --- whom it speaks of ------------------------------------------------------------------------------------------------


@proves("guard/covers")
@pytest.mark.parametrize(
    "to, agent, covered",
    [
        ("ada", "ada", True),
        ("ada", "bob", False),
        ("role:dev", "ada", True),
        ("all:dev", "ada", True),
        ("all:dev", "eva", False),
        ("*", "eva", True),
        ("*", "lead", False),  # who sent it to everyone else
        ("dev", "ada", True),  # ada is a dev, and has none of her own
        ("dev", "eva", False),
    ],
)
def test_a_contract_covers_whomever_it_was_sent_to(open_team: OpenTeam, to: str, agent: str, covered: bool) -> None:
    team = open_team()
    for name, role in (("ada", "dev"), ("bob", "dev"), ("eva", "qa")):
        team.bus.join(name, role=role)
    kept(team, contract(), to=to)
    [verdict] = team.bus.guard(["b.py"], agent=agent)
    assert verdict.allowed is not covered
    assert verdict.plan == ("P" if covered else None)


def test_who_has_a_contract_of_its_own_is_not_under_that_of_its_role_s_name(team: Team) -> None:
    team.bus.join("ada", role="dev")
    kept(team, contract("P", allowed_paths=["src/"]), to="dev")
    kept(team, contract("Q", allowed_paths=["docs/"], tasks=["T9"]), to="ada")
    assert [one.allowed for one in team.bus.guard(["src/a", "docs/a"], agent="ada")] == [False, True]


@proves("guard/closed", "contracts/close")
def test_a_contract_holds_until_it_is_closed_whatever_is_reported(team: Team) -> None:
    kept(team, contract(tasks=["T1"]))
    kept(team, report(status="complete"))
    verdicts = team.bus.guard(["src/a.py", "b.py", ".env"], agent="dev")
    assert [one.code for one in verdicts] == [None, "path-outside-contract", "path-forbidden"]
    kept(team, close())
    [verdict] = team.bus.guard(["b.py"], agent="dev")
    assert (verdict.allowed, verdict.plan) == (True, None)
    assert not send(team, report(files=["b.py"])).accepted
    kept(team, contract(tasks=["T1"]))
    assert not team.bus.guard(["b.py"], agent="dev")[0].allowed


@proves("guard/plan")
def test_one_plan_may_be_named_and_must_be_there(team: Team, shell: Shell) -> None:
    kept(team, contract("P"))
    kept(team, contract("Q", allowed_paths=["docs/"], tasks=["T9"]))
    assert shell("guard", "docs/a", "--as", "dev").code == 0
    assert shell("guard", "docs/a", "--as", "dev", "--plan", "P").code == 2
    assert shell("guard", "docs/a", "--as", "dev", "--plan", "R").code == 3
    with pytest.raises(NotFound):
        team.bus.guard(["a"], agent="dev", plan="R")


@proves("guard/unknown-agent")
def test_a_name_that_nobody_knows_is_no_way_around(team: Team, shell: Shell) -> None:
    kept(team, contract())
    with pytest.raises(NotAMember):
        team.bus.guard(["b.py"], agent="ghost")
    with pytest.raises(NotAMember):
        team.bus.guard(["b.py"], agent="dev", role="lead")
    assert shell("guard", "b.py", "--as", "ghost").code == 2
    assert shell("guard", "b.py", "--as", "ghost", "--role", "dev").code == 2
    assert all(one.member.name != "ghost" for one in team.bus.roster())  # asking is not joining


# --- where it is asked ------------------------------------------------------------------------------------------------


@proves("guard/no-store")
def test_without_a_store_only_odd_paths_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["guard", "src/a.py", "--as", "dev"]) == 0
    assert "no store" in capsys.readouterr().err
    assert main(["guard", "../a.py", "--as", "dev"]) == 2
    assert main(["guard", "telex.toml", "--as", "dev"]) == 2
    assert main(["guard", "telex.toml", "--as", "human"]) == 0
    assert not (tmp_path / ".telex").exists()


@proves("guard/own-files")
def test_agents_do_not_write_the_files_of_the_bus_and_people_may(team: Team) -> None:
    own = [".telex/tokens.json", "telex.toml", "src/telex.toml"]
    kept(team, contract(allowed_paths=["**"], forbidden_paths=None))
    for agent in ("dev", "qa"):  # under a contract that allows everything, and under none
        assert {one.code for one in team.bus.guard(own, agent=agent)} == {"path-forbidden"}
        assert team.bus.guard(own[:1], agent=agent)[0].ask is None
    assert all(one.allowed for one in team.bus.guard([*own, "src/a.py"], agent="human"))
    assert told(send(team, report(files=own)).findings)


@proves("guard/links")
def test_links_are_followed(team: Team, shell: Shell) -> None:
    kept(team, contract())
    root = team.path.parent
    (root / ".git").mkdir()
    (root / "src" / "real").mkdir(parents=True)
    (root / "docs").mkdir()
    links = {"src/out": "/etc", "src/up": "../..", "src/env": "../.env", "src/git": "../.git", "src/in": "real"}
    links |= {"src/docs": "../docs", "src/loop": "loop", "src/gone": "/nowhere/at/all", "docs/src": "../src"}
    for name, target in links.items():
        os.symlink(target, root / name)
    wanted = {
        "src/out/passwd": "path-not-in-project",
        "src/out": "path-not-in-project",
        "src/up/x": "path-not-in-project",
        "src/gone": "path-not-in-project",
        "src/env": "path-forbidden",
        "src/git/config": "path-forbidden",
        "src/in/a.py": None,
        "src/docs/a.md": "path-outside-contract",
        "docs/src/a.py": "path-outside-contract",
        "src/loop": None,  # leads nowhere, and nothing can be written through it
        "src/real/new/deep/a.py": None,
    }
    found = facts(shell("guard", *wanted, "--as", "dev", "--json"))
    assert {one["path"]: one["code"] for one in found} == wanted


@proves("guard/folder")
def test_paths_begin_where_you_are(team: Team, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    kept(team, contract())
    root = team.path.parent
    (root / ".git").mkdir()
    (root / "src" / "auth").mkdir(parents=True)
    monkeypatch.chdir(root / "src" / "auth")
    found = facts(shell("guard", "a.py", "../b.py", "../../c.py", "../../../d.py", "--as", "dev", "--json"))
    assert [(one["path"], one["code"]) for one in found] == [
        ("a.py", None),
        ("../b.py", None),
        ("../../c.py", "path-outside-contract"),
        ("../../../d.py", "path-not-in-project"),
    ]


@proves("guard/folder")
def test_absolute_paths_inside_the_project_are_judged_like_others(
    team: Team, shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    kept(team, contract())
    root, link = team.path.parent, tmp_path_factory.mktemp("elsewhere") / "link"
    (root / ".git").mkdir()
    (root / "src").mkdir()
    link.symlink_to(root)
    monkeypatch.chdir(root / "src")
    paths = [f"{root}/src/a.py", f"{link}/src/new/a.py", f"{root}/c.py", f"{root}-2/src/a.py", f"{link}/src/../../a.py"]
    found = facts(shell("guard", *paths, "--as", "dev", "--json"))
    outside = "path-not-in-project"
    assert [one["code"] for one in found] == [None, None, "path-outside-contract", outside, outside]
    assert [one["path"] for one in found] == paths


def test_the_agent_may_stand_in_the_environment(team: Team, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    kept(team, contract())
    assert shell("guard", "b.py").code == 64
    monkeypatch.setenv("TELEX_AGENT", "dev")
    assert shell("guard", "b.py").code == 2


@pytest.mark.parametrize("words", [("--as", "dev"), ("a", "--staged", "--as", "dev"), ("--diff", "x", "--install")])
def test_what_makes_no_sense_is_said_so(shell: Shell, words: tuple[str, ...]) -> None:
    assert shell("guard", *words).code == 64


def test_nothing_hostile_reaches_the_terminal(team: Team, shell: Shell) -> None:
    kept(team, contract(allowed_paths=["\u202esrc/", "a"], objective="\x1b[31mred"))
    ran = shell("guard", "\x1b[31m", "x\u202ey", "--as", "dev")
    assert ran.code == 2
    assert not {"\x1b", "\u202e"} & set(ran.out + ran.err)


@proves("guard/light")
def test_a_cold_guard_imports_only_what_it_needs(team: Team) -> None:
    kept(team, contract())
    words = ["guard", "src/a.py", "b.py", "--as", "dev", "--store", str(team.path)]
    done = subprocess.run([sys.executable, "-c", LOADED, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    loaded = set(done.stderr.split())
    assert (
        loaded & (HEAVY | {"pathspec", "telex.bus.local", "telex.dialects.parse.reader", "telex.validation.rules"})
        == set()
    )


@proves("guard/light")
@pytest.mark.parametrize("members", ["", '[team.members.ada]\nrole = "dev"\n\n[team.members.lead]\nrole = "lead"\n'])
def test_a_cold_guard_knows_the_same_team_as_the_bus(
    team: Team, shell: Shell, monkeypatch: pytest.MonkeyPatch, members: str
) -> None:
    (team.path.parent / "telex.toml").write_text(members)
    settings = load(str(team.path.parent))._replace(durable=False)
    bus = team.other(settings)
    bus.join("ada", role="dev")
    assert bus.send(contract(), sender="lead", to="role:dev").accepted
    for agent, role in (("ada", None), ("dev", None), ("bob", "dev"), ("human", None), ("qa", None), ("ada", "qa")):
        try:
            wanted = 0 if bus.guard(["b.py"], agent=agent, role=role)[0].allowed else 2
        except NotAMember:
            wanted = 2
        words = ("--role", role) if role else ()
        ran = shell("guard", "b.py", "--as", agent, *words)
        assert ran.code == wanted, (agent, role, ran)


ODD = st.sampled_from(
    ["", "/a", "a/", "a.", "a./b", "a //b", "a /b", "~", "a:b", "\\", "é/a", "a\n", ".git/a", "a" * 4097]
)
SOME = st.lists(PATHS | PATHS | ODD, min_size=1, max_size=6)


def plan(allowed: list[str], forbidden: list[str], granted: list[str], lifted: list[str]) -> Plan:
    words = ContractTerms("1", "x", (), tuple(allowed), tuple(forbidden), (), (), (), None)
    grants = [
        Grant(tuple(each), over, "lead", "lead", 0.0, "R", "dev") for each, over in ((granted, False), (lifted, True))
    ]
    return Plan("P", (Revision(1, "d", words, "m", 1, "lead", 0.0, "vbw-typed"),), grants=tuple(grants))


FEW = st.lists(PATTERNS, max_size=3)
PLANS = st.builds(plan, FEW, FEW, st.just([]) | FEW, st.just([]) | FEW)


@proves("guard/many")
@given(st.lists(PLANS, max_size=2), SOME, st.booleans())
@example([plan(["**"], ["secrets/", "[ab]"], [], [])], ["a/SECRETS/b", "b", "B", "c"], False)
@example([plan(["**"], ["x"], [], [])], ["a", "link", "b"], True)
def test_many_paths_are_judged_as_each_alone(plans: list[Plan], paths: list[str], linked: bool) -> None:
    scopes = [ContractScope(plan) for plan in plans]
    resolve = {"link": "x", "a": None}.get if linked else None
    leads = (lambda path: resolve(path, path)) if resolve is not None else None
    assert judge_all(paths, scopes, leads) == [judge(path, scopes, leads) for path in paths]


@proves("guard/links")
@given(st.integers(0, 40), st.sets(st.integers(0, 40), max_size=2), st.booleans())
@example(40, set(), True)
@example(40, {39}, False)
def test_one_link_among_many_files_is_followed(files: int, links: set[int], folder_too: bool) -> None:
    with TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "real").mkdir()
        os.symlink("real", root / "led") if folder_too else (root / "led").mkdir()
        for number in range(files):
            name = root / "led" / f"{number}"
            os.symlink("../elsewhere", name) if number in links else name.touch()
        disk = LinkResolver(folder)
        for number in range(files + 2):
            beside = "real" if folder_too else "led"
            wanted = "elsewhere" if number in links and number < files else f"{beside}/{number}"
            assert disk.leads_to(f"led/{number}") == wanted

"""What can a person see of the contracts? `telex contract list`, `show` and `diff`."""

import json

from tests.bus.bus_team import Shell, Team, open_team, shell, team
from tests.proofs import proves
from tests.work.contract_team import contract, granted, kept, report

__all__ = ["open_team", "shell", "team"]


def agreed(team: Team) -> None:
    kept(team, contract(objective="Add reset", token_budget=100))
    kept(team, contract(objective="Add reset", token_budget=200, allowed_paths=["src/", "docs/"], tasks=["T1"]))
    kept(team, report(status="complete", commit="abc1234", tokens_used=60))
    granted(team, ["mail/"], conditions=["Tests first"])
    granted(team, [".env"], "gate_override")


@proves("contracts/cli/list")
def test_the_list_shows_every_plan_and_how_far_it_has_come(team: Team, shell: Shell) -> None:
    assert "no contracts" in shell("contract").err
    agreed(team)
    kept(team, contract("Q", tasks=["Q1", "Q2"]), to="docs")
    for words in (("contract",), ("contract", "list")):
        lines = shell(*words).out.splitlines()
        assert [line.split()[:6] for line in lines[1:]] == [
            ["P", "2", "dev", "lead", "open", "1/1"],
            ["Q", "1", "docs", "lead", "open", "0/2"],
        ]
    found = [json.loads(line) for line in shell("contract", "list", "--json").out.splitlines()]
    assert [(one["plan"], one["open"], one["spent"]) for one in found] == [("P", True, 60), ("Q", True, 0)]


@proves("contracts/cli/show")
def test_one_plan_is_shown_with_all_that_was_granted_and_by_whom(team: Team, shell: Shell) -> None:
    agreed(team)
    shown = shell("contract", "show", "P").out
    for words in ("revision 2", "docs/", "T1  done by dev in abc1234", "60 of 200", "mail/  by lead, asked by dev"):
        assert words in shown
    assert "override   .env  by lead" in shown
    assert "if Tests first" in shown
    before = shell("contract", "show", "P", "--revision", "1").out
    assert "superseded by 2" in before
    assert "docs/" not in before
    facts = json.loads(shell("contract", "show", "P", "--json").out)
    assert (facts["revision"], facts["conditions"]) == (2, ["Tests first"])
    assert [one["override"] for one in facts["grants"]] == [False, True]


@proves("contracts/cli/diff")
def test_two_revisions_are_compared(team: Team, shell: Shell) -> None:
    agreed(team)
    lines = shell("contract", "diff", "P").out.splitlines()
    assert lines[0] == "plan P  revision 1 by lead → 2 by lead"
    assert [line for line in lines if line[:3] in ("  +", "  -")] == ["  - T2", "  + docs/", "  - 100", "  + 200"]
    assert shell("contract", "diff", "P", "2", "1").out.count("+") == 2
    assert "no changes" in shell("contract", "diff", "P", "2", "2").out
    found = [json.loads(line) for line in shell("contract", "diff", "P", "--json").out.splitlines()]
    assert [one["field"] for one in found] == ["tasks", "allowed", "budget"]


def test_what_is_not_there_is_said_so(team: Team, shell: Shell) -> None:
    agreed(team)
    for words in (("show", "Pp"), ("show", "P", "--revision", "3"), ("diff", "P", "1", "9")):
        assert shell("contract", *words).code == 3
    assert shell("contract", "diff", "P", "1").code == 64
    kept(team, contract("Q"))
    assert "one revision" in shell("contract", "diff", "Q").err


@proves("contracts/close/cli")
def test_a_contract_is_closed_and_those_under_it_are_told(team: Team, shell: Shell) -> None:
    agreed(team)
    team.bus.join("docs")
    kept(team, contract("P", tasks=["T1"]), to="docs")
    assert shell("contract", "close", "P").code == 64
    assert shell("contract", "close", "Z", "--as", "lead").code == 3
    refused = shell("contract", "close", "P", "--as", "dev")
    assert (refused.code, "role-may-not-send" in refused.err) == (2, True)
    team.bus.leave("docs")
    ran = shell("contract", "close", "P", "--as", "lead", "--reason", "Merged")
    assert (ran.code, ran.out) == (0, "closed P; notified dev\n")
    assert [message.type for _, message in team.bus.inbox("dev")][-1] == "contract_close"
    assert "closed     by lead: Merged" in shell("contract", "show", "P").out
    [facts] = [json.loads(line) for line in shell("contract", "list", "--json").out.splitlines()]
    assert (facts["open"], facts["closed"]["by"], facts["closed"]["reason"]) == (False, "lead", "Merged")
    assert "  closed  " in shell("contract").out
    again = shell("contract", "close", "P", "--as", "lead", "--json")
    assert (again.code, json.loads(again.out)["closed"], json.loads(again.out)["to"]) == (0, True, [])
    assert "closed already, by lead" in shell("contract", "close", "P", "--as", "lead").err

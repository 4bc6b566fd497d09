"""Does a team keep to what was agreed? Contracts, reports against them, and what an approval changes."""

from typing import Any

import pytest

from telex.model.contracts import Plan
from tests.bus.bus_team import OpenTeam, Shell, Team, codes, flow, speech_of
from tests.proofs import proves
from tests.work.contract_team import answer, ask, close, contract, granted, kept, report, send, told, warned

FILES = "$.payload.files_modified"


def plan(team: Team, name: str = "P") -> Plan:
    found = team.bus.work_state("plan")[f"plan:{name}"]
    assert isinstance(found, Plan)
    return found


# --- revisions --------------------------------------------------------------------------------------------------------


@proves("contracts/revisions/numbered")
def test_every_revision_is_kept_with_its_number_and_digest(team: Team) -> None:
    for objective in ("One", "Two", "Two", "One"):
        kept(team, contract(objective=objective))
    found = plan(team).revisions
    assert [(one.number, one.words.objective, one.by) for one in found] == [
        (1, "One", "lead"),
        (2, "Two", "lead"),
        (3, "One", "lead"),
    ]
    assert found[0].digest == found[2].digest != found[1].digest


@proves("contracts/revisions/latest-holds")
def test_the_latest_contract_of_a_plan_holds(team: Team) -> None:
    kept(team, contract())
    kept(team, contract(allowed_paths=["docs/"], tasks=["T3"]))
    assert told(send(team, report(files=["src/a.py"])).findings) == [
        ("task-not-in-plan", "$.payload.task_id"),
        ("path-outside-contract", f"{FILES}[0]"),
    ]
    kept(team, report(task="T3", files=["docs/a.md"]))


@proves("contracts/revisions/each-plan-its-own")
def test_several_plans_do_not_disturb_each_other(team: Team) -> None:
    kept(team, contract("P", allowed_paths=["src/"]))
    kept(team, contract("Q", allowed_paths=["docs/"], tasks=["T9"], forbidden_paths=["src/x.py"]))
    kept(team, report("P", files=["src/x.py"]))
    kept(team, report("Q", "T9", files=["docs/a.md"]))
    assert told(send(team, report("P", files=["docs/a.md"])).findings) == [("path-outside-contract", f"{FILES}[0]")]
    assert {one.path: one.plan for one in team.bus.guard(["src/x.py", "docs/a"], agent="dev")} == {
        "src/x.py": "P",
        "docs/a": "Q",
    }


def test_a_revision_for_one_agent_frees_nobody_else(team: Team) -> None:
    kept(team, contract(), to="dev")
    kept(team, contract(objective="Other"), to="docs")
    for agent in ("dev", "docs"):
        [verdict] = team.bus.guard(["x"], agent=agent)
        assert verdict.code == "path-outside-contract"


# --- reports ----------------------------------------------------------------------------------------------------------


@proves("contracts/none-no-word")
def test_a_team_without_contracts_hears_nothing_of_them(team: Team) -> None:
    assert kept(team, report(files=["../x", "/etc/passwd"])).findings == ()


@proves("contracts/report/paths")
def test_a_report_is_refused_for_each_file_that_was_not_agreed_on(team: Team) -> None:
    kept(team, contract())
    receipt = send(team, report(files=["src/a.py", "b.py", "src/.env", "/etc/passwd"]))
    assert told(receipt.findings) == [
        ("path-outside-contract", f"{FILES}[1]"),
        ("path-forbidden", f"{FILES}[2]"),
        ("path-not-in-project", f"{FILES}[3]"),
    ]
    says = [finding.say for finding in receipt.findings]
    assert "approval_request of scope_change" in says[0]
    assert "approval_request of gate_override" in says[1]
    assert plan(team).done == {}


@proves("contracts/report/task")
def test_a_task_that_is_not_in_the_plan_is_refused_and_the_nearest_named(team: Team) -> None:
    kept(team, contract(tasks=["reset-1", "mail-2"]))
    [finding] = send(team, report(task="rset-1")).findings
    assert (finding.code, finding.nearest) == ("task-not-in-plan", "reset-1")


@proves("contracts/report/dependencies")
def test_a_plan_waits_for_those_it_depends_on(team: Team) -> None:
    kept(team, contract("B", depends_on=["A"], tasks=["B1"]))
    waits = ("dependency-not-complete", "$.payload.plan_id")
    assert told(send(team, report("B", "B1")).findings) == [waits]  # nobody knows A yet
    kept(team, contract("A", tasks=["A1", "A2"]))
    kept(team, report("A", "A1", status="complete"))
    assert told(send(team, report("B", "B1")).findings) == [waits]
    kept(team, report("A", "A2", status="complete"))
    kept(team, report("B", "B1"))
    kept(team, contract("A", tasks=["A1", "A2", "A3"]))  # there is more to do after all
    assert told(send(team, report("B", "B1")).findings) == [waits]


@proves("contracts/report/last-word")
def test_the_last_report_on_a_task_holds(team: Team) -> None:
    kept(team, contract(tasks=["T1"]))
    kept(team, report(status="complete", commit="abc1234"))
    assert (plan(team).done["T1"].commit, plan(team).has_work) == ("abc1234", False)
    kept(team, report(status="failed"))
    assert (plan(team).done, plan(team).has_work) == ({}, True)
    [verdict] = team.bus.guard(["b.py"], agent="dev")
    assert verdict.code == "path-outside-contract"


@proves("contracts/report/budget")
def test_tokens_are_counted_and_the_budget_is_not_overdrawn(team: Team) -> None:
    kept(team, contract(token_budget=100))
    kept(team, report(tokens_used=60))
    spent = ("token-budget-spent", "$.payload.tokens_used")
    assert told(send(team, report(tokens_used=41)).findings) == [spent]
    kept(team, report(tokens_used=40))
    assert told(send(team, report()).findings) == [spent]
    kept(team, contract(token_budget=101))
    kept(team, report())
    assert plan(team).spent == 100


@proves("contracts/report/unknown-plan")
def test_another_plan_s_name_is_no_way_around_the_contract(team: Team) -> None:
    kept(team, contract("reset-plan"))
    receipt = kept(team, report("reset-plna", files=["src/a.py"]))
    assert [(finding.code, finding.nearest) for finding in receipt.findings] == [("plan-unknown", "reset-plan")]
    refused = send(team, report("other", files=["b.py"]))
    assert told(refused.findings) == [("path-outside-contract", f"{FILES}[0]")]


@proves("contracts/lenient")
def test_a_lenient_team_hears_it_and_nothing_changes(open_team: OpenTeam) -> None:
    team = open_team(strict=False)
    kept(team, contract(tasks=["T1"]))
    receipt = kept(team, report(files=["b.py"], status="complete"))
    assert told(receipt.findings) == [("path-outside-contract", f"{FILES}[0]")]
    assert plan(team).has_work


@proves("contracts/close")
def test_a_lead_or_an_architect_closes_a_contract_and_nobody_else(team: Team) -> None:
    for role in ("lead", "architect"):
        kept(team, contract())
        assert told(send(team, close(role="dev"), "lead").findings) == [("role-may-not-send", "$.type")]
        assert plan(team).is_open
        receipt = kept(team, close(role=role, reason="Merged"), "dev")
        closed = plan(team).closed
        assert closed is not None
        assert (closed.by, closed.reason, closed.id, receipt.findings) == (role, "Merged", receipt.id, ())
        assert (len(plan(team).revisions), plan(team).is_complete) == (1, False)
        assert kept(team, close(role=role), "dev").findings == ()  # closing it twice is closing it once


@proves("contracts/close/unknown")
def test_closing_a_plan_without_a_contract_is_warned_about(team: Team) -> None:
    kept(team, contract("reset-plan"))
    receipt = kept(team, close("reset-plna"))
    assert [(finding.code, finding.nearest) for finding in receipt.findings] == [("plan-unknown", "reset-plan")]
    assert plan(team, "reset-plan").is_open


@proves("tasks/same-id")
def test_a_plan_whose_id_differs_by_case_or_blanks_is_warned_about(team: Team) -> None:
    kept(team, contract("reset"))
    for name in ("Reset", "reset "):
        receipt = kept(team, contract(name))
        assert [(one.code, one.path, one.nearest) for one in receipt.findings] == [
            ("id-nearly-known", "$.payload.plan_id", "reset")
        ]
    assert kept(team, contract("reset", objective="Again")).findings == ()


@proves("contracts/close")
def test_a_request_means_the_plan_with_a_task_to_do_or_else_the_only_open_one(team: Team) -> None:
    kept(team, contract("P", tasks=["P1"]))
    kept(team, contract("Q", tasks=["Q1"]))
    kept(team, report("P", "P1", status="complete"))
    kept(team, answer(kept(team, ask(task="")).id, ["docs/"]))
    assert (plan(team, "P").granted, plan(team, "Q").granted) == ((), ("docs/",))
    kept(team, close("Q"))
    kept(team, answer(kept(team, ask(task="")).id, ["lib/"]))
    assert plan(team, "P").granted == ("lib/",)


@proves("contracts/shared")
@pytest.mark.parametrize(
    "allowed, shared",
    [
        (["docs/", "src/auth/"], "$.payload.allowed_paths[1]"),
        (["src/auth/reset.py"], "$.payload.allowed_paths[0]"),
        (["lib/", "src/"], "$.payload.allowed_paths[1]"),
        (["src/auth/*.py"], "$.payload.allowed_paths[0]"),
        (["**/reset.py"], "$.payload.allowed_paths[0]"),
        (["src/authority/", "src/mail/", "docs/*.md"], None),
    ],
)
def test_a_path_that_two_agents_may_touch_is_warned_about_and_named_by_the_guard(
    team: Team, allowed: list[str], shared: str | None
) -> None:
    kept(team, contract("P", allowed_paths=["src/auth/", "src/auth/reset.py"]))
    receipt = kept(team, contract("Q", tasks=["Q1"], allowed_paths=allowed), to="docs")
    wanted = [("path-shared", shared, "plan P of dev")] if shared else []
    assert [(one.code, one.path, one.found) for one in receipt.findings] == wanted
    [verdict] = team.bus.guard(["src/auth/reset.py"], agent="dev")
    assert verdict.reason == "Go on: plan P allows src/auth/." + (" Plan Q of docs allows it too." if shared else "")
    assert team.bus.guard(["src/auth/other.txt"], agent="dev")[0].allowed


@proves("contracts/shared")
def test_contracts_of_the_same_agents_and_closed_ones_share_nothing(team: Team) -> None:
    team.bus.join("ada", role="dev")
    kept(team, contract("P"), to="all:dev")
    assert kept(team, contract("Q", tasks=["Q1"]), to="ada").findings == ()
    assert kept(team, contract("P", objective="Once more"), to="all:dev").findings == ()
    kept(team, close("P")), kept(team, close("Q"))
    assert kept(team, contract("R", tasks=["R1"]), to="docs").findings == ()


@proves("contracts/other-dialects")
@pytest.mark.parametrize("files, code", [(["src/a.py"], None), (["b.py"], "path-outside-contract")])
def test_commits_and_submissions_are_held_to_the_contract_of_their_task(
    team: Team, files: list[str], code: str | None
) -> None:
    kept(team, contract(tasks=["TASK-001"]), to="dev")
    wanted = [code] if code else []
    payload = speech_of("build-flow", "COMMIT_REQUEST").tree["payload"] | {"files": files}
    raw = flow("COMMIT_REQUEST", "c-1", "build-agent", "lead", payload=payload)
    commit = team.bus.send(raw, sender="build-agent", role="dev", to="lead", check=False)
    assert [finding.code for finding in commit.findings if finding.code.startswith("path-")] == wanted
    kept(team, contract("Q", tasks=["x"]), to="worker")
    made = speech_of("signal-md", "worker_submission", files_changed=files)
    submitted = team.bus.send(made.raw, sender="worker", to="orchestrator", check=False)
    assert [finding.code for finding in submitted.findings if finding.code.startswith("path-")] == wanted


# --- what an approval changes -----------------------------------------------------------------------------------------


@proves("contracts/approval/widens")
def test_an_approved_scope_change_widens_the_contract_at_once_and_says_by_whom(team: Team) -> None:
    kept(team, contract())
    assert not send(team, report(files=["mail/a.py"])).accepted
    request = granted(team, ["mail/"], conditions=["Tests first"])
    [grant] = plan(team).grants
    assert (grant.patterns, grant.by, grant.request, grant.override) == (("mail/",), "lead", request, False)
    receipt = kept(team, report(files=["mail/a.py", "src/a.py"]))
    assert [(finding.code, finding.severity) for finding in receipt.findings] == [("approval-conditions", "note")]
    [verdict] = team.bus.guard(["mail/a.py"], agent="dev")
    assert (verdict.allowed, verdict.conditions) == (True, ("Tests first",))
    assert "lead" in verdict.reason
    assert not send(team, report(files=["mails/a.py"])).accepted


@proves("contracts/approval/forbidden-wins")
def test_a_scope_change_does_not_free_what_is_forbidden_and_an_override_does_for_ever(team: Team) -> None:
    kept(team, contract())
    granted(team, [".env"])
    assert told(send(team, report(files=[".env"])).findings) == [("path-forbidden", f"{FILES}[0]")]
    granted(team, [".env"], "gate_override")
    kept(team, report(files=[".env"]))
    [verdict] = team.bus.guard([".env"], agent="dev")
    assert (verdict.allowed, verdict.override) == (True, True)
    kept(team, contract(objective="Another"))
    assert [grant.override for grant in plan(team).grants] == [False, True]


@proves("contracts/approval/refused")
def test_a_request_that_was_turned_down_changes_nothing(team: Team) -> None:
    kept(team, contract())
    request = kept(team, ask())
    assert plan(team).asks.keys() == {request.id}
    kept(team, answer(request.id, ["mail/"], approved=False))
    assert (plan(team).asks, plan(team).grants) == ({}, ())
    assert not send(team, report(files=["mail/a.py"])).accepted


@proves("contracts/approval/which-plan")
def test_an_approval_widens_the_plan_whose_task_was_named(team: Team) -> None:
    kept(team, contract("P", tasks=["T1"]))
    kept(team, contract("Q", tasks=["T9"]))
    granted(team, ["mail/"], task="T9")
    assert [len(plan(team, name).grants) for name in "PQ"] == [0, 1]
    assert warned(kept(team, ask(task="elsewhere")).findings) == ["plan-not-clear"]
    kept(team, report("P", "T1", status="complete"))
    granted(team, ["more/"], task="")  # only one is open
    assert [len(plan(team, name).grants) for name in "PQ"] == [0, 2]


@proves("contracts/approval/says-nothing")
def test_an_approval_without_paths_is_told_that_it_widens_nothing(team: Team) -> None:
    kept(team, contract())
    request = kept(team, ask())
    assert warned(kept(team, answer(request.id)).findings) == ["approval-widens-nothing"]


@proves("contracts/approval/named")
@pytest.mark.parametrize(
    "kind, path", [("scope_change", "lib/a.py"), ("gate_override", ".env"), ("scope_change", "NOTES")]
)
def test_an_approval_without_paths_grants_those_of_the_guard_s_request_and_says_so(
    team: Team, kind: str, path: str
) -> None:
    kept(team, contract())
    [verdict] = team.bus.guard([path], agent="dev")
    request = kept(team, dict(verdict.ask or {}))
    receipt = team.bus.approve(request.id, approved=True, reason="fine", conditions=["Tests first"])
    [note] = receipt.findings
    assert (note.code, note.severity, note.found) == ("approval-grants", "note", path)
    [after] = team.bus.guard([path], agent="dev")
    assert (after.allowed, after.override, after.conditions) == (True, path == ".env", ("Tests first",))
    assert not team.bus.guard(["lib/b.py"], agent="dev")[0].allowed


@proves("contracts/approval/named")
def test_only_plain_paths_among_the_options_are_granted(team: Team) -> None:
    kept(team, contract())
    options = [
        "Widen the contract",
        "split",
        "**",
        "lib/*.py",
        "../x",
        "/etc/passwd",
        "docs/",
        "a and/or b",
        "a.py",
    ]
    request = kept(team, ask() | {"payload": ask()["payload"] | {"options": options}})
    kept(team, answer(request.id))
    assert plan(team).granted == ("docs/", "a.py")


@proves("contracts/approval/says-nothing")
def test_approving_a_request_that_names_no_path_asks_for_the_paths(team: Team, shell: Shell) -> None:
    kept(team, contract())
    request = kept(team, ask())
    receipt = team.bus.approve(request.id, approved=True, reason="fine", check=False)
    assert (receipt.accepted, codes(receipt.findings)) == (False, ["approval-widens-nothing"])
    ran = shell("approve", request.id, "--reason", "fine")
    assert (ran.code, "--modify" in ran.err) == (2, True)
    assert team.bus.work_state("approval")[f"approval:{request.id}"].waits
    assert team.bus.approve(request.id, approved=True, reason="fine", modifications=["lib/"]).accepted
    other = kept(team, ask())
    assert team.bus.approve(other.id, approved=False, reason="no").accepted


@proves("contracts/approval/says-nothing")
def test_an_override_of_another_gate_than_a_path_is_approved_without_paths(team: Team) -> None:
    kept(team, contract())
    request = kept(team, ask() | {"payload": ask()["payload"] | {"request_type": "gate_override"}})
    assert team.bus.approve(request.id, approved=True, reason="The flaky test may fail.").accepted


@proves("contracts/pattern-flaw")
@pytest.mark.parametrize("words", [{"allowed_paths": ["../x"]}, {"forbidden_paths": ["C:\\secret"]}])
def test_a_pattern_that_covers_nothing_is_told_to_whoever_wrote_it(team: Team, words: dict[str, Any]) -> None:
    receipt = kept(team, contract(**words))
    [name] = words
    assert [(finding.code, finding.path) for finding in receipt.findings] == [
        ("pattern-covers-nothing", f"$.payload.{name}[0]")
    ]


# --- reviews ----------------------------------------------------------------------------------------------------------


@proves("contracts/review-cycles")
def test_reviews_of_a_plan_are_counted(team: Team) -> None:
    def review(cycle: int, result: str) -> list[str]:
        made = speech_of("vbw-company", "code_review_result", plan_id="P", cycle=cycle, result=result, critical=0)
        return warned(team.bus.send(made.raw, sender="senior", to="lead").findings)

    asked = [(1, "changes_requested"), (2, "changes_requested"), (2, "approve"), (4, "approve"), (5, "approve")]
    assert [review(*one) for one in asked] == [[], [], ["cycle-out-of-order"], ["cycle-out-of-order"], []]
    assert review(1, "approve") == []  # the next thing to review


@proves("contracts/allowed-for-nothing")
@pytest.mark.parametrize("allowed, forbidden", [("src/auth", "src/auth/"), ("src/auth/", "SRC"), ("a/b.md", "*.md")])
def test_a_path_that_is_allowed_for_nothing_is_told(team: Team, allowed: str, forbidden: str) -> None:
    receipt = kept(team, contract(allowed_paths=["ok/", allowed], forbidden_paths=[forbidden, "ok/not-this/"]))
    [found] = receipt.findings
    assert (found.code, found.path) == ("path-allowed-for-nothing", "$.payload.allowed_paths[1]")
    [verdict] = team.bus.guard([allowed.rstrip("/") + ("" if allowed.endswith("md") else "/x.py")], agent="dev")
    assert verdict.code == "path-forbidden"


@proves("contracts/report/paths", "contracts/pattern-flaw")
def test_each_of_many_findings_in_one_message_names_its_own_place(team: Team) -> None:
    odd: dict[str, Any] = {"allowed_paths": ["../a", "../b", "c/1", "c/2"], "forbidden_paths": ["../d", "../e", "c/"]}
    drawn = kept(team, contract(**odd)).findings
    assert [(one.code, one.path, one.found) for one in drawn] == [
        ("pattern-covers-nothing", "$.payload.allowed_paths[0]", "../a"),
        ("pattern-covers-nothing", "$.payload.allowed_paths[1]", "../b"),
        ("pattern-covers-nothing", "$.payload.forbidden_paths[0]", "../d"),
        ("pattern-covers-nothing", "$.payload.forbidden_paths[1]", "../e"),
        ("path-allowed-for-nothing", "$.payload.allowed_paths[2]", "c/1"),
        ("path-allowed-for-nothing", "$.payload.allowed_paths[3]", "c/2"),
    ]
    kept(team, contract("Q", depends_on=["X", "P", "Y"]))
    refused = send(team, report("Q", files=["src/a", "lib/b", ".env", "src/c", "lib/d"])).findings
    assert [(one.code, one.path, one.found) for one in refused] == [
        ("dependency-not-complete", "$.payload.plan_id", "plan X: no contract for it yet"),
        ("dependency-not-complete", "$.payload.plan_id", "plan P: T1, T2 not done"),
        ("dependency-not-complete", "$.payload.plan_id", "plan Y: no contract for it yet"),
        ("path-outside-contract", "$.payload.files_modified[1]", "lib/b"),
        ("path-forbidden", "$.payload.files_modified[2]", ".env"),
        ("path-outside-contract", "$.payload.files_modified[4]", "lib/d"),
    ]

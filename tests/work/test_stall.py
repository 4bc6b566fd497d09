"""Stalls: cycles, bottlenecks, unread inboxes, blockers, and remedies that work."""

import io
import json
import shlex
import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from telex.client import SyncBus
from telex.dialects.registry import BUILT_IN
from telex.model.work import Deadlock, Stall, Wait, Why
from telex.trace.diagrams import render_stall
from telex.validation.check import CheckPolicy, check
from telex.work import reducer
from telex.work.blockers import KIND
from telex.work.stall import IdleInbox, PendingApproval, components, graph_of, quoted, stalls
from tests.bus.bus_team import QUICK, Shell, Team, empty_store, flow, speech_of
from tests.bus.test_escalation import FIVE_MINUTES, escalate
from tests.proofs import proves

NOW = 1_000.0
AGENTS = ["ada", "ben", "cat", "dan", "eve"]
edges = st.sets(st.tuples(st.sampled_from(AGENTS), st.sampled_from(AGENTS)), max_size=14)


def waits_of(pairs: set[tuple[str, str]]) -> list[Wait]:
    return [Wait(who, whom, "answer", f"{who}-{whom}", 1.0, id=f"{who}-{whom}") for who, whom in sorted(pairs)]


def stall_of(*pairs: tuple[str, str]) -> Stall:
    return stalls(waits_of(set(pairs)), (), (), NOW)


def walked(pairs: set[tuple[str, str]]) -> dict[str, set[str]]:
    """For each agent whom it waits for, directly or through others."""
    far = {name: {whom for who, whom in pairs if who == name} for name in AGENTS}
    for _ in AGENTS:
        far = {name: whom | {further for near in whom for further in far[near]} for name, whom in far.items()}
    return far


@proves("stall/circles")
@given(edges)
def test_one_knot_is_named_for_each_group_that_waits_for_each_other(pairs: set[tuple[str, str]]) -> None:
    far = walked(pairs)
    tangled = {frozenset({other for other in far[name] if name in far[other]}) for name in AGENTS if name in far[name]}
    knots = [knot for knot in stall_of(*pairs).knots if knot.kind == "cycle"]
    assert sorted(map(sorted, tangled)) == sorted(sorted(knot.who) for knot in knots)
    for knot in knots:
        steps = [(wait.who, wait.whom) for wait in knot.waits]
        assert all(pair in pairs for pair in steps)
        assert [whom for _, whom in steps] == [who for who, _ in (*steps[1:], steps[0])], "its waits are a circle"


@proves("stall/circles")
def test_hundreds_that_all_wait_for_each_other_are_one_knot() -> None:
    names = [f"a{number:03}" for number in range(200)]
    pairs = {(name, other) for name in names for other in names if name != other}
    [knot] = stall_of(*pairs).knots
    assert (len(knot.who), len(knot.waits)) == (200, 2)
    assert len(knot.say) < 300
    ring = stall_of(*zip(names, [*names[1:], names[0]], strict=True)).knots
    assert [knot.who for knot in ring] == [tuple(names)]


@given(edges)
def test_the_components_come_each_after_those_that_it_leads_to(pairs: set[tuple[str, str]]) -> None:
    graph = graph_of(waits_of(pairs))
    done: set[str] = set()
    for group in components(graph):
        done |= set(group)
        assert {other for name in group for other in graph[name]} <= done
    assert done == set(graph)


@proves("stall/nothing")
def test_where_nobody_waits_nothing_is_named() -> None:
    assert stalls([], (), (), NOW) == Stall(NOW)
    assert stall_of(("ada", "ben")).knots == ()


@proves("stall/circles", "stall/remedy")
def test_a_circle_is_named_with_its_waits_and_the_easiest_way_out() -> None:
    waits = [
        Wait("ada", "ben", "dependency", "p2", 1.0),
        Wait("ben", "cat", "shutdown", "m1", 2.0),
        Wait("cat", "ada", "approval", "ask-1", 3.0),
    ]
    [knot] = stalls(waits, (), (), NOW).knots
    assert (knot.kind, knot.who, knot.waits) == ("cycle", ("ada", "ben", "cat"), tuple(waits))
    assert knot.remedy.command.startswith("telex approve --reason ")


@proves("stall/remedy")
def test_a_circle_is_undone_where_there_is_least_to_undo() -> None:
    waits = [
        Wait("ada", "ben", "approval", "ask-1", 1.0),
        Wait("ada", "ben", "blocker", "b1", 2.0, id="b1"),
        Wait("ben", "ada", "answer", "q1", 3.0, id="q1"),
    ]
    [knot] = stalls(waits, (), (), NOW).knots
    assert knot.remedy.command.startswith("telex answer q1 ")
    assert knot.waits == tuple(waits)


@proves("stall/bottleneck")
def test_the_one_that_most_wait_for_is_named_not_those_on_the_way() -> None:
    stall = stall_of(("ada", "cat"), ("ben", "cat"), ("cat", "dan"), ("eve", "dan"))
    [knot] = stall.knots
    assert (knot.kind, knot.who) == ("bottleneck", ("dan",))
    assert all(name in knot.say for name in ("ada", "ben", "cat", "eve"))
    assert {wait.whom for wait in knot.waits} == {"dan"}


@proves("stall/bottleneck")
def test_two_that_as_many_wait_for_are_both_named_and_one_waiter_is_nothing() -> None:
    both = stall_of(("ada", "dan"), ("ben", "dan"), ("ada", "eve"), ("ben", "eve")).knots
    assert [knot.who for knot in both] == [("dan",), ("eve",)]
    assert stall_of(("ada", "dan"), ("ben", "eve")).knots == ()


@proves("stall/no-approver")
def test_an_approval_is_named_only_while_nobody_may_give_it() -> None:
    wait = Wait("dev", "lead", "approval", "ask-1", 1.0, "src/api", "ask-1")
    [knot] = stalls([wait], [PendingApproval(wait, (), ("lead", "architect"))], (), NOW).knots
    assert (knot.kind, knot.who) == ("no-approver", ("dev",))
    assert "lead or architect" in knot.say
    assert stalls([wait], [PendingApproval(wait, ("lead",), ("lead",))], (), NOW).knots == ()


@proves("stall/silent", "stall/remedy/no-loss")
def test_an_inbox_that_no_agent_reads_is_named_and_nothing_is_taken_from_it() -> None:
    unread, silent = IdleInbox("role:qa", False, "no agent has the role qa", 0, 2), IdleInbox("ben", True, "ben", 1, 0)
    first, second = stalls([], (), [silent, unread], NOW).knots
    assert (first.kind, first.who, first.say) == (
        "unread",
        ("role:qa",),
        "2 messages waiting for role:qa: no agent has the role qa.",
    )
    assert (second.kind, second.remedy.command) == ("silent", "telex inbox --as ben")


words = st.text(max_size=20)


@proves("stall/hostile")
@given(words)
def test_a_shell_takes_any_word_as_one_and_as_it_is(word: str) -> None:
    assert shlex.split(f"telex answer {quoted(word)} x") == ["telex", "answer", word, "x"]


@proves("stall/hostile")
@given(words, words, words)
def test_a_diagram_has_one_line_for_each_and_no_word_gets_out_of_its_quotes(who: str, whom: str, about: str) -> None:
    wait = Wait(who, whom, "answer", about, 1.0)
    head, *lines = render_stall(stalls([wait], (), (), NOW)).splitlines()
    assert head == "flowchart LR"
    assert len(lines) == (3 if who != whom else 2) + (who == whom)
    assert all(line.count('"') in (0, 2) for line in lines)


@proves("stall/remedy/no-loss")
def test_every_reason_has_a_remedy_that_removes_no_agent_and_no_message() -> None:
    for why in get_args(Why):
        wait = Wait("ada", "ada", why, "m1", 1.0, "the words", "m1")
        [knot] = stalls([wait], (), (), NOW).knots
        assert shlex.split(knot.remedy.command)[1] in ("approve", "answer", "send")


DIALECTS = {dialect.name: dialect for dialect in BUILT_IN}
EXAMPLES = max(settings().max_examples // 4, 25)  # each is a story on a real store
moves = st.lists(
    st.tuples(st.sampled_from(["dev_blocker", "dev_progress"]), st.sampled_from(["T1", "T2"]), st.booleans()),
    max_size=25,
)


@proves("stall/blockers-from-log")
@settings(max_examples=EXAMPLES)
@given(moves)
def test_who_is_held_up_is_known_live_after_reopening_and_from_the_log(steps: list[tuple[str, str, bool]]) -> None:
    with TemporaryDirectory(prefix="telex-blockers-") as folder, ExitStack() as stack:
        path = Path(folder, "team.db")
        path.write_bytes(empty_store())
        team, held = Team(path, QUICK, stack), set[str]()
        for type_, task, reopens in steps:
            raw = speech_of("vbw-handoff", type_, task=task, plan_id="p").raw
            assert team.bus.send(raw, sender="dev", to="lead").accepted
            held = held | {task} if type_ == "dev_blocker" else held - {task}
            team.bus = team.other() if reopens else team.bus
        live = team.bus.work_state(KIND)
        assert {one.task for one in live.values() if one is not None} == held
        told = reducer.written(team.bus.events(), DIALECTS)
        assert {topic: state for topic, state in told.items() if topic.startswith(f"{KIND}:")} == live


def typed(team: Team, type_: str, id: str, sender: str, to: str, **payload: object) -> None:
    made = speech_of("vbw-typed", type_, id)
    made.tree["author_role"] = sender
    made.tree["payload"] |= payload
    made.tree["payload"].pop("deadline", None)
    receipt = team.bus.send(made.tree, sender=sender, to=to)
    assert receipt.accepted, receipt.findings


def pairs(bus: SyncBus, *whys: str) -> set[tuple[str, str]]:
    return {(wait.who, wait.whom) for wait in bus.stall().waits if not whys or wait.why in whys}


def knots(team: Team, kind: str) -> list[Deadlock]:
    return [knot for knot in team.bus.stall().knots if knot.kind == kind]


def contract(team: Team, plan: str, *depends_on: str, to: str = "dev") -> None:
    typed(team, "plan_contract", f"c-{plan}", "lead", to, plan_id=plan, tasks=[f"{plan}-T1"], depends_on=[*depends_on])


def progress(team: Team, plan: str, id: str) -> None:
    files = speech_of("vbw-typed", "plan_contract").tree["payload"]["allowed_paths"][:1]
    allowed = [path.rstrip("/*") + "/x.py" if path.endswith(("/", "*")) else path for path in files]
    report = {"plan_id": plan, "task_id": f"{plan}-T1", "status": "complete", "commit": "abc1234"}
    typed(team, "execution_update", id, "dev", "lead", files_modified=allowed, **report)


def held_up(book: dict[str, Any]) -> list[str]:
    return [one.id for one in book.values() if one is not None]


# --- waits -----------------------------------------------------------------------------------------------------------


@proves("stall/nothing")
def test_a_team_that_talks_stalls_nowhere(team: Team, shell: Shell) -> None:
    team.note()
    assert team.bus.stall().waits == ()
    ran = shell("stall")
    assert (ran.code, ran.out) == (0, "")
    assert "no stall" in ran.err


@proves("stall/wait/blocker", "stall/blockers-from-log")
def test_a_blocker_holds_until_there_is_progress_on_its_task(team: Team) -> None:
    blocked = {"plan_id": "p", "task_id": "p-T1"}
    typed(team, "blocker_report", "b1", "dev", "lead", severity="blocking", **blocked)
    typed(team, "blocker_report", "b2", "dev", "lead", severity="blocking", plan_id="p", task_id="p-T2")
    assert pairs(team.bus, "blocker") == {("dev", "lead")}
    assert held_up(team.bus.work_state(KIND)) == ["b1", "b2"]
    progress(team, "p", "u1")
    live = team.other().work_state(KIND)
    assert held_up(live) == ["b2"]
    told = reducer.written(team.bus.events(), {dialect.name: dialect for dialect in BUILT_IN})
    assert {topic: state for topic, state in told.items() if topic.startswith(f"{KIND}:")} == live


@proves("stall/wait/blocker")
def test_a_status_that_says_blocked_is_a_blocker_too(team: Team) -> None:
    status = json.loads(flow("STATUS_UPDATE", "s1", "dev", "build-orchestrator"))
    status["payload"] = {"taskId": "TASK-001", "status": "BLOCKED", "blockers": ["no key"]}
    assert team.bus.send(status, sender="dev").accepted
    [wait] = team.bus.stall().waits
    assert (wait.who, wait.whom, wait.why, wait.words) == ("dev", "build-orchestrator", "blocker", "no key")
    again = json.loads(flow("STATUS_UPDATE", "s2", "dev", "build-orchestrator"))
    assert team.bus.send(again, sender="dev").accepted
    assert team.bus.stall().waits == ()


@proves("stall/wait/blocker")
def test_progress_of_a_pair_that_has_sent_much_frees_its_task_too(team: Team) -> None:
    blocked = speech_of("vbw-handoff", "dev_blocker")
    task = {name: blocked.tree[name] for name in ("task", "plan_id")}

    def report(number: int) -> None:
        raw = speech_of("vbw-handoff", "dev_progress", commit=f"abc{number:04}", **task).raw
        assert team.bus.send(raw, sender="dev", to="lead").accepted

    for number in range(12):  # by then its validator is compiled
        report(number)
    assert team.bus.send(blocked.raw, sender="dev", to="lead").accepted
    assert pairs(team.bus) == {("dev", "lead")}
    report(99)
    assert team.bus.stall().waits == ()


@proves("stall/wait/blocker-mild")
@pytest.mark.parametrize("severity", ["degraded", "informational"])
def test_a_mild_blocker_holds_nobody_up(team: Team, severity: str) -> None:
    typed(team, "blocker_report", "b1", "dev", "lead", severity=severity)
    assert team.bus.stall().waits == ()


@proves("stall/wait/dependency")
def test_a_plan_waits_for_those_before_it(team: Team) -> None:
    contract(team, "first")
    contract(team, "then", "first", to="docs")
    assert pairs(team.bus) == {("plan:then", "plan:first"), ("plan:first", "dev")}
    progress(team, "first", "u1")
    assert pairs(team.bus) == set()


@proves("stall/wait/approval", "stall/wait/answer", "stall/role")
def test_who_asked_waits_for_who_was_asked_until_it_is_answered(team: Team) -> None:
    team.bus.join("kim", role="lead")
    typed(team, "approval_request", "ask-1", "dev", "role:lead")
    query = flow("DOC_QUERY", "q1", "dev", "scout")
    assert team.bus.send(query, sender="dev", to="scout").accepted
    assert {(wait.who, wait.whom, wait.why) for wait in team.bus.stall().waits} == {
        ("dev", "kim", "approval"),
        ("dev", "scout", "answer"),
    }
    for _ in range(9):
        team.later(FIVE_MINUTES)
    assert pairs(team.bus, "approval") == {("dev", "kim")}, "nobody has answered, however late it is"
    team.bus.approve("ask-1", approved=True, reason="Go on")
    assert pairs(team.bus, "approval") == set()


@proves("stall/wait/escalation")
def test_who_escalated_waits_for_whom_it_is_with_now(team: Team) -> None:
    escalate(team)
    assert pairs(team.bus, "escalation") == {("dev", "senior")}
    team.later(FIVE_MINUTES)
    assert pairs(team.bus, "escalation") == {("dev", "lead")}


@proves("stall/wait/shutdown")
def test_who_asked_for_the_end_waits_for_those_who_have_not_answered(team: Team) -> None:
    for name in ("dev", "qa", "lead"):
        team.bus.join(name, role=name)
    typed(team, "shutdown_request", "stop-1", "lead", "*")
    assert pairs(team.bus, "shutdown") == {("lead", "dev"), ("lead", "qa")}
    typed(team, "shutdown_response", "r1", "dev", "lead", request_id="stop-1", approve=True, final_status="idle")
    assert pairs(team.bus, "shutdown") == {("lead", "qa")}
    team.bus.shut_down(agent="lead", reason="phase_complete", deadline=0.0, force=True)
    team.later(1.0)
    for name in ("dev", "qa"):
        team.bus.join(name, role=name, by="lead")
    assert pairs(team.bus, "shutdown") == set(), "that team is dissolved"


# --- knots -----------------------------------------------------------------------------------------------------------


@proves("stall/silent", "stall/remedy/no-loss")
def test_an_agent_gone_silent_with_work_is_named(team: Team, shell: Shell) -> None:
    team.bus.join("dev", role="dev")
    team.bus.join("qa", role="qa")
    team.note("Look.", "lead", "dev", id="m1")
    team.note("Look.", "scout", "dev", id="m2")
    team.take("dev", lease=10_000.0)
    team.later(2 * FIVE_MINUTES)
    [knot] = knots(team, "silent")
    assert knot.who == ("dev",), "qa is as silent and has nothing to do"
    assert knot.say == "1 message leased and 1 message waiting for dev: dev has been silent for 10 min."
    _typed_as_it_stands(knot, shell)
    assert team.inbox("dev") == ["m1", "m2"], "the command takes nothing away"


@proves("stall/unread")
@pytest.mark.parametrize("to, who", [("role:qa", "role:qa"), ("auditor", "auditor")])
def test_what_nobody_has_claimed_is_named_once_it_has_waited(team: Team, shell: Shell, to: str, who: str) -> None:
    team.note("Look.", "lead", to, id="m1")
    assert team.bus.stall().knots == ()
    team.later(2 * FIVE_MINUTES)
    [knot] = knots(team, "unread")
    assert (knot.who, team.bus.stall().waits) == ((who,), ())
    assert shell("stall", "--check").code == 1
    team.bus.join("kim", role="qa" if to == "role:qa" else "auditor")
    assert team.bus.stall().knots == (), "kim reads it"
    team.later(2 * FIVE_MINUTES)
    assert [knot.who for knot in knots(team, "silent")] == [(who,)], "kim does no more"


@proves("stall/unread")
def test_unread_notes_are_no_circle(team: Team) -> None:
    for name, other in (("dev", "lead"), ("lead", "dev")):
        team.bus.join(name, role=name)
        team.note("Look.", name, other)
    team.later(2 * FIVE_MINUTES)
    assert {knot.kind for knot in team.bus.stall().knots} == {"silent"}


@proves("stall/why")
def test_the_history_of_a_message_says_that_nobody_reads_it(team: Team, shell: Shell) -> None:
    for to in ("auditor", "role:qa", "dev"):
        team.bus.join("dev", role="dev")
        team.note("Look.", "lead", to, id=f"to {to}")
    assert "no agent has joined as auditor" in shell("why", "to auditor").out
    assert "no agent has the role qa" in shell("why", "to role:qa").out
    assert team.story("to dev").unread == ()
    team.later(2 * FIVE_MINUTES)
    assert "dev has been silent for 10 min" in shell("why", "to dev").out
    assert json.loads(shell("why", "--json", "to dev").out)["unread"][0]["inbox"] == "dev"


@proves("stall/no-approver", "stall/remedy")
def test_an_approval_that_nobody_here_may_give_is_named_and_a_person_gives_it(team: Team, shell: Shell) -> None:
    typed(team, "approval_request", "ask-1", "dev", "lead")
    [knot] = knots(team, "no-approver")
    assert "lead or architect" in knot.say
    team.bus.join("kim", role="architect")
    assert knots(team, "no-approver") == []
    team.later(2 * FIVE_MINUTES)
    assert len(knots(team, "no-approver")) == 1, "kim has not been seen for long"
    _typed_as_it_stands(knot, shell)
    assert knots(team, "no-approver") == []


@proves("stall/remedy", "stall/circles")
def test_a_circle_is_set_going_by_its_remedy(team: Team, shell: Shell) -> None:
    typed(team, "blocker_report", "b1", "dev", "lead", severity="blocking")
    query = flow("DOC_QUERY", "q1", "lead", "dev")
    assert team.bus.send(query, sender="lead", to="dev").accepted
    [knot] = knots(team, "cycle")
    assert knot.who == ("dev", "lead")
    _typed_as_it_stands(knot, shell)
    assert knots(team, "cycle") == []


@proves("stall/remedy/contract")
def test_plans_that_wait_for_each_other_are_set_going_by_a_contract(
    team: Team, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    contract(team, "a", "b")
    contract(team, "b", "a")
    [knot] = knots(team, "cycle")
    assert knot.who == ("plan:a", "plan:b")
    message = knot.remedy.message or ""
    assert check(message.encode(), CheckPolicy(BUILT_IN)).valid
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(message.encode())))
    _typed_as_it_stands(knot, shell)
    assert knots(team, "cycle") == []


def _typed_as_it_stands(knot: Deadlock, shell: Shell) -> None:
    ran = shell(*shlex.split(knot.remedy.command)[1:])
    assert ran.code == 0, ran


# --- the command -----------------------------------------------------------------------------------------------------


@proves("stall/cli")
def test_the_command_shows_it_in_words_as_json_and_as_a_diagram(team: Team, shell: Shell) -> None:
    assert shell("stall", "--check").code == 0
    typed(team, "approval_request", "ask-1", "dev", "lead")
    ran = shell("stall")
    assert ran.code == 0
    assert "no approver" in ran.out
    assert "telex approve --reason 'It was waited for' ask-1" in ran.out.splitlines()
    assert shell("stall", "--check").code == 1
    facts = json.loads(shell("stall", "--json").out)
    assert (facts["stalled"], facts["knots"][0]["kind"], facts["waits"][0]["whom"]) == (
        True,
        "no-approver",
        "lead",
    )
    assert shell("stall", "--mermaid").out.startswith("flowchart LR\n")
    assert shell("stall", "--mermaid", "--json").code == 64

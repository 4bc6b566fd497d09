"""Analysis of waits: knots, bottlenecks, unread inboxes, and remedies that a shell takes as they are meant."""

import shlex

from hypothesis import given
from hypothesis import strategies as st

from telex.model.work import WHYS, Stall, Wait
from telex.trace.stall_mermaid import render
from telex.work.stall import IdleInbox, PendingApproval, components, graph_of, quoted, stalls
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
    head, *lines = render(stalls([wait], (), (), NOW)).splitlines()
    assert head == "flowchart LR"
    assert len(lines) == (3 if who != whom else 2) + (who == whom)
    assert all(line.count('"') in (0, 2) for line in lines)


@proves("stall/remedy/no-loss")
def test_every_reason_has_a_remedy_that_removes_no_agent_and_no_message() -> None:
    for why in WHYS:
        wait = Wait("ada", "ada", why, "m1", 1.0, "the words", "m1")
        [knot] = stalls([wait], (), (), NOW).knots
        assert shlex.split(knot.remedy.command)[1] in ("approve", "answer", "send")

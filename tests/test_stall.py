"""Are all circles found, and nothing else? Who is waited for most? Does a shell take a remedy as it is meant?"""

import shlex
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.model.stall import WHYS, Stall, Wait
from telex.trace.stall_mermaid import render
from telex.work.stall import STEPS_MAX, IdleConversation, PendingApproval, circles, graph_of, quoted, reached, stalls
from tests.proofs import proves

NOW = 1_000.0
AGENTS = ["ada", "ben", "cat", "dan", "eve"]
edges = st.sets(st.tuples(st.sampled_from(AGENTS), st.sampled_from(AGENTS)), max_size=14)


def waits_of(pairs: set[tuple[str, str]]) -> list[Wait]:
    return [Wait(who, whom, "answer", f"{who}-{whom}", 1.0, id=f"{who}-{whom}") for who, whom in sorted(pairs)]


def stall_of(*pairs: tuple[str, str]) -> Stall:
    return stalls(waits_of(set(pairs)), (), (), NOW)


def brute_force(pairs: set[tuple[str, str]]) -> set[tuple[str, ...]]:
    """Every way round the table that is one in the graph, from its first name on."""
    return {
        ring
        for size in range(1, len(AGENTS) + 1)
        for ring in permutations(AGENTS, size)
        if ring[0] == min(ring) and all(pair in pairs for pair in zip(ring, (*ring[1:], ring[0]), strict=True))
    }


@proves("stall/circles")
@given(edges)
def test_the_circles_found_are_those_that_a_search_of_every_order_finds(pairs: set[tuple[str, str]]) -> None:
    found = circles(graph_of(waits_of(pairs)))
    assert set(found) == brute_force(pairs)
    assert len(found) == len(set(found))
    assert [len(one) for one in found] == sorted(len(one) for one in found)


@pytest.mark.slow
@proves("stall/circles-bounded")
def test_a_tangle_of_hundreds_ends_and_names_a_circle() -> None:
    names = [f"a{number:03}" for number in range(200)]
    pairs = {(name, other) for name in names for other in names if name != other}
    found = circles(graph_of(waits_of(pairs)))
    assert found
    assert len(found) <= STEPS_MAX
    long = {(one, other) for one, other in zip(names, [*names[1:], names[0]], strict=True)}
    assert circles(graph_of(waits_of(long))) == [tuple(names)]


@given(edges)
def test_whom_one_waits_for_through_others_is_found_like_by_walking(pairs: set[tuple[str, str]]) -> None:
    graph = graph_of(waits_of(pairs))
    far = {one: set(whom) for one, whom in graph.items()}
    for _ in AGENTS:
        far = {one: whom | {further for near in whom for further in far[near]} for one, whom in far.items()}
    assert {one: set(whom) for one, whom in reached(graph).items()} == far


@proves("stall/nothing")
def test_where_nobody_waits_nothing_is_named() -> None:
    assert stalls([], (), (), NOW) == Stall(NOW)
    assert stall_of(("ada", "ben")).knots == ()


@proves("stall/circles", "stall/remedy")
def test_a_circle_is_named_with_its_waits_and_the_easiest_way_out() -> None:
    waits = [
        Wait("ada", "ben", "dependency", "p2", 1.0),
        Wait("ben", "cat", "unread", "m1", 2.0),
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


@proves("stall/silent")
def test_a_silent_agent_is_named_only_with_something_to_do() -> None:
    idle, busy = IdleConversation("ben", 0.0, (), 0), IdleConversation("ada", 0.0, ("m1",), 2)
    [knot] = stalls([], (), [idle, busy], NOW).knots
    assert (knot.kind, knot.who, knot.remedy.command) == ("silent", ("ada",), "telex team leave ada")


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


def test_every_reason_has_its_meaning_and_its_remedy() -> None:
    for why in WHYS:
        wait = Wait("ada", "ada", why, "m1", 1.0, "the words", "m1")
        [knot] = stalls([wait], (), (), NOW).knots
        assert knot.remedy.command.startswith("telex ")

"""Does the machine of a work do what its table says, and does every work come to an end?"""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.work.pipeline import (
    BEGINS,
    GUARDS,
    MEANINGS,
    MOVES,
    OPEN,
    OPENINGS,
    Move,
    PipelineStep,
    SignalResult,
    Work,
    again,
    answered,
    begun,
    diagram,
    dispatch_id,
    dispatched,
    is_work_id,
    place_called,
    rows,
    spread,
)
from telex.work.signals import pending_dispatches
from tests.proofs import proves
from tests.work.pipeline_model_check import SearchBounds, SearchResult, figure, moves_never_made, search

ONE_STEP = SearchBounds(0, ((1, 1),))


@cache
def found() -> SearchResult:
    return search()


@proves("pipeline/ends")
def test_from_every_state_an_end_can_be_reached_and_none_comes_round_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(found().states) > 2_000
    assert (found().dead_ends, found().lost, found().circles) == (0, 0, 0)
    assert all(found().count(end) for end in ("done", "blocked", "escalated"))
    with capsys.disabled():
        lines = [f"{count:>8,}  {what}" for what, count in figure(found())]
        print("\n" + "\n".join(lines))


def test_a_work_of_one_step_has_no_dead_end_and_no_loop_either() -> None:
    assert (search(ONE_STEP).dead_ends, search(ONE_STEP).lost, search(ONE_STEP).circles) == (0, 0, 0)


@proves("pipeline/ends")
def test_the_longest_way_is_as_long_as_the_revisions_allow() -> None:
    four_steps, tries, signals = 4, 6, 3  # each handed in six times at most, each time with two verdicts
    assert found().longest == 1 + 2 + 1 + four_steps * tries * signals


def altered(monkeypatch: pytest.MonkeyPatch, when: str, **changes: object) -> SearchResult:
    """What the search finds when one row of the table is another one."""
    moves = tuple(move._replace(**changes) if move.when == when else move for move in MOVES)  # type: ignore[arg-type]
    monkeypatch.setattr("telex.work.pipeline.MOVES", moves)
    return search(ONE_STEP)


def test_the_search_finds_a_dead_end_that_was_planted(monkeypatch: pytest.MonkeyPatch) -> None:
    # Both verdicts are in and nothing comes of it.
    wrong = altered(monkeypatch, "failed", then="checking")
    assert wrong.dead_ends
    assert wrong.lost


def test_the_search_finds_an_endless_loop_that_was_planted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OPENINGS, "revision", lambda work, place, answer: work.with_place(place._replace(asked=False)))
    assert search(ONE_STEP).circles


@cache
def found_with_routes() -> SearchResult:
    return search(SearchBounds(0, ((1, 1), (2, 2)), ("worker", "senior", "orchestrator", "plan", "user")))


@proves("pipeline/ends", "pipeline/route")
def test_with_routes_too_every_state_has_an_end_and_none_comes_round_again() -> None:
    result = found_with_routes()
    assert (result.dead_ends, result.lost, result.circles) == (0, 0, 0)


@proves("pipeline/table")
def test_every_row_of_the_table_is_used_and_sends_what_it_says() -> None:
    assert [move for move in moves_never_made(found()) if move in moves_never_made(found_with_routes())] == []
    for edge in (*found().edges, *found_with_routes().edges):
        assert set(edge.sent) == set(edge.move.sends), edge


@proves("pipeline/table")
def test_table_and_diagram_show_every_move() -> None:
    assert len(rows()) == len(MOVES)
    drawn = [line for line in diagram().splitlines() if " --> " in line]
    for move in MOVES:
        for state in move.states:
            assert [line for line in drawn if line.startswith(f"    {state} --> ") and line.endswith(last_word(move))]
    assert {move.then for move in MOVES} | set(OPEN) == set(MEANINGS)
    assert {move.when for move in MOVES} == set(GUARDS)
    assert {move.opens for move in MOVES} == set(OPENINGS)


def last_word(move: Move) -> str:
    return move.when or ("a verdict" if len(move.signals) > 1 else move.signals[0])


# --- small parts ------------------------------------------------------------------------------------------------------


@proves("pipeline/plan")
@given(st.integers(0, 50), st.integers(0, 200))
def test_steps_are_dealt_out_evenly_and_no_wave_is_empty(waves: int, steps: int) -> None:
    dealt = spread(waves, steps)
    assert len(dealt) == max(waves, 1)
    assert sum(dealt) == max(steps, waves, 1)
    assert sorted(dealt, reverse=True) == list(dealt)
    assert dealt[0] - dealt[-1] in (0, 1)
    assert dealt[-1] >= 1


PLACES = [
    PipelineStep("triage", "triage", "triage"),
    PipelineStep("research.2", "research", "research"),
    PipelineStep("plan", "plan", "plan"),
    PipelineStep("w1.s12", "step", "working"),
]


@given(st.sampled_from(PLACES), st.integers(0, 20), st.integers(0, 5), st.sampled_from(["", "review", "audit"]))
def test_a_dispatch_is_told_from_its_id_alone(place: PipelineStep, round_: int, iteration: int, check: str) -> None:
    place = place._replace(round=round_, iteration=iteration if place.kind == "step" else 0)
    check = check if place.kind == "step" else ""
    work = Work("reset-1", "o", 0.0, {one.name: one for one in PLACES} | {place.name: place})
    assert place_called(work, dispatch_id("reset-1", place, check)) == (place, check or place.kind)
    assert place_called(work, dispatch_id("reset-2", place, check)) is None
    assert dispatch_id("reset-1", place) != dispatch_id("reset-1", again(place))


@pytest.mark.parametrize("name", ["", "a.b", "a b", "x" * 65, "é", "a\n", "a/b"])
def test_what_could_be_taken_for_a_dispatch_or_not_be_typed_is_no_id_of_a_work(name: str) -> None:
    assert not is_work_id(name)
    assert is_work_id("Reset_2-b")


@given(st.text(max_size=40))
def test_any_text_may_stand_where_a_dispatch_is_named(text: str) -> None:
    work = begun("W", "orchestrator", 0.0)
    assert place_called(work, text) is None or text.startswith("W")
    after = answered(work, text, SignalResult("plan", "plan_complete"))
    assert (after.places, after.odd_count) == (work.places, 1)


def test_a_place_is_asked_once_for_each_round_and_iteration() -> None:
    work = answered(begun("W", "orchestrator", 0.0), "W", SignalResult("triage", "triage_complete"))
    assert [one.id for one in pending_dispatches(work)] == ["W.plan"]
    sent = dispatched(work, "W.plan", "plan", 1.0)
    assert sent is not None
    assert (pending_dispatches(sent), dispatched(sent, "W.plan", "plan", 2.0)) == ((), None)
    assert dispatched(work, "W.plan", "step", 1.0) is None
    assert sent.places["plan"].state == BEGINS["plan"]

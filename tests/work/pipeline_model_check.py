"""Model check of the pipeline: explores every reachable state of works up to some size and proves that each ends.

States that no signal can distinguish are one state: agent names, message ids, notes and the order of equal steps do
not count. A human's `resume` is left out: it begins a new round, and a human may do so any number of times.
"""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from telex.work.pipeline import (
    BEGINS,
    CHECKS,
    MOVES,
    OVER,
    STOPPED,
    VERDICTS,
    Move,
    Part,
    PipelineStep,
    SignalResult,
    Work,
    answered,
    answers_what,
    approval_id,
    begun,
    dispatch_id,
    dispatched,
    is_open,
    wave_of,
)
from telex.work.signals import Dispatch, pending_dispatches

ENDS = ("done", "blocked", "escalated")
Key = tuple[object, ...]


class SearchBounds(NamedTuple):
    """Size of the works to explore."""

    questions: int = 2
    plans: tuple[tuple[int, int], ...] = ((0, 0), (1, 1), (1, 2), (2, 2), (2, 3), (2, 4))  # waves, steps
    routes: tuple[str, ...] = ()  # that a blocked implementer may name


class Edge(NamedTuple):
    """One signal, its move, and the dispatches that follow."""

    before: Key
    after: Key
    place: str  # state of the step that it answered
    signal: str
    move: Move
    sent: tuple[str, ...]


class SearchResult(NamedTuple):
    states: dict[Key, str]  # with the work's state
    edges: list[Edge]
    dead_ends: int  # states without a successor that are not final
    lost: int  # states from which no final state can be reached
    circles: int  # states on a cycle, or before one
    longest: int  # signals on the longest path from the first state to a final one

    def count(self, state: str) -> int:
        return list(self.states.values()).count(state)


SMALL = SearchBounds()


def search(bounds: SearchBounds = SMALL) -> SearchResult:
    first = begun("W", "", 0.0)
    works, edges = {key_of(first): first}, []
    waiting = [first]
    while waiting:
        work = waiting.pop()
        for edge, after in _edges(work, bounds):
            edges.append(edge)
            if edge.after not in works:
                works[edge.after] = after
                waiting.append(after)
    return _weighed({key: work.state for key, work in works.items()}, edges)


def key_of(work: Work) -> Key:
    """What the state machine can distinguish. Finished steps of earlier waves do not count."""
    wave, planned = work.wave, "plan" in work.places
    ahead = [
        step
        for step in work.places.values()
        if step.state not in OVER or (wave_of(step.name) == wave if wave else not planned)
    ]
    plans = work.places["plan"].round if planned else 0
    return (work.waves[max(wave - 1, 0) :], plans, work.state, *sorted((step.kind, *_shape(step)) for step in ahead))


def _shape(step: PipelineStep) -> Key:
    verdicts = sorted((verdict.part, verdict.signal == "fail") for verdict in step.verdicts)
    iteration = step.iteration if step.state in ("working", "checking") else 0
    return (step.state, iteration, step.tier, *(verdicts if step.state == "checking" else ()))


def _edges(work: Work, bounds: SearchBounds) -> Iterator[tuple[Edge, Work]]:
    before = {dispatch.id for dispatch in pending_dispatches(work)}
    for step, reply_to, answer in _answers(work, bounds):
        found = answers_what(work, reply_to, answer)
        if isinstance(found, str):
            continue
        after = answered(work, reply_to, answer)
        sent = [dispatch for dispatch in pending_dispatches(after) if dispatch.id not in before]
        after = _sent(after, sent)
        kinds = tuple(dict.fromkeys(dispatch.kind for dispatch in sent))
        yield Edge(key_of(work), key_of(after), step.state, answer.signal, move=found[1], sent=kinds), after


def _answers(work: Work, bounds: SearchBounds) -> Iterator[tuple[PipelineStep, str, SignalResult]]:
    """Every signal that could answer an open dispatch."""
    for step in work.places.values():
        parts: tuple[Part, ...] = (step.kind, *CHECKS) if step.kind == "step" else (step.kind,)
        for part in filter(partial(is_open, step), parts):
            reply_to = dispatch_id(work.id, step, part if part in CHECKS else "")
            for answer in _signals(part, bounds):
                yield step, reply_to, answer


def _signals(part: Part, bounds: SearchBounds) -> Iterator[SignalResult]:
    yield from (SignalResult(part, "blocked"), SignalResult(part, "escalate"))
    if part == "triage":
        yield from (
            SignalResult(part, "triage_complete", questions=count) for count in (*range(bounds.questions + 1), 10**9)
        )
    elif part == "research":
        yield SignalResult(part, "research_complete")
    elif part == "plan":
        yield SignalResult(part, "plan_complete", has_blockers=True)
        yield SignalResult(part, "plan_complete", waves=10**9)
        yield from (SignalResult(part, "plan_complete", waves=waves, steps=steps) for waves, steps in bounds.plans)
    elif part == "step":
        yield SignalResult(part, "rfr")
        yield from (SignalResult(part, signal, route=route) for route in bounds.routes for signal in STOPPED)
    else:
        yield from (SignalResult(part, signal) for signal in VERDICTS)


def _sent(work: Work, dispatches: list[Dispatch]) -> Work:
    """The work after the orchestrator has sent these."""
    for dispatch in dispatches:
        step = work.places[dispatch.place.name]
        part: Part | None = step.kind if step.state == BEGINS[step.kind] else None
        if part is not None or dispatch.id == approval_id(work.id, step):
            work = dispatched(work, dispatch.id, part, 0.0) or work
    return work


def _weighed(states: dict[Key, str], edges: list[Edge]) -> SearchResult:
    after: dict[Key, set[Key]] = {key: set() for key in states}
    for edge in edges:
        after[edge.before].add(edge.after)
    # Kahn's algorithm from the end: the states left over are on a cycle or before one.
    before: dict[Key, set[Key]] = {key: set() for key in states}
    for key, nexts in after.items():
        for successor in nexts:
            before[successor].add(key)
    left = {key: len(nexts) for key, nexts in after.items()}
    ready = [key for key, count in left.items() if not count]
    to_go = dict.fromkeys(states, 0)
    reaches_end = {key for key, state in states.items() if state in ENDS}
    while ready:
        key = ready.pop()
        for previous in before[key]:
            to_go[previous] = max(to_go[previous], to_go[key] + 1)
            reaches_end |= {previous} if key in reaches_end else set()
            left[previous] -= 1
            if not left[previous]:
                ready.append(previous)
    return SearchResult(
        states,
        edges,
        dead_ends=sum(not after[key] and state not in ENDS for key, state in states.items()),
        lost=len(states) - len(reaches_end),
        circles=sum(count > 0 for count in left.values()),
        longest=max(to_go.values()),
    )


def moves_never_made(search_result: SearchResult) -> list[Move]:
    made = {id(edge.move) for edge in search_result.edges}
    return [move for move in MOVES if id(move) not in made]


def figure(search_result: SearchResult) -> list[tuple[str, int]]:
    """Counts of the search, for a report."""
    going = sum(state not in ENDS for state in search_result.states.values())
    return [
        ("states", len(search_result.states)),
        ("signals tried that move the work", len(search_result.edges)),
        ("states in which it goes on", going),
        *((f"states that are {end}", search_result.count(end)) for end in ENDS),
        ("dead ends", search_result.dead_ends),
        ("states from which no end can be reached", search_result.lost),
        ("states that come round again", search_result.circles),
        ("signals on the longest way", search_result.longest),
    ]

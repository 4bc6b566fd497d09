"""Transition table and diagram of the pipeline, generated from `MOVES`."""

from telex.work.pipeline.machine import MOVES, VERDICTS, Move
from telex.work.pipeline.state import HELD, OPEN, State

MEANINGS: dict[State, str] = {
    "triage": "the architect sizes up the request",
    "research": "a question is with a researcher",
    "plan": "the architect makes the plan",
    "working": "a step is with its maker, for the first time or to be fixed",
    "checking": "a step is with a reviewer and an auditor at once",
    "settled": "triage, question or plan: it is answered; a step: it is planned again",
    "approved": "both verdicts on a step passed; its maker is told to commit",
    "blocked": "an agent cannot go on; the place waits for `telex work resume`",
    "escalated": "a person has to decide; the place waits for `telex work resume`",
}
HEADINGS = ("state", "signal", "when", "becomes", "is sent")


def rows() -> list[tuple[str, ...]]:
    """The table, row by row. Of the rows for one state and signal the first that holds is taken."""
    return [(_states(move), _signals(move), move.when, move.then, _sends(move)) for move in MOVES]


def _states(move: Move) -> str:
    return "any" if move.states == OPEN else ", ".join(move.states)


def _signals(move: Move) -> str:
    return "a verdict" if move.signals == VERDICTS else ", ".join(move.signals)


def _sends(move: Move) -> str:
    return ", ".join(move.sends)


def diagram() -> str:
    """The same in Mermaid's notation. An arrow leads to what begins by the move, if anything does."""
    lines = ["stateDiagram-v2", "    [*] --> triage"]
    begins: dict[str, State] = {"research": "research", "plan": "plan", "wave": "working"}
    for move in MOVES:
        for state in move.states:
            after = "working" if move.then == "approved" and move.opens == "wave" else _end(move)
            after = begins.get(move.opens, after)
            lines.append(f"    {state} --> {after}: {_words(move)}")
    lines += [f"    {held} --> {state}: resume" for held in HELD for state in OPEN if state != "checking"]
    return "\n".join([*lines, "    done --> [*]"])


def _end(move: Move) -> str:
    """Where the arrow ends: what is settled with nothing after it is the end of the work, or waits for the others."""
    if move.when in ("nothing to do", "last wave"):
        return "done"
    return move.states[0] if move.then == "settled" else move.then


def _words(move: Move) -> str:
    return f"{_signals(move)}, {move.when}" if move.when else _signals(move)

"""Sequence diagram for a terminal: a lane for each agent, time going down.

A thick lane is an agent with a leased message. If the lanes do not fit side by side, the steps are printed as a list.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from telex.ports.bus import MessageHistory
from telex.trace.labels import SIGNS, because, label, phrase, tone
from telex.trace.steps import Conversation, TraceStep, conversation, holds
from telex.trace.text import cells, cut, folded, moment, name_of, offset, squeezed

WIDTH = 100
_GUTTER = 14  # columns for the time
_PITCH_LEAST, _PITCH_MOST = 10, 26
_LINES_MOST = 3  # of one reason
_REST, _HELD = "│", "┃"


class _Columns(NamedTuple):
    places: dict[str, int]  # the column of each lane
    pitch: int
    width: int


def render(stories: Sequence[MessageHistory], width: int = WIDTH) -> str:
    """The diagram, in lines of at most that many columns."""
    whole = conversation(stories)
    lines = [cut(f"{name_of(whole.name)}  {moment(whole.began_at)}  {whole.heading}", width), ""]
    lanes = _laid_out(whole, max(width, 40))
    lines += _listed(whole, width) if lanes is None else _drawn(whole, lanes)
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _laid_out(whole: Conversation, width: int) -> _Columns | None:
    """Lanes as far apart as names and types ask for, if there is room. None: not even the least is there."""
    words = [name_of(lane) for lane in whole.lanes] + [label(step, whole) for step in whole.steps if step.to]
    wanted = max((cells(word) + 4 for word in words), default=0)
    pitch = min(max(wanted, _PITCH_LEAST), _PITCH_MOST, (width - _GUTTER) // max(len(whole.lanes), 1))
    if pitch < _PITCH_LEAST:
        return None
    start = _GUTTER + min(cells(words[0]), pitch) // 2 + 1 if words else _GUTTER
    return _Columns({lane: start + pitch * place for place, lane in enumerate(whole.lanes)}, pitch, width)


# --- with lanes ----------------------------------------------------------------------------------------------------


class _Line:
    """A line of the picture: characters by column, of which a wide one takes two."""

    def __init__(self, lanes: _Columns, held: dict[str, int]) -> None:
        self.row = [" "] * lanes.width
        for lane, column in lanes.places.items():
            self.row[column] = _HELD if held.get(lane) else _REST

    def put(self, column: int, text: str) -> "_Line":
        """Write over what is there; what reaches beyond the edge is cut."""
        text = cut(text, len(self.row) - column)
        column = max(column, 0)
        for letter in text:
            size = cells(letter)
            if size == 0:
                self.row[column - 1] += letter
            else:
                self.row[column : column + size] = [letter, *[""] * (size - 1)]
            column += size
        return self

    def __str__(self) -> str:
        return "".join(self.row)


def _drawn(whole: Conversation, lanes: _Columns) -> Iterator[str]:
    yield from _names(whole, lanes)
    leases = holds(whole.steps)
    ends = {hold.last: hold.lane for hold in leases}
    begins = {hold.first: hold.lane for hold in leases}
    held: dict[str, int] = {}
    for index, step in enumerate(whole.steps):
        if index in begins:
            held[begins[index]] = held.get(begins[index], 0) + 1
        yield from _of_step(step, whole, lanes, held)
        if index in ends:
            held[ends[index]] -= 1
    yield str(_Line(lanes, held))


def _names(whole: Conversation, lanes: _Columns) -> Iterator[str]:
    """The names above their lanes: in one line if they fit, else in two by turns, and squeezed if need be."""
    names = [name_of(lane) for lane in whole.lanes]
    turns = 1 if all(cells(name) <= lanes.pitch - 1 for name in names) else 2
    for turn in range(turns):
        line = _Line(lanes._replace(places={}), {})
        for place, (name, column) in enumerate(zip(names, lanes.places.values(), strict=True)):
            if place % turns == turn:
                room = min(lanes.pitch * turns - 1, 2 * (lanes.width - column) - 1)
                fitting = squeezed(name, room)
                line.put(column - cells(fitting) // 2, fitting)
            elif turn == 1:
                line.put(column, _REST)
        yield str(line)


def _of_step(step: TraceStep, whole: Conversation, lanes: _Columns, held: dict[str, int]) -> Iterator[str]:
    if step.kind == "leased" and step.attempt < 2:
        return  # the lane turns thick, which says it
    if step.kind == "refused":
        lines = _beside(step, f"──{SIGNS['bad']}", [_refused(step, whole), because(step)], lanes, held)
    elif not step.to:
        lines = _beside(step, f" {SIGNS[tone(step)]}", [phrase(step)], lanes, held)
    elif step.to == (step.lane,):
        lines = _beside(step, "─↩", [f"{label(step, whole)}, to itself"], lanes, held)
    else:
        yield str(_labelled(step, whole, lanes, held))
        lines = [_arrow(step, whole, lanes, held)]
    lines[0].put(0, f"{offset(step.at - whole.began_at):>{_GUTTER - 2}}")
    yield from map(str, lines)


def _refused(step: TraceStep, whole: Conversation) -> str:
    return f"{label(step, whole)} to {name_of(whole.about(step).to)} refused"


def _beside(step: TraceStep, mark: str, said: list[str], lanes: _Columns, held: dict[str, int]) -> list[_Line]:
    """Words beside the lane: to its right if they fit there, else on the side with more room, on several lines."""
    column, size = lanes.places[step.lane], cells(mark) + 1
    right, left = lanes.width - column - 1, column - _GUTTER
    on_right = max(map(cells, said)) + size < right or right >= left
    room = (right if on_right else left) - size - 1
    lines: list[_Line] = []
    for text in (line for words in said if words for line in folded(words, room, _LINES_MOST)):
        lead = " " * cells(mark) if lines else mark if on_right else mark[::-1]
        place, words = (column + 1, f"{lead} {text} ") if on_right else (column - cells(text) - size, f"{text} {lead}")
        lines.append(_Line(lanes, held).put(place, words))
    return lines


def _labelled(step: TraceStep, whole: Conversation, lanes: _Columns, held: dict[str, int]) -> _Line:
    columns = [lanes.places[lane] for lane in (step.lane, *step.to)]
    words = label(step, whole)
    start = min(min(columns) + 2, max(lanes.width - cells(words), _GUTTER))
    return _Line(lanes, held).put(start, words)


def _arrow(step: TraceStep, whole: Conversation, lanes: _Columns, held: dict[str, int]) -> _Line:
    """From the sender's lane to that of everyone it reached; an answer is dashed."""
    line, start = _Line(lanes, held), lanes.places[step.lane]
    reached = [lanes.places[lane] for lane in step.to if lane != step.lane]
    dash = "╌" if whole.about(step).parent is not None else "─"
    low, high = min(start, *reached), max(start, *reached)
    for column in range(low + 1, high):
        line.row[column] = "┼" if line.row[column] in (_REST, _HELD) else dash
    line.row[start] = "┼" if low < start < high else "├" if start == low else "┤"
    for column in reached:
        line.row[column] = _HELD if line.row[column] == _HELD else _REST
        line.row[column - 1 if column > start else column + 1] = "▶" if column > start else "◀"
    return line


# --- without lanes -------------------------------------------------------------------------------------------------


def _listed(whole: Conversation, width: int) -> Iterator[str]:
    """Too many agents for lanes side by side: a line for each step."""
    for step in whole.steps:
        if step.kind == "leased" and step.attempt < 2:
            continue
        when = f"{offset(step.at - whole.began_at):>{_GUTTER - 2}}  "
        sender = name_of(step.lane)
        if step.to:
            words = f"{sender} ─▶ {', '.join(map(name_of, step.to))}  {label(step, whole)}"
        elif step.kind == "refused":
            words = f"{sender} ─{SIGNS['bad']} {_refused(step, whole)}{because(step, ': ')}"
        else:
            words = f"{sender} {SIGNS[tone(step)]} {phrase(step)}"
        yield cut(when + words, width)

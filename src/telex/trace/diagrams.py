"""A conversation as a tree of replies with timings.

Each message is below the one that it answers; messages without a parent are at the top level, in order of time.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from telex.model.stall import Stall
from telex.ports.bus import MessageHistory
from telex.trace.steps import (
    SIGNS,
    Conversation,
    DeliveryOutcome,
    TraceMessage,
    TraceStep,
    because,
    conversation,
    headline,
    holds,
    label,
    phrase,
    tone,
)
from telex.trace.text import (
    REASON_MOST,
    TYPE_MOST,
    brief,
    cells,
    cut,
    folded,
    lasting,
    moment,
    name_of,
    offset,
    squeezed,
)

_GUIDE_MOST = 30  # columns; an exchange of a hundred answers does not march off the screen
_HEAD_MOST = 60  # columns; a longer one pushes what stands behind it
_WIDTH_LEAST = 60  # columns; narrower than this nothing can be told
_LINES_MOST = 6  # of one remark
_GAP = "  "
_NAME_MOST, _TYPE_MOST = 24, 32
_WORTH_TELLING = frozenset(
    {
        "nacked",
        "lease-expired",
        "dead",
        "expired",
        "dropped",
        "withdrawn",
        "returned-to-sender",
        "reply-overdue",
        "duplicate",
        "translated",
    }
)


class _Row(NamedTuple):
    when: str
    head: str
    guide: str = ""  # the lines of the tree that run through whatever stands below the head
    state: str = ""
    timings: str = ""

    @property
    def rest(self) -> str:
        return f"{self.state}{self.timings and ', '}{self.timings}"


def render_tree(stories: Sequence[MessageHistory], width: int | None = None) -> str:
    """The tree as text, one line for each message and one for each thing that went wrong with it.

    With a width, lines of at most that many columns: then timings stand below what they belong to.
    """
    whole = conversation(stories)
    rows = list(_rows(whole))
    when = max((cells(row.when) for row in rows), default=0)
    head = min(max((cells(row.head) for row in rows if row.rest), default=0), _HEAD_MOST)
    lines = []
    for row in rows:
        gap = " " * (head - cells(row.head)) if row.rest else ""
        before = " " * (when - cells(row.when)) + row.when + _GAP
        lines.append((row, before, f"{before}{row.head}{gap}{_GAP}{row.rest}".rstrip()))
    heading = f"{name_of(whole.name)}  {moment(whole.began_at)}  {whole.heading}"
    if width is None or all(cells(line) <= width for _, _, line in lines):
        told = [line for _, _, line in lines]
    else:
        told = [line for row, before, _ in lines for line in _narrow(row, before, max(width, _WIDTH_LEAST))]
    top = [heading] if width is None else folded(heading, max(width, _WIDTH_LEAST), _LINES_MOST)
    return "\n".join([*top, "", *told]) + "\n"


def _narrow(row: _Row, before: str, width: int) -> Iterator[str]:
    """The row in as many lines as it takes, the guides of the tree going down through them."""
    room, blank = width - cells(before), " " * cells(before)
    if not row.state:  # a remark: it begins behind the guides and goes on a little further in
        first, *others = folded(row.head.removeprefix(row.guide), room - cells(row.guide) - 2, _LINES_MOST)
        yield before + row.guide + first
        yield from (f"{blank}{row.guide}  {line}" for line in others)
        return
    fits = cells(row.head) + len(_GAP) + cells(row.state) <= room
    yield f"{before}{row.head}{_GAP}{row.state}" if fits else before + cut(row.head, room)
    below = row.timings if fits else row.rest
    if below:
        yield from (blank + row.guide + line for line in folded(below, room - cells(row.guide), _LINES_MOST))


def _rows(whole: Conversation) -> Iterator[_Row]:
    below: dict[int | None, list[TraceMessage]] = {}
    for message in whole.messages:
        below.setdefault(message.parent, []).append(message)
    marks: dict[int, list[TraceStep]] = {}
    for step in whole.steps:
        if step.kind in _WORTH_TELLING:
            marks.setdefault(step.number, []).append(step)
    # A stack and no recursion: a conversation may be deeper than Python's own stack.
    open_ = [(told, "", "") for told in reversed(below.get(None, []))]
    while open_:
        message, before, guide = open_.pop()
        answers = below.get(message.number, [])
        inner = _fitting(guide + ("│  " if answers else "   "))
        timings = _timings(message.fates[0]) if len(message.fates) == 1 else ""  # several have a line each below
        state = brief(message.state, TYPE_MOST)
        yield _Row(offset(message.at - whole.began_at), before + _head(message), inner, state, timings)
        yield from (_Row("", f"{inner}{line}", inner) for line in _notes(message, marks.get(message.number, []), whole))
        for place, answer in enumerate(reversed(answers)):
            last = place == 0
            open_.append((answer, _fitting(guide + ("└─ " if last else "├─ ")), guide + ("   " if last else "│  ")))


def _fitting(guide: str) -> str:
    return guide if len(guide) <= _GUIDE_MOST else "⋯" + guide[-_GUIDE_MOST + 1 :]


def _head(message: TraceMessage) -> str:
    sender, to = (squeezed(name_of(name), _NAME_MOST) for name in (message.sender, message.to))
    return f"#{message.number} {sender} → {to}  {brief(message.type, _TYPE_MOST)}"


def _notes(message: TraceMessage, marks: list[TraceStep], whole: Conversation) -> Iterator[str]:
    if message.refused:
        yield f"{SIGNS['bad']} {brief(message.reason, REASON_MOST) or 'refused'}"
    if len(message.fates) > 1:
        widest = max(cells(_reader(fate)) for fate in message.fates)
        for fate in message.fates:
            gap = " " * (widest - cells(_reader(fate)))
            timings = _timings(fate)
            yield f"· {_reader(fate)}{gap}  {brief(fate.state, TYPE_MOST)}{timings and ', '}{timings}"
    for step in marks:
        where = f" ({name_of(step.lane)})" if len(message.fates) > 1 else ""
        at = offset(step.at - whole.began_at)
        yield f"{SIGNS[tone(step)]} {headline(step)} at {at}{where}{because(step, ': ')}"


def _reader(fate: DeliveryOutcome) -> str:
    """Whose inbox; for one that a role shares, also who took it."""
    inbox = name_of(fate.inbox)
    return f"{inbox} ({name_of(fate.holder)})" if fate.holder and fate.holder != fate.inbox else inbox


def _timings(fate: DeliveryOutcome) -> str:
    said = [f"offered {fate.offered}×"] if fate.offered else []
    said += [f"leased after {lasting(fate.leased_after)}"] if fate.leased_after is not None else []
    said += [f"acked after {lasting(fate.acked_after)}"] if fate.acked_after is not None else []
    return ", ".join(said)


WIDTH = 100
_GUTTER = 14  # columns for the time
_PITCH_LEAST, _PITCH_MOST = 10, 26
_LINES_MOST_sequence = 3  # of one reason
_REST, _HELD = "│", "┃"


class _Columns(NamedTuple):
    places: dict[str, int]  # the column of each lane
    pitch: int
    width: int


def render_sequence(stories: Sequence[MessageHistory], width: int = WIDTH) -> str:
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
    for text in (line for words in said if words for line in folded(words, room, _LINES_MOST_sequence)):
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


_NOTE_WIDTH, _NOTE_LINES = 60, 6  # letters; Mermaid itself would draw a reason in one line, as wide as the page
_BREAK = "<br/>"  # the only tag there is, and no message can write it
_END = re.compile(r"\be(?=nd\b)", re.IGNORECASE)
_HARMLESS = frozenset(" _.,/()-+×")  # behind a colon; not another colon, # or ; (codes), % or { (directives), < (tags)


def render_mermaid(stories: Sequence[MessageHistory]) -> str:
    """A `sequenceDiagram`, complete."""
    whole = conversation(stories)
    ids = {lane: f"p{number}" for number, lane in enumerate(whole.lanes, 1)}
    lines = [f"participant {id_} as {written(name_of(lane))}" for lane, id_ in ids.items()]
    if whole.lanes:
        first, last = ids[whole.lanes[0]], ids[whole.lanes[-1]]
        span = first if first == last else f"{first},{last}"
        heading = f"{name_of(whole.name)}, {moment(whole.began_at)}, {whole.heading}"
        lines.append(f"Note over {span}: {written(heading)}")
    lines += _lines(whole, ids)
    return "\n".join(["sequenceDiagram", *(f"    {line}" for line in lines)]) + "\n"


def _lines(whole: Conversation, ids: dict[str, str]) -> Iterator[str]:
    leases = holds(whole.steps)
    # Mermaid stops at a `deactivate` without its `activate`, so only what has both gets either.
    begins = {hold.first for hold in leases if hold.last is not None}
    ends = {hold.last: ids[hold.lane] for hold in leases if hold.last is not None}
    for index, step in enumerate(whole.steps):
        if step.kind == "leased" and step.attempt > 1:
            yield _note(step, ids, whole)
        if index in begins:
            yield f"activate {ids[step.lane]}"
        if step.kind != "leased":
            yield from _arrows(step, ids, whole) if step.to else [_note(step, ids, whole)]
        if index in ends:
            yield f"deactivate {ends[index]}"


def _arrows(step: TraceStep, ids: dict[str, str], whole: Conversation) -> Iterator[str]:
    arrow = "-->>" if whole.about(step).parent is not None else "->>"
    words = f"{label(step, whole)}, {offset(step.at - whole.began_at)}"
    for lane in step.to:
        yield f"{ids[step.lane]}{arrow}{ids[lane]}: {written(words)}"


def _note(step: TraceStep, ids: dict[str, str], whole: Conversation) -> str:
    what = phrase(step)
    if step.kind == "refused":
        what = f"{label(step, whole)} to {name_of(whole.about(step).to)} {what.partition(' ')[2]}"
    lines = folded(what, _NOTE_WIDTH, _NOTE_LINES)
    lines[-1] += f", {offset(step.at - whole.began_at)}"
    return f"Note over {ids[step.lane]}: {_BREAK.join(map(written, lines))}"


def written(text: str) -> str:
    """The text, with everything as an entity code that could mean something to Mermaid; the word `end` too."""
    coded = "".join(letter if letter.isalnum() or letter in _HARMLESS else f"#{ord(letter)};" for letter in text)
    return _END.sub(lambda found: f"#{ord(found[0])};", coded)


def render_stall(stall: Stall) -> str:
    """A `flowchart`, complete. Whoever is part of a circle is marked."""
    names = dict.fromkeys(name for wait in stall.waits for name in (wait.who, wait.whom))
    ids = {name: f"a{number}" for number, name in enumerate(names, 1)}
    circled = {name for knot in stall.knots if knot.kind == "cycle" for name in knot.who}
    lines = [f'{id_}["{written(name)}"]' for name, id_ in ids.items()]
    lines += [f'{ids[wait.who]} -- "{wait.why}: {written(wait.about)}" --> {ids[wait.whom]}' for wait in stall.waits]
    lines += [f"style {ids[name]} stroke-width:3px" for name in sorted(circled) if name in ids]
    return "\n".join(["flowchart LR", *(f"    {line}" for line in lines)]) + "\n"

"""Text diagrams of a conversation: tree of replies, sequence diagram for a terminal, Mermaid; and a stall as Mermaid.

Mermaid reads text from messages as text only: every character except letters, digits and a few harmless signs is an
entity code, and participants have generated names.
"""

import re
from collections.abc import Iterator, Sequence

from telex.model.named_tuple import NamedTuple
from telex.model.work import Stall
from telex.ports.bus import MessageHistory
from telex.trace.steps import SIGNS, Conversation, DeliveryOutcome, TraceMessage, TraceStep, conversation, lease_spans
from telex.trace.text import REASON_MAX, TYPE_MAX, brief, cells, cut, folded, lasting, name_of, squeezed

# --- tree -------------------------------------------------------------------------------------------------------------

_GUIDE_MAX = 30  # columns: a long exchange stays on the screen
_HEAD_MAX = 60  # columns
_TREE_WIDTH_MIN = 60
_REMARK_LINES_MAX = 6
_TREE_NAME_MAX, _TREE_TYPE_MAX = 24, 32
_IN_TREE = frozenset(
    {
        *("nacked", "lease-expired", "dead", "expired", "dropped", "withdrawn", "returned-to-sender"),
        *("reply-overdue", "duplicate", "translated"),
    }
)


class _Row(NamedTuple):
    when: str
    head: str
    guide: str  # lines of the tree that continue below the head
    state: str = ""
    timings: str = ""

    @property
    def rest(self) -> str:
        return ", ".join(filter(None, (self.state, self.timings)))


def render_tree(histories: Sequence[MessageHistory], width: int | None = None) -> str:
    """Each message below the one that it answers, with remarks on failures.

    With a width, lines have at most that many columns: timings are below what they belong to.
    """
    whole = conversation(histories)
    rows = list(_rows(whole))
    when = max((cells(row.when) for row in rows), default=0)
    head = min(max((cells(row.head) for row in rows if row.rest), default=0), _HEAD_MAX)
    lines = []
    for row in rows:
        gap = " " * (head - cells(row.head)) if row.rest else ""
        lines.append(f"{_padded(row, when)}{row.head}{gap}  {row.rest}".rstrip())
    heading = ["  ".join([name_of(whole.name), *whole.heading])]
    if width is not None:
        width = max(width, _TREE_WIDTH_MIN)
        heading = folded(heading[0], width, _REMARK_LINES_MAX)
        if any(cells(line) > width for line in lines):
            lines = [line for row in rows for line in _narrow(row, _padded(row, when), width)]
    return "\n".join([*heading, "", *lines]) + "\n"


def _padded(row: _Row, when: int) -> str:
    return " " * (when - cells(row.when)) + row.when + "  "


def _narrow(row: _Row, before: str, width: int) -> Iterator[str]:
    """The row in several lines."""
    room, blank = width - cells(before), " " * cells(before)
    below = room - cells(row.guide)
    if not row.state:  # a remark
        first, *others = folded(row.head.removeprefix(row.guide), below - 2, _REMARK_LINES_MAX)
        yield before + row.guide + first
        yield from (f"{blank}{row.guide}  {line}" for line in others)
        return
    fits = cells(row.head) + 2 + cells(row.state) <= room
    yield f"{before}{row.head}  {row.state}" if fits else before + cut(row.head, room)
    rest = row.timings if fits else row.rest
    if rest:
        yield from (blank + row.guide + line for line in folded(rest, below, _REMARK_LINES_MAX))


def _rows(whole: Conversation) -> Iterator[_Row]:
    answers: dict[int | None, list[TraceMessage]] = {}
    for message in whole.messages:
        answers.setdefault(message.parent, []).append(message)
    steps: dict[int, list[TraceStep]] = {}
    for step in whole.steps:
        if step.kind in _IN_TREE:
            steps.setdefault(step.message.number, []).append(step)
    # A stack instead of recursion: a conversation may be deeper than Python's stack.
    stack = [(message, "", "") for message in reversed(answers.get(None, []))]
    while stack:
        message, before, guide = stack.pop()
        own = answers.get(message.number, [])
        inner = _fitting(guide + ("│  " if own else "   "))
        timings = _timings(message.outcomes[0]) if len(message.outcomes) == 1 else ""
        sender, to = (squeezed(name_of(name), _TREE_NAME_MAX) for name in (message.sender, message.to))
        head = f"{before}#{message.number} {sender} → {to}  {brief(message.type, _TREE_TYPE_MAX)}"
        yield _Row(whole.when(message.at), head, inner, brief(message.state, TYPE_MAX), timings)
        yield from (_Row("", inner + line, inner) for line in _remarks(message, steps.get(message.number, []), whole))
        for place, answer in enumerate(reversed(own)):
            branch, below = ("└─ ", "   ") if place == 0 else ("├─ ", "│  ")
            stack.append((answer, _fitting(guide + branch), guide + below))


def _fitting(guide: str) -> str:
    return guide if len(guide) <= _GUIDE_MAX else "⋯" + guide[-_GUIDE_MAX + 1 :]


def _remarks(message: TraceMessage, steps: list[TraceStep], whole: Conversation) -> Iterator[str]:
    is_shared = len(message.outcomes) > 1
    if message.refused:
        yield f"{SIGNS['bad']} {brief(message.reason, REASON_MAX) or 'refused'}"
    if is_shared:
        readers = [_reader(outcome) for outcome in message.outcomes]
        widest = max(map(cells, readers))
        for reader, outcome in zip(readers, message.outcomes, strict=True):
            rest = ", ".join(filter(None, (brief(outcome.state, TYPE_MAX), _timings(outcome))))
            yield f"· {reader}{' ' * (widest - cells(reader))}  {rest}"
    for step in steps:
        where = f" ({name_of(step.lane)})" if is_shared else ""
        yield f"{SIGNS[step.tone]} {step.headline} at {whole.when(step.at)}{where}{step.because(': ')}"


def _reader(outcome: DeliveryOutcome) -> str:
    """Inbox, and the agent that leased from a role's inbox."""
    inbox, holder = name_of(outcome.inbox), outcome.holder
    return f"{inbox} ({name_of(holder)})" if holder and holder != outcome.inbox else inbox


def _timings(outcome: DeliveryOutcome) -> str:
    timings = [f"offered {outcome.attempts}×"] if outcome.attempts else []
    for name, seconds in (("leased", outcome.leased_after), ("acked", outcome.acked_after)):
        timings += [f"{name} after {lasting(seconds)}"] if seconds is not None else []
    return ", ".join(timings)


# --- sequence diagram -------------------------------------------------------------------------------------------------

WIDTH = 100
_GUTTER = 14  # columns for the time
_PITCH_MIN, _PITCH_MAX = 10, 26
_REASON_LINES_MAX = 3
_LANE, _LEASED = "│", "┃"


class _Columns(NamedTuple):
    places: dict[str, int]  # column of each lane
    pitch: int
    width: int


def render_sequence(histories: Sequence[MessageHistory], width: int = WIDTH) -> str:
    """A lane for each agent, thick while it has a leased message; a list of steps if the lanes do not fit."""
    whole = conversation(histories)
    columns = _columns(whole, max(width, 40))
    lines = _listed(whole, width) if columns is None else _drawn(whole, columns)
    heading = cut("  ".join([name_of(whole.name), *whole.heading]), width)
    return "\n".join(line.rstrip() for line in [heading, "", *lines]) + "\n"


def _columns(whole: Conversation, width: int) -> _Columns | None:
    """As wide as names and types need, if there is room. None: the lanes do not fit."""
    texts = [name_of(lane) for lane in whole.lanes] + [step.label for step in whole.steps if step.to]
    wanted = max((cells(text) + 4 for text in texts), default=0)
    pitch = min(max(wanted, _PITCH_MIN), _PITCH_MAX, (width - _GUTTER) // max(len(whole.lanes), 1))
    if pitch < _PITCH_MIN:
        return None
    start = _GUTTER + min(cells(texts[0]), pitch) // 2 + 1 if texts else _GUTTER
    return _Columns({lane: start + pitch * place for place, lane in enumerate(whole.lanes)}, pitch, width)


class _Line:
    """A line of the diagram: characters by column, of which a wide one takes two."""

    def __init__(self, columns: _Columns, leases: dict[str, int]) -> None:
        self.row = [" "] * columns.width
        for lane, column in columns.places.items():
            self.row[column] = _LEASED if leases.get(lane) else _LANE

    def put(self, column: int, text: str) -> "_Line":
        """Overwrite from that column on, up to the edge."""
        text = cut(text, len(self.row) - column)
        column = max(column, 0)
        for char in text:
            size = cells(char)
            if size == 0:
                self.row[column - 1] += char
            else:
                self.row[column : column + size] = [char, *[""] * (size - 1)]
            column += size
        return self

    def __str__(self) -> str:
        return "".join(self.row)


def _drawn(whole: Conversation, columns: _Columns) -> Iterator[str]:
    yield from _names(whole, columns)
    spans = lease_spans(whole.steps)
    begins, ends = {span.first: span.lane for span in spans}, {span.last: span.lane for span in spans}
    leases: dict[str, int] = {}  # open leases by lane
    for index, step in enumerate(whole.steps):
        if index in begins:
            leases[begins[index]] = leases.get(begins[index], 0) + 1
        if not step.is_first_lease:
            yield from map(str, _step_lines(step, whole, columns, leases))
        if index in ends:
            leases[ends[index]] -= 1
    yield str(_Line(columns, leases))


def _names(whole: Conversation, columns: _Columns) -> Iterator[str]:
    """Names above their lanes: in one line if they fit, else alternately in two."""
    names = [name_of(lane) for lane in whole.lanes]
    turns = 1 if all(cells(name) <= columns.pitch - 1 for name in names) else 2
    for turn in range(turns):
        line = _Line(columns._replace(places={}), {})
        for place, (name, column) in enumerate(zip(names, columns.places.values(), strict=True)):
            if place % turns == turn:
                fitting = squeezed(name, min(columns.pitch * turns - 1, 2 * (columns.width - column) - 1))
                line.put(column - cells(fitting) // 2, fitting)
            elif turn == 1:
                line.put(column, _LANE)
        yield str(line)


def _step_lines(step: TraceStep, whole: Conversation, columns: _Columns, leases: dict[str, int]) -> list[_Line]:
    above: list[_Line] = []
    if step.kind == "refused":
        lines = _beside(step, f"──{SIGNS['bad']}", [step.refusal, step.because()], columns, leases)
    elif not step.to:
        lines = _beside(step, f" {SIGNS[step.tone]}", [step.phrase], columns, leases)
    elif step.to == (step.lane,):
        lines = _beside(step, "─↩", [f"{step.label}, to itself"], columns, leases)
    else:
        left = min(columns.places[lane] for lane in (step.lane, *step.to))
        start = min(left + 2, max(columns.width - cells(step.label), _GUTTER))
        above = [_Line(columns, leases).put(start, step.label)]
        lines = [_arrow(step, columns, leases)]
    lines[0].put(0, f"{whole.when(step.at):>{_GUTTER - 2}}")
    return above + lines


def _beside(step: TraceStep, mark: str, texts: list[str], columns: _Columns, leases: dict[str, int]) -> list[_Line]:
    """Text right of the lane if it fits there, else on the wider side, in several lines."""
    column, size = columns.places[step.lane], cells(mark) + 1
    right, left = columns.width - column - 1, column - _GUTTER
    on_right = max(map(cells, texts)) + size < right or right >= left
    room = (right if on_right else left) - size - 1
    lines: list[_Line] = []
    for text in [line for words in texts if words for line in folded(words, room, _REASON_LINES_MAX)]:
        lead = " " * cells(mark) if lines else mark if on_right else mark[::-1]
        place, words = (column + 1, f"{lead} {text} ") if on_right else (column - cells(text) - size, f"{text} {lead}")
        lines.append(_Line(columns, leases).put(place, words))
    return lines


def _arrow(step: TraceStep, columns: _Columns, leases: dict[str, int]) -> _Line:
    """From the sender's lane to all that it reached; dashed for an answer."""
    line, start = _Line(columns, leases), columns.places[step.lane]
    reached = [columns.places[lane] for lane in step.to if lane != step.lane]
    dash = "╌" if step.message.is_answer else "─"
    low, high = min(start, *reached), max(start, *reached)
    for column in range(low + 1, high):
        line.row[column] = "┼" if line.row[column] in (_LANE, _LEASED) else dash
    line.row[start] = "┼" if low < start < high else "├" if start == low else "┤"
    for column in reached:
        line.row[column] = _LEASED if line.row[column] == _LEASED else _LANE
        line.row[column - 1 if column > start else column + 1] = "▶" if column > start else "◀"
    return line


def _listed(whole: Conversation, width: int) -> Iterator[str]:
    for step in whole.steps:
        if step.to:
            text = f"─▶ {', '.join(map(name_of, step.to))}  {step.label}"
        elif step.kind == "refused":
            text = f"─{SIGNS['bad']} {step.refusal}{step.because(': ')}"
        else:
            text = f"{SIGNS[step.tone]} {step.phrase}"
        if not step.is_first_lease:
            yield cut(f"{whole.when(step.at):>{_GUTTER - 2}}  {name_of(step.lane)} {text}", width)


# --- Mermaid ----------------------------------------------------------------------------------------------------------

_NOTE_WIDTH, _NOTE_LINES = 60, 6  # Mermaid does not wrap notes
_END = re.compile(r"\be(?=nd\b)", re.IGNORECASE)
_HARMLESS = frozenset(" _.,/()-+×")  # not : # ; (codes), % { (directives) or < (tags)


def render_mermaid(histories: Sequence[MessageHistory]) -> str:
    whole = conversation(histories)
    ids = {lane: f"p{number}" for number, lane in enumerate(whole.lanes, 1)}
    lines = [f"participant {id_} as {_escaped(name_of(lane))}" for lane, id_ in ids.items()]
    if whole.lanes:
        ends = dict.fromkeys((ids[whole.lanes[0]], ids[whole.lanes[-1]]))
        heading = ", ".join([name_of(whole.name), *whole.heading])
        lines.append(f"Note over {','.join(ends)}: {_escaped(heading)}")
    return _mermaid("sequenceDiagram", [*lines, *_mermaid_steps(whole, ids)])


def _mermaid_steps(whole: Conversation, ids: dict[str, str]) -> Iterator[str]:
    # Mermaid stops at a `deactivate` without its `activate`, so only complete leases get both.
    spans = [span for span in lease_spans(whole.steps) if span.last is not None]
    begins, ends = {span.first for span in spans}, {span.last: ids[span.lane] for span in spans}
    for index, step in enumerate(whole.steps):
        if step.kind == "leased" and not step.is_first_lease:
            yield _note(step, ids, whole)
        if index in begins:
            yield f"activate {ids[step.lane]}"
        if step.kind != "leased" and not step.to:
            yield _note(step, ids, whole)
        arrow = "-->>" if step.message.is_answer else "->>"
        for lane in step.to:
            yield f"{ids[step.lane]}{arrow}{ids[lane]}: {_escaped(f'{step.label}, {whole.when(step.at)}')}"
        if index in ends:
            yield f"deactivate {ends[index]}"


def _note(step: TraceStep, ids: dict[str, str], whole: Conversation) -> str:
    text = step.refusal + step.because(": ") if step.kind == "refused" else step.phrase
    lines = folded(text, _NOTE_WIDTH, _NOTE_LINES)
    lines[-1] += f", {whole.when(step.at)}"
    return f"Note over {ids[step.lane]}: {'<br/>'.join(map(_escaped, lines))}"


def render_stall(stall: Stall) -> str:
    """Waits between agents as a flowchart; agents in a cycle are marked."""
    names = dict.fromkeys(name for wait in stall.waits for name in (wait.who, wait.whom))
    ids = {name: f"a{number}" for number, name in enumerate(names, 1)}
    in_cycle = {name for knot in stall.knots if knot.kind == "cycle" for name in knot.who}
    lines = [f'{id_}["{_escaped(name)}"]' for name, id_ in ids.items()]
    lines += [f'{ids[wait.who]} -- "{wait.why}: {_escaped(wait.about)}" --> {ids[wait.whom]}' for wait in stall.waits]
    lines += [f"style {ids[name]} stroke-width:3px" for name in sorted(in_cycle) if name in ids]
    return _mermaid("flowchart LR", lines)


def _mermaid(kind: str, lines: Sequence[str]) -> str:
    return "\n".join([kind, *(f"    {line}" for line in lines)]) + "\n"


def _escaped(text: str) -> str:
    """Everything as an entity code that could mean something to Mermaid, also the word `end`."""
    coded = "".join(char if char.isalnum() or char in _HARMLESS else f"#{ord(char)};" for char in text)
    return _END.sub(lambda match: f"#{ord(match[0])};", coded)

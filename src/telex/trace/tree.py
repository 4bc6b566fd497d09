"""A conversation as a tree of replies with timings.

Each message is below the one that it answers; messages without a parent are at the top level, in order of time.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from telex.ports.bus import MessageHistory
from telex.trace.labels import SIGNS, because, headline, tone
from telex.trace.steps import Conversation, DeliveryOutcome, TraceMessage, TraceStep, conversation
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


def render(stories: Sequence[MessageHistory], width: int | None = None) -> str:
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

"""A conversation as a Mermaid sequence diagram.

Text from messages is escaped so that Mermaid reads it as text only: every character except letters, digits and a few
harmless signs is an entity code, and participants have generated names.
"""

import re
from collections.abc import Iterator, Sequence

from telex.ports.bus import MessageHistory
from telex.trace.labels import label, phrase
from telex.trace.steps import Conversation, TraceStep, conversation, holds
from telex.trace.text import folded, moment, name_of, offset

_NOTE_WIDTH, _NOTE_LINES = 60, 6  # letters; Mermaid itself would draw a reason in one line, as wide as the page
_BREAK = "<br/>"  # the only tag there is, and no message can write it
_END = re.compile(r"\be(?=nd\b)", re.IGNORECASE)
_HARMLESS = frozenset(" _.,/()-+×")  # behind a colon; not another colon, # or ; (codes), % or { (directives), < (tags)


def render(stories: Sequence[MessageHistory]) -> str:
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

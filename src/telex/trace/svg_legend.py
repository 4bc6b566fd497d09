"""What do the colours and signs of the picture mean? Only those that it has."""

from collections.abc import Iterator

from telex.dialects.schema import PRIORITIES
from telex.trace.labels import class_of
from telex.trace.steps import Conversation
from telex.trace.svg_style import wide

_ROW, _GAP, _SAMPLE = 22, 22, 30  # pixels


def legend(whole: Conversation, left: float, top: float, right: float) -> tuple[list[str], float]:
    """The parts to draw, in as many rows as they need, and where the picture ends below them."""
    parts, x, y = [], left, top + 14
    for sample, words in _entries(whole):
        width = _SAMPLE + wide(words)
        if x > left and x + width > right:
            x, y = left, y + _ROW
        parts.append(f'<g transform="translate({x:.1f} {y:.1f})">{sample}')
        parts.append(f'<text class="faint" x="{_SAMPLE}" y="4">{words}</text></g>')
        x += width + _GAP
    return parts, y + 26


def _entries(whole: Conversation) -> Iterator[tuple[str, str]]:
    used = {class_of(whole.about(step)) for step in whole.steps if step.to}
    for name in PRIORITIES:
        if name in used:
            kind = name.lower()
            arrow = f'<line class="arrow {kind}" x2="18"/><path class="head {kind}" d="M24 0l-9 -4.5v9z"/>'
            yield arrow, name
    if any(message.parent is not None for message in whole.messages):
        yield '<line class="arrow status answer" x2="24"/>', "an answer"
    if any(step.kind == "leased" for step in whole.steps):
        yield '<rect class="held status" x="7" y="-7" width="10" height="14" rx="2"/>', "in hand, from lease to ack"

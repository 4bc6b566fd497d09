"""Sequence diagram of a conversation as one SVG file, without scripts, fonts or external resources.

Rows are in the order of events, with the time beside each. Text from messages is escaped twice: control characters
first, then XML.
"""

from collections.abc import Iterator, Sequence
from html import escape

from telex.dialects.schema import PRIORITIES
from telex.model.named_tuple import NamedTuple
from telex.ports.bus import MessageHistory
from telex.trace.steps import Conversation, LeaseSpan, Tone, TraceStep, conversation, lease_spans
from telex.trace.text import cells, cut, folded, name_of, squeezed
from telex.validation.authorization import normalised

_GUTTER, _MARGIN, _TOP = 112, 24, 124  # pixels: column of times, margin, first row
_PITCH_MIN, _PITCH_MAX, _WIDTH_MIN = 150, 250, 640
_NOTE_CHARACTERS, _NOTE_LINES = 40, 3
_BAR = 5  # half the width of the bar of a lease
_LEGEND_ROW, _LEGEND_GAP, _LEGEND_SAMPLE = 22, 22, 30  # pixels


class _Canvas(NamedTuple):
    whole: Conversation
    lanes: dict[str, float]  # x
    rows: list[float]  # y of each step
    pitch: float
    width: float
    bottom: float  # of the lifelines


def render_svg(histories: Sequence[MessageHistory]) -> str:
    """The SVG file, for light and dark backgrounds."""
    canvas = _canvas(conversation(histories))
    whole, width = canvas.whole, f"{canvas.width:.0f}"
    legend, bottom = _legend(whole, canvas.bottom + 52, canvas.width - _MARGIN)
    height = f"{bottom:.0f}"
    title, about = f"Conversation {name_of(whole.name)}", " · ".join(whole.heading)
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="telex-trace" {size} role="img">',
            f"<title>{escape(title)}</title>",
            f"<desc>{escape(about)}. Between {escape(', '.join(map(name_of, whole.lanes)))}.</desc>",
            f"<style>{_style()}</style>",
            f'<rect class="paper" width="{width}" height="{height}" rx="10"/>',
            _text(_MARGIN, 38, title, "title ink"),
            _text(_MARGIN, 60, about, "faint"),
            *_lifelines(canvas),
            *(_bar(span, level, canvas) for span, level in _levels(lease_spans(whole.steps))),
            *(part for step, y in zip(whole.steps, canvas.rows, strict=True) for part in _step(step, y, canvas)),
            *legend,
            "</svg>\n",
        ]
    )


# --- layout -----------------------------------------------------------------------------------------------------------


def _canvas(whole: Conversation) -> _Canvas:
    labels = [_pixels(step.label, strong=True) + 32 for step in whole.steps if step.to]
    names = [_pixels(name_of(lane), 13, strong=True) + 40 for lane in whole.lanes]
    pitch = min(max([_PITCH_MIN, *labels, *names]), _PITCH_MAX)
    lanes = {lane: _GUTTER + pitch / 2 + pitch * place for place, lane in enumerate(whole.lanes)}
    rows, y = [], float(_TOP)
    for step in whole.steps:
        above, below = _heights(step)
        rows.append(y + above)
        y += above + below
    width = max(_GUTTER + pitch * len(lanes) + _MARGIN, _WIDTH_MIN)
    return _Canvas(whole, lanes, rows, pitch, width, bottom=y + 14)


def _heights(step: TraceStep) -> tuple[float, float]:
    """Height of a step above its line and below."""
    if step.kind == "leased":
        return (6, 4) if step.is_first_lease else (12, 12)
    if step.to:
        return (34, 20) if step.to == (step.lane,) else (30, 8)
    if _is_note(step):
        half = _note_height(step) / 2
        return half + 6, half + 6
    return 14, 10


def _is_note(step: TraceStep) -> bool:
    return step.tone in ("wait", "bad")


def _note_lines(step: TraceStep) -> list[str]:
    return folded(step.because(), _NOTE_CHARACTERS, _NOTE_LINES) if step.reason else []


def _note_height(step: TraceStep) -> float:
    return 24 + 15 * len(_note_lines(step))


def _levels(spans: Sequence[LeaseSpan]) -> Iterator[tuple[LeaseSpan, int]]:
    """Overlapping bars of one agent get different levels, drawn side by side."""
    ends: dict[tuple[str, int], int | None] = {}  # by lane and level: the step that ends the last bar there
    for span in spans:
        level = 0
        while (span.lane, level) in ends and ((end := ends[span.lane, level]) is None or end > span.first):
            level += 1
        ends[span.lane, level] = span.last
        yield span, level


def _pixels(text: str, size: float = 12.0, *, strong: bool = False) -> float:
    """Estimated width of the text, rather too large: the font of the viewer is unknown."""
    return sum(_em(char) for char in text) * size * (1.14 if strong else 1.0)


def _em(char: str) -> float:
    if not char.isascii():
        return 0.62 * cells(char)
    if char in "mwMW@%":
        return 0.92
    if char.isupper():
        return 0.7
    return 0.38 if char in "iljtfr.,:;|!'()[]/ " else 0.63


# --- elements ---------------------------------------------------------------------------------------------------------


def _lifelines(canvas: _Canvas) -> Iterator[str]:
    for lane, x in canvas.lanes.items():
        name = name_of(lane)
        while _pixels(name, 13, strong=True) > canvas.pitch - 34:
            name = squeezed(name, cells(name) - 1)
        half = max(_pixels(name, 13, strong=True) / 2 + 12, 36)
        yield _line("life", x, 118, x, canvas.bottom)
        for y in (84, canvas.bottom):
            title = f"<title>{escape(name_of(lane))}</title>"
            yield _rect("box", x - half, y, 2 * half, 34, f' rx="7">{title}</rect>')
            yield _text(x, y + 22, name, "name")


def _bar(span: LeaseSpan, level: int, canvas: _Canvas) -> str:
    x, top = canvas.lanes[span.lane] - _BAR + 6 * min(level, 4), canvas.rows[span.first]
    bottom = canvas.bottom if span.last is None else canvas.rows[span.last]
    place = f'x="{x:.1f}" y="{top:.1f}" width="{2 * _BAR}" height="{max(bottom - top, 3):.1f}" rx="2"'
    kind = f"held {span.message.priority.lower()}{' open' if span.last is None else ''}"
    title = f"<title>#{span.message.number} in hand</title>"
    return f'<rect class="paper" {place}/><rect class="{kind}" {place}>{title}</rect>'


def _step(step: TraceStep, y: float, canvas: _Canvas) -> Iterator[str]:
    if step.is_first_lease:
        return  # the start of the bar shows it
    yield _text(_GUTTER - 14, y + 4, canvas.whole.when(step.at), "when")
    if step.to:
        yield from _arrow(step, y, canvas)
    elif _is_note(step):
        yield from _note(step, y, canvas)
    else:
        x, words = canvas.lanes[step.lane], f"#{step.message.number} {step.headline}"
        side = _side(x, 14 + _pixels(words), 1, canvas)
        yield _badge(x, y, step.tone)
        colour = "good" if step.tone == "good" else "faint"
        yield from _backed_text(x + side * 14, y + 4, words, colour, "end" if side < 0 else "start")


def _arrow(step: TraceStep, y: float, canvas: _Canvas) -> Iterator[str]:
    x, kind = canvas.lanes[step.lane], step.message.priority.lower()
    style = f"arrow {kind} answer" if step.message.is_answer else f"arrow {kind}"
    others = [canvas.lanes[lane] for lane in step.to if lane != step.lane]
    if not others:
        yield f'<path class="{style}" d="M{x + _BAR:.1f} {y - 8:.1f}h34v14h-28"/>'
        yield _head(x + _BAR, y + 6, -1, kind)
        yield from _backed_text(x + 48, y + 3, step.label, f"strong {kind}")
        return
    for side in (-1, 1):
        reached = [other for other in others if (other - x) * side > 0]
        if reached:
            end = max(reached, key=lambda other: abs(other - x)) - side * (_BAR + 2)
            yield _line(style, x + side * _BAR, y, end, y)
            yield from (_head(other - side * _BAR, y, side, kind) for other in reached)
    nearest, words = min(others, key=lambda other: abs(other - x)), step.label
    while _pixels(words, strong=True) > abs(nearest - x) - 18:
        words = cut(words, cells(words) - 1)
    yield from _backed_text((x + nearest) / 2, y - 8, words, f"strong {kind}", "middle")


def _head(x: float, y: float, side: int, kind: str) -> str:
    return f'<path class="head {kind}" d="M{x:.1f} {y:.1f}l{-side * 9} -4.5v9z"/>'


def _note(step: TraceStep, y: float, canvas: _Canvas) -> Iterator[str]:
    """A box beside the lane with the error and its reason."""
    x, tone, lines, message = canvas.lanes[step.lane], step.tone, _note_lines(step), step.message
    first, distance, preferred = f"#{message.number} {step.headline}", 14, 1
    if step.kind == "refused":
        first = f"{cut(step.label, 30)} to {cut(name_of(message.to), 20)}: refused"
        distance, preferred = 52, -1 if canvas.lanes.get(normalised(message.to), x) < x else 1
    width = max([_pixels(first, strong=True), *map(_pixels, lines)]) + 22
    height, side = _note_height(step), _side(x, distance + width, preferred, canvas)
    left, top = x + distance if side > 0 else x - distance - width, y - height / 2
    if step.kind == "refused":  # an arrow that does not reach its recipient
        yield _line("arrow bad", x + side * _BAR, y, x + side * 34, y)
    yield _badge(x + side * 40 if step.kind == "refused" else x, y, tone)
    yield _rect(f"{tone}-box", left, top, width, height, ' rx="5"/>')
    yield _text(left + 11, top + 16, first, f"strong {tone}")
    yield from (_text(left + 11, top + 32 + 15 * number, line, "ink") for number, line in enumerate(lines))


def _side(x: float, needed: float, preferred: int, canvas: _Canvas) -> int:
    """Right (1) or left (-1) of a lane: the preferred side if it fits there, else the wider one."""
    room = {1: canvas.width - _MARGIN / 2 - x, -1: x - _GUTTER + 8}
    return preferred if needed <= room[preferred] or room[preferred] >= room[-preferred] else -preferred


_BADGES: dict[Tone, str] = {  # paths: readers may not see colours
    "good": "m-3.4 0.2l2.4 2.6 4.4 -5",
    "wait": "m0 -3.6v4m0 3.1v0.1",
    "bad": "m-2.8 -2.8l5.6 5.6m0 -5.6l-5.6 5.6",
    "plain": "",
}


def _badge(x: float, y: float, tone: Tone) -> str:
    path = _BADGES[tone]
    circle = f'<circle class="badge {tone}" cx="{x:.1f}" cy="{y:.1f}" r="{7 if path else 3.5}"/>'
    return f'{circle}<path class="sign" d="M{x:.1f} {y:.1f}{path}"/>' if path else circle


def _backed_text(x: float, y: float, words: str, kind: str, anchor: str = "start") -> Iterator[str]:
    """Text on a background, so that no lifeline crosses it."""
    width = _pixels(words)
    left = {"start": x, "middle": x - width / 2, "end": x - width}[anchor]
    yield _rect("paper", left - 2, y - 11, width + 4, 15)
    yield _text(x, y, words, f"{kind} {anchor}")


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def _rect(kind: str, x: float, y: float, width: float, height: float, end: str = "/>") -> str:
    return f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"{end}'


def _text(x: float, y: float, words: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(words)}</text>'


def _legend(whole: Conversation, top: float, right: float) -> tuple[list[str], float]:
    """Elements of the legend, and the height of the picture with it."""
    parts, x, y = [], float(_MARGIN), top + 14
    for sample, words in _legend_entries(whole):
        width = _LEGEND_SAMPLE + _pixels(words)
        if x > _MARGIN and x + width > right:
            x, y = _MARGIN, y + _LEGEND_ROW
        parts.append(f'<g transform="translate({x:.1f} {y:.1f})">{sample}')
        parts.append(f'<text class="faint" x="{_LEGEND_SAMPLE}" y="4">{words}</text></g>')
        x += width + _LEGEND_GAP
    return parts, y + 26


def _legend_entries(whole: Conversation) -> Iterator[tuple[str, str]]:
    used = {step.message.priority for step in whole.steps if step.to}
    for name in PRIORITIES:
        if name in used:
            kind = name.lower()
            yield f'<line class="arrow {kind}" x2="18"/><path class="head {kind}" d="M24 0l-9 -4.5v9z"/>', name
    if any(message.is_answer for message in whole.messages):
        yield '<line class="arrow status answer" x2="24"/>', "an answer"
    if any(step.kind == "leased" for step in whole.steps):
        yield '<rect class="held status" x="7" y="-7" width="10" height="14" rx="2"/>', "in hand, from lease to ack"


# --- style ------------------------------------------------------------------------------------------------------------

_COLOURS = {  # light, dark
    "paper": ("#ffffff", "#0f141b"),
    "ink": ("#1b2330", "#e3e9f1"),
    "faint": ("#64707f", "#94a1b2"),
    "line": ("#c3ccd8", "#3a4553"),
    "box": ("#f2f5f9", "#1b232e"),
    "escalation": ("#8b2fc9", "#c792ea"),
    "error": ("#c2255c", "#f783ac"),
    "validation": ("#1864ab", "#74b3f2"),
    "status": ("#4c5a6b", "#a3b1c2"),
    "good": ("#1f7a3f", "#63d08a"),
    "wait": ("#8a5a00", "#f0b94d"),
    "bad": ("#b3261e", "#ff8a80"),
    "wait-box": ("#fff6e0", "#2d2412"),
    "bad-box": ("#fdeceb", "#331816"),
}
_RULES = {
    ".paper": "fill: {paper}",
    ".ink, .name": "fill: {ink}",
    ".faint, .when, .plain.badge": "fill: {faint}",
    ".box": "fill: {box}; stroke: {line}",
    ".life": "stroke: {line}",
    ".sign": "stroke: {paper}",
    ".wait-box": "fill: {wait-box}; stroke: {wait}",
    ".bad-box": "fill: {bad-box}; stroke: {bad}",
    **{f".{name}.arrow": f"stroke: {{{name}}}" for name in ("escalation", "error", "validation", "status", "bad")},
    **{
        f".{name}.head, .{name}.badge, text.{name}": f"fill: {{{name}}}"
        for name in ("escalation", "error", "validation", "status", "good", "wait", "bad")
    },
    **{
        f".{name}.held": f"fill: {{{name}}}; stroke: {{{name}}}"
        for name in ("escalation", "error", "validation", "status")
    },
}
_SHAPES = {
    "text": "font-family: system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif;"
    " font-size: 12px",
    ".title": "font-size: 17px; font-weight: 600",
    ".name": "font-size: 13px; font-weight: 600; text-anchor: middle",
    ".when": "font-size: 11px; text-anchor: end",
    ".strong": "font-weight: 600",
    ".middle": "text-anchor: middle",
    ".end": "text-anchor: end",
    ".life": "stroke-width: 1; stroke-dasharray: 3 4",
    ".arrow": "stroke-width: 1.6; fill: none",
    ".answer": "stroke-dasharray: 6 4",
    ".held": "stroke-width: 1; fill-opacity: 0.28",
    ".open": "stroke-dasharray: 3 3",
    ".sign": "stroke-width: 1.8; fill: none; stroke-linecap: round; stroke-linejoin: round",
}


def _style() -> str:
    """The style sheet, whose selectors match only inside the picture. Viewers without schemes show the light one."""
    colours = [{name: pair[scheme] for name, pair in _COLOURS.items()} for scheme in (0, 1)]
    light, dark = (_scoped({key: rule.format(**own) for key, rule in _RULES.items()}) for own in colours)
    dark = dark.replace("\n", "\n  ")
    return f"{_scoped(_SHAPES)}{light}\n@media (prefers-color-scheme: dark) {{{dark}\n}}\n"


def _scoped(rules: dict[str, str]) -> str:
    return "".join(
        f"\n.telex-trace {selectors.replace(', ', ', .telex-trace ')} {{ {body} }}" for selectors, body in rules.items()
    )

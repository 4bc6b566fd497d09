"""Colours and font metrics of the SVG diagram, for light and dark; only system fonts."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

from telex.dialects.schema import PRIORITIES
from telex.ports.bus import MessageHistory
from telex.trace.steps import (
    Conversation,
    LeaseSpan,
    Tone,
    TraceStep,
    because,
    class_of,
    conversation,
    headline,
    holds,
    label,
    tone,
)
from telex.trace.text import cells, cut, folded, moment, name_of, offset, squeezed
from telex.validation.authorization import normalised

LIGHT_AND_DARK = {
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
_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif"
_SHAPE = f"""
.telex-trace text {{ font-family: {_FONT}; font-size: 12px }}
.telex-trace .title {{ font-size: 17px; font-weight: 600 }}
.telex-trace .name {{ font-size: 13px; font-weight: 600; text-anchor: middle }}
.telex-trace .when {{ font-size: 11px; text-anchor: end }}
.telex-trace .strong {{ font-weight: 600 }}
.telex-trace .middle {{ text-anchor: middle }}
.telex-trace .end {{ text-anchor: end }}
.telex-trace .life {{ stroke-width: 1; stroke-dasharray: 3 4 }}
.telex-trace .arrow {{ stroke-width: 1.6; fill: none }}
.telex-trace .answer {{ stroke-dasharray: 6 4 }}
.telex-trace .held {{ stroke-width: 1; fill-opacity: 0.28 }}
.telex-trace .open {{ stroke-dasharray: 3 3 }}
.telex-trace .sign {{ stroke-width: 1.8; fill: none; stroke-linecap: round; stroke-linejoin: round }}"""


def style() -> str:
    """The style sheet. Plain rules first, so that a viewer which knows nothing of schemes shows the light one."""
    dark = _colours(1).replace("\n", "\n  ")
    return f"{_SHAPE}{_colours(0)}\n@media (prefers-color-scheme: dark) {{{dark}\n}}\n"


def _colours(scheme: int) -> str:
    colour = {name: both[scheme] for name, both in LIGHT_AND_DARK.items()}
    rules = [
        f".paper {{ fill: {colour['paper']} }}",
        f".ink, .name {{ fill: {colour['ink']} }}",
        f".faint, .when {{ fill: {colour['faint']} }}",
        f".box {{ fill: {colour['box']}; stroke: {colour['line']} }}",
        f".life {{ stroke: {colour['line']} }}",
        f".sign {{ stroke: {colour['paper']} }}",
        f".wait-box {{ fill: {colour['wait-box']}; stroke: {colour['wait']} }}",
        f".bad-box {{ fill: {colour['bad-box']}; stroke: {colour['bad']} }}",
    ]
    for name in ("escalation", "error", "validation", "status"):
        rules += [
            f".{name}.arrow {{ stroke: {colour[name]} }}",
            f".{name}.head, text.{name} {{ fill: {colour[name]} }}",
            f".{name}.held {{ fill: {colour[name]}; stroke: {colour[name]} }}",
        ]
    for name in ("good", "wait", "bad"):
        rules.append(f".{name}.badge, text.{name} {{ fill: {colour[name]} }}")
        rules.append(f".{name}.arrow {{ stroke: {colour[name]} }}")
    rules.append(f".plain.badge {{ fill: {colour['faint']} }}")
    return "".join("\n" + _scoped(rule) for rule in rules)


def _scoped(rule: str) -> str:
    """A picture inside a page must not restyle the page."""
    selectors, brace, body = rule.partition(" {")
    return ", ".join(f".telex-trace {selector}" for selector in selectors.split(", ")) + brace + body


def wide(text: str, size: float = 12.0, *, strong: bool = False) -> float:
    """About how many pixels the text takes, rather too many than too few: which font there is cannot be known."""
    return sum(_em(letter) for letter in text) * size * (1.14 if strong else 1.0)


def _em(letter: str) -> float:
    if not letter.isascii():
        return 0.62 * cells(letter)
    if letter in "mwMW@%":
        return 0.92
    if letter.isupper():
        return 0.7
    return 0.38 if letter in "iljtfr.,:;|!'()[]/ " else 0.63


_GUTTER, _MARGIN, _TOP = 112, 24, 124  # pixels: the column of times, the margin, the first row
_PITCH_LEAST, _PITCH_MOST, _WIDTH_LEAST = 150, 250, 640
_NOTE_CHARACTERS, _NOTE_LINES = 40, 3
_BAR = 5  # half the width of an activation bar


class _Canvas(NamedTuple):
    """Layout of the diagram."""

    whole: Conversation
    lanes: dict[str, float]  # across
    rows: list[float]  # down: the line of each step
    pitch: float
    width: float
    bottom: float  # where the lifelines end


def render_svg(stories: Sequence[MessageHistory]) -> str:
    """The SVG file, for light and dark backgrounds."""
    sheet = _laid_out(conversation(stories))
    whole = sheet.whole
    key, height = legend(whole, _MARGIN, sheet.bottom + 52, sheet.width - _MARGIN)
    title = f"Conversation {name_of(whole.name)}"
    about = f"{moment(whole.began_at)} · {whole.heading}"
    size = f'width="{sheet.width:.0f}" height="{height:.0f}" viewBox="0 0 {sheet.width:.0f} {height:.0f}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" class="telex-trace" {size} role="img">',
            f"<title>{escape(title)}</title>",
            f"<desc>{escape(about)}. Between {escape(', '.join(map(name_of, whole.lanes)))}.</desc>",
            f"<style>{style()}</style>",
            f'<rect class="paper" width="{sheet.width:.0f}" height="{height:.0f}" rx="10"/>',
            _text(_MARGIN, 38, title, "title ink"),
            _text(_MARGIN, 60, about, "faint"),
            *_lifelines(sheet),
            *(_held(hold, level, sheet) for hold, level in _levelled(holds(whole.steps))),
            *(part for index, step in enumerate(whole.steps) for part in _of_step(step, sheet.rows[index], sheet)),
            *key,
            "</svg>\n",
        ]
    )


# --- layout --------------------------------------------------------------------------------------------------------


def _laid_out(whole: Conversation) -> _Canvas:
    labels = [wide(label(step, whole), strong=True) + 32 for step in whole.steps if step.to]
    names = [wide(name_of(lane), 13, strong=True) + 40 for lane in whole.lanes]
    pitch = min(max([_PITCH_LEAST, *labels, *names]), _PITCH_MOST)
    lanes = {lane: _GUTTER + pitch / 2 + pitch * place for place, lane in enumerate(whole.lanes)}
    rows, y = [], float(_TOP)
    for step in whole.steps:
        above, below = _room(step)
        rows.append(y + above)
        y += above + below
    width = max(_GUTTER + pitch * len(lanes) + _MARGIN, _WIDTH_LEAST)
    return _Canvas(whole, lanes, rows, pitch, width, bottom=y + 14)


def _room(step: TraceStep) -> tuple[float, float]:
    """Height of a step above its line and below."""
    if step.kind == "leased":
        return (12, 12) if step.attempt > 1 else (6, 4)
    if step.to:
        return (34, 20) if step.to == (step.lane,) else (30, 8)
    if _is_note(step):
        half = _note_height(step) / 2
        return half + 6, half + 6
    return 14, 10


def _is_note(step: TraceStep) -> bool:
    return tone(step) in ("wait", "bad")


def _note_lines(step: TraceStep) -> list[str]:
    return folded(because(step), _NOTE_CHARACTERS, _NOTE_LINES) if step.reason else []


def _note_height(step: TraceStep) -> float:
    return 24 + 15 * len(_note_lines(step))


def _levelled(leases: Sequence[LeaseSpan]) -> Iterator[tuple[LeaseSpan, int]]:
    """Overlapping bars of one agent get different levels, drawn side by side."""
    taken: dict[tuple[str, int], int | None] = {}  # by lane and level: the step that ends the last bar there
    for hold in leases:
        level = 0
        while (hold.lane, level) in taken and ((last := taken[hold.lane, level]) is None or last > hold.first):
            level += 1
        taken[hold.lane, level] = hold.last
        yield hold, level


# --- parts ---------------------------------------------------------------------------------------------------------


def _lifelines(sheet: _Canvas) -> Iterator[str]:
    for lane, x in sheet.lanes.items():
        name = name_of(lane)
        while wide(name, 13, strong=True) > sheet.pitch - 34:
            name = squeezed(name, cells(name) - 1)
        half = max(wide(name, 13, strong=True) / 2 + 12, 36)
        yield f'<line class="life" x1="{x:.1f}" y1="118" x2="{x:.1f}" y2="{sheet.bottom:.1f}"/>'
        for y in (84, sheet.bottom):
            yield (
                f'<rect class="box" x="{x - half:.1f}" y="{y:.1f}" width="{2 * half:.1f}" height="34" rx="7">'
                f"<title>{escape(name_of(lane))}</title></rect>"
            )
            yield _text(x, y + 22, name, "name")


def _held(hold: LeaseSpan, level: int, sheet: _Canvas) -> str:
    x, top = sheet.lanes[hold.lane] - _BAR + 6 * min(level, 4), sheet.rows[hold.first]
    bottom = sheet.bottom if hold.last is None else sheet.rows[hold.last]
    kind = class_of(sheet.whole.messages[hold.number - 1]).lower()
    still = " open" if hold.last is None else ""
    place = f'x="{x:.1f}" y="{top:.1f}" width="{2 * _BAR}" height="{max(bottom - top, 3):.1f}" rx="2"'
    title = f"<title>#{hold.number} in hand</title>"
    return f'<rect class="paper" {place}/><rect class="held {kind}{still}" {place}>{title}</rect>'


def _of_step(step: TraceStep, y: float, sheet: _Canvas) -> Iterator[str]:
    if step.kind == "leased" and step.attempt < 2:
        return  # the start of the bar shows it
    yield _text(_GUTTER - 14, y + 4, offset(step.at - sheet.whole.began_at), "when")
    if step.to:
        yield from _arrow(step, y, sheet)
    elif _is_note(step):
        yield from _note(step, y, sheet)
    else:
        x = sheet.lanes[step.lane]
        words = f"#{step.number} {headline(step)}"
        side = _side(x, 14 + wide(words), 1, sheet)
        yield _badge(x, y, tone(step))
        colour = tone(step) if tone(step) == "good" else "faint"
        yield from _backed(x + side * 14, y + 4, words, colour, "end" if side < 0 else "start")


def _arrow(step: TraceStep, y: float, sheet: _Canvas) -> Iterator[str]:
    message, x = sheet.whole.about(step), sheet.lanes[step.lane]
    kind = class_of(message).lower()
    drawn = f"arrow {kind} answer" if message.parent is not None else f"arrow {kind}"
    others = [sheet.lanes[lane] for lane in step.to if lane != step.lane]
    if not others:
        yield f'<path class="{drawn}" d="M{x + _BAR:.1f} {y - 8:.1f}h34v14h-28"/>'
        yield _head(x + _BAR, y + 6, -1, kind)
        yield from _backed(x + 48, y + 3, label(step, sheet.whole), f"strong {kind}")
        return
    for side in (-1, 1):
        reached = [other for other in others if (other - x) * side > 0]
        if reached:
            end = max(reached, key=lambda other: abs(other - x)) - side * (_BAR + 2)
            yield f'<line class="{drawn}" x1="{x + side * _BAR:.1f}" y1="{y:.1f}" x2="{end:.1f}" y2="{y:.1f}"/>'
            yield from (_head(other - side * _BAR, y, side, kind) for other in reached)
    near = min(others, key=lambda other: abs(other - x)) if len(others) > 1 else others[0]
    room = abs(near - x) - 18
    words = label(step, sheet.whole)
    while wide(words, strong=True) > room:
        words = cut(words, cells(words) - 1)
    yield from _backed((x + near) / 2, y - 8, words, f"strong {kind}", "middle")


def _head(x: float, y: float, side: int, kind: str) -> str:
    return f'<path class="head {kind}" d="M{x:.1f} {y:.1f}l{-side * 9} -4.5v9z"/>'


def _note(step: TraceStep, y: float, sheet: _Canvas) -> Iterator[str]:
    """A box beside the lane with the error and its reason."""
    x, mood, lines = sheet.lanes[step.lane], tone(step), _note_lines(step)
    first = f"#{step.number} {headline(step)}"
    away, preferred = 14, 1
    if step.kind == "refused":
        message = sheet.whole.about(step)
        first = f"{cut(label(step, sheet.whole), 30)} to {cut(name_of(message.to), 20)}: refused"
        away, preferred = 52, -1 if sheet.lanes.get(normalised(message.to), x) < x else 1
    width = max([wide(first, strong=True), *(wide(line) for line in lines)]) + 22
    height, side = _note_height(step), _side(x, away + width, preferred, sheet)
    left = x + away if side > 0 else x - away - width
    if step.kind == "refused":  # an arrow that does not reach its recipient
        yield f'<line class="arrow bad" x1="{x + side * _BAR:.1f}" y1="{y:.1f}" x2="{x + side * 34:.1f}" y2="{y:.1f}"/>'
        yield _badge(x + side * 40, y, mood)
    else:
        yield _badge(x, y, mood)
    yield (
        f'<rect class="{mood}-box" x="{left:.1f}" y="{y - height / 2:.1f}" width="{width:.1f}" '
        f'height="{height:.1f}" rx="5"/>'
    )
    yield _text(left + 11, y - height / 2 + 16, first, f"strong {mood}")
    yield from (_text(left + 11, y - height / 2 + 32 + 15 * i, line, "ink") for i, line in enumerate(lines))


def _side(x: float, needed: float, preferred: int, sheet: _Canvas) -> int:
    """Right (1) or left (-1) of a lane: the preferred side if it fits there, else the wider one."""
    room = {1: sheet.width - _MARGIN / 2 - x, -1: x - _GUTTER + 8}
    return preferred if needed <= room[preferred] or room[preferred] >= room[-preferred] else -preferred


_STROKES: dict[Tone, str] = {
    "good": "m-3.4 0.2l2.4 2.6 4.4 -5",
    "wait": "m0 -3.6v4m0 3.1v0.1",
    "bad": "m-2.8 -2.8l5.6 5.6m0 -5.6l-5.6 5.6",
    "plain": "",
}


def _badge(x: float, y: float, mood: Tone) -> str:
    """A symbol besides the colour, for readers who cannot see colours."""
    circle = f'<circle class="badge {mood}" cx="{x:.1f}" cy="{y:.1f}" r="{7 if _STROKES[mood] else 3.5}"/>'
    return f'{circle}<path class="sign" d="M{x:.1f} {y:.1f}{_STROKES[mood]}"/>' if _STROKES[mood] else circle


def _backed(x: float, y: float, words: str, kind: str, anchor: str = "start") -> Iterator[str]:
    """Text on a background, so that no lifeline crosses it."""
    width = wide(words)
    left = {"start": x, "middle": x - width / 2, "end": x - width}[anchor]
    yield f'<rect class="paper" x="{left - 2:.1f}" y="{y - 11:.1f}" width="{width + 4:.1f}" height="15"/>'
    yield _text(x, y, words, f"{kind} {anchor}")


def _text(x: float, y: float, words: str, kind: str) -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}">{escape(words)}</text>'


# --- legend -----------------------------------------------------------------------------------------------------------


_ROW, _GAP, _SAMPLE = 22, 22, 30  # pixels


def legend(whole: Conversation, left: float, top: float, right: float) -> tuple[list[str], float]:
    """The SVG elements of the legend, and the height of the picture with it."""
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

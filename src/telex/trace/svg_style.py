"""Colours and font metrics of the SVG diagram, for light and dark; only system fonts."""

from telex.trace.text import cells

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

"""Escaping of untrusted text in markdown.

A message may contain headings, HTML, fences, image links, or lines that look like our own output. Rendered as markdown,
none of that takes effect; read as text, every line is marked as quoted. Only what would take effect is escaped, since
most readers are agents and see the escapes.
"""

import re

from telex.model.text import shown

_ACTIVE = re.compile(
    r"""\\(?=[!-/:-@\[-`{-~]|$)            # an escape, or a forced line end
    |[`*\[~]                               # code, emphasis, links and pictures, strokes
    |(?<![^\W_])_                          # emphasis; inside a word or behind it an underscore is only a letter
    |<(?=[A-Za-z/!?])                      # HTML and addresses
    |&(?=\#?\w+;)                          # the name of a character""",
    re.VERBOSE,
)
_ACTIVE_AT_THE_START = re.compile(
    r"""(?P<mark>\#(?=\#{0,5}(?:\s|$))     # a heading
    |[-+](?=[\s|:-]|$)|=(?==*\s*$)         # lists, rules, the line under a heading
    |>|\||:(?=-))                          # quotes and tables
    |(?P<number>[0-9]{1,9})(?=[.)](?:\s|$))""",
    re.VERBOSE,
)
_BACKSLASHED = r"\\\g<0>"
_VERBATIM = re.compile(r"^(?: {4}| {0,3}\t| {0,3}(?:```|~~~))", re.MULTILINE)


def on_one_line(text: str) -> str:
    """The text within a line of ours."""
    return _escaped(shown(text.strip().replace("\t", " ")))


def quoted(text: str, indent: str = "") -> list[str]:
    """A text of several lines as a quotation; one that must keep its indentation, as code must, in a fence."""
    seen = shown_lines(text.strip("\n"))
    if _VERBATIM.search(text):
        return fenced(seen, indent)
    return [f"{indent}> {_escaped(line)}".rstrip(" ") for line in seen.split("\n")]


def shown_lines(text: str) -> str:
    """`shown` for a text of several lines, which stay."""
    return "\n".join(shown(line.replace("\t", "    ")).rstrip(" ") for line in text.split("\n"))


def fenced(text: str, indent: str = "", language: str = "") -> list[str]:
    """The text as it is, in a fence that is longer than any inside."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(longest + 1, 3)
    return [indent + line for line in (f"{fence}{language}", *text.split("\n"), fence)]


def code(text: str) -> str:
    """Words of ours, to be typed as they stand. They hold no backtick."""
    assert "`" not in text
    return f"`{text}`"


def _escaped(line: str) -> str:
    blanks, words = line[: len(line) - len(line.lstrip(" "))], line.lstrip(" ")
    start = _ACTIVE_AT_THE_START.match(words)
    if start is None:
        return blanks + _ACTIVE.sub(_BACKSLASHED, words)
    if start["number"]:
        after = start.end()
        return f"{blanks}{start['number']}\\{words[after]}{_ACTIVE.sub(_BACKSLASHED, words[after + 1 :])}"
    return f"{blanks}\\{start['mark']}{_ACTIVE.sub(_BACKSLASHED, words[start.end() :])}"

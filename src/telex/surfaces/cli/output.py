"""Output of commands to a terminal or a pipe.

Text of messages, file names and arguments is escaped by `shown`, so that a terminal never executes it. Commands that
must start fast import this module; tables and times are in `render`.
"""

import json
import os
import sys
from collections.abc import Iterable, Iterator
from math import isfinite
from typing import TYPE_CHECKING, Any, TextIO

from telex.dialects.write import CLOSING, OPENING, is_blank
from telex.model.finding import Finding, Severity
from telex.model.named_tuple import NamedTuple
from telex.model.text import ROOT, join, nearest
from telex.model.text import shown as shown  # every surface takes it from here
from telex.model.text import shown_block as shown_block

if TYPE_CHECKING:
    from telex.dialects.schema import Dialect, Tree
    from telex.validation.check import CheckResult

_COLOURS = {"red": "31", "green": "32", "yellow": "33", "dim": "2", "bold": "1"}
_SEVERITY_COLOURS: dict[Severity, str] = {"refusal": "red", "warning": "yellow", "note": "dim"}
_INDENT = 11  # column of a finding's text, behind its severity
_NAMES_MAX = 8  # expected values that a terminal shows
_SHELL_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-")


def did_you_mean(word: str, choices: Iterable[str], otherwise: str = "") -> str:
    """`did you mean dev?`, or `otherwise`, or the list of choices."""
    choices = list(choices)
    meant = nearest(word, choices)
    return f"did you mean {shown(meant)}?" if meant else otherwise or f"there are {shown(', '.join(choices))}"


# --- text -------------------------------------------------------------------------------------------------------------
class Screen:
    """A stream to write to, with its colours and width."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.is_terminal = stream.isatty()
        dumb = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
        self.colours = self.is_terminal and not dumb
        self.width = _columns(stream) if self.is_terminal else None  # None: no limit

    def paint(self, text: str, colour: str) -> str:
        return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m" if self.colours else text

    def line(self, *lines: str) -> None:
        self.stream.write("\n".join(lines) + "\n")


def _columns(stream: TextIO) -> int:
    columns = os.environ.get("COLUMNS", "")
    if columns.isdecimal() and int(columns):
        return int(columns)
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):  # a terminal of unknown size
        return 80


def stderr_has_its_own_reader() -> bool:
    """Whether another program than the reader of stdout reads stderr, as coding tools do."""
    try:
        apart = not os.path.sameopenfile(sys.stdout.fileno(), sys.stderr.fileno())
    except (OSError, ValueError):  # no files at all
        apart = True
    return apart and not sys.stderr.isatty()


def wrapped(text: str, width: int | None, indent: int = 0) -> list[str]:
    """The text in lines that fit; a word that is too long gets its own line."""
    if width is None or len(text) <= width - indent:
        return [text]
    lines, line = [], ""
    for word in text.split(" "):
        if line and len(line) + 1 + len(word) > width - indent:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line]


def headed(name: str, words: str, screen: Screen) -> list[str]:
    """A name with a text beside it, or below it where the terminal is too narrow."""
    title = screen.paint(name, "bold")
    if screen.width is None or len(name) + 2 + len(words) <= screen.width:
        return [f"{title}  {words}"]
    return [title, *(f"  {line}" for line in wrapped(words, screen.width, 2))]


def typed(before: str, words: list[str], width: int | None) -> list[str]:
    """A command to type, broken between words with a backslash where the terminal ends."""
    lines = [before]
    for word in words:
        if width is None or len(lines[-1]) + len(word) + 3 <= width or lines[-1] == before:
            lines[-1] += f" {word}"
        else:
            lines[-1] += " \\"
            lines.append(f"  {word}")
    return lines


def shell_word(word: str) -> str:
    """The word quoted for a shell; shlex would cost a cold start 2 ms."""
    if word and _SHELL_SAFE.issuperset(word):
        return word
    return shown("'" + word.replace("'", "'\"'\"'") + "'")


# --- JSON -------------------------------------------------------------------------------------------------------------
def print_json(*values: Any) -> None:
    sys.stdout.write("".join(json_line(value) + "\n" for value in values))


def json_line(value: Any) -> str:
    """One line of standard JSON: a number too large for it is written as text."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(value), ensure_ascii=False)
    return visible_json(text)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return str(value) if isinstance(value, float) and not isfinite(value) else value


def visible_json(text: str) -> str:
    """The same JSON with every character escaped that is not printable or that stdout cannot encode.

    Outside its strings JSON has no such characters but line ends, which stay.
    """
    any_letter = "utf" in (sys.stdout.encoding or "utf").lower()
    if text.isprintable() and (any_letter or text.isascii()):
        return text
    return "".join(
        letter
        if letter == "\n" or (letter.isprintable() and (any_letter or letter.isascii()))
        else json.dumps(letter)[1:-1]
        for letter in text
    )


# --- messages and findings --------------------------------------------------------------------------------------------
def verdict(checked: "CheckResult", screen: Screen) -> str:
    """`refused   vbw-typed execution_update`"""
    word = screen.paint("accepted", "green") if checked.valid else screen.paint("refused ", "red")
    lenient = checked.valid and any(finding.severity == "refusal" for finding in checked.findings)
    return f"{word}  {what(checked)}{' (a strict team would refuse it)' if lenient else ''}"


def what(checked: "CheckResult") -> str:
    """Dialect and type of the message in one or two words."""
    type_ = shown(checked.type) if checked.type else ""
    if checked.outcome == "control":
        return f"control frame {type_}"
    if checked.outcome == "plain":
        return "plain text"
    if checked.dialect is None:
        return "of no known type" if checked.outcome == "message" else "unreadable"
    if checked.outcome == "unreadable":
        return f"unreadable {checked.dialect.name} {type_}".rstrip()
    return f"{checked.dialect.name} {type_ or 'of no known type'}"


def finding_lines(findings: tuple[Finding, ...], screen: Screen) -> list[str]:
    """Two or more lines for each finding: severity, code and path, then the text."""
    widest = max((len(finding.code) for finding in findings), default=0)
    lines = []
    for finding in findings:
        severity = screen.paint(f"{finding.severity:<7}", _SEVERITY_COLOURS[finding.severity])
        path = screen.paint(shown(finding.path), "bold")
        code, beside = f"  {severity}  {finding.code:<{widest}}", _INDENT + widest + 2
        fits = screen.width is None or beside + len(shown(finding.path)) <= screen.width
        lines += [f"{code}  {path}"] if fits else [code.rstrip(), " " * _INDENT + path]
        words = " ".join([shown(finding.say), *_beyond_say(finding, limit=_NAMES_MAX if screen.is_terminal else None)])
        lines += [" " * _INDENT + line for line in wrapped(words, screen.width, _INDENT)]
    return lines


def refused_lines(findings: tuple[Finding, ...], screen: Screen) -> list[str]:
    return [screen.paint("refused", "red"), *finding_lines(findings, screen)]


def _beyond_say(finding: Finding, limit: int | None) -> list[str]:
    """Found and expected value, where the text does not contain them."""
    expected = finding.expected if limit is None else _some_names(finding.expected, limit)
    parts = {"found": finding.found, "expected": expected, "nearest": finding.nearest}
    left = [f"{name} {shown(value)}" for name, value in parts.items() if value and not _contains(finding.say, value)]
    return [f"({'; '.join(left)})"] if left else []


def _some_names(expected: str | None, limit: int) -> str | None:
    """The first names, for a person; an agent, which reads a pipe, gets all of them."""
    names = (expected or "").split(", ")
    *_, left_out, word = f"  {names[-1]}".split(" ")  # it may have been shortened before: `senior and 10 more`
    more = len(names) - limit + (int(left_out) if word == "more" and left_out.isdecimal() else 0)
    return expected if len(names) < limit + 2 else f"{', '.join(names[:limit])} and {more} more"


def _contains(sentence: str, words: str) -> bool:
    """Whether the sentence contains these words, and not only as a part of other words."""
    at = sentence.find(words)
    if at < 0:
        return False
    around = sentence[at - 1 : at] + sentence[at + len(words) : at + len(words) + 1]
    return not any(letter.isalnum() for letter in around)


# --- fixed messages and blanks ----------------------------------------------------------------------------------------
def fix_lines(command: str, screen: Screen, *, certain: bool) -> list[str]:
    """The command that fixes a message, and its effect."""
    effect = "prints it fixed" if certain else "prints it with blanks to fill"
    head, tail = f"  {screen.paint('fix    ', 'green')}  {command}", screen.paint(effect, "dim")
    fits = screen.width is None or _INDENT + len(command) + 2 + len(effect) <= screen.width
    return [f"{head}  {tail}"] if fits else [head, " " * _INDENT + tail]


def fix_head(text: str, *, certain: bool) -> str:
    """The line above a suggested message: what to do with it."""
    if certain:
        return "Send this instead:"
    if OPENING in text:
        return "Fill in the blanks, resolve the findings, and send this:"
    return "It reads like this. Check it, resolve the findings, and send it:"


def wire_text(
    dialect: "Dialect", tree: "Tree", body: str | None = None, *, compact: bool = False, visible: bool = True
) -> str:
    """The message as it is sent, JSON on one line when `compact`.

    JSON is always printable, because its escapes mean the same. Front matter has no escapes: it is either printable
    (`visible`) or exact.
    """
    from telex.dialects.write import write

    if dialect.form == "json":
        return json_line(tree) + "\n" if compact else visible_json(write(dialect, tree))
    text = write(dialect, tree, body)
    return shown_block(text) if visible else text


class Blank(NamedTuple):
    path: str
    expected: str


def blanks_in(value: Any, path: str = ROOT) -> Iterator[Blank]:
    """Every blank of a draft, in values and in names of fields, in order."""
    if is_blank(value):
        yield Blank(path, value.removeprefix(OPENING).removesuffix(CLOSING))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from blanks_in(item, join(path, index))
    elif isinstance(value, dict):
        for key, item in value.items():
            if is_blank(key):
                yield Blank(join(path, key), "a name in its place")
            yield from blanks_in(item, join(path, key))

"""Output to a terminal, for people and for agents that read what a command printed.

Text of messages, file names and arguments is escaped by `shown`, so that a terminal never executes it.
"""

import os
from typing import TYPE_CHECKING, TextIO

from telex.model.escape import shown as shown  # every surface takes it from here
from telex.model.finding import Finding, Severity

if TYPE_CHECKING:
    from telex.validation.check import CheckResult

_COLOURS = {"red": "31", "green": "32", "yellow": "33", "dim": "2", "bold": "1"}
_MARKS: dict[Severity, str] = {"refusal": "red", "warning": "yellow", "note": "dim"}
_INDENT = 11  # where the words of a finding begin, behind its severity
_NAMES_MAX = 8  # of those that may stand in a place, on a terminal
_PLAIN_IN_A_SHELL = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-")


def shown_block(text: str) -> str:
    """`shown` for a text of several lines, which stay."""
    return "\n".join(shown(line.replace("\t", "    ")) for line in text.split("\n"))


class Screen:
    """A stream to write to: does it take colours, and how wide is it?"""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.is_terminal = stream.isatty()
        dumb = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
        self.colours = self.is_terminal and not dumb
        self.width = _columns(stream) if self.is_terminal else None  # None: lines are as long as they need to be

    def paint(self, text: str, colour: str) -> str:
        return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m" if self.colours else text

    def line(self, text: str = "") -> None:
        self.stream.write(text + "\n")


def _columns(stream: TextIO) -> int:
    asked = os.environ.get("COLUMNS", "")
    if asked.isdecimal() and int(asked):
        return int(asked)
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):  # a terminal that does not know its size
        return 80


# --- one message ---------------------------------------------------------------------------------------------------


def verdict(checked: "CheckResult", screen: Screen) -> str:
    """`refused   vbw-typed execution_update`"""
    word = screen.paint("accepted", "green") if checked.valid else screen.paint("refused ", "red")
    lenient = checked.valid and any(finding.severity == "refusal" for finding in checked.findings)
    return f"{word}  {what(checked)}{' (a strict team would refuse it)' if lenient else ''}"


def what(checked: "CheckResult") -> str:
    """What the message was read as, in a word or two."""
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
    """Two lines for each finding, or as many as a narrow terminal needs: what and where, then what to do."""
    widest = max((len(finding.code) for finding in findings), default=0)
    lines = []
    for finding in findings:
        severity = screen.paint(f"{finding.severity:<7}", _MARKS[finding.severity])
        path = screen.paint(shown(finding.path), "bold")
        code, beside = f"  {severity}  {finding.code:<{widest}}", _INDENT + widest + 2
        fits = screen.width is None or beside + len(shown(finding.path)) <= screen.width
        lines += [f"{code}  {path}"] if fits else [code.rstrip(), " " * _INDENT + path]
        words = " ".join([shown(finding.say), *_beyond_say(finding, limit=_NAMES_MAX if screen.is_terminal else None)])
        lines += [" " * _INDENT + line for line in wrapped(words, screen.width, _INDENT)]
    return lines


def fix_lines(command: str, effect: str, screen: Screen) -> list[str]:
    """The command that fixes it, and what it does."""
    head, told = f"  {screen.paint('fix    ', 'green')}  {command}", screen.paint(effect, "dim")
    fits = screen.width is None or _INDENT + len(command) + 2 + len(effect) <= screen.width
    return [f"{head}  {told}"] if fits else [head, " " * _INDENT + told]


def fix_head(text: str, *, certain: bool) -> str:
    """What to do with the message that is shown below a refusal."""
    if certain:
        return "Send this instead:"
    from telex.dialects.write import OPENING

    if OPENING in text:
        return "Fill in the blanks, resolve the findings, and send this:"
    return "It reads like this. Check it, resolve the findings, and send it:"


def _beyond_say(finding: Finding, limit: int | None) -> list[str]:
    """What was expected and found, where the sentence does not say it already."""
    expected = finding.expected if limit is None else _some_names(finding.expected, limit)
    parts = {"found": finding.found, "expected": expected, "nearest": finding.nearest}
    left = [f"{name} {shown(value)}" for name, value in parts.items() if value and not _says(finding.say, value)]
    return [f"({'; '.join(left)})"] if left else []


def _some_names(expected: str | None, limit: int) -> str | None:
    """A person is helped by a few names; an agent, which reads through a pipe, gets them all."""
    names = (expected or "").split(", ")
    *_, left_out, word = f"  {names[-1]}".split(" ")  # it may have been shortened before: `senior and 10 more`
    more = len(names) - limit + (int(left_out) if word == "more" and left_out.isdecimal() else 0)
    return expected if len(names) < limit + 2 else f"{', '.join(names[:limit])} and {more} more"


def _says(sentence: str, words: str) -> bool:
    """Do these words stand in the sentence, and not only as a part of other words?"""
    at = sentence.find(words)
    if at < 0:
        return False
    around = sentence[at - 1 : at] + sentence[at + len(words) : at + len(words) + 1]
    return not any(letter.isalnum() for letter in around)


def wrapped(text: str, width: int | None, indent: int) -> list[str]:
    """The text in lines that fit; a word that does not fit anywhere stands by itself."""
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
    """A name and what is said of it: beside it, or below where the terminal is too narrow."""
    told = screen.paint(name, "bold")
    if screen.width is None or len(name) + 2 + len(words) <= screen.width:
        return [f"{told}  {words}"]
    return [told, *(f"  {line}" for line in wrapped(words, screen.width, 2))]


def typed(before: str, words: list[str], width: int | None) -> list[str]:
    """A command to be typed, its words kept whole. Where the terminal ends it goes on below, as a shell takes it."""
    lines = [before]
    for word in words:
        if width is None or len(lines[-1]) + len(word) + 3 <= width or lines[-1] == before:
            lines[-1] += f" {word}"
        else:
            lines[-1] += " \\"
            lines.append(f"  {word}")
    return lines


def shell_word(word: str) -> str:
    """The word as one would type it; by hand, since shlex costs a cold start 2 ms."""
    if word and _PLAIN_IN_A_SHELL.issuperset(word):
        return word
    return shown("'" + word.replace("'", "'\"'\"'") + "'")

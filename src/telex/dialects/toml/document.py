"""What does the user's file say here, and if that is wrong, on which line?

A `TomlValue` is one value of the file that knows where it stands. Asking it for text or a list gives text or a list,
and notes a flaw when it holds something else, so that reading goes on and one reading finds everything.
"""

import json
import re
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from telex.dialects.toml.line_numbers import NESTING_MAX, Path, line_of
from telex.model.limits import LIMITS
from telex.model.suggestion import nearest

FLAWS_MAX = LIMITS.findings_max
_CHOICES_SHOWN_MAX = 12
_AT_LINE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)\Z")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")


class TomlProblem(NamedTuple):
    """One thing to change in the file."""

    file: str
    line: int
    where: str  # the dotted key, such as types.release_ready.fields.builds.min; empty for the file as a whole
    say: str


class TomlDocument:
    """The file as a whole: where its keys stand, and what was found wrong so far."""

    def __init__(self, file: str, lines: dict[Path, int]) -> None:
        self.file, self.lines = file, lines
        self.flaws: dict[TomlProblem, None] = {}  # in the order found, each once
        self.remarks: dict[TomlProblem, None] = {}  # what is no flaw, and good to know

    def note(self, path: Path, say: str) -> None:
        if not self.is_full():
            self.flaws[TomlProblem(self.file, line_of(self.lines, path), dotted(path), say)] = None

    def remark(self, path: Path, say: str) -> None:
        if len(self.remarks) < FLAWS_MAX:
            self.remarks[TomlProblem(self.file, line_of(self.lines, path), dotted(path), say)] = None

    def is_full(self) -> bool:
        return len(self.flaws) >= FLAWS_MAX

    def in_order(self) -> tuple[TomlProblem, ...]:
        problems = sorted(self.flaws, key=lambda flaw: flaw.line)
        if self.is_full():
            problems.append(TomlProblem(self.file, problems[-1].line, "", f"only the first {FLAWS_MAX} flaws are told"))
        return tuple(problems)


class TomlValue(NamedTuple):
    value: Any
    path: Path
    sheet: TomlDocument

    def flaw(self, say: str) -> None:
        self.sheet.note(self.path, say)

    def remark(self, say: str) -> None:
        """Nothing is wrong, and yet whoever wrote the file would want to know."""
        self.sheet.remark(self.path, say)

    def wrong(self, expected: str) -> None:
        self.flaw(f"expected {expected}, found {shown(self.value)}")

    def unknown(self, word: str, choices: Collection[str], what: str) -> None:
        """Say that this word is none of the choices, and which one it was meant to be."""
        if not self.sheet.is_full():  # looking for what was meant costs time
            self.flaw(f"{what}; {meant_or_choices(word, choices)}")

    # --- tables ---------------------------------------------------------------------------------------------------

    def has(self, key: str) -> bool:
        return isinstance(self.value, dict) and key in self.value

    def at(self, key: str | int) -> "TomlValue":
        return TomlValue(self.value[key], (*self.path, key), self.sheet)

    def need(self, key: str, what: str) -> "TomlValue | None":
        """The place under this key. When there is none, the flaw says what belongs there."""
        if self.has(key):
            return self.at(key)
        TomlValue(None, (*self.path, key), self.sheet).flaw(f"is missing: {what}")
        return None

    def is_table(self) -> bool:
        if not isinstance(self.value, dict):
            self.wrong("a table")
        return isinstance(self.value, dict)

    def entries(self, limit: int) -> Iterator[tuple[str, "TomlValue"]]:
        """Every key of a table with its place."""
        if not self.is_table():
            return
        if len(self.value) > limit:
            self.flaw(f"has {len(self.value)} entries, and at most {limit} are read")
        for key in list(self.value)[:limit]:
            yield key, self.at(key)

    def only(self, *known: str) -> None:
        """Note every key that is none of these."""
        for key in self.value:
            if key not in known:
                self.at(key).unknown(key, known, "there is no such key here")

    # --- values ---------------------------------------------------------------------------------------------------

    def items(self, limit: int) -> list["TomlValue"]:
        if not isinstance(self.value, list):
            self.wrong("a list")
            return []
        if len(self.value) > limit:
            self.flaw(f"has {len(self.value)} entries, and at most {limit} are read")
        return [self.at(index) for index in range(min(len(self.value), limit))]

    def line(self, characters_max: int = 500) -> str | None:
        """One line of text that says something."""
        text = self.value
        if not isinstance(text, str) or not text.strip():
            self.wrong("text")
        elif len(text) > characters_max:
            self.flaw(f"has {len(text)} characters, and at most {characters_max} are read")
        elif not text.isprintable():
            self.flaw("put it on one line, without control or invisible characters")
        else:
            return text
        return None

    def word(self, pattern: re.Pattern[str], what: str) -> str | None:
        """Text of this shape; `what` describes the shape."""
        if isinstance(self.value, str) and pattern.match(self.value):
            return self.value
        self.wrong(what)
        return None

    def choice(self, choices: Collection[str]) -> str | None:
        if isinstance(self.value, str) and self.value in choices:
            return self.value
        if isinstance(self.value, str):
            self.unknown(self.value, choices, f"{shown(self.value)} is not among the choices")
        else:
            self.wrong("one of " + listed(choices))
        return None

    def boolean(self) -> bool | None:
        if not isinstance(self.value, bool):
            self.wrong("true or false")
            return None
        return self.value

    def integer(self) -> int | None:
        if isinstance(self.value, int) and not isinstance(self.value, bool) and _is_portable(self.value):
            return self.value
        is_integer = isinstance(self.value, int) and not isinstance(self.value, bool)
        self.wrong("an integer of at most 64 bits" if is_integer else "an integer")
        return None

    def number(self) -> int | float | None:
        if _is_number(self.value) and _is_portable(self.value):
            number: int | float = self.value
            return number
        self.wrong("a number of at most 64 bits" if _is_number(self.value) else "a number")
        return None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_portable(value: int | float) -> bool:
    """Can readers in other languages hold it? Infinity and not-a-number have no place in JSON at all."""
    return LIMITS.integer_min <= value <= LIMITS.integer_max or (isinstance(value, float) and abs(value) < 1e308)


def shown(value: Any) -> str:
    """What stands in the file, on one line and shortened."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dict, list)):
        return "a table" if isinstance(value, dict) else "a list"
    if _is_number(value):
        return str(value) if _is_portable(value) or isinstance(value, float) else "a number beyond 64 bits"
    text = repr(value[:200]) if isinstance(value, str) else str(value)
    most = LIMITS.found_characters_max
    return text if len(text) <= most else text[: most - 1] + "…"


def listed(choices: Collection[str]) -> str:
    few = list(choices)[:_CHOICES_SHOWN_MAX]
    return ", ".join(few) + (", …" if len(choices) > len(few) else "")


def meant_or_choices(word: str, choices: Collection[str]) -> str:
    """The end of a sentence that says a word is unknown."""
    meant = nearest(word, choices)
    if meant is not None:
        return f"did you mean {meant}?"
    return f"there are {listed(choices)}" if choices else "there are none"


def dotted(path: Path) -> str:
    """A place as the user would write it in TOML; positions in lists count from 0."""
    steps = [f"[{step}]" if isinstance(step, int) else f".{_key(step)}" for step in path]
    return "".join(steps).removeprefix(".")


def _key(key: str) -> str:
    if _BARE_KEY.match(key):
        return key
    short = key if len(key) <= 64 else key[:63] + "…"
    return json.dumps(short, ensure_ascii=not short.isprintable())


def show(flaw: TomlProblem) -> str:
    """release.toml:14: types.ready.fields.builds.min: expected an integer, found 'a'"""
    return ": ".join(part for part in (f"{flaw.file}:{flaw.line}", flaw.where, flaw.say) if part)


def toml_tables(text: str, file: str) -> dict[str, Any] | TomlProblem:
    """What stands in the file, or why it is no TOML. To be called on a text that `scan` found not too deep."""
    import tomllib  # only who has such a file pays for it in a cold start

    try:
        return tomllib.loads(text)
    except RecursionError:
        return TomlProblem(file, 1, "", f"nested more than {NESTING_MAX} deep")
    except ValueError as error:  # tomllib's own, and Python's on a number with thousands of digits
        said = str(error)
        at = _AT_LINE.search(said)
        if at is None or at[1] is None:
            return TomlProblem(file, text.count("\n") + 1, "", f"not TOML: {said[: at.start()] if at else said}")
        return TomlProblem(file, int(at[1]), "", f"not TOML: {said[: at.start()]} at column {at[2]}")

"""Typed access to a TOML document that collects problems instead of raising, and the line of each key.

A `TomlValue` is a value with its path. A typed getter returns the value, or records a problem with file, line and key
and returns None, so one pass reports every problem of the file. A table is declared as a mapping of `Key`s, which
`TomlValue.read` walks. `tomllib` returns values without positions, so `scan` finds the line of each header and pair.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from telex.model.limits import LIMITS
from telex.model.named_tuple import NamedTuple
from telex.model.text import nearest

Path = tuple[str | int, ...]  # keys, and positions within lists

NESTING_MAX = 64  # levels; the standard reader takes quadratic time for long dotted keys, and recurses into lists


class LineScan(NamedTuple):
    lines: dict[Path, int]  # of tables, of pairs outside of braces, and of list items; the top, (), is on line 1
    too_deep: int | None  # the line on which NESTING_MAX is passed


_BASIC, _LITERAL = r'"(?:[^"\\\n]|\\.)*+"', r"'[^'\n]*+'"
_KEY = re.compile(rf"[A-Za-z0-9_-]++|{_BASIC}|{_LITERAL}")
_BLANK = re.compile(r"(?:\s|#[^\n]*)*+")
_STATEMENT = re.compile(
    rf"{_BLANK.pattern}(?P<header>\[{{0,2}})[ \t]*+(?P<keys>(?:(?:{_KEY.pattern})[ \t]*+\.?+[ \t]*+)++)[=\]]"
)
_TOKEN = re.compile(
    r'"""(?:[^"\\]|\\.|"{1,2}(?!"))*+"{3,5}|'
    r"'''(?:[^']|'{1,2}(?!'))*+'{3,5}|"
    rf"{_BASIC}|{_LITERAL}|#[^\n]*|[\[\]{{}},\n]",
    re.DOTALL,
)


def scan(text: str) -> LineScan:
    """Lines of the keys. Never raises; for invalid TOML it returns the lines up to the error."""
    lines: dict[Path, int] = {(): 1}
    counts: dict[Path, int] = {}  # of the [[tables]] in each list of tables
    table: Path = ()
    position, line = 0, 1
    while statement := _STATEMENT.match(text, position):
        line += text.count("\n", position, statement.start("keys"))
        keys = [_unquoted(key[0]) for key in _KEY.finditer(statement["keys"])]
        end, items = _value(text, statement.end())
        if end is None or len(keys) > NESTING_MAX:
            return LineScan(lines, line)
        path = () if statement["header"] else table
        for key in keys:
            if path in counts:
                path = (*path, counts[path] - 1)
            path = (*path, key)
            lines.setdefault(path, line)
        if statement["header"] == "[[":
            counts[path] = counts.get(path, 0) + 1
            path = (*path, counts[path] - 1)
        if statement["header"]:
            lines[path] = line  # an earlier header of an inner table may have set it
            table = path
        for index, start in enumerate(items):
            lines[(*path, index)] = line + text.count("\n", statement.start("keys"), start)
        line += text.count("\n", statement.start("keys"), end)
        position = end
    return LineScan(lines, None)


def _value(text: str, position: int) -> tuple[int | None, list[int]]:
    """End of the line on which the value ends, None if it is nested too deeply; and where the items of a list begin."""
    depth, items = 0, list[int]()
    is_list = text[position : position + 100].lstrip(" \t").startswith("[")
    for token in _TOKEN.finditer(text, position):
        if token[0] == "\n" and depth <= 0:
            return token.end(), items
        depth += (token[0] in ("[", "{")) - (token[0] in ("]", "}"))
        if depth > NESTING_MAX:
            return None, items
        if is_list and depth == 1 and token[0] in ("[", ","):
            blank = _BLANK.match(text, token.end())
            start = blank.end() if blank is not None else token.end()
            items += [start] if not text.startswith("]", start) else []
    return len(text), items


def _unquoted(key: str) -> str:
    if key[0] == '"' and "\\" in key:
        import tomllib

        try:
            return str(tomllib.loads(f"key = {key}")["key"])
        except ValueError:
            return key
    return key[1:-1] if key[0] in "\"'" else key


def line_of(lines: dict[Path, int], path: Path) -> int:
    """The line of the key, or of the nearest enclosing table."""
    while path not in lines and path:
        path = path[:-1]
    return lines.get(path, 1)


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
    """The lines of the keys of a file, and the problems found so far."""

    def __init__(self, file: str, lines: dict[Path, int]) -> None:
        self.file, self.lines = file, lines
        self.flaws: dict[TomlProblem, None] = {}  # in the order found, each once
        self.remarks: dict[TomlProblem, None] = {}  # hints about a valid file

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
            problems.append(
                TomlProblem(self.file, problems[-1].line, "", f"only the first {FLAWS_MAX} problems are shown")
            )
        return tuple(problems)


class Key(NamedTuple):
    """One key of a table: how its value is read, and what applies when it is absent."""

    read: "Callable[[TomlValue], Any]"
    needed: str | None = None  # what belongs there; None for an optional key
    default: Any = None  # for an absent or invalid value


class TomlValue(NamedTuple):
    value: Any
    path: Path
    sheet: TomlDocument

    def flaw(self, say: str) -> None:
        self.sheet.note(self.path, say)

    def remark(self, say: str) -> None:
        self.sheet.remark(self.path, say)

    def wrong(self, expected: str) -> None:
        """Report the value. Returns None, so that a getter can return it."""
        self.flaw(f"expected {expected}, found {shown(self.value)}")

    def unknown(self, word: str, choices: Collection[str], what: str) -> None:
        """Report that `word` is none of the choices, with the nearest one."""
        if not self.sheet.is_full():  # finding the nearest one is slow
            self.flaw(f"{what}; {meant_or_choices(word, choices)}")

    # --- tables ---------------------------------------------------------------------------------------------------

    def has(self, key: str) -> bool:
        return isinstance(self.value, dict) and key in self.value

    def at(self, key: str | int) -> "TomlValue":
        return TomlValue(self.value[key], (*self.path, key), self.sheet)

    def get(self, key: str) -> "TomlValue | None":
        return self.at(key) if self.has(key) else None

    def need(self, key: str, what: str) -> "TomlValue | None":
        """The value under this key; a missing one is a problem that states `what` belongs there."""
        if self.has(key):
            return self.at(key)
        self.sheet.note((*self.path, key), f"is missing: {what}")
        return None

    def read(self, keys: Mapping[str, Key]) -> dict[str, Any]:
        """Every key of `keys` with its value; reports unknown, missing and invalid keys."""
        if self.is_table():
            self.only(*keys)
        values: dict[str, Any] = {}
        for name, key in keys.items():
            place = self.get(name) if key.needed is None else self.need(name, key.needed)
            value = key.read(place) if place is not None else None
            values[name] = key.default if value is None else value
        return values

    def is_table(self) -> bool:
        if not isinstance(self.value, dict):
            self.wrong("a table")
        return isinstance(self.value, dict)

    def entries(self, limit: int) -> Iterator[tuple[str, "TomlValue"]]:
        """Every key of a table with its value."""
        if self.is_table():
            self.check_count(limit)
            yield from ((key, self.at(key)) for key in list(self.value)[:limit])

    def check_count(self, limit: int) -> None:
        if len(self.value) > limit:
            self.flaw(f"has {len(self.value)} entries, and at most {limit} are read")

    def only(self, *known: str) -> None:
        """Report every other key."""
        for key in self.value:
            if key not in known:
                self.at(key).unknown(key, known, "there is no such key here")

    # --- values ---------------------------------------------------------------------------------------------------

    def items(self, limit: int) -> list["TomlValue"]:
        if not isinstance(self.value, list):
            self.wrong("a list")
            return []
        self.check_count(limit)
        return [self.at(index) for index in range(min(len(self.value), limit))]

    def one_or_more(self, limit: int) -> list["TomlValue"]:
        """The items of a list; a single value counts as a list of one."""
        return self.items(limit) if isinstance(self.value, list) else [self]

    def line(self, characters_max: int = 500) -> str | None:
        """One line of text, not blank."""
        text = self.value
        if not isinstance(text, str) or not text.strip():
            return self.wrong("text")
        if len(text) > characters_max:
            return self.flaw(f"has {len(text)} characters, and at most {characters_max} are read")
        if not text.isprintable():
            return self.flaw("put it on one line, without control or invisible characters")
        return text

    def word(self, pattern: re.Pattern[str], what: str) -> str | None:
        """Text of this shape; `what` describes the shape."""
        is_valid = isinstance(self.value, str) and pattern.match(self.value)
        return self.value if is_valid else self.wrong(what)

    def choice(self, choices: Collection[str]) -> str | None:
        if not isinstance(self.value, str):
            return self.wrong("one of " + listed(choices))
        if self.value not in choices:
            return self.unknown(self.value, choices, f"{shown(self.value)} is not among the choices")
        return self.value

    def boolean(self) -> bool | None:
        return self.value if isinstance(self.value, bool) else self.wrong("true or false")

    def integer(self, at_least: int | None = None) -> int | None:
        if not isinstance(self.value, int) or isinstance(self.value, bool):
            return self.wrong("an integer")
        if not is_portable(self.value):
            return self.wrong("an integer of at most 64 bits")
        return self.value if at_least is None or self.value >= at_least else self.wrong(f"at least {at_least}")

    def number(self) -> int | float | None:
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            return self.wrong("a number")
        return self.value if is_portable(self.value) else self.wrong("a number of at most 64 bits")


RAW = Key(lambda value: value)  # read later, when more of the file is known


def one_of(*choices: str) -> Callable[[TomlValue], str | None]:
    return lambda value: value.choice(choices)


def is_portable(value: Any) -> bool:
    """Whether JSON readers of other languages can hold it; JSON has neither infinity nor NaN."""
    if isinstance(value, float):
        return abs(value) < 1e308
    return not isinstance(value, int) or LIMITS.integer_min <= value <= LIMITS.integer_max


def shown(value: Any) -> str:
    """A value of the file on one line, shortened."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dict, list)):
        return "a table" if isinstance(value, dict) else "a list"
    if isinstance(value, int) and not is_portable(value):
        return "a number beyond 64 bits"
    text = repr(value[:200]) if isinstance(value, str) else str(value)
    most = LIMITS.found_characters_max
    return text if len(text) <= most else text[: most - 1] + "…"


def listed(choices: Collection[str]) -> str:
    few = list(choices)[:_CHOICES_SHOWN_MAX]
    return ", ".join(few) + (", …" if len(choices) > len(few) else "")


def meant_or_choices(word: str, choices: Collection[str]) -> str:
    """The nearest choice, or all of them: the end of a message about an unknown word."""
    meant = nearest(word, choices)
    if meant is not None:
        return f"did you mean {meant}?"
    return f"there are {listed(choices)}" if choices else "there are none"


def dotted(path: Path) -> str:
    """The path as a dotted TOML key; list positions count from 0."""
    text = ""
    for step in path:
        if isinstance(step, str) and not _BARE_KEY.match(step):
            short = step if len(step) <= 64 else step[:63] + "…"
            step = json.dumps(short, ensure_ascii=not short.isprintable())
        text += f"[{step}]" if isinstance(step, int) else f".{step}"
    return text.removeprefix(".")


def show(flaw: TomlProblem) -> str:
    """release.toml:14: types.ready.fields.builds.min: expected an integer, found 'a'"""
    return ": ".join(part for part in (f"{flaw.file}:{flaw.line}", flaw.where, flaw.say) if part)


def toml_tables(text: str, file: str) -> dict[str, Any] | TomlProblem:
    """The parsed file, or the syntax error. Call it only on a text that `scan` found not too deep."""
    import tomllib  # slow to import, and needed only for such a file

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

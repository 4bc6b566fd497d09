"""Scanner for the line of every key of a TOML text.

`tomllib` returns values without positions, and a problem report needs the line. The scanner assumes valid TOML and
stops at the first syntax error, which `tomllib` then reports. It runs first and rejects deep nesting, on which
`tomllib` is slow or recurses too deeply.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NamedTuple

from telex.model.limits import LIMITS
from telex.model.suggestion import nearest

Path = tuple[str | int, ...]  # keys, and positions within lists

NESTING_MAX = 64  # levels; the standard reader takes quadratic time for long dotted keys, and recurses into lists


class LineScan(NamedTuple):
    lines: dict[Path, int]  # every key and list item down to the innermost; the top, (), is on line 1
    too_deep: int | None  # the line on which NESTING_MAX is passed


def scan(text: str) -> LineScan:
    """Never raises; for invalid TOML it returns the lines up to the error."""
    scanner = _Scanner(text)
    try:
        scanner.document()
    except _TooDeep:
        return LineScan(scanner.lines, scanner.line())
    except _NotToml:
        pass
    return LineScan(scanner.lines, None)


def line_of(lines: dict[Path, int], path: Path) -> int:
    """The line of the key, or of the nearest enclosing table."""
    while path not in lines and path:
        path = path[:-1]
    return lines.get(path, 1)


class _NotToml(Exception):
    pass


class _TooDeep(Exception):
    pass


_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*+")
_SPACE = re.compile(r"[ \t]*+")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]++")
_BASIC = r'"(?:[^"\\\n]|\\.)*+"'
_LITERAL = r"'[^'\n]*+'"
_QUOTED_KEY = re.compile(f"{_BASIC}|{_LITERAL}")
# Up to two quotes are allowed inside, also right before the closing three.
_MULTILINE_BASIC = r'"""(?:[^"\\]|\\.|"{1,2}(?!"))*+"""(?:"{0,2})'
_MULTILINE_LITERAL = r"'''(?:[^']|'{1,2}(?!'))*+'''(?:'{0,2})"
_STRING = re.compile(f"{_MULTILINE_BASIC}|{_MULTILINE_LITERAL}|{_BASIC}|{_LITERAL}", re.DOTALL)
_SCALAR = re.compile(r"[^,\]}#\n]++")  # a date may have a space inside
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2})|(.))")
_ESCAPED = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "e": "\x1b"}


class _Scanner:
    """Recursive descent: each method consumes one construct and advances `position`."""

    def __init__(self, text: str) -> None:
        self.text, self.position = text, 0
        self.line_starts = [match.end() for match in re.finditer("\n", text)]
        self.lines: dict[Path, int] = {(): 1}
        self.tables_in: dict[Path, int] = {}  # how many [[tables]] each list of tables has so far

    def line(self) -> int:
        return bisect_right(self.line_starts, self.position) + 1

    def skip(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.position)
        if match is None:
            raise _NotToml
        self.position = match.end()
        return match[0]

    def accept(self, sign: str) -> bool:
        found = self.text.startswith(sign, self.position)
        self.position += len(sign) if found else 0
        return found

    def expect(self, sign: str) -> None:
        if not self.accept(sign):
            raise _NotToml

    def document(self) -> None:
        table: Path = ()
        self.skip(_BLANK)
        while self.position < len(self.text):
            if self.accept("["):
                table = self.header()
            else:
                self.pair(table)
            self.skip(_BLANK)

    def header(self) -> Path:
        is_list = self.accept("[")
        line, keys = self.line(), self.keys()
        self.expect("]]" if is_list else "]")
        path = self.into_last(keys[:-1], line) + keys[-1:]
        if is_list:
            self.lines.setdefault(path, line)
            index = self.tables_in.get(path, 0)
            self.tables_in[path] = index + 1
            path = (*path, index)
        self.lines[path] = line  # an earlier header of an inner table may have set it
        return path

    def into_last(self, keys: tuple[str, ...], line: int) -> Path:
        """The path of a header's keys; a list of tables stands for its last item."""
        path: Path = ()
        for key in keys:
            path = (*path, key)
            self.lines.setdefault(path, line)
            if path in self.tables_in:
                path = (*path, self.tables_in[path] - 1)
        return path

    def pair(self, table: Path) -> None:
        line, path = self.line(), table
        for key in self.keys():
            path = (*path, key)
            self.lines.setdefault(path, line)
        self.expect("=")
        self.skip(_SPACE)
        self.value(path)

    def keys(self) -> tuple[str, ...]:
        found = [self.key()]
        while self.accept("."):
            found.append(self.key())
            if len(found) > NESTING_MAX:
                raise _TooDeep
        return tuple(found)

    def key(self) -> str:
        self.skip(_SPACE)
        quote = self.text[self.position : self.position + 1]
        word = self.skip(_QUOTED_KEY if quote in ("'", '"') else _BARE_KEY)
        self.skip(_SPACE)
        if quote == '"':
            return _ESCAPE.sub(_unescaped, word[1:-1])
        return word[1:-1] if quote == "'" else word

    def value(self, path: Path) -> None:
        if len(path) > NESTING_MAX:
            raise _TooDeep
        if self.accept("["):
            self.list(path)
        elif self.accept("{"):
            self.inline_table(path)
        else:
            quoted = self.text.startswith(("'", '"'), self.position)
            self.skip(_STRING if quoted else _SCALAR)

    def list(self, path: Path) -> None:
        index = 0
        while self.has_next("]", is_first=index == 0):
            self.lines[(*path, index)] = self.line()
            self.value((*path, index))
            index += 1

    def inline_table(self, path: Path) -> None:
        is_first = True
        while self.has_next("}", is_first=is_first):
            self.pair(path)
            is_first = False

    def has_next(self, end: str, *, is_first: bool) -> bool:
        """Skip the comma between two items; False at the end, which may follow a comma."""
        self.skip(_BLANK)
        if not is_first and not self.text.startswith(end, self.position):
            self.expect(",")
            self.skip(_BLANK)
        return not self.accept(end)


def _unescaped(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2] or escape[3]
    if code is None:
        return _ESCAPED.get(escape[4], escape[4])
    return chr(int(code, 16)) if int(code, 16) <= 0x10FFFF else ""


FLAWS_MAX = LIMITS.findings_max
_CHOICES_SHOWN_MAX = 12
_AT_LINE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)\Z")
_BARE_KEY_document = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")


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
        if not self.is_table():
            return
        if len(self.value) > limit:
            self.flaw(f"has {len(self.value)} entries, and at most {limit} are read")
        for key in list(self.value)[:limit]:
            yield key, self.at(key)

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
        if len(self.value) > limit:
            self.flaw(f"has {len(self.value)} entries, and at most {limit} are read")
        return [self.at(index) for index in range(min(len(self.value), limit))]

    def one_or_more(self, limit: int) -> list["TomlValue"]:
        """The items of a list; a single value counts as a list of one."""
        return self.items(limit) if isinstance(self.value, list) else [self]

    def line(self, characters_max: int = 500) -> str | None:
        """One line of text, not blank."""
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
        if isinstance(self.value, float) or not _is_number(self.value):
            self.wrong("an integer")
        elif not _is_portable(self.value):
            self.wrong("an integer of at most 64 bits")
        else:
            return int(self.value)
        return None

    def number(self) -> int | float | None:
        if _is_number(self.value) and _is_portable(self.value):
            number: int | float = self.value
            return number
        self.wrong("a number of at most 64 bits" if _is_number(self.value) else "a number")
        return None


RAW = Key(lambda value: value)  # read later, when more of the file is known


def one_of(*choices: str) -> Callable[[TomlValue], str | None]:
    return lambda value: value.choice(choices)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_portable(value: int | float) -> bool:
    """Whether JSON readers of other languages can hold it; JSON has neither infinity nor NaN."""
    return LIMITS.integer_min <= value <= LIMITS.integer_max or (isinstance(value, float) and abs(value) < 1e308)


def shown(value: Any) -> str:
    """A value of the file on one line, shortened."""
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
    """The nearest choice, or all of them: the end of a message about an unknown word."""
    meant = nearest(word, choices)
    if meant is not None:
        return f"did you mean {meant}?"
    return f"there are {listed(choices)}" if choices else "there are none"


def dotted(path: Path) -> str:
    """The path as a dotted TOML key; list positions count from 0."""
    steps = [f"[{step}]" if isinstance(step, int) else f".{_key(step)}" for step in path]
    return "".join(steps).removeprefix(".")


def _key(key: str) -> str:
    if _BARE_KEY_document.match(key):
        return key
    short = key if len(key) <= 64 else key[:63] + "…"
    return json.dumps(short, ensure_ascii=not short.isprintable())


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

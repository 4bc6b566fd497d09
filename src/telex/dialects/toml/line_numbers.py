"""Scanner for the line of every key of a TOML text.

`tomllib` returns values without positions, and a problem report needs the line. The scanner assumes valid TOML and
stops at the first syntax error, which `tomllib` then reports. It runs first and rejects deep nesting, on which
`tomllib` is slow or recurses too deeply.
"""

import re
from bisect import bisect_right
from typing import NamedTuple

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

"""Parser of YAML front matter.

It supports a safe subset of YAML: no tags, anchors, aliases, merge keys or duplicate keys, and no implicit types. Every
scalar stays text; its field decides whether `no`, `010` or `12:30` is a boolean, a number or text.

`read_simple` parses line by line and accepts nearly all that agents write. `read_events` parses everything else with
PyYAML and reports errors. Importing PyYAML costs as much as a thousand messages, so it is imported only when needed.
"""

import re
from typing import Any

from telex.dialects.scalars import INDICATORS, PlainScalar, is_plain
from telex.model.finding import Finding
from telex.model.limits import LIMITS, Limits
from telex.model.named_tuple import NamedTuple
from telex.model.text import ROOT, join

# Quoted and block scalars are str; `key:` alone is PlainScalar("").
Value = PlainScalar | str | list["Value"] | dict[str, "Value"]


class FrontMatter(NamedTuple):
    """Fields and body. With findings, the fields are those that could be parsed."""

    fields: dict[str, Value]
    body: str  # the markdown after the closing line
    findings: tuple[Finding, ...] = ()


_LINES_SEARCHED = 5  # comments or stray lines before the first field
_CHARACTERS_SEARCHED = 2000  # bounds the cost at many positions of a long text


def looks_like_front_matter(text: str) -> bool:
    """Whether the `---` at the top starts front matter and is not a horizontal rule.

    A rule has a blank line after it, so a field after a blank line counts only if a closing line follows.
    """
    first, *following = text[:_CHARACTERS_SEARCHED].split("\n", _LINES_SEARCHED + 1)
    if not _is_fence(first):
        return False
    set_off = False
    for line in following[:_LINES_SEARCHED]:
        if _is_fence(line):
            return False
        key, colon, value = line.strip(" \t{").partition(":")
        is_field = bool(colon) and (not value or value[0] in " \t") and " " not in key and _key(key) is not None
        if is_field or line.startswith(("type:", "- type:")):  # certainly meant, though YAML reads it otherwise
            return not set_off or _closing_line(text, len(first)) is not None
        set_off = set_off or not line.strip()
    return False


def read_front_matter(text: str, limits: Limits = LIMITS) -> FrontMatter:
    """Split a text (no BOM, only LF) and parse its fields. It never raises; errors are findings."""
    first, _, rest = text.partition("\n")
    if not _is_fence(first):
        say = "Start the message with a line of only ---, then its fields, then another line of only ---."
        return FrontMatter({}, text, (Finding("front-matter-missing", "$", say, expected="---"),))
    closing = _closing_line(text, len(first))
    if closing is None:
        say = "Put a line of only --- after the last field: the front matter is never closed."
        return FrontMatter({}, rest, (Finding("front-matter-not-closed", "$", say, expected="---"),))
    front, body = text[len(first) + 1 : closing[0]], text[closing[1] :]
    # At most four bytes per character: nearly every text fits without encoding it.
    bytes_max = limits.front_matter_bytes_max
    if len(front) * 4 > bytes_max and len(front.encode("utf-8", "surrogatepass")) > bytes_max:
        say = f"Shorten the front matter to {bytes_max} bytes; long text belongs in the body below."
        return FrontMatter({}, body, (Finding("front-matter-too-large", "$", say),))
    fields = read_simple(front, limits.depth_max)
    if fields is not None:
        return FrontMatter(fields, body)
    fields, findings = read_events(front, limits)
    return FrontMatter(fields, body, findings)


def _is_fence(line: str) -> bool:
    return line.startswith("---") and not line[3:].strip(" \t")


def _closing_line(text: str, start: int) -> tuple[int, int] | None:
    """Start of the first fence after `start`, with the line break before it, and start of the body."""
    while (start := text.find("\n---", start)) >= 0:
        end = text.find("\n", start + 4)
        if end < 0:
            end = len(text)
        if not text[start + 4 : end].strip(" \t"):
            return start, end + 1
        start = end
    return None


# read_simple uses string methods: regular expressions are slower, and compiling them costs more than one message.

_QUOTES = ("'", '"')
_FLOW_INDICATORS = INDICATORS - {"-"}  # not accepted inside brackets, which is stricter than YAML
_KEY_CHARACTERS_MAX = 128  # YAML allows 1024


def read_simple(front: str, depth_max: int = LIMITS.depth_max) -> dict[str, Value] | None:
    """The fields; None if any line is wrong or unusual.

    It accepts block mappings and lists, a scalar on the line of its key or dash, and lists and mappings in brackets on
    one line. `here` is the column of the innermost open `block`, `outer` has those around it, and `waiting` is the key
    of the line before, if its value may still follow.
    """
    lines = front.split("\n")
    if not "".join(lines).isprintable():  # tabs, control characters, line breaks of YAML 1.1
        return None
    root: dict[str, Value] = {}
    block: Any = root
    outer: list[tuple[int, Any]] = []
    here, waiting = 0, None
    for line in lines:
        content = line.lstrip(" ")
        if not content or content[0] == "#":
            continue
        column = len(line) - len(content)
        dash = content.startswith("- ")
        if dash:
            content = content[2:].lstrip(" ")
        entry = _entry(content)
        if entry is None:
            return None
        key, value = entry
        if waiting is not None:
            if column > here or (dash and column == here):  # a list may start right under its key
                outer.append((here, block))
                block[waiting] = [] if dash else {}
                here, block = column, block[waiting]
            waiting = None
        while column < here or (column == here and not dash and type(block) is list):
            here, block = outer.pop()  # never empty: the root is a mapping in column 0
        if column != here or dash is not (type(block) is list) or len(outer) + 2 > depth_max:
            return None
        if key is None:
            if not dash:
                return None
            block.append(value)
            continue
        if dash:
            outer.append((here, block))
            block.append({})
            here, block = len(line) - len(content), block[-1]
        elif key in block:
            return None
        block[key] = PlainScalar() if value is None else value
        waiting = key if value is None else None
    return root


def _entry(text: str) -> tuple[str | None, Value | None] | None:
    """Key and value, or only a value; the value is None if it is not on this line. None alone: not accepted."""
    head, colon, tail = text.partition(":")
    if colon and (not tail or tail[0] == " "):
        key = head if head.isidentifier() and len(head) < _KEY_CHARACTERS_MAX else _key(head)
        if key is not None:
            tail = tail.strip(" ")
            if not tail or tail[0] == "#":
                return key, None
            if tail[0] not in INDICATORS and ": " not in tail and " #" not in tail and tail[-1] != ":":
                return key, PlainScalar(tail)  # the usual case, without two more calls
            value = _value(tail)
            return None if value is None else (key, value)
    value = _value(text)
    return None if value is None else (None, value)


def _key(text: str) -> str | None:
    """A key of letters, digits and `_-.` or blanks between them, or in quotes."""
    if len(text) > _KEY_CHARACTERS_MAX or not text:
        return None
    if text[0] in _QUOTES:
        return _unquoted(text) if "\\" not in text else None
    if text[0] in " -." or text[-1] == " ":
        return None
    letters = text.replace("-", "_").replace(".", "_").replace(" ", "_")
    return text if f"_{letters}".isidentifier() else None


def _value(text: str) -> Value | None:
    """A scalar, or a list or mapping in brackets, without leading blanks."""
    if text[:1] in _QUOTES:
        return _unquoted(text.rstrip(" "))
    if text[:1] in ("[", "{"):
        return _flow(text.rstrip(" "))
    plain = text.partition(" #")[0].rstrip(" ")
    return PlainScalar(plain) if is_plain(plain) else None


def _unquoted(text: str) -> str | None:
    """The text in quotes. Control characters, which it cannot contain, replace escapes that are already parsed."""
    inner, quote = text[1:-1], text[0]
    if len(text) < 2 or text[-1] != quote:
        return None
    if quote == "'":
        inner = inner.replace("''", "\0")
        return None if "'" in inner else inner.replace("\0", "'")
    if "\\" in inner:
        inner = inner.replace("\\\\", "\0").replace('\\"', "\1").replace("\\n", "\n").replace("\\t", "\t")
    if "\\" in inner or '"' in inner:
        return None
    return inner.replace("\0", "\\").replace("\1", '"')


def _flow(text: str) -> Value | None:
    """A list or mapping in brackets, one level deep. One with a comma in quotes is not accepted."""
    is_list = text[0] == "["
    if text[-1] != ("]" if is_list else "}"):
        return None
    parts = [part.strip(" ") for part in text[1:-1].split(",")]
    if parts == [""]:
        return [] if is_list else {}
    if is_list:
        items = [item for part in parts if (item := _flow_scalar(part)) is not None]
        return list(items) if len(items) == len(parts) else None
    fields: dict[str, Value] = {}
    for part in parts:
        head, _, tail = part.partition(": ")
        key, value = _key(head), _flow_scalar(tail.lstrip(" "))
        if key is None or value is None or key in fields:
            return None
        fields[key] = value
    return fields


def _flow_scalar(text: str) -> PlainScalar | str | None:
    if text[:1] in _QUOTES:
        return _unquoted(text)
    return PlainScalar(text) if text and text[0] != "-" and _FLOW_INDICATORS.isdisjoint(text) else None


_LOADER = "CSafeLoader"  # ten times as fast as SafeLoader, which parses the same except for rare tabs
_OPENING = "---\n"  # prepended so that the parser's line numbers are those of the message
_UNPRINTABLE = r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"  # YAML 1.1, 5.1
_KEY_CHARACTERS_SHOWN_MAX = 128  # a path repeats its keys in every finding below them
_YAML_TAGS = "tag:yaml.org,2002:"
_ESCAPES = r"in double quotes, write \\ for a backslash; or use single quotes, which have no escapes"
_IN_QUOTES = "put a value that begins with {} in quotes"
_ENDS = "the {} opened here lacks a comma or its {}; for text, use quotes"
# Part of a PyYAML error message (its two builds word most errors differently), code, text, and whether the error is
# where the parser began and not where it stopped. The first match counts.
_PROBLEMS = (
    (" tab ", "yaml-tab", "indent with blanks, never with tabs", False),
    ("scanning an alias", "yaml-alias", _IN_QUOTES.format("*"), False),
    ("scanning an anchor", "yaml-anchor", _IN_QUOTES.format("&"), False),
    ("scanning a tag", "yaml-tag", _IN_QUOTES.format("!"), False),
    ("tag handle", "yaml-tag", _IN_QUOTES.format("!"), False),
    ("values are not allowed", "", "put a value with ': ' in it in quotes, and a field on its own line", False),
    ("expected ':'", "", "this is no `field: value`: add the colon and a blank, or indent it", True),
    ("entries are not allowed", "", "begin a list on the line below its field, one `- item` per line", False),
    ("cannot start any token", "", "put a value that begins like this in quotes", False),
    ("escape", "", _ESCAPES, False),
    ("hexdecimal", "", _ESCAPES, False),
    ("quoted scalar", "", "close the quote that is opened here", True),
    ("flow sequence", "", _ENDS.format("[", "]"), True),
    ("flow mapping", "", _ENDS.format("{", "}"), True),
    ("block scalar", "", "after | or > the text starts on the next line, indented; for text, use quotes", False),
    ("<document start>", "", "this belongs to no field: write every line as `field: value`", False),
    ("block mapping", "", "indent this as its neighbours, or put the whole value in quotes", False),
    ("block collection", "", "indent each `- item` alike", False),
    ("", "", "YAML cannot read this: write it as `field: value`, with the value in quotes", False),
)


def read_events(front: str, limits: Limits) -> tuple[dict[str, Value], tuple[Finding, ...]]:
    """Fields and findings from PyYAML's event stream, up to the first error after which nothing can be parsed.

    Nothing is constructed or resolved: a tag creates no object and an alias is not expanded.
    """
    import yaml

    state = _YamlState(limits)
    text = _OPENING + front
    if unprintable := re.findall(_UNPRINTABLE, text):
        more = f", and {len(unprintable) - 1} more" if len(unprintable) > 1 else ""
        say = f"remove the control character U+{ord(unprintable[0]):04X}{more}"
        state.report("control-character", ROOT, say, line=text.count("\n", 0, text.index(unprintable[0])) + 1)
        text = re.sub(_UNPRINTABLE, "\ufffd", text)  # the same length, so that positions stay
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, _LOADER, yaml.SafeLoader)):
            if not state.take(event) or len(state.findings) >= limits.findings_max:
                break
    except yaml.MarkedYAMLError as exc:
        state.report_malformed(exc, text)
    except (yaml.YAMLError, ValueError, OverflowError):  # SafeLoader fails on escapes beyond Unicode
        state.report("yaml-malformed", state.path_here(), _ESCAPES)
    top = state.top[0] if state.top else None
    return top if isinstance(top, dict) else {}, tuple(state.findings)


class _Block:
    """An open list or mapping."""

    __slots__ = ("at_value", "content", "key", "lines", "path")

    def __init__(self, content: list[Value] | dict[str, Value], path: str) -> None:
        self.content = content
        self.path = path
        self.key: str | None = None  # the latest; None if it is not text
        self.at_value = False  # in a mapping: the value of `key` is next
        self.lines: dict[str, int] = {}  # line of each key

    def path_of(self, key: str) -> str:
        return join(self.path, _shortened(key, _KEY_CHARACTERS_SHOWN_MAX))


class _YamlState:
    """Fields and findings so far. Open blocks are a list and not calls, so that depth costs no stack.

    Events are matched by class name, since this module does not import PyYAML.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.findings: list[Finding] = []
        self.top: list[Value] = []  # the value at the top, as the only item of a list
        self.blocks = [_Block(self.top, ROOT)]
        self.documents = 0
        self.line = 1

    def take(self, event: Any) -> bool:
        """Add one event. False: stop parsing."""
        self.line = event.start_mark.line + 1
        self.report_properties(event)
        match type(event).__name__:
            case "ScalarEvent":
                self.take_scalar(event)
            case "MappingStartEvent":
                return self.open({})
            case "SequenceStartEvent":
                return self.open([])
            case "MappingEndEvent" | "SequenceEndEvent":
                self.blocks.pop()
            case "AliasEvent":
                self.place(PlainScalar(f"*{event.anchor}"))
            case "DocumentStartEvent":
                self.documents += 1
                if self.documents > 1:
                    say = "a --- with text after it starts a second document: put everything in one mapping"
                    self.report("yaml-many-documents", ROOT, say)
                    return False
        return True

    def take_scalar(self, event: Any) -> None:
        is_plain = not event.style  # '' from the C parser, None from the other
        value = PlainScalar(event.value) if is_plain else str(event.value)
        if event.style == '"' and re.search(r"[\ud800-\udfff]", value):  # the C parser refuses such an escape itself
            self.report("yaml-malformed", self.path_here(), _ESCAPES)
        if len(self.blocks) > 1:
            self.place(value)
        elif value or not is_plain:  # an empty document, or only comments, is a mapping without fields
            self.report_not_mapping(value)

    def open(self, content: list[Value] | dict[str, Value]) -> bool:
        path = self.path_here()
        if len(self.blocks) > self.limits.depth_max:
            self.report("too-deep", path, f"nest at most {self.limits.depth_max} levels deep")
            return False
        if len(self.blocks) == 1 and isinstance(content, list):
            self.report_not_mapping("a list")
        self.place(content)
        self.blocks.append(_Block(content, path))
        return True

    def place(self, value: Value) -> None:
        """Add a value to a list, under its key, or as the next key."""
        block = self.blocks[-1]
        if isinstance(block.content, list):
            block.content.append(value)
        elif block.at_value:
            if block.key is not None:
                last, at = self.findings[-1] if self.findings else None, ("duplicate-key", block.path_of(block.key))
                is_same = block.content.get(block.key) == value and isinstance(value, str)
                if is_same and last is not None and (last.code, last.path) == at:
                    self.findings[-1] = last._replace(severity="note")
                block.content[block.key] = value
            block.at_value = False
        else:
            block.key = self.key_from(value)
            block.at_value = True

    def key_from(self, value: Value) -> str | None:
        block = self.blocks[-1]
        if not isinstance(value, str):
            say = "a field's name is text, not a list or mapping; if this is a blank to fill in, fill it or quote it"
            self.report("yaml-key-not-text", block.path, say)
            return None
        if value == "<<" and isinstance(value, PlainScalar):
            self.report("yaml-merge-key", block.path, "merge keys are not supported: write the fields out", found="<<")
            return None
        key = str(value)
        if key in block.lines:
            say = f"given on line {block.lines[key]} already: keep one of the two"
            self.report("duplicate-key", block.path_of(key), say, found=key)
        else:
            block.lines[key] = self.line
        return key

    def path_here(self) -> str:
        """Path of the next value. A key has the path of its mapping."""
        block = self.blocks[-1]
        if len(self.blocks) == 1:
            return ROOT
        if isinstance(block.content, list):
            return join(block.path, len(block.content))
        return block.path_of(block.key) if block.at_value and block.key is not None else block.path

    def report(
        self, code: str, path: str, say: str, *, found: str | None = None, line: int = 0, column: int = 0
    ) -> None:
        where = f"Line {line or self.line}" + (f", column {column}" if column else "")
        found = None if found is None else _shortened(found, self.limits.found_characters_max)
        self.findings.append(Finding(code, path, f"{where}: {say}.", found=found))

    def report_properties(self, event: Any) -> None:
        """Report tags, anchors and aliases, which front matter does not support."""
        tag, anchor = getattr(event, "tag", None), getattr(event, "anchor", None)
        if type(event).__name__ == "AliasEvent":
            say = "aliases are not supported: write the value out, or put it in quotes if the * belongs to it"
            self.report("yaml-alias", self.path_here(), say, found=f"*{anchor}")
        elif anchor is not None:
            self.report("yaml-anchor", self.path_here(), _NO_MARK.format("anchors", "&"), found=f"&{anchor}")
        if tag is not None:
            written = "!!" + tag.removeprefix(_YAML_TAGS) if tag.startswith(_YAML_TAGS) else tag
            self.report("yaml-tag", self.path_here(), _NO_MARK.format("tags", "!"), found=written)

    def report_not_mapping(self, found: str) -> None:
        say = "write front matter as one `field: value` per line, with a blank after the colon"
        self.report("front-matter-not-mapping", ROOT, say, found=found)

    def report_malformed(self, exc: Any, text: str) -> None:
        parser_text, mark = f"{exc.context} {exc.problem}", exc.problem_mark
        if "cannot start" in parser_text and text[mark.index] == "\t":
            parser_text = " tab "
        part, code, say, begins_earlier = next(problem for problem in _PROBLEMS if problem[0] in parser_text)
        if begins_earlier and exc.context_mark is not None:
            mark = exc.context_mark
        path = self.blocks[-1].path if part.startswith("flow") else self.path_near(mark.line + 1)
        found = text[text.rfind("\n", 0, mark.index) + 1 :].partition("\n")[0].strip()
        self.report(code or "yaml-malformed", path, say, found=found, line=mark.line + 1, column=mark.column + 1)

    def path_near(self, line: int) -> str:
        """Path of the next value, or of the last one if it is on the same line."""
        block = self.blocks[-1]
        if not block.at_value and block.key is not None and block.lines.get(block.key) == line:
            return block.path_of(block.key)
        return self.path_here()


_NO_MARK = "{} are not supported: remove the {} and its name, or put the value in quotes if they belong to it"


def _shortened(text: str, characters_max: int) -> str:
    return text if len(text) <= characters_max else text[: characters_max - 1] + "…"

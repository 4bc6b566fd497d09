"""Parser of front matter that the simple parser does not accept, from PyYAML's event stream.

Nothing is composed, constructed or resolved, so a tag creates no object and an alias is not expanded. Unsupported YAML
is reported with its position and parsing continues, so that one result has all findings. Only `front_matter` imports
this module, and only when needed.
"""

import re
from typing import NamedTuple

import yaml

from telex.dialects.parse.front_matter import PlainScalar, Value
from telex.model.finding import Finding
from telex.model.limits import Limits
from telex.model.text import ROOT, join

# The C parser is ten times as fast; a PyYAML built without it reads the same but for rare tabs.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_OPENING = "---\n"  # given to the parser too, so that its line numbers are those of the message
_UNPRINTABLE = re.compile(r"[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # YAML 1.1, 5.1
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_KEY_CHARACTERS_SHOWN_MAX = 128  # a path repeats its keys in every finding below them
_YAML_TAGS = "tag:yaml.org,2002:"


class _Problem(NamedTuple):
    """Part of a PyYAML error message and our text for it. PyYAML's two builds word most errors differently."""

    parser_says: str
    say: str
    code: str = "yaml-malformed"
    begins_earlier: bool = False  # is the place to fix where the parser began, and not where it gave up?


_ESCAPES = r"in double quotes, write \\ for a backslash; or use single quotes, which know no escapes"
_PROBLEMS = (  # the first that fits counts
    _Problem(" tab ", "indent with blanks, never with tabs", "yaml-tab"),
    _Problem("scanning an alias", "put a value that begins with * in quotes", "yaml-alias"),
    _Problem("scanning an anchor", "put a value that begins with & in quotes", "yaml-anchor"),
    _Problem("scanning a tag", "put a value that begins with ! in quotes", "yaml-tag"),
    _Problem("tag handle", "put a value that begins with ! in quotes", "yaml-tag"),
    _Problem("values are not allowed", "put a value with ': ' in it in quotes, and a field on its own line"),
    _Problem("expected ':'", "this is no `field: value`: add the colon and a blank, or indent it", begins_earlier=True),
    _Problem("entries are not allowed", "begin a list on the line below its field, one `- item` per line"),
    _Problem("cannot start any token", "put a value that begins like this in quotes"),
    _Problem("escape", _ESCAPES),
    _Problem("hexdecimal", _ESCAPES),
    _Problem("quoted scalar", "close the quote that is opened here", begins_earlier=True),
    _Problem("flow sequence", "the [ opened here lacks a comma or its ]; for text, use quotes", begins_earlier=True),
    _Problem("flow mapping", "the { opened here lacks a comma or its }; for text, use quotes", begins_earlier=True),
    _Problem("block scalar", "behind | or > the line ends, and the text follows below, indented; for text, use quotes"),
    _Problem("<document start>", "this belongs to no field: write every line as `field: value`"),
    _Problem("block mapping", "this does not fit here: indent it as its neighbours, or put the whole value in quotes"),
    _Problem("block collection", "this does not fit here: indent each `- item` alike"),
    _Problem("", "YAML cannot read this: write it as `field: value`, with the value in quotes"),
)


def read_events(front: str, limits: Limits) -> tuple[dict[str, Value], tuple[Finding, ...]]:
    """The fields as far as they can be read, and everything that is wrong up to the first place nothing can follow."""
    reading = _YamlState(limits)
    text = _OPENING + front
    unprintable = _UNPRINTABLE.search(text)
    if unprintable:
        reading.report_control_characters(text, unprintable.start())
        text = _UNPRINTABLE.sub("\ufffd", text)  # the same length, so that places stay where they are
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            if not reading.take(event):
                break
    except yaml.MarkedYAMLError as exc:
        reading.report_malformed(exc, text)
    except (yaml.YAMLError, ValueError, OverflowError):  # PyYAML's own parser stumbles over escapes beyond Unicode
        reading.report("yaml-malformed", reading.path_here(), _ESCAPES, reading.line)
    return reading.fields(), tuple(reading.findings)


class _Block:
    """A list or mapping that is open, and where we are in it."""

    __slots__ = ("at_value", "content", "key", "lines", "path")

    def __init__(self, content: list[Value] | dict[str, Value], path: str) -> None:
        self.content = content
        self.path = path
        self.key: str | None = None  # the latest; None when it was none that a mapping can keep
        self.at_value = False  # in a mapping: is the value of `key` next?
        self.lines: dict[str, int] = {}  # where each key was given


class _YamlState:
    """The fields and findings so far. Open blocks are a list and not calls, so that depth costs no stack."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.findings: list[Finding] = []
        self.top: list[Value] = []  # holds the one value at the top, as if it were a list
        self.blocks = [_Block(self.top, ROOT)]
        self.documents = 0
        self.line = 1

    def take(self, event: yaml.Event) -> bool:
        """Add one event. False when nothing after it is worth reading."""
        self.line = _line(event)
        if isinstance(event, yaml.NodeEvent):
            self.report_properties(event)
        if isinstance(event, yaml.ScalarEvent):
            self.take_scalar(event)
        elif isinstance(event, yaml.CollectionStartEvent):
            return self.open(event) and len(self.findings) < self.limits.findings_max
        elif isinstance(event, yaml.CollectionEndEvent):
            self.blocks.pop()
        elif isinstance(event, yaml.AliasEvent):
            self.place(PlainScalar(f"*{event.anchor}"), event)
        elif isinstance(event, yaml.DocumentStartEvent):
            return self.open_document(event)
        return len(self.findings) < self.limits.findings_max

    def open_document(self, event: yaml.DocumentStartEvent) -> bool:
        self.documents += 1
        if self.documents > 1:
            say = "a --- with something behind it starts a second document: put everything in one mapping"
            self.report("yaml-many-documents", ROOT, say, _line(event))
        return self.documents == 1

    def take_scalar(self, event: yaml.ScalarEvent) -> None:
        is_plain = not event.style  # '' from the C parser, None from the other
        value = PlainScalar(event.value) if is_plain else str(event.value)
        if event.style == '"' and _SURROGATE.search(value):  # the C parser refuses such an escape itself
            self.report("yaml-malformed", self.path_here(), _ESCAPES, _line(event))
        if len(self.blocks) == 1:
            if value or not is_plain:  # nothing at all, or only comments, is a mapping without fields
                self.report_not_mapping(event, value)
            return
        self.place(value, event)

    def open(self, event: yaml.CollectionStartEvent) -> bool:
        path = self.path_here()
        if len(self.blocks) > self.limits.depth_max:
            say = f"nest at most {self.limits.depth_max} levels deep"
            self.report("too-deep", path, say, _line(event))
            return False
        content: list[Value] | dict[str, Value] = {} if isinstance(event, yaml.MappingStartEvent) else []
        if len(self.blocks) == 1 and isinstance(content, list):
            self.report_not_mapping(event, "a list")
        self.place(content, event)
        self.blocks.append(_Block(content, path))
        return True

    def place(self, value: Value, event: yaml.NodeEvent) -> None:
        """Put a value where it belongs: into a list, under its key, or be the next key."""
        block = self.blocks[-1]
        if isinstance(block.content, list):
            block.content.append(value)
        elif block.at_value:
            if block.key is not None:
                if block.content.get(block.key) == value and isinstance(value, str):
                    self.note_repetition(self.path_of(block, block.key))
                block.content[block.key] = value
            block.at_value = False
        else:
            block.key = self.key_from(value, event)
            block.at_value = True

    def key_from(self, value: Value, event: yaml.NodeEvent) -> str | None:
        block = self.blocks[-1]
        if not isinstance(value, str):
            say = "a field's name is text, not a list or mapping; if this is a blank to fill in, fill it or quote it"
            self.report("yaml-key-not-text", block.path, say, _line(event))
            return None
        if value == "<<" and isinstance(value, PlainScalar):
            say = "merge keys are not read: write the fields out"
            self.report("yaml-merge-key", block.path, say, _line(event), found="<<")
            return None
        key = str(value)
        if key in block.lines:
            say = f"given on line {block.lines[key]} already: keep one of the two"
            self.report("duplicate-key", self.path_of(block, key), say, _line(event), found=key)
        else:
            block.lines[key] = _line(event)
        return key

    def note_repetition(self, path: str) -> None:
        """A key given twice with the same value leaves no doubt about it."""
        last = self.findings[-1] if self.findings else None
        if last is not None and (last.code, last.path) == ("duplicate-key", path):
            self.findings[-1] = last._replace(severity="note")

    def path_here(self) -> str:
        """The path of the value that comes next. A key has the path of its mapping."""
        block = self.blocks[-1]
        if len(self.blocks) == 1:
            return ROOT
        if isinstance(block.content, list):
            return join(block.path, len(block.content))
        return self.path_of(block, block.key) if block.at_value and block.key is not None else block.path

    def path_of(self, block: _Block, key: str) -> str:
        return join(block.path, _shortened(key, _KEY_CHARACTERS_SHOWN_MAX))

    def fields(self) -> dict[str, Value]:
        return self.top[0] if self.top and isinstance(self.top[0], dict) else {}

    def report(self, code: str, path: str, say: str, line: int, found: str | None = None, column: int = 0) -> None:
        where = f"Line {line}, column {column}" if column else f"Line {line}"
        found = None if found is None else _shortened(found, self.limits.found_characters_max)
        self.findings.append(Finding(code, path, f"{where}: {say}.", found=found))

    def report_properties(self, event: yaml.NodeEvent) -> None:
        """Report tags, anchors and aliases, which front matter does not support."""
        tag: str | None = getattr(event, "tag", None)
        if isinstance(event, yaml.AliasEvent):
            say = "aliases are not read: write the value out, or put it in quotes if the * belongs to it"
            self.report("yaml-alias", self.path_here(), say, _line(event), f"*{event.anchor}")
        elif event.anchor is not None:
            say = "anchors are not read: take the & and its name away, or put the value in quotes if they belong to it"
            self.report("yaml-anchor", self.path_here(), say, _line(event), f"&{event.anchor}")
        if tag is not None:
            written = "!!" + tag.removeprefix(_YAML_TAGS) if tag.startswith(_YAML_TAGS) else tag
            say = "tags are not read: take the ! and its name away, or put the value in quotes if they belong to it"
            self.report("yaml-tag", self.path_here(), say, _line(event), written)

    def report_not_mapping(self, event: yaml.NodeEvent, found: str) -> None:
        say = "write front matter as one `field: value` per line, with a blank behind the colon"
        self.report("front-matter-not-mapping", ROOT, say, _line(event), found)

    def report_control_characters(self, text: str, first: int) -> None:
        others = len(_UNPRINTABLE.findall(text, first + 1))
        say = f"take the control character U+{ord(text[first]):04X} away" + (f", and {others} more" if others else "")
        self.report("control-character", ROOT, say, text.count("\n", 0, first) + 1)

    def report_malformed(self, exc: yaml.MarkedYAMLError, text: str) -> None:
        parser_says, mark = f"{exc.context} {exc.problem}", exc.problem_mark
        assert mark is not None, "both parsers mark every problem"
        if "cannot start" in parser_says and text[mark.index] == "\t":
            parser_says = " tab "
        problem = next(problem for problem in _PROBLEMS if problem.parser_says in parser_says)
        if problem.begins_earlier and exc.context_mark is not None:
            mark = exc.context_mark
        path = self.blocks[-1].path if problem.parser_says.startswith("flow") else self.path_near(mark.line + 1)
        found = text[text.rfind("\n", 0, mark.index) + 1 :].partition("\n")[0].strip()
        self.report(problem.code, path, problem.say, mark.line + 1, found, column=mark.column + 1)

    def path_near(self, line: int) -> str:
        """Path of the next value, or of the last one if it is on the same line."""
        block = self.blocks[-1]
        if not block.at_value and block.key is not None and block.lines.get(block.key) == line:
            return self.path_of(block, block.key)
        return self.path_here()


def _line(event: yaml.Event) -> int:
    assert event.start_mark is not None, "both parsers mark every event"
    return int(event.start_mark.line) + 1


def _shortened(text: str, characters_max: int) -> str:
    return text if len(text) <= characters_max else text[: characters_max - 1] + "…"

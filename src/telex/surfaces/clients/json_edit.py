"""Text edits of JSON files with comments: members and items are inserted, replaced and removed, all other bytes stay.

Configuration files of coding tools have comments, trailing commas and their owner's indentation. Parsing and writing
such a file as a whole would lose them, so the parser keeps the position of every value and an edit changes only text.
"""

import json
import re
from typing import Any, Literal

from telex.model.named_tuple import NamedTuple

Path = tuple[str | int, ...]  # keys of objects and indexes of lists, from the root

_BLANK = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING_OR_COMMENT = re.compile(r'"(?:\\.|[^"\\])*"|//[^\r\n]*|/\*.*?\*/', re.DOTALL)
_REST_OF_LINE = re.compile(r"[ \t]*(?:/\*[^\r\n]*?\*/[ \t]*)*(?://[^\r\n]*)?(?=\r?\n)")
_INDENT = re.compile(r"\n([ \t]*)\Z")
_DECODER = json.JSONDecoder()
DEPTH_MAX = 100
INDENT = "  "  # of a file that has none
LINE_MAX = 140  # a longer list or object is broken into lines


class JsonTextError(ValueError):
    """The text is no JSON, also without its comments, or an edit does not fit its structure."""


class Child(NamedTuple):
    key: str | int
    start: int  # of the key, or of the value in a list
    node: "Node"


class Node(NamedTuple):
    kind: Literal["object", "list", "scalar"]
    start: int
    end: int
    value: Any
    children: tuple[Child, ...] = ()
    comma: int | None = None  # position of a trailing comma

    def child(self, key: str | int) -> Child | None:
        """The last child of that key: it is the one that parsers use where a key is repeated."""
        return next((child for child in reversed(self.children) if child.key == key), None)

    def at(self, path: Path) -> "Node | None":
        node: Node = self
        for key in path:
            child = node.child(key)
            if child is None:
                return None
            node = child.node
        return node


# --- parser -----------------------------------------------------------------------------------------------------------
def parse(text: str) -> Node:
    """The root value with the positions of all values in it.

    Raises:
        JsonTextError
    """
    try:
        root = _value(text, _skip(text, 0), 0)
    except (ValueError, IndexError, StopIteration) as error:
        raise JsonTextError(f"is no JSON: {error}") from error
    end = _skip(text, root.end)
    if end != len(text):
        raise JsonTextError(f"is no JSON: unexpected text at character {end}")
    return root


def comments(text: str) -> list[str]:
    """The comments of a text that `parse` accepts."""
    return [token for token in _STRING_OR_COMMENT.findall(text) if token[0] == "/"]


def _skip(text: str, position: int) -> int:
    match = _BLANK.match(text, position)
    assert match is not None
    return match.end()


def _value(text: str, start: int, depth: int) -> Node:
    if depth > DEPTH_MAX:
        raise ValueError(f"nested deeper than {DEPTH_MAX}")
    if text[start] in "{[":
        return _container(text, start, depth)
    value, end = _DECODER.raw_decode(text, start)
    return Node("scalar", start, end, value)


def _container(text: str, start: int, depth: int) -> Node:
    is_object = text[start] == "{"
    closing = "}" if is_object else "]"
    children: list[Child] = []
    comma: int | None = None
    position = _skip(text, start + 1)
    while text[position] != closing:
        if children and comma is None:
            raise ValueError(f"expected a comma at character {position}")
        child = _member(text, position, depth) if is_object else _item(text, position, depth, len(children))
        children.append(child)
        position = _skip(text, child.node.end)
        comma = position if text[position] == "," else None
        position = _skip(text, position + 1) if comma is not None else position
    values: Any = {child.key: child.node.value for child in children}
    return Node(
        "object" if is_object else "list",
        start,
        position + 1,
        values if is_object else list(values.values()),
        children=tuple(children),
        comma=comma,
    )


def _member(text: str, start: int, depth: int) -> Child:
    if text[start] != '"':
        raise ValueError(f"expected a name at character {start}")
    key, end = _DECODER.raw_decode(text, start)
    colon = _skip(text, end)
    if text[colon] != ":":
        raise ValueError(f"expected a colon at character {colon}")
    return Child(key, start, _value(text, _skip(text, colon + 1), depth + 1))


def _item(text: str, start: int, depth: int, index: int) -> Child:
    return Child(index, start, _value(text, start, depth + 1))


# --- edits ------------------------------------------------------------------------------------------------------------
def set_member(text: str, path: Path, value: Any) -> str:
    """The text with `value` at this path; missing objects around it are made."""
    node = parse(text).at(path)
    if node is None:
        return _insert(text, path, value)
    if node.value == value:
        return text
    return text[: node.start] + _written(text, value, _indent_at(text, node.start)) + text[node.end :]


def append_item(text: str, path: Path, value: Any) -> str:
    """The text with `value` at the end of the list at this path; a missing list is made."""
    target = parse(text).at(path)
    if target is None:
        return _insert(text, path, [value])
    if target.kind != "list":
        raise JsonTextError(f"has no list at {_shown(path)}")
    return _add_child(text, target, None, value)


def _insert(text: str, path: Path, value: Any) -> str:
    """Insert a member into the deepest object that exists on its path."""
    root = parse(text)
    depth = len(path) - 1
    while (parent := root.at(path[:depth])) is None:
        depth -= 1
    for key in reversed(path[depth + 1 :]):
        value = {key: value}
    if parent.kind != "object":
        raise JsonTextError(f"has no object at {_shown(path[:depth])}")
    return _add_child(text, parent, str(path[depth]), value)


def _add_child(text: str, parent: Node, key: str | None, value: Any) -> str:
    name = "" if key is None else json.dumps(key, ensure_ascii=False) + ": "
    newline = _newline(text)
    if not parent.children:
        outer = _indent_at(text, parent.start)
        indent = outer + _unit(text)
        closing = "" if "\n" in text[parent.start : parent.end] else newline + outer
        after = parent.start + 1
        return text[:after] + newline + indent + name + _written(text, value, indent) + closing + text[after:]
    first, last = parent.children[0], parent.children[-1]
    head = text[parent.start : first.start]
    if "\n" not in head:  # all on one line
        return text[: last.node.end] + f", {name}{json.dumps(value, ensure_ascii=False)}" + text[last.node.end :]
    indent = _indent_at(text, first.start)
    added = newline + indent + name + _written(text, value, indent)
    if parent.comma is not None:
        position = _end_of_line(text, parent.comma + 1)
        return text[:position] + added + "," + text[position:]
    position = _end_of_line(text, last.node.end)
    return text[: last.node.end] + "," + text[last.node.end : position] + added + text[position:]


def remove(text: str, path: Path) -> str:
    """The text without the member or item at this path, its comma and its line."""
    parent = parse(text).at(path[:-1])
    child = parent.child(path[-1]) if parent is not None else None
    if parent is None or child is None:
        return text
    place = parent.children.index(child)
    start = _start_of_line(text, child.start)
    if len(parent.children) == 1:
        head = text[parent.start + 1 : start]
        closing = text[child.node.end if parent.comma is None else parent.comma + 1 : parent.end - 1]
        inner = _joined(head, closing) if (head + closing).strip() else ""
        return _joined(text[: parent.start + 1] + inner, text[parent.end - 1 :])
    if place < len(parent.children) - 1:
        end = _skip(text, child.node.end) + 1
        is_first_on_line = start < child.start
        return _joined(text[:start], text[end if is_first_on_line else _skip(text, end) :])
    if parent.comma is not None:  # the comma of the one before becomes the trailing one
        return _joined(text[:start], text[parent.comma + 1 :])
    comma = _skip(text, parent.children[place - 1].node.end)
    between = text[comma + 1 : max(start, comma + 1)]  # a comment of the one before, perhaps
    return _joined(text[:comma] + (between if between.strip() else ""), text[child.node.end :])


def _joined(before: str, after: str) -> str:
    """Both texts, with a line end between them if a comment would swallow the second."""
    tokens = list(_STRING_OR_COMMENT.finditer(before))
    is_open = bool(tokens) and tokens[-1].end() == len(before) and tokens[-1].group().startswith("//")
    return before + (_newline(before) if is_open and not after.startswith(("\n", "\r")) else "") + after


def remove_empty(text: str, path: Path) -> str:
    """The text without the containers on this path that are empty, from the inside out."""
    while path:
        node = parse(text).at(path)
        if node is None or node.kind == "scalar" or node.children or comments(text[node.start : node.end]):
            return text
        text, path = remove(text, path), path[:-1]
    return text


# --- layout -----------------------------------------------------------------------------------------------------------
def _newline(text: str) -> str:
    at = text.find("\n")
    return "\r\n" if at > 0 and text[at - 1] == "\r" else "\n"


def _unit(text: str) -> str:
    """One step of the file's indentation."""
    root = parse(text)
    if root.children and "\n" in text[root.start : root.children[0].start]:
        return _indent_at(text, root.children[0].start) or INDENT
    return INDENT


def _indent_at(text: str, position: int) -> str:
    """The indentation of the line that a position is in."""
    start = text.rfind("\n", 0, position) + 1
    line = text[start:position]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _start_of_line(text: str, position: int) -> int:
    """The line end before a value that is the first on its line; otherwise the value itself."""
    match = _INDENT.search(text, 0, position)
    if match is None:
        return position
    return match.start() - 1 if text[match.start() - 1 : match.start()] == "\r" else match.start()


def _end_of_line(text: str, position: int) -> int:
    """The end of the line where only comments follow; otherwise the position itself."""
    match = _REST_OF_LINE.match(text, position)
    return match.end() if match is not None and match.group().strip() else position


def _written(text: str, value: Any, indent: str) -> str:
    """The value as JSON with the file's indentation and line ends; what is short is on one line."""
    return _dumped(value, indent, _unit(text), _newline(text))


def _dumped(value: Any, indent: str, unit: str, newline: str) -> str:
    line = json.dumps(value, ensure_ascii=False)
    if not value or not isinstance(value, dict | list) or len(indent) + len(line) <= LINE_MAX:
        return line
    names = (
        [json.dumps(key, ensure_ascii=False) + ": " for key in value] if isinstance(value, dict) else [""] * len(value)
    )
    values = value.values() if isinstance(value, dict) else value
    inner = indent + unit
    parts = [inner + name + _dumped(child, inner, unit, newline) for name, child in zip(names, values, strict=True)]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return newline.join([opening, ("," + newline).join(parts), indent + closing])


def written(value: Any) -> str:
    """A file with this value, in the layout of the edits."""
    return _dumped(value, "", INDENT, "\n") + "\n"


def _shown(path: Path) -> str:
    return "$" + "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)

"""Gist and text of a message, from its bytes alone: one line that says what it is about, and the words in it."""

import json
import re
from collections.abc import Mapping
from typing import Any

from telex.model.named_tuple import NamedTuple

CHARACTERS_MAX = 160
TEXT_CHARACTERS_MAX = 4_000
BYTES_MAX = 65_536  # a longer message is read as text only, and only its beginning
FIELDS_MAX = 3
_HEADS = ("status", "result", "verdict", "decision", "signal", "severity")
_SENTENCES = (
    *("subject", "objective", "issue", "blocker", "summary", "title", "question", "reason", "description", "details"),
    *("message", "text", "note", "notes", "feedback", "recommendation", "goal"),
)
_INNER = ("payload", "data", "body", "content", "context")
_ENVELOPE = frozenset(
    (
        *("type", "id", "phase", "task", "author_role", "target_role", "timestamp", "schema_version", "confidence"),
        *("from", "to", "plan_id", "phase_id", "task_id", "request_id", "version", *_HEADS),
    )
)
_DECISIONS = {
    "approved": ("approved", "rejected"),
    "approve": ("agrees", "does not agree"),
    "passed": ("passed", "failed"),
}
_BOLD = re.compile(r"\*\*(\S[^*]*)\*\*")
_MARKS = re.compile(r"^[\s#>*-]+")
_SPACE = re.compile(r"\s+")


class MessageText(NamedTuple):
    gist: str  # at most CHARACTERS_MAX
    text: str  # text that is searched: the values of the fields, or the text itself; at most TEXT_CHARACTERS_MAX
    cut: bool  # the text was cut


def gist(raw: bytes) -> str:
    return read_text(raw).gist


def read_text(raw: bytes) -> MessageText:
    text = raw[:BYTES_MAX].decode("utf-8", "replace")
    tree = _tree(text) if len(raw) <= BYTES_MAX else None
    line = _of_tree(tree) or _of_text(text)
    line = _SPACE.sub(" ", line[: CHARACTERS_MAX * 4]).strip()
    words = _SPACE.sub(" ", " · ".join(_values(tree)) if isinstance(tree, dict) else text).strip()
    return MessageText(
        line if len(line) <= CHARACTERS_MAX else f"{line[: CHARACTERS_MAX - 1].rstrip()}…",
        words[:TEXT_CHARACTERS_MAX],
        len(words) > TEXT_CHARACTERS_MAX or len(raw) > BYTES_MAX,
    )


def _values(tree: dict[str, Any]) -> list[str]:
    """Texts and numbers of all fields but the envelope, in their order. No recursion: JSON can be deep."""
    values, rest = (
        list[str](),
        [value for name, value in reversed(tree.items()) if name in _HEADS or name not in _ENVELOPE],
    )
    while rest:
        value = rest.pop()
        if isinstance(value, dict):
            rest += reversed(value.values())
        elif isinstance(value, list):
            rest += reversed(value)
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            values.append(str(value))
    return values


def _tree(text: str) -> Any:
    if not text.lstrip().startswith("{"):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _of_tree(tree: Any) -> str:
    if not isinstance(tree, dict):
        return ""
    layers: list[Mapping[str, Any]] = [tree[name] for name in _INNER if isinstance(tree.get(name), dict)]
    layers.append(tree)
    head = _first(layers, _HEADS) or _decision(layers)
    words = _first(layers[:1], _SENTENCES) or _first(layers, _SENTENCES) or _prose(layers) or _fields(layers[0])
    return ": ".join(part for part in (head.replace("_", " "), words) if part)


def _first(layers: list[Mapping[str, Any]], names: tuple[str, ...]) -> str:
    """The first of these fields that is text, in the innermost layer that has it."""
    for name in names:
        for layer in layers:
            value = layer.get(name)
            if isinstance(value, str) and value.strip():
                return value.strip()
    return ""


def _decision(layers: list[Mapping[str, Any]]) -> str:
    for name, (yes, no) in _DECISIONS.items():
        for layer in layers:
            if isinstance(layer.get(name), bool):
                return yes if layer[name] else no
    return ""


def _prose(layers: list[Mapping[str, Any]]) -> str:
    """The first line of a body in markdown, but for its headings."""
    text = _first(layers, _INNER)
    return _of_text("\n".join(line for line in text.splitlines() if not line.startswith("#")) or text)


def _fields(layer: Mapping[str, Any]) -> str:
    """The first few simple fields, where no field is a sentence."""
    shown = ((name, _plain(value)) for name, value in layer.items() if name not in _ENVELOPE)
    return " · ".join([f"{name.replace('_', ' ')} {text}" for name, text in shown if text][:FIELDS_MAX])


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return ""
    if isinstance(value, str | int | float):
        return str(value)
    is_list = isinstance(value, list) and all(isinstance(one, str) for one in value)
    return ", ".join(value) if is_list else ""


def _of_text(text: str) -> str:
    """The first line of prose: after front matter, without fences and without the marks of markdown."""
    lines = text.splitlines()
    begin = 0
    if lines and lines[0].rstrip() == "---":
        begin = next((number + 1 for number, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), 0)
    prose = (line for line in lines[begin:] if _has_words(line) and not line.lstrip().startswith("```"))
    line = next(prose, None) or next((line for line in lines if _has_words(line)), "")
    return _MARKS.sub("", _BOLD.sub(r"\1", line))


def _has_words(line: str) -> bool:
    return any(char.isalnum() for char in line)

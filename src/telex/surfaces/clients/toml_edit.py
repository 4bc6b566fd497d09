"""Text edits of TOML files: one table is appended or removed, all other bytes stay.

The standard library reads TOML and does not write it. A table at the end of a file is valid TOML without touching what
is before it, and every edit is checked by parsing the result.
"""

import re
import tomllib
from typing import Any

_HEADER = re.compile(r"[ \t]*\[\[?[^\]\r\n]+\]\]?[ \t]*(?:#[^\r\n]*)?")
NOTE = "# Telex; `telex init --uninstall` removes this table"


class TomlTextError(ValueError):
    """The text is not TOML, or the edit would change more than its table."""


def tree(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise TomlTextError(f"is no TOML: {error}") from error


def add_table(text: str, path: tuple[str, ...], values: dict[str, Any]) -> str:
    """The text with this table at its end, in place of an earlier one of this path."""
    if _at(tree(text), path) == values:
        return text
    base = remove_table(text, path)
    newline = "\r\n" if "\r\n" in base else "\n"
    lines = [NOTE, f"[{'.'.join(path)}]", *(f"{key} = {_value(value)}" for key, value in values.items())]
    gap = "" if not base.strip() else newline if base.endswith("\n") else newline * 2
    edited = base + gap + newline.join(lines) + newline
    _check(edited, base, path, values)
    return edited


def remove_table(text: str, path: tuple[str, ...]) -> str:
    """The text without the table of this path, the tables in it, and our note above it."""
    if _at(tree(text), path) is None:
        return text
    kept: list[str] = []
    between: list[str] = []  # blank lines and comments of our table: they belong to what follows
    is_ours = False
    for line in text.splitlines(keepends=True):
        if _HEADER.fullmatch(line.rstrip("\r\n")):
            is_ours, was_ours = _header_path(line)[: len(path)] == path, is_ours
            kept += between
            between = []
            if is_ours and not was_ours:
                kept = _without_note(kept)
        elif is_ours and (not line.strip() or line.lstrip().startswith("#")):
            between.append(line)
        elif is_ours:
            between = []
        if not is_ours:
            kept.append(line)
    kept += between
    edited = "".join(kept)
    _check(edited, text, path, None)
    return edited


def _without_note(lines: list[str]) -> list[str]:
    """The lines without our note at their end, and the blank line above it."""
    if not lines or lines[-1].strip() != NOTE:
        return lines
    return lines[:-2] if len(lines) > 1 and not lines[-2].strip() else lines[:-1]


def _header_path(line: str) -> tuple[str, ...]:
    """The path that a header names; `[a."b.c"]` has two parts."""
    keys: list[str] = []
    try:
        node: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return ()
    while isinstance(node, dict | list) and node:
        if isinstance(node, list):
            node = node[0]
            continue
        key = next(iter(node))
        keys.append(key)
        node = node[key]
    return tuple(keys)


def _check(edited: str, before: str, path: tuple[str, ...], values: dict[str, Any] | None) -> None:
    """Compare the trees: they may differ in the table of this path only."""
    after = tree(edited)
    if _at(after, path) != values or _with(tree(before), path, values) != _with(after, path, values):
        raise TomlTextError(f"cannot be edited safely: [{'.'.join(path)}] is not written as a table of its own")


def _with(root: dict[str, Any], path: tuple[str, ...], values: dict[str, Any] | None) -> dict[str, Any]:
    key, rest = path[0], path[1:]
    child = values if not rest else _with(root.get(key, {}), rest, values)
    others = {name: value for name, value in root.items() if name != key}
    return others | {key: child} if child else others


def _at(root: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        root = root.get(key) if isinstance(root, dict) else None
    return root


def _value(value: Any) -> str:
    """Strings, booleans and lists of strings, as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return _quoted(str(value))


def _quoted(text: str) -> str:
    escaped = "".join(
        f"\\u{ord(letter):04x}" if ord(letter) < 32 or ord(letter) == 127 else letter
        for letter in text.replace("\\", "\\\\").replace('"', '\\"')
    )
    return f'"{escaped}"'

"""How a place in a message is written: JSON path, `$.payload.documents[0].name`."""

import json
import re

ROOT = "$"
KEY_CHARACTERS_MAX = 128  # a path repeats its keys in every finding below them
_SIMPLE = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")


def join(path: str, key: str | int) -> str:
    """One step further down."""
    if isinstance(key, int):
        return f"{path}[{key}]"
    if len(key) > KEY_CHARACTERS_MAX:
        key = key[: KEY_CHARACTERS_MAX - 1] + "…"
    return f"{path}.{key}" if _SIMPLE.match(key) else f"{path}[{json.dumps(key)}]"


def path_of(*keys: str | int) -> str:
    """The path from the top through these steps."""
    path = ROOT
    for key in keys:
        path = join(path, key)
    return path


def within(path: str, other: str) -> bool:
    """Is the one place the other, or somewhere inside it?"""
    return path.startswith(other) and path[len(other) : len(other) + 1] in ("", ".", "[")

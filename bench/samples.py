"""Messages to measure with: every type of a dialect, many times with other words.

The examples of the docs are short. Agents write more: sentences of two to fourteen words, and lists of one to five
paths, tasks or concerns.
"""

import json
import random
from typing import Any

from telex.dialects.builtin.build_flow import TASK_ASSIGNMENT
from telex.dialects.builtin.vbw_typed import EXECUTION_UPDATE
from telex.dialects.schema import Dialect, ListOf, MessageType, Text, kind_at
from telex.dialects.write import write

COPIES = 30
_WORDS = ["the", "session", "table", "waits", "for", "plan", "token", "reset", "mail", "link", "clock", "agent"]


def messages(dialect: Dialect, seed: int = 1) -> list[bytes]:
    """Valid messages as agents send them, shuffled: JSON as Python's json writes it, or front matter."""
    chance = random.Random(seed)
    raws = []
    for _ in range(COPIES):
        for type_ in dialect.types.values():
            tree = _reworded(type_.example, (), dialect, type_, chance)
            text = json.dumps(tree) if dialect.form == "json" else write(dialect, tree, type_.body_example)
            raws.append(text.encode())
    chance.shuffle(raws)
    return raws


def _reworded(value: Any, path: tuple[str, ...], dialect: Dialect, type_: MessageType, chance: random.Random) -> Any:
    if isinstance(value, dict):
        return {key: _reworded(inner, (*path, key), dialect, type_, chance) for key, inner in value.items()}
    field = kind_at(dialect.fields_of(type_), path)
    if isinstance(value, list):
        marked = (*path[:-1], f"{path[-1]}[]")
        if value and field is not None and isinstance(field.kind, ListOf) and isinstance(field.kind.item, Text):
            value = [value[0]] * chance.randint(1, 5)
        return [_reworded(inner, marked, dialect, type_, chance) for inner in value]
    if field is None or not isinstance(field.kind, Text) or field.kind.printable:
        return value
    if " " in value:
        return " ".join(chance.choices(_WORDS, k=chance.randint(2, 14)))
    return f"{value}/{chance.choice(_WORDS)}" if "/" in value else value


def updates(prefix: str, count: int, size: int = 600) -> list[bytes]:
    """That many reports of a developer, each under an id of its own and of exactly that many bytes."""
    tree = {**EXECUTION_UPDATE.example, "payload": {**EXECUTION_UPDATE.example["payload"]}}
    raws = []
    for number in range(count):
        tree["id"] = f"{prefix}-{number}"
        tree["task"] = tree["payload"]["task_id"] = f"1-{number // 50}-T1"  # a conversation is some fifty messages
        raws.append(_padded(tree, "evidence", size))
    return raws


def assignments(prefix: str, count: int, size: int = 600) -> list[bytes]:
    """That many tasks for a developer, each under an id of its own and of exactly that many bytes."""
    tree = {**TASK_ASSIGNMENT.example, "payload": {**TASK_ASSIGNMENT.example["payload"]}}
    raws = []
    for number in range(count):
        tree["messageId"] = tree["correlationId"] = tree["payload"]["taskId"] = f"{prefix}-{number}"
        raws.append(_padded(tree, "description", size))
    return raws


def _padded(tree: dict[str, Any], field: str, size: int) -> bytes:
    """The message as JSON of exactly that many bytes, with words in that field of its payload."""
    tree["payload"][field] = ""
    room = size - len(json.dumps(tree))
    assert room > 0, "the message is too long before anything is said in it"
    tree["payload"][field] = (" ".join(_WORDS) * (room // 50 + 1))[: room - 1] + "."
    return json.dumps(tree).encode()

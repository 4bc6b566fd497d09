"""Messages to measure with: every type of a dialect, each many times over with other words in it."""

import json
import random
from typing import Any

from telex.dialects.spec import Dialect, MessageType, Text, kind_at
from telex.dialects.writing import write

COPIES = 30
_WORDS = [
    "the",
    "session",
    "table",
    "waits",
    "for",
    "plan",
    "migration",
    "token",
    "reset",
    "mail",
    "link",
    "review",
    "auth",
    "retry",
    "clock",
    "store",
    "lease",
    "agent",
    "work",
]


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
    if isinstance(value, list):
        marked = (*path[:-1], f"{path[-1]}[]")
        return [_reworded(inner, marked, dialect, type_, chance) for inner in value]
    field = kind_at(dialect.fields_of(type_), path)
    is_prose = field is not None and isinstance(field.kind, Text) and not field.kind.printable and " " in str(value)
    return " ".join(chance.choices(_WORDS, k=chance.randint(2, 14))) if is_prose else value

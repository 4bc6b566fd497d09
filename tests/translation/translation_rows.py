"""Expected translations in `translations.jsonl`: a line for each row of the mapping tables and each other dialect.

Read the difference after a change of a row:

    python -m tests.translation.translation_rows > tests/translation/translations.jsonl
"""

import copy
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import Dialect, set_path
from telex.translation.mapping import TypeMapping
from telex.translation.mapping_tables import rows_of
from telex.translation.translate import FieldChange, NoCounterpart, header_of
from tests.translation.translation_kit import Sent

WRITTEN = Path(__file__).parent / "translations.jsonl"
# What a type's own example leaves out and the row is about.
MORE: dict[str, dict[str, Any]] = {
    "build-flow/STATUS_UPDATE/blocked": {"blockers": ["The session table is not there yet", "The mail service is down"],
        "details": "Plan 1-1 committed"},
    "build-flow/VALIDATION_RESPONSE/answer": {"suggestions": ["src/mail/"]},
    "signal-md/worker_submission/blocked": {"qa_check": "fail"},
}  # fmt: skip
BODIES = {
    "blocked": "The session table is not there yet.\n",
    "escalate": "The design assumes no server-side state.\n",
    "answer": "Two names say too little.\n",
}


class Told(NamedTuple):
    """A row of one dialect and what it is in another."""

    dialect: Dialect
    row: TypeMapping
    to: Dialect

    @property
    def id(self) -> str:
        return f"{self.dialect.name}/{self.row.type}/{self.row.intents[0]}"

    def sent(self) -> Sent:
        """The type's own example, as this act."""
        type_ = self.dialect.types[self.row.type]
        tree = copy.deepcopy(type_.example)
        for slot, values in self.row.when.items():
            steps = self.dialect.locate(type_, type_.field_map[slot])
            if not any(tree.get(steps[0]) == value or _at(tree, steps) == value for value in values):
                set_path(tree, steps, values[0])
        for name, value in MORE.get(self.id, {}).items():
            set_path(tree, self.dialect.locate(type_, name), value)
        body = type_.body_example if self.dialect.form == "front-matter" else None
        if body is not None and self.row.intents[0] in BODIES:
            body = BODIES[self.row.intents[0]]
        header = header_of(tree, self.dialect, type_, id="01-id", at=1_790_000_000.0, sender="somebody")
        sent = Sent(self.dialect, type_, tree, body, header._replace(reply_to=header.reply_to or "ask-1"))
        return sent.by_a_role_that_may(self.to)

    def line(self) -> str:
        """What it is told as."""
        told = self.sent().translated(self.to)
        known: dict[str, Any] = {"row": self.id, "to": self.to.name}
        if isinstance(told, NoCounterpart):
            known |= {"none": told.reason}
        else:
            known |= {"tree": told.tree, "body": told.body, "from": told.sender_role, "for": told.recipient_role}
            known |= {"lost": _paths(told.lost), "invented": _paths(told.invented), "narrowed": _paths(told.narrowed)}
        return json.dumps(known, ensure_ascii=False)


def _at(tree: Any, steps: tuple[str, ...]) -> Any:
    for step in steps:
        tree = tree.get(step) if isinstance(tree, dict) else None
    return tree


def _paths(changes: tuple[FieldChange, ...]) -> list[str]:
    return [change.path for change in changes]


def every_row() -> Iterator[tuple[Dialect, TypeMapping]]:
    """Each row once: another version of a dialect adds those of its own types."""
    seen: set[tuple[str, int]] = set()
    for dialect in BUILT_IN:
        rows = [row for row in rows_of(dialect) if (dialect.base, id(row)) not in seen]
        seen |= {(dialect.base, id(row)) for row in rows}
        yield from ((dialect, row) for row in rows)


def every_pair() -> Iterator[Told]:
    for dialect, row in every_row():
        yield from (Told(dialect, row, to) for to in BUILT_IN if to is not dialect)


if __name__ == "__main__":
    sys.stdout.writelines(f"{told.line()}\n" for told in every_pair())

"""How the tables are written, and how a message is made from a row.

    text        any text                    1..         a whole number from 1 up
    id          1 to 128 visible characters 0..3        a whole number from 0 to 3
    high|low    one of these                number      any number; number 0..100 with its range
    =2.0        exactly this                bool  time  object (the page leaves it open)
    [ … ]       a list of these             { … }       an object; {"*": …} one whose keys the sender chooses

A name that ends in ? may be left out.
"""

import copy
from collections.abc import Iterator
from typing import Any, NamedTuple

from telex.dialects.registry import BUILT_IN, by_name
from telex.dialects.schema import Dialect
from telex.dialects.write import write
from telex.validation.check import CheckPolicy

Notation = str | list | dict
Steps = tuple[str | int, ...]


# A body with everything that any type asks for.
BODY = "".join(
    f"## {name}\n\n"
    for name in (
        *("Result", "Self-Assessment", "Findings", "AC Coverage", "Runtime", "Triage", "Research Questions", "Answer"),
        *("Verified Facts", "Acceptance Criteria", "Context", "Files", "From the reviewer", "Research Context"),
        *("Why it matters", "Where to look"),
    )
)


class Row(NamedTuple):
    """One type: what a line of the page's table says."""

    type: str
    senders: str  # roles, or * for any
    receivers: str
    priority: str
    fields: dict[str, Notation]
    reply: str | None = None
    sample: dict[str, Any] = {}  # noqa: RUF012  # values, by dotted name, without which the sample breaks a hard rule
    bare: dict[str, Any] = {}  # noqa: RUF012  # the same for a sample without its optional fields


def row(head: str, fields: dict[str, Notation], **more: Any) -> Row:
    """A row whose first columns are written in one text: type | senders | receivers | priority."""
    type_, senders, receivers, priority = head.split(" | ")
    return Row(type_, senders, receivers, priority, fields, **more)


def texts(names: str) -> dict[str, Notation]:
    return dict.fromkeys(names.split(), "text")


def lists(names: str) -> dict[str, Notation]:
    """Lists of text."""
    return {name: ["text"] for name in names.split()}


class Table(NamedTuple):
    name: str
    version: str
    roles: str
    known_by: dict[str, str]  # where the bus finds what it needs to know
    rows: tuple[Row, ...]
    envelope: dict[str, Notation] = {}  # noqa: RUF012
    payload: str | None = None
    sender: str | None = None  # the field that says who speaks
    before: "Table | None" = None  # the version that this one extends

    @property
    def dialect(self) -> Dialect:
        found = by_name(self.name)
        assert found is not None
        return found

    @property
    def policy(self) -> CheckPolicy:
        """Reads nothing but this dialect."""
        return CheckPolicy(forced=self.dialect)

    @property
    def team(self) -> CheckPolicy:
        """Reads every dialect, and this one where a message fits two."""
        known = BUILT_IN if self.dialect in BUILT_IN else (self.dialect, *BUILT_IN)
        return CheckPolicy(known, preferred=self.name)

    def line(self, row: Row) -> str:
        """The line of the ledger about a type: another version has one where it differs."""
        if self.before is not None and row in self.before.rows:
            return self.before.line(row)
        return f"{self.name.replace('@', '/')}/type/{row.type}"

    @property
    def page(self) -> str:
        return self.before.name if self.before is not None else self.name

    def row(self, type_: str) -> Row:
        return next(row for row in self.rows if row.type == type_)

    def wire(self, tree: dict, body: str = BODY) -> bytes:
        return write(self.dialect, tree, body).encode()


class Place(NamedTuple):
    """A field of a sample message."""

    steps: Steps
    notation: Notation
    required: bool

    @property
    def path(self) -> str:
        return path_of(*self.steps)


def path_of(*steps: str | int) -> str:
    return "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)


def message(table: Table, row: Row, *, bare: bool = False, **changes: Any) -> dict:
    """A message as the row describes it, whole or without its optional fields; `changes` are made to its own fields."""
    own = _object(row.fields, bare)
    for name, value in (row.bare if bare else row.sample).items():
        put(own, tuple(name.split(".")), value)
    own |= changes
    if table.payload is None:
        return {"type": row.type, **own}
    around = _object(table.envelope, bare)
    if table.sender and row.senders != "*":
        around[table.sender] = row.senders.split()[0]
    if "target_role" in around:
        around["target_role"] = row.receivers.split()[0]
    return {"type": row.type, **around, table.payload: own}


def places(table: Table, row: Row) -> list[Place]:
    """Every field of the whole sample, at every depth."""
    own = list(_places(row.fields, (table.payload,) if table.payload else ()))
    return list(_places(table.envelope, ())) + own


def put(tree: Any, steps: Steps, value: Any) -> Any:
    *outer, last = steps
    for step in outer:
        tree = tree[step]
    tree[last] = value


def get(tree: Any, steps: Steps) -> Any:
    for step in steps:
        tree = tree[step]
    return tree


def with_value(tree: dict, steps: Steps, value: Any) -> dict:
    changed = copy.deepcopy(tree)
    put(changed, steps, value)
    return changed


def without(tree: dict, steps: Steps) -> dict:
    changed = copy.deepcopy(tree)
    del get(changed, steps[:-1])[steps[-1]]
    return changed


def choices(notation: Notation) -> list[str]:
    """The values of an enum or constant; none for anything else."""
    if not isinstance(notation, str):
        return []
    return [notation[1:]] if notation.startswith("=") else notation.split("|") if "|" in notation else []


def bounds(notation: Notation) -> tuple[int | None, int | None] | None:
    """The range of a number, with None for an open end; None for what is not a number."""
    if notation == "number":
        return None, None
    if not isinstance(notation, str) or ".." not in notation:
        return None
    low, high = notation.removeprefix("number ").split("..")
    return int(low), int(high) if high else None


def _places(fields: dict[str, Notation], outer: Steps) -> Iterator[Place]:
    for name, notation in fields.items():
        steps = (*outer, name.removesuffix("?"))
        yield Place(steps, notation, not name.endswith("?"))
        if isinstance(notation, list):
            steps, notation = (*steps, 0), notation[0]
            if isinstance(notation, str):
                yield Place(steps, notation, False)
        if isinstance(notation, dict):
            if "*" in notation:
                yield Place((*steps, "AC1"), notation["*"], False)
            else:
                yield from _places(notation, steps)


def _object(fields: dict[str, Notation], bare: bool) -> dict:
    return {
        name.removesuffix("?"): _sample(notation, name, bare)
        for name, notation in fields.items()
        if not (bare and name.endswith("?"))
    }


def _sample(notation: Notation, name: str, bare: bool) -> Any:
    if isinstance(notation, list):
        return [_sample(notation[0], name, bare)]
    if isinstance(notation, dict):
        return {"AC1": _sample(notation["*"], name, bare)} if "*" in notation else _object(notation, bare)
    if values := choices(notation):
        return values[0]
    if (limits := bounds(notation)) is not None:
        return limits[0] or 0
    simple = {"bool": True, "time": "2026-02-12T10:00:00Z", "object": {"a": [1, None]}}
    return simple.get(notation, f"some {name.removesuffix('?')}")

"""Is every type of every dialect what its page says: its fields, their values, who sends it and who receives it?

Expectations come from `tests/tables`, which was written from the pages and knows nothing of the definitions.
"""

from collections.abc import Callable
from typing import Any

import pytest

from telex.model.finding import refusals
from telex.validation.check import CheckResult, check
from tests.proofs import proves
from tests.tables import VERSIONS
from tests.tables.notation import Notation, Place, Row, Table, bounds, choices, message, places, with_value, without


def param(table: Table, row: Row, *more: Any, name: str = "", lines: tuple[str, ...] = ()) -> Any:
    marks = proves(table.line(row), *lines)
    return pytest.param(table, row, *more, marks=marks, id=f"{table.name} {row.type} {name}".strip())


EVERY_TYPE = [param(table, row) for table in VERSIONS for row in table.rows]


def every_place(wanted: Callable[[Place], object], values: Callable[[Place], list] | None = None) -> list:
    """A case for each such field of each type, once for an envelope; with `values`, a case for each value."""
    found: dict[tuple[str, str, str], Any] = {}
    for table in VERSIONS:
        for row in table.rows:
            for place in filter(wanted, places(table, row)):
                owner = row.type if table.payload in (None, place.steps[0]) else "envelope"
                for value in values(place) if values else [None]:
                    more = (place, value) if values else (place,)
                    shown = f"{place.path} {value}" if values else place.path
                    found.setdefault((table.name, owner, shown), param(table, row, *more, name=shown))
    return list(found.values())


def read(table: Table, tree: dict, as_role: str | None = None, to_role: str | None = None) -> CheckResult:
    return check(table.wire(tree), table.policy, as_role=as_role, to_role=to_role)


def told(checked: CheckResult, path: str) -> list[str]:
    """The codes of all refusals at this place."""
    return [finding.code for finding in refusals(checked.findings) if finding.path == path]


@pytest.mark.parametrize("bare", [False, True], ids=["whole", "bare"])
@pytest.mark.parametrize("table, row", EVERY_TYPE)
def test_a_message_is_accepted_with_all_its_fields_and_with_only_those_required(
    table: Table, row: Row, bare: bool
) -> None:
    tree = message(table, row, bare=bare)
    for policy in (table.policy, table.team):
        checked = check(table.wire(tree), policy)
        assert checked.valid
        assert refusals(checked.findings) == []
        assert "field-unknown" not in {finding.code for finding in checked.findings}
        assert (checked.dialect, checked.type) == (table.dialect, row.type)
        assert tree.items() <= checked.tree.items()


@pytest.mark.parametrize("table, row, place", every_place(lambda place: place.required))
def test_a_required_field_left_out_is_refused_at_its_place(table: Table, row: Row, place: Place) -> None:
    checked = read(table, without(message(table, row), place.steps))
    assert not checked.valid
    assert told(checked, place.path) == ["field-missing"]


@pytest.mark.parametrize(
    "table, row, place", every_place(lambda place: not place.required and isinstance(place.steps[-1], str))
)
def test_an_optional_field_may_be_left_out(table: Table, row: Row, place: Place) -> None:
    checked = read(table, without(message(table, row), place.steps))
    assert set(told(checked, place.path)) <= {"research-count-mismatch"}


@pytest.mark.parametrize(
    "table, row, place, value",
    every_place(lambda place: choices(place.notation), lambda place: choices(place.notation)),
)
def test_every_value_of_an_enum_is_taken(table: Table, row: Row, place: Place, value: str) -> None:
    checked = read(table, with_value(message(table, row), place.steps, value))
    assert not {"not-one-of", "wrong-type"} & set(told(checked, place.path))


@pytest.mark.parametrize("table, row, place", every_place(lambda place: choices(place.notation)))
def test_any_other_value_is_refused_and_those_there_are_are_offered(table: Table, row: Row, place: Place) -> None:
    checked = read(table, with_value(message(table, row), place.steps, "quite-another-thing"))
    assert not checked.valid
    assert told(checked, place.path) == ["not-one-of"]
    offered = next(f.expected for f in checked.findings if f.code == "not-one-of") or ""
    assert set(offered.removeprefix("one of ").replace('"', "").split(", ")) == set(choices(place.notation))


def numbers(low: int | None, high: int | None) -> list[tuple[int, bool]]:
    """Numbers at the ends of a range and next to them, and whether each is taken."""
    cases = [(low - 1, False), (low, True), (low + 1, True)] if low is not None else [(-7, True)]
    return cases + ([(high, True), (high + 1, False)] if high is not None else [(2**53, True)])


@pytest.mark.parametrize(
    "table, row, place, case",
    every_place(lambda place: bounds(place.notation), lambda place: numbers(*bounds(place.notation) or (None, None))),
)
def test_a_number_is_taken_up_to_the_ends_of_its_range(
    table: Table, row: Row, place: Place, case: tuple[int, bool]
) -> None:
    number, taken = case
    checked = read(table, with_value(message(table, row), place.steps, number))
    assert ("out-of-range" not in told(checked, place.path)) is taken


def misfits(notation: Notation) -> list:
    """Values of another kind, of a sort that front matter can hold too."""
    if isinstance(notation, list):
        return [7, {"a": "b"}]
    if isinstance(notation, dict) or notation == "object":
        return ["a text", ["a text"]]
    if notation == "bool":
        return ["perhaps", ["a text"]]
    if notation == "time":
        return ["soon", {"a": "b"}]
    return ["many", [1]] if bounds(notation) else [["a text"], {"a": "b"}]


@pytest.mark.parametrize("table, row, place", every_place(lambda place: True))
def test_a_value_of_another_kind_is_refused_at_its_place(table: Table, row: Row, place: Place) -> None:
    for misfit in misfits(place.notation):
        checked = read(table, with_value(message(table, row), place.steps, misfit))
        assert not checked.valid
        assert told(checked, place.path)[:1] in (["wrong-type"], ["timestamp-malformed"]), misfit


@pytest.mark.parametrize(
    "table, row",
    [
        param(table, row, lines=(f"build-flow/priority/{row.priority.lower()}",) if table.name == "build-flow" else ())
        for table in VERSIONS
        for row in table.rows
    ],
)
@proves("common/priority", "common/reply")
def test_a_type_has_its_class_and_names_the_type_that_answers_it(table: Table, row: Row) -> None:
    checked = read(table, message(table, row))
    assert checked.dialect is not None
    type_ = checked.dialect.types[row.type]
    assert (type_.priority, type_.reply) == (row.priority, row.reply)
    assert type_.priority in ("ESCALATION", "ERROR", "VALIDATION", "STATUS")


@pytest.mark.parametrize("table", VERSIONS, ids=lambda table: table.name)
@proves("vbw-typed/envelope/type", "build-flow/base/type", "vbw-company/roles")
def test_a_dialect_has_these_types_and_roles_and_no_others(table: Table) -> None:
    assert sorted(table.dialect.types) == sorted(row.type for row in table.rows)
    assert sorted(table.dialect.roles) == sorted(table.roles.split())


@pytest.mark.parametrize("table", VERSIONS, ids=lambda table: table.name)
@proves("common/wire")
def test_a_dialect_keeps_what_the_bus_needs_to_know_in_these_fields(table: Table) -> None:
    assert table.dialect.version == table.version
    assert {name: field for name, field in table.dialect.wire._asdict().items() if field is not None} == table.known_by


SENT_BY_SOME = [
    param(table, row, lines=(f"{table.page}/roles/sender",))
    for table in VERSIONS
    for row in table.rows
    if row.senders != "*"
]


@pytest.mark.parametrize("table, row", SENT_BY_SOME)
def test_a_type_is_sent_by_the_roles_of_its_row_and_by_no_other(table: Table, row: Row) -> None:
    for role in table.roles.split():
        tree = message(table, row)
        if table.sender in tree:
            tree[table.sender] = role
        checked = read(table, tree, as_role=role)
        found = [finding for finding in refusals(checked.findings) if finding.code == "role-may-not-send"]
        assert len(found) == (role not in row.senders.split()), role
        assert all(finding.expected == " or ".join(row.senders.split()) for finding in found)


@pytest.mark.parametrize(
    "table, row",
    [
        param(
            table, row, lines=("vbw-typed/roles/target-asked",) if table.payload else (f"{table.page}/roles/receiver",)
        )
        for table in VERSIONS
        for row in table.rows
        if row.receivers != "*"
    ],
)
def test_a_type_delivered_to_a_role_outside_its_row_passes_with_a_warning(table: Table, row: Row) -> None:
    for role in table.roles.split():
        checked = read(table, message(table, row, bare=True), to_role=role)
        found = [finding.severity for finding in checked.findings if finding.code == "role-may-not-receive"]
        assert checked.valid
        assert found == ([] if role in row.receivers.split() else ["warning"]), role


@pytest.mark.parametrize("role", ["build-orchestrator", "cto", "anyone at all"])
@pytest.mark.parametrize(
    "table, row", [param(table, row) for table in VERSIONS for row in table.rows if row.senders == "*"]
)
def test_a_type_that_is_open_to_all_is_sent_by_and_to_anyone(table: Table, row: Row, role: str) -> None:
    tree = message(table, row) | {"from": role}
    assert refusals(read(table, tree, as_role=role, to_role=role).findings) == []

"""Is a mistake in the lexicon found? Each kind of it is planted once, and seen."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from telex.dialects.registry import by_name
from telex.dialects.schema import Dialect
from telex.translation import mapping_tables as mappings
from telex.translation import translate
from telex.translation.mapping import TypeMapping
from telex.translation.translate import Translation
from tests.proofs import proves
from tests.translation.translation_kit import Sent, refused, unaccounted, unreported
from tests.translation.translation_rows import Told


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Change the first row of a type that is this act."""

    def change(dialect: str, type_: str, intent: str, **changes: Any) -> None:
        rows = tuple(
            row._replace(**changes) if (row.type, row.intents[0]) == (type_, intent) else row
            for row in mappings.ROWS[dialect]
        )
        monkeypatch.setattr(mappings, "ROWS", {**mappings.ROWS, dialect: rows})
        _forget()

    yield change
    monkeypatch.undo()
    _forget()


def _forget() -> None:
    translate._REMEMBERED.clear()


def told(dialect: str, type_: str, intent: str, to: str, **fields: Any) -> tuple[Sent, Translation | None]:
    one, other = by_name(dialect), by_name(to)
    assert one is not None
    assert other is not None
    row = next(row for row in mappings.ROWS[dialect] if (row.type, row.intents[0]) == (type_, intent))
    sent = _with(Told(one, row, other), fields)
    found = sent.translated(other)
    return sent, found if isinstance(found, Translation) else None


def _with(pair: Told, fields: dict[str, Any]) -> Sent:
    sent = pair.sent()
    inside = sent.tree[sent.dialect.payload] if sent.dialect.payload else sent.tree
    inside.update(fields)
    return sent


def back(sent: Sent, found: Translation, dialect: Dialect) -> list[str]:
    again = sent.as_told(found).translated(dialect)
    assert isinstance(again, Translation)
    return unreported(sent, found, again)


@proves("translation/mutations")
def test_a_value_that_the_dialect_does_not_know_is_found(plant: Callable[..., None]) -> None:
    plant("build-flow", "STATUS_UPDATE", "progress", values={"status": {"done": "COMPLETED", "partly": "DOING"}})
    _, found = told("vbw-handoff", "dev_progress", "progress", "build-flow", status="partial")
    assert found is None  # it does not fit, and nothing else is said in its place


@proves("translation/mutations")
def test_a_rule_without_a_remedy_makes_no_message_that_would_be_refused(plant: Callable[..., None]) -> None:
    said = {"status": "complete", "commit": ""}
    sent, found = told("vbw-handoff", "dev_progress", "progress", "vbw-typed", **said)
    assert found is not None
    assert refused(found, sent.header) == []
    plant("vbw-typed", "execution_update", "progress", remedies={})
    assert told("vbw-handoff", "dev_progress", "progress", "vbw-typed", **said)[1] is None


@proves("translation/mutations")
def test_two_slots_in_one_place_are_found_on_the_way_back(plant: Callable[..., None]) -> None:
    sent, found = told("vbw-handoff", "dev_blocker", "blocked", "build-flow")
    assert found is not None
    assert back(sent, found, sent.dialect) == []
    plant("build-flow", "STATUS_UPDATE", "blocked", names={"needs": "details", "plan": "details"})
    sent, found = told("vbw-handoff", "dev_blocker", "blocked", "build-flow")
    assert found is not None
    assert {"$.plan_id", "$.needs"} & {change.path for change in (*found.lost, *found.narrowed)}
    assert back(sent, found, sent.dialect) == []


@proves("translation/mutations")
@pytest.mark.parametrize(
    "forgotten, way",
    [
        ("lose", ("vbw-typed", "qa_verdict", "verdict", "vbw-handoff")),
        ("invent", ("vbw-handoff", "qa_result", "verdict", "vbw-typed")),
    ],
)
def test_a_change_that_is_not_told_is_found(
    monkeypatch: pytest.MonkeyPatch, forgotten: str, way: tuple[str, str, str, str]
) -> None:
    monkeypatch.setattr(f"telex.translation.render.LossReport.{forgotten}", lambda *_: None)
    sent, found = told(*way)
    assert found is not None
    assert unaccounted(sent, found)


@proves("translation/mutations")
def test_a_narrowing_that_is_not_told_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("telex.translation.render.LossReport.narrow", lambda *_: None)
    sent, found = told("build-flow", "STATUS_UPDATE", "blocked", "vbw-handoff")
    assert found is not None
    assert any("$.payload.blockers" in wrong for wrong in back(sent, found, sent.dialect))


@proves("translation/mutations")
def test_a_body_that_cannot_be_read_back_is_told() -> None:
    hostile = {"blocker": "## Needs\nnothing at all", "needs": "x\n\n## Result\ny"}
    sent, found = told("vbw-handoff", "dev_blocker", "blocked", "signal-md", **hostile)
    assert found is not None
    assert back(sent, found, sent.dialect) == []


def test_rows_are_what_they_were(plant: Callable[..., None]) -> None:
    """A planted row is gone with its test."""
    assert all(isinstance(row, TypeMapping) for rows in mappings.ROWS.values() for row in rows)
    _, found = told("vbw-handoff", "dev_progress", "progress", "vbw-typed", status="complete", commit="")
    assert found is not None

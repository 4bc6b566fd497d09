"""What is a message of one dialect in another? Row by row of the lexicon, and what holds for all of them."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.dialects.builtin.build_flow import BUILD_FLOW
from telex.dialects.builtin.signal_md import SIGNAL_MD
from telex.dialects.builtin.vbw import VBW_COMPANY, VBW_HANDOFF
from telex.dialects.builtin.vbw_typed import VBW_TYPED
from telex.dialects.intents import INTENTS
from telex.dialects.registry import BUILT_IN, by_name
from telex.dialects.schema import Boolean, Dialect, OneOf, kind_at
from telex.translation import mapping_tables as mappings
from telex.translation.envelope import INSTEAD, counterpart
from telex.translation.mapping import TypeMapping
from telex.translation.translate import MessageHeader, NoCounterpart, Translation, header_of, translate
from tests.dialects.arbitrary import VALUES
from tests.proofs import proves
from tests.translation.translation_kit import Sent, refused, unaccounted
from tests.translation.translation_rows import WRITTEN, Told, every_pair, every_row

LINES = {(line["row"], line["to"]): line for line in map(json.loads, WRITTEN.read_text(encoding="utf-8").splitlines())}
ROWS = [
    pytest.param(dialect, row, marks=proves(f"translation/row/{Told(dialect, row, dialect).id}"), id=row.type)
    for dialect, row in every_row()
]


def dialect(name: str) -> Dialect:
    found = by_name(name)
    assert found is not None
    return found


@pytest.mark.parametrize("dialect, row", ROWS)
def test_a_plain_message_is_told_as_it_is_written_down(dialect: Dialect, row: TypeMapping) -> None:
    for to in BUILT_IN:
        if to is not dialect:
            pair = Told(dialect, row, to)
            assert json.loads(pair.line()) == LINES[pair.id, to.name]
            told = pair.sent().translated(to)
            if isinstance(told, Translation):
                assert refused(told, pair.sent().header) == []
                assert unaccounted(pair.sent(), told) == []


@proves("translation/written-down")
def test_what_is_written_down_is_what_there_is() -> None:
    assert LINES.keys() == {(pair.id, pair.to.name) for pair in every_pair()}


# --- what must never happen ------------------------------------------------------------------------------------------

# Written from the pages: how each dialect says that something is well, and that it is not.
WELL = {
    "complete",
    "COMPLETED",
    "PASS",
    "pass",
    "pass_with_notes",
    "approve",
    "PASSED",
    "WARN",
    "APPROVED",
    True,
    "lgtm",
}
ILL = {"failed", "FAILED", "FAIL", "PARTIAL", "fail", "changes_requested", "REJECTED", False, "revise", "partial"}
CHECKS = {"passed": 2, "failed": 3, "total": 4}
TELLING = ("status", "result", "signal", "decision", "approved", "qa_check", "readyForImplementation")


def verdict(tree: dict[str, Any]) -> set[Any]:
    inside = tree.get("payload", tree)
    return {inside[name] for name in TELLING if name in inside}


@proves("translation/never-better")
@pytest.mark.parametrize("pair", list(every_pair()), ids=lambda pair: f"{pair.id} to {pair.to.name}")
def test_nothing_is_made_better_than_it_was_said_to_be(pair: Told) -> None:
    sent = pair.sent()
    inside = sent.tree.get("payload", sent.tree)
    for name in TELLING:
        field = kind_at(sent.dialect.fields_of(sent.type), sent.dialect.locate(sent.type, name))
        choices: tuple[Any, ...] = field.kind.values if field is not None and isinstance(field.kind, OneOf) else ()
        for bad in [choice for choice in choices if choice in ILL] + (
            [False] if field and isinstance(field.kind, Boolean) else []
        ):
            told = sent._replace(tree=_with(sent.tree, inside, name, bad)).translated(pair.to)
            if isinstance(told, Translation):
                assert not verdict(told.tree) & WELL, f"{name} {bad} became {verdict(told.tree)}"


def _with(tree: dict[str, Any], inside: dict[str, Any], name: str, value: Any) -> dict[str, Any]:
    changed = {**inside, name: value}
    return {**tree, "payload": changed} if "payload" in tree else changed


@proves("translation/any-shape")
@pytest.mark.parametrize("one", BUILT_IN, ids=lambda one: one.name)
@given(data=st.data())
def test_a_message_of_any_shape_is_told_or_not_and_breaks_nothing(one: Dialect, data: st.DataObject) -> None:
    """A lenient team lets anything pass, so anything may be asked for in another dialect."""
    pair = data.draw(st.sampled_from([pair for pair in every_pair() if pair.dialect is one]))
    sent = pair.sent()
    inside = sent.tree.get("payload", sent.tree)
    name = data.draw(st.sampled_from(sorted(inside)))
    odd = sent._replace(tree=_with(sent.tree, inside, name, data.draw(VALUES)))
    told = odd.translated(pair.to)
    if isinstance(told, Translation):
        assert unaccounted(odd, told) == []


REMEDIED = [
    # complete without a commit is refused in vbw-typed, and was said to be complete all the same
    ("vbw-handoff/dev_progress/progress", "vbw-typed", {"status": "complete", "commit": ""}, {"status": "complete"}),
    ("build-flow/STATUS_UPDATE/progress", "vbw-typed", {"status": "COMPLETED"}, {"status": "complete"}),
    ("vbw-handoff/qa_result/verdict", "vbw-typed", {"checks": CHECKS}, {"checks": {**CHECKS, "total": 5}}),
    ("vbw-company/qa_result/verdict", "vbw-typed", {"checks": CHECKS}, {"checks": {**CHECKS, "total": 5}}),
    # a critical finding never passes in signal-md
    ("vbw-company/code_review_result/review", "signal-md", {"result": "approve"}, {"signal": "fail"}),
    ("vbw-company/security_audit/audit", "signal-md", {"result": "WARN", "critical": 1}, {"signal": "fail"}),
]


@proves("translation/remedies")
@pytest.mark.parametrize("row, to, said, expected", REMEDIED)
def test_what_would_be_refused_there_is_fixed_and_told(
    row: str, to: str, said: dict[str, Any], expected: dict[str, Any]
) -> None:
    pair = next(one for one in every_pair() if (one.id, one.to.name) == (row, to))
    sent = pair.sent()
    inside = sent.tree.get("payload", sent.tree)
    inside.update(said)
    told = sent.translated(pair.to)
    assert isinstance(told, Translation)
    assert refused(told, sent.header) == []
    assert told.tree.get("payload", told.tree).items() >= expected.items()
    assert unaccounted(sent, told) == []


# --- the lexicon itself ----------------------------------------------------------------------------------------------


@proves("translation/pairs")
def test_there_are_at_least_sixty_type_to_type_translations() -> None:
    found = list(mappings.pairs())
    assert len({(one.name, type_, to.name, other) for one, type_, to, other in found}) == len(found) >= 60
    for one, type_, to, other in found:
        assert type_ in one.types
        assert other in to.types


@proves("translation/why-not")
@pytest.mark.parametrize("one", BUILT_IN, ids=lambda one: one.name)
def test_a_pair_with_no_counterpart_says_why(one: Dialect) -> None:
    for type_ in one.types:
        assert any(row.type == type_ for row in mappings.rows_of(one)), f"{type_} has no row"
        for to in BUILT_IN:
            if to is not one and not mappings.counterparts(one, type_, to):
                reason = mappings.why_not(one, type_, to)
                assert reason.startswith(f"{to.name} has no message that ")
                assert reason.endswith(".")


@proves("translation/why-not")
def test_a_dialect_that_nobody_has_written_rows_for_says_so() -> None:
    typed = dialect("vbw-typed")
    own = typed._replace(name="ours")
    type_ = typed.types["qa_verdict"]
    header = MessageHeader("01-id", 0.0, "qa", "qa")
    for one, to in ((own, typed), (typed, own)):
        told = translate(type_.example, one, type_, to, header)
        assert isinstance(told, NoCounterpart)
        assert told.reason


@proves("translation/words")
@pytest.mark.parametrize(
    "dialect, row", [(one, row) for one, row in every_row()], ids=lambda one: getattr(one, "type", "")
)
def test_a_row_speaks_of_what_there_is(dialect: Dialect, row: TypeMapping) -> None:
    """A word that no dialect has, or a slot that the type has not, would silently lose what it is for."""
    type_ = dialect.types[row.type]
    names = type_.field_map
    headed = {section.slot for section in row.body.sections} | {row.body.main} if row.body else set()
    assert {*row.intents, *row.serves} - {"none"} <= INTENTS.keys()
    assert set(row.names.values()) <= names.keys() | headed
    assert set(row.when) <= names.keys()
    by_path = {name for name in row.least if name.startswith("$")}
    assert set(row.least) - by_path <= {*names, *names.values()} | {
        where.rpartition(".")[2] for where in names.values()
    }
    known = {slot for intent in row.intents for slot in INTENTS[intent].choices} | {"level"}
    assert set(row.values) | set(row.means) <= known
    for slot, spelt in row.values.items():
        choices = [INTENTS[intent].choices[slot] for intent in row.intents if slot in INTENTS[intent].choices]
        assert all(set(spelt) <= set(words) for words in choices)
        where = names[row.names.get(slot, slot)]
        field = kind_at(dialect.fields_of(type_), dialect.locate(type_, where))
        assert field is not None
        written = {True, False} if isinstance(field.kind, Boolean) else set(getattr(field.kind, "values", ()))
        assert set(spelt.values()) <= written
    for codes in row.remedies:
        assert codes in {rule.code for rule in type_.rules}


@proves("translation/roles")
@pytest.mark.parametrize("one", BUILT_IN, ids=lambda one: one.name)
def test_a_role_has_one_counterpart_in_each_dialect_or_none(one: Dialect) -> None:
    assert set(one.trades) == set(one.roles) - {"qa-author"}  # whose like no other dialect has
    assert set(INSTEAD) | {trade for also in INSTEAD.values() for trade in also} <= {
        trade for dialect in BUILT_IN for trade in dialect.trades.values()
    }
    for to in BUILT_IN:
        for role in one.roles:
            found = counterpart(role, one, to)
            assert found == role if role in to.roles else found is None or found in to.roles
        assert counterpart("somebody else", one, to) is None


@proves("translation/roles")
@pytest.mark.parametrize(
    "role, one, to, expected",
    [
        ("dev", "vbw-typed", "signal-md", "worker"),
        ("worker", "signal-md", "vbw-typed", "dev"),
        ("orchestrator", "signal-md", "build-flow", "build-orchestrator"),
        ("build-orchestrator", "build-flow", "vbw-company", "lead"),
        ("@agent-CTO", "build-flow", "vbw-typed", "architect"),
        ("docs", "vbw-typed", "vbw-handoff", "dev"),
        ("senior", "vbw-company", "signal-md", "reviewer"),
        ("security", "vbw-company", "vbw-typed", "qa"),
        ("qa", "build-flow", "signal-md", "reviewer"),  # a role of neither, as in a mixed team
        ("scout", "vbw-typed", "build-flow", None),
        ("human", "vbw-typed", "signal-md", None),
    ],
)
def test_a_role_is_called_what_it_does(role: str, one: str, to: str, expected: str | None) -> None:
    assert counterpart(role, dialect(one), dialect(to)) == expected


@proves("translation/itself")
def test_a_dialect_into_itself_is_the_message_as_it_was() -> None:
    pair = next(every_pair())
    sent: Sent = pair.sent()
    told = sent.translated(pair.dialect)
    assert isinstance(told, Translation)
    assert (told.tree, told.lost, told.invented, told.narrowed) == (sent.tree, (), (), ())


def test_a_moment_before_the_first_of_all_is_told_as_the_first() -> None:
    """A zone may make of the year 1 one that no calendar has."""
    verdict = copy.deepcopy(VBW_TYPED.types["qa_verdict"].example) | {"timestamp": "0001-01-01T00:00+00:01"}
    type_ = VBW_TYPED.types["qa_verdict"]
    header = header_of(verdict, VBW_TYPED, type_, id="v", at=0.0, sender="qa")
    there = translate(verdict, VBW_TYPED, type_, VBW_HANDOFF, header)
    assert isinstance(there, Translation)
    back = translate(there.tree, there.dialect, there.type, VBW_TYPED, header)
    assert isinstance(back, Translation)
    assert back.tree["timestamp"] == "0001-01-01T00:00:00.000Z"


def there_and_back(dialect: Dialect, type_: str, to: Dialect, **changes: Any) -> tuple[Translation, Translation]:
    """A type's own example with some of its fields changed."""
    tree = copy.deepcopy(dialect.types[type_].example)
    (tree[dialect.payload] if dialect.payload else tree).update(changes)
    header = header_of(tree, dialect, dialect.types[type_], id="m", at=0.0, sender="dev")
    there = translate(tree, dialect, dialect.types[type_], to, header)
    assert isinstance(there, Translation)
    back = translate(there.tree, there.dialect, there.type, dialect, header, there.body)
    assert isinstance(back, Translation)
    return there, back


def test_an_item_that_says_nothing_keeps_its_place() -> None:
    """Left out, those behind it would move up."""
    said = ["", "A refresh needs a session"]
    _, back = there_and_back(VBW_COMPANY, "escalation", BUILD_FLOW, evidence=said)
    assert back.tree["evidence"] == said


def test_a_carriage_return_does_not_run_the_parts_of_a_body_together() -> None:
    said = {
        "recommendations": ["\r"],
        "failures": [],
        "result": "PASS",
        "checks": {"passed": 1, "failed": 0, "total": 1},
    }
    there, back = there_and_back(VBW_TYPED, "qa_verdict", SIGNAL_MD, **said)
    assert "\r" not in (there.body or "")
    assert back.tree["payload"]["recommendations"] == ["\n"]
    assert "$.payload.recommendations" in {one.path for one in there.narrowed}

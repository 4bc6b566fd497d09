"""Does the published JSON Schema agree with the check: accept all that it accepts, refuse what a schema can refuse?"""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator, Draft202012Validator

from telex.dialects.registry import BUILT_IN, PLAIN
from telex.dialects.schema import Dialect, Field, Fields, MessageType, OneOf, walk_kinds
from telex.generate.schemas import dialect_schema, message_schema, type_schema
from telex.model.finding import refusals
from telex.validation.authorization import authorise_recipient, authorise_sender
from telex.validation.rules import validate
from tests.dialects.user_dialect import OWN

DIALECTS = (*BUILT_IN, OWN)
TYPES = [(dialect, type_) for dialect in DIALECTS for type_ in dialect.types.values()]
every_type = pytest.mark.parametrize("dialect, type_", TYPES, ids=[f"{d.name}-{t.name}" for d, t in TYPES])


def accepts(schema: dict[str, Any], tree: object) -> bool:
    return bool(Draft202012Validator(schema).is_valid(tree))


def passes_the_check(dialect: Dialect, type_: MessageType, tree: dict[str, Any]) -> bool:
    validated = validate(tree, dialect, type_)
    sender = authorise_sender(validated.tree, dialect, type_)
    return not refusals([*validated.findings, *sender, *authorise_recipient(validated.tree, dialect, type_)])


@every_type
def test_the_schema_is_valid_and_takes_the_example(dialect: Dialect, type_: MessageType) -> None:
    schema = type_schema(dialect, type_)
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(type_.example)
    assert schema["$id"] == f"urn:telex:{dialect.base}:{dialect.version}:{type_.name}"
    assert schema["description"] == type_.purpose


@every_type
def test_as_a_part_of_something_larger_it_keeps_to_words_of_draft_7(dialect: Dialect, type_: MessageType) -> None:
    schema = message_schema(dialect, type_)
    Draft7Validator.check_schema(schema)
    Draft7Validator(schema).validate(type_.example)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
def test_the_union_takes_each_type_and_nothing_else(dialect: Dialect) -> None:
    schema = dialect_schema(dialect)
    Draft202012Validator.check_schema(schema)
    for type_ in dialect.types.values():
        Draft202012Validator(schema).validate(type_.example)
        assert not accepts(schema, type_.example | {"type": "no_such_type"})
    assert not accepts(schema, {})
    assert not accepts(schema, [])


def test_plain_text_is_any_text() -> None:
    assert accepts(dialect_schema(PLAIN), "hello")
    assert not accepts(dialect_schema(PLAIN), {})


@every_type
def test_what_the_bus_knows_besides_is_told_under_x_telex(dialect: Dialect, type_: MessageType) -> None:
    told = type_schema(dialect, type_)["x-telex"]
    assert (told["priority"], told["reply"]) == (type_.priority, type_.reply)
    assert (told["senders"], told["receivers"]) == (list(type_.senders), list(type_.receivers))
    expected = [(rule.code, rule.severity, rule.broken_when, rule.say) for rule in (*dialect.rules, *type_.rules)]
    assert [(rule["code"], rule["severity"], rule["brokenWhen"], rule["say"]) for rule in told["rules"]] == expected


# --- what a schema refuses -----------------------------------------------------------------------------------------


def holder(tree: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    """The object that has the field at this path, in the first item where it leads through a list; {} if none has."""
    inner: Any = tree
    for step in path[:-1]:
        inner = inner.get(step.removesuffix("[]")) if isinstance(inner, dict) else None
        if step.endswith("[]"):
            inner = inner[0] if isinstance(inner, list) and inner else None
    return inner if isinstance(inner, dict) else {}


def put(tree: dict[str, Any], path: tuple[str, ...], value: object = None, *, remove: bool = False) -> bool:
    """Change or remove the field at this path. False when it is not there."""
    inner, name = holder(tree, path), path[-1]
    if name not in inner:
        return False
    if remove:
        del inner[name]
    else:
        inner[name] = value
    return True


def fields_in(all_fields: Fields) -> list[tuple[tuple[str, ...], Field]]:
    return [(path, field) for path, field in walk_kinds(all_fields) if not field.later_spelling]


@every_type
def test_a_field_removed_or_of_another_type_is_refused(dialect: Dialect, type_: MessageType) -> None:
    schemas = (type_schema(dialect, type_), dialect_schema(dialect))
    for path, field in fields_in(dialect.fields_of(type_)):
        lacking, retyped = deepcopy(type_.example), deepcopy(type_.example)
        if field.required and put(lacking, path, remove=True):
            assert [accepts(schema, lacking) for schema in schemas] == [False, False], path
        if put(retyped, path, [{"not": "this"}, 1]):
            assert [accepts(schema, retyped) for schema in schemas] == [False, False], path
        if isinstance(field.kind, OneOf) and put(retyped, path, "not-one-of-them"):
            assert [accepts(schema, retyped) for schema in schemas] == [False, False], path


@every_type
def test_a_field_that_nobody_declared_is_accepted(dialect: Dialect, type_: MessageType) -> None:
    assert accepts(dialect_schema(dialect), type_.example | {"and_another_thing": {"deep": [1]}})


def example_of(dialect_name: str, type_name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    dialect = next(dialect for dialect in DIALECTS if dialect.name == dialect_name)
    return type_schema(dialect, dialect.types[type_name]), deepcopy(dialect.types[type_name].example)


BROKEN = {
    "complete-without-commit": ("vbw-typed", "execution_update", {"payload.commit": ""}),
    "pass-with-failures by count": ("vbw-typed", "qa_verdict", {"payload.result": "PASS", "payload.failures": []}),
    "pass-with-failures by list": ("vbw-handoff", "qa_result", {"result": "PASS", "checks.failed": 0}),
    "pass-with-failed-tests": ("vbw-company", "qa_code_result", {"tests.failed": 1}),
    "escalation-skips-a-step": ("vbw-company", "escalation", {"to": "architect"}),
    "passed-with-failed-gate": ("build-flow", "QUALITY_REPORT",
        {"payload.status": "PASSED", "payload.failureCount": 0}),
    "broadcast-to-one": ("build-flow", "DOC_QUERY", {"broadcast": True}),
    "gates-not-passed": ("build-flow", "COMMIT_REQUEST", {"payload.metadata.qualityGatesPassed": False}),
    "critical-means-fail": ("signal-md", "review_verdict", {"critical_count": 1}),
    "audit-means-fail": ("signal-md", "audit_verdict", {"build_status": "fail"}),
    "research-count-mismatch": ("signal-md", "triage_result", {"research_needed": False}),
    "drop-needs-weights": ("radio", "message", {"stops": [{"name": "Mill", "kind": "drop"}], "weights": []}),
    "red-needs-crew": ("radio", "message", {"class": "red alert", "crew": 1}),
    "a sender the type does not have": ("vbw-typed", "execution_update", {"author_role": "qa"}),
    "an integer beyond 64 bits": ("vbw-typed", "execution_update", {"phase": 2**63}),
    "an id that is empty": ("vbw-typed", "execution_update", {"id": ""}),
    "a time that is none": ("vbw-typed", "execution_update", {"timestamp": "yesterday"}),
}  # fmt: skip


@pytest.mark.parametrize("dialect_name, type_name, changes", BROKEN.values(), ids=BROKEN)
def test_a_rule_that_a_schema_can_say_is_said(dialect_name: str, type_name: str, changes: dict[str, object]) -> None:
    schema, tree = example_of(dialect_name, type_name)
    for path, value in changes.items():
        *parents, name = path.split(".")
        inner = tree
        for parent in parents:
            inner = inner[parent]
        inner[name] = value
    assert not accepts(schema, tree)


def test_what_a_schema_cannot_say_or_only_warns_about_passes() -> None:
    schema, tree = example_of("vbw-typed", "qa_verdict")
    tree["payload"]["checks"] = {"passed": 9, "failed": 9, "total": 1}  # one field against another
    assert accepts(schema, tree)
    schema, tree = example_of("build-flow", "STATUS_UPDATE")
    tree["payload"]["status"] = "BLOCKED"  # a warning
    assert accepts(schema, tree)


def test_the_later_spelling_is_accepted_in_place_of_the_first() -> None:
    schema, tree = example_of("vbw-typed", "shutdown_response")
    del tree["payload"]["approve"]
    assert not accepts(schema, tree)
    tree["payload"]["approved"] = True
    assert accepts(schema, tree)
    assert accepts(schema, tree | {"payload": tree["payload"] | {"approve": None}})  # null stands for left out
    tree["payload"]["approved"] = "yes"
    assert not accepts(schema, tree)
    assert accepts(schema, tree | {"payload": tree["payload"] | {"approve": True}})  # then it is anybody's field


# --- never stricter than the check ---------------------------------------------------------------------------------

WORDS = [
    "",
    "x",
    "PASS",
    "pass",
    "fail",
    "complete",
    "dev",
    "qa",
    "*",
    "true",
    "2.0",
    "2026-02-12",
    "20260212T10Z",
    "é\n",
]
scalars = st.none() | st.booleans() | st.integers(-2, 6) | st.floats(-1, 3) | st.sampled_from(WORDS)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["AC1", "name"]), inner, max_size=2),
    max_leaves=4,
)
SCHEMAS = {(dialect.name, type_.name): type_schema(dialect, type_) for dialect, type_ in TYPES}


@st.composite
def messages(draw: st.DrawFn) -> tuple[Dialect, MessageType, dict[str, Any]]:
    """An example with a few fields changed to anything, to something of their kind, or removed."""
    dialect, type_ = draw(st.sampled_from(TYPES))
    tree = deepcopy(type_.example)
    paths = [(path, field) for path, field in walk_kinds(dialect.fields_of(type_))]
    for path, field in draw(st.lists(st.sampled_from(paths), max_size=4)):
        fitting = st.sampled_from(field.kind.values) if isinstance(field.kind, OneOf) else values
        inner = holder(tree, path)
        inner[draw(st.sampled_from([path[-1], field.later_spelling or path[-1]]))] = draw(fitting | values)
        if draw(st.integers(0, 3)) == 0:
            inner.pop(path[-1], None)
    return dialect, type_, tree


@given(messages())
def test_whatever_the_check_accepts_the_schema_accepts(message: tuple[Dialect, MessageType, dict[str, Any]]) -> None:
    dialect, type_, tree = message
    if passes_the_check(dialect, type_, tree):
        Draft202012Validator(SCHEMAS[dialect.name, type_.name]).validate(tree)

"""Does the prompt teach an agent exactly what its role may send, in few tokens?"""

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from telex.dialects import schema
from telex.dialects.builtin.build_flow import BUILD_FLOW
from telex.dialects.builtin.signal_md import SIGNAL_MD
from telex.dialects.builtin.vbw import VBW_COMPANY, VBW_HANDOFF
from telex.dialects.builtin.vbw_typed import VBW_TYPED
from telex.dialects.registry import BUILT_IN, PLAIN
from telex.dialects.rule_language import Node, compile_rule, parse
from telex.dialects.schema import Dialect, Fields, Kind, MessageType, walk_kinds
from telex.generate.prompt import prompt, tokens_estimated
from telex.generate.schemas import type_schema
from telex.generate.type_view import simplified, written
from telex.validation.authorization import may_send
from telex.validation.check import CheckPolicy, check
from tests.dialects.user_dialect import OWN
from tests.generate.prompt_reader import (
    Lesson,
    Shape,
    ShownField,
    keeps_to_the_rules,
    make_message,
    read_prompt,
    write_message,
)

DIALECTS = (*BUILT_IN, OWN)


def sent_by(dialect: Dialect, role: str) -> list[MessageType]:
    return [type_ for type_ in dialect.types.values() if may_send(role, type_)]


SPEAKING = [(dialect, role) for dialect in DIALECTS for role in dialect.roles if sent_by(dialect, role)]
every_role = pytest.mark.parametrize("dialect, role", SPEAKING, ids=[f"{d.name}-{role}" for d, role in SPEAKING])


# --- an agent that follows it passes -------------------------------------------------------------------------------


TAUGHT = {(dialect.name, role): read_prompt(prompt(dialect, role)) for dialect, role in SPEAKING}
SCHEMAS = {
    (dialect.name, type_.name): Draft202012Validator(type_schema(dialect, type_))
    for dialect in DIALECTS
    for type_ in dialect.types.values()
}


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@given(data=st.data())
def test_an_agent_that_follows_it_to_the_letter_passes_the_check(dialect: Dialect, data: st.DataObject) -> None:
    name, role = data.draw(st.sampled_from([key for key in TAUGHT if key[0] == dialect.name]))
    taught = TAUGHT[name, role]
    lesson = data.draw(st.sampled_from(taught.lessons))
    message, receiver = make_message(taught, lesson, data.draw)
    assume(keeps_to_the_rules(taught, lesson, message))
    raw = write_message(taught, lesson, message)
    checked = check(raw, CheckPolicy(dialects=DIALECTS, preferred=name), as_role=role, to_role=receiver)
    assert checked.valid
    assert [finding for finding in checked.findings if finding.severity != "note"] == []
    assert (checked.dialect and checked.dialect.name, checked.type) == (name, lesson.name)
    SCHEMAS[name, lesson.name].validate(message)


@every_role
def test_every_type_the_role_may_send_is_taught_and_no_other(dialect: Dialect, role: str) -> None:
    taught = read_prompt(prompt(dialect, role))
    assert [lesson.name for lesson in taught.lessons] == [type_.name for type_ in sent_by(dialect, role)]


# --- it says all there is to say -----------------------------------------------------------------------------------


def shape_of(kind: Kind, required: bool = True) -> Shape:
    """The kind as the notation should show it."""
    match kind:
        case schema.OneOf(values):
            return Shape("one of", choices=values)
        case schema.Text(may_be_empty, most, _):
            return Shape("text", high=most, may_be_empty=may_be_empty and required)
        case schema.Integer(low, high):
            return Shape("int", low=low, high=high)
        case schema.Number(low, high):
            return Shape("num", low=low, high=high)
        case schema.ListOf(item):
            return Shape("list", inner=shape_of(item))
        case schema.MapOf(value):
            return Shape("map", inner=shape_of(value))
        case schema.Group(fields):
            return Shape("object", fields=shown(fields))
    return Shape({"Boolean": "bool", "Timestamp": "time", "Anything": "any"}[type(kind).__name__])


def shown(fields: Fields) -> dict[str, ShownField]:
    return {name: ShownField(shape_of(field.kind, field.required), field.required) for name, field in fields.items()}


def without_addresses(dialect: Dialect, fields: dict[str, ShownField]) -> dict[str, ShownField]:
    """The fields that are the same for every role, leaving out what leaving them out means."""
    own = (dialect.wire.sender, dialect.wire.recipient)
    return {name: field._replace(otherwise=None) for name, field in fields.items() if name not in own}


@every_role
def test_it_shows_every_field_of_every_type_with_its_kind_range_and_choices(dialect: Dialect, role: str) -> None:
    for lesson in read_prompt(prompt(dialect, role)).lessons:
        defined = without_addresses(dialect, shown(dialect.types[lesson.name].fields))
        assert without_addresses(dialect, lesson.fields) == defined


@every_role
def test_the_envelope_is_shown_whole_and_signed(dialect: Dialect, role: str) -> None:
    envelope = read_prompt(prompt(dialect, role)).envelope
    assert set(envelope) == {"type", *dialect.envelope, dialect.payload or "..."}
    if dialect.wire.sender in envelope:
        assert envelope[dialect.wire.sender].shape.choices == (role,)


def test_a_dev_is_taught_everything_in_under_450_tokens() -> None:
    text = prompt(VBW_TYPED, "dev")
    assert tokens_estimated(text) < 450
    names = {"execution_update", "blocker_report", "approval_request", "shutdown_response"}
    assert {lesson.name for lesson in read_prompt(text).lessons} == names
    for name in names:
        for path, field in walk_kinds(VBW_TYPED.types[name].fields):
            assert path[-1] in text
            assert not isinstance(field.kind, schema.OneOf) or all(value in text for value in field.kind.values)


def test_tokens_are_estimated_at_four_characters_and_rounded_up() -> None:
    assert [tokens_estimated("x" * length) for length in (0, 1, 4, 5)] == [0, 1, 1, 2]


@pytest.mark.parametrize("dialect", BUILT_IN, ids=lambda dialect: dialect.name)
def test_no_prompt_is_long(dialect: Dialect) -> None:
    tokens_max = 900 if dialect is BUILD_FLOW else 450  # in build-flow everyone may send everything
    assert max(tokens_estimated(prompt(dialect, role)) for role in dialect.roles) <= tokens_max


# --- it says only what concerns the role ---------------------------------------------------------------------------


def lesson_of(dialect: Dialect, role: str, type_name: str) -> Lesson:
    return next(lesson for lesson in read_prompt(prompt(dialect, role)).lessons if lesson.name == type_name)


def test_a_rule_about_other_roles_is_left_out_and_one_about_itself_is_put_in_the_field() -> None:
    escalation = lesson_of(VBW_COMPANY, "dev", "escalation")
    assert escalation.rules == []
    assert escalation.receivers == ("senior",)
    assert (escalation.fields["from"].shape.choices, escalation.fields["to"].shape.choices) == (("dev",), ("senior",))


def test_a_rule_of_many_types_is_said_once() -> None:
    assert prompt(BUILD_FLOW, "cto").count("avoid lower(correlationId) != lower(taskId)") == 1


def test_front_matter_is_shown_between_its_lines_with_the_sections_below() -> None:
    text = prompt(SIGNAL_MD, "worker")
    assert "between two lines of ---, then a markdown body" in text
    assert lesson_of(SIGNAL_MD, "worker", "worker_submission").sections == ["## Result", "## Self-Assessment"]


def test_a_value_for_what_is_left_out_is_told() -> None:
    assert lesson_of(SIGNAL_MD, "orchestrator", "revision_request").fields["max_iterations"].otherwise == 5


# --- who has nothing to say ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dialect, role, says",
    [
        (VBW_TYPED, "gardener", "vbw-typed has no role 'gardener'; its roles are lead, dev, qa,"),
        (VBW_HANDOFF, "lead", "lead sends nothing in vbw-handoff"),
        (VBW_COMPANY, "human", "human sends nothing in vbw-company"),
        (PLAIN, "dev", "plain has no types: send any text."),
    ],
)
def test_who_may_send_nothing_is_told_so_in_one_line(dialect: Dialect, role: str, says: str) -> None:
    text = prompt(dialect, role)
    assert says in text
    assert text.count("\n") == 1


def test_where_agents_have_names_any_name_may_ask() -> None:
    assert 'from: "docs-bot"' in prompt(BUILD_FLOW, "docs-bot")


# --- rules, shortened and written ----------------------------------------------------------------------------------

ATOMS = [
    "a == 1",
    "b != 'x'",
    "c in ['x', \"it's\"]",
    "'x' not in c[].d",
    "len(b) > 2",
    "has(a)",
    "a + 1 - (a + a) > 0",
    "e",
    "true",
]
expressions = st.recursive(
    st.sampled_from(ATOMS),
    lambda inner: (
        st.builds("({} and {})".format, inner, inner)
        | st.builds("({} or {})".format, inner, inner)
        | st.builds("not ({})".format, inner)
        | st.builds("({}) == ({})".format, inner, inner)
    ),
    max_leaves=6,
)
everything = st.fixed_dictionaries(
    {},
    optional={
        "a": st.integers(0, 3),
        "b": st.sampled_from(["x", "xyz"]),
        "c": st.lists(st.sampled_from(["x", "y"]), max_size=2),
        "c[].d": st.lists(st.sampled_from(["x", "y"]), max_size=2),
        "e": st.booleans(),
    },
)


def truth(node: Node, message: dict[str, Any]) -> bool:
    return bool(compile_rule(node, lambda name: lambda _: message.get(name))(message))


@given(expressions, everything)
def test_a_rule_is_written_so_that_it_reads_back_the_same(text: str, message: dict[str, Any]) -> None:
    node = parse(text)
    assert truth(parse(written(node)), message) == truth(node, message)


@given(expressions, everything, st.sets(st.sampled_from("abe")))
def test_what_is_known_only_shortens_a_rule(text: str, message: dict[str, Any], names: set[str]) -> None:
    known = {name: message[name] for name in names if name in message}
    assert truth(simplified(parse(text), known), message) == truth(parse(text), message)


def test_what_is_compared_with_an_absent_field_is_absent_whether_it_is_known_or_not() -> None:
    rule = parse("(a == 1) == ((b != 'x') == (e))")
    assert truth(simplified(rule, {"e": False}), {"e": False}) == truth(rule, {"e": False})

"""What of a hard rule does the published schema say? As much as a schema can, and never more than the rule."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from telex.dialects import schema
from telex.dialects.schema import (
    BOOLEAN,
    NOTE,
    OPEN,
    Dialect,
    Field,
    FieldDefault,
    HardRule,
    MessageType,
    fields,
    one_of,
)
from telex.generate.schemas import type_schema
from telex.validation.rules import validate
from tests.dialects.user_dialect import OWN


def accepts(schema: dict[str, Any], tree: object) -> bool:
    return bool(Draft202012Validator(schema).is_valid(tree))


atoms = st.sampled_from(
    [
        *(
            "flag",
            "not flag",
            "has(note)",
            "has(flag)",
            "len(note)",
            "note",
            "tags",
            "2 < count",
            "count >= 1.5",
            "count",
        ),
        *("len(note) == 0", "len(note) != 2", "len(tags) > 1", "1 >= len(tags)", "len(open) < 1", "len(later) == 0"),
        *("mark == 'a'", "mark != 'a'", "mark in ['a', 'c']", "'a' not in tags", "'a' in marks[].mark", "'a' in note"),
        *("count == true", "flag == 1", "flag == true", "count != 2", "note < 'b'", "count > other", "other == 2"),
        *("later == 'a'", "not later", "filled > 2", "not has(filled)", "overlap(tags, tags)", "marks[].mark == 'a'"),
    ]
)
expressions = st.recursive(
    atoms,
    lambda inner: (
        st.builds("({} and {})".format, inner, inner)
        | st.builds("({} or {})".format, inner, inner)
        | st.builds("(not {})".format, inner)
    ),
    max_leaves=5,
)
text = st.sampled_from(["", "a", "ab", "c"])
bodies = st.fixed_dictionaries(
    {},
    optional={
        "flag": st.booleans(),
        "note": text,
        "mark": st.sampled_from(["a", "b", "c"]),
        "count": st.integers(-1, 4),
        "other": st.integers(-1, 4),
        "tags": st.lists(text, max_size=3),
        "marks": st.lists(st.fixed_dictionaries({}, optional={"mark": text}), max_size=2),
        "open": st.dictionaries(text, st.integers(), max_size=2),
        "later": text,
        "newer": text,
        "filled": st.integers(0, 4),
    },
)


SMALL = fields(
    optional={
        "flag": BOOLEAN,
        "note": NOTE,
        "mark": one_of("a", "b", "c"),
        "count": schema.Integer(),
        "other": schema.Integer(),
        "tags": schema.ListOf(NOTE),
        "marks": schema.ListOf(schema.Group(fields(optional={"mark": NOTE}))),
        "open": OPEN,
        "filled": schema.Integer(),
    }
)


def dialect_with(expression: str) -> tuple[Dialect, MessageType]:
    """One type with this rule, a field that is filled in when left out, and one with a later spelling."""
    type_ = OWN.types["shout"]._replace(
        fields={**SMALL, "later": Field(NOTE, required=False, later_spelling="newer")},
        rules=(HardRule("the-rule", expression, "note", ""),),
        fillings=(FieldDefault("filled", "not has(filled)", 3),),
    )
    return OWN._replace(envelope={}, types={"shout": type_}, payload="payload"), type_


@given(expressions, bodies)
@example("not has(filled)", {})
@example("not later", {"newer": "a"})
@example("not (flag == 1)", {"flag": True})
@example("not (count == true)", {"count": 1})
def test_a_rule_in_a_schema_refuses_only_what_the_rule_refuses(expression: str, body: dict[str, Any]) -> None:
    dialect, type_ = dialect_with(expression)
    tree = {"type": "shout", "payload": body}
    codes = {finding.code for finding in validate(deepcopy(tree), dialect, type_).findings}
    if not accepts(type_schema(dialect, type_), tree):
        assert codes & {"the-rule", "duplicate-key"}  # one field under two names is refused before any rule


@pytest.mark.parametrize(
    "expression, body",
    [
        ("len(note) == 0", {}),
        ("len(tags) >= 2 and not flag", {"tags": ["a", "b"]}),
        ("count > other or mark in ['a', 'b']", {"mark": "b"}),
        ("2 <= count", {"count": 2}),
        ("not ('a' in marks[].mark)", {"marks": [{"mark": "b"}]}),
        ("not (count > other and flag)", {"flag": False}),
    ],
)
def test_of_a_rule_as_much_is_said_as_a_schema_can(expression: str, body: dict[str, Any]) -> None:
    dialect, type_ = dialect_with(expression)
    assert not accepts(type_schema(dialect, type_), {"type": "shout", "payload": body})

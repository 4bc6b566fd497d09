"""Does a draft pass its own check once its blanks are filled, and not before?"""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import Dialect, MessageType, Tree
from telex.dialects.write import draft, write
from telex.model.finding import refusals
from telex.testing.strategies import messages
from telex.validation.check import CheckPolicy, check
from tests.dialects.damage import blanks, filled

EVERY_DIALECT = pytest.mark.parametrize("dialect", BUILT_IN, ids=lambda dialect: dialect.name)
VALID = {
    dialect.name: st.one_of([st.tuples(st.just(type_), messages(dialect, type_)) for type_ in dialect.types.values()])
    for dialect in BUILT_IN
}
NOW = "2026-02-12T10:00:00.000Z"


def own_fields(dialect: Dialect, type_: MessageType, whole: Tree) -> dict[str, Any]:
    """Every field that a sender may give, by the name under which it is given."""
    envelope = {name: value for name, value in whole.items() if name not in ("type", dialect.payload)}
    return envelope | (whole[dialect.payload] if dialect.payload else {})


def given_fields(dialect: Dialect, type_: MessageType, whole: Tree, data: st.DataObject) -> dict[str, Any]:
    """Some of the required fields, and all optional ones: a draft has no blank for what may be left out."""
    required = {name for name, field in (*dialect.envelope.items(), *type_.fields.items()) if field.required}
    left_out = data.draw(st.sets(st.sampled_from(sorted(required))))
    return {name: value for name, value in own_fields(dialect, type_, whole).items() if name not in left_out}


@EVERY_DIALECT
@given(data=st.data())
def test_a_draft_is_refused_for_its_blanks_only_and_passes_once_they_are_filled(
    dialect: Dialect, data: st.DataObject
) -> None:
    type_, whole = data.draw(VALID[dialect.name])
    fields = given_fields(dialect, type_, whole, data)
    tree = draft(dialect, type_, fields, now=NOW, new_id="id-1")
    checked = check(write(dialect, tree).encode(), CheckPolicy(forced=dialect))
    told = {(finding.code, finding.path) for finding in refusals(checked.findings)}
    assert told == {("blank-left", path) for path in blanks(tree)}
    done = check(write(dialect, filled(tree, whole)).encode(), CheckPolicy(forced=dialect))
    assert refusals(done.findings) == []


@pytest.mark.parametrize("dialect, type_", [(d, t) for d in BUILT_IN for t in d.types.values()], ids=lambda v: v.name)
def test_a_draft_of_nothing_fills_what_can_be_known(dialect: Dialect, type_: MessageType) -> None:
    tree = draft(dialect, type_, {}, now=NOW, new_id="id-1")
    known = {dialect.wire.id: "id-1", dialect.wire.timestamp: NOW, dialect.wire.version: dialect.stated_version}
    assert {name: tree.get(name) for name in known if name} == {name: value for name, value in known.items() if name}
    assert tree["type"] == type_.name
    if dialect.wire.sender in tree and len(type_.senders) == 1 and type_.senders != ("*",):
        assert tree[dialect.wire.sender] == type_.senders[0]
    for name, field in type_.fields.items():
        inside = tree[dialect.payload] if dialect.payload else tree
        assert (name in inside) is field.required

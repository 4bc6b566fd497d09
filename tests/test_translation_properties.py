"""Does a translation always pass in its own dialect, account for every field, and lose exactly what it says it loses?

For random valid messages of every type, between every two dialects.
"""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import ANY, Dialect, MessageType, Tree
from telex.testing.strategies import bodies, messages
from telex.translation.mapping_tables import counterparts
from telex.translation.translate import NoCounterpart, Translation, header_of
from tests.proofs import proves
from tests.translation_kit import Sent, refused, unaccounted, unreported

# How people head their sections: some names that are known, and some that are not.
HEADED = st.builds(
    "{}{}{}".format,
    st.sampled_from(["# ", "## ", "### ", "##"]),
    st.sampled_from(["Task", "RESULT", "self-assessment", "Findings", "Documents", "Reasons", "Why", "Notes"]),
    st.sampled_from(["", " T1", ": T1", " ##", "\n- one\n- two", "\n\nNothing was said about it.", "\nNone."]),
)
BY_HAND = bodies() | st.lists(HEADED | bodies(), min_size=1, max_size=4).map("\n".join)
EVERY_DIALECT = pytest.mark.parametrize("dialect", BUILT_IN, ids=lambda dialect: dialect.name)
ROLES = st.sampled_from([role for dialect in BUILT_IN for role in dialect.roles])
TEXT = st.none() | st.text(st.characters(categories=["L", "N", "P", "Zs"]), min_size=1, max_size=12)


def _sent(dialect: Dialect, type_: MessageType) -> st.SearchStrategy[Sent]:
    def made(tree: Tree, body: str, correlation: str | None, reply_to: str | None, role: str) -> Sent:
        header = header_of(tree, dialect, type_, id="01-id", at=1_790_000_000.0, sender="somebody")
        known = header._replace(correlation=header.correlation or correlation, reply_to=header.reply_to or reply_to)
        sent = Sent(dialect, type_, tree, body if dialect.form == "front-matter" else None, known)
        return sent.by(role) if type_.senders == ANY and dialect.addresses == "names" else sent

    return st.builds(made, messages(dialect, type_), BY_HAND, TEXT, TEXT, ROLES)


PAIRS = {
    dialect.name: st.one_of(
        [
            st.tuples(_sent(dialect, type_), st.just(to))
            for type_ in dialect.types.values()
            for to in BUILT_IN
            if to is not dialect and counterparts(dialect, type_.name, to)
        ]
    )
    for dialect in BUILT_IN
}


def told(one: Sent, to: Dialect) -> Translation | None:
    found = one.translated(to)
    if isinstance(found, NoCounterpart):
        # A type may be several acts, of which one has no counterpart; two fields together would be refused there; or
        # the sender's role may not send it there.
        assert any(why in found.reason for why in ("has no message", "it would be refused", " lets ")), found.reason
        return None
    return found


@proves("translation/never-refused")
@EVERY_DIALECT
@given(data=st.data())
def test_no_translation_is_refused_by_its_own_dialect(dialect: Dialect, data: st.DataObject) -> None:
    one, to = data.draw(PAIRS[dialect.name])
    found = told(one, to)
    assert found is None or refused(found, one.header) == []


@proves("translation/accounted")
@EVERY_DIALECT
@given(data=st.data())
def test_every_field_is_accounted_for(dialect: Dialect, data: st.DataObject) -> None:
    one, to = data.draw(PAIRS[dialect.name])
    before = copy.deepcopy(one.tree)
    found = told(one, to)
    assert found is None or unaccounted(one, found) == []
    assert one.tree == before


@proves("translation/there-and-back")
@EVERY_DIALECT
@given(data=st.data())
def test_there_and_back_changes_exactly_what_was_told(dialect: Dialect, data: st.DataObject) -> None:
    one, to = data.draw(PAIRS[dialect.name])
    found = told(one, to)
    if found is None:
        return
    back = one.as_told(found).translated(dialect)
    strays = any(change.slot == "$type" for change in found.narrowed)
    if isinstance(back, NoCounterpart) or back.type != one.type:
        assert strays
    elif not strays:
        assert unreported(one, found, back) == []

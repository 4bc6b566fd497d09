"""Does a translation always pass in its own dialect, account for every field, and lose exactly what it says it loses?

For random valid messages of every type, between every two dialects.
"""

import copy
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import ANY, Dialect, MessageType, Tree
from telex.testing.strategies import bodies, messages
from telex.translation import translate
from telex.translation.mapping_tables import counterparts
from telex.translation.translate import NoCounterpart, Translation, header_of
from tests.demo.story_settings import FEWER
from tests.dialects.toml_dialects import OWN
from tests.proofs import proves
from tests.translation.translation_kit import Sent, refused, unaccounted, unreported

# How people head their sections: some names that are known, and some that are not.
HEADED = st.builds(
    "{}{}{}".format,
    st.sampled_from(["# ", "## ", "### ", "##"]),
    st.sampled_from(["Task", "RESULT", "self-assessment", "Findings", "Documents", "Reasons", "Why", "Notes"]),
    st.sampled_from(["", " T1", ": T1", " ##", "\n- one\n- two", "\n\nNothing was said about it.", "\nNone."]),
)
BY_HAND = bodies() | st.lists(HEADED | bodies(), min_size=1, max_size=4).map("\n".join)
ROLES = st.sampled_from([role for dialect in BUILT_IN for role in dialect.roles])
TEXT = st.none() | st.text(st.characters(categories=["L", "N", "P", "Zs"]), min_size=1, max_size=12)
# Why what has a counterpart may have none after all: by what it says, or by what the other type wants said.
REASONS = ("has no message", "it would be refused", " lets ")
REASONS_OF_OWN = (*REASONS, "has to say", "has no word for", "has no field that fits")


def _sent(dialect: Dialect, type_: MessageType) -> st.SearchStrategy[Sent]:
    def made(tree: Tree, body: str, correlation: str | None, reply_to: str | None, role: str) -> Sent:
        header = header_of(tree, dialect, type_, id="01-id", at=1_790_000_000.0, sender="somebody")
        known = header._replace(correlation=header.correlation or correlation, reply_to=header.reply_to or reply_to)
        sent = Sent(dialect, type_, tree, body if dialect.form == "front-matter" else None, known)
        return sent.by(role) if type_.senders == ANY and (dialect in OWN or dialect.addresses == "names") else sent

    by_hand = bodies() if dialect in OWN else BY_HAND
    return st.builds(made, messages(dialect, type_), by_hand, TEXT, TEXT, ROLES)


def _pairs(sources: Sequence[Dialect], targets: Sequence[Dialect]) -> st.SearchStrategy[tuple[Sent, Dialect]]:
    return st.one_of(
        [
            st.tuples(_sent(dialect, type_), st.just(to))
            for dialect in sources
            for type_ in dialect.types.values()
            for to in targets
            if to is not dialect and counterparts(dialect, type_.name, to)
        ]
    )


WAYS = {dialect.name: _pairs((dialect,), BUILT_IN) for dialect in BUILT_IN}
WAYS |= {f"from {dialect.name}": _pairs((dialect,), (*BUILT_IN, *OWN)) for dialect in OWN}
WAYS |= {f"to {dialect.name}": _pairs(BUILT_IN, (dialect,)) for dialect in OWN}
EVERY_WAY = pytest.mark.parametrize("way", list(WAYS))


def told(sent: Sent, to: Dialect) -> Translation | None:
    found = sent.translated(to)
    if isinstance(found, NoCounterpart):
        reasons = REASONS_OF_OWN if sent.dialect in OWN or to in OWN else REASONS
        assert any(reason in found.reason for reason in reasons), found.reason
        return None
    return found


@proves("translation/never-refused", "translation/own/never-refused")
@EVERY_WAY
@FEWER
@given(data=st.data())
def test_no_translation_is_refused_by_its_own_dialect(way: str, data: st.DataObject) -> None:
    sent, to = data.draw(WAYS[way])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(translate, "_if_accepted", lambda made: made)  # what is made is right before it is checked
        found = told(sent, to)
    assert found is None or refused(found, sent.header) == []


@proves("translation/accounted", "translation/own/accounted")
@EVERY_WAY
@FEWER
@given(data=st.data())
def test_every_field_is_accounted_for(way: str, data: st.DataObject) -> None:
    sent, to = data.draw(WAYS[way])
    before = copy.deepcopy(sent.tree)
    found = told(sent, to)
    assert found is None or unaccounted(sent, found) == []
    assert sent.tree == before


@proves("translation/there-and-back", "translation/own/there-and-back")
@EVERY_WAY
@FEWER
@given(data=st.data())
def test_there_and_back_changes_exactly_what_was_told(way: str, data: st.DataObject) -> None:
    sent, to = data.draw(WAYS[way])
    found = told(sent, to)
    if found is None:
        return
    back = told(sent.as_told(found), sent.dialect)
    strays = any(change.slot == "$type" for change in found.narrowed)
    if back is None:  # with a user's dialect, what the act turns on may be lost or narrowed on the way
        assert strays or ((sent.dialect in OWN or to in OWN) and (found.lost or found.narrowed))
    elif back.type != sent.type:
        assert strays
    elif not strays:
        assert unreported(sent, found, back) == []

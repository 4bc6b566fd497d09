"""Is every valid message accepted, read back as it was meant, and read alike whatever is put around it?

Each property holds for every type of its dialect: hypothesis draws the type with the message.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import Dialect
from telex.dialects.write import write
from telex.model.finding import refusals
from telex.testing.strategies import WireMessage, wire
from telex.validation.check import CheckPolicy, CheckResult, check

EVERY_DIALECT = pytest.mark.parametrize("dialect", BUILT_IN, ids=lambda dialect: dialect.name)
WIRED = {dialect.name: st.one_of([wire(dialect, type_) for type_ in dialect.types.values()]) for dialect in BUILT_IN}
WORDS = st.lists(
    st.sampled_from(["Done:", "I", "hope", "this", "helps.", "\n", "- ok", "**Note**", "5 > 3"]), min_size=1
)
PROSE = WORDS.map(" ".join).filter(lambda text: text.strip())


def said(checked: CheckResult) -> tuple[Any, ...]:
    """All that a reader relies on."""
    return checked.dialect, checked.type, checked.tree


def desk_of(dialect: Dialect) -> CheckPolicy:
    return CheckPolicy(preferred=dialect.name)


@EVERY_DIALECT
@given(data=st.data())
def test_a_valid_message_is_accepted_without_a_refusal(dialect: Dialect, data: st.DataObject) -> None:
    wired = data.draw(WIRED[dialect.name])
    checked = check(wired.raw, desk_of(dialect))
    assert refusals(checked.findings) == []
    assert (checked.valid, checked.dialect, checked.type) == (True, dialect, wired.tree["type"])


@EVERY_DIALECT
@given(data=st.data())
def test_a_message_written_and_read_again_is_the_same(dialect: Dialect, data: st.DataObject) -> None:
    wired = data.draw(WIRED[dialect.name])
    first = check(wired.raw, desk_of(dialect))
    again = check(write(dialect, first.tree, first.body).encode(), desk_of(dialect))
    assert (said(again), again.body) == (said(first), first.body)
    filled = {finding.path.removeprefix("$.") for finding in first.findings if finding.code == "default-filled"}
    assert {name: value for name, value in first.tree.items() if name not in filled} == wired.tree
    assert first.body == wired.body


@EVERY_DIALECT
@given(data=st.data())
def test_a_valid_message_may_be_sent_by_its_senders_to_its_receivers(dialect: Dialect, data: st.DataObject) -> None:
    wired = data.draw(WIRED[dialect.name])
    type_ = dialect.types[wired.tree["type"]]
    speaker = wired.tree.get(dialect.wire.sender or "", data.draw(st.sampled_from(type_.senders)))
    listener = data.draw(st.sampled_from(type_.receivers))
    checked = check(wired.raw, desk_of(dialect), as_role=speaker, to_role=listener)
    assert refusals(checked.findings) == []
    assert "role-may-not-receive" not in {finding.code for finding in checked.findings}


def fenced(wired: WireMessage, text: str) -> str:
    fence = "`" * 3
    while fence in text:
        fence += "`"
    return f"{fence}{'json' if wired.body is None else ''}\n{text}\n{fence}"


WRAPPINGS: dict[str, Callable[[WireMessage, str, str], str]] = {
    "fence": lambda wired, text, prose: fenced(wired, text),
    "prose before": lambda wired, text, prose: f"{prose}\n\n{text}",
    "fence in prose": lambda wired, text, prose: f"{prose}\n\n{fenced(wired, text)}\n\n{prose}",
    "byte order mark": lambda wired, text, prose: f"\ufeff{text}",
    "carriage returns": lambda wired, text, prose: text.replace("\n", "\r\n") + "\r\n",
    "teammate tag": lambda wired, text, prose: f'<teammate-message from="dev">\n{text}\n</teammate-message>',
    "prose after": lambda wired, text, prose: f"{text}\n\n{prose}",
    "encoded twice": lambda wired, text, prose: json.dumps(text),
}


@pytest.mark.parametrize("wrapping", WRAPPINGS)
@given(wired=st.one_of([*WIRED.values()]), prose=PROSE)
def test_wrapping_changes_nothing_but_adds_notes(wrapping: str, wired: WireMessage, prose: str) -> None:
    assume(wired.body is None or wrapping not in ("prose after", "encoded twice"))  # prose after a body is body
    bare = check(wired.raw)
    wrapped = check(WRAPPINGS[wrapping](wired, wired.raw.decode(), prose).encode())
    extra = [finding for finding in wrapped.findings if finding not in bare.findings]
    if any(finding.code == "decision-in-prose" for finding in extra):
        assert (wrapped.valid, wrapped.fixed) == (False, bare.tree)
        return
    assert said(wrapped) == said(bare)
    assert {finding.severity for finding in extra} == {"note"}
    # Prose after front matter without a body becomes the body.
    ours = [finding for finding in wrapped.findings if finding.path not in ("$", "$.body")]
    assert ours == [finding for finding in bare.findings if finding.path != "$.body"]

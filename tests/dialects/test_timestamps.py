"""Timestamps of the usual form are parsed without a pattern: they mean the same as in any other form."""

from hypothesis import example, given
from hypothesis import strategies as st

from telex.dialects.scalars import parse_timestamp
from tests.proofs import proves

USUAL = "2026-02-12T10:00:00Z"
CHARACTERS = st.sampled_from("0123456789-:TWZ.+ ٣")


@proves("common/timestamp/impossible", "common/timestamp/without-zone")
@given(st.dictionaries(st.integers(0, len(USUAL) - 2), CHARACTERS, max_size=4))
@example({11: "2", 12: "4"})
@example({17: "6"})
@example({4: "-", 5: "W", 6: "0", 7: "7", 8: "-", 9: "4"})
def test_a_time_with_z_is_the_same_time_with_an_offset_of_zero(changes: dict[int, str]) -> None:
    text = "".join(changes.get(place, character) for place, character in enumerate(USUAL))
    in_general = parse_timestamp(f"{text[:-1]}+00:00")
    assert parse_timestamp(text) == in_general

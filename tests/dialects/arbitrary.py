"""Input that nobody meant: bytes, JSON and text of any shape, some of it very nearly a message."""

import json
from typing import Any

from hypothesis import strategies as st

from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import walk_kinds

ANY_TEXT = st.text(st.characters(exclude_categories=[]), max_size=12)  # lone surrogates too, which JSON can escape
TYPES = sorted({name for dialect in BUILT_IN for name in dialect.types})
NAMES = sorted(
    {
        step.removesuffix("[]")
        for dialect in BUILT_IN
        for type_ in dialect.types.values()
        for path, _ in walk_kinds(dialect.fields_of(type_))
        for step in path
    }
)
ODD_TEXT = ANY_TEXT | st.sampled_from(
    ["", "*", "<fill: text>", "a | b", "lead", "PASS", "2.0", "2026-02-12", "null", "{}"]
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | ODD_TEXT
    | st.sampled_from(TYPES)
)
KEYS = st.sampled_from(NAMES) | ODD_TEXT
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)


def ascii_json(value: Any) -> bytes:
    return json.dumps(value).encode("ascii")


# An object with a type of ours and fields of ours, but whatever in them.
NEARLY_MESSAGES = st.builds(
    lambda type_, fields: {"type": type_, **fields},
    st.sampled_from(TYPES) | VALUES,
    st.dictionaries(KEYS, VALUES, max_size=8),
)
ANY_JSON = (VALUES | NEARLY_MESSAGES).map(ascii_json)

# Pieces are parted by a bar that none of them holds.
_JSON_PIECES = '{|}|[|]|"|:|,|1e999|NaN|\\|\\u0000|"type"|"dev_progress"|{"type": "dev_blocker"}'
_MARKDOWN_PIECES = (
    "---|\n---\n|\n|\r\n|```|```json\n|~~~|\n{|<teammate-message>|</teammate-message>|\ufeff|\u2028|\x00|\x7f"
)
_YAML_PIECES = "type: approval|\nsignal: lgtm|\t|- |&a |*a|!!x |>|#|'|? |%|@"
_PIECES = st.sampled_from("|".join([_JSON_PIECES, _MARKDOWN_PIECES, _YAML_PIECES]).split("|")) | st.just("|")
SOUP = st.lists(_PIECES | st.text(max_size=6), max_size=12).map("".join).map(str.encode)
FRONT_MATTER = st.builds(
    lambda lines, body: "\n".join(["---", *lines, "---", body]).encode(),
    st.lists(
        st.builds("{}: {}".format, KEYS.filter(lambda key: key.isidentifier()), SOUP.map(bytes.decode)), max_size=5
    ),
    st.text(max_size=6),
)
ANY_BYTES = st.binary(max_size=60) | SOUP | FRONT_MATTER | ANY_JSON

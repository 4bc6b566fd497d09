"""Does every value of the bus come through the wire as it was, and do arguments that do not fit say why?"""

import ast
import inspect
import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from telex import client
from telex.client import SyncBus
from telex.http_client.bus import RemoteBus
from telex.model.finding import Finding
from telex.model.limits import LIMITS
from telex.model.message import StoredMessage
from telex.ports.bus import Bus
from telex.protocol import CodecError, decoded, encoded, made, plain
from telex.protocol.arguments import CODE, from_texts, from_tree
from telex.protocol.codec import is_value, type_hints
from telex.protocol.verbs import VERBS, EventRecord, answer_kind, arguments, work_state_kinds
from telex.surfaces.http.openapi import SchemaBuilder
from tests.proofs import proves

NOT_ASKED_FOR = {
    "close": "a hub closes its bus itself, when it ends",
    "agent": "an object of the caller",
    "policy": "of the caller's own settings",
}
# For each of so many kinds of values.
FEWER = settings(max_examples=max(15, (settings.default or settings()).max_examples // 4))
DEPTH_MAX = 2  # of values within values of the same kind
half_characters = st.characters(exclude_categories=())  # what a JSON escape may smuggle into a text
TEXTS = st.text(half_characters, max_size=12)
WHOLE = st.integers(LIMITS.integer_min, LIMITS.integer_max)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
SIMPLE: dict[Any, st.SearchStrategy[Any]] = {
    str: TEXTS, int: WHOLE, float: NUMBERS, bool: st.booleans(),
    bytes: st.binary(max_size=12) | st.text().map(str.encode),
    type(None): st.none(), Any: TREES, object: TREES, dict: st.dictionaries(TEXTS, TREES, max_size=3),
}  # fmt: skip


@cache
def values_of(kind: Any, depth: int = 0) -> st.SearchStrategy[Any]:
    """Any value of that type."""
    if kind in SIMPLE:
        return SIMPLE[kind]
    origin, inner = get_origin(kind), get_args(kind)
    if is_value(kind):
        return st.builds(kind, **{name: values_of(hint, depth + 1) for name, hint in type_hints(kind).items()})
    if origin in (Union, UnionType):
        return st.one_of(*(values_of(one, depth) for one in inner))
    if origin is Literal:
        return st.sampled_from(inner)
    if origin in (dict, Mapping):
        return st.dictionaries(values_of(inner[0]), values_of(inner[1], depth + 1), max_size=2)
    if origin is tuple and Ellipsis not in inner:
        return st.tuples(*(values_of(one, depth) for one in inner))
    whole = {list: list, frozenset: frozenset}.get(origin, tuple)
    if depth > DEPTH_MAX:
        return st.just(whole())
    return st.lists(values_of(inner[0], depth + 1), max_size=2).map(whole)


KINDS: dict[str, Any] = {
    **{f"{name} answers": answer_kind(name) for name in VERBS},
    **{f"{name} takes {one.name}": one.kind for name in VERBS for one in arguments(name).values()},
    **{f"work state of {name}": kind for name, kind in work_state_kinds().items()},
    "what is told live": EventRecord,
}
once = {repr(kind): (name, kind) for name, kind in reversed(KINDS.items())}.values()
every_kind = pytest.mark.parametrize("kind", [pytest.param(kind, id=name) for name, kind in once])


@proves("protocol/round-trip", "protocol/schema")
@every_kind
def test_every_value_comes_back_as_it_was_and_fits_its_schema(kind: Any) -> None:
    schemas = SchemaBuilder()
    schema = {**schemas.of(kind), "components": {"schemas": schemas.named}}
    validator = jsonschema.Draft202012Validator(schema)

    @FEWER
    @given(values_of(kind))
    def there_and_back(value: Any) -> None:
        tree = decoded(encoded(plain(value)))
        assert made(kind, tree) == value
        assert list(validator.iter_errors(tree)) == []

    there_and_back()


@proves("protocol/hex")
def test_a_digest_is_told_in_hexadecimal_digits() -> None:
    message = StoredMessage(1, "a", 0.5, "dev", "dev", "lead", None, None, 3, None, None, b"\x00\xff", b"raw")
    assert plain(message)["digest"] == "00ff"
    assert made(StoredMessage, plain(message)) == message


@proves("protocol/not-a-number")
@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("beside", ["", "\ud800", 2**70], ids=["alone", "half a character", "a long number"])
def test_what_is_no_number_is_told_as_null(number: float, beside: Any) -> None:
    assert json.loads(encoded({"a": [number], "b": beside})) == {"a": [None], "b": beside}


@proves("protocol/large-numbers")
@pytest.mark.parametrize("number", [2**63, -(2**63) - 1, 10**400])
def test_a_number_that_no_store_can_hold_does_not_fit(number: int) -> None:
    with pytest.raises(CodecError):
        made(int, number)
    with pytest.raises(CodecError):
        made(
            StoredMessage,
            plain(StoredMessage(1, "", 0.0, "", "", "", None, None, 3, None, None, b"", b"")) | {"seq": number},
        )
    assert made(int, 2**63 - 1) == 2**63 - 1


@proves("protocol/newer")
def test_a_field_that_a_newer_hub_has_is_left_out() -> None:
    assert made(Finding, {"code": "a", "path": "$", "say": "b", "mood": "good"}) == Finding("a", "$", "b")


@proves("protocol/no-json")
@pytest.mark.parametrize(
    "text", [b"{", b"NaN", b"1e999", b'["\\ud800", NaN]', b'["\\ud800", 1e999]', b"[" * 10**5, b'["\\ud800"' * 10**5]
)
def test_what_is_no_json_is_one_kind_of_error(text: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        decoded(text)


@proves("protocol/surrogates")
def test_half_a_character_is_told_and_not_taken() -> None:
    text = encoded({"a": "\ud800"})
    assert decoded(text) == {"a": "\ud800"}
    with pytest.raises(ValueError, match=r"."):
        decoded(text, halves=False)


@proves("protocol/any-tree")
@every_kind
def test_a_tree_that_fits_nothing_is_a_misfit_and_never_anything_else(kind: Any) -> None:
    @FEWER
    @given(TREES)
    def put(tree: Any) -> None:
        misfit = misfit_of(kind, tree)
        assert misfit is None or misfit.path.startswith("$")
        assert misfit is None or len(misfit.found or "") <= LIMITS.found_characters_max

    put()


def misfit_of(kind: Any, tree: Any) -> CodecError | None:
    try:
        made(kind, tree)
    except CodecError as misfit:
        return misfit
    return None


# --- arguments -------------------------------------------------------------------------------------------------------

every_verb = pytest.mark.parametrize("name", VERBS)


@proves("protocol/every-verb")
def test_every_verb_of_the_bus_has_a_row_or_a_reason() -> None:
    verbs = {name for name in vars(Bus) if not name.startswith("_")}
    assert set(VERBS) | set(NOT_ASKED_FOR) == verbs
    assert not set(VERBS) & set(NOT_ASKED_FOR)


@proves("protocol/every-verb")
def test_clients_and_the_stub_have_every_verb_with_the_arguments_of_the_bus() -> None:
    stub = ast.parse(Path(client.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    [facade] = [node for node in stub.body if isinstance(node, ast.ClassDef) and node.name == "SyncBus"]
    methods = {node.name: node.args for node in facade.body if isinstance(node, ast.FunctionDef)}
    assert set(methods) == {*VERBS, *NOT_ASKED_FOR, "__init__", "awaitable"}
    for name in {*VERBS, *NOT_ASKED_FOR} - {"policy"}:
        expected = list(inspect.signature(getattr(Bus, name)).parameters)
        assert [argument.arg for argument in (*methods[name].args, *methods[name].kwonlyargs)] == expected
        for kind in (SyncBus, RemoteBus):
            assert name in vars(kind)
            assert list(inspect.signature(getattr(kind, name)).parameters) == expected


@proves("protocol/every-verb")
@every_verb
def test_a_row_names_arguments_that_its_verb_has(name: str) -> None:
    verb, known = VERBS[name], arguments(name)
    assert verb.acts is None or verb.acts in known
    assert all(part[1:-1] in known for part in verb.path.split("/") if part.startswith("{"))
    assert verb.method == "POST" or not verb.changes


@proves("protocol/arguments")
@every_verb
def test_any_tree_is_arguments_or_says_what_is_wrong(name: str) -> None:
    wanted = arguments(name)
    fitting = st.fixed_dictionaries({}, optional={key: values_of(one.kind).map(plain) for key, one in wanted.items()})
    odd = st.dictionaries(st.sampled_from([*wanted, "odd"]), TREES)

    @FEWER
    @given(TREES | fitting | odd)
    def put(tree: Any) -> None:
        answer = from_tree(wanted, tree)
        if isinstance(answer, dict):
            assert set(answer) <= set(wanted)
            assert all(key in answer for key, one in wanted.items() if one.required)
        else:
            assert answer
            assert all(one.code == CODE and one.say and one.path.startswith("$") for one in answer)

    put()


@proves("protocol/arguments")
@pytest.mark.parametrize("name", [name for name, verb in VERBS.items() if verb.body != "json"])
def test_any_query_is_arguments_or_says_what_is_wrong(name: str) -> None:
    wanted = arguments(name)

    @FEWER
    @given(st.dictionaries(st.sampled_from([*wanted, "odd"]), st.lists(TEXTS | WHOLE.map(str), max_size=3)))
    def put(texts: dict[str, Sequence[str]]) -> None:
        answer = from_texts(wanted, texts)
        assert isinstance(answer, dict) or (answer and all(one.code == CODE for one in answer))

    put()


@proves("protocol/arguments/named")
def test_whoever_misspells_an_argument_is_told_the_nearest() -> None:
    found = from_tree(arguments("receive"), {"agnet": "lead", "limit": 1.5, "wiat": 3})
    assert isinstance(found, list)
    assert {one.path: one.nearest for one in found} == {
        "$.agnet": "agent",
        "$.wiat": "wait",
        "$.limit": None,
        "$.agent": None,
    }


@proves("protocol/arguments/lists")
@pytest.mark.parametrize("given_", [("acked,leased",), ("acked", "leased")])
def test_a_list_in_a_query_is_written_with_commas_or_again_and_again(given_: tuple[str, ...]) -> None:
    assert from_texts(arguments("events"), {"kinds": given_}) == {"kinds": ("acked", "leased")}


@proves("protocol/arguments/lists")
def test_one_value_that_is_given_twice_is_wrong() -> None:
    [wrong] = from_texts(arguments("search"), {"text": ("a", "b")})
    assert isinstance(wrong, Finding)
    assert (wrong.path, wrong.found) == ("$.text", "2 of them")

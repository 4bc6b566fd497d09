"""Compiled validators give the same answer as the complete check."""

import json
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from telex.dialects.builtin.build_flow import BUILD_FLOW
from telex.dialects.builtin.vbw_typed import VBW_TYPED
from telex.dialects.registry import BUILT_IN, by_name
from telex.dialects.schema import COUNT, OPEN, TEXT, Dialect, Fields, HardRule, ListOf, fields, group
from telex.dialects.toml.loader import declare
from telex.model.limits import LIMITS, Limits
from telex.testing.strategies import wire
from telex.validation.check import CheckPolicy, CheckResult, check
from telex.validation.compiled import FastValidator, ValidMessage
from tests.dialects.arbitrary import ANY_BYTES, ANY_JSON
from tests.dialects.damage import damage

JSON_DIALECTS = [dialect for dialect in BUILT_IN if dialect.form == "json"]
VALID = st.one_of([wire(dialect, type_) for dialect in JSON_DIALECTS for type_ in dialect.types.values()]).map(
    lambda wired: wired.raw
)
DAMAGED = st.one_of([damage(dialect) for dialect in BUILT_IN]).map(lambda case: case.raw)
DESKS = {
    "strict": CheckPolicy(),
    "lenient": CheckPolicy(strict=False),
    "company": CheckPolicy(preferred="vbw-company"),
    "keeps to the page": CheckPolicy(unknown_fields="refusal", misdelivery="refusal"),
    "holds little": CheckPolicy(
        limits=LIMITS._replace(depth_max=5, integer_max=1000, integer_min=-1000, message_bytes_max=400)
    ),
    "typed only": CheckPolicy(forced=by_name("vbw-typed")),
    "flow only": CheckPolicy(forced=by_name("build-flow")),
}
ROLES = [None, "lead", "dev", "qa", "senior", "cto", "@agent-CTO", "", "no such role"]
DOORS = st.tuples(st.sampled_from(list(DESKS)), st.sampled_from(ROLES), st.sampled_from(ROLES))
Door = tuple[str, str | None, str | None]


@cache
def express(policy: str, speaker: str | None, listener: str | None) -> FastValidator:
    return FastValidator(DESKS[policy], as_role=speaker, to_role=listener)


def answer(checked: CheckResult) -> tuple[Any, ...]:
    dialect = checked.dialect.name if checked.dialect else None
    return checked.valid, checked.outcome, dialect, checked.type, checked.findings, checked.fixed, checked.skeleton


def agree(raw: bytes, door: Door) -> None:
    policy, speaker, listener = door
    assert answer(express(*door).check(raw)) == answer(check(raw, DESKS[policy], as_role=speaker, to_role=listener))


def test_pairs_that_share_their_lanes_are_told_apart_by_the_names_that_a_dialect_writes() -> None:
    policy, shared = CheckPolicy(), dict[tuple[Any, ...], Any]()
    type_ = BUILD_FLOW.types["STATUS_UPDATE"]
    raw, role, wire_ = json.dumps(type_.example).encode(), type_.senders[0], BUILD_FLOW.wire
    assert wire_.sender is not None
    assert wire_.recipient is not None
    sender, recipient = type_.example[wire_.sender], type_.example[wire_.recipient]
    for as_name, to_name in ((sender, recipient), ("ada", recipient), (sender, "bob"), ("", recipient), (sender, None)):
        whom = {"as_role": role, "to_role": None, "as_name": as_name, "to_name": to_name}
        lane = FastValidator(policy, **whom, shared=shared)  # type: ignore[arg-type]
        assert answer(lane.check(raw)) == answer(check(raw, policy, **whom)), whom
        assert (lane.passes(raw) is not None) is (as_name == sender and to_name in (recipient, None)), whom


@st.composite
def edited(draw: st.DrawFn) -> bytes:
    """A valid message with a few bytes taken out, put in or written twice, as no writer of JSON would."""
    text = draw(VALID).decode()
    pieces = ['"', "\\", '\\"', "\\u0022", "\\ud800", "\\u003c"]
    pieces += [",", "}", "1.0", "-0", " ", "\x7f", "<fill: x>", '"type":"a",', "é"]
    for _ in range(draw(st.integers(1, 2))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 12)))
        text = text[:start] + draw(st.sampled_from(pieces) | st.just(text[start:end] * 2) | st.just("")) + text[end:]
    return text.encode()


WIRES = {"valid": VALID, "damaged": DAMAGED, "anything": ANY_BYTES | ANY_JSON, "edited": edited()}


@pytest.mark.parametrize("kind", WIRES)
@given(st.data(), DOORS)
def test_both_validators_agree(kind: str, data: st.DataObject, door: Door) -> None:
    agree(data.draw(WIRES[kind]), door)


@st.composite
def with_a_key_twice(draw: st.DrawFn) -> bytes:
    """A valid message in which one object somewhere has a name twice, first or last, with the same value or another."""
    text = draw(VALID).decode()
    braces = [at for at, letter in enumerate(text) if letter == "{" and _opens_an_object(text, at)]
    at = draw(st.sampled_from(braces))
    inside = json.JSONDecoder().raw_decode(text, at)[0]
    name = draw(st.sampled_from(sorted(inside)))
    value: Any = draw(st.just(inside[name]) | st.sampled_from([None, 0, "", [], {}, '"', "\\"]))
    twice = f"{json.dumps(name)}: {json.dumps(value)}, "
    return (text[: at + 1] + twice + text[at + 1 :]).encode()


def _opens_an_object(text: str, at: int) -> bool:
    try:
        inside, _ = json.JSONDecoder().raw_decode(text, at)
    except ValueError:
        return False
    quotes = text[:at].replace("\\\\", "").replace('\\"', "").count('"')
    return bool(inside) and quotes % 2 == 0


@given(with_a_key_twice(), DOORS)
def test_a_key_given_twice_never_slips_through_the_fast_lane(raw: bytes, door: Door) -> None:
    assert express(*door).passes(raw) is None
    agree(raw, door)


@pytest.mark.parametrize("dialect", JSON_DIALECTS, ids=lambda dialect: dialect.name)
def test_the_examples_take_the_fast_lane(dialect: Dialect) -> None:
    lane = FastValidator(CheckPolicy(forced=dialect))
    for type_ in dialect.types.values():
        answer = lane.passes(json.dumps(type_.example).encode())
        assert answer is not None
        assert answer[0] == ValidMessage(dialect, type_)


EXAMPLES = {
    (dialect.name, type_.name): json.dumps(type_.example).encode()
    for dialect in JSON_DIALECTS
    for type_ in dialect.types.values()
}


# Types that another dialect, or the default version, has too: such a message takes the complete check.
TOLD_BY_OPTIONAL_FIELDS = {("vbw-company", "debugger_report")} | {
    ("vbw-typed@2.1", name) for name in ("execution_update", "blocker_report", "qa_verdict", "shutdown_response")
}


@pytest.mark.parametrize("before", JSON_DIALECTS, ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("name, type_name", EXAMPLES)
def test_an_example_takes_the_fast_lane_of_its_dialect_whoever_spoke_before(
    name: str, type_name: str, before: Dialect
) -> None:
    lane, raw = FastValidator(), EXAMPLES[name, type_name]
    for other in before.types.values():
        lane.passes(EXAMPLES[before.name, other.name])  # neighbours speak alike, so its lane is tried first
        told = check(raw)
        answer = lane.passes(raw)
        assert (answer is None) is ((name, type_name) in TOLD_BY_OPTIONAL_FIELDS)
        assert answer is None or answer[0].dialect is told.dialect


def notes(own_fields: Fields, *rules: HardRule) -> CheckPolicy:
    """Policy of a dialect with one type, `note`."""
    type_ = BUILD_FLOW.types["MESSAGE_ERROR"]._replace(name="note", fields=own_fields, rules=rules, example={})
    return CheckPolicy(forced=Dialect("own", "1.0", "Notes.", "json", ("dev",), {"note": type_}))


@pytest.mark.parametrize("raw", ['"n": 1', '"n": 0', '"n": 1, "x": []', '"n": 1, "x": [{"a": "z"}]', '"n": 2, "x": []'])
@pytest.mark.parametrize(
    "rule",
    ["len(x) < n", "n > len(x) + 1", "n != count(x[].a, 'z')", "not count(x[].a, 'z')", "count(x[].a, 'z') < 1",
     "n > count(x[].a, 'z') + 0", "'z' in x[].a", "not has(x)", "n > 0 and len(x) == 0"],
)  # fmt: skip
def test_both_agree_on_rules_about_a_list_that_may_be_absent(rule: str, raw: str) -> None:
    own_fields = fields({"n": COUNT}, {"x": ListOf(group({"a": TEXT}))})
    policy, message = (
        notes(own_fields, HardRule("rule", rule, "n", "Count again.")),
        f'{{"type": "note", {raw}}}'.encode(),
    )
    assert answer(FastValidator(policy).check(message)) == answer(check(message, policy))


@pytest.mark.parametrize("levels", range(LIMITS.depth_max - 8, LIMITS.depth_max + 3))
def test_both_lanes_agree_on_how_deep_is_too_deep(levels: int) -> None:
    policy = notes(fields({"a": group({"b": group({"c": OPEN})})}))
    raw = ('{"type": "note", "a": {"b": {"c": {"d": ' + "[" * levels + "]" * levels + "}}}}").encode()
    assert answer(FastValidator(policy).check(raw)) == answer(check(raw, policy))


@pytest.mark.parametrize(
    "limits, metadata",
    [
        (LIMITS._replace(depth_max=5), '{"a": [[[[1]]]]}'),
        (LIMITS._replace(integer_max=1000), '{"a": 5000}'),
        (LIMITS._replace(integer_min=-1000), '{"a": -5000}'),
    ],
)
def test_both_lanes_keep_to_the_limits_of_the_desk(limits: Limits, metadata: str) -> None:
    tree = BUILD_FLOW.types["STATE_TRANSITION"].example
    payload = tree["payload"] | {"metadata": "@"}
    raw = json.dumps(tree | {"payload": payload}).replace('"@"', metadata).encode()
    policy = CheckPolicy(limits=limits)
    assert answer(FastValidator(policy).check(raw)) == answer(check(raw, policy))


TIMES = """
2026-02-12T10:00:00Z 2026-02-12t10:00:00z 2026-02-12_10:00:00Z 2026-02-12T10:00Z 20260212T100000Z 2026-02-12T24:00:00Z
2026-02-12T23:59:60Z 2026-06-30T23:59:60Z 2026-02-12T10:00:60Z 2026-02-12 2026-02-12T10:00:00+24:00 1e3 P1D
2026-02-12T10:00:00-00:00 2026-02-12T10:00:00+0100 2026-02-12T10:00:00,5Z 2026-02-12T10:00:00.1234567Z
2026-02-12T10:00:00 0000-01-01T00:00:00Z 2026-W07-4T10:00:00Z 2026-043T10:00:00Z 2026-02-12T10:00:00+01
2026-02-12T10:00:00_Z 9999-12-31T23:59:59.9999999Z 9999-12-31T23:59:59-14:00 0001-01-01T00:00:00+14:00
2026-02-12T10:00:00+14:60
"""
NUMBERS = """
0 -0 1 1.0 1e0 1E2 10e-1 0.0 -1 1.5 true null "1" 01 +1 1. .5 NaN Infinity 9223372036854775807 9223372036854775808
-9223372036854775808 18446744073709551616 9.3e18 1e19 -1e19 1e400 100.0 100.00000000000001 1e2
"""


@pytest.mark.parametrize("written", TIMES.split())
def test_both_lanes_agree_on_what_a_moment_is(written: str) -> None:
    tree = by_name("vbw-typed").types["qa_verdict"].example | {"timestamp": written.replace("_", " ")}  # type: ignore[union-attr]
    agree(json.dumps(tree).encode(), ("strict", None, None))


@pytest.mark.parametrize("written", NUMBERS.split())
@pytest.mark.parametrize(
    "dialect, field", [("vbw-typed", "phase"), ("build-flow", "payload.phase"), ("build-flow", "payload.progress")]
)
def test_both_lanes_agree_on_what_a_number_is(dialect: str, field: str, written: str) -> None:
    name = {"phase": "qa_verdict", "payload.phase": "TASK_ASSIGNMENT", "payload.progress": "STATUS_UPDATE"}[field]
    tree = json.loads(json.dumps(by_name(dialect).types[name].example))  # type: ignore[union-attr]
    *outer, last = field.split(".")
    (tree[outer[0]] if outer else tree)[last] = "@"
    agree(json.dumps(tree).replace('"@"', written).encode(), ("strict", None, None))


# As they stand between the quotation marks of a JSON string.
ODD_TEXTS = r"""
\u0000 \n \u007f \u200b \ud800 \udc00\ud800 \\ \" \\\" \u0022 \/ é
<fill:_x> \u003cfill:_x> <fill\u003a_x> <fill:_x\u003e
"""
LONG_TEXTS = ["", " ", "\x7f", "\u200b", "x" * 128, "x" * 129, "é" * 128, "é" * 129]


@pytest.mark.parametrize("text", [*(text.replace("_", " ") for text in ODD_TEXTS.split()), *LONG_TEXTS])
@pytest.mark.parametrize("place", ["messageId", "from", "taskId", "metadata", "name"])
def test_both_lanes_agree_on_what_a_text_is(place: str, text: str) -> None:
    tree = json.loads(json.dumps(BUILD_FLOW.types["STATE_TRANSITION"].example))
    named, held = ("TEXT", "b") if place == "name" else ("a", "TEXT" if place == "metadata" else "b")
    tree["payload"]["metadata"] = {named: [held]}
    if place in ("messageId", "from"):
        tree[place] = "TEXT"
    if place == "taskId":
        tree["correlationId"] = tree["payload"]["taskId"] = "TEXT"
    agree(json.dumps(tree).replace("TEXT", text).encode(), ("strict", None, None))


@pytest.mark.parametrize("backslashes", range(8))
@pytest.mark.parametrize("twice", ['"phase": 1', '"phase": 2', '"task": "t"', '"payload": {}', '"mood": 1'])
def test_a_key_given_twice_is_not_hidden_by_text_that_looks_like_an_escaped_quote(twice: str, backslashes: int) -> None:
    example = VBW_TYPED.types["execution_update"].example
    tree = example | {"payload": example["payload"] | {"concerns": ["\\"] * backslashes}}
    raw = json.dumps(tree).replace("{", "{" + twice + ", ", 1).encode()
    assert express("strict", None, None).passes(raw) is None
    agree(raw, ("strict", None, None))


# --- dialects that somebody else has declared -------------------------------------------------------------------------

OWN = """
name = "own"
version = "1.0"
purpose = "A note."
roles = ["a"]
[types.note]
purpose = "Says it."
senders = ["*"]
receivers = ["*"]
[types.note.fields]
"""


def own(fields: str) -> CheckPolicy:
    dialect = declare(OWN + fields, "own.toml").dialect
    assert dialect is not None
    return CheckPolicy(dialects=(dialect,))


@pytest.mark.parametrize(
    "fields, raw",
    [
        ('text = "string"', b'{"text": "a"}'), ('text = "string"', b'{"text": "a", "other": "b"}'),
        ('text = "string"', b'{"type": "", "text": "a"}'), ('value = "any"', b'{"type": "note", "value": null}'),
        ('value = "any?"', b'{"type": "note", "value": null}'),
        ('value = "any"', b'{"type": "note", "value": [null]}'),
    ],
)  # fmt: skip
def test_both_lanes_agree_on_a_dialect_of_one_s_own(fields: str, raw: bytes) -> None:
    policy = own(fields)
    assert answer(FastValidator(policy).check(raw)) == answer(check(raw, policy))


def test_a_field_that_is_called_like_the_sender_may_be_an_object() -> None:
    text = OWN.replace('roles = ["a"]', 'extends = "vbw-company"')
    fields_ = 'from = { type = "object", fields = { p = "string", q = "integer?" } }'
    dialect = declare(text + fields_, "own.toml").dialect
    assert dialect is not None
    policy = CheckPolicy(dialects=(dialect, *BUILT_IN))
    raw, names = b'{"type": "note", "from": {"p": "x"}}', ("dev", "lead", "ann", "lea")
    whom = dict(zip(("as_role", "to_role", "as_name", "to_name"), names, strict=True))
    assert answer(FastValidator(policy, **whom).check(raw)) == answer(check(raw, policy, **whom))  # type: ignore[arg-type]

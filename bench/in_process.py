"""Check of a message inside a running process, beside msgspec alone, pydantic and PyYAML."""

import json
import statistics
from collections.abc import Callable
from typing import Annotated, Any, Literal, Union

import yaml
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, TypeAdapter, create_model

from bench.measure import Line, interleaved, micro, ratio
from bench.samples import messages
from telex.dialects import schema
from telex.dialects.builtin.build_flow import BUILD_FLOW
from telex.dialects.builtin.signal_md import SIGNAL_MD
from telex.dialects.builtin.vbw import VBW_HANDOFF
from telex.dialects.builtin.vbw_typed import VBW_TYPED
from telex.dialects.rule_language import compile_rule, parse
from telex.dialects.schema import get_path
from telex.model.limits import LIMITS
from telex.validation.check import CheckPolicy, check
from telex.validation.compiled import FastValidator
from telex.validation.compiler import compile_dialect

ROUNDS = 101
UNKNOWN_FIELDS = 100_000  # of nine bytes each, about as many as a message may have


def lines() -> list[Line]:
    found = []
    for dialect in (VBW_TYPED, BUILD_FLOW):
        found += _json(dialect)
    return [*found, _front_matter(), _unknown_fields()]


def _each(run: Callable[[bytes], Any], raws: list[bytes]) -> Callable[[], None]:
    def work() -> None:
        for raw in raws:
            run(raw)

    return work


def _json(dialect: schema.Dialect) -> list[Line]:
    raws = messages(dialect)
    express = FastValidator(CheckPolicy(forced=dialect))
    decode = compile_dialect(dialect, LIMITS, lambda type_: {}).decoder.decode
    peer = _pydantic(dialect)
    assert all(express.passes(raw) for raw in raws), "a sample does not take the fast lane"
    telex = _each(express.passes, raws)
    floor = interleaved({"telex": telex, "msgspec": _each(decode, raws)}, ROUNDS)
    rival = interleaved({"telex": telex, "pydantic": _each(peer, raws)}, ROUNDS)
    ours = micro(statistics.median(floor["telex"]) / len(raws))
    alone, beside = ratio(floor, "telex", "msgspec"), ratio(rival, "pydantic", "telex")
    what = f"{dialect.name}: decode, validate and authorise a valid message"
    return [
        Line(what, ours, "msgspec's decode of the same union", alone, "at most 2 ×", alone <= 2),
        Line(what, ours, "pydantic 2 with the same rules on top", beside, "at least 2 × as fast", beside >= 2),
    ]


def _front_matter() -> Line:
    raws = messages(SIGNAL_MD)
    policy = CheckPolicy(forced=SIGNAL_MD)
    fronts = [raw.split(b"---\n", 2)[1] for raw in raws]
    assert all(check(raw, policy).valid for raw in raws)
    work = {
        "telex": _each(lambda raw: check(raw, policy), raws),
        "yaml": _each(lambda front: yaml.load(front, Loader=yaml.CSafeLoader), fronts),
    }
    seconds = interleaved(work, ROUNDS)
    ours = micro(statistics.median(seconds["telex"]) / len(raws))
    found = ratio(seconds, "telex", "yaml")
    what = "signal-md: read, validate and authorise a valid message"
    against = "PyYAML's CSafeLoader on the front matter alone"
    return Line(what, ours, against, found, "at most 1.5 ×", found <= 1.5)


def _unknown_fields() -> Line:
    """A hostile message: its check bounds how long other clients of a hub wait."""
    tree = VBW_HANDOFF.types["dev_progress"].example | {f"{number:05x}": 1 for number in range(UNKNOWN_FIELDS)}
    raw = json.dumps(tree, separators=(",", ":")).encode()
    assert check(raw).valid
    seconds = interleaved({"telex": lambda: check(raw), "json": lambda: json.loads(raw)}, 11)
    found = ratio(seconds, "telex", "json")
    what = f"a message with {UNKNOWN_FIELDS:,} unknown fields: checked"
    against = "Python's json reading it"
    return Line(what, micro(statistics.median(seconds["telex"])), against, found, "at most 6 ×", found <= 6)


# --- the same definition, as pydantic models -------------------------------------------------------------------------


def _pydantic(dialect: schema.Dialect) -> Callable[[bytes], Any]:
    """A validator as one would write it with pydantic: a discriminated union, then rules and senders."""
    models, rules, senders = [], {}, {}
    for type_ in dialect.types.values():
        models.append(_model(type_.name, dialect.fields_of(type_)))
        expressions = [rule.broken_when for rule in (*dialect.rules, *type_.rules)]
        rules[type_.name] = [_on_model(expression, dialect, type_) for expression in expressions]
        senders[type_.name] = None if type_.senders == schema.ANY else frozenset(type_.senders)
    union: Any = Annotated[Union[tuple(models)], Field(discriminator="type")]  # noqa: UP007
    adapter: TypeAdapter[Any] = TypeAdapter(union)
    claim = dialect.wire.sender

    def validate(raw: bytes) -> Any:
        message = adapter.validate_json(raw)
        for broken in rules[message.type]:
            assert not broken(message)
        allowed = senders[message.type]
        assert allowed is None or getattr(message, claim or "") in allowed
        return message

    return validate


def _on_model(expression: str, dialect: schema.Dialect, type_: schema.MessageType) -> Callable[[Any], Any]:
    def resolve(name: str) -> Callable[[Any], Any]:
        steps = dialect.locate(type_, name)
        if any(step.endswith("[]") for step in steps):
            inside = get_path(steps)
            return lambda message: inside(message.model_dump())
        names = [_python(step) for step in steps]

        def get(message: Any) -> Any:
            for step in names:
                message = getattr(message, step, None)
            return message

        return get

    return compile_rule(parse(expression), resolve)


def _python(name: str) -> str:
    return f"{name}_" if name == "from" else name


def _model(name: str, fields: schema.Fields) -> type[BaseModel]:
    members: dict[str, Any] = {}
    for field_name, field in fields.items():
        annotation = _annotation(field_name, field.kind)
        default = ... if field.required else None
        alias = Field(default, alias=field_name)
        members[_python(field_name)] = (annotation if field.required else annotation | None, alias)
    return create_model(name, __config__=ConfigDict(strict=True), **members)


def _annotation(name: str, kind: schema.Kind) -> Any:
    match kind:
        case schema.Text(may_be_empty, most, _):
            return Annotated[str, Field(min_length=0 if may_be_empty else 1, max_length=most)]
        case schema.OneOf(values):
            return Literal[values]
        case schema.Integer(low, high):
            return Annotated[int, Field(ge=low, le=high)]
        case schema.Number(low, high):
            return Annotated[float, Field(ge=low, le=high)]
        case schema.Boolean():
            return bool
        case schema.Timestamp():
            return AwareDatetime
        case schema.ListOf(item):
            return list[_annotation(name, item)]  # type: ignore[misc]
        case schema.MapOf(value):
            return dict[str, _annotation(name, value)]  # type: ignore[misc]
        case schema.Group(fields):
            return _model(name, fields)
    return Any

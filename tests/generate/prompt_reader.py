"""An agent that knows nothing but its prompt, and follows it to the letter.

It reads the notation, makes up values of the kinds it is shown, and keeps to the rules it is told. Nothing here looks
at a dialect: what the text does not say, this agent does not know.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import yaml
from hypothesis import strategies as st

from telex.dialects.rule_language import Getter, compile_rule, parse

_TOKEN = re.compile(
    r'\s*("(?:[^"\\]|\\.)*"|\.\.\.|-?\d*(?:\.\d+)?\.\.(?:-?\d+(?:\.\d+)?)?|[\w+-]+(?:\.[\w+-]+)*|[{}\[\]:,|?*])'
)
_TYPE = re.compile(r"(?P<name>[^\s,:]+)(?: → (?P<receivers>[^\s,:]+))?(?:, answers [^\s:]+)?: (?P<fields>\{.*\})\Z")
_RULE = re.compile(r" *(?P<word>never|must|avoid|should) (?P<expression>.*)\Z")


class Shape(NamedTuple):
    """A kind of value as the notation shows it."""

    word: str  # text, int, num, bool, time, any, receiver, one of, list, map, object, fields
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    inner: "Shape | None" = None
    fields: "dict[str, ShownField] | None" = None
    may_be_empty: bool = False


class ShownField(NamedTuple):
    shape: Shape
    required: bool
    otherwise: Any = None


class Rule(NamedTuple):
    strict: bool
    broken_if: bool  # what the expression comes to when the rule is broken
    expression: str


class Lesson(NamedTuple):
    name: str
    receivers: tuple[str, ...]
    fields: dict[str, ShownField]
    rules: list[Rule]
    sections: list[str]


class Prompt(NamedTuple):
    front_matter: bool
    envelope: dict[str, ShownField]
    rules: list[Rule]
    lessons: list[Lesson]


# --- reading -------------------------------------------------------------------------------------------------------


def read_prompt(text: str) -> Prompt:
    opening, envelope, _, *lines = text.splitlines()
    rules: list[Rule] = []
    lessons: list[Lesson] = []
    for line in lines:
        if rule := _RULE.match(line):
            (lessons[-1].rules if line.startswith(" ") else rules).append(
                Rule(rule["word"] in ("never", "must"), rule["word"] in ("never", "avoid"), rule["expression"])
            )
        elif line.startswith("  body: "):
            lessons[-1].sections.extend(line.removeprefix("  body: ").split(", "))
        else:
            lessons.append(_read_lesson(line))
    return Prompt("front matter" in opening, _Notation(envelope).fields(), rules, lessons)


def _read_lesson(line: str) -> Lesson:
    match = _TYPE.match(line)
    assert match, line
    receivers = tuple((match["receivers"] or "").split("|")) if match["receivers"] else ()
    return Lesson(match["name"], receivers, _Notation(match["fields"]).fields(), [], [])


class _Notation:
    def __init__(self, text: str) -> None:
        self.tokens = list(_tokens(text))

    def take(self, *expected: str) -> str:
        token = self.tokens.pop(0)
        assert not expected or token in expected, (token, expected)
        return token

    def peek(self) -> str:
        return self.tokens[0] if self.tokens else ""

    def fields(self) -> dict[str, ShownField]:
        self.take("{")
        found: dict[str, ShownField] = {}
        while self.peek() != "}":
            name = _unquoted(self.take())
            if name in ("type", "...") and self.peek() in (",", "}"):
                found[name] = ShownField(Shape("type" if name == "type" else "fields"), True)
            else:
                found[name] = self.field()
            if self.peek() == ",":
                self.take(",")
        self.take("}")
        return found

    def field(self) -> ShownField:
        required = self.take("?", ":") == ":"
        if not required:
            self.take(":")
        shape = self.shape()
        otherwise = None
        if self.peek() == "else":
            self.take()
            otherwise = json.loads(self.take())
        return ShownField(shape, required, otherwise)

    def shape(self) -> Shape:
        if self.peek() == "[":
            self.take()
            inner = self.shape()
            self.take("]")
            return Shape("list", inner=inner)
        if self.peek() == "{":
            return self.object()
        words = [self.take()]
        low, high = self.range() if ".." in self.peek() else (None, None)
        while self.peek() == "|":
            self.take()
            words.append(self.take())
        if words == ["text", '""']:
            return Shape("text", low=low, high=high, may_be_empty=True)
        if len(words) == 1 and words[0] in ("text", "int", "num", "bool", "time", "any", "receiver"):
            return Shape(words[0], low=low, high=high)
        return Shape("one of", choices=tuple(_unquoted(word) for word in words))

    def object(self) -> Shape:
        if self.tokens[1] == "*":
            for token in ("{", "*", ":"):
                self.take(token)
            inner = self.shape()
            self.take("}")
            return Shape("map", inner=inner)
        return Shape("object", fields=self.fields())

    def range(self) -> tuple[float | None, float | None]:
        low, _, high = self.take().partition("..")
        return (float(low) if low else None, float(high) if high else None)


def _tokens(text: str) -> Iterator[str]:
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        assert match, text[position:]
        yield match[1]
        position = match.end()


def _unquoted(word: str) -> str:
    return str(json.loads(word)) if word.startswith('"') else word


# --- writing -------------------------------------------------------------------------------------------------------

Draw = Callable[[st.SearchStrategy[Any]], Any]


def make_message(prompt: Prompt, lesson: Lesson, draw: Draw) -> tuple[dict[str, Any], str | None]:
    """A message of this type with values drawn from what the prompt allows, and who gets it."""
    receiver = draw(st.sampled_from(lesson.receivers)) if lesson.receivers else None
    own = _object(lesson.fields, draw, receiver)
    message: dict[str, Any] = {}
    for name, field in prompt.envelope.items():
        if field.shape.word == "type":
            message[name] = lesson.name
        elif field.shape.word == "fields":
            message |= own
        elif field.shape.fields is not None and "..." in field.shape.fields:
            message[name] = own
        elif field.required or draw(st.booleans()):
            message[name] = _value(field.shape, draw, receiver)
    return message, receiver


def _object(fields: dict[str, ShownField], draw: Draw, receiver: str | None) -> dict[str, Any]:
    return {
        name: _value(field.shape, draw, receiver)
        for name, field in fields.items()
        if field.required or draw(st.booleans())
    }


def _value(shape: Shape, draw: Draw, receiver: str | None) -> Any:
    match shape.word:
        case "text":
            return draw(st.sampled_from(["T-1", "src/a.py"] + [""] * shape.may_be_empty))
        case "int":
            low = int(shape.low) if shape.low is not None else 0
            return draw(st.integers(low, low + 3 if shape.high is None else int(shape.high)))
        case "num":
            return draw(st.sampled_from([shape.low or 1, shape.high or 40.5]))
        case "bool":
            return draw(st.booleans())
        case "time":
            return draw(st.sampled_from(["2026-03-01T09:30:00Z", "2026-03-02T09:30:00+01:00"]))
        case "any":
            return draw(st.sampled_from(["x", 1, [True]]))
        case "receiver":
            return receiver
        case "one of":
            return draw(st.sampled_from(shape.choices))
        case "list" if shape.inner is not None:
            return [_value(shape.inner, draw, receiver) for _ in range(draw(st.integers(0, 2)))]
        case "map" if shape.inner is not None:
            return {
                key: _value(shape.inner, draw, receiver) for key in draw(st.sampled_from([[], ["AC1"], ["a", "b"]]))
            }
    return _object(shape.fields or {}, draw, receiver)


def keeps_to_the_rules(prompt: Prompt, lesson: Lesson, message: dict[str, Any]) -> bool:
    """Does the message break nothing that the prompt says?"""
    return not any(
        bool(compile_rule(parse(rule.expression), _finder(prompt, lesson, message))(message)) is rule.broken_if
        for rule in (*prompt.rules, *lesson.rules)
    )


def _finder(prompt: Prompt, lesson: Lesson, message: dict[str, Any]) -> Callable[[str], Getter]:
    """A name in a rule is one of the type's own fields, or else one of the envelope's."""
    holders = [name for name, field in prompt.envelope.items() if "..." in (field.shape.fields or {})]
    own = message[holders[0]] if holders else message
    left_out = {name: field.otherwise for name, field in lesson.fields.items() if field.otherwise is not None}

    def find(name: str) -> Getter:
        first = name.split(".")[0].removesuffix("[]")
        return lambda _: _at(left_out | own if first in lesson.fields else message, name.split("."))

    return find


def _at(value: Any, steps: list[str]) -> Any:
    for index, step in enumerate(steps):
        value = value.get(step.removesuffix("[]")) if isinstance(value, dict) else None
        if step.endswith("[]") and isinstance(value, list):
            return [_at(item, steps[index + 1 :]) for item in value]
    return value


def write_message(prompt: Prompt, lesson: Lesson, message: dict[str, Any]) -> bytes:
    if not prompt.front_matter:
        return json.dumps(message).encode()
    front = yaml.safe_dump(message, sort_keys=False)
    body = "\n\n".join(f"{section}\nAll is well." for section in lesson.sections) or "All is well."
    return f"---\n{front}---\n\n{body}\n".encode()

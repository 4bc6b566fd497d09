"""Kinds of corruptions: what models do to a message when they write it.

A kind is *certain* when its right answer follows from the text alone ("some": of a part of its cases). `make` returns
the corrupted text, with the message that was meant if it had to be another one; None where the kind does not apply.
"""

import json
import random
import re
from collections.abc import Callable
from copy import deepcopy
from html import escape
from typing import Any, Literal, NamedTuple

from telex.dialects.schema import Dialect, Form, MessageType, OneOf, Text, Tree
from telex.dialects.write import write, write_front_matter
from telex.validation.check import CheckPolicy, check
from tests.dialects.damage import Place, Steps, places

Certainty = Literal["yes", "some", "no"]


class Base(NamedTuple):
    """A valid message, and how it is written."""

    dialect: Dialect
    type: MessageType
    tree: Tree
    body: str
    indent: int | None
    rng: random.Random

    @property
    def text(self) -> str:
        if self.dialect.form == "front-matter":
            return write(self.dialect, self.tree, self.body)
        return json.dumps(self.tree, indent=self.indent, ensure_ascii=False)

    @property
    def lined(self) -> str:
        return self._replace(indent=2).text

    def written(self, tree: Tree) -> str:
        return self._replace(tree=tree).text

    def having(self, place: Place, value: Any) -> "Base":
        return self._replace(tree=changed(self.tree, place.steps, value))

    def is_valid(self) -> bool:
        """Does it pass with no finding, and is it read back as it is?"""
        checked = check(self.text, CheckPolicy(forced=self.dialect))
        same = checked.tree == self.tree and (checked.body or "") == self.body
        return checked.valid and not checked.findings and same


Made = str | tuple[Base, str] | None
Make = Callable[[Base], Made]
Fits = Callable[[Any], bool]


class Kind(NamedTuple):
    make: Make
    certain: Certainty
    forms: tuple[Form, ...]


KINDS: dict[str, Kind] = {}


def add(name: str, make: Make, certain: Certainty = "yes", form: Form | None = "json") -> None:
    assert name not in KINDS, name
    KINDS[name] = Kind(make, certain, (form,) if form else ("json", "front-matter"))


# --- places in a message ---------------------------------------------------------------------------------------------


def at(tree: Any, steps: Steps) -> Any:
    for step in steps:
        tree = tree[step]
    return tree


def changed(tree: Tree, steps: Steps, value: Any) -> Tree:
    copied = deepcopy(tree)
    at(copied, steps[:-1])[steps[-1]] = value
    return copied


def without(tree: Tree, steps: Steps) -> Tree:
    copied = deepcopy(tree)
    del at(copied, steps[:-1])[steps[-1]]
    return copied


def pick(base: Base, kinds: Any, fits: Fits = lambda value: True) -> tuple[Place, Any] | None:
    """A value of these kinds, at any depth."""
    every = [place for place in places(base.tree, base.dialect.fields_of(base.type)) if place.steps != ("type",)]
    found = [(place, at(base.tree, place.steps)) for place in every if isinstance(place.field.kind, kinds)]
    found = [(place, value) for place, value in found if fits(value)]
    return base.rng.choice(found) if found else None


def required(base: Base, kinds: Any = object) -> Place | None:
    """A field that only its sender can fill."""
    every = [place for place in places(base.tree, base.dialect.fields_of(base.type)) if place.siblings is not None]
    found = [place for place in every if place.field.required and isinstance(place.field.kind, kinds)]
    found = [place for place in found if not isinstance(place.field.kind, OneOf) or len(place.field.kind.values) > 1]
    found = [place for place in found if place.steps != (base.dialect.payload,)]
    return base.rng.choice(found) if found else None


def is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) > 1


def is_sentence(value: Any) -> bool:
    return is_text(value) and " " in value


def put(kinds: Any, change: Callable[[Any], Any], fits: Fits = lambda value: True) -> Make:
    """Another value in one place."""

    def make(base: Base) -> Made:
        found = pick(base, kinds, fits)
        return base.written(changed(base.tree, found[0].steps, change(found[1]))) if found else None

    return make


def said(text: str, wrong: str, right: str | None = None) -> Make:
    """A text of the sender's, written wrongly: `right` in the JSON becomes `wrong`."""

    def make(base: Base) -> Made:
        found = pick(base, Text, is_sentence)
        meant = base.having(found[0], text) if found else None
        return (meant, meant.text.replace(right or json.dumps(text)[1:-1], wrong, 1)) if meant else None

    return make


# --- around the message ----------------------------------------------------------------------------------------------

AROUND = {
    "fence": ("```json\n", "\n```"), "fence without a language": ("```\n", "\n```"),
    "fence of tildes": ("~~~\n", "\n~~~"), "fence never closed": ("```json\n", "\n"),
    "fence on one line": ("Here: ```json ", " ``` done"),
    "prose before": ("Here is my message:\n\n", ""), "prose after": ("", "\n\nLet me know if that helps."),
    "prose around a fence": ("Done, see below.\n\n```json\n", "\n```\nAnything else?"),
    "bold label": ("**Message:** ", ""), "label": ("Message: ", ""), "quoted label": ('My "report": ', ""),
    "in a sentence": ("I hereby send ", " as agreed."), "comment before": ("// my report\n", ""),
    "tag on its own lines": ("<message>\n", "\n</message>"), "tag on one line": ("<message>", "</message>"),
    "HTML code": ("<pre><code>", "</code></pre>"),
    "teammate tag": ('<teammate-message teammate_id="x">', "</teammate-message>"),
    "backticks on one line": ("`", "`"), "const m = …;": ("const m = ", ";"), "Python assignment": ("message = ", ""),
    "return …;": ("return ", ";"), "language label": ("json\n", ""), "array of one": ("[", "]"),
    "doubled outer braces": ("{", "}"), "doubled first brace": ("{", ""), "doubled last brace": ("", "}"),
    "byte-order mark": ("\ufeff", ""), "blank lines around": ("\n\n", "\n\n"),
    "no-break spaces around": ("\u00a0", "\u00a0"), "vertical tab before": ("\x0b", ""),
    "line separator after": ("", "\u2028"), "under the key message": ('{"message": ', "}"),
    "under a key, with an address": ('{"to": "lead", "content": ', "}"), "under any key": ('{"envelope": ', "}"),
    "message of a chat": ('{"role": "assistant", "content": ', "}"),
    "arguments of a tool call": ('{"name": "send_message", "arguments": ', "}"),
}  # fmt: skip
for _name, (_before, _after) in AROUND.items():
    add(_name, lambda base, before=_before, after=_after: before + base.text + after)  # type: ignore[misc]
add("under a key, as text", lambda base: json.dumps({"message": base.text}, ensure_ascii=False))
add("encoded twice", lambda base: json.dumps(base.text, ensure_ascii=False))
add("quoted with >", lambda base: "\n".join(f"> {line}" for line in base.text.split("\n")), form=None)
add("quoted with >, in a fence", lambda base: "\n".join(f"> {line}" for line in f"```\n{base.text}\n```".split("\n")))
add("CRLF", lambda base: base.lined.replace("\n", "\r\n"))

# --- the JSON itself -------------------------------------------------------------------------------------------------

STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')


def smart(text: str, opening: str = "“") -> str:
    return STRING.sub(rf"{opening}\1”", text)


def single(base: Base) -> str | None:
    return None if "'" in base.text or '\\"' in base.text else base.text.replace('"', "'")


def bare_keys(text: str) -> str:
    return re.sub(r'"(\w+)":', r"\1:", text)


def line_end(sign: str) -> Make:
    """Something behind one of the lines."""

    def make(base: Base) -> Made:
        lines = base.lined.split("\n")
        lines[base.rng.randrange(1, len(lines) - 1)] += sign
        return "\n".join(lines)

    return make


def cut_out(pattern: str, group: int = 0) -> Make:
    """One match of the pattern left out."""

    def make(base: Base) -> Made:
        found = list(re.finditer(pattern, base.lined))
        start, end = base.rng.choice(found).span(group) if found else (0, 0)
        return base.lined[:start] + base.lined[end:] if found else None

    return make


def javascript(base: Base) -> Made:
    text = single(base._replace(indent=2))
    bare = re.sub(r"'(\w+)':", r"\1:", text) if text else ""
    return f"const message = {bare[:-2]},\n}};" if text else None


def doubled_braces(base: Base) -> Made:
    inside = any(sign in match[1] for match in STRING.finditer(base.text) for sign in "{}")
    return None if inside else base.text.replace("{", "{{").replace("}", "}}")


def doubled_key(base: Base, *, same: bool) -> Made:
    name = base.rng.choice([name for name, value in base.tree.items() if same or (is_text(value) and name != "type")])
    value = json.dumps(base.tree[name] if same else "another", ensure_ascii=False)
    return f'{base.text[:-1].rstrip()}, "{name}": {value}}}'


def unescaped(base: Base) -> Made:
    text = base.rng.choice(['It says "done" here', 'It says "no", then stops', '"Quoted" at first', 'At last "quoted"'])
    return said(text, text)(base)


def yaml(base: Base) -> str | None:
    text = write_front_matter(base.tree, "").removeprefix("---\n").removesuffix("---\n")
    return None if " #" in text else text


def truncated(base: Base) -> Made:
    after_type = base.text.index(base.type.name) + len(base.type.name) + 1
    return base.text[: base.rng.randrange(after_type, len(base.text) - 1)]


for _sign, _comment in (("//", "// my report\n"), ("/* */", "/* my report */ "), ("#", "# my report\n")):
    add(f"comment {_sign} after the brace", lambda base, put=_comment: base.text.replace("{", "{ " + put, 1))  # type: ignore[misc]
add("comment // at a line's end", line_end("  // it's so"))
add("comment # at a line's end", line_end("  # see above"))
add("comment /* */ at a line's end", line_end(" /* see {above} */"))
add("trailing comma", lambda base: base.lined[:-2] + ",\n}")
add("trailing comma in a list", lambda base: re.sub(r'"(\n *\])', r'",\1', base.lined, count=1))
add("missing comma", cut_out(r",(?=\n)"))
add("Python dict", lambda base: repr(base.tree))
add("Python dict in prose", lambda base: f"I send this:\n\n{base.tree!r}\n\nThanks!")
add("Python literals", lambda base: re.sub(r"(?<=: )(true|false)", lambda match: match[0].title(), base.text))
add("single quotes", single)
add("single quotes and a comment", lambda base: (single(base._replace(indent=2)) or "").replace(",\n", ", // so\n", 1))
add("JavaScript object", javascript)
add("smart quotes", lambda base: smart(base.text))
add("smart quotes, both alike", lambda base: None if "”" in base.text else smart(base.text, "”"))
add("smart quotes in a fence", lambda base: f"Here it is:\n\n```json\n{smart(base.text)}\n```")
add("unquoted keys", lambda base: bare_keys(base.text))
add("every quote escaped", lambda base: json.dumps(base.text, ensure_ascii=False)[1:-1])
add("HTML entities", lambda base: escape(base.text))
add("missing first brace", lambda base: base.text[1:].lstrip())
add("braces doubled everywhere", doubled_braces)
add(r"line breaks as \n", lambda base: base.lined.replace("\n", "\\n"))
add("line break in a text", said("First line\nSecond line", "First line\nSecond line"))
add("tab in a text", said("One\ttwo", "One\ttwo"))
add("escaped apostrophe", said("It's there", "It\\'s there"))
add("no-break spaces as indentation", lambda base: re.sub(r"(?m)^ +", lambda match: "\xa0" * len(match[0]), base.lined))
add("zero-width space after the brace", lambda base: base.text.replace("{", "{\u200b", 1))
add("wide colons", lambda base: re.sub(r'(?m)^( *"\w+"): ', "\\1： ", base.lined))
add("doubled key, same value", lambda base: doubled_key(base, same=True))
add("YAML for JSON", yaml)
add("front matter for JSON", lambda base: f"---\n{text}---\n" if (text := yaml(base)) else None)
add("unescaped quotes in a text", unescaped, "some")
add("truncated by one brace", lambda base: base.text[:-1].rstrip(), "no")
add("truncated somewhere", truncated, "no")
add("missing inner brace", cut_out(r"\n +[}\]]"), "no")
add("backslash not escaped", said("In C:\\data\\x there", "In C:\\data\\x there"), "no")
add("doubled key, other value", lambda base: doubled_key(base, same=False), "no")
add("two messages", lambda base: f"{base.text}\n{base.text}", "no")
add("ellipsis", lambda base: f"{base.text[:-1].rstrip()}, ...}}", "no")
add("XML", lambda base: "".join(f"<{name}>{value}</{name}>" for name, value in base.tree.items()), "no")

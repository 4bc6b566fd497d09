"""Kinds of corruptions of fields: layout, names and values, and front matter. Importing it registers them."""

import json
import re
from collections.abc import Callable
from copy import deepcopy
from typing import Any

from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import Boolean, Group, Integer, ListOf, OneOf, Text
from tests.dialects.corruption_kinds import (
    Base,
    Made,
    Make,
    add,
    at,
    changed,
    is_text,
    pick,
    put,
    required,
    said,
    without,
)
from tests.dialects.damage import places

# --- layout and names ------------------------------------------------------------------------------------------------


def keyed(base: Base, old: str | None, new: str) -> Made:
    return base.written({new if name == old else name: value for name, value in base.tree.items()}) if old else None


def payload_text(base: Base) -> Made:
    name = base.dialect.payload
    return base.written(base.tree | {name: json.dumps(base.tree[name])}) if name else None


def payload_name(base: Base) -> Made:
    return keyed(
        base, base.dialect.payload, base.rng.choice(["data", "content", "body", "Payload", "payloads", "params"])
    )


def flat(base: Base) -> Made:
    inner = base.tree.get(base.dialect.payload or "", {})
    return (
        base.written(without(base.tree, ("payload",)) | inner)
        if inner and not inner.keys() & base.tree.keys()
        else None
    )


def nested(base: Base) -> Made:
    inner = without(base.tree, ("type",))
    box = base.rng.choice(["payload", "data", "fields"])
    return None if base.dialect.payload else base.written({"type": base.type.name, box: inner})


def foreign_type(base: Base) -> Made:
    dialects = [dialect for dialect in BUILT_IN if dialect.form == "json" and dialect.base != base.dialect.base]
    own = {name for dialect in BUILT_IN if dialect.base == base.dialect.base for name in dialect.types}
    other = base.rng.choice([name for dialect in dialects for name in dialect.types if name not in own])
    return base.written(base.tree | {"type": other}) if base.dialect.payload else None


def renamed(rename: Callable[[str], str], *, is_required: bool = True) -> Make:
    """One field under another name."""

    def make(base: Base) -> Made:
        every = [place for place in places(base.tree, base.dialect.fields_of(base.type)) if place.steps != ("type",)]
        named = [place for place in every if place.siblings is not None and place.field.required is is_required]
        found = [
            place for place in named if rename(str(place.steps[-1])) not in (*(place.siblings or ()), place.steps[-1])
        ]
        if not found:
            return None
        tree, steps = deepcopy(base.tree), base.rng.choice(found).steps
        parent = at(tree, steps[:-1])
        items = [(rename(name) if name == steps[-1] else name, value) for name, value in parent.items()]
        parent.clear()
        parent.update(items)
        return base.written(tree)

    return make


def camel(name: str) -> str:
    if "_" not in name:
        return re.sub(r"(?<!^)([A-Z])", lambda match: f"_{match[0].lower()}", name)
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


def swapped(name: str) -> str:
    return name[:2] + name[3] + name[2] + name[4:] if len(name) > 5 else name


def missing(base: Base, kinds: Any = object) -> Made:
    place = required(base, kinds)
    return base.written(without(base.tree, place.steps)) if place else None


def null(base: Base) -> Made:
    place = required(base)
    return base.written(changed(base.tree, place.steps, None)) if place else None


def null_optional(base: Base) -> Made:
    fields = base.dialect.fields_of(base.type)
    names = [name for name, field in fields.items() if not field.required and name not in base.tree]
    return base.written(base.tree | {base.rng.choice(names): None}) if names else None


add("payload as a JSON string", payload_text)
add("payload under another name", payload_name)
add("fields flat", flat)
add("fields nested", nested)
add("type of another dialect", foreign_type, "no")
add("key in another style", renamed(camel), form=None)
add("key in capitals", renamed(str.upper), form=None)
add("key misspelt", renamed(swapped), form=None)
add("optional key in another style", renamed(camel, is_required=False), form=None)
add("optional key misspelt", renamed(swapped, is_required=False), form=None)
add("key 'Type'", lambda base: base.text.replace("type", "Type", 1), form=None)
add(
    "type under another name", lambda base: keyed(base, "type", base.rng.choice(["kind", "message_type", "event_type"]))
)
add("field missing", missing, "no", form=None)
add("group or list missing", lambda base: missing(base, (Group, ListOf)), "no", form=None)
add("null in a required field", null, "no", form=None)
add("null in an optional field", null_optional, form=None)

# --- values ----------------------------------------------------------------------------------------------------------


def retyped(change: Callable[[str], str]) -> Make:
    def make(base: Base) -> Made:
        name = change(base.type.name)
        return base.written(base.tree | {"type": name}) if name != base.type.name else None

    return make


def enum(change: Callable[[str], Any]) -> Make:
    def make(base: Base) -> Made:
        found = pick(base, OneOf, is_text)
        wrong = change(found[1]) if found else None
        values = found[0].field.kind.values if found and isinstance(found[0].field.kind, OneOf) else ()
        return base.written(changed(base.tree, found[0].steps, wrong)) if found and wrong not in values else None

    return make


def choices(base: Base) -> Made:
    found = pick(base, OneOf, is_text)
    values = found[0].field.kind.values if found and isinstance(found[0].field.kind, OneOf) else ()
    return base.written(changed(base.tree, found[0].steps, "|".join(values))) if found and len(values) > 1 else None


def listed(*written: str, meant: tuple[str, ...] = ()) -> Make:
    """A text for a list of texts; `meant` are items, each of which is written as the whole list."""

    def make(base: Base) -> Made:
        found = pick(base, ListOf, lambda value: all(isinstance(item, str) for item in value))
        if found is None or not isinstance(found[0].field.kind, ListOf) or found[0].field.kind.item != Text():
            return None
        item = base.rng.choice(written or meant)
        right = base.having(found[0], [item]) if meant else base
        return right, right.written(changed(right.tree, found[0].steps, item))

    return make


add("type in another case", retyped(str.swapcase), form=None)
add("type with hyphens", retyped(lambda name: name.replace("_", "-")), form=None)
add("type misspelt", retyped(lambda name: name[:3] + name[4] + name[3] + name[5:]), form=None)
add("enum in another case", enum(str.swapcase), form=None)
add("enum capitalised", enum(str.capitalize), form=None)
add("enum with other separators", enum(lambda value: re.sub(r"[_-]", " ", value)), form=None)
add("enum misspelt", enum(swapped), form=None)
add("enum as a list", enum(lambda value: [value]), form=None)
add("enum in quotes of its own", enum(lambda value: f"'{value}'"), form=None)
add("enum with a full stop", enum(lambda value: f"{value}."), form=None)
add("enum in doubt (?)", enum(lambda value: f"{value}?"), "no", form=None)
add("enum in doubt (*)", enum(lambda value: f"{value}*"), "no", form=None)
add("enum with a sign", enum(lambda value: f"{value} ✅"), "no", form=None)
add("enum negated", enum(lambda value: f"not {value}"), "no", form=None)
add("enum of another list", enum(lambda value: "superb"), "no", form=None)
add("choices left in", choices, "no", form=None)
add("text as a list of one", put(Text, lambda value: [value], is_text), form=None)
add("text as a number", said("42", "42", '"42"'))
add("number as text", put(Integer, str), form=None)
add("number as a list of one", put(Integer, lambda value: [value]), form=None)
add("number with decimals", put(Integer, float))
for _number in ("50,000", "50.000", "50 000", "50_000", "~50"):
    add(f"number as {_number!r}", put(Integer, lambda value, written=_number: written), "no", form=None)  # type: ignore[misc]
add("boolean as text", put(Boolean, lambda value: str(value).lower()))
add("boolean as Python writes it", put(Boolean, str))
add("boolean as yes or no", put(Boolean, lambda value: "yes" if value else "no"), form=None)
add("list of one as its item", listed(meant=("src/a.py", "03-01", "AC1", "docs/")), form=None)
add(
    "list of one object as the object",
    put(ListOf, lambda value: value[0], lambda value: len(value) == 1 and isinstance(value[0], dict)),
    form=None,
)
add(
    "list in one text",
    listed(".env secrets/", "a.py and b.py", "a.py | b.py", "a.py, b.py", "a.py; b.py", "[a.py]"),
    "no",
    form=None,
)
add(
    "list of nothing in words",
    listed("none", "None.", "none found", "No blockers", "N/A", "-", "[]", "null", "no"),
    "no",
    form=None,
)

# --- front matter ----------------------------------------------------------------------------------------------------


def fields_as(change: Callable[[str], str]) -> Make:
    """Something done to the lines between the two rules."""

    def make(base: Base) -> Made:
        _, fields, body = base.text.split("---\n", 2)
        new = change(fields)
        return f"---\n{new}---\n{body}" if new != fields else None

    return make


def colon(base: Base) -> Made:
    found = pick(base, Text, is_text)
    meant = base.having(found[0], "Reset: the link") if found and len(found[0].steps) == 1 else None
    return (meant, meant.text.replace('"Reset: the link"', "Reset: the link")) if meant else None


def bold(base: Base) -> Made:
    is_flat = all(not isinstance(value, (dict, list)) for value in base.tree.values())
    return "\n".join(f"**{name}:** {value}" for name, value in base.tree.items()) if is_flat else None


def bodiless(change: Callable[[Base], str]) -> Make:
    return lambda base: (base._replace(body=""), change(base._replace(body="")))


FRONT: dict[str, Make] = {
    "front matter without its lines": bodiless(lambda base: base.text.removeprefix("---\n").removesuffix("---\n")),
    "front matter without its first line": lambda base: base.text.removeprefix("---\n"),
    "front matter never closed": lambda base: base.text.replace("\n---\n", "\n\n", 1),
    "front matter closed with ...": lambda base: base.text.replace("\n---\n", "\n...\n", 1),
    "dashes for ---": lambda base: base.text.replace("---\n", "—\n", 2),
    "blank before ---": lambda base: " " + base.text,
    "front matter under a key": fields_as(lambda text: "message:\n" + re.sub(r"(?m)^(?=.)", "  ", text)),
    "front matter in a fence": lambda base: None if "```" in base.text else f"```markdown\n{base.text.rstrip()}\n```",
    "front matter after prose": lambda base: f"Here it is:\n\n{base.text}",
    "colon in an unquoted value": colon,
    "tab as indentation": fields_as(lambda text: re.sub(r"(?m)^  +", "\t", text)),
    "JSON for front matter": bodiless(lambda base: json.dumps(base.tree)),
    "no-break space behind a colon": fields_as(lambda text: text.replace("signal: ", "signal:\u00a0", 1)),
    "line separators in front matter": fields_as(lambda text: text.rstrip().replace("\n", "\u2028") + "\n"),
}  # fmt: skip
for _name, _make in FRONT.items():
    add(_name, _make, form="front-matter")
add("fields in bold", bold, "no", form="front-matter")

"""What goes wrong with a right message: one field left out, misspelt, of another kind, or with a value too far."""

import copy
from collections.abc import Iterator
from typing import Any, NamedTuple

from hypothesis import assume
from hypothesis import strategies as st

from telex.dialects import schema
from telex.dialects.schema import Dialect, Field, Fields, Form, Kind, MessageType, Tree
from telex.dialects.write import is_blank, write
from telex.model.limits import LIMITS
from telex.model.text import join, path_of
from telex.testing.strategies import bodies, messages

Steps = tuple[str | int, ...]
BEYOND_64_BITS = 2**63


class Place(NamedTuple):
    """Where a value stands in a message, and which field that is."""

    steps: Steps
    field: Field
    siblings: Fields | None  # None for an item of a list or an entry of a map, which has no name of its own


class Damaged(NamedTuple):
    dialect: Dialect
    type: MessageType
    whole: Tree  # before the damage
    tree: Tree  # after it
    body: str
    how: str
    place: Place
    path: str  # where it is to be told

    def __repr__(self) -> str:
        return f"<{self.type.name} with {path_of(*self.place.steps)} {self.how}: {self.raw!r}>"

    @property
    def raw(self) -> bytes:
        return write(self.dialect, self.tree, self.body).encode()


def places(tree: Tree, fields: Fields, outer: Steps = ()) -> Iterator[Place]:
    """Every value of a message that its dialect describes, at every depth."""
    for name, field in fields.items():
        if name in tree:
            yield Place((*outer, name), field, fields)
            yield from _inside(tree[name], field.kind, (*outer, name))


def _inside(value: Any, kind: Kind, steps: Steps) -> Iterator[Place]:
    match kind:
        case schema.Group(fields):
            yield from places(value, fields, steps)
        case schema.ListOf(item):
            for index, one in enumerate(value):
                yield Place((*steps, index), Field(item), None)
                yield from _inside(one, item, (*steps, index))
        case schema.MapOf(inner):
            for key, one in value.items():
                yield Place((*steps, key), Field(inner), None)
                yield from _inside(one, inner, (*steps, key))


def misfits(kind: Kind, form: Form) -> list[Any]:
    """Values of another kind. What front matter would read as text after all is only for JSON."""
    common: dict[type, list[Any]] = {
        schema.Text: [["x"], {"a": "b"}],
        schema.Integer: ["many", "7", "9" * 20, 7.0, 1.5, 1e19, True, ["x"], {"a": "b"}],
        schema.Number: ["many", "7", True, ["x"], {"a": "b"}],
        schema.Boolean: ["perhaps", "true", "yes", 7, ["x"], {"a": "b"}],
        schema.OneOf: ["no such value", 7, True, ["x"], {"a": "b"}],
        schema.Timestamp: ["soon", "2026-13-01T10:00:00Z", "2026-02-12T24:30:00Z", 7, ["x"]],
        schema.ListOf: ["x", 7, True, {"a": "b"}],
        schema.MapOf: ["x", 7, ["x"]],
        schema.Group: ["x", 7, ["x"]],
        schema.Anything: [],
    }
    found = list(common[type(kind)])
    if isinstance(kind, schema.OneOf):
        found += [value.swapcase() for value in kind.values if value.swapcase() != value]
        found += [" | ".join(kind.values)] if len(kind.values) > 1 else []
    if form == "json" and not isinstance(kind, schema.Anything):
        found += [None, *([7, 1.5, True] if isinstance(kind, schema.Text) else []), float("nan")]
    return found


def too_far(kind: Kind) -> list[Any]:
    """Values of the right kind beyond the ends of its range."""
    match kind:
        case schema.Text(_, characters_max, True):
            return ["", "x" * ((characters_max or LIMITS.id_characters_max) + 1), "a\u200bb", "a\nb", "a\x7fb"]
        case schema.Integer(low, high) | schema.Number(low, high):
            below = [] if low is None else [low - 1]
            return [*below, *([] if high is None else [high + 1]), BEYOND_64_BITS, -BEYOND_64_BITS - 1]
    return []


@st.composite
def misspellings(draw: st.DrawFn, name: str) -> str:
    at = draw(st.integers(0, len(name) - 1))
    slips = [
        name[:at] + name[at] + name[at:],  # a letter twice
        name[:at] + name[at + 1 :],  # one left out
        name[:at] + name[at : at + 2][::-1] + name[at + 2 :],  # two swapped
        name[:at] + "x" + name[at + 1 :],
        name.swapcase(),
        name + "s",
    ]
    return draw(st.sampled_from(slips))


def can_be(place: Place, how: str) -> bool:
    if how in ("removed", "misspelt"):
        return place.siblings is not None
    return not isinstance(place.field.kind, schema.Anything) and (how == "retyped" or bool(too_far(place.field.kind)))


def damage(dialect: Dialect, *ways: str) -> st.SearchStrategy[Damaged]:
    """A valid message of any type, and the same with one thing wrong."""
    how = st.sampled_from(ways or ("removed", "misspelt", "retyped", "too far"))
    body = bodies() if dialect.form == "front-matter" else st.just("")
    return st.one_of(
        [_damaged(dialect, type_, messages(dialect, type_), body, how) for type_ in dialect.types.values()]
    )


@st.composite
def _damaged(
    draw: st.DrawFn,
    dialect: Dialect,
    type_: MessageType,
    wholes: st.SearchStrategy[Tree],
    bodies: st.SearchStrategy[str],
    ways: st.SearchStrategy[str],
) -> Damaged:
    whole, body, how = draw(wholes), draw(bodies), draw(ways)
    every = list(places(whole, dialect.fields_of(type_)))
    wanted = [place for place in every if can_be(place, how)]
    assume(wanted)
    place = draw(st.sampled_from(wanted))
    tree = copy.deepcopy(whole)
    parent = tree
    for step in place.steps[:-1]:
        parent = parent[step]  # type: ignore[index]  # a list further down
    path = path_of(*place.steps)
    if how in ("removed", "misspelt"):
        name = str(place.steps[-1])
        value = parent.pop(name)
        if how == "misspelt":
            wrong = draw(misspellings(name))
            assume(wrong and wrong not in (place.siblings or {}) and wrong not in parent)
            assume(wrong != place.field.later_spelling)
            parent[wrong] = value
            path = path if place.field.required else path_of(*place.steps[:-1], wrong)
    else:
        values = misfits(place.field.kind, dialect.form) if how == "retyped" else too_far(place.field.kind)
        parent[place.steps[-1]] = draw(st.sampled_from(values))  # type: ignore[index]
    return Damaged(dialect, type_, whole, tree, body, how, place, path)


def blanks(value: Any, path: str = "$") -> list[str]:
    """Where the blanks stand, by walking the tree and nothing else."""
    if is_blank(value):
        return [path]
    if isinstance(value, dict):
        named = [join(path, key) for key in value if is_blank(key)]
        return named + [blank for key, one in value.items() for blank in blanks(one, join(path, key))]
    if isinstance(value, list):
        return [blank for index, one in enumerate(value) for blank in blanks(one, f"{path}[{index}]")]
    return []


def filled(skeleton: Any, whole: Any) -> Any:
    """The skeleton with what the sender meant in place of every blank."""
    if is_blank(skeleton):
        return whole
    if isinstance(skeleton, dict) and isinstance(whole, dict):
        if any(is_blank(key) for key in skeleton):
            return whole
        kept = {key: value for key, value in skeleton.items() if key in whole or not is_blank(value)}
        return {key: filled(value, whole[key]) if key in whole else value for key, value in kept.items()}
    if isinstance(skeleton, list) and isinstance(whole, list) and blanks(skeleton):
        return whole
    return skeleton

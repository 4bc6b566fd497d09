"""One message beside the fields of its type, value by value: what is wrong, and what should stand there.

Every `visit` returns the value as it should be. Single values are looked at in `field_values`; what relates two fields
is not seen from here, that is `rules`.
"""

from collections.abc import Mapping
from typing import Any

from telex.dialects.blanks import OPENING, blank, blank_fields, described, expected, is_blank
from telex.dialects.parse.layout import object_in_text
from telex.dialects.schema import (
    Anything,
    Boolean,
    Field,
    Fields,
    Group,
    Integer,
    Kind,
    ListOf,
    MapOf,
    Number,
    OneOf,
    Text,
    Timestamp,
    Tree,
)
from telex.model.text import join, nearest, within
from telex.validation import scalars
from telex.validation.field_values import ValueChecker

_SINGLE = (Text, OneOf, Integer, Number, Boolean, Timestamp)


class FieldWalker(ValueChecker):
    """One message being looked at, from the top down."""

    def is_broken_inside(self, path: str) -> bool:
        """Is the text at fault here, or anywhere below?"""
        return any(within(broken, path) for broken in self.broken)

    def visit(self, value: Any, kind: Kind, path: str) -> Any:
        if path in self.broken:
            return blank(kind)
        if is_blank(value):
            wanted = expected(kind)
            self.say("blank-left", path, f"Fill in the blank: {wanted}.", expected=wanted, found=value)
            return self.blank(kind, path)
        if isinstance(value, list) and len(value) == 1 and isinstance(kind, _SINGLE) and scalars.fits(value[0], kind):
            say = "Take it out of its list: this field takes one value."
            self.say("wrong-type", path, say, expected=expected(kind), found=value)
            return self.visit(value[0], kind, path)
        match kind:
            case Text():
                return self.text(value, kind, path)
            case OneOf():
                return self.one_of(value, kind, path)
            case Group():
                return self.object(value, kind, path)
            case ListOf(item):
                return self.list(value, kind, item, path)
            case MapOf(inner):
                return self.map(value, kind, inner, path)
            case Integer() | Number():
                return self.number(value, kind, path)
            case Boolean():
                return self.boolean(value, kind, path)
            case Timestamp():
                return self.moment(value, kind, path)
            case Anything():
                if isinstance(value, (dict, list)) and OPENING in scalars.flat(value):
                    self.say("blank-left", path, "Fill in the blank, or take it out.", found=value)
                    self.blanks.add(path)
                return self.blank(kind, path) if self.is_broken_inside(path) else value

    def group(self, tree: Mapping[str, Any], fields: Fields, path: str) -> Tree:
        fixed: Tree = {}
        unknown = [name for name in tree if name not in fields]
        for name, field in fields.items():
            at = join(path, name)
            spelt = name if _given(tree, name) else self.other_spelling(name, field, unknown, tree, path)
            later = field.later_spelling
            if spelt == name and later is not None and later in tree:
                unknown.remove(later)
                self.said_twice(name, later, tree, path)
            if spelt is not None:
                fixed[name] = self.visit(tree[spelt], field.kind, at)
            elif at in self.broken:
                fixed[name] = blank(field.kind)  # something was said about it already
            elif name in tree and not field.required:
                wanted = expected(field.kind)
                self.say("wrong-type", at, f"Leave {name} out, or give {wanted}.", expected=wanted, found=tree[name])
                if tree[name] == "":  # in front matter, where a value may have been lost
                    fixed[name] = self.blank(field.kind, at)
            elif field.required:
                fixed[name] = self.missing(field.kind, at, name, null=name in tree)
        noted = 0
        while noted < len(unknown) and not self.has_said_enough:
            self.unknown(unknown[noted], fields, tree, path)
            noted += 1
        for name in unknown[noted:]:  # beyond the limit only what refuses the message
            if type(tree[name]) is str and OPENING in tree[name]:
                self.unknown(name, fields, tree, path)
        if self.broken:  # what is broken could not be sent on
            unknown = [name for name in unknown if not self.is_broken_inside(join(path, name))]
        return _in_order_sent(fixed | {name: tree[name] for name in unknown}, tree)

    def other_spelling(
        self, name: str, field: Field, unknown: list[str], tree: Mapping[str, Any], path: str
    ) -> str | None:
        """The key that was meant to be this field, taken off the list of unknown ones; None when there is none."""
        if field.later_spelling in unknown:
            unknown.remove(field.later_spelling)
            say = f"Read as {name}, its earlier name."
            self.say("later-spelling", join(path, field.later_spelling), say, "note", nearest=name)
            return field.later_spelling
        if not field.required:
            return None
        meant = nearest(name, unknown[: self.limits.findings_max])
        if meant is None:
            return None
        unknown.remove(meant)
        say = f"Rename {meant!r} to {name!r}."
        at = join(path, name)
        self.say("field-missing", at, say, expected=f"a field {name!r}", found=meant, nearest=name)
        return meant

    def said_twice(self, name: str, later: str, tree: Mapping[str, Any], path: str) -> None:
        """Two names for one field: harmless while they agree."""
        same = tree[name] == tree[later]
        say = f"Give {name} once: {later} is another name for it."
        self.say("duplicate-key", join(path, later), say, "note" if same else "refusal", found=tree[later])
        if not same:
            self.blanks.add(join(path, name))

    def missing(self, kind: Kind, at: str, name: str, *, null: bool) -> Any:
        wanted = expected(kind)
        say = f"Add {name}: {described(kind)}."
        self.say("field-missing", at, say, expected=wanted, found="nothing" if null else None)
        if isinstance(kind, OneOf) and len(kind.values) == 1:
            return kind.values[0]
        if isinstance(kind, Group):
            self.blanks.add(at)
            return blank_fields(kind.fields)
        return self.blank(kind, at)

    def unknown(self, name: str, fields: Fields, tree: Mapping[str, Any], path: str) -> None:
        meant = nearest(name, [field for field in fields if field not in tree])
        perhaps = f"; did you mean {meant}?" if meant else "."
        shown = scalars.shown(name, self.limits.found_characters_max)
        say = f"{shown!r} is not a field of this type: it is kept and passed on{perhaps}"
        self.say("field-unknown", join(path, name), say, "note", nearest=meant)
        if OPENING in scalars.flat(tree[name]):
            self.say("blank-left", join(path, name), "Fill in the blank, or take it out.", found=tree[name])
            self.blanks.add(join(path, name))

    def object(self, value: Any, kind: Group, path: str) -> Any:
        inside = value if isinstance(value, dict) else object_in_text(value)
        if inside is None:
            return self.wrong_type(value, kind, path)
        if inside is not value:
            say = "Write an object here, not a text that holds one."
            self.say("wrong-type", path, say, expected=expected(kind), found=value)
        return self.group(inside, kind.fields, path)

    def list(self, value: Any, kind: ListOf, item: Kind, path: str) -> Any:
        if isinstance(value, list):
            fixed: list[Any] = []
            for index, one in enumerate(value):
                if self.is_full:  # the rest is not validated
                    self.blanks.add(path)
                    return [*fixed, *value[index:]]
                fixed.append(self.visit(one, item, join(path, index)))
            return fixed
        if scalars.fits(value, item) and scalars.is_one_item(value):
            say = "Put it in a list: this field takes several."
            self.say("wrong-type", path, say, expected=expected(kind), found=value)
            return [self.visit(value, item, join(path, 0))]
        if isinstance(value, str) and not scalars.is_null(value):
            say = "Write a list with one value for each item: a text is not taken apart, and an empty list is []."
            self.say("wrong-type", path, say, expected=expected(kind), found=value)
            return self.blank(kind, path)
        return self.wrong_type(value, kind, path)

    def map(self, value: Any, kind: MapOf, inner: Kind, path: str) -> Any:
        if not isinstance(value, dict):
            return self.wrong_type(value, kind, path)
        fixed: Tree = {}
        for key, one in value.items():
            at = join(path, key)
            if is_blank(key):
                self.say("blank-left", at, "Put a name in place of the blank.", found=key)
                self.blanks.add(at)
            if at not in self.broken:
                fixed[key] = one if self.is_full else self.visit(one, inner, at)
        if self.is_full:
            self.blanks.add(path)  # the rest was not validated
        return fixed


def _given(tree: Mapping[str, Any], name: str) -> bool:
    return name in tree and not scalars.is_null(tree[name])


def _in_order_sent(fixed: Tree, sent: Mapping[str, Any]) -> Tree:
    """Fields in the sender's order, so that a fixed message reads like the one that was sent."""
    first = {name: fixed[name] for name in sent if name in fixed}
    return first if len(first) == len(fixed) else {**first, **fixed}

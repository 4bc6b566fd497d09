"""One message beside the fields of its type, value by value: what is wrong, and what should stand there.

Every `visit` returns the value as it should be: the right one as it is, a certain mend in its place, a marked blank
where only the sender can know. What relates two fields is not seen from here; that is `relations`.
"""

from collections.abc import Mapping
from typing import Any

from telex.dialects.blanks import OPENING, blank, blank_fields, expected, is_blank
from telex.dialects.frontmatter import Plain
from telex.dialects.moments import read_moment
from telex.dialects.spec import (
    Anything,
    Boolean,
    Field,
    Fields,
    Group,
    Integer,
    Kind,
    ListOf,
    MapOf,
    Moment,
    Number,
    OneOf,
    Text,
    Tree,
)
from telex.model.limits import Limits
from telex.model.nearest import folded, nearest
from telex.model.paths import join, within
from telex.model.refusal import Finding, Severity
from telex.rules import scalars


class Walk:
    """One message being looked at."""

    def __init__(self, limits: Limits, broken: frozenset[str]) -> None:
        self.limits, self.broken = limits, broken
        self.findings: list[Finding] = []
        self.blanks: set[str] = set(broken)

    def say(
        self,
        code: str,
        path: str,
        say: str,
        severity: Severity = "refusal",
        *,
        expected: str | None = None,
        found: object = None,
        nearest: str | None = None,
    ) -> None:
        shown = None if found is None else scalars.shown(found, self.limits.found_characters_max)
        self.findings.append(Finding(code, path, say, severity, expected, shown, nearest))

    def blank(self, kind: Kind, path: str) -> Any:
        """Leave the place to the sender."""
        self.blanks.add(path)
        return blank(kind)

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
            case Moment():
                return self.moment(value, kind, path)
            case Anything():
                return self.blank(kind, path) if self.is_broken_inside(path) else value

    # --- objects and lists -------------------------------------------------------------------------------------

    def group(self, tree: Mapping[str, Any], fields: Fields, path: str) -> Tree:
        mended: Tree = {}
        unknown = [name for name in tree if name not in fields]
        for name, field in fields.items():
            at = join(path, name)
            spelt = name if _given(tree, name) else self.other_spelling(name, field, unknown, tree, path)
            later = field.later_spelling
            if spelt == name and later is not None and later in tree:
                unknown.remove(later)
                self.said_twice(name, later, tree, path)
            if spelt is not None:
                mended[name] = self.visit(tree[spelt], field.kind, at)
            elif at in self.broken:
                mended[name] = blank(field.kind)  # something was said about it already
            elif name in tree and not field.required:
                wanted = expected(field.kind)
                self.say("wrong-type", at, f"Leave {name} out, or give {wanted}.", expected=wanted, found=tree[name])
            elif field.required:
                mended[name] = self.missing(field.kind, at, name, null=name in tree)
        for name in unknown:
            self.unknown(name, fields, tree, path)
            if not self.is_broken_inside(join(path, name)):  # else it could not be sent on
                mended[name] = tree[name]
        return _in_order_sent(mended, tree)

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
        meant = nearest(name, unknown)
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
        self.say("field-missing", at, f"Add {name}: {wanted}.", expected=wanted, found="nothing" if null else None)
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

    def object(self, value: Any, kind: Group, path: str) -> Any:
        if not isinstance(value, dict):
            return self.wrong_type(value, kind, path)
        return self.group(value, kind.fields, path)

    def list(self, value: Any, kind: ListOf, item: Kind, path: str) -> Any:
        if isinstance(value, list):
            mended: list[Any] = []
            for index, one in enumerate(value):
                if len(self.findings) >= self.limits.findings_max:  # enough was said, and the rest is not looked at
                    self.blanks.add(path)
                    return [*mended, *value[index:]]
                mended.append(self.visit(one, item, join(path, index)))
            return mended
        if scalars.fits(value, item) and not scalars.may_be_several(value):
            say = "Put it in a list: this field takes several."
            self.say("wrong-type", path, say, expected=expected(kind), found=value)
            return [self.visit(value, item, join(path, 0))]
        return self.wrong_type(value, kind, path)

    def map(self, value: Any, kind: MapOf, inner: Kind, path: str) -> Any:
        if not isinstance(value, dict):
            return self.wrong_type(value, kind, path)
        for key in value:
            if is_blank(key):
                self.say("blank-left", join(path, key), "Put a name in place of the blank.", found=key)
                self.blanks.add(join(path, key))
        sound = {key: one for key, one in value.items() if join(path, key) not in self.broken}
        return {key: self.visit(one, inner, join(path, key)) for key, one in sound.items()}

    # --- single values ------------------------------------------------------------------------------------------

    def wrong_type(self, value: Any, kind: Kind, path: str) -> Any:
        wanted = expected(kind)
        say = f"Give {wanted} here, not {scalars.type_name(value)}."
        self.say("wrong-type", path, say, expected=wanted, found=value)
        return self.blank(kind, path)

    def text(self, value: Any, kind: Text, path: str) -> Any:
        if isinstance(value, int) and not isinstance(value, bool):
            say = f'Put quotes around it: "{value}".'
            self.say("wrong-type", path, say, expected="text", found=value, nearest=str(value))
            return str(value)
        if not isinstance(value, str):
            return self.wrong_type(value, kind, path)
        if not value and not kind.may_be_empty:
            if kind.printable:
                self.say("out-of-range", path, "Give it a name: an id is never empty.", expected="text", found=value)
                return self.blank(kind, path)
            self.say("text-empty", path, "Say something here: an empty text tells nobody anything.", "warning")
        if kind.characters_max is not None and len(value) > kind.characters_max:
            most = f"at most {kind.characters_max} characters"
            self.say("out-of-range", path, f"Shorten it: {most}.", expected=most, found=value)
            return self.blank(kind, path)
        if kind.printable and not value.isprintable():
            say = "Use visible characters only: an id is compared, copied and shown."
            self.say("not-printable", path, say, expected="printable characters", found=value)
            return self.blank(kind, path)
        return value

    def one_of(self, value: Any, kind: OneOf, path: str) -> Any:
        if value in kind.values and isinstance(value, str):
            return value
        wanted = expected(kind)
        if not isinstance(value, str):
            if scalars.shown(value) in kind.values:  # 2.0 for "2.0"
                say = f'Put quotes around it: "{value}".'
                self.say("wrong-type", path, say, expected=wanted, found=value, nearest=str(value))
                return str(value)
            return self.wrong_type(value, kind, path)
        if scalars.is_placeholder(value, kind.values):
            return self.placeholder(value, kind, path)
        meant = nearest(value, kind.values)
        if meant is not None:
            return self.meant(value, meant, wanted, path)
        say = f"Use {wanted}."
        self.say("not-one-of", path, say, expected=wanted, found=value)
        return self.blank(kind, path) if len(kind.values) > 1 else self.constant(kind, path)

    def placeholder(self, value: str, kind: Kind, path: str) -> Any:
        """The page's list of choices, copied in place of a choice."""
        wanted = expected(kind)
        self.say("placeholder-left", path, f"Choose: {wanted}.", expected=wanted, found=value)
        return self.blank(kind, path)

    def constant(self, kind: OneOf, path: str) -> Any:
        """A wrong constant may mean another version or another thing altogether, so only the sender can say."""
        self.blanks.add(path)
        return kind.values[0]

    def meant(self, value: Any, meant: str, wanted: str, path: str) -> str:
        exactly = "it exactly as " if folded(str(value)) == folded(meant) else ""
        say = f"Write {exactly}{meant!r}."
        self.say("not-one-of", path, say, expected=wanted, found=value, nearest=meant)
        return meant

    def number(self, value: Any, kind: Integer | Number, path: str) -> Any:
        if isinstance(value, str) and "|" in value:
            return self.placeholder(value, kind, path)
        if isinstance(value, Plain):
            if scalars.is_ambiguous(value):
                say = "Write it so that every YAML reader sees the same number, such as 8 or 10."
                self.say("scalar-ambiguous", path, say, expected=expected(kind), found=value)
                return self.blank(kind, path)
            value = scalars.number(value, value)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return self.number_in_disguise(value, kind, path)
        if isinstance(kind, Integer) and isinstance(value, float):
            return self.number_in_disguise(value, kind, path)
        if isinstance(value, int) and not self.limits.integer_min <= value <= self.limits.integer_max:
            say = "Give an integer of at most 64 bits: readers differ on larger ones."
            self.say("integer-too-large", path, say, expected="a 64-bit integer", found=str(value)[:24])
            return self.blank(kind, path)
        if (kind.at_least is not None and value < kind.at_least) or (kind.at_most is not None and value > kind.at_most):
            wanted = expected(kind)
            self.say("out-of-range", path, f"Give {wanted}.", expected=wanted, found=value)
            return self.blank(kind, path)
        return value

    def number_in_disguise(self, value: Any, kind: Integer | Number, path: str) -> Any:
        """Text or a float that is plainly a number of the right sort is mended; anything else is not."""
        number = scalars.number(value.strip(), None) if isinstance(value, str) else value
        if isinstance(number, float) and isinstance(kind, Integer) and number.is_integer():
            number = int(number)
        if not scalars.fits(number, kind) or not self.limits.integer_min <= number <= self.limits.integer_max:
            return self.wrong_type(value, kind, path)
        say = f"Write it as {number}, without quotes or decimals."
        self.say("wrong-type", path, say, expected=expected(kind), found=value, nearest=str(number))
        return number

    def boolean(self, value: Any, kind: Boolean, path: str) -> Any:
        if isinstance(value, bool):
            return value
        if isinstance(value, Plain) and value in scalars.TRUTH:
            return scalars.TRUTH[value]
        if isinstance(value, str) and "|" in value:
            return self.placeholder(value, kind, path)
        meant = scalars.MEANS_TRUTH.get(value.strip().casefold()) if isinstance(value, str) else None
        if meant is None:
            return self.wrong_type(value, kind, path)
        word = "true" if meant else "false"
        say = f"Write {word}." if isinstance(value, Plain) else f"Write {word}, without quotes."
        self.say("wrong-type", path, say, expected=expected(kind), found=value, nearest=word)
        return meant

    def moment(self, value: Any, kind: Moment, path: str) -> Any:
        if not isinstance(value, str):
            return self.wrong_type(value, kind, path)
        flaw = read_moment(value).flaw
        if flaw is None:
            return value
        code, say, severity = _MOMENT_FLAWS[flaw]
        self.say(code, path, say, severity, expected=expected(kind), found=value)
        return value if severity == "warning" else self.blank(kind, path)


_MOMENT_FLAWS: dict[str, tuple[str, str, Severity]] = {
    "malformed": ("timestamp-malformed", "Write the time as ISO 8601 with a zone.", "refusal"),
    "impossible": ("timestamp-impossible", "Give a time that exists.", "refusal"),
    "no-zone": ("timestamp-without-zone", "Add the zone, such as Z; until then it is read as UTC.", "warning"),
    "no-time": ("timestamp-without-time", "Add the time of day; until then it is read as midnight UTC.", "warning"),
}


def _given(tree: Mapping[str, Any], name: str) -> bool:
    """Null, and in YAML nothing at all, stand for a field that was left out."""
    return name in tree and tree[name] is not None and not (isinstance(tree[name], Plain) and tree[name] == "")


def _in_order_sent(mended: Tree, sent: Mapping[str, Any]) -> Tree:
    """Fields in the sender's order, so that a mended message reads like the one that was sent."""
    first = {name: mended[name] for name in sent if name in mended}
    return {**first, **mended}

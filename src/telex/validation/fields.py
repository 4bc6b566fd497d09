"""Validation of a message's fields.

Every method returns the corrected value: a valid one unchanged, a certain fix, or a marked blank where only the sender
can know. A path is a tuple of keys and indexes; it becomes text only in a finding. Rules between fields are in `rules`.
"""

from collections.abc import Mapping
from typing import Any

from telex.dialects import scalars
from telex.dialects.parse.detect import object_in_text
from telex.dialects.parse.json import GroupedNumber
from telex.dialects.scalars import PlainScalar, timestamp_flaw
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
from telex.dialects.write import OPENING, blank, blank_fields, described, expected, is_blank
from telex.model.finding import Finding, Severity
from telex.model.limits import Limits
from telex.model.text import folded, nearest, path_of, within

Path = tuple[str | int, ...]

_QUOTES = "\"'`“”‘’ "  # around a value
_MOMENT_FLAWS: dict[str, tuple[str, str, Severity]] = {
    "malformed": ("timestamp-malformed", "Write the time as ISO 8601 with a zone.", "refusal"),
    "impossible": ("timestamp-impossible", "Give a time that exists.", "refusal"),
    "no-zone": ("timestamp-without-zone", "Add the zone, such as Z; until then it is read as UTC.", "warning"),
    "no-time": ("timestamp-without-time", "Add the time of day; until then it is read as midnight UTC.", "warning"),
}
_SINGLE = (Text, OneOf, Integer, Number, Boolean, Timestamp)


class FieldWalker:
    """Validator of objects and lists, from the top down: the findings so far, and one method for each kind of value."""

    def __init__(self, limits: Limits, broken: frozenset[str]) -> None:
        self.limits, self.broken = limits, broken
        self.findings: list[Finding] = []
        self.refused = 0
        self.blanks: set[str] = set(broken)

    def say(
        self,
        code: str,
        path: Path,
        say: str,
        severity: Severity = "refusal",
        *,
        expected: str | None = None,
        found: object = None,
        nearest: str | None = None,
    ) -> None:
        """Add a finding. Above the limit only refusals, at most as many again, so that notes cannot hide them."""
        if self.has_said_enough and (severity != "refusal" or self.is_full):
            return
        self.refused += severity == "refusal"
        shown = None if found is None else scalars.shown(found, self.limits.found_characters_max)
        self.findings.append(Finding(code, path_of(*path), say, severity, expected, found=shown, nearest=nearest))

    @property
    def has_said_enough(self) -> bool:
        return len(self.findings) >= self.limits.findings_max

    @property
    def is_full(self) -> bool:
        return self.refused >= self.limits.findings_max

    def blank(self, kind: Kind, path: Path) -> Any:
        """Mark the value as one that the sender has to fill in."""
        self.blanks.add(path_of(*path))
        return blank(kind)

    def wrong_type(self, value: Any, kind: Kind, path: Path) -> Any:
        wanted = expected(kind)
        say = f"Give {described(kind)} here, not {scalars.type_name(value)}."
        self.say("wrong-type", path, say, expected=wanted, found=value)
        return self.blank(kind, path)

    def text(self, value: Any, kind: Text, path: Path) -> Any:
        if isinstance(value, int) and not isinstance(value, bool):
            say = f'Put quotes around it: "{value}".'
            self.say("wrong-type", path, say, expected="text", found=value, nearest=str(value))
            return str(value)
        if not isinstance(value, str) or (isinstance(value, PlainScalar) and scalars.is_null(value)):
            return self.wrong_type(value, kind, path)
        if not value and not kind.may_be_empty:
            if kind.printable:
                self.say("out-of-range", path, "Give it a name: an id is never empty.", expected="text", found=value)
                return self.blank(kind, path)
            self.say("text-empty", path, "Write a text here: it is empty.", "warning")
        if kind.characters_max is not None and len(value) > kind.characters_max:
            most = f"at most {kind.characters_max} characters"
            self.say("out-of-range", path, f"Shorten it: {most}.", expected=most, found=value)
            return self.blank(kind, path)
        if kind.printable and not value.isprintable():
            say = "Use visible characters only: an id is compared, copied and shown."
            self.say("not-printable", path, say, expected="printable characters", found=value)
            return self.blank(kind, path)
        return value

    def one_of(self, value: Any, kind: OneOf, path: Path) -> Any:
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
        meant = nearest(value.strip(_QUOTES), kind.values)
        if meant is not None:
            say = f"Write {'it exactly as ' if folded(value) == folded(meant) else ''}{meant!r}."
            self.say("not-one-of", path, say, expected=wanted, found=value, nearest=meant)
            return meant
        self.say("not-one-of", path, f"Use {wanted}.", expected=wanted, found=value)
        return self.blank(kind, path)  # a wrong constant may mean another version, so only the sender can correct it

    def placeholder(self, value: str, kind: Kind, path: Path) -> Any:
        """The documentation's list of choices, copied instead of one choice."""
        wanted = expected(kind)
        self.say("placeholder-left", path, f"Choose: {wanted}.", expected=wanted, found=value)
        return self.blank(kind, path)

    def number(self, value: Any, kind: Integer | Number, path: Path) -> Any:
        if isinstance(value, str) and "|" in value:
            return self.placeholder(value, kind, path)
        if isinstance(value, PlainScalar):
            if scalars.is_ambiguous(value):
                say = "Write it so that every YAML reader sees the same number, such as 8 or 10."
                self.say("scalar-ambiguous", path, say, expected=expected(kind), found=value)
                return self.blank(kind, path)
            number = scalars.number(value, value)
            value = value if isinstance(kind, Integer) and isinstance(number, float) else number
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

    def number_in_disguise(self, value: Any, kind: Integer | Number, path: Path) -> Any:
        """Text or a float is corrected if it is unambiguously a number of the right kind; `50.000` is not."""
        number = scalars.number(value.strip(), None) if isinstance(value, str) else value
        is_exact = isinstance(number, float) and number.is_integer() and not isinstance(value, (str, GroupedNumber))
        if is_exact and isinstance(kind, Integer):
            number = int(number)
        if not scalars.fits(number, kind) or not self.limits.integer_min <= number <= self.limits.integer_max:
            return self.wrong_type(value, kind, path)
        say = f"Write it as {number}, without quotes or decimals."
        self.say("wrong-type", path, say, expected=expected(kind), found=value, nearest=str(number))
        return number

    def boolean(self, value: Any, kind: Boolean, path: Path) -> Any:
        if isinstance(value, bool):
            return value
        if isinstance(value, PlainScalar) and value in scalars.TRUTH:
            return scalars.TRUTH[value]
        if isinstance(value, str) and "|" in value:
            return self.placeholder(value, kind, path)
        meant = scalars.MEANS_TRUTH.get(value.strip().casefold()) if isinstance(value, str) else None
        if meant is None:
            return self.wrong_type(value, kind, path)
        word = "true" if meant else "false"
        say = f"Write {word}." if isinstance(value, PlainScalar) else f"Write {word}, without quotes."
        self.say("wrong-type", path, say, expected=expected(kind), found=value, nearest=word)
        return meant

    def moment(self, value: Any, kind: Timestamp, path: Path) -> Any:
        if not isinstance(value, str):
            return self.wrong_type(value, kind, path)
        flaw = timestamp_flaw(value)
        if flaw is None:
            return value
        code, say, severity = _MOMENT_FLAWS[flaw]
        self.say(code, path, say, severity, expected=expected(kind), found=value)
        return value if severity == "warning" else self.blank(kind, path)

    def is_broken_inside(self, path: Path) -> bool:
        """Whether a value here or below is malformed."""
        return any(within(broken, path_of(*path)) for broken in self.broken)

    def visit(self, value: Any, kind: Kind, path: Path) -> Any:
        if self.broken and path_of(*path) in self.broken:
            return blank(kind)
        if isinstance(value, str) and value[:1] == OPENING[0] and is_blank(value):
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
                    self.blanks.add(path_of(*path))
                return self.blank(kind, path) if self.is_broken_inside(path) else value

    def group(self, tree: Mapping[str, Any], fields: Fields, path: Path) -> Tree:
        fixed: Tree = {}
        unknown = [name for name in tree if name not in fields]
        for name, field in fields.items():
            at, value = (*path, name), tree.get(name)
            is_given = value is not None and not (isinstance(value, PlainScalar) and scalars.is_null(value))
            spelt = name if is_given else self.other_spelling(name, field, unknown, path)
            later = field.later_spelling
            if is_given and later is not None and later in tree:  # only a note if the values are equal
                unknown.remove(later)
                same, say = value == tree[later], f"Give {name} once: {later} is another name for it."
                self.say("duplicate-key", (*path, later), say, "note" if same else "refusal", found=tree[later])
                if not same:
                    self.blanks.add(path_of(*at))
            if spelt is not None:
                fixed[name] = self.visit(tree[spelt], field.kind, at)
            elif self.broken and path_of(*at) in self.broken:
                fixed[name] = blank(field.kind)  # it has a finding already
            elif name in tree and not field.required:
                wanted = expected(field.kind)
                self.say("wrong-type", at, f"Leave {name} out, or give {wanted}.", expected=wanted, found=tree[name])
                if tree[name] == "":  # front matter: the value may be lost
                    fixed[name] = self.blank(field.kind, at)
            elif field.required:
                fixed[name] = self.missing(field.kind, at, name, null=name in tree)
        noted = 0
        while noted < len(unknown) and not self.has_said_enough:
            self.unknown(unknown[noted], fields, tree, path)
            noted += 1
        for name in unknown[noted:]:  # above the limit only refusals
            if type(tree[name]) is str and OPENING in tree[name]:
                self.unknown(name, fields, tree, path)
        if self.broken:  # malformed values cannot be sent on
            unknown = [name for name in unknown if not self.is_broken_inside((*path, name))]
        fixed |= {name: tree[name] for name in unknown}
        in_order = {name: fixed[name] for name in tree if name in fixed}  # as sent
        return in_order if len(in_order) == len(fixed) else {**in_order, **fixed}

    def other_spelling(self, name: str, field: Field, unknown: list[str], path: Path) -> str | None:
        """The unknown key that is meant as this field, removed from the list; None: there is none."""
        if field.later_spelling in unknown:
            unknown.remove(field.later_spelling)
            say = f"Read as {name}, its earlier name."
            self.say("later-spelling", (*path, field.later_spelling), say, "note", nearest=name)
            return field.later_spelling
        if not field.required:
            return None
        meant = nearest(name, unknown[: self.limits.findings_max])
        if meant is not None:
            unknown.remove(meant)
            say = f"Rename {meant!r} to {name!r}."
            self.say("field-missing", (*path, name), say, expected=f"a field {name!r}", found=meant, nearest=name)
        return meant

    def missing(self, kind: Kind, at: Path, name: str, *, null: bool) -> Any:
        wanted = expected(kind)
        say = f"Add {name}: {described(kind)}."
        self.say("field-missing", at, say, expected=wanted, found="nothing" if null else None)
        if isinstance(kind, OneOf) and len(kind.values) == 1:
            return kind.values[0]
        if isinstance(kind, Group):
            self.blanks.add(path_of(*at))
            return blank_fields(kind.fields)
        return self.blank(kind, at)

    def unknown(self, name: str, fields: Fields, tree: Mapping[str, Any], path: Path) -> None:
        meant = nearest(name, [field for field in fields if field not in tree])
        perhaps = f"; did you mean {meant}?" if meant else "."
        shown = scalars.shown(name, self.limits.found_characters_max)
        say = f"{shown!r} is not a field of this type: it is passed on unchanged{perhaps}"
        self.say("field-unknown", (*path, name), say, "note", nearest=meant)
        if OPENING in scalars.flat(tree[name]):
            self.say("blank-left", (*path, name), "Fill in the blank, or take it out.", found=tree[name])
            self.blanks.add(path_of(*path, name))

    def object(self, value: Any, kind: Group, path: Path) -> Any:
        inside = value if isinstance(value, dict) else object_in_text(value)
        if inside is None:
            return self.wrong_type(value, kind, path)
        if inside is not value:
            say = "Write an object here, not a text that holds one."
            self.say("wrong-type", path, say, expected=expected(kind), found=value)
        return self.group(inside, kind.fields, path)

    def list(self, value: Any, kind: ListOf, item: Kind, path: Path) -> Any:
        if isinstance(value, list):
            fixed: list[Any] = []
            for index, entry in enumerate(value):
                if self.is_full:  # the rest is not validated
                    self.blanks.add(path_of(*path))
                    return [*fixed, *value[index:]]
                fixed.append(self.visit(entry, item, (*path, index)))
            return fixed
        if scalars.fits(value, item) and scalars.is_one_item(value):
            say = "Put it in a list: this field takes several."
            self.say("wrong-type", path, say, expected=expected(kind), found=value)
            return [self.visit(value, item, (*path, 0))]
        if isinstance(value, str) and not scalars.is_null(value):
            say = "Write a list with one value for each item: a text is not taken apart, and an empty list is []."
            self.say("wrong-type", path, say, expected=expected(kind), found=value)
            return self.blank(kind, path)
        return self.wrong_type(value, kind, path)

    def map(self, value: Any, kind: MapOf, inner: Kind, path: Path) -> Any:
        if not isinstance(value, dict):
            return self.wrong_type(value, kind, path)
        fixed: Tree = {}
        for key, entry in value.items():
            at = (*path, key)
            if is_blank(key):
                self.say("blank-left", at, "Put a name in place of the blank.", found=key)
                self.blanks.add(path_of(*at))
            if not self.broken or path_of(*at) not in self.broken:
                fixed[key] = entry if self.is_full else self.visit(entry, inner, at)
        if self.is_full:
            self.blanks.add(path_of(*path))  # the rest was not validated
        return fixed

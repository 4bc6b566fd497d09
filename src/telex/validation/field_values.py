"""Validation of single values.

Every method returns the corrected value: a valid one unchanged, a certain fix in its place, or a marked blank where
only the sender can know. `field_walker` handles objects and lists.
"""

from typing import Any

from telex.dialects.blanks import blank, described, expected
from telex.dialects.parse.front_matter import PlainScalar
from telex.dialects.parse.json import GroupedNumber
from telex.dialects.schema import Boolean, Integer, Kind, Number, OneOf, Text, Timestamp
from telex.dialects.timestamps import parse_timestamp
from telex.model.finding import Finding, Severity
from telex.model.limits import Limits
from telex.model.text import folded, nearest
from telex.validation import scalars


class ValueChecker:
    """Findings so far, and one method for each kind of single value."""

    def __init__(self, limits: Limits, broken: frozenset[str]) -> None:
        self.limits, self.broken = limits, broken
        self.findings: list[Finding] = []
        self.refused = 0
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
        """Add a finding; above the limit only refusals, so that notes cannot hide them, and at most as many again."""
        if self.has_said_enough and (severity != "refusal" or self.is_full):
            return
        self.refused += severity == "refusal"
        shown = None if found is None else scalars.shown(found, self.limits.found_characters_max)
        self.findings.append(Finding(code, path, say, severity, expected, found=shown, nearest=nearest))

    @property
    def has_said_enough(self) -> bool:
        return len(self.findings) >= self.limits.findings_max

    @property
    def is_full(self) -> bool:
        return self.refused >= self.limits.findings_max

    def blank(self, kind: Kind, path: str) -> Any:
        """Mark the value as one that the sender has to fill in."""
        self.blanks.add(path)
        return blank(kind)

    def wrong_type(self, value: Any, kind: Kind, path: str) -> Any:
        wanted = expected(kind)
        say = f"Give {described(kind)} here, not {scalars.type_name(value)}."
        self.say("wrong-type", path, say, expected=wanted, found=value)
        return self.blank(kind, path)

    def text(self, value: Any, kind: Text, path: str) -> Any:
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
        meant = nearest(value.strip(_QUOTES), kind.values)
        if meant is not None:
            return self.meant(value, meant, wanted, path)
        say = f"Use {wanted}."
        self.say("not-one-of", path, say, expected=wanted, found=value)
        return self.blank(kind, path) if len(kind.values) > 1 else self.constant(kind, path)

    def placeholder(self, value: str, kind: Kind, path: str) -> Any:
        """The documentation's list of choices, copied instead of one choice."""
        wanted = expected(kind)
        self.say("placeholder-left", path, f"Choose: {wanted}.", expected=wanted, found=value)
        return self.blank(kind, path)

    def constant(self, kind: OneOf, path: str) -> Any:
        """A wrong constant may mean another version, so only the sender can correct it."""
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

    def number_in_disguise(self, value: Any, kind: Integer | Number, path: str) -> Any:
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

    def boolean(self, value: Any, kind: Boolean, path: str) -> Any:
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

    def moment(self, value: Any, kind: Timestamp, path: str) -> Any:
        if not isinstance(value, str):
            return self.wrong_type(value, kind, path)
        flaw = parse_timestamp(value).flaw
        if flaw is None:
            return value
        code, say, severity = _MOMENT_FLAWS[flaw]
        self.say(code, path, say, severity, expected=expected(kind), found=value)
        return value if severity == "warning" else self.blank(kind, path)


_QUOTES = "\"'`“”‘’ "  # around a value that needs none

_MOMENT_FLAWS: dict[str, tuple[str, str, Severity]] = {
    "malformed": ("timestamp-malformed", "Write the time as ISO 8601 with a zone.", "refusal"),
    "impossible": ("timestamp-impossible", "Give a time that exists.", "refusal"),
    "no-zone": ("timestamp-without-zone", "Add the zone, such as Z; until then it is read as UTC.", "warning"),
    "no-time": ("timestamp-without-time", "Add the time of day; until then it is read as midnight UTC.", "warning"),
}

"""Parser from bytes to a message: JSON with a `type`, front matter, or plain text.

It never drops anything: bytes that are no message of any dialect are plain text, and what is clearly meant as a
message but malformed gets a finding with the position of the error.
"""

import json
from typing import Any, Literal

from telex.dialects.parse.detect import Detection, DetectionHint, detect, is_control_frame, is_near, is_ours, wrapped
from telex.dialects.parse.json import read_json, scan
from telex.dialects.parse.unwrap import Candidate, candidates, note, odd_blanks, unboxed, unwrap
from telex.dialects.registry import BUILT_IN, PLAIN, versions_of
from telex.dialects.schema import TYPE, Dialect, Form, Tree
from telex.model.finding import Finding, refusals
from telex.model.limits import LIMITS, Limits
from telex.model.named_tuple import NamedTuple
from telex.model.text import ROOT, path_of

Outcome = Literal["message", "plain", "control", "unreadable"]


NO_TREE: Tree = {}
NO_HINT = DetectionHint()


class ParsedMessage(NamedTuple):
    outcome: Outcome
    detection: Detection
    findings: tuple[Finding, ...]
    text: str = ""  # the message without wrapping
    tree: Tree = NO_TREE
    body: str | None = None  # the markdown under the front matter
    broken: frozenset[str] = frozenset()  # paths of malformed values
    is_other_form: bool = False  # a known type in the form of another dialect
    needs: Dialect | None = None  # dialect with the required fields of a flat form


NOTHING = Detection(None, None)


def read(
    raw: bytes,
    dialects: tuple[Dialect, ...] = BUILT_IN,
    *,
    forced: Dialect | None = None,
    hint: DetectionHint = NO_HINT,
    limits: Limits = LIMITS,
) -> ParsedMessage:
    """Parse any bytes. With `forced`, only as a message of that dialect, in any version; `hint` breaks ties."""
    unwrapped = unwrap(raw, limits)
    if unwrapped.text is None:
        return ParsedMessage("unreadable", NOTHING, unwrapped.findings)
    text, notes = unwrapped.text, unwrapped.findings
    if forced is PLAIN:
        return ParsedMessage("plain", Detection(PLAIN, None), notes, text)
    steps = _ParseSteps(versions_of(forced, dialects) if forced else dialects, dialects, hint, limits)
    for candidate in candidates(text, steps.is_ours):
        if forced and candidate.form != forced.form:
            continue
        reading = steps.front_matter(candidate) if candidate.form == "front-matter" else steps.json(candidate)
        if reading is not None:
            return _without_decision_in_prose(reading._replace(findings=(*notes, *reading.findings)))
    return _otherwise(text, notes, forced, steps)


def _without_decision_in_prose(reading: ParsedMessage) -> ParsedMessage:
    """A decision in prose is refused: in a text it may be an example or a condition."""
    type_, others = reading.detection.type, [finding for finding in reading.findings if finding.code != "prose-removed"]
    if type_ is None or not type_.decides or len(others) == len(reading.findings):
        return reading
    say = f"Send the {type_.name} on its own, if you mean it: with other text around it, it decides nothing."
    finding = Finding(DECISION_IN_PROSE, ROOT, say, expected="the message and nothing else")
    return reading._replace(findings=(*others, finding))


DECISION_IN_PROSE = "decision-in-prose"
_YAML_BREAKS = "\x85\u2028\u2029"  # line ends in YAML 1.1 only
_ENDS_READING = frozenset(
    {"yaml-malformed", "yaml-tab", "yaml-many-documents", "front-matter-not-mapping", "front-matter-not-closed"}
    | {"front-matter-too-large", "too-deep"}
)


class _ParseSteps(NamedTuple):
    """Parser of candidates: the dialects to try, and all known ones."""

    among: tuple[Dialect, ...]
    known: tuple[Dialect, ...]
    hint: DetectionHint
    limits: Limits

    def is_ours(self, tree: Any) -> bool:
        return is_ours(tree, self.among)

    def of(self, form: Form) -> tuple[Dialect, ...]:
        return tuple(dialect for dialect in self.among if dialect.form == form)

    def json(self, candidate: Candidate) -> ParsedMessage | None:
        assert candidate.read is not None
        value, findings = candidate.read.value, (*candidate.notes, *candidate.read.findings)
        if candidate.read.failed:
            return ParsedMessage("unreadable", NOTHING, findings, candidate.text)
        if isinstance(value, list) and any(isinstance(item, dict) and TYPE in item for item in value):
            return ParsedMessage("unreadable", NOTHING, (*findings, _not_an_object(value, "refusal")), candidate.text)
        if not isinstance(value, dict):
            return None
        if is_control_frame(value, self.known):
            say = f"A coding tool's own {value[TYPE]}: passed on untouched."
            return ParsedMessage("control", NOTHING, (*findings, note("control-frame", say)), candidate.text, value)
        inside = unboxed(value, self.is_ours)
        if inside is not None:
            value, found = inside
            findings = (
                *findings,
                note("wrapper-removed", "The wrapper of a tool around the message was removed."),
                *found,
            )
        return self.typed(value, None, "json", findings, candidate.text)

    def front_matter(self, candidate: Candidate) -> ParsedMessage | None:
        from telex.dialects.parse.front_matter import read_front_matter

        among = self.of("front-matter")
        front = read_front_matter(candidate.text, self.limits)
        breaks = any(sign in candidate.text[: len(candidate.text) - len(front.body)] for sign in _YAML_BREAKS)
        findings = (*candidate.notes, *((odd_blanks("between the fields"),) if breaks else ()), *front.findings)
        if not among:
            return None
        if any(finding.code in _ENDS_READING for finding in front.findings):
            # Missing fields are not reported for a text that could not be parsed to its end.
            detection = detect(front.fields, among, self.hint) if TYPE in front.fields else NOTHING
            return ParsedMessage("unreadable", detection._replace(findings=()), findings, candidate.text, front.fields)
        if not any(is_near(front.fields, dialect) for dialect in among):
            return None  # front matter of another tool
        return self.typed(front.fields, front.body, "front-matter", findings, candidate.text)

    def typed(self, tree: Tree, body: str | None, form: Form, found: tuple[Finding, ...], text: str) -> ParsedMessage:
        among = self.of(form)
        tree, renamed = _with_type(tree, among)
        flat = wrapped(tree, among) if not refusals(found) else None
        needs = None
        if flat is not None:
            detection, tree, needs = flat
            found = (*found, note("envelope-added", f"Read as a {tree[TYPE]} in its envelope; send it with one."))
        else:
            detection = detect(tree, among, self.hint)
        is_sure = detection.type is not None and (detection.certain or detection.type.name == tree.get(TYPE))
        other = () if is_sure else self.other_form(tree, form)
        if other:
            detection = detection._replace(type=None)
        scanned = scan(tree, self.limits)
        broken = frozenset(finding.path for finding in refusals((*found, *scanned)) if finding.path != ROOT)
        if detection.type is not None:
            named = {TYPE: detection.type.name}
            tree = tree | named if TYPE in tree else named | tree
        # A duplicate key is refused even with the same value.
        read = [
            item._replace(severity="refusal") if item.code == "duplicate-key" else item for item in (*found, *scanned)
        ]
        findings = (*read, *renamed, *(other or detection.findings))
        reading = ParsedMessage("message", detection, findings, text, tree, body=body, broken=broken)
        return reading._replace(is_other_form=bool(other), needs=needs)

    def other_form(self, tree: Tree, form: Form) -> tuple[Finding, ...]:
        """Finding on a known type that was sent in the form of another dialect."""
        named = tree.get(TYPE)
        for dialect in self.known:
            if isinstance(named, str) and named in dialect.types and dialect.form != form:
                how = "YAML front matter over a markdown body" if dialect.form == "front-matter" else "one JSON object"
                say = f"Send it as {how}: {named} is a type of {dialect.name}."
                return (Finding("type-unknown", path_of(TYPE), say, expected=how, found=str(named)),)
        return ()


def _with_type(tree: Tree, dialects: tuple[Dialect, ...]) -> tuple[Tree, tuple[Finding, ...]]:
    """The message with its `type` field renamed, if the case of the name is wrong or only one field names a type."""
    if TYPE in tree:
        return tree, ()
    types = {name for dialect in dialects for name in dialect.types}
    naming = [name for name, value in tree.items() if isinstance(value, str) and value in types]
    others = [name for name in tree if name.casefold() == TYPE] or naming
    if len(others) != 1:
        return tree, ()
    [other] = others
    say = f"Rename {other!r} to {TYPE!r}."
    finding = Finding("field-missing", path_of(TYPE), say, expected=f"a field {TYPE!r}", found=other, nearest=TYPE)
    return {(TYPE if name == other else name): value for name, value in tree.items()}, (finding,)


def _visible_type(text: str, steps: _ParseSteps) -> Finding | None:
    """Finding on a text that is not a message but names a known type."""
    if TYPE not in text.lower():
        return None
    from telex.dialects.parse.repair import visible_type

    named = visible_type(text, steps.among)
    if named is None:
        return None
    if not any(named in dialect.types for dialect in steps.of("json")):
        return _front_matter_missing(text)
    say = f"Send the {named} as one JSON object: this text names it but is not JSON."
    return Finding("not-json", ROOT, say, expected="a JSON object", found=text.strip()[:40])


def _otherwise(text: str, notes: tuple[Finding, ...], forced: Dialect | None, steps: _ParseSteps) -> ParsedMessage:
    """Result for a text without a message: plain text, unless it names a known type or a dialect is forced."""
    visible = _visible_type(text, steps)
    if visible is not None:
        return ParsedMessage("unreadable", NOTHING, (*notes, visible), text)
    scalar = _json_scalar(text)
    if forced is None:
        findings = notes if scalar is _NO_SCALAR else (*notes, _not_an_object(scalar, "warning"))
        return ParsedMessage("plain", Detection(PLAIN, None), findings, text)
    if forced.form == "front-matter":
        finding = _front_matter_missing(text)
    elif scalar is _NO_SCALAR:
        say = "Send one JSON object with a type: this is not JSON."
        finding = Finding("not-json", ROOT, say, expected="a JSON object", found=text.strip()[:40])
    else:
        finding = _not_an_object(scalar, "refusal")
    return ParsedMessage("unreadable", NOTHING, (*notes, finding), text)


def _front_matter_missing(text: str) -> Finding:
    say = "Begin with a line '---', then the fields, then '---' and the body."
    return Finding("front-matter-missing", ROOT, say, expected="YAML front matter", found=text.strip()[:40])


_NO_SCALAR = object()


def _json_scalar(text: str) -> Any:
    """The text as one JSON value that is not an object."""
    stripped = text.strip()
    if stripped[:1] not in '["-0123456789tfnNI':
        return _NO_SCALAR
    read = read_json(stripped)
    whole = not read.failed and read.end == len(stripped) and not read.findings
    return read.value if whole and not isinstance(read.value, dict) else _NO_SCALAR


def _not_an_object(value: Any, severity: Literal["refusal", "warning"]) -> Finding:
    kind = "a list" if isinstance(value, list) else "a single value"
    say = f"Send one JSON object with a type: {kind} is not a message."
    if severity == "warning":
        say = f"Read as plain text: {kind} is not a message. Send one JSON object with a type."
    found = json.dumps(value, ensure_ascii=False)[:40]
    return Finding("not-an-object", ROOT, say, severity, expected="a JSON object", found=found)

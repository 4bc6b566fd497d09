"""What does this say? The ladder from bytes to a message: typed envelope, flat `type`, front matter, plain text.

The ladder never drops anything: what is no message of any dialect is plain text, and what was plainly meant as a
message but cannot be read says where it broke.
"""

import json
from typing import Any, Literal, NamedTuple

from telex.dialects.candidates import Candidate, candidates
from telex.dialects.detect import Hint, Told, is_control_frame, is_near, is_ours, tell
from telex.dialects.framing import unwrap
from telex.dialects.frontmatter import read_front_matter
from telex.dialects.jsontext import read_json, scan
from telex.dialects.registry import BUILT_IN, PLAIN
from telex.dialects.spec import TYPE, Dialect, Tree
from telex.model.limits import LIMITS, Limits
from telex.model.paths import ROOT
from telex.model.refusal import Finding, refusals

Outcome = Literal["message", "plain", "control", "unreadable"]


NO_TREE: Tree = {}
NO_HINT = Hint()


class Reading(NamedTuple):
    outcome: Outcome
    told: Told
    findings: tuple[Finding, ...]
    text: str = ""  # what is left when wrapping is taken off
    tree: Tree = NO_TREE
    body: str | None = None  # the markdown under the front matter
    broken: frozenset[str] = frozenset()  # paths where the text itself is at fault


NOTHING = Told(None, None)


def read(
    raw: bytes,
    dialects: tuple[Dialect, ...] = BUILT_IN,
    *,
    forced: Dialect | None = None,
    hint: Hint = NO_HINT,
    limits: Limits = LIMITS,
) -> Reading:
    """Read any bytes. With `forced`, only as a message of that dialect; `hint` settles ties."""
    unwrapped = unwrap(raw, limits)
    if unwrapped.text is None:
        return Reading("unreadable", NOTHING, unwrapped.findings)
    text, notes = unwrapped.text, unwrapped.findings
    if forced is PLAIN:
        return Reading("plain", Told(PLAIN, None), notes, text)
    among = (forced,) if forced else dialects
    for candidate in candidates(text, lambda tree: is_ours(tree, among)):
        if forced and candidate.form != forced.form:
            continue
        reading = _from_candidate(candidate, among, hint, limits, forced=forced is not None)
        if reading is not None:
            return reading._replace(findings=(*notes, *reading.findings))
    return _otherwise(text, notes, forced)


def _from_candidate(
    candidate: Candidate, dialects: tuple[Dialect, ...], hint: Hint, limits: Limits, *, forced: bool
) -> Reading | None:
    among = tuple(dialect for dialect in dialects if dialect.form == candidate.form)
    if candidate.form == "front-matter":
        return _front_matter(candidate, among, hint, limits) if among else None
    assert candidate.read is not None
    value, found = candidate.read.value, (*candidate.notes, *candidate.read.findings)
    if candidate.read.failed:
        return Reading("unreadable", NOTHING, found, candidate.text)
    if isinstance(value, dict):
        if not forced and is_control_frame(value):
            say = f"A coding tool's own {value[TYPE]}: passed on untouched."
            note = Finding("control-frame", ROOT, say, "note")
            return Reading("control", NOTHING, (*found, note), candidate.text, value)
        return _typed(value, None, among, hint, limits, found, candidate.text)
    if isinstance(value, list) and any(isinstance(item, dict) and TYPE in item for item in value):
        return Reading("unreadable", NOTHING, (*found, _not_an_object(value, "refusal")), candidate.text)
    return None


_ENDS_READING = frozenset(
    {"yaml-malformed", "yaml-tab", "yaml-many-documents", "front-matter-not-mapping", "front-matter-not-closed"}
    | {"front-matter-too-large", "too-deep"}
)


def _front_matter(candidate: Candidate, among: tuple[Dialect, ...], hint: Hint, limits: Limits) -> Reading | None:
    front = read_front_matter(candidate.text, limits)
    found = (*candidate.notes, *front.findings)
    if any(finding.code in _ENDS_READING for finding in front.findings):
        # Nobody can tell what is missing in a text that could not be read to its end.
        told = tell(front.fields, among, hint) if TYPE in front.fields else NOTHING
        return Reading("unreadable", told._replace(findings=()), found, candidate.text, front.fields)
    if not any(is_near(front.fields, dialect) for dialect in among):
        return None  # another tool's front matter over a markdown text
    return _typed(front.fields, front.body, among, hint, limits, found, candidate.text)


def _typed(
    tree: Tree,
    body: str | None,
    among: tuple[Dialect, ...],
    hint: Hint,
    limits: Limits,
    found: tuple[Finding, ...],
    text: str,
) -> Reading:
    told = tell(tree, among, hint)
    scanned = scan(tree, limits)
    broken = frozenset(finding.path for finding in (*refusals(found), *scanned) if finding.path != ROOT)
    if told.type is not None:
        tree = {TYPE: told.type.name} | tree | {TYPE: told.type.name}  # in its own place, or else first
    return Reading("message", told, (*found, *scanned, *told.findings), text, tree, body, broken)


def _otherwise(text: str, notes: tuple[Finding, ...], forced: Dialect | None) -> Reading:
    """No message in it: plain text, unless a dialect was asked for."""
    scalar = _json_scalar(text)
    if forced is None:
        findings = notes if scalar is _NO_SCALAR else (*notes, _not_an_object(scalar, "warning"))
        return Reading("plain", Told(PLAIN, None), findings, text)
    if forced.form == "front-matter":
        say = "Begin with a line '---', then the fields, then '---' and the body."
        finding = Finding("front-matter-missing", ROOT, say, expected="YAML front matter", found=text[:40])
    elif scalar is _NO_SCALAR:
        say = "Send one JSON object with a type: this is not JSON."
        finding = Finding("not-json", ROOT, say, expected="a JSON object", found=text.strip()[:40])
    else:
        finding = _not_an_object(scalar, "refusal")
    return Reading("unreadable", NOTHING, (*notes, finding), text)


_NO_SCALAR = object()


def _json_scalar(text: str) -> Any:
    """The JSON value that the whole text is, when it is not an object."""
    stripped = text.strip()
    if stripped[:1] not in '["-0123456789tfnNI':
        return _NO_SCALAR
    read = read_json(stripped)
    whole = not read.failed and read.end == len(stripped) and not read.findings
    return read.value if whole and not isinstance(read.value, dict) else _NO_SCALAR


def _not_an_object(value: Any, severity: Literal["refusal", "warning"]) -> Finding:
    kind = "a list" if isinstance(value, list) else "a single value"  # never nested deeply: it was read
    say = f"Send one JSON object with a type: {kind} is not a message."
    if severity == "warning":
        say = f"Kept as plain text: {kind} is not a message. Send one JSON object with a type."
    return Finding(
        "not-an-object", ROOT, say, severity, expected="a JSON object", found=json.dumps(value, ensure_ascii=False)[:40]
    )

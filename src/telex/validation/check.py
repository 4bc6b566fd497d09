"""Check of one message, from bytes to a result: parse, validate, authorise; and its envelope for the bus.

A refusal is a value with findings. Strict and lenient policies report the same findings; they differ only in whether a
refusal stops the message. Rules that need earlier messages (contracts, approvals, task states) are in `work`.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from telex.dialects.parse.detect import DetectionHint, detect
from telex.dialects.parse.reader import DECISION_IN_PROSE, Outcome, ParsedMessage, read
from telex.dialects.registry import BUILT_IN, PLAIN
from telex.dialects.schema import TYPE, Dialect, MessageType, OneOf, Text, Tree, get_path, kind_at
from telex.model.finding import Finding, Severity, first_findings, refusals
from telex.model.limits import LIMITS, Limits
from telex.model.named_tuple import NamedTuple
from telex.model.roster import HUMAN
from telex.model.text import ROOT, join
from telex.validation.authorization import authorise_recipient, authorise_sender, may_send, signed_as
from telex.validation.rules import ValidationResult, validate, validate_envelope

if TYPE_CHECKING:
    from telex.validation.compiler import StructLayout


class Envelope(NamedTuple):
    id: str | None = None
    correlation: str | None = None
    reply_to: str | None = None
    recipient: str | None = None


NO_FACTS = Envelope()
_TASK = "task"  # correlation of a message without one
_WANTED = (*Envelope._fields, _TASK)


def facts_in(tree: Tree, dialect: Dialect, type_: MessageType) -> Envelope:
    """Envelope of a parsed message."""
    return _facts({name: get_path(path)(tree) for name, path in paths_of(dialect, type_).items()})


def facts_in_envelope(tree: Tree, dialect: Dialect) -> Envelope:
    """Envelope of a message with an unknown type, which is refused with its own id."""
    places = {name: getattr(dialect.wire, name) for name in _WANTED}
    return _facts({name: tree.get(place) for name, place in places.items() if place in dialect.envelope})


def _facts(values: dict[str, Any]) -> Envelope:
    texts = {name: value or None for name, value in values.items() if isinstance(value, str)}
    task = texts.pop(_TASK, None)
    return Envelope(**{**texts, "correlation": texts.get("correlation") or task})


def opener_of(dialect: Dialect, type_: MessageType, shape: "StructLayout") -> Callable[[Any], Envelope]:
    """Getter of the envelope of a message that the compiled validator has decoded."""
    paths = paths_of(dialect, type_)
    get, new = attrgetter(*(attribute(paths.get(name), shape) for name in _WANTED)), tuple.__new__

    def opened(message: Any) -> Envelope:
        id_, correlation, reply_to, recipient, task = get(message)
        # tuple.__new__ takes half the time of Envelope().
        return new(Envelope, (id_ or None, correlation or task or None, reply_to or None, recipient or None))

    return opened


def attribute(path: tuple[str, ...] | None, shape: "StructLayout | None") -> str:
    """Attribute path in the Structs; `__doc__`, which is None in all of them, for an absent field."""
    if path is None or shape is None:
        return "__doc__"
    first, *rest = path
    inner = "." + attribute(tuple(rest), shape.inner.get(first)) if rest else ""
    return shape.attributes[first] + inner


def paths_of(dialect: Dialect, type_: MessageType) -> dict[str, tuple[str, ...]]:
    """Path of each value. A field that is not text, as a user's dialect may have it, does not count."""
    places, fields = {name: getattr(dialect.wire, name) for name in _WANTED}, dialect.fields_of(type_)
    paths = {name: dialect.locate(type_, place) for name, place in places.items() if place is not None}
    kinds = {name: field.kind for name, path in paths.items() if (field := kind_at(fields, path)) is not None}
    return {name: path for name, path in paths.items() if isinstance(kinds.get(name), (Text, OneOf))}


# Refusals under a lenient policy too: there is no text to deliver, or it exceeds the size limit.
NEVER_PASSED = frozenset({"too-large", "not-utf8", "nul-byte", "empty-message"})
# Notes on repairs: with one of them the fixed form differs from the message as sent.
REPAIRS = frozenset({
    "byte-order-mark", "carriage-returns", "odd-blanks", "wrapper-removed", "fence-removed", "prose-removed",
    "later-spelling", "default-filled",
})  # fmt: skip
# Refusals that leave open which part of the message is right.
NOT_FIXABLE = frozenset(
    {"several-messages", "stray-brace", "too-deep", "field-unknown", "control-character", "yaml-merge-key"}
)


TEXT_ROLES = frozenset({HUMAN, "orchestrator"})  # their plain text is accepted by every team
UNTYPED = Finding(
    "untyped-refused", ROOT, "Send a typed message: this team refuses plain text.", expected="a message with a type"
)


class CheckPolicy(NamedTuple):
    """A team's check settings: its dialects, the preferred one, and what stops a message."""

    dialects: tuple[Dialect, ...] = BUILT_IN
    preferred: str | None = None
    forced: Dialect | None = None
    strict: bool = True
    unknown_fields: Severity = "note"  # or "refusal"
    misdelivery: Severity = "warning"  # or "refusal"
    untyped: str = "accept"  # or "refuse": plain text of agents
    work: bool = True  # False: no work rules, messages are only delivered
    limits: Limits = LIMITS


class CheckResult(NamedTuple):
    """Result of checking one message by itself, without earlier messages."""

    valid: bool
    outcome: Outcome
    dialect: Dialect | None
    type: str | None
    findings: tuple[Finding, ...]
    tree: Tree  # as read; {} for plain text
    fixed: Tree | None = None  # valid
    skeleton: Tree | None = None  # valid once its blanks are filled in
    body: str | None = None  # the markdown under the front matter
    text: str = ""  # the message without wrapping


STRICT = CheckPolicy()


def check(
    raw: bytes | str,
    policy: CheckPolicy = STRICT,
    *,
    as_role: str | None = None,
    to_role: str | None = None,
    as_name: str | None = None,
    to_name: str | None = None,
) -> CheckResult:
    """Check a message: whether it is valid, the findings, and a fixed form.

    `as_name` and `to_name` are agents' names, for dialects that address agents by name and not by role.
    """
    if isinstance(raw, str):
        raw = raw.encode("utf-8", "surrogatepass")  # a lone surrogate becomes a finding, not an exception
    hint = DetectionHint(policy.preferred, as_role, to_role)
    reading = read(raw, policy.dialects, forced=policy.forced, hint=hint, limits=policy.limits)
    if reading.outcome == "plain" and policy.untyped == "refuse" and as_role not in TEXT_ROLES:
        reading = reading._replace(findings=(*reading.findings, UNTYPED))
    dialect, type_ = reading.detection.dialect, reading.detection.type
    is_boxed = reading.outcome == "message" and TYPE not in reading.tree
    if reading.outcome == "unreadable" or reading.is_other_form or is_boxed:
        asked = {"as_role": as_role, "to_role": to_role, "as_name": as_name, "to_name": to_name}
        suggested = _suggestion(reading, policy, hint, asked)
        if suggested is not None and (suggested.fixed or not is_boxed):
            return suggested
    if reading.outcome != "message" or dialect is None:
        return _verdict(reading, policy, reading.findings)
    if type_ is None:
        validated = validate_envelope(reading.tree, dialect, broken=reading.broken, limits=policy.limits)
        return _verdict(reading, policy, (*reading.findings, *validated.findings), validated)
    needs = reading.needs or dialect
    validated = validate(
        reading.tree, needs, needs.types[type_.name], broken=reading.broken, body=reading.body, limits=policy.limits
    )
    if needs is not dialect and refusals(validated.findings):  # the suggestion has the complete envelope
        validated = validate(reading.tree, dialect, type_, limits=policy.limits)._replace(findings=validated.findings)
    tree, misdelivery = validated.tree, policy.misdelivery
    authorised = [
        *authorise_sender(tree, dialect, type_, as_role=as_role, as_name=as_name),
        *authorise_recipient(tree, dialect, type_, to_role=to_role, to_name=to_name, misdelivery=misdelivery),
    ]
    unsigned = _sign(tree, dialect, type_, authorised, as_role=as_role, as_name=as_name)
    if len(unsigned) < len(authorised):  # with another sender the message may break a rule
        unsigned = [*unsigned, *validate(tree, dialect, type_, limits=policy.limits).findings]
    findings = (*reading.findings, *_with_unknown_refused(validated.findings, policy), *authorised)
    fixable = reading.detection.certain and not refusals(unsigned)
    verdict = _verdict(reading, policy, findings, validated, fixable=fixable)
    meant = {
        finding.path: finding.nearest for finding in findings if finding.code == "field-unknown" and finding.nearest
    }
    is_read = verdict.fixed is not None or not refusals(reading.findings)
    respelt = _respelt(reading, verdict.fixed or reading.tree, meant, policy) if meant and fixable and is_read else None
    return verdict if respelt is None else verdict._replace(fixed=respelt, skeleton=None)


def _respelt(reading: ParsedMessage, tree: Tree, meant: dict[str, str], policy: CheckPolicy) -> Tree | None:
    """The message with misspelt optional fields renamed, if that leaves no refusal."""

    def renamed(value: Any, path: str) -> Any:
        if isinstance(value, list):
            return [renamed(item, join(path, index)) for index, item in enumerate(value)]
        if not isinstance(value, dict):
            return value
        places = ((name, join(path, name)) for name in value)
        return {meant.get(place, name): renamed(value[name], place) for name, place in places}

    dialect, type_ = reading.detection.dialect, reading.detection.type
    assert dialect is not None, "it was validated"
    assert type_ is not None, "it was validated"
    again = validate(renamed(tree, ROOT), dialect, type_, body=reading.body, limits=policy.limits)
    return None if refusals(again.findings) else again.tree


def _suggestion(
    reading: ParsedMessage, policy: CheckPolicy, hint: DetectionHint, asked: dict[str, str | None]
) -> CheckResult | None:
    """Result for a text that names a type but cannot be parsed, with the message to send instead.

    The suggestion is a fix only if the repair is exact and the message then passes this check.
    """
    if TYPE not in reading.text.lower():
        return None
    from telex.dialects.parse.repair import repair
    from telex.dialects.write import write

    among = (policy.forced,) if policy.forced else policy.dialects
    repaired = repair(reading.text, among, policy.limits)
    if repaired is None:
        return None
    detected = detect(repaired.tree, tuple(dialect for dialect in among if repaired.tree[TYPE] in dialect.types), hint)
    assert detected.dialect is not None, "it has a known type"
    assert detected.type is not None, "it has a known type"
    valued = validate(repaired.tree, detected.dialect, detected.type, body=repaired.body, limits=policy.limits)
    text = write(detected.dialect, valued.tree, repaired.body)
    again = check(text, policy._replace(strict=True, forced=detected.dialect), **asked)
    doubts = [finding for finding in (*valued.findings, *again.findings) if finding.code == "field-unknown"]
    certain = repaired.is_exact and again.valid and not doubts and not refusals(valued.findings)
    findings = [
        finding._replace(say=f"{finding.say} {repaired.advice}".rstrip()) if finding.severity == "refusal" else finding
        for finding in reading.findings
    ]
    findings += refusals(valued.findings) if repaired.is_exact else []
    verdict = _verdict(reading, policy, tuple(findings))
    return verdict._replace(
        outcome=verdict.outcome if verdict.valid else "unreadable",
        dialect=verdict.dialect if verdict.valid else detected.dialect,
        type=None if verdict.valid else detected.type.name,
        fixed=again.tree if certain else None,
        skeleton=None if certain else again.fixed or again.skeleton or again.tree,
        body=None if verdict.valid else repaired.body,
    )


def _sign(
    tree: Tree,
    dialect: Dialect,
    type_: MessageType,
    findings: list[Finding],
    *,
    as_role: str | None,
    as_name: str | None,
) -> list[Finding]:
    """Correct the sender field, which is certain since the sender is authenticated. Returns the other findings."""
    if as_role is None or dialect.wire.sender not in tree or not may_send(as_role, type_):
        return findings
    if any(finding.code == "role-claim-differs" for finding in findings):
        tree[dialect.wire.sender] = signed_as(dialect, as_role, as_name)
    return [finding for finding in findings if finding.code != "role-claim-differs"]


def _verdict(
    reading: ParsedMessage,
    policy: CheckPolicy,
    findings: tuple[Finding, ...],
    validated: ValidationResult | None = None,
    *,
    fixable: bool = False,
) -> CheckResult:
    refused = refusals(findings)
    stopped = [finding for finding in refused if policy.strict or finding.code in NEVER_PASSED]
    fixed = skeleton = None
    if validated is not None and (refused or any(finding.code in REPAIRS for finding in findings)):
        whole = fixable and not validated.blanks and not any(finding.code in NOT_FIXABLE for finding in refused)
        # A field was added that may be there under an unknown name.
        added = any(one.code == "type-missing" or (one.code == "field-missing" and not one.nearest) for one in findings)
        whole = whole and not (added and any(finding.code == "field-unknown" for finding in findings))
        fixed, skeleton = (validated.tree, None) if whole else (None, validated.tree)
    outcome, dialect, named = reading.outcome, reading.detection.dialect, reading.tree.get(TYPE)
    is_text = reading.detection.type is None or any(finding.code == DECISION_IN_PROSE for finding in refused)
    if is_text and outcome in ("message", "unreadable") and not stopped:
        outcome, dialect, named = "plain", PLAIN, None  # a lenient policy delivers it as plain text, with the findings
    return CheckResult(
        valid=not stopped,
        outcome=outcome,
        dialect=dialect,
        type=named if isinstance(named, str) else None,
        findings=first_findings(findings, policy.limits.findings_max),
        tree=validated.tree if validated and not refused else reading.tree,
        fixed=fixed,
        skeleton=skeleton,
        body=reading.body,
        text=reading.text,
    )


def _with_unknown_refused(findings: tuple[Finding, ...], policy: CheckPolicy) -> tuple[Finding, ...]:
    """The findings; unknown fields are refusals if the team wants that."""
    if policy.unknown_fields != "refusal":
        return findings
    say = "Take it out: it is not a field of this type."
    return tuple(
        finding._replace(severity="refusal", say=say) if finding.code == "field-unknown" else finding
        for finding in findings
    )

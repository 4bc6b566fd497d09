"""May this message pass? The ladder from bytes to a verdict: read, validate, authorise.

A refusal is a value with findings. Strict and lenient desks find the same; they differ only in whether a refusal
stops the message. Rules that need history (contracts, approvals, states) will be further rungs of the same ladder.
"""

from typing import Any, NamedTuple

from telex.dialects.blanks import blank_fields
from telex.dialects.detect import Hint
from telex.dialects.reading import Outcome, Reading, read
from telex.dialects.registry import BUILT_IN
from telex.dialects.spec import Dialect, Tree
from telex.model.limits import LIMITS, Limits
from telex.model.refusal import Finding, Severity, refusals
from telex.rules.authorization import authorise, may_send
from telex.rules.validation import Validated, validate, validate_envelope

# What even a lenient desk cannot pass on: there is no text to deliver, or more than anyone agreed to take.
NEVER_PASSED = frozenset({"too-large", "not-utf8", "nul-byte", "empty-message"})
# Notes that changed how the message is read, so that the mended form differs from what was sent.
REPAIRS = frozenset(
    {
        "byte-order-mark",
        "carriage-returns",
        "wrapper-removed",
        "fence-removed",
        "prose-removed",
        "later-spelling",
        "default-filled",
    }
)


class Desk(NamedTuple):
    """How a team reads: its dialects, which one wins a tie, and what stops a message."""

    dialects: tuple[Dialect, ...] = BUILT_IN
    preferred: str | None = None
    forced: Dialect | None = None
    strict: bool = True
    unknown_fields: Severity = "note"  # "refusal" for a team that wants them stopped
    misdelivery: Severity = "warning"  # "refusal" for a team that wants receivers kept to
    limits: Limits = LIMITS


class Checked(NamedTuple):
    """Everything that can be said of a message without knowing what came before it."""

    valid: bool
    outcome: Outcome
    dialect: Dialect | None
    type: str | None
    findings: tuple[Finding, ...]
    tree: Tree  # as read; {} for plain text
    mended: Tree | None = None  # passes as it stands
    skeleton: Tree | None = None  # passes once its blanks are filled
    body: str | None = None  # the markdown under the front matter
    text: str = ""  # what is left when wrapping is taken off


STRICT = Desk()


def check(raw: bytes, desk: Desk = STRICT, *, as_role: str | None = None, to_role: str | None = None) -> Checked:
    """Say everything about a message: is it valid here, what was found, and how it would pass."""
    hint = Hint(desk.preferred, as_role, to_role)
    reading = read(raw, desk.dialects, forced=desk.forced, hint=hint, limits=desk.limits)
    dialect, type_ = reading.told.dialect, reading.told.type
    findings = list(reading.findings)
    if reading.outcome != "message" or dialect is None:
        named = reading.tree.get("type")
        return _verdict(reading, desk, findings, named if isinstance(named, str) else None, None, mendable=False)
    if type_ is None:
        validated = validate_envelope(reading.tree, dialect, desk.limits)
        findings += validated.findings
        return _verdict(reading, desk, findings, None, validated, mendable=False)
    validated = validate(reading.tree, dialect, type_, broken=reading.broken, body=reading.body, limits=desk.limits)
    findings += _as_the_team_wants(validated.findings, desk)
    said = authorise(validated.tree, dialect, type_, as_role=as_role, to_role=to_role, misdelivery=desk.misdelivery)
    if said and as_role and dialect.wire.sender in validated.tree and may_send(as_role, type_):
        validated.tree[dialect.wire.sender] = as_role  # the door knows who is speaking, so this mend is certain
        unmended = [finding for finding in said if finding.code != "role-claim-differs"]
    else:
        unmended = said
    findings += said
    mendable = reading.told.certain and not refusals(unmended)
    return _verdict(reading, desk, findings, type_.name, validated, mendable=mendable)


def _verdict(
    reading: Reading,
    desk: Desk,
    findings: list[Finding],
    type_name: str | None,
    validated: Validated | None,
    *,
    mendable: bool,
) -> Checked:
    stopped = [finding for finding in refusals(findings) if desk.strict or finding.code in NEVER_PASSED]
    mended = skeleton = None
    if validated is not None and (refusals(findings) or any(finding.code in REPAIRS for finding in findings)):
        whole = mendable and not validated.blanks and not _is_beyond_mending(findings)
        mended, skeleton = (validated.tree, None) if whole else (None, validated.tree)
    return Checked(
        valid=not stopped,
        outcome=reading.outcome,
        dialect=reading.told.dialect,
        type=type_name,
        findings=tuple(findings[: desk.limits.findings_max]),
        tree=validated.tree if validated and not refusals(findings) else reading.tree,
        mended=mended,
        skeleton=skeleton,
        body=reading.body,
        text=reading.text,
    )


def _is_beyond_mending(findings: list[Finding]) -> bool:
    return any(
        finding.code in ("several-messages", "too-deep", "type-missing") and finding.path == "$" for finding in findings
    )


def _as_the_team_wants(findings: tuple[Finding, ...], desk: Desk) -> list[Finding]:
    return [
        finding._replace(severity=desk.unknown_fields) if finding.code == "field-unknown" else finding
        for finding in findings
    ]


def skeleton_of(dialect: Dialect, type_name: str) -> dict[str, Any]:
    """A message of this type with everything left open."""
    return blank_fields(dialect.fields_of(dialect.types[type_name]))

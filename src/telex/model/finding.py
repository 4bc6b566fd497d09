"""Findings: results of a check, as values.

A message that fails validation is normal traffic, so a finding is never an exception: it goes to the sender, the log
and the page. All codes are listed in `generate/codes`. The team's policy, strict or lenient, decides whether a finding
of some severity stops the message.
"""

from typing import Literal

from telex.model.named_tuple import NamedTuple

Severity = Literal["refusal", "warning", "note"]


class Finding(NamedTuple):
    """One result of a check: what is wrong, where, and what to change."""

    code: str  # stable and documented; tests and agents rely on it
    path: str  # JSON path of the place to change, "$" for the message itself
    say: str  # one sentence: what the sender has to do
    severity: Severity = "refusal"
    expected: str | None = None
    found: str | None = None  # as the sender wrote it, shortened
    nearest: str | None = None  # the valid spelling that comes closest


def refusals(findings: "tuple[Finding, ...] | list[Finding]") -> list[Finding]:
    """Findings that stop a message in a strict team."""
    return [finding for finding in findings if finding.severity == "refusal"]


def first_findings(findings: tuple[Finding, ...], limit: int) -> tuple[Finding, ...]:
    """At most `limit` findings, refusals first."""
    if len(findings) <= limit:
        return findings
    return tuple(sorted(findings, key=lambda finding: finding.severity != "refusal"))[:limit]

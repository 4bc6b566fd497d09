"""What was found in a message, said so that its sender can act on it.

A finding is a value, never an exception: a message that may not pass is normal traffic, and what was found travels
with it to the sender, the log and the page. Which findings there are is `generate/codes.py`; whether they stop the
message is the reader's choice (strict or lenient), so a finding only says how grave it is.
"""

from typing import Literal, NamedTuple

Severity = Literal["refusal", "warning", "note"]


class Finding(NamedTuple):
    """One thing worth saying about one place in a message."""

    code: str  # stable and documented; tests and agents rely on it
    path: str  # JSON path of the place to change, "$" for the message as a whole
    say: str  # one sentence that tells the sender what to do
    severity: Severity = "refusal"
    expected: str | None = None
    found: str | None = None  # as the sender wrote it, shortened
    nearest: str | None = None  # the right spelling that comes closest


def refusals(findings: "tuple[Finding, ...] | list[Finding]") -> list[Finding]:
    """Only those that stop a message in a strict team."""
    return [finding for finding in findings if finding.severity == "refusal"]


def first_findings(findings: tuple[Finding, ...], limit: int) -> tuple[Finding, ...]:
    """At most so many of them; of more the refusals first."""
    if len(findings) <= limit:
        return findings
    return tuple(sorted(findings, key=lambda finding: finding.severity != "refusal"))[:limit]

"""signal-md 1.1: 1.0 with three tiers of implementers, and a route in the body of what is blocked or escalated.

A team chooses it by name in its settings: messages do not state a version, and 1.1 refuses a pass that 1.0 lets
through. Everything that is not here is as in 1.0.
"""

import re
from typing import Literal

from telex.dialects.builtin.signal_md import (
    APPROVAL,
    AUDIT_VERDICT,
    MAKERS,
    OPEN_TO_ALL,
    ORCHESTRATOR,
    REVIEW_VERDICT,
    REVISION_REQUEST,
    ROLES,
    SIGNAL_MD,
    TASK_ASSIGNMENT,
    WORKER_SUBMISSION,
)
from telex.dialects.schema import Dialect, HardRule, MessageType, SectionRule

_MAKERS = (*MAKERS, "grunt", "senior")
ROUTE = "Route"
# A line of the body, such as `Route: senior`. The router of `telex work` follows it.
Route = Literal["", "worker", "senior", "orchestrator", "plan", "user"]
ROUTES: dict[str, Route] = {
    "worker": "worker",
    "senior": "senior",
    "orchestrator": "orchestrator",
    "orchestrator (re-decompose)": "plan",
    "orchestrator (user decision required)": "user",
}
_LINE = re.compile(r"^[ \t>*_-]*Route[*_]*:[ \t*_`]*(.+?)[ \t.*_`]*$", re.MULTILINE | re.IGNORECASE)
_ROUTED = SectionRule(when=f"signal in {list(OPEN_TO_ALL)}")


def route_in(body: str) -> Route:
    """Where a body asks to go on; nothing if it names no route, or several."""
    found = {ROUTES.get(" ".join(line.lower().split()), "") for line in _LINE.findall(body)}
    return found.pop() if len(found) == 1 else ""


def _routed(type_: MessageType) -> MessageType:
    """What an agent sends to the orchestrator names a route when it stops."""
    if type_.receivers != ORCHESTRATOR:
        return type_
    return type_._replace(sections=(*type_.sections, ROUTE), section_rules={**type_.section_rules, ROUTE: _ROUTED})


_AUDIT_RULES = (
    HardRule(
        code="audit-means-fail",
        broken_when="signal != 'fail' and (security_findings.critical > 0 or security_findings.high > 0"
        " or build_status == 'fail' or test_status == 'fail')",
        path="signal",
        say="Say signal 'fail': a critical or high finding, a broken build or a failing test never passes.",
        expected="fail",
    ),
)
_CHANGED = (
    WORKER_SUBMISSION._replace(senders=_MAKERS),
    REVIEW_VERDICT._replace(
        fields={**REVIEW_VERDICT.fields, "ac_coverage": REVIEW_VERDICT.fields["ac_coverage"]._replace(required=False)}
    ),
    AUDIT_VERDICT._replace(rules=_AUDIT_RULES),
    TASK_ASSIGNMENT._replace(receivers=_MAKERS),
    REVISION_REQUEST._replace(receivers=_MAKERS),
    APPROVAL._replace(receivers=_MAKERS),
)
_TYPES = {**SIGNAL_MD.types} | {type_.name: type_ for type_ in _CHANGED}

SIGNAL_MD_1_1: Dialect = SIGNAL_MD._replace(
    name="signal-md@1.1", version="1.1", purpose="1.0 with grunt, worker and senior, and routes for what is blocked.",
    extends=SIGNAL_MD.name, roles=(*ROLES, "grunt", "senior"),
    types={name: _routed(type_) for name, type_ in _TYPES.items()}, trades={"grunt": "makes", "senior": "makes"},
)  # fmt: skip

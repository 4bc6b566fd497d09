"""Who is a dev of one dialect in another? Roles by what they do, as data: a dialect adds a line for each of its own."""

from collections.abc import Mapping
from functools import lru_cache

from telex.dialects.spec import ANY, Dialect
from telex.rules.authorization import normalised

ROLES_REMEMBERED_MAX = 1_000  # a name is whatever a sender writes

# What a role does. Where a dialect has several that do the same, the first stands for all of them.
TRADES: Mapping[str, Mapping[str, str]] = {
    "vbw-typed": {
        "lead": "leads",
        "dev": "makes",
        "qa": "tests",
        "scout": "looks",
        "debugger": "mends",
        "architect": "designs",
        "docs": "documents",
    },
    "vbw-handoff": {"lead": "leads", "dev": "makes", "qa": "tests", "scout": "looks", "debugger": "mends"},
    "vbw-company": {
        "lead": "leads",
        "dev": "makes",
        "senior": "reviews",
        "architect": "designs",
        "qa-lead": "tests",
        "qa-code": "runs",
        "security": "audits",
        "scout": "looks",
        "debugger": "mends",
    },
    "signal-md": {
        "orchestrator": "leads",
        "worker": "makes",
        "reviewer": "reviews",
        "auditor": "audits",
        "architect": "designs",
        "researcher": "looks",
        "debugger": "mends",
        "documenter": "documents",
    },
    "build-flow": {
        "build-orchestrator": "leads",
        "fullstack-developer": "makes",
        "cto": "designs",
        "plan-manager": "documents",
    },
}
# Who does it where nobody does it by trade.
INSTEAD: Mapping[str, tuple[str, ...]] = {
    "runs": ("tests", "audits", "reviews"),
    "tests": ("reviews", "audits", "runs"),
    "reviews": ("tests", "audits"),
    "audits": ("tests", "reviews"),
    "documents": ("makes",),
    "mends": ("makes",),
    "looks": ("designs",),
    "designs": ("leads",),
}


def counterpart(role: str, dialect: Dialect, to: Dialect, allowed: tuple[str, ...]) -> str:
    """The role in that dialect, one of those allowed. A role that nobody knows is the first that may."""
    return _counterpart(role, dialect.name, to.name, allowed)


@lru_cache(ROLES_REMEMBERED_MAX)
def _counterpart(role: str, dialect: str, to: str, allowed: tuple[str, ...]) -> str:
    role = normalised(role)
    there = TRADES.get(to, {})
    trade = TRADES.get(dialect, {}).get(role) or there.get(role)
    instead = INSTEAD.get(trade or "", ()) if allowed != ANY else ()
    for wanted in (trade, *instead):
        for one, does in there.items():
            if does == wanted and (allowed == ANY or one in allowed):
                return one
    return role if allowed == ANY or role in allowed else allowed[0]

"""Counterparts of roles between dialects, by what they do. A dialect adds a line for each role."""

from collections.abc import Mapping
from functools import lru_cache

from telex.dialects.schema import ANY, Dialect
from telex.validation.authorization import normalised

ROLES_REMEMBERED_MAX = 1_000  # a name is whatever a sender writes

# What a role does. Where a dialect has several that do the same, the first stands for all of them.
TRADES: Mapping[str, Mapping[str, str]] = {
    "vbw-typed": {
        "lead": "leads",
        "dev": "makes",
        "qa": "tests",
        "scout": "looks",
        "debugger": "fixes",
        "architect": "designs",
        "docs": "documents",
    },
    "vbw-handoff": {"lead": "leads", "dev": "makes", "qa": "tests", "scout": "looks", "debugger": "fixes"},
    "vbw-company": {
        "lead": "leads",
        "dev": "makes",
        "senior": "reviews",
        "architect": "designs",
        "qa-lead": "tests",
        "qa-code": "runs",
        "security": "audits",
        "scout": "looks",
        "debugger": "fixes",
    },
    "signal-md": {
        "orchestrator": "leads",
        "worker": "makes",
        "reviewer": "reviews",
        "auditor": "audits",
        "architect": "designs",
        "researcher": "looks",
        "debugger": "fixes",
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
    "fixes": ("makes",),
    "looks": ("designs",),
    "designs": ("leads",),
}


def counterpart(role: str, dialect: Dialect, to: Dialect, allowed: tuple[str, ...]) -> str:
    """The role in that dialect, one of those allowed. A role that nobody knows is the first that may."""
    if allowed == ANY and to.addresses == "roles":
        allowed = to.roles  # where roles are written, only one of the dialect's own can be
    if dialect.name in TRADES and to.name in TRADES:
        return _remembered(role, dialect.name, to.name, allowed)
    return _counterpart(role, trades_of(dialect), trades_of(to), allowed)


def trades_of(dialect: Dialect) -> Mapping[str, str]:
    """What each role does, as a built-in dialect's table or as a user's file has it."""
    return {**TRADES.get(dialect.extends or dialect.name, {}), **dialect.trades}


@lru_cache(ROLES_REMEMBERED_MAX)
def _remembered(role: str, dialect: str, to: str, allowed: tuple[str, ...]) -> str:
    return _counterpart(role, TRADES[dialect], TRADES[to], allowed)


def _counterpart(role: str, here: Mapping[str, str], there: Mapping[str, str], allowed: tuple[str, ...]) -> str:
    role = normalised(role)
    trade = here.get(role) or there.get(role)
    instead = INSTEAD.get(trade or "", ()) if allowed != ANY else ()
    for wanted in (trade, *instead):
        for one, does in there.items():
            if does == wanted and (allowed == ANY or one in allowed):
                return one
    return role if allowed == ANY or role in allowed else allowed[0]

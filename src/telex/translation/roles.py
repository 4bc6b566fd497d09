"""Counterparts of roles between dialects, by what they do. A dialect adds a line for each role."""

from collections.abc import Mapping
from functools import lru_cache

from telex.dialects.schema import Dialect
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
# Who does it in a dialect where no role does it by trade. Never a role that may decide more.
INSTEAD: Mapping[str, tuple[str, ...]] = {
    "runs": ("tests", "audits", "reviews"),
    "tests": ("reviews", "audits", "runs"),
    "reviews": ("tests", "audits"),
    "audits": ("tests", "reviews"),
    "documents": ("makes",),
    "fixes": ("makes",),
    "designs": ("leads",),
}
_BUILT_IN: Mapping[str, str] = {role: trade for roles in TRADES.values() for role, trade in roles.items()}


def counterpart(role: str, dialect: Dialect, to: Dialect) -> str | None:
    """The role of `to` with the same name, else the one that does the same. None: `to` has no such role."""
    if dialect.name in TRADES and to.name in TRADES:
        return _remembered(role, dialect.name, to.name)
    return _counterpart(role, trades_of(dialect), trades_of(to), to.roles)


def trades_of(dialect: Dialect) -> Mapping[str, str]:
    """What each role does, as a built-in dialect's table or as a user's file has it."""
    return {**TRADES.get(dialect.extends or dialect.name, {}), **dialect.trades}


@lru_cache(ROLES_REMEMBERED_MAX)
def _remembered(role: str, dialect: str, to: str) -> str | None:
    return _counterpart(role, TRADES[dialect], TRADES[to], tuple(TRADES[to]))


def _counterpart(role: str, here: Mapping[str, str], there: Mapping[str, str], roles: tuple[str, ...]) -> str | None:
    role = normalised(role)
    if role in roles:
        return role
    trade = here.get(role) or _BUILT_IN.get(role)  # a member of a mixed team may have a role of any dialect
    wanted = (trade, *INSTEAD.get(trade, ())) if trade is not None else ()
    return next((other for does in wanted for other, trade in there.items() if trade == does), None)

"""Checks of a contract's own patterns: those that match no path, and allowed paths that are all forbidden."""

from functools import lru_cache

from telex.model.finding import Finding
from telex.validation.contracts import short
from telex.validation.pattern_set import forbidding
from telex.validation.patterns import WILD, flaw
from telex.validation.project_paths import InvalidPath, normal
from telex.work.rule_set import Book, RuleContext
from telex.work.view import WorkMessage

ANYTHING = "\ue000"  # placeholder for any file name; no pattern contains it
Flawed = tuple[int, str, str]  # index of a pattern in its list, the pattern, and the reason


def check_contract(work_message: WorkMessage, book: Book, context: RuleContext) -> list[Finding]:
    allowed, forbidden = work_message.texts("allowed"), work_message.texts("forbidden")
    for_nothing = _for_nothing(allowed, forbidden) if forbidden else ()
    if not _flawed(allowed) and not _flawed(forbidden) and not for_nothing:
        return []
    return [
        *flaws(work_message, "allowed", allowed),
        *flaws(work_message, "forbidden", forbidden),
        *(_all_forbidden(work_message, *flawed) for flawed in for_nothing),
    ]


def flaws(work_message: WorkMessage, name: str, patterns: tuple[str, ...]) -> list[Finding]:
    """Findings on the patterns in one of the action's fields."""
    return [_covers_nothing(work_message, name, *flawed) for flawed in _flawed(patterns)]


@lru_cache(maxsize=256)  # teams repeat the same patterns in plan after plan
def _flawed(patterns: tuple[str, ...]) -> tuple[Flawed, ...]:
    """Patterns that match no path, with the reason."""
    each = ((index, pattern, flaw(pattern)) for index, pattern in enumerate(patterns))
    return tuple((index, pattern, why) for index, pattern, why in each if why is not None)


def _covers_nothing(work_message: WorkMessage, name: str, index: int, pattern: str, why: str) -> Finding:
    say = f"Write it as a path from the project's root, with / and perhaps * in it: it covers nothing, since {why}."
    finding = Finding("pattern-covers-nothing", work_message.path(name, index), say, "warning")
    return finding._replace(expected="src/auth/, *.md or docs/**/*.png", found=short(pattern))


@lru_cache(maxsize=256)
def _for_nothing(allowed: tuple[str, ...], forbidden: tuple[str, ...]) -> tuple[Flawed, ...]:
    """Allowed patterns under which every path is forbidden, with the forbidding pattern. A pattern that is in both
    lists violates a rule of the dialect, which is checked elsewhere."""
    found = []
    for index, pattern in enumerate(allowed):
        folder = normal(pattern)
        if isinstance(folder, InvalidPath) or pattern in forbidden or not WILD.isdisjoint(pattern):
            continue
        against = forbidding(forbidden).cover(f"{folder}/{ANYTHING}")
        if against is not None:
            found.append((index, pattern, against.text))
    return tuple(found)


def _all_forbidden(work_message: WorkMessage, index: int, pattern: str, against: str) -> Finding:
    say = f"Take {short(pattern)} out, or forbid less than {short(against)}: all of it is forbidden."
    path = work_message.path("allowed", index)
    return Finding("path-allowed-for-nothing", path, say, "warning", found=short(pattern))

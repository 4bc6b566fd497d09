"""Is a contract well drawn? Patterns that cover nothing, and paths that are allowed for nothing."""

from functools import lru_cache

from telex.model.finding import Finding
from telex.validation.contracts import short
from telex.validation.pattern_set import forbidding
from telex.validation.patterns import WILD, flaw
from telex.validation.project_paths import InvalidPath, normal
from telex.work.rule_set import Book, RuleContext
from telex.work.view import WorkMessage

ANYTHING = "\ue000"  # a name that stands for whichever: no pattern means this one
Flawed = tuple[int, str, str]  # the place of a pattern in its list, the pattern, and what is against it


def check_contract(work_message: WorkMessage, book: Book, context: RuleContext) -> list[Finding]:
    allowed, forbidden = work_message.texts("allowed"), work_message.texts("forbidden")
    for_nothing = _for_nothing(allowed, forbidden) if forbidden else ()
    if not _flawed(allowed) and not _flawed(forbidden) and not for_nothing:
        return []  # most are like this
    return [
        *flaws(work_message, "allowed", allowed),
        *flaws(work_message, "forbidden", forbidden),
        *(_all_forbidden(work_message, *flawed) for flawed in for_nothing),
    ]


def flaws(work_message: WorkMessage, name: str, patterns: tuple[str, ...]) -> list[Finding]:
    """Of the patterns that the message lists under one of the deed's names."""
    return [_covers_nothing(work_message, name, *flawed) for flawed in _flawed(patterns)]


@lru_cache(maxsize=256)  # teams draw the same lines in plan after plan
def _flawed(patterns: tuple[str, ...]) -> tuple[Flawed, ...]:
    """Those that cover nothing, and why."""
    each = ((index, pattern, flaw(pattern)) for index, pattern in enumerate(patterns))
    return tuple((index, pattern, why) for index, pattern, why in each if why is not None)


def _covers_nothing(work_message: WorkMessage, name: str, index: int, pattern: str, why: str) -> Finding:
    form = "a path from the project's root, with / and perhaps * in it"
    say = f"Write it as {form}: it covers nothing, since {why}."
    path, expected = work_message.path(name, index), "src/auth/, *.md or docs/**/*.png"
    return Finding("pattern-covers-nothing", path, say, "warning", expected, short(pattern))


@lru_cache(maxsize=256)
def _for_nothing(allowed: tuple[str, ...], forbidden: tuple[str, ...]) -> tuple[Flawed, ...]:
    """Those that are allowed for nothing, since all that lies there is forbidden, and the pattern that forbids it. That
    the same words stand in both lists is a rule of the dialect, and found without a bus."""
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

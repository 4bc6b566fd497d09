"""Checks of a contract's patterns: those that match no path, allowed paths that are all forbidden, and paths that a
contract of another agent allows too."""

from collections.abc import Collection
from functools import lru_cache

from telex.model.contracts import ContractIndex, PlanSummary
from telex.model.finding import Finding
from telex.model.roster import ALL_OF_ROLE, EVERYONE, ONE_OF_ROLE, Roster
from telex.validation.contracts import short
from telex.validation.patterns import WILD, allowing, flaw, forbidding
from telex.validation.project_paths import SEPARATOR, InvalidPath, normal
from telex.work.id_reuse import id_nearly_known
from telex.work.plan_lookup import contracts_in
from telex.work.rule_set import Book, RuleContext
from telex.work.view import WorkMessage

ANYTHING = "\ue000"  # placeholder for any file name; no pattern contains it
SHARED_MAX = 3  # findings on other contracts
Flawed = tuple[int, str, str]  # index of a pattern in its list, the pattern, and the reason


def check_contract(work_message: WorkMessage, book: Book, context: RuleContext) -> list[Finding]:
    allowed, forbidden = work_message.texts("allowed"), work_message.texts("forbidden")
    for_nothing = _for_nothing(allowed, forbidden) if forbidden else ()
    contracts, plan = contracts_in(book), work_message.text("plan")
    own = contracts.open.get(plan) if contracts is not None else None
    to = (*(own.to if own is not None else ()), work_message.to)
    nearly = _nearly_known(plan, contracts) if contracts is not None else None
    shared = sharing(contracts, PlanSummary(to, "", (), allowed), (plan,), context.roster) if contracts else ()
    if not _flawed(allowed) and not _flawed(forbidden) and not for_nothing and not shared and nearly is None:
        return []
    return [
        *([id_nearly_known(work_message, "plan", nearly)] if nearly is not None else ()),
        *flaws(work_message, "allowed", allowed),
        *flaws(work_message, "forbidden", forbidden),
        *(_all_forbidden(work_message, *flawed) for flawed in for_nothing),
        *(_shared(work_message, *others) for others in shared[:SHARED_MAX]),
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


def _nearly_known(plan: str, contracts: ContractIndex) -> str | None:
    """A plan that differs from this new one by case or blanks only."""
    if contracts.find(plan) is not None:
        return None
    bare = plan.strip().casefold()
    return next((one for one in (*contracts.open, *contracts.closed) if one.strip().casefold() == bare), None)


# --- paths of several contracts ---------------------------------------------------------------------------------------


def sharing(
    contracts: ContractIndex, own: PlanSummary, plans: Collection[str], roster: Roster
) -> list[tuple[str, PlanSummary, int]]:
    """Open contracts of other agents that allow a path which this one allows, each with the place of that pattern here.
    `plans`: left out."""
    agents, found = _agents(own.to, roster), []
    for plan, summary in contracts.open.items():
        if summary.to == own.to or plan in plans:
            continue
        place = _shared_pattern(own.allowed, summary.allowed)
        if place is not None and agents.isdisjoint(_agents(summary.to, roster)):
            found.append((plan, summary, place))
    return found


def _agents(addresses: tuple[str, ...], roster: Roster) -> set[str]:
    """The names of those that these addresses reach. The name of a role reaches its members too."""
    names: set[str] = set()
    for address in addresses:
        role = address.removeprefix(ONE_OF_ROLE).removeprefix(ALL_OF_ROLE)
        members = roster.known() if address == EVERYONE else roster.of_role(role)
        names |= {role, *(member.name for member in members)}
    return names


def _shared_pattern(own: tuple[str, ...], other: tuple[str, ...]) -> int | None:
    """The place of the first of these patterns that covers a path of the others, as far as that can be told: of two
    patterns with wildcards only where one covers the folder of the other."""
    heads = _heads(own), _heads(other)
    if "" not in heads[0] and "" not in heads[1] and heads[0].isdisjoint(heads[1]):
        return None
    for place, pattern in enumerate(own):
        if any(allowing(other).cover(path) is not None for path in _paths_of(pattern)):
            return place
    covering = (allowing(own).cover(path) for pattern in other for path in _paths_of(pattern))
    return next((own.index(pattern.text) for pattern in covering if pattern is not None), None)


@lru_cache(maxsize=1024)
def _heads(patterns: tuple[str, ...]) -> frozenset[str]:
    """The first names of their folders; empty for one that may lie anywhere."""
    return frozenset([_folder_of(pattern).partition(SEPARATOR)[0] for pattern in patterns])


def _paths_of(pattern: str) -> tuple[str, ...]:
    """Paths that stand for all that it covers; none where it may lie anywhere."""
    folder = _folder_of(pattern)
    below = (f"{folder}/{ANYTHING}",) if folder else ()
    return below if not WILD.isdisjoint(pattern) else (folder, *below)


def _folder_of(pattern: str) -> str:
    """The path in front of its first wildcard."""
    names = pattern.strip(SEPARATOR).split(SEPARATOR)
    plain = next((place for place, name in enumerate(names) if not WILD.isdisjoint(name)), len(names))
    found = normal(SEPARATOR.join(names[:plain])) if plain else ""
    return found if isinstance(found, str) else ""


def _shared(work_message: WorkMessage, plan: str, other: PlanSummary, place: int) -> Finding:
    pattern, whose = short(work_message.texts("allowed")[place]), f"plan {short(plan)} of {short(', '.join(other.to))}"
    say = f"Leave {pattern} to one of them, or keep them apart in time: {whose} allows it too."
    return Finding("path-shared", work_message.path("allowed", place), say, "warning", found=whose)

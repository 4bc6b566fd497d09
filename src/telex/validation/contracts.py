"""Decision whether contracts allow a path. Forbidden wins over allowed; one contract that allows it is enough."""

from collections.abc import Sequence

from telex.model.contracts import GATE_OVERRIDE, SCOPE_CHANGE, Plan
from telex.model.named_tuple import NamedTuple
from telex.validation.patterns import allowing, forbidding
from telex.validation.project_paths import InvalidPath, Resolver, normal, owner, real

NOT_IN_PROJECT, FORBIDDEN, OUTSIDE = "path-not-in-project", "path-forbidden", "path-outside-contract"
LISTED_MAX, CHARACTERS_MAX = 4, 40  # of the names that a sentence lists, and of each
_OWN = {
    "git": "what lies in .git is git's own",
    "Telex": "only people change telex.toml, and only Telex writes in .telex",
}
ASKING = {FORBIDDEN: GATE_OVERRIDE, OUTSIDE: SCOPE_CHANGE}  # what to ask for


class PathDecision(NamedTuple):
    """Decision of a contract on a path."""

    code: str | None  # None: allowed
    why: str  # continues a sentence after "because" or a colon
    plan: Plan | None = None
    pattern: str | None = None  # that decided
    override: bool = False
    path: str = ""  # as compared, unless it is allowed


CACHED_PATHS_MAX, CACHED_CHARACTERS_MAX = 256, 256
NOTHING_SAID = PathDecision(None, "no contract covers it")


class ContractScope:
    """Paths that the latest contract of a plan allows, with later grants, as compiled patterns."""

    def __init__(self, plan: Plan) -> None:
        assert plan.words is not None, "a plan without a contract has no paths"
        self.plan = plan
        self._against = forbidding(plan.words.forbidden) if plan.words.forbidden else None
        self._allowed = allowing(plan.words.allowed)
        granted, lifted = plan.granted, plan.lifted
        self._granted = allowing(granted) if granted else None
        self._lifted = allowing(lifted) if lifted else None
        self._decisions: dict[str, PathDecision] = {}  # cache by path: the reports of a plan name the same files

    def judge(self, path: str) -> PathDecision:
        """Decision on a normalised path."""
        decision = self._decisions.get(path)
        if decision is None:
            decision = self._decide(path)
            if len(path) <= CACHED_CHARACTERS_MAX:
                if len(self._decisions) >= CACHED_PATHS_MAX:
                    self._decisions.clear()
                self._decisions[path] = decision
        return decision

    def _decide(self, path: str) -> PathDecision:
        plan = self.plan
        against = self._against.cover(path) if self._against is not None else None
        lifted = self._lifted.cover(path) if self._lifted is not None else None
        if lifted is not None:
            why = f"{short(lifted.text)} was set free by an override"
            return PathDecision(None, why, plan, lifted.text, override=against is not None)
        if against is not None:
            why = f"plan {short(plan.id)} forbids {short(against.text)}"
            return PathDecision(FORBIDDEN, why, plan, against.text, path=path)
        pattern = self._allowed.cover(path) or (self._granted.cover(path) if self._granted is not None else None)
        if pattern is None:
            return PathDecision(OUTSIDE, f"plan {short(plan.id)} allows {scope_of(plan)}", plan, path=path)
        return self._allowed_by(pattern.text)

    def _allowed_by(self, pattern: str) -> PathDecision:
        """Allowed by the contract itself or by a later grant."""
        plan, name = self.plan, short(self.plan.id)
        assert plan.words is not None
        if pattern in plan.words.allowed:
            why = f"plan {name} allows {short(pattern)}"
        else:
            by = next(grant.by for grant in plan.grants if pattern in grant.patterns and not grant.override)
            why = f"{by} widened plan {name} by {short(pattern)}"
        return PathDecision(None, why, plan, pattern)


def judge_all(
    paths: Sequence[str], scopes: Sequence[ContractScope], resolve: Resolver | None = None, *, is_person: bool = False
) -> list[PathDecision]:
    return [judge(path, scopes, resolve, is_person=is_person) for path in paths]


def judge(
    path: str, scopes: Sequence[ContractScope], resolve: Resolver | None = None, *, is_person: bool = False
) -> PathDecision:
    """Decision of these contracts together. `resolve` follows symbolic links on disk. `is_person`: not an agent."""
    found = normal(path)
    if isinstance(found, InvalidPath):
        return PathDecision(NOT_IN_PROJECT, found.why)
    led = found if resolve is None else real(found, resolve)
    for place in (found,) if led is found else (found, led):
        if isinstance(place, InvalidPath):
            return PathDecision(NOT_IN_PROJECT, place.why, path=found)
        whose = owner(place)
        if whose is not None and not (is_person and whose != "git"):
            leads = "" if place is found else f"it leads to {short(place)}, and "
            return PathDecision(FORBIDDEN, f"{leads}{_OWN[whose]}", path=found)
    if led == found:
        return _judged(found, scopes)
    assert isinstance(led, str)
    named = _judged(found, scopes)
    if named.code is not None:
        return named
    there = _judged(led, scopes)  # both must be allowed: the link and its target
    return named if there.code is None else there._replace(why=f"it leads to {short(led)}, and {there.why}")


def _judged(path: str, scopes: Sequence[ContractScope]) -> PathDecision:
    if len(scopes) == 1:
        return scopes[0].judge(path)
    if not scopes:
        return NOTHING_SAID
    each = [scope.judge(path) for scope in scopes]
    allowed = [decision for decision in each if decision.code is None]
    forbidden = [decision for decision in each if decision.code == FORBIDDEN]
    return (allowed or forbidden or each)[0]


def scope_of(plan: Plan) -> str:
    """Short description of the paths that a plan allows."""
    assert plan.words is not None
    patterns = (*plan.words.allowed, *plan.granted)
    return f"only {listed(patterns)}" if patterns else "no path at all"


def listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - LISTED_MAX} more" if len(names) > LISTED_MAX else ""
    return ", ".join(map(short, names[:LISTED_MAX])) + more


def short(text: str) -> str:
    return text if len(text) <= CHARACTERS_MAX else text[: CHARACTERS_MAX - 1] + "…"

"""Decision whether contracts allow a path. Forbidden wins over allowed; one contract that allows it is enough.

A path may mean different files on different disks: one ignores case, another normalises accents, a third drops a
trailing dot. A path is accepted only if it means the same file on all of them. Symbolic links need a disk: the caller
passes a `Resolver`.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache

from telex.model.contracts import GATE_OVERRIDE, SCOPE_CHANGE, Plan
from telex.model.named_tuple import NamedTuple
from telex.validation.patterns import SEPARATOR, allowing, folded, forbidding

PATH_CHARACTERS_MAX = 4096
_OWNERS = {".git": "git", ".telex": "Telex", "telex.toml": "Telex"}
# Names that Windows takes for a device, in every folder and with any ending.
_DEVICE = re.compile(r"(?:^|/)(?:con|prn|aux|nul|com[0-9]|lpt[0-9]|conin\$|conout\$) *(?:[./]|$)", re.IGNORECASE)
# Invisible, but not control characters: fillers, joiners, variation selectors.
_INVISIBLE = frozenset(map(chr, (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0))) | frozenset(
    map(chr, (*range(0x180B, 0x1810), *range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)))
)
_MEANT_BY_SYSTEMS = frozenset("/.\\:")


class InvalidPath(NamedTuple):
    """A path that does not name one file of the project."""

    why: str  # to be read after "because"


Resolver = Callable[[str], str | None]  # path → its target, from the root; None: outside the project


@lru_cache(maxsize=256)
def normal(path: str) -> str | InvalidPath:
    """The normalised path from the project's root; idempotent. A folder keeps its `/`."""
    if _is_plain(path) and len(path) <= PATH_CHARACTERS_MAX:
        return path
    if (odd := _odd_text(path)) is not None:
        return odd
    if not path.isascii():
        if any(_turns_into_syntax(one) for one in path if one > "\x7f"):
            return InvalidPath("it has a character that some systems read as / . : or \\")
        from unicodedata import normalize

        path = normalize("NFC", path)
    parts: list[str] = []
    for part in path.split(SEPARATOR):
        if part == "..":
            if not parts:
                return InvalidPath("it leads out of the project")
            parts.pop()
        elif part not in ("", "."):
            if (odd := _odd_name(part)) is not None:
                return odd
            parts.append(part)
    if not parts:
        return InvalidPath("it names the project itself, and no file in it")
    is_folder = path.endswith((SEPARATOR, "/.", "/.."))
    return SEPARATOR.join(parts) + (SEPARATOR if is_folder else "")


def _is_plain(path: str) -> bool:
    """Fast path: nearly every path needs no normalisation."""
    return (
        path.isascii()
        and path.isprintable()
        and path != ""
        and path[0] != SEPARATOR
        and path[-1] not in "/. "
        and not ("./" in path or "//" in path or " /" in path or "~" in path or "\\" in path or ":" in path)
        and _DEVICE.search(path) is None
    )


def _odd_text(path: str) -> InvalidPath | None:
    if not path or path.isspace():
        return InvalidPath("it is empty")
    if len(path) > PATH_CHARACTERS_MAX:
        return InvalidPath(f"it is longer than {PATH_CHARACTERS_MAX:,} characters")
    if not path.isprintable() or (not path.isascii() and not _INVISIBLE.isdisjoint(path)):
        return InvalidPath("it has characters that cannot be seen")
    if path[0] == SEPARATOR:
        return InvalidPath("it does not begin at the project's root, but at the disk's")
    if path[0] == "~":
        return InvalidPath("it begins with ~, a home directory")
    if "\\" in path:
        return InvalidPath("it has a backslash, which is a / to some systems and a letter to others")
    if ":" in path:
        return InvalidPath("it has a colon, which names a drive or a hidden stream to some systems")
    return None


def _odd_name(name: str) -> InvalidPath | None:
    if name[-1] in ". ":
        return InvalidPath("a name in it ends in a dot or a blank, which some systems drop")
    base, _, ending = name.partition(".")
    head, _, number = base.rpartition("~")  # a DOS short name: up to six letters, ~ and a number, then three letters
    if head and number.isdecimal() and len(base) <= 8 and len(ending) <= 3 and "." not in ending:
        return InvalidPath("it has a short name such as GIT~1, another file's name on some systems")
    if _DEVICE.search(folded(name)) is not None:
        return InvalidPath(f"{name.partition('.')[0]} is a device to Windows, whatever its ending")
    return None


@cache
def _turns_into_syntax(character: str) -> bool:
    """Whether a system that normalises by compatibility reads it as syntax: a full-width slash, the dots in `…`."""
    from unicodedata import normalize

    return not _MEANT_BY_SYSTEMS.isdisjoint(normalize("NFKC", character))


@lru_cache(maxsize=256)
def owner(path: str) -> str | None:
    """The program that owns this file. A file in `.git` may run with the next git command; `.telex` and `telex.toml`
    have the messages, tokens and rules of the team."""
    path = folded(path)
    if not any(name in path for name in _OWNERS):
        return None
    return next((_OWNERS[part] for part in path.split(SEPARATOR) if part in _OWNERS), None)


def real(path: str, resolve: Resolver) -> str | InvalidPath:
    """Target of a normalised path after following links."""
    led = resolve(path)
    if led is None:
        return InvalidPath("it leads out of the project through a link")
    return path if led == path else normal(led)


# --- contracts --------------------------------------------------------------------------------------------------------

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
        assert plan.words is not None
        why = f"plan {short(plan.id)} allows {short(pattern.text)}"
        if pattern.text not in plan.words.allowed:  # by a later grant
            by = next(grant.by for grant in plan.grants if pattern.text in grant.patterns and not grant.override)
            why = f"{by} widened plan {short(plan.id)} by {short(pattern.text)}"
        return PathDecision(None, why, plan, pattern.text)


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
    whose = owner(found)
    if whose is not None and not (is_person and whose != "git"):
        return PathDecision(FORBIDDEN, _OWN[whose], path=found)
    led = found if resolve is None else real(found, resolve)
    if led == found:
        return _judged(found, scopes)
    if isinstance(led, InvalidPath):
        return PathDecision(NOT_IN_PROJECT, led.why, path=found)
    whose = owner(led)
    if whose is not None and not (is_person and whose != "git"):
        return PathDecision(FORBIDDEN, f"it leads to {short(led)}, and {_OWN[whose]}", path=found)
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

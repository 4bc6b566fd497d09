"""Matching of a path against a set of patterns, most of which are never examined.

Allowed patterns match exactly as written, forbidden ones generously.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from telex.validation.patterns import (
    ANY_FOLDERS,
    Name,
    Pattern,
    Places,
    beginning,
    clue,
    compiled,
    ends,
    longest_text,
    step,
)
from telex.validation.project_paths import SEPARATOR, folded

NONE: Mapping[str, Any] = MappingProxyType({})
FOLDERS_MAX = 10_000  # remembered for a list of patterns; beyond that they are walked again


class PendingPattern(NamedTuple):
    """A pattern with wildcards at some folder. Of thousands most can be told to be none of a name by their clue."""

    clue: str  # with a name that does not have this in it the pattern neither ends nor comes any further
    stays: bool  # it is then still where it was, at `**`
    one: Pattern
    places: Places  # where in it one may be


Alive = tuple[PendingPattern, ...]


class MatchState(NamedTuple):
    """How far the patterns have come at some folder."""

    found: Pattern | None  # this one covers it, and with it all that is below
    waiting: Mapping[str, Alive] = NONE  # those that go on below only with this name
    alive: Alive = ()  # those that may go on with any

    def next(self, name: str) -> Alive:
        """Those that may go on with this name."""
        return self.waiting.get(name, ()) + self.alive if self.waiting else self.alive


class PatternSet:
    """Many patterns. A plain path or name costs one look, and what a folder has settled is not asked for its files."""

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        self._paths: dict[str, Pattern] = {}  # a path from the root, without its last /
        self._by_name: dict[str, Pattern] = {}  # a name wherever it stands
        self._by_ending: dict[str, Pattern] = {}  # `*.py`, wherever it stands
        wild = [(pattern, beginning(pattern)) for pattern in patterns if not self._put(pattern)]
        self._shelves = bool(self._paths or self._by_name or self._by_ending)
        self._folders = {"": _state(wild)}

    def _put(self, pattern: Pattern) -> bool:
        """Onto a shelf, if there is one for such a pattern."""
        names = pattern.names
        if all(isinstance(name, str) and name != ANY_FOLDERS for name in names):
            _put_wider(self._paths, SEPARATOR.join(map(str, names)), pattern)
        elif len(names) == 2 and names[0] == ANY_FOLDERS and isinstance(names[1], str):
            _put_wider(self._by_name, names[1], pattern)
        elif len(names) == 2 and names[0] == ANY_FOLDERS and (ending := _ending(names[1])) is not None:
            _put_wider(self._by_ending, ending, pattern)
        else:
            return False
        return True

    def cover(self, path: str, *, as_folder: bool = False) -> Pattern | None:
        """One that covers this (normal) path, if any does. `as_folder`: the path may be meant as one."""
        folder, _, name = path.rpartition(SEPARATOR)
        above = self._folders.get(folder) or self._folder(folder)
        pattern = above.found
        if pattern is not None or not name:  # without a name it is the folder itself
            return pattern
        if self._shelves:
            pattern = self._on_shelf(path, name, is_folder=as_folder)
        if pattern is None and (ahead := above.next(name)):
            return _among(ahead, name, is_folder=as_folder)
        return pattern

    def cover_below(self, folder: str) -> Pattern | None:
        """One that covers whatever is in this folder, if any does."""
        return (self._folders.get(folder) or self._folder(folder)).found

    def _folder(self, folder: str) -> MatchState:
        match_state = self._folders.get(folder)
        if match_state is not None:
            return match_state
        if len(self._folders) > FOLDERS_MAX:
            self._folders = {"": self._folders[""]}
        state, prefix = self._folders[""], ""
        for name in folder.split(SEPARATOR):
            prefix = f"{prefix}/{name}" if prefix else name
            here = self._folders.get(prefix)
            if here is None:
                here = state if state.found is not None else self._beyond(state, prefix, name)
                self._folders[prefix] = here
            state = here
        return state

    def _beyond(self, above: MatchState, path: str, name: str) -> MatchState:
        """One folder further than one that nothing covers."""
        ahead = above.next(name)
        found = self._on_shelf(path, name, is_folder=True) or _among(ahead, name, is_folder=True)
        if found is not None:
            return MatchState(found)
        further = [
            (pattern, step(pattern, places, name) - {len(pattern.names)})
            for clue_, _, pattern, places in ahead
            if clue_ in name
        ]
        return _state(
            further,
            [
                pending_pattern
                for pending_pattern in ahead
                if pending_pattern.stays and pending_pattern.clue not in name
            ],
        )

    def _on_shelf(self, path: str, name: str, *, is_folder: bool) -> Pattern | None:
        pattern = self._paths.get(path)
        if pattern is None or (pattern.below_only and not is_folder):
            pattern = self._by_name.get(name)
        if pattern is None or (pattern.below_only and not is_folder):
            pattern = self._by_ending.get(name[name.rfind(".") :])
        return pattern if pattern is not None and (is_folder or not pattern.below_only) else None


def _state(reached: Iterable[tuple[Pattern, Places]], staying: Iterable[PendingPattern] = ()) -> MatchState:
    """At a folder that nothing covers. A pattern that is nowhere any more is left behind."""
    waiting: dict[str, list[PendingPattern]] = {}
    alive = list(staying)
    for pattern, places in reached:
        if not places:
            continue
        first, last = min(places), max(places)
        name = pattern.names[last]
        at_any_folders = pattern.names[first] == ANY_FOLDERS and last == first + 1
        if first == last and isinstance(name, str):
            waiting.setdefault(name, []).append(PendingPattern("", False, pattern, places))
        else:
            telling = first == last or at_any_folders
            alive.append(PendingPattern(clue(name) if telling else "", at_any_folders, pattern, places))
    return MatchState(None, {name: tuple(those) for name, those in waiting.items()}, tuple(alive))


def _among(alive: Alive, name: str, *, is_folder: bool) -> Pattern | None:
    for clue_, _, pattern, places in alive:
        if clue_ in name and (is_folder or not pattern.below_only) and ends(pattern, places, name):
            return pattern
    return None


def _put_wider(shelf: dict[str, Pattern], key: str, pattern: Pattern) -> None:
    """Of two patterns for the same thing the one that covers more."""
    known = shelf.get(key)
    if known is None or (known.below_only and not pattern.below_only):
        shelf[key] = pattern


def _ending(name: Name) -> str | None:
    """`.py` of `*.py`. With another dot in it, it would not be what stands behind the last dot."""
    if isinstance(name, str) or len(name) != 2 or name[0] != "" or not isinstance(name[1], str):
        return None
    return name[1] if name[1].startswith(".") and name[1].count(".") == 1 and len(name[1]) > 1 else None


@lru_cache(maxsize=256)
def allowing(patterns: tuple[str, ...]) -> PatternSet:
    """What may be touched: exactly what is written, and a plain name is a path from the root."""
    found = (compiled(one, from_root=True) for one in patterns)
    return PatternSet(pattern for pattern in found if pattern is not None)


class ForbiddenPatterns:
    """What may not be touched: also where a disk that is blind to case would take the path for a forbidden one."""

    def __init__(self, patterns: Iterable[str]) -> None:
        written = [pattern for pattern in map(compiled, patterns) if pattern is not None]
        # Without a choice of letters, whatever a pattern covers as it stands it covers blindly too.
        choosing = [pattern for pattern in written if "[" in pattern.text]
        self._exact = PatternSet(choosing) if choosing else None
        blind = [
            again._replace(text=pattern.text)
            for pattern in written
            if (again := compiled(folded(pattern.text))) is not None
        ]
        self._blind = PatternSet(blind)
        self._clues = [folded(longest_text(pattern)) for pattern in (*blind, *choosing)]

    def cover(self, path: str) -> Pattern | None:
        """The pattern that covers it; a file that would take the place of a forbidden folder is covered too."""
        pattern = self._blind.cover(folded(path), as_folder=True)
        return pattern or (self._exact.cover(path, as_folder=True) if self._exact is not None else None)

    def spares(self, text: str) -> bool:
        """Can it be told at a glance that no path is covered which is a part of this (plain, folded) text?"""
        return not any(clue in text for clue in self._clues)


@lru_cache(maxsize=256)
def forbidding(patterns: tuple[str, ...]) -> ForbiddenPatterns:
    return ForbiddenPatterns(patterns)
